package permission

import (
	"path"
	"slices"
	"strings"
)

// shell handles bash and its kin. They read their options in a way of their
// own: o takes a following word wherever it stands among the letters, c works
// behind a plus too, and the script is the first operand.
func (w *walker) shell(p *part, args []word, dirs cwd, in stdin) {
	script, input := false, false
	for len(args) > 0 {
		a := args[0]
		if a.text == "-" || a.text == "--" {
			args = args[1:]
			break
		}
		if a.open || a.split || a.hides() && strings.HasPrefix(a.text, "-") || readElsewhere(p.cmd.name(), a.text) {
			p.doubt = "the script it runs is only known at run time"
			return
		}
		if len(a.text) < 2 || a.text[0] != '-' && a.text[0] != '+' {
			break
		}
		args = args[1:]
		if long, value, glued := strings.Cut(strings.TrimPrefix(a.text, "-"), "="); isLongShellOption(long) {
			switch {
			case glued && strings.HasSuffix(long, "command"):
				w.nestedScript(p, plainWord(value), dirs)
				return
			case strings.HasSuffix(foldString(long), "command"):
				script = true
			case !glued && (long == "-rcfile" || long == "-init-file"):
				args = args[min(1, len(args)):]
			}
			continue
		}
		script = script || strings.Contains(a.text, "c")
		input = input || strings.Contains(a.text, "s")
		args = args[min(strings.Count(a.text, "o")+strings.Count(a.text, "O"), len(args)):]
	}
	switch {
	case script && len(args) > 0:
		w.nestedScript(p, args[0], dirs)
	case len(args) > 0 && !input:
		w.scriptFile(p, args, dirs, in)
	default:
		w.fromInput(p, dirs, in)
	}
}

// readElsewhere reports options that other shells than bash read in yet
// another way: o with its value glued on, and PowerShell's encoded scripts.
func readElsewhere(shell, option string) bool {
	switch shell {
	case "bash", "sh", "dash", "rbash", "ash":
		return false
	case "pwsh", "powershell":
		return len(option) > 1 && option[0] == '-' && strings.HasPrefix("encodedcommand", foldString(option[1:]))
	default:
		at := strings.IndexAny(option, "oO")
		return at > 0 && at < len(option)-1 && (option[0] == '-' || option[0] == '+') && option[1] != '-'
	}
}

// isLongShellOption tells long options, and those of PowerShell that take one
// dash, from letters. The first dash is cut already.
func isLongShellOption(s string) bool {
	return strings.HasPrefix(s, "-") || foldString(s) == "command"
}

// scriptFile is a script named by its file, which is opaque unless the file is
// standard input.
func (w *walker) scriptFile(p *part, args []word, dirs cwd, in stdin) {
	switch {
	case len(args) == 0:
	case !args[0].sure():
		p.doubt = "the script it runs is only known at run time"
	case args[0].text == "/dev/stdin" || args[0].text == "/dev/fd/0" || args[0].text == "/proc/self/fd/0":
		w.fromInput(p, dirs, in)
	case strings.HasPrefix(path.Clean(args[0].text), "/dev/") || strings.HasPrefix(path.Clean(args[0].text), "/proc/"):
		in.known = false
		w.fromInput(p, dirs, in)
	}
}

func (w *walker) fromInput(p *part, dirs cwd, in stdin) {
	if in.known {
		w.nestedFrom(p, plainWord(in.text), dirs, true)
		return
	}
	p.doubt = "the script it reads from standard input is not known"
	w.suspect(in.text + "\n" + in.other)
}

func (w *walker) trap(p *part, args []word, dirs cwd) {
	for len(args) > 0 && (args[0].text == "--" || args[0].text == "-p" || args[0].text == "-l") {
		args = args[1:]
	}
	if len(args) > 1 && args[0].text != "-" {
		w.nestedScript(p, args[0], dirs)
	}
}

func (w *walker) alias(p *part, args []word, dirs cwd) {
	for _, a := range args {
		name, value, ok := strings.Cut(a.text, "=")
		if !ok {
			continue
		}
		v := a
		v.text = value
		w.nestedScript(p, v, dirs)
		if first, _, _ := strings.Cut(value, " "); first != name || strings.HasSuffix(value, " ") || strings.HasSuffix(value, "\t") {
			p.doubt = "what commands mean after this alias is not known"
		}
	}
}

// history is where a shell keeps commands, and fc runs them again.
func (w *walker) history(p *part, args []word, dirs cwd) {
	given := func(letter string) bool {
		return slices.ContainsFunc(args, func(a word) bool { return optionLike(a) && strings.Contains(a.text, letter) })
	}
	switch {
	case p.cmd.name() == "history" && given("s"):
		w.joined(p, slices.DeleteFunc(slices.Clone(args), optionLike), dirs)
	case p.cmd.name() == "fc" && !given("l"):
		p.doubt = "fc runs what is in the history"
	}
}

// rewritesLines doubts what has the shell exchange parts of the lines that follow.
func rewritesLines(p *part, args []word) {
	for _, a := range args {
		if a.text == "--" {
			return
		}
		if !a.sure() || strings.Contains(a.text, "histexpand") || p.cmd.name() == "set" && len(a.text) > 1 && a.text[0] == '-' && a.text[1] != '-' && strings.Contains(a.text, "H") {
			p.doubt = "the shell may exchange parts of the lines that follow"
		}
	}
}

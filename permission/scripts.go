package permission

import (
	"path"
	"strings"
)

// shell handles bash and its kin.
func (w *walker) shell(p *part, args []word, dirs cwd, in stdin) {
	script := false
	for len(args) > 0 {
		a := args[0]
		if a.text == "-" || a.text == "--" {
			args = args[1:]
			break
		}
		if a.open {
			p.doubt = "the script it runs is only known at run time"
			return
		}
		if len(a.text) < 2 || a.text[0] != '-' && a.text[0] != '+' {
			break
		}
		args = args[1:]
		if strings.HasPrefix(a.text, "--") {
			script = script || a.text == "--command"
			if a.text == "--rcfile" || a.text == "--init-file" {
				args = args[min(1, len(args)):]
			}
			continue
		}
		script = script || a.text[0] == '-' && strings.ContainsAny(a.text, "c")
		if last := a.text[len(a.text)-1]; (last == 'o' || last == 'O') && len(args) > 0 {
			args = args[1:]
		}
		if strings.ContainsRune(a.text, 's') && !script {
			args = nil
		}
	}
	switch {
	case script && len(args) > 0:
		w.nestedScript(p, args[0], dirs)
	case len(args) > 0:
		w.scriptFile(p, args, dirs, in)
	default:
		w.fromInput(p, dirs, in)
	}
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
		if _, value, ok := strings.Cut(a.text, "="); ok {
			v := a
			v.text = value
			w.nestedScript(p, v, dirs)
		}
	}
}

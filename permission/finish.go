package permission

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// finish works out what a deny and an allow need to know about a command.
func (w *walker) finish(p *part, dirs cwd) {
	w.doubtWords(p)
	c := p.cmd
	p.hazard = hazardOf(c)
	p.moved = fromHere(c.words[0]) && (len(dirs) != 1 || dirs[0] != w.places.workspace)
	if name := c.name(); name == "git" {
		rest, skipped, harmless := gitWords(c)
		if skipped > 0 {
			p.forms = append(p.forms, rest)
			if harmless {
				p.plain = &rest
			}
		}
		w.gitAliases(p, rest, skipped)
		for _, dir := range dirs {
			switch {
			case dir == "" && w.lost:
				p.doubt = "git runs in a directory that is not known"
			case dir == "" && p.hazard == "":
				p.hazard = "git runs in a directory that is not known"
			}
		}
	}
	if sub, ok := strings.CutPrefix(c.name(), "git-"); ok { // as git itself starts its subcommands
		p.forms = append(p.forms, command{words: slices.Concat([]word{plainWord("git"), plainWord(sub)}, c.words[1:])})
	}
	if w.watch {
		p.touches = w.touched(c, dirs)
		for i := 1; i < len(p.touches); i++ { // most are read and written
			p.touches[i].again = p.touches[i].target.sameAs(&p.touches[i-1].target)
		}
	}
}

// fromHere reports a program that is named by a path relative to the directory.
func fromHere(name word) bool {
	return strings.Contains(name.text, "/") && name.text[0] != '/' && !name.tilde
}

// doubtWords says why no rule could cover the command's words.
func (w *walker) doubtWords(p *part) {
	for _, words := range [...][]word{p.cmd.assigns, p.cmd.words} {
		if slices.ContainsFunc(words, renamesPrograms) {
			p.doubt = "which program a name means may change"
		}
	}
	for _, a := range p.cmd.assigns {
		if a.dynamic || a.subst {
			p.doubt = "a variable is set to something only known at run time"
		}
	}
	for i, a := range p.cmd.words {
		switch {
		case i == 0 && !a.sure():
			p.doubt = "the program's name is only known at run time"
		case i == 0 && a.text == "":
			p.doubt = "the program's name is empty"
		case i == 0 && !asciiName(a.text):
			p.doubt = "the program's name contains characters outside ASCII"
		case a.dynamic:
			p.doubt = "the word " + shown(a.text) + " is only known at run time"
		}
		if odd := oddWord(a.text); odd != "" {
			p.doubt = "a word contains " + odd
		}
	}
}

// renamesPrograms finds the arrays in which bash keeps which program a name means.
func renamesPrograms(a word) bool {
	return strings.Contains(a.text, "BASH_CMDS") || strings.Contains(a.text, "BASH_ALIASES")
}

// oddWord looks at a word after unquoting: $'\r' hides what the raw text does
// not show.
func oddWord(s string) string {
	clean := make([]rune, 0, len(s))
	for _, r := range s {
		if r == utf8.RuneError {
			return "bytes that are not valid UTF-8"
		}
		if r != opaqueMark {
			clean = append(clean, r)
		}
	}
	return oddText(string(clean), "\t\n")
}

func shown(s string) string {
	out := []rune(s)
	for i, r := range out {
		if r == opaqueMark {
			out[i] = '…'
		}
	}
	return quoteShown(string(out))
}

// gitAliases adds what an alias given in the same command stands for.
func (w *walker) gitAliases(p *part, rest command, skipped int) {
	for _, a := range p.cmd.words[1 : skipped+1] {
		if strings.HasPrefix(a.text, "--config-env") {
			p.doubt = "a setting of git comes from a variable"
		}
		name, value, ok := strings.Cut(strings.TrimPrefix(a.text, "-c"), "=")
		if !ok || !strings.HasPrefix(foldString(strings.TrimSpace(name)), "alias.") {
			continue
		}
		form := command{words: []word{p.cmd.words[0]}}
		for f := range strings.FieldsSeq(value) {
			form.words = append(form.words, plainWord(f))
		}
		if len(rest.words) > 2 {
			form.words = append(form.words, rest.words[2:]...)
		}
		p.forms = append(p.forms, form)
	}
}

package permission

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// changesDir finds what changes the directory in the text of a script.
var changesDir = regexp.MustCompile(`\b(cd|pushd|popd)\b`)

// movers are the builtins that change the directory.
var movers = set("cd pushd popd")

// setsHome notices assignments that change what ~ and cd mean.
func (w *walker) setsHome(a word) {
	name, _, _ := strings.Cut(a.text, "=")
	switch strings.TrimSuffix(name, "+") {
	case "HOME", "CDPATH", "PWD", "OLDPWD":
		w.fault("the command changes %s, and with it what ~ and cd mean", name)
	}
}

// setters are the builtins that set the variables they are given by name.
var setters = set("read mapfile readarray getopts printf unset wait")

// setsHomeByName notices builtins that set what ~ and cd mean.
func (w *walker) setsHomeByName(c command) {
	if setters[c.name()] {
		for _, a := range c.words[1:] {
			w.setsHome(plainWord(strings.TrimPrefix(a.text, "-v")))
		}
	}
}

// moved follows cd.
func (w *walker) moved(p *part, dirs cwd) flow {
	words := p.cmd.words
	for len(words) > 1 && (words[0].text == "command" || words[0].text == "builtin") {
		words = words[1:]
	}
	switch words[0].text {
	case "popd":
		w.lost = true
		return stay(cwd{""})
	case "source", ".", "eval":
		return stay(cwd{""})
	case "trap":
		// The handler may run before any later command.
		if slices.ContainsFunc(words[1:], func(a word) bool { return changesDir.MatchString(a.text) }) {
			return stay(cwd{""})
		}
		return stay(dirs)
	case "cd", "pushd":
	default:
		return stay(dirs)
	}
	to, ok := cdTarget(words[1:], w.places.home)
	if !ok || len(p.cmd.assigns) > 0 || words[0].text == "pushd" && len(words) != 2 {
		w.lost = true
		return stay(cwd{""})
	}
	var moved cwd
	for _, dir := range dirs {
		switch {
		case path.IsAbs(to):
			moved = moved.plus(cwd{path.Clean(to)})
		case dir == "":
			moved = moved.plus(cwd{""})
		default:
			moved = moved.plus(cwd{path.Join(dir, to)})
			if strings.Contains(to, "..") && w.places.walked(dir+"/"+to) != w.places.walked(path.Join(dir, to)) {
				moved = moved.plus(cwd{""})
			}
		}
	}
	return flow{moved, moved.plus(dirs)}
}

// cdTarget is where cd and pushd go, if that is plain.
func cdTarget(args []word, home string) (string, bool) {
	for len(args) > 0 && (args[0].text == "-L" || args[0].text == "--") {
		args = args[1:]
	}
	if len(args) == 0 {
		return home, home != ""
	}
	to := args[0]
	if len(args) > 1 || !to.sure() || to.text == "" || to.text[0] == '-' || to.text[0] == '+' {
		return "", false
	}
	if !to.tilde {
		return to.text, true
	}
	if to.text == "~" || strings.HasPrefix(to.text, "~/") {
		return home + to.text[1:], home != ""
	}
	return "", false
}

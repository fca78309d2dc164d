package permission

import (
	"path"
	"strings"
)

// setsHome notices assignments that change what ~ and cd mean.
func (w *walker) setsHome(a word) {
	name, _, _ := strings.Cut(a.text, "=")
	switch strings.TrimSuffix(name, "+") {
	case "HOME", "CDPATH", "PWD", "OLDPWD":
		w.fault("the command changes %s, and with it what ~ and cd mean", name)
	}
}

// moved follows cd.
func (w *walker) moved(p *part, dirs cwd) flow {
	words := p.cmd.words
	for len(words) > 1 && (words[0].text == "command" || words[0].text == "builtin") {
		words = words[1:]
	}
	switch words[0].text {
	case "pushd", "popd", "source", ".", "eval":
		return stay(cwd{""})
	case "cd":
	default:
		return stay(dirs)
	}
	to, ok := cdTarget(words[1:], w.places.home)
	if !ok || len(p.cmd.assigns) > 0 {
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

func cdTarget(args []word, home string) (string, bool) {
	for len(args) > 0 && (args[0].text == "-L" || args[0].text == "--") {
		args = args[1:]
	}
	if len(args) == 0 {
		return home, home != ""
	}
	to := args[0]
	if len(args) > 1 || !to.sure() || to.text == "" || to.text[0] == '-' {
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

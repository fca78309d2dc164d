package permission

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

// follow resolves symlinks. A resolver that panics or answers with a relative
// path counts as failing, which asks.
func (p *places) follow(clean string) (target string, err error) {
	if p.resolve == nil || clean == "" {
		return clean, nil
	}
	if r, ok := p.known[clean]; ok {
		return r.path, r.err
	}
	defer func() {
		if recover() != nil {
			target, err = "", errors.New("resolving the path failed")
		}
		if p.known == nil {
			p.known = map[string]resolved{}
		}
		p.known[clean] = resolved{target, err}
	}()
	target, err = p.resolve(clean)
	if err == nil && !path.IsAbs(target) {
		err = errors.New("the path resolved to something relative")
	}
	return path.Clean(target), err
}

// ofProcess finds the links of /proc that lead elsewhere for each process that
// follows them.
func ofProcess(clean string) bool {
	rest, ok := strings.CutPrefix(clean, "/proc/")
	if !ok {
		return false
	}
	for _, name := range strings.Split(rest, "/") {
		if name == "cwd" || name == "root" || name == "fd" {
			return true
		}
	}
	return false
}

// maxUps bounds how often a path may go up.
const maxUps = 32

// walked is where the system gets to with a path that goes up: .. leads to the
// parent of what a symlink points to. Shells and path.Clean go back to where
// the link is.
func (p *places) walked(abs string) string {
	if n := strings.Count(abs, "/.."); n > maxUps {
		return ""
	}
	at := "/"
	for _, name := range strings.Split(abs, "/") {
		switch name {
		case "", ".":
		case "..":
			real, err := p.follow(at)
			if err != nil {
				return ""
			}
			at = path.Dir(real)
		default:
			at = path.Join(at, name)
		}
	}
	real, err := p.follow(at)
	if err != nil {
		return path.Clean(at)
	}
	return real
}

func (p *places) followTarget(t *target) {
	if strings.ContainsRune(t.clean, 0) {
		t.real = t.clean // no file system can hold it
		return
	}
	real, err := p.follow(t.clean)
	if err != nil {
		t.real = t.clean
		if t.fault == "" {
			t.fault = fmt.Sprintf("the path's symlinks could not be followed (%v)", err)
		}
		t.unsure = true
		return
	}
	t.real = real
}

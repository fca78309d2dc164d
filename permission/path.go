package permission

import (
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// places knows the directories of one call and follows symlinks, each path
// once.
type places struct {
	workspace, home string
	resolve         func(string) (string, error)
	known           map[string]resolved
	spelled         map[*compiled][]spelling
	work            *work // counted
	counted         work
	// bases are the roots, once they are known.
	bases [baseRoot + 1][]string
	low   [baseRoot + 1][]string // bases, composed and in folded case
}

type resolved struct {
	path string
	err  error
}

func newPlaces(c Call) *places {
	p := &places{workspace: c.Workspace, home: c.Home, resolve: c.Resolve}
	p.work = &p.counted
	return p
}

// rootsOf is roots, worked out once in a call.
func (p *places) rootsOf(b pathBase) []string {
	if p.bases[b] == nil {
		p.bases[b] = p.roots(b)
	}
	return p.bases[b]
}

// lowRootsOf is rootsOf, composed and in folded case.
func (p *places) lowRootsOf(b pathBase) []string {
	if p.low[b] == nil {
		for _, root := range p.rootsOf(b) {
			p.low[b] = append(p.low[b], foldString(nfc(root)))
		}
	}
	return p.low[b]
}

// nfc is text in composed form.
func nfc(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return norm.NFC.String(s)
		}
	}
	return s
}

// roots gives a base directory as written and with its symlinks followed.
func (p *places) roots(b pathBase) []string {
	dir := ""
	switch b {
	case baseRoot:
		return []string{"/"}
	case baseWorkspace:
		dir = p.workspace
	case baseHome:
		dir = p.home
	}
	if !path.IsAbs(dir) {
		return nil
	}
	dir = path.Clean(dir)
	out := []string{dir}
	if real, err := p.follow(dir); err == nil && real != dir {
		out = append(out, real)
	}
	return out
}

// starts gives the directories a glob is relative to.
func (p *places) starts(g *pathGlob) []string {
	out := p.rootsOf(g.base)
	if g.up == 0 {
		return out
	}
	out = slices.Clone(out)
	for i := range out {
		for range g.up {
			out[i] = path.Dir(out[i])
		}
	}
	return out
}

// target is one path a call touches, cleaned and with symlinks followed.
type target struct {
	shown, clean, real string
	// low are clean and real, composed and in folded case; once where they are the same.
	low [2]string
	// fault says why no rule can allow it.
	fault string
	// unsure: which file is meant is not known, so it may be any that a rule
	// forbids.
	unsure bool
	// spread marks a whole tree: the path and everything below.
	spread bool
	// glob is set when the shell expands the path: the absolute pattern.
	glob sequence
	// loose marks a guess, such as the value of an unknown option: it may make
	// a call ask and never denies.
	loose bool
}

// locate turns a written path into a target. dir is what relative paths are
// relative to.
func (p *places) locate(written, dir string) target {
	t := target{shown: written}
	if odd := oddText(written, ""); odd != "" {
		t.fault = "the path contains " + odd
	}
	abs := written
	switch {
	case written == "":
		t.fault = "the path is empty"
		return t
	case written == "~" || strings.HasPrefix(written, "~/"):
		if !path.IsAbs(p.home) {
			t.fault = "the home directory is unknown"
			return t
		}
		abs = p.home + written[1:]
	case strings.HasPrefix(written, "~"):
		t.fault, t.unsure = "the path starts with ~name, which is not expanded", true
	case unexpanded(written):
		t.fault = "the path contains an unexpanded variable"
	case strings.ContainsRune(written, '\\'):
		t.fault = "the path contains a backslash"
	}
	if !path.IsAbs(abs) {
		if !path.IsAbs(dir) {
			t.fault = "the directory the path is relative to is unknown"
			return t
		}
		abs = dir + "/" + abs
	}
	t.clean = path.Clean(abs)
	p.followTarget(&t)
	t.low[0] = foldString(nfc(t.clean))
	if t.real != t.clean {
		t.low[1] = foldString(nfc(t.real))
	}
	switch {
	case ofProcess(t.clean) || ofProcess(t.real):
		t.fault, t.unsure = "the path means something else in every process", true
	case strings.Contains(abs, "/..") && t.real != "" && p.walked(abs) != t.real:
		t.fault, t.unsure = "the path goes up from behind a symlink", true
	}
	return t
}

// unexpanded finds $NAME, ${ and $( : some tools expand them and some do not.
func unexpanded(s string) bool {
	for i := 0; i+1 < len(s); i++ {
		if s[i] == '$' && (isWordByte(s[i+1]) || s[i+1] == '{' || s[i+1] == '(') {
			return true
		}
	}
	return strings.ContainsRune(s, '`')
}

func (t target) both() []string {
	if t.real == "" || t.real == t.clean {
		return []string{t.clean}
	}
	return []string{t.clean, t.real}
}

// below gives what is left of file under dir; whole segments only.
func below(dir, file string) (string, bool) {
	if dir == "/" {
		return strings.TrimPrefix(file, "/"), strings.HasPrefix(file, "/")
	}
	if file == dir {
		return "", true
	}
	if len(file) <= len(dir) || file[len(dir)] != '/' || file[:len(dir)] != dir {
		return file, false
	}
	return file[len(dir)+1:], true
}

// inside reports whether both forms of the path lie in the workspace.
func (p *places) inside(t target) bool {
	for _, file := range t.both() {
		if !slices.ContainsFunc(p.roots(baseWorkspace), func(root string) bool {
			_, ok := below(root, file)
			return ok
		}) {
			return false
		}
	}
	return true
}

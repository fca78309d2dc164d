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
	spelled         map[*pathPattern][]spelling
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
func (p *places) starts(g pathGlob) []string {
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

// permits answers for allow: the cleaned and the resolved path must both
// match, letter for letter.
func (pp *pathPattern) permits(t target, p *places) bool {
	if t.fault != "" || t.clean == "" || t.glob != nil || t.spread || t.loose {
		return false
	}
	for _, file := range t.both() {
		file = nfc(file)
		if !slices.ContainsFunc(pp.globs, func(g pathGlob) bool { return g.holds(file, p) }) {
			return false
		}
	}
	return true
}

func (g pathGlob) holds(file string, p *places) bool {
	for _, root := range p.starts(g) {
		rest, ok := below(nfc(root), file)
		if ok && g.seq.match(rest, '/') {
			return true
		}
	}
	return false
}

// forbids answers for deny and ask: either path suffices, case is folded, and
// a tree or a shell glob that could reach a match is a doubt.
func (pp *pathPattern) forbids(t *target, p *places) answer {
	if t.clean == "" && t.glob == nil {
		return no
	}
	files := t.folded()
	found := no
	if t.glob == nil && !t.spread {
		found = truth(slices.ContainsFunc(pp.globs, func(g pathGlob) bool { return g.forbids(files, p) }))
	} else {
		for _, v := range pp.below(p) {
			if found = max(found, v.forbids(t, files, p.work)); found == yes {
				break
			}
		}
	}
	if t.loose {
		found = min(found, maybe)
	}
	return found
}

// folded are both forms of the path, composed and in folded case.
func (t *target) folded() []string {
	if t.low[1] == "" {
		return t.low[:1]
	}
	return t.low[:]
}

// forbids is [spelling.forbids] of all spellings of the glob, for files that are known.
func (g pathGlob) forbids(files []string, p *places) bool {
	for _, root := range p.starts(g) {
		if g.fold.holdsFolded(root, files, p.work) {
			return true
		}
		if g.lead == "" || p.resolve == nil {
			continue
		}
		dir := path.Join(root, g.lead)
		if real, err := p.follow(dir); err == nil && real != dir {
			if beyond := g.beyond(); beyond.holdsFolded(real, files, p.work) {
				return true
			}
		}
	}
	return false
}

// beyond is the folded glob behind its literal leading directory.
func (g pathGlob) beyond() packed {
	out := g.fold
	out.head = string([]rune(out.head)[g.tail:])
	return out
}

func (p *packed) holdsFolded(root string, files []string, budget *work) bool {
	budget.spend(2)
	root = foldString(nfc(root))
	for _, file := range files {
		if rest, ok := below(root, file); ok {
			budget.spend(len(rest) / 8)
			if p.match(rest, '/') {
				return true
			}
		}
	}
	return false
}

func (v spelling) forbids(t *target, files []string, budget *work) answer {
	budget.spend(2)
	if t.glob != nil {
		return maybeIf(v.absolute.meetsWithin(t.glob, '/', budget))
	}
	found := no
	for _, file := range files {
		if rest, ok := below(v.root, file); ok {
			budget.spend(len(rest) / 8)
			if v.seq.match(rest, '/') {
				return yes
			}
		}
		if t.spread && v.absolute.meetsWithin(treeOf(file), '/', budget) {
			found = maybe
		}
	}
	return found
}

func maybeIf(b bool) answer {
	if b {
		return maybe
	}
	return no
}

// spelling is a deny's glob below one concrete directory, folded; absolute is
// both together.
type spelling struct {
	root     string
	seq      packed
	absolute sequence
}

func newSpelling(root string, seq packed) spelling {
	root = foldString(nfc(root))
	return spelling{root, seq, append(literal(strings.TrimSuffix(root, "/")+"/"), seq.seq()...)}
}

// below gives the spellings of all globs, worked out once in a call.
func (pp *pathPattern) below(p *places) []spelling {
	if known, ok := p.spelled[pp]; ok {
		return known
	}
	var out []spelling
	for _, g := range pp.globs {
		out = append(out, g.spellings(p)...)
	}
	if p.spelled == nil {
		p.spelled = map[*pathPattern][]spelling{}
	}
	p.spelled[pp] = out
	return out
}

// spellings are the glob under its base as written, under the resolved base,
// and with its literal leading directory resolved: a rule that names a link
// must also hold for what the link points to.
func (g pathGlob) spellings(p *places) []spelling {
	var out []spelling
	for _, root := range p.starts(g) {
		out = append(out, newSpelling(root, g.fold))
		if g.lead == "" {
			continue
		}
		dir := path.Join(root, g.lead)
		real, err := p.follow(dir)
		if err == nil && real != dir {
			out = append(out, newSpelling(real, g.beyond()))
		}
	}
	return out
}

// treeOf is everything below a directory.
func treeOf(dir string) sequence {
	q := literal(strings.TrimSuffix(dir, "/") + "/")
	return append(q, token{op: opDeep})
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

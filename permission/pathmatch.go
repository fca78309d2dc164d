package permission

import (
	"path"
	"strings"
)

// permits answers for allow: the cleaned and the resolved path must both
// match, letter for letter.
func (c *compiled) permitsPath(t *target, p *places) bool {
	if t.fault != "" || t.clean == "" || t.glob != nil || t.spread || t.loose {
		return false
	}
	if c.has(plainPath) {
		f := plainPattern(false, c.arg())
		return f.permits(t.clean, p) && (t.real == "" || t.real == t.clean || f.permits(t.real, p))
	}
	return permitPath(c.path().globs, t, p)
}

func permitPath(globs []pathGlob, t *target, p *places) bool {
	return holdPath(globs, t.clean, p) && (t.real == "" || t.real == t.clean || holdPath(globs, t.real, p))
}

func holdPath(globs []pathGlob, file string, p *places) bool {
	file = nfc(file)
	for i := range globs {
		if globs[i].holds(file, p) {
			return true
		}
	}
	return false
}

func (g *pathGlob) holds(file string, p *places) bool {
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
func (c *compiled) forbidsPath(t *target, p *places) answer {
	if t.clean == "" && t.glob == nil {
		return no
	}
	found := no
	switch {
	case t.glob != nil || t.spread:
		files := t.folded()
		for _, v := range p.spellingsOf(c) {
			if found = max(found, v.forbids(t, files, p.work)); found == yes {
				break
			}
		}
	case c.has(plainPath):
		f := plainPattern(true, c.arg())
		found = truth(f.forbids(t.folded(), p) || p.resolve != nil && forbidPath(f.globs(), t, p))
	default:
		found = truth(forbidPath(c.path().globs, t, p))
	}
	if t.loose {
		found = min(found, maybe)
	}
	return found
}

func forbidPath(globs []pathGlob, t *target, p *places) bool {
	files := t.folded()
	for i := range globs {
		if globs[i].forbids(files, p) {
			return true
		}
	}
	return false
}

// folded are both forms of the path, composed and in folded case.
func (t *target) folded() []string {
	if t.low[1] == "" {
		return t.low[:1]
	}
	return t.low[:]
}

// forbids is [spelling.forbids] of all spellings of the glob, for files that are known.
func (g *pathGlob) forbids(files []string, p *places) bool {
	low := p.lowRootsOf(g.base)
	for i, root := range p.starts(g) {
		folded := ""
		if g.up == 0 {
			folded = low[i]
		} else {
			folded = foldString(nfc(root))
		}
		if g.fold.holdsFolded(folded, files, p.work) {
			return true
		}
		if g.lead == "" || p.resolve == nil {
			continue
		}
		dir := path.Join(root, g.lead)
		if real, err := p.follow(dir); err == nil && real != dir {
			if beyond := g.beyond(); beyond.holdsFolded(foldString(nfc(real)), files, p.work) {
				return true
			}
		}
	}
	return false
}

// beyond is the folded glob behind its literal leading directory.
func (g *pathGlob) beyond() packed {
	out := g.fold
	out.head = string([]rune(out.head)[g.tail:])
	return out
}

// holdsFolded takes the root in folded case.
func (p *packed) holdsFolded(root string, files []string, budget *work) bool {
	budget.spend(2)
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

// spellingsOf gives the spellings of all globs of a rule, worked out once in a call.
func (p *places) spellingsOf(c *compiled) []spelling {
	if known, ok := p.spelled[c]; ok {
		return known
	}
	var out []spelling
	globs := c.path().globs
	for i := range globs {
		out = append(out, globs[i].spellings(p)...)
	}
	if p.spelled == nil {
		p.spelled = map[*compiled][]spelling{}
	}
	p.spelled[c] = out
	return out
}

// spellings are the glob under its base as written, under the resolved base,
// and with its literal leading directory resolved: a rule that names a link
// must also hold for what the link points to.
func (g *pathGlob) spellings(p *places) []spelling {
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

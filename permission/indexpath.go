package permission

import (
	"path"
	"slices"
	"strings"
)

// pathKeys find the rules that could match a path, by what their globs are relative to.
type pathKeys struct {
	below []keysBelow
	// rest are the rules that are always tried.
	rest []int32
	// leads are the directories that denies and asks name. One that is a link counts for what it points to as well,
	// and where it points is only known at the call.
	leads []lead
}

// keysBelow are keys of what comes below a base.
type keysBelow struct {
	base pathBase
	*keys
	// first has a bit for each byte that a text begins with which has a key.
	first [4]uint64
}

// near reports whether the text may have a key.
func (k *keysBelow) near(text string) bool {
	return text == "" || len(k.sizes) > k.heads || k.first[text[0]/64]&(1<<(text[0]%64)) != 0
}

// lead is the directory that a rule names.
type lead struct {
	dir  string
	rule int32
	base pathBase
}

type pathKeysMaker struct {
	below [baseRoot + 1]keysMaker
	rest  []int32
	leads []lead
}

// add keys an allow by its globs as they are written.
func (m *pathKeysMaker) add(i int32, r *compiled) {
	p := r.path()
	if p == nil || p.climbs() {
		m.rest = append(m.rest, i)
		return
	}
	for _, g := range p.globs {
		m.below[g.base].add(i, g.seq.key())
	}
}

// addFolded keys a deny or ask, in folded case.
func (m *pathKeysMaker) addFolded(i int32, r *compiled) {
	p := r.path()
	if p == nil || p.climbs() {
		m.rest = append(m.rest, i)
		return
	}
	for _, g := range p.globs {
		m.below[g.base].add(i, g.fold.key())
		if l := (lead{strings.TrimSuffix(g.lead, "/"), i, g.base}); l.dir != "" && !slices.Contains(m.leads[max(0, len(m.leads)-1):], l) {
			m.leads = append(m.leads, l) // a tree and the directory above it have the same
		}
	}
}

// keys are what was collected, nil if that is nothing.
func (m *pathKeysMaker) keys() *pathKeys {
	k := &pathKeys{rest: slices.Clone(m.rest), leads: slices.Clone(m.leads)}
	for base := range m.below {
		if b := (keysBelow{pathBase(base), m.below[base].keys(), m.below[base].first}); b.keys != nil {
			k.below = append(k.below, b)
		}
	}
	if len(k.below)+len(k.rest)+len(k.leads) == 0 {
		return nil
	}
	return k
}

// find appends the allows that could cover a path. It goes by the cleaned path: that must match, whatever the
// resolved one does.
func (k *pathKeys) find(t *target, p *places, found []int32) []int32 {
	if k == nil {
		return found
	}
	found = append(found, k.rest...)
	file := nfc(t.clean)
	for i := range k.below {
		b := &k.below[i]
		found = append(found, b.rest...)
		for _, root := range p.rootsOf(b.base) {
			if rest, ok := below(nfc(root), file); ok {
				found = b.find(rest, found)
			}
		}
	}
	return found
}

// findFolded appends the denies and asks that could be about a path; ok is false where that may be any.
func (k *pathKeys) findFolded(t *target, p *places, found []int32) (_ []int32, ok bool) {
	if t.glob != nil || t.spread || t.unsure {
		return found, false
	}
	if k == nil {
		return found, true
	}
	found = append(found, k.rest...)
	if t.clean == "" {
		return found, true
	}
	files := t.folded()
	for i := range k.below {
		b := &k.below[i]
		found = append(found, b.rest...)
		for _, root := range p.lowRootsOf(b.base) {
			for _, file := range files {
				if rest, ok := below(root, file); ok && b.near(rest) {
					found = b.find(rest, found)
				}
			}
		}
	}
	return k.findLinks(p, found), true
}

// sameAs reports whether the same rules could be about two targets.
func (t *target) sameAs(o *target) bool {
	return t.clean == o.clean && t.real == o.real && t.unsure == o.unsure && t.spread == o.spread && t.glob == nil && o.glob == nil
}

// findLinks appends the rules whose directory is a link.
func (k *pathKeys) findLinks(p *places, found []int32) []int32 {
	if p.resolve == nil {
		return found
	}
	for _, l := range k.leads {
		for _, root := range p.rootsOf(l.base) {
			dir := path.Join(root, l.dir)
			if real, err := p.follow(dir); err == nil && real != dir {
				found = append(found, l.rule)
				break
			}
		}
	}
	return found
}

// climbs reports a glob that starts above its base.
func (pp *pathPattern) climbs() bool {
	for _, g := range pp.globs {
		if g.up > 0 {
			return true
		}
	}
	return false
}

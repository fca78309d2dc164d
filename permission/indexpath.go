package permission

import "path"

// pathKeys find the rules that could match a path, by what their globs are relative to.
type pathKeys struct {
	below [baseRoot + 1]keys
	// rest are the rules that are always tried.
	rest []int32
	// leads are the directories that denies and asks name. One that is a link counts for what it points to as well,
	// and where it points is only known at the call.
	leads []lead
}

type lead struct {
	base  pathBase
	dir   string
	rules []int32
}

type pathKeysMaker struct {
	below [baseRoot + 1]keysMaker
	rest  []int32
	leads []lead
	known map[lead0]int
}

// lead0 is what leads are told apart by.
type lead0 struct {
	base pathBase
	dir  string
}

// add keys an allow by its globs as they are written.
func (m *pathKeysMaker) add(i int32, r *compiled) {
	if r.bare || r.path == nil || r.path.climbs() {
		m.rest = append(m.rest, i)
		return
	}
	for _, g := range r.path.globs {
		m.below[g.base].add(i, g.seq.key())
	}
}

// addFolded keys a deny or ask, in folded case.
func (m *pathKeysMaker) addFolded(i int32, r *compiled) {
	if r.bare || r.path == nil || r.path.climbs() {
		m.rest = append(m.rest, i)
		return
	}
	for _, g := range r.path.globs {
		m.below[g.base].add(i, g.fold.key())
		if g.lead == "" {
			continue
		}
		key := lead0{g.base, g.lead}
		n, ok := m.known[key]
		if !ok {
			if m.known == nil {
				m.known = map[lead0]int{}
			}
			n = len(m.leads)
			m.known[key], m.leads = n, append(m.leads, lead{base: g.base, dir: g.lead})
		}
		m.leads[n].rules = append(m.leads[n].rules, i)
	}
}

func (m *pathKeysMaker) keys() pathKeys {
	k := pathKeys{rest: m.rest, leads: m.leads}
	for base := range m.below {
		k.below[base] = m.below[base].keys()
	}
	return k
}

// find appends the allows that could cover a path. It goes by the cleaned path: that must match, whatever the
// resolved one does.
func (k *pathKeys) find(t target, p *places, found []int32) []int32 {
	found = append(found, k.rest...)
	file := nfc(t.clean)
	for base := range k.below {
		if b := &k.below[base]; !b.empty() {
			found = append(found, b.rest...)
			for _, root := range p.rootsOf(pathBase(base)) {
				if rest, ok := below(nfc(root), file); ok {
					found = b.find(rest, found)
				}
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
	found = append(found, k.rest...)
	if t.clean == "" {
		return found, true
	}
	files := t.folded()
	for base := range k.below {
		b := &k.below[base]
		if b.empty() {
			continue
		}
		found = append(found, b.rest...)
		for _, root := range p.lowRootsOf(pathBase(base)) {
			for _, file := range files {
				if rest, ok := below(root, file); ok {
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
				found = append(found, l.rules...)
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

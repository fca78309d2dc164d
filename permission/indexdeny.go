package permission

import (
	"slices"
	"strings"
)

// pickRestricts picks the denies and asks for a tool.
func (v *view) pickRestricts(s *Set, t *Tool) {
	var m keysMaker
	var names []slot
	var paths pathKeysMaker
	files := t.Kind == KindCommand || t.Kind == KindRead || t.Kind == KindWrite
	for n := range s.restricts {
		r, i := &s.restricts[n], int32(n)
		own, reaches := v.owns(r), files && (r.kin.tool.reads || r.kin.tool.writes)
		if own || reaches {
			v.every = append(v.every, i)
		}
		if files && t.Kind != KindCommand && (own || reaches) {
			paths.addFolded(i, r)
		}
		switch {
		case t.Kind == KindRead || t.Kind == KindWrite:
		case !own:
		case t.Kind == KindCommand && r.has(asCmd):
			p := r.cmd()
			ks := p.forbidKeys()
			m.add(i, ks...)
			if len(ks) > 0 && i < maxKeyed {
				names = v.addNames(names, i, p)
			}
		default:
			m.add(i, r.forbidKeys(t.Kind)...)
		}
	}
	v.every = slices.Clone(v.every)
	v.restricts, v.names, v.paths = m.keys(), newTable(names), paths.keys()
	if t.Kind == KindCommand {
		about := s.aboutFiles()
		v.paths, v.files = about.paths, about.rules
	}
}

// forbidKeys is permitKeys for a deny or ask that is not about commands.
func (c *compiled) forbidKeys(kind Kind) (out []keyed) {
	switch {
	case c.bare():
	case kind == KindURL && c.has(asURL):
		if origin, ok := c.url().origin(); ok {
			out = append(out, keyed{keyedWhole, origin})
		}
	case kind != KindCommand && kind != KindURL && c.has(asArgs):
		if p := c.args(); p.constraints == nil {
			out = append(out, p.glob.key())
		}
	}
	return out
}

// forbidKeys are the folded texts by which a deny or ask is found for a command of which every word is known; none
// where it must always be tried.
func (p *cmdPattern) forbidKeys() (out []keyed) {
	for i := range p.alts {
		a := &p.alts[i]
		if a.assigns > 0 || a.far {
			return nil
		}
		base := a.base.folded()
		k := base.key()
		switch {
		case p.prefix && i%3 != 0:
			continue
		case p.prefix:
			k = k.openEnded()
		case k.kind == keyedTail && !a.whole:
			// The pattern is also held against the program with its directory: what comes before the first blank
			// must end both.
			first, _, _ := strings.Cut(k.text, string(wordSep))
			if strings.Contains(first, "/") {
				return nil
			}
		}
		if k.kind == keyedNot {
			return nil
		}
		out = append(out, k)
	}
	return out
}

// addNames notes which programs a rule is about.
func (v *view) addNames(names []slot, rule int32, p *cmdPattern) []slot {
	for _, a := range p.alts {
		if !a.whole {
			v.vague = append(v.vague, rule)
			if !a.base.begins(opDeep) {
				v.tails = append(v.tails, rule)
			}
			continue
		}
		names = append(names, slot{hashOf(a.first), rule})
	}
	return names
}

// restricting are the numbers of the denies and asks that could be about a subject, in the order of the set.
func (e *evaluation) restricting(v *view, s subject) []int32 {
	found := v.restricts.always(e.restricted[:0])
	switch s := s.(type) {
	case *commandSubject:
		found = v.restrictingPart(s.part, s.places, found)
	case *pathSubject:
		near, ok := v.paths.findFolded(&s.target, s.places, found)
		if !ok {
			near = append(found, v.every...)
		}
		found = near
	case *urlSubject:
		found = v.restricts.find(s.target.host, found)
	case *argsSubject:
		found = v.restricts.find(s.text, found)
	}
	e.restricted = inOrder(found)
	return e.restricted
}

func (v *view) restrictingPart(p *part, at *places, found []int32) []int32 {
	for i := range p.touches {
		if p.touches[i].again {
			continue
		}
		near, ok := v.paths.findFolded(&p.touches[i].target, at, found)
		if found = near; !ok {
			found = append(found, v.files...)
			break
		}
	}
	if len(v.names)+len(v.vague) == 0 {
		return found
	}
	if !p.cmd.opens() || len(p.forms) > 0 && !p.forms[0].opens() {
		return append(found, v.every...)
	}
	if heard := p.heardAs(); heard.sure {
		found = v.restricts.findHashed(heard.folded, heard.hash, found)
	} else {
		found = v.byName(heard.name, found)
	}
	for _, c := range p.forms {
		found = v.byName(joined(c.name()), found)
	}
	for _, b := range p.behind {
		if heard := b.heardAs(); heard.sure {
			found = v.restricts.findHashed(heard.folded, heard.hash, found)
		} else {
			found = v.byName(heard.name, found)
		}
	}
	for _, c := range p.inner {
		if !c.opens() {
			return append(found, v.every...)
		}
		found = v.names.find(hashOf(joined(c.name())), append(found, v.tails...))
	}
	return found
}

// opens reports whether the program is known.
func (c command) opens() bool { return len(c.words) > 0 && c.words[0].sure() }

// byName appends the rules that may be about a program.
func (v *view) byName(name string, found []int32) []int32 {
	return v.names.find(hashOf(name), append(found, v.vague...))
}

// heard is a command as denies and asks are matched against it.
type heard struct {
	name         string
	plain, based string
	folded       string // based, in a part
	hash         uint64 // of folded
	sure         bool
	declares     bool // the program changes the shell
}

// heardAs is the part's command. The part must not change any more.
func (p *part) heardAs() *heard {
	if p.heard == nil {
		p.heard = p.cmd.heard()
		p.heard.folded = foldString(p.heard.based)
		p.heard.declares = declares[p.heard.name]
		p.heard.hash = hashOf(p.heard.folded)
	}
	return p.heard
}

func (c command) heard() *heard {
	if len(c.words) == 0 {
		return &heard{}
	}
	return &heard{name: joined(c.name()), plain: c.subject(false), based: c.baseSubject(), sure: c.sure()}
}

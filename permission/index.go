package permission

import (
	"math/bits"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// A set may have thousands of rules, and a call is about one tool and one text: a command, a path, a URL, arguments.
// So for each tool the rules that could concern it are picked out once, and found by the literal beginning or end of
// what they match. What is found is matched as if there were no index: it only leaves out what could not have matched.

// maxViews bounds how many tools a set keeps its pick for; names of tools may
// come from outside.
const maxViews = 256

// index has what was picked, by the name of the tool.
type index struct {
	mu    sync.Mutex // taken by those who add a view
	kept  int
	views atomic.Pointer[views] // replaced, never changed
	once  sync.Once
	files fileView
}

// view is what of a set concerns one tool.
type view struct {
	name   string
	hash   uint64 // of the name
	server string
	kind   Kind
	// own has a bit for each of the set's tools that denies and asks name, where they are about this tool.
	own []uint64
	// allows are found by the words of a command, the origin of a URL, or the arguments.
	allows     *keys
	allowPaths *pathKeys
	// restricts are found likewise, commands by their words with the program's base name, all in folded case.
	restricts *keys
	// names are the restricts of commands by the program's base name, and vague those of any program: what matters
	// where not all of the words are known.
	names table
	vague []int32
	// tails are those of vague that may be about the end of a command, see [cmdPattern.forbidsTail].
	tails []int32
	// paths are the restricts about files: the tool's own, and those that reach into it.
	paths *pathKeys
	files []int32
	// every restrict of the tool and about files.
	every []int32
}

// fileView is what of a set is about files, whatever the tool.
type fileView struct {
	paths *pathKeys
	rules []int32
}

// aboutFiles returns the denies and asks about files, which reach into commands.
func (s *Set) aboutFiles() *fileView {
	s.index.once.Do(func() {
		var paths pathKeysMaker
		for i := range s.restricts {
			if r := &s.restricts[i]; r.kin.tool.reads || r.kin.tool.writes {
				s.index.files.rules = append(s.index.files.rules, int32(i))
				paths.addFolded(int32(i), r)
			}
		}
		s.index.files.paths = paths.keys()
	})
	return &s.index.files
}

// views finds views by the hash of the tool's name. Its size is a power of two, larger than the number of views.
type views []*view

func (v views) find(h uint64, t *Tool) *view {
	for i := v.place(h); v[i] != nil; i = (i + 1) & (len(v) - 1) {
		if o := v[i]; o.hash == h && o.kind == t.Kind && o.name == t.Name && o.server == t.Server {
			return o
		}
	}
	return nil
}

// nameHash tells the few names of tools apart; names that share it cost a comparison each.
func nameHash(s string) uint64 {
	h := uint64(len(s))
	for i := max(0, len(s)-8); i < len(s); i++ {
		h = h<<7 ^ h>>57 ^ uint64(s[i])
	}
	return h * 0x9E3779B97F4A7C15
}

func (v views) place(h uint64) int { return int(h>>40) & (len(v) - 1) }

// with is a copy with one more.
func (v views) with(more *view, n int) views {
	out := make(views, 1<<bits.Len(uint(2*n)))
	for _, o := range append(slices.Clone(v), more) {
		if o == nil {
			continue
		}
		i := out.place(o.hash)
		for out[i] != nil {
			i = (i + 1) & (len(out) - 1)
		}
		out[i] = o
	}
	return out
}

// about returns what concerns a tool.
func (s *Set) about(t *Tool) *view {
	h := nameHash(t.Name)
	kept := s.index.views.Load()
	if kept != nil {
		if v := kept.find(h, t); v != nil {
			return v
		}
	}
	v := s.pick(t)
	v.name, v.hash = strings.Clone(t.Name), h
	s.index.mu.Lock()
	defer s.index.mu.Unlock()
	if s.index.kept >= maxViews {
		return v
	}
	if kept = s.index.views.Load(); kept == nil {
		kept = &views{}
	}
	s.index.kept++
	more := kept.with(v, s.index.kept)
	s.index.views.Store(&more)
	return v
}

func (s *Set) pick(t *Tool) *view {
	v := &view{server: t.Server, kind: t.Kind, own: s.owned(t)}
	v.pickRestricts(s, t)
	permits := make([]bool, len(s.tools))
	for i, p := range s.tools {
		permits[i] = p.permits(t)
	}
	var m keysMaker
	var paths pathKeysMaker
	for i := range s.allows {
		r := &s.allows[i]
		switch {
		case !permits[r.kin.tool.number]:
		case t.Kind == KindRead || t.Kind == KindWrite:
			paths.add(int32(i), r)
		default:
			m.add(int32(i), r.permitKeys(t.Kind)...)
		}
	}
	v.allows, v.allowPaths = m.keys(), paths.keys()
	return v
}

// owned finds the tools of rules that a deny or ask would be about a tool by.
func (s *Set) owned(t *Tool) []uint64 {
	own := make([]uint64, (len(s.tools)+63)/64)
	for i, p := range s.tools {
		if p.forbids(t) {
			own[i/64] |= 1 << (i % 64)
		}
	}
	return own
}

// owns reports whether a deny or ask is about the tool itself.
func (v *view) owns(r *compiled) bool {
	n := r.kin.tool.number
	return v.own[n/64]&(1<<(n%64)) != 0
}

// permitKeys are the texts by which an allow is found for a kind of call; none where it must always be tried.
func (c *compiled) permitKeys(kind Kind) (out []keyed) {
	switch {
	case c.bare():
	case kind == KindCommand && c.has(plainCmd):
		q := c.plainCmd()
		k := q.key()
		if c.has(prefixCmd) {
			k = k.openEnded()
		}
		out = append(out, k)
	case kind == KindCommand && c.has(asCmd):
		p := c.cmd()
		for i, a := range p.alts {
			switch {
			case !p.prefix:
				out = append(out, a.seq.key())
			case i%3 == 0: // the two others go on after it
				out = append(out, a.seq.key().openEnded())
			}
		}
	case kind == KindURL && c.has(asURL):
		if origin, ok := c.url().origin(); ok {
			out = append(out, keyed{keyedWhole, origin})
		}
	case kind != KindCommand && kind != KindURL && c.has(asArgs):
		if p := c.args(); p.constraints == nil {
			out = append(out, p.narrow.key())
		}
	}
	return out
}

// openEnded is the key where more may follow.
func (k keyed) openEnded() keyed {
	switch k.kind {
	case keyedWhole, keyedHead:
		return keyed{keyedHead, k.text}
	default:
		return keyed{}
	}
}

// origin is the host that a pattern names, if it names one.
func (p *urlPattern) origin() (string, bool) {
	switch {
	case p.deep || p.anyHost || strings.ContainsAny(strings.Join(p.labels, ""), `*?\`):
		return "", false
	case p.labels == nil:
		return p.address, true
	default:
		return strings.Join(p.labels, "."), true
	}
}

// allowing are the numbers of the allows that could cover a subject, in the order of the set.
func (e *evaluation) allowing(v *view, s subject) []int32 {
	found := v.allows.always(e.allowed[:0])
	switch s := s.(type) {
	case *commandSubject:
		for p := s.part; p != nil; p = p.parent { // an exact rule may spell what is around the command
			for i := range p.sayings() {
				found = v.allows.findHashed(p.said[i].text, p.said[i].hash, found)
			}
		}
	case *pathSubject:
		found = v.allowPaths.find(&s.target, s.places, found)
	case *urlSubject:
		found = v.allows.find(s.target.host, found)
	case *argsSubject:
		found = v.allows.find(s.text, found)
	}
	e.allowed = inOrder(found)
	return e.allowed
}

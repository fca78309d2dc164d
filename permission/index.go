package permission

import (
	"maps"
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
	views atomic.Pointer[map[string]*view] // replaced, never changed
}

// view is what of a set concerns one tool.
type view struct {
	server string
	kind   Kind
	next   *view // of another server or kind
	// allows are found by the words of a command, the origin of a URL, or the arguments.
	allows     keys
	allowPaths pathKeys
	// restricts are found likewise, commands by their words with the program's base name, all in folded case.
	restricts keys
	// names are the restricts of commands by the program's base name, and vague those of any program: what matters
	// where not all of the words are known.
	names table
	vague []int32
	// tails are those of vague that may be about the end of a command, see [cmdPattern.forbidsTail].
	tails []int32
	// paths are the restricts about files: the tool's own, and those that reach into it.
	paths pathKeys
	files []int32
	// every restrict of the tool and about files.
	every []int32
}

// about returns what concerns a tool.
func (s *Set) about(t *Tool) *view {
	views := s.index.views.Load()
	if views != nil {
		for v := (*views)[t.Name]; v != nil; v = v.next {
			if v.kind == t.Kind && v.server == t.Server {
				return v
			}
		}
	}
	v := s.pick(t)
	s.index.mu.Lock()
	defer s.index.mu.Unlock()
	if s.index.kept >= maxViews {
		return v
	}
	more := map[string]*view{}
	if views = s.index.views.Load(); views != nil {
		maps.Copy(more, *views)
	}
	s.index.kept++
	v.next = more[t.Name]
	more[t.Name] = v
	s.index.views.Store(&more)
	return v
}

func (s *Set) pick(t *Tool) *view {
	v := &view{server: t.Server, kind: t.Kind}
	v.pickRestricts(s, t)
	var m keysMaker
	var paths pathKeysMaker
	for i, r := range s.allows {
		switch {
		case !r.tool.permits(*t):
		case t.Kind == KindRead || t.Kind == KindWrite:
			paths.add(int32(i), r)
		default:
			m.add(int32(i), r.permitKeys(t.Kind)...)
		}
	}
	v.allows, v.allowPaths = m.keys(), paths.keys()
	return v
}

// permitKeys are the texts by which an allow is found for a kind of call; none where it must always be tried.
func (c *compiled) permitKeys(kind Kind) (out []keyed) {
	switch {
	case c.bare:
	case kind == KindCommand && c.cmd != nil:
		for i, a := range c.cmd.alts {
			switch {
			case !c.cmd.prefix:
				out = append(out, a.seq.key())
			case i%3 == 0: // the two others go on after it
				out = append(out, a.seq.key().openEnded())
			}
		}
	case kind == KindURL && c.url != nil:
		if origin, ok := c.url.origin(); ok {
			out = append(out, keyed{keyedWhole, origin})
		}
	case kind != KindCommand && kind != KindURL && c.args != nil && c.args.constraints == nil:
		out = append(out, c.args.narrow.key())
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
	found := append(e.allowed[:0], v.allows.rest...)
	switch s := s.(type) {
	case commandSubject:
		for p := s.part; p != nil; p = p.parent { // an exact rule may spell what is around the command
			for i := range p.sayings() {
				found = v.allows.find(p.said[i].text, found)
			}
		}
	case pathSubject:
		found = v.allowPaths.find(s.target, s.places, found)
	case urlSubject:
		found = v.allows.find(s.target.host, found)
	case argsSubject:
		found = v.allows.find(s.text, found)
	}
	e.allowed = inOrder(found)
	return e.allowed
}

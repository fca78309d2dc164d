package permission

import (
	"slices"
	"strings"
	"sync"
)

// A set may have thousands of rules, and a call is about one tool and begins
// with one word. So for each tool the rules that could concern it are picked out
// once, and of its allows for commands those that begin as the command does.
// What is left is matched as if there were no index: it only leaves out what
// could not have matched.

// maxViews bounds how many tools a set keeps its pick for; names of tools may
// come from outside.
const maxViews = 256

// index has what was picked, by tool.
type index struct {
	mu    sync.RWMutex
	views map[viewKey]*view
}

type viewKey struct {
	name, server string
	kind         Kind
}

// view is what of a set concerns one tool.
type view struct {
	restricts []*compiled // denies, then asks
	exact     map[string][]*compiled
	first     map[string][]*compiled
	rest      []*compiled // allows that are in neither map
}

// about returns what concerns a tool.
func (s *Set) about(t Tool) *view {
	key := viewKey{t.fullName(), t.Server, t.Kind}
	s.index.mu.RLock()
	v := s.index.views[key]
	s.index.mu.RUnlock()
	if v != nil {
		return v
	}
	v = s.pick(t)
	s.index.mu.Lock()
	defer s.index.mu.Unlock()
	if s.index.views == nil {
		s.index.views = map[viewKey]*view{}
	}
	if len(s.index.views) < maxViews {
		s.index.views[key] = v
	}
	return v
}

func (s *Set) pick(t Tool) *view {
	v := &view{exact: map[string][]*compiled{}, first: map[string][]*compiled{}}
	files := t.Kind == KindCommand || t.Kind == KindRead || t.Kind == KindWrite
	for _, r := range slices.Concat(s.denies, s.asks) {
		if r.tool.forbids(t) || files && (r.tool.forbids(readTool) || r.tool.forbids(writeTool)) {
			v.restricts = append(v.restricts, r)
		}
	}
	for _, r := range s.allows {
		if r.tool.permits(t) {
			v.add(t, r)
		}
	}
	return v
}

// add puts an allow where the commands that it could cover look for it.
func (v *view) add(t Tool, r *compiled) {
	if t.Kind != KindCommand || r.bare || r.cmd == nil {
		v.rest = append(v.rest, r)
		return
	}
	var firsts []string
	for _, a := range r.cmd.alts {
		word, ok := firstWord(a.seq)
		if !ok {
			v.rest = append(v.rest, r)
			return
		}
		firsts = append(firsts, word)
	}
	if r.cmd.exact {
		for _, a := range r.cmd.alts {
			text := literalText(a.seq)
			v.exact[text] = append(v.exact[text], r)
		}
		return
	}
	slices.Sort(firsts)
	for _, word := range slices.Compact(firsts) {
		v.first[word] = append(v.first[word], r)
	}
}

// firstWord is the word that a command must begin with for the pattern to cover
// it; ok is false where that is open. A word that may go on after a colon counts
// without it.
func firstWord(q sequence) (word string, ok bool) {
	var b strings.Builder
	for _, t := range q {
		switch {
		case t.op == opLit && t.r == wordSep:
			return b.String(), true
		case t.op == opLit:
			b.WriteRune(t.r)
		default:
			return strings.CutSuffix(b.String(), ":")
		}
	}
	return b.String(), true
}

func literalText(q sequence) string {
	var b strings.Builder
	for _, t := range q {
		b.WriteRune(t.r)
	}
	return b.String()
}

// allows calls yield with the allows that could cover a subject, in the order of
// the set, until it returns false.
func (v *view) allows(s subject, yield func(*compiled) bool) {
	var found []*compiled
	if c, ok := s.(commandSubject); ok {
		for p := c.part; p != nil; p = p.parent { // an exact rule may spell what is around the command
			for _, said := range p.sayings() {
				found = v.lookUp(said.text, found)
			}
		}
		slices.SortFunc(found, func(x, y *compiled) int { return x.order - y.order })
	}
	rest := v.rest
	for len(found) > 0 || len(rest) > 0 {
		var next *compiled
		if len(rest) == 0 || len(found) > 0 && found[0].order < rest[0].order {
			next, found = found[0], found[1:]
		} else {
			next, rest = rest[0], rest[1:]
		}
		if !yield(next) {
			return
		}
	}
}

// lookUp appends the allows that are spelled like a command or begin as it does.
func (v *view) lookUp(text string, to []*compiled) []*compiled {
	to = append(to, v.exact[text]...)
	word := text
	if end := strings.IndexRune(text, wordSep); end >= 0 {
		word = text[:end]
	}
	for {
		to = append(to, v.first[word]...)
		end := strings.LastIndexByte(word, ':')
		if end < 0 {
			return to
		}
		word = word[:end]
	}
}

package permission

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// The matcher here is a set-of-states walk rather than a backtracking one, for
// three reasons: a decision must not take exponential time on a hostile
// pattern or call, a class such as [!a] must not cross a path segment, and the
// same automaton answers "could these two patterns meet?", which is what a
// shell glob against a denied path needs.

// Words are joined by a blank. Two noncharacters carry what text can't: a blank
// that is part of a word, and that a piece of a word is only known at run time.
// Both are refused in input.
const (
	wordSep    = ' '
	wordBlank  = '\U0010FFFE'
	opaqueMark = '\U0010FFFF'
)

type opcode uint8

const (
	opLit     opcode = iota
	opOne            // one character, not the separator
	opStar           // any run without the separator
	opDeep           // any run at all
	opClass          // one character of a class, not the separator
	opDirs           // start of **/: nothing, or whole segments
	opDirsMid        // inside a segment of **/
)

type runeRange struct{ lo, hi rune }

type token struct {
	ranges []runeRange
	r      rune
	op     opcode
	negate bool
	// quoted: a rule quotes this literal.
	quoted bool
}

// sequence is one alternative of a pattern, braces already expanded.
type sequence []token

func (t token) accepts(c, sep rune) bool {
	if c == opaqueMark {
		return t.op == opStar || t.op == opDeep
	}
	switch t.op {
	case opLit:
		return c == t.r
	case opOne, opStar:
		return c != sep
	case opClass:
		return c != sep && t.inClass(c) != t.negate
	case opDeep, opDirs, opDirsMid:
		return true
	default:
		return false
	}
}

func (t token) inClass(c rune) bool {
	for _, r := range t.ranges {
		if r.lo <= c && c <= r.hi {
			return true
		}
	}
	return false
}

// after lists the states reached from state i by consuming c; the empty moves
// are added by close.
func (q sequence) after(i int, c, sep rune, add func(int)) {
	t := q[i]
	if !t.accepts(c, sep) {
		return
	}
	switch t.op {
	case opLit, opOne, opClass:
		add(i + 1)
	case opStar, opDeep:
		add(i)
	case opDirs:
		if c == sep {
			add(i + 2)
		} else {
			add(i + 1)
		}
	case opDirsMid:
		add(i)
		if c == sep {
			add(i + 1)
		}
	}
}

// skips reports the state reachable from i without consuming, or -1.
func (q sequence) skips(i int) int {
	if i >= len(q) {
		return -1
	}
	switch q[i].op {
	case opStar, opDeep:
		return i + 1
	case opDirs:
		return i + 2
	case opLit, opOne, opClass, opDirsMid:
		return -1
	default:
		return -1
	}
}

// match reports whether the whole subject is in the pattern.
func (q sequence) match(subject []rune, sep rune) bool {
	n := 0
	for n < len(q) && q[n].op == opLit {
		if n >= len(subject) || subject[n] != q[n].r {
			return false
		}
		n++
	}
	q, subject = q[n:], subject[n:]
	for len(q) > 0 && q[len(q)-1].op == opLit {
		end := len(subject) - 1
		if end < 0 || subject[end] != q[len(q)-1].r {
			return false
		}
		q, subject = q[:len(q)-1], subject[:end]
	}
	if len(q) == 0 {
		return len(subject) == 0
	}
	if len(q) == 1 && q[0].op == opDeep {
		return true
	}
	return q.simulate(subject, sep)
}

func (q sequence) simulate(subject []rune, sep rune) bool {
	now, next := make([]bool, len(q)+1), make([]bool, len(q)+1)
	into := func(set []bool) func(int) {
		return func(i int) {
			for i >= 0 && !set[i] {
				set[i] = true
				i = q.skips(i)
			}
		}
	}
	into(now)(0)
	for _, c := range subject {
		clear(next)
		add, alive := into(next), false
		for i := range q {
			if now[i] {
				q.after(i, c, sep, func(j int) { alive = true; add(j) })
			}
		}
		if !alive {
			return false
		}
		now, next = next, now
	}
	return now[len(q)]
}

// meets reports whether some text is in both patterns. Where two classes are
// compared it may say yes too often, which only ever leads to asking.
func (q sequence) meets(p sequence, sep rune) bool { return q.meetsWithin(p, sep, nil) }

// meetsWithin is meets within a budget; beyond it the answer is yes.
func (q sequence) meetsWithin(p sequence, sep rune, budget *work) bool {
	type pair struct{ i, j int }
	// Most pairs differ in their literal beginning.
	for n := 0; n < len(q) && n < len(p) && q[n].op == opLit && p[n].op == opLit; n++ {
		if q[n].r != p[n].r {
			return !budget.spend(n + 1)
		}
	}
	if !budget.spend(len(q) + len(p)) {
		return true
	}
	seen := map[pair]bool{}
	queue := []pair{{0, 0}}
	push := func(i, j int) {
		if k := (pair{i, j}); !seen[k] {
			seen[k] = true
			queue = append(queue, k)
		}
	}
	seen[pair{0, 0}] = true
	for len(queue) > 0 {
		if !budget.spend(8) {
			return true
		}
		at := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if at.i == len(q) && at.j == len(p) {
			return true
		}
		if k := q.skips(at.i); k >= 0 {
			push(k, at.j)
		}
		if k := p.skips(at.j); k >= 0 {
			push(at.i, k)
		}
		if at.i == len(q) || at.j == len(p) {
			continue
		}
		for _, c := range shared(q[at.i], p[at.j], sep) {
			q.after(at.i, c, sep, func(i int) {
				p.after(at.j, c, sep, func(j int) { push(i, j) })
			})
		}
	}
	return false
}

// shared gives one sample of each sort of character both tokens accept: the
// separator, and anything else.
func shared(a, b token, sep rune) []rune {
	samples := []rune{sep, 'x'}
	for _, t := range []token{a, b} {
		if t.op == opLit {
			samples = append(samples, t.r)
		}
		for _, r := range t.ranges {
			samples = append(samples, r.lo, r.hi, r.hi+1)
		}
	}
	both := samples[:0]
	for _, c := range samples {
		if a.accepts(c, sep) && b.accepts(c, sep) {
			both = append(both, c)
		}
	}
	return both
}

func literal(s string) sequence {
	if s == "" {
		return nil
	}
	q := make(sequence, 0, len(s))
	for _, r := range s {
		q = append(q, token{op: opLit, r: r})
	}
	return q
}

// folded is the sequence with literals and classes in folded case.
func (q sequence) folded() sequence {
	out := slices.Clone(q)
	for i, t := range out {
		out[i].r = foldRune(t.r)
		if t.op != opClass {
			continue
		}
		ranges := slices.Clone(t.ranges)
		for _, r := range t.ranges {
			if r.hi-r.lo > 1024 {
				continue
			}
			for c := r.lo; c <= r.hi; c++ {
				ranges = append(ranges, runeRange{foldRune(c), foldRune(c)})
			}
		}
		out[i].ranges = ranges
	}
	return out
}

// foldRune maps every member of a case orbit to the same rune, so that also
// the Kelvin sign and the long s fold to their letters.
func foldRune(r rune) rune {
	if r < unicode.MaxASCII && r >= 0 {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	least := r
	for c := unicode.SimpleFold(r); c != r; c = unicode.SimpleFold(c) {
		least = min(least, c)
	}
	if 'A' <= least && least <= 'Z' {
		least += 'a' - 'A'
	}
	return least
}

func foldString(s string) string { return strings.Map(foldRune, s) }

// maxAlternatives bounds what the braces of one pattern may multiply to.
const maxAlternatives = 256

var (
	errBrace     = errors.New(`a "{" is never closed: close it, or write \{ for the character`)
	errBraceEnd  = errors.New(`a "}" has no "{": write \} for the character`)
	errBracket   = errors.New(`a "[" is never closed: close it, or write \[ for the character`)
	errEscape    = errors.New(`the pattern ends in a lone "\": write \\ for the character`)
	errTooManyOf = fmt.Errorf("the braces multiply to more than %d patterns: split the rule", maxAlternatives)
)

// expandBraces turns {a,b} into alternatives. Escapes are kept for the next
// stage.
func expandBraces(s string) ([]string, error) {
	open, depth, start := -1, 0, 0
	var options []string
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '{':
			if depth == 0 {
				open, start = i, i+1
			}
			depth++
		case ',':
			if depth == 1 {
				options = append(options, s[start:i])
				start = i + 1
			}
		case '}':
			if depth == 0 {
				return nil, errBraceEnd
			}
			if depth--; depth == 0 {
				return joinBraces(s[:open], append(options, s[start:i]), s[i+1:])
			}
		}
	}
	if depth > 0 {
		return nil, errBrace
	}
	return []string{s}, nil
}

func joinBraces(before string, options []string, after string) ([]string, error) {
	tails, err := expandBraces(after)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, option := range options {
		inner, err := expandBraces(option)
		if err != nil {
			return nil, err
		}
		if len(out)+len(inner)*len(tails) > maxAlternatives {
			return nil, errTooManyOf
		}
		for _, middle := range inner {
			for _, tail := range tails {
				out = append(out, before+middle+tail)
			}
		}
	}
	return out, nil
}

// parseClass reads [abc], [a-z] or [!a-z] at the start of rs and gives the
// token and how many runes it took.
func parseClass(rs []rune) (token, int, error) {
	t := token{op: opClass}
	i := 1
	if i < len(rs) && (rs[i] == '!' || rs[i] == '^') {
		t.negate = true
		i++
	}
	for first := true; ; first = false {
		if i >= len(rs) {
			return t, 0, errBracket
		}
		if rs[i] == ']' && !first {
			return t, i + 1, nil
		}
		if rs[i] == '\\' && i+1 < len(rs) {
			i++
		}
		lo, hi := rs[i], rs[i]
		if i+2 < len(rs) && rs[i+1] == '-' && rs[i+2] != ']' {
			hi = rs[i+2]
			i += 2
		}
		if lo > hi {
			return t, 0, fmt.Errorf("the range %c-%c in [ ] runs backwards", lo, hi)
		}
		t.ranges = append(t.ranges, runeRange{lo, hi})
		i++
	}
}

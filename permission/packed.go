package permission

import (
	"strings"
	"unicode/utf8"
)

// packed is a sequence as rules keep it: most of a pattern is literal text, which is much smaller than its tokens and
// compared at once.
type packed struct {
	head, tail string
	mid        sequence // what is between them; where it is empty, head is all
}

func (q sequence) pack() packed {
	head := 0
	for head < len(q) && q[head].op == opLit {
		head++
	}
	tail := len(q)
	for tail > head && q[tail-1].op == opLit {
		tail--
	}
	p := packed{head: literalText(q[:head]), tail: literalText(q[tail:])}
	if tail > head {
		p.mid = append(make(sequence, 0, tail-head), q[head:tail]...)
	}
	return p
}

// seq are the tokens again, without the marks of quoting.
func (p *packed) seq() sequence {
	q := make(sequence, 0, len(p.head)+len(p.mid)+len(p.tail))
	return append(append(append(q, literal(p.head)...), p.mid...), literal(p.tail)...)
}

func (p *packed) exact() bool { return len(p.mid) == 0 }

// begins reports whether the pattern's first token is op.
func (p *packed) begins(op opcode) bool { return p.head == "" && len(p.mid) > 0 && p.mid[0].op == op }

// match is [sequence.match]. The text is valid UTF-8.
func (p *packed) match(s string, sep rune) bool {
	if len(s) < len(p.head)+len(p.tail) || !strings.HasPrefix(s, p.head) || !strings.HasSuffix(s, p.tail) {
		return false
	}
	s = s[len(p.head) : len(s)-len(p.tail)]
	switch q := p.mid; {
	case len(q) == 0:
		return s == ""
	case len(q) == 1 && q[0].op == opDeep:
		return true
	case len(q) == 2 && q[0].op == opOne && q[1].op == opDeep: // what stands for ** at the end of a path
		first, _ := utf8.DecodeRuneInString(s)
		return s != "" && q[0].accepts(first, sep)
	default:
		return q.simulate([]rune(s), sep)
	}
}

// key is how the texts that it could match are found: the literal text at the start or the end, whichever is longer.
func (p *packed) key() keyed {
	switch {
	case p.exact():
		return keyed{keyedWhole, p.head}
	case p.head == "" && p.tail == "":
		return keyed{}
	case len(p.head) >= len(p.tail):
		return keyed{keyedHead, p.head}
	default:
		return keyed{keyedTail, p.tail}
	}
}

// meets reports whether some text is in both patterns, as [sequence.meets] does.
func (p *packed) meets(o *packed, sep rune) bool {
	n := min(len(p.head), len(o.head))
	return p.head[:n] == o.head[:n] && p.seq().meets(o.seq(), sep)
}

// folded is the pattern in folded case.
func (p *packed) folded() packed {
	return packed{head: foldString(p.head), tail: foldString(p.tail), mid: p.mid.folded()}
}

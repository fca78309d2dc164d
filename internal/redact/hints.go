package redact

import (
	"slices"
	"strings"
	"sync"
)

// sought is a text in which hints are looked for: many, of which nearly none is there. Which pairs of bytes stand in it is noted
// once, so that most need no search.
type sought struct {
	lower string
	pairs [pairBits / 64]uint64
}

const pairBits = 1 << 12

// seekers spare short texts, of which JSON has many, the making of one.
var seekers = sync.Pool{New: func() any { return new(sought) }}

func seek(lower string) *sought {
	q, _ := seekers.Get().(*sought)
	*q = sought{lower: lower}
	for i := 1; i < len(lower); i++ {
		n := pairOf(lower[i-1], lower[i])
		q.pairs[n/64] |= 1 << (n % 64)
	}
	return q
}

func pairOf(a, b byte) uint16 { return (uint16(a)<<6 ^ uint16(a)>>2 ^ uint16(b)) % pairBits }

// may reports whether a text in lower case can be there.
func (q *sought) may(text string) bool {
	for i := 1; i < len(text); i++ {
		if n := pairOf(text[i-1], text[i]); q.pairs[n/64]&(1<<(n%64)) == 0 {
			return false
		}
	}
	return true
}

func (q *sought) has(text string) bool { return q.may(text) && strings.Contains(q.lower, text) }

func (q *sought) hasAny(texts ...string) bool { return slices.ContainsFunc(texts, q.has) }

// hinted reports whether a text may have such a secret.
func (f *shape) hinted(q *sought, s string) bool {
	if f.near != nil {
		return f.near(q)
	}
	for _, h := range f.hints {
		if h[0] < 'A' || h[0] > 'Z' {
			if q.has(h) {
				return true
			}
		} else if q.may(strings.ToLower(h)) && strings.Contains(s, h) {
			return true
		}
	}
	return false
}

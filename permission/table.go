package permission

import (
	"hash/maphash"
	"maps"
	"slices"
	"unicode/utf8"
)

// A table finds the numbers of rules by the hash of a text. Two texts may share what is kept of their hashes: what is
// found is only a candidate, and is matched in full. A slot has the number and one in its low bits, and above them some
// of the hash; 0 is free.
type table []uint32

// slot is one entry while a table is made.
type slot struct {
	hash uint64
	rule int32
}

const (
	ruleBits = 20
	maxKeyed = 1<<ruleBits - 1 // rules from this number on have no key
)

// seed keeps whoever writes rules or calls from choosing texts that share a hash.
var seed = maphash.MakeSeed()

func hashOf(s string) uint64 { return maphash.String(seed, s) }

// place is the slot where a search for the hash begins.
func (t table) place(h uint64) int { return int(uint64(uint32(h)) * uint64(len(t)) >> 32) }

// markOf is what a slot keeps of the hash.
func markOf(h uint64) uint32 { return uint32(h>>32) &^ maxKeyed }

// newTable packs what was collected.
func newTable(found []slot) table {
	if len(found) == 0 {
		return nil
	}
	t := make(table, len(found)*4/3+2)
	for _, s := range found {
		i := t.place(s.hash)
		for t[i] != 0 {
			if i++; i == len(t) {
				i = 0
			}
		}
		t[i] = markOf(s.hash) | uint32(s.rule+1)
	}
	return t
}

// find appends the rules that are kept for a hash.
func (t table) find(h uint64, to []int32) []int32 {
	if len(t) == 0 {
		return to
	}
	mark := markOf(h)
	for i := t.place(h); t[i] != 0; {
		if t[i]&^maxKeyed == mark {
			to = append(to, int32(t[i]&maxKeyed)-1)
		}
		if i++; i == len(t) {
			i = 0
		}
	}
	return to
}

// keys find the rules that could match a text, by the whole of it, by how it begins or by how it ends.
type keys struct {
	table  table
	sizes  []ending // of beginnings, then of ends
	heads  int      // how many of them are of beginnings
	wholes bool
	rest   []int32 // rules that are none of these, in order
}

// keysMaker collects what goes into keys.
type keysMaker struct {
	slots        []slot
	heads, tails map[int]uint64
	wholes       bool
	rest         []int32
	first        [4]uint64 // the bytes that wholes and heads begin with
}

// ending is one size that there is. The filter has a bit for each pair of first and last bytes: most sizes can be passed
// over without a look into the table.
type ending struct {
	filter uint64
	size   int
}

// pairBit is the bit of the first and the last byte of a text that is not empty.
func pairBit(text string) uint64 { return 1 << ((text[0]*37 + text[len(text)-1]) & 63) }

func endings(to []ending, filters map[int]uint64) []ending {
	for _, size := range slices.Sorted(maps.Keys(filters)) {
		to = append(to, ending{filters[size], size})
	}
	return to
}

// keyed is how the texts that a pattern could match are found. The zero value is: not at all.
type keyed struct {
	kind keyedKind
	text string
}

type keyedKind uint8

const (
	keyedNot keyedKind = iota
	keyedWhole
	keyedHead
	keyedTail
)

// literalText is the text of literal tokens.
func literalText(q sequence) string {
	var b []byte
	for _, t := range q {
		b = utf8.AppendRune(b, t.r)
	}
	return string(b)
}

// add puts a rule under all of its keys; one that has none is tried on every text.
func (m *keysMaker) add(rule int32, ks ...keyed) {
	if len(ks) == 0 || rule >= maxKeyed || slices.ContainsFunc(ks, func(k keyed) bool { return k.kind == keyedNot }) {
		m.rest = append(m.rest, rule)
		return
	}
	for _, k := range ks {
		m.slots = append(m.slots, slot{hashOf(k.text), rule})
		if k.text != "" && k.kind != keyedTail {
			m.first[k.text[0]/64] |= 1 << (k.text[0] % 64)
		}
		switch k.kind {
		case keyedHead:
			m.heads = withPair(m.heads, k.text)
		case keyedTail:
			m.tails = withPair(m.tails, k.text)
		case keyedWhole, keyedNot:
			m.wholes = true
		}
	}
}

func withPair(filters map[int]uint64, text string) map[int]uint64 {
	if filters == nil {
		filters = map[int]uint64{}
	}
	filters[len(text)] |= pairBit(text)
	return filters
}

// keys are what was collected, nil if that is nothing.
func (m *keysMaker) keys() *keys {
	if len(m.slots)+len(m.rest) == 0 {
		return nil
	}
	k := &keys{table: newTable(m.slots), heads: len(m.heads), wholes: m.wholes, rest: slices.Clone(m.rest)}
	if n := len(m.heads) + len(m.tails); n > 0 {
		k.sizes = endings(endings(make([]ending, 0, n), m.heads), m.tails)
	}
	return k
}

// always appends the rules that are tried on every text.
func (k *keys) always(to []int32) []int32 {
	if k == nil {
		return to
	}
	return append(to, k.rest...)
}

// find appends the rules that could match the text, but for the rest, in no order and maybe several times.
func (k *keys) find(text string, to []int32) []int32 {
	if k == nil {
		return to
	}
	return k.findHashed(text, hashOf(text), to)
}

// findHashed is find for a text whose hash is known.
func (k *keys) findHashed(text string, hash uint64, to []int32) []int32 {
	if k == nil {
		return to
	}
	if k.wholes {
		to = k.table.find(hash, to)
	}
	for i := range k.sizes {
		e := &k.sizes[i]
		if e.size > len(text) {
			continue
		}
		end := text[:e.size]
		if i >= k.heads {
			end = text[len(text)-e.size:]
		}
		if e.filter&pairBit(end) != 0 {
			to = k.table.find(hashOf(end), to)
		}
	}
	return to
}

// inOrder sorts what was found, each rule once.
func inOrder(found []int32) []int32 {
	if len(found) < 2 {
		return found
	}
	slices.Sort(found)
	return slices.Compact(found)
}

package permission

import (
	"hash/maphash"
	"maps"
	"slices"
	"unicode/utf8"
)

// A table finds the numbers of rules by the hash of a text. Two texts may share a hash: what is found is only a
// candidate, and is matched in full.
type table struct{ slots []slot }

type slot struct {
	hash uint32
	rule int32 // the number and one; 0 is free
}

// seed keeps whoever writes rules or calls from choosing texts that share a hash.
var seed = maphash.MakeSeed()

func hashOf(s string) uint32 {
	h := maphash.String(seed, s)
	return uint32(h>>32) ^ uint32(h)
}

// newTable packs what was collected.
func newTable(found []slot) table {
	if len(found) == 0 {
		return table{}
	}
	size := 4
	for size*3 < len(found)*4 {
		size *= 2
	}
	t := table{slots: make([]slot, size)}
	for _, s := range found {
		i := int(s.hash) & (size - 1)
		for t.slots[i].rule != 0 {
			i = (i + 1) & (size - 1)
		}
		t.slots[i] = s
	}
	return t
}

// find appends the rules that are kept for a hash.
func (t *table) find(h uint32, to []int32) []int32 {
	if len(t.slots) == 0 {
		return to
	}
	mask := len(t.slots) - 1
	for i := int(h) & mask; t.slots[i].rule != 0; i = (i + 1) & mask {
		if t.slots[i].hash == h {
			to = append(to, t.slots[i].rule-1)
		}
	}
	return to
}

// keys find the rules that could match a text, by the whole of it, by how it begins or by how it ends.
type keys struct {
	whole        table
	heads, tails endings
	rest         []int32 // rules that are none of these, in order
}

// keysMaker collects what goes into keys.
type keysMaker struct {
	whole        []slot
	heads, tails endingsMaker
	rest         []int32
}

// endings find by the first or the last bytes of a text. For each size that there is, filter has a bit for each pair
// of first and last bytes: most sizes can be passed over without a look into the table.
type endings struct {
	table
	sizes  []int
	filter []uint64
}

type endingsMaker struct {
	slots  []slot
	filter map[int]uint64
}

func (m *endingsMaker) add(text string, rule int32) {
	if m.filter == nil {
		m.filter = map[int]uint64{}
	}
	m.slots = append(m.slots, slot{hashOf(text), rule + 1})
	m.filter[len(text)] |= pairBit(text)
}

// pairBit is the bit of the first and the last byte of a text that is not empty.
func pairBit(text string) uint64 { return 1 << ((text[0]*37 + text[len(text)-1]) & 63) }

func (m *endingsMaker) endings() endings {
	e := endings{table: newTable(m.slots), sizes: slices.Sorted(maps.Keys(m.filter))}
	for _, size := range e.sizes {
		e.filter = append(e.filter, m.filter[size])
	}
	return e
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
	if len(ks) == 0 || slices.ContainsFunc(ks, func(k keyed) bool { return k.kind == keyedNot }) {
		m.rest = append(m.rest, rule)
		return
	}
	for _, k := range ks {
		switch k.kind {
		case keyedWhole:
			m.whole = append(m.whole, slot{hashOf(k.text), rule + 1})
		case keyedHead:
			m.heads.add(k.text, rule)
		case keyedTail:
			m.tails.add(k.text, rule)
		case keyedNot:
		}
	}
}

func (m *keysMaker) keys() keys {
	return keys{whole: newTable(m.whole), heads: m.heads.endings(), tails: m.tails.endings(), rest: slices.Clone(m.rest)}
}

func (k *keys) empty() bool {
	return len(k.whole.slots)+len(k.heads.slots)+len(k.tails.slots)+len(k.rest) == 0
}

// find appends the rules that could match the text, but for the rest, in no order and maybe several times.
func (k *keys) find(text string, to []int32) []int32 {
	if len(k.whole.slots) > 0 {
		to = k.whole.find(hashOf(text), to)
	}
	for i, size := range k.heads.sizes {
		if size > len(text) {
			break
		}
		if head := text[:size]; k.heads.filter[i]&pairBit(head) != 0 {
			to = k.heads.find(hashOf(head), to)
		}
	}
	for i, size := range k.tails.sizes {
		if size > len(text) {
			break
		}
		if tail := text[len(text)-size:]; k.tails.filter[i]&pairBit(tail) != 0 {
			to = k.tails.find(hashOf(tail), to)
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

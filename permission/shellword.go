package permission

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// maxBraceMarks bounds the braces of one word; splitting them is slow beyond.
const maxBraceMarks = 100

// maxBraceWords bounds what the braces of one word may multiply to.
const maxBraceWords = 256

// expand turns one parsed word into the words it becomes, braces first, as bash
// does, within what the call has left.
func (s *script) expand(w *syntax.Word) []word {
	left := maxWords - s.places.work.words
	out := expandUpTo(w, min(maxBraceWords, max(left, 0)+1))
	s.places.work.words += len(out) - 1
	s.places.work.spend(len(out))
	return out
}

func expandUpTo(w *syntax.Word, limit int) []word {
	if text, ok := plainText(w); ok {
		return []word{{text: text}}
	}
	if !mayHaveBraces(w) {
		return []word{buildWord(w.Parts)}
	}
	if braceMarks(w) > maxBraceMarks {
		return []word{unknownWord()}
	}
	split := &syntax.Word{Parts: append([]syntax.WordPart(nil), w.Parts...)}
	if !syntax.SplitBraces(split) {
		return []word{buildWord(w.Parts)}
	}
	if braceCount(split.Parts) > limit {
		return []word{unknownWord()}
	}
	var out []word
	for e := range expand.BracesSeq(nil, split) { // bounded above, so without error
		// The empty alternative of {rm,} leaves no word behind.
		if w := buildWord(e.Parts); w.text != "" || hasQuotes(e.Parts) {
			out = append(out, w)
		}
	}
	return out
}

// plainText is a word that is one piece of text in which the shell has nothing to do.
func plainText(w *syntax.Word) (string, bool) {
	if len(w.Parts) != 1 {
		return "", false
	}
	switch p := w.Parts[0].(type) {
	case *syntax.Lit:
		return p.Value, plainBytes(p.Value)
	case *syntax.SglQuoted:
		return p.Value, !p.Dollar && utf8.ValidString(p.Value)
	default:
		return "", false
	}
}

func plainBytes(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || c == '\\' || c == '*' || c == '?' || c == '[' || c == '{' || c == '}' || c == '~' {
			return false
		}
	}
	return s != ""
}

func braceMarks(w *syntax.Word) int {
	n := 0
	for _, p := range w.Parts {
		if l, ok := p.(*syntax.Lit); ok {
			n += strings.Count(l.Value, "{")
		}
	}
	return n
}

func hasQuotes(parts []syntax.WordPart) bool {
	for _, p := range parts {
		if _, ok := p.(*syntax.Lit); !ok {
			return true
		}
	}
	return false
}

func unknownWord() word {
	return word{text: string(opaqueMark), possible: sequence{{op: opDeep}}, dynamic: true, open: true}
}

func mayHaveBraces(w *syntax.Word) bool {
	for _, p := range w.Parts {
		if l, ok := p.(*syntax.Lit); ok && strings.ContainsAny(l.Value, "{}") {
			return true
		}
	}
	return false
}

// braceCount bounds the words a split word expands to, without expanding it.
func braceCount(parts []syntax.WordPart) int {
	n := 1
	for _, p := range parts {
		b, ok := p.(*syntax.BraceExp)
		if !ok {
			continue
		}
		sum := 0
		if b.Sequence {
			sum = sequenceCount(b)
		} else {
			for _, e := range b.Elems {
				sum += braceCount(e.Parts)
			}
		}
		if n *= max(sum, 1); n > maxBraceWords {
			return maxBraceWords + 1
		}
	}
	return n
}

// sequenceCount is how long {x..y} becomes: the ends are numbers or letters.
func sequenceCount(b *syntax.BraceExp) int {
	ends := [2]int64{}
	for i := range ends {
		text := b.Elems[i].Lit()
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			n = int64(text[0])
		}
		if n > 1e6 || n < -1e6 {
			return maxBraceWords + 1
		}
		ends[i] = n
	}
	return int(max(ends[0]-ends[1], ends[1]-ends[0])) + 1
}

// wordBuilder collects the pieces of one word.
type wordBuilder struct {
	text strings.Builder
	seq  sequence
	w    word
	// brace: an unquoted { was left over, so a comma or .. after it may expand
	// by rules that differ between shells.
	brace, closed bool
	// several: the word has pieces that are not plain text.
	several bool
}

func buildWord(parts []syntax.WordPart) word {
	var b wordBuilder
	b.several = hasQuotes(parts)
	b.parts(parts, false)
	return b.done()
}

func (b *wordBuilder) done() word {
	b.w.text = b.text.String()
	if !b.w.sure() {
		b.w.possible = b.seq
	}
	return b.w
}

func (b *wordBuilder) first() bool { return b.text.Len() == 0 }

func (b *wordBuilder) char(r rune) {
	b.text.WriteRune(r)
	b.seq = append(b.seq, token{op: opLit, r: r})
}

func (b *wordBuilder) literal(s string) {
	// Through the string, so that an invalid byte stays one character.
	for _, r := range s {
		b.char(r)
	}
}

func (b *wordBuilder) globChar(r rune, op opcode) {
	b.w.open = b.w.open || b.first()
	b.w.glob = true
	b.text.WriteRune(r)
	if n := len(b.seq); op == opStar && n > 0 && b.seq[n-1].op == opStar {
		return // ** means what * does
	}
	b.seq = append(b.seq, token{op: op})
}

func (b *wordBuilder) unknown(subst bool) {
	b.w.open = b.w.open || b.first()
	if subst {
		b.w.subst = true
	} else {
		b.w.dynamic = true
	}
	b.text.WriteRune(opaqueMark)
	b.seq = append(b.seq, token{op: opDeep})
}

func (b *wordBuilder) parts(parts []syntax.WordPart, quoted bool) {
	for i, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if quoted {
				b.quotedLit(p.Value)
			} else {
				b.lit(p.Value, i == 0)
			}
		case *syntax.SglQuoted:
			if !p.Dollar {
				b.literal(p.Value)
				continue
			}
			b.ansi(p.Value)
		case *syntax.DblQuoted:
			b.parts(p.Parts, true)
			b.w.dynamic = b.w.dynamic || p.Dollar // looked up in a translation catalogue
		case *syntax.CmdSubst:
			b.w.split = b.w.split || !quoted
			b.unknown(true)
		case *syntax.ProcSubst:
			b.unknown(true)
		default:
			// Parameters, arithmetic, extended globs: not resolvable.
			b.unknown(false)
		}
	}
}

func (b *wordBuilder) ansi(s string) {
	text, sure := decodeANSI(s)
	b.literal(text)
	if !sure || !utf8.ValidString(text) {
		b.w.dynamic = true
	}
}

// lit is unquoted text: backslashes quote, * ? [ are file globs.
func (b *wordBuilder) lit(s string, start bool) {
	rs := []rune(s)
	closed := len(rs) - 1
	for closed >= 0 && rs[closed] != ']' {
		closed--
	}
	for i := 0; i < len(rs); i++ {
		switch r := rs[i]; r {
		case '\\':
			if i++; i == len(rs) {
				b.char(r) // at the very end it is itself
			} else if rs[i] != '\n' {
				b.char(rs[i])
			}
		case '*':
			b.globChar(r, opStar)
		case '?':
			b.globChar(r, opOne)
		case '[':
			i += b.bracket(rs[i:], closed-i)
		case '{':
			b.brace, b.closed = true, false
			b.char(r)
		case '}':
			// Behind it .. is text again; a comma would still divide.
			b.closed = true
			b.char(r)
		case ',', '.':
			if b.brace && (r == ',' || !b.closed && i+1 < len(rs) && rs[i+1] == '.') {
				b.w.dynamic = true
			}
			b.char(r)
		case '~':
			if start && i == 0 {
				b.w.tilde = true
			}
			b.char(r)
		default:
			b.char(r)
		}
	}
}

// bracket reads an unquoted [ and gives how many runes after it were taken;
// closed is where the last ] stands, if one does. A class that does not end in this piece of the word may end in a later one.
func (b *wordBuilder) bracket(rs []rune, closed int) int {
	class, n, err := parseClass(rs[:max(closed, 0)+1])
	if err != nil {
		b.w.dynamic = b.w.dynamic || b.several
		b.char(rs[0])
		return 0
	}
	b.w.open, b.w.glob = b.w.open || b.first(), true
	b.text.WriteString(string(rs[:n]))
	b.seq = append(b.seq, class)
	return n - 1
}

// quotedLit is text in double quotes: a backslash quotes only what is special
// there.
func (b *wordBuilder) quotedLit(s string) {
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\\n", s[i+1]) >= 0 {
			if i++; s[i] != '\n' {
				b.char(rune(s[i]))
			}
			continue
		}
		end := i + 1
		for end < len(s) && s[end] != '\\' {
			end++
		}
		b.literal(s[i:end])
		i = end - 1
	}
}

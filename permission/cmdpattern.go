package permission

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// cmdPattern is a bash rule. It is matched against the words of one simple
// command, joined by blanks; a mark that no text contains stands for a quoted
// blank, so that it never passes for the end of a word.
type cmdPattern struct {
	alts []cmdAlt
	// exact: no wildcard at all.
	exact bool
	// prefix: it ends in :*, and its alternatives come in threes, as [cmdVariants] makes them.
	prefix bool
}

type cmdAlt struct {
	seq packed
	// base is seq with the first word reduced to a base name in lower case.
	base packed
	// first is the literal beginning of base's first word; whole tells that it
	// is all of it.
	first string
	whole bool
	// far: the program's directory has a wildcard.
	far bool
	// assigns is how many leading words are literal NAME=value.
	assigns int
	// literal: it quotes a character that the shell would expand.
	literal bool
}

var (
	errCmdEmpty    = errors.New("the parentheses are empty: write bash alone for any command, or bash(npm test:*)")
	errCmdQuote    = errors.New(`a quote is never closed: close it, or write \' or \" for the character`)
	errCmdOperator = errors.New("a rule covers one simple command, so ; & | < > and a line break must be quoted: write one rule per command, and file_write or file_read for a redirection")
	errCmdPrefix   = errors.New(`":*" needs the end of a command right before it: write npm test:*`)
)

// cmdPiece is one character of a rule as written.
type cmdPiece struct {
	r      rune
	quoted bool // inside quotes or escaped
	inside bool // inside quotes
	word   bool // the blank between two words
}

func parseCmdPattern(effect Effect, s string) (*cmdPattern, error) {
	if odd := oddText(s, "\t\n"); odd != "" {
		return nil, fmt.Errorf("the command pattern contains %s", odd)
	}
	pieces, err := lexCmd(s)
	if err != nil {
		return nil, err
	}
	if len(pieces) == 0 {
		return nil, errCmdEmpty
	}
	wide := effect != Allow
	pieces, prefix := cutPrefixMark(pieces)
	if prefix && (len(pieces) == 0 || pieces[len(pieces)-1].word) {
		return nil, errCmdPrefix
	}
	p := &cmdPattern{exact: !prefix, prefix: prefix}
	for _, option := range cmdAlternatives(pieces) {
		seq := cmdTokens(option, wide)
		p.exact = p.exact && !slices.ContainsFunc(seq, func(t token) bool { return t.op != opLit })
		for _, variant := range cmdVariants(seq, prefix, wide) {
			p.alts = append(p.alts, newCmdAlt(variant))
		}
	}
	if len(p.alts) > maxAlternatives {
		return nil, errTooManyOf
	}
	return p, nil
}

// lexCmd splits a rule into characters: blanks outside quotes divide words,
// quotes group, a backslash makes the next character literal, in quotes too.
func lexCmd(s string) ([]cmdPiece, error) {
	var out []cmdPiece
	var quote rune
	rs := []rune(strings.TrimSpace(s))
	for i := 0; i < len(rs); i++ {
		r := rs[i]
		switch {
		case r == '\\':
			if i++; i == len(rs) {
				return nil, errEscape
			}
			out = append(out, cmdPiece{r: rs[i], quoted: true, inside: quote != 0})
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote = r
			if i+1 < len(rs) && rs[i+1] == r && emptyWord(rs, i) {
				// An empty word is a word: two marks with nothing between.
				out = append(out, cmdPiece{})
			}
		case quote == 0 && (r == ' ' || r == '\t'):
			if n := len(out); n > 0 && !out[n-1].word {
				out = append(out, cmdPiece{r: wordSep, word: true})
			}
		case quote == 0 && strings.ContainsRune(";&|<>\n", r):
			return nil, errCmdOperator
		case quote != 0 && r != '*':
			out = append(out, cmdPiece{r: r, quoted: true, inside: true})
		default:
			out = append(out, cmdPiece{r: r})
		}
	}
	if quote != 0 {
		return nil, errCmdQuote
	}
	return out, nil
}

func emptyWord(rs []rune, i int) bool {
	before := i == 0 || rs[i-1] == ' ' || rs[i-1] == '\t'
	after := i+2 == len(rs) || rs[i+2] == ' ' || rs[i+2] == '\t'
	return before && after
}

func (p cmdPiece) is(r rune) bool { return p.r == r && !p.quoted }

func cutPrefixMark(pieces []cmdPiece) ([]cmdPiece, bool) {
	n := len(pieces)
	if n >= 2 && pieces[n-1].is('*') && pieces[n-2].is(':') {
		return pieces[:n-2], true
	}
	return pieces, false
}

// cmdAlternatives expands {a,b} outside quotes, as the shell would, into
// several patterns.
func cmdAlternatives(pieces []cmdPiece) [][]cmdPiece {
	open := -1
	for i, p := range pieces {
		switch {
		case p.word:
			open = -1
		case p.is('{'):
			open = i
		case p.is('}') && open >= 0:
			inner := pieces[open+1 : i]
			if !slices.ContainsFunc(inner, func(p cmdPiece) bool { return p.is(',') }) {
				open = -1
				continue
			}
			var out [][]cmdPiece
			for _, option := range splitPieces(inner) {
				joined := slices.Concat(pieces[:open], option, pieces[i+1:])
				out = append(out, cmdAlternatives(joined)...)
				if len(out) > maxAlternatives {
					return out
				}
			}
			return out
		}
	}
	return [][]cmdPiece{pieces}
}

func splitPieces(pieces []cmdPiece) [][]cmdPiece {
	var out [][]cmdPiece
	start := 0
	for i, p := range pieces {
		if p.is(',') {
			out, start = append(out, pieces[start:i]), i+1
		}
	}
	return append(out, pieces[start:])
}

// cmdTokens turns pieces into tokens. Only * is a wildcard for allow; a deny
// takes ? as one too, the wider reading.
func cmdTokens(pieces []cmdPiece, wide bool) sequence {
	var q sequence
	for _, p := range pieces {
		switch {
		case p == cmdPiece{}:
		case p.is('*'):
			if n := len(q); n == 0 || q[n-1].op != opDeep {
				q = append(q, token{op: opDeep})
			}
		case p.is('?') && wide:
			q = append(q, token{op: opOne})
		case p.r == wordSep && !p.word:
			q = append(q, token{op: opLit, r: wordBlank, quoted: p.inside})
		default:
			q = append(q, token{op: opLit, r: p.r, quoted: p.inside})
		}
	}
	return q
}

// cmdVariants adds what X:* covers, and for deny lets "X *" cover X alone.
func cmdVariants(q sequence, prefix, wide bool) []sequence {
	if prefix {
		more := append(slices.Clone(q), token{op: opLit, r: wordSep}, token{op: opDeep})
		colon := append(slices.Clone(q), token{op: opLit, r: ':'}, token{op: opDeep})
		return []sequence{q, more, colon}
	}
	n := len(q)
	if wide && n > 2 && q[n-1].op == opDeep && q[n-2].op == opLit && q[n-2].r == wordSep {
		return []sequence{q, q[: n-2 : n-2]}
	}
	return []sequence{q}
}

func newCmdAlt(q sequence) cmdAlt {
	a := cmdAlt{seq: q.pack(), assigns: leadingAssigns(q)}
	a.literal = slices.ContainsFunc(q, func(t token) bool { return t.quoted && strings.ContainsRune("*?[~", t.r) })
	end := slices.IndexFunc(q, func(t token) bool { return t.op == opLit && t.r == wordSep })
	if end < 0 {
		end = len(q)
	}
	from := 0
	for i, t := range q[:end] {
		if t.op == opLit && t.r == '/' && i+1 < end {
			from = i + 1
		}
	}
	base := append(slices.Clone(q[from:end]).folded(), q[end:]...)
	a.base = base.pack()
	a.far = slices.ContainsFunc(q[:from], func(t token) bool { return t.op != opLit })
	a.whole = true
	for _, t := range base[:end-from] {
		if t.op != opLit {
			a.whole = false
			break
		}
		a.first += string(t.r)
	}
	return a
}

// mayStart is a quick look at the program's name before the whole command.
func (a cmdAlt) mayStart(name string) bool {
	if a.whole {
		return a.first == name
	}
	return strings.HasPrefix(name, a.first)
}

// leadingAssigns counts the leading words that are literally NAME=value.
func leadingAssigns(q sequence) int {
	n := 0
	for {
		end := slices.IndexFunc(q, func(t token) bool { return t.op == opLit && t.r == wordSep })
		if end < 0 {
			end = len(q)
		}
		var word strings.Builder
		for _, t := range q[:end] {
			if t.op != opLit {
				return n
			}
			word.WriteRune(t.r)
		}
		if !isAssign(word.String()) {
			return n
		}
		n++
		if end == len(q) {
			return n
		}
		q = q[end+1:]
	}
}

func isAssign(s string) bool {
	name, _, ok := strings.Cut(s, "=")
	name = strings.TrimSuffix(name, "+")
	if !ok || name == "" || '0' <= name[0] && name[0] <= '9' {
		return false
	}
	for i := range len(name) {
		if !isWordByte(name[i]) {
			return false
		}
	}
	return true
}

// permits reports whether an allow covers the command's words, assignments
// included: those must be spelled by the rule.
func (p *cmdPattern) permits(s *saying) bool {
	for i := range p.alts {
		a := &p.alts[i]
		if a.literal && s.expands {
			// A quoted * is the character, not the files it would expand to.
			continue
		}
		if a.assigns == s.assigns && a.seq.match(s.text, 0) {
			return true
		}
	}
	return false
}

// saying is a command as allows are matched against it.
type saying struct {
	text    string
	hash    uint64 // of the text
	assigns int
	expands bool
}

func (c command) saying() saying {
	text := c.subject(true)
	return saying{text: text, hash: hashOf(text), assigns: len(c.assigns),
		expands: slices.ContainsFunc(c.words, func(w word) bool { return w.glob || w.tilde })}
}

// sayings are the command's, and what is left without its harmless options. The
// part must not change any more.
func (p *part) sayings() []saying {
	if p.said == nil {
		p.said = append(p.said, p.cmd.saying())
		if p.plain != nil {
			p.said = append(p.said, p.plain.saying())
		}
	}
	return p.said
}

// named reports whether the rule spells its program.
func (p *cmdPattern) named() bool {
	return !slices.ContainsFunc(p.alts, func(a cmdAlt) bool { return a.base.head == "" })
}

// forbidsTail is relate for a tail of a command that was looked at already: a
// pattern that begins with * would have matched the whole.
func (p *cmdPattern) forbidsTail(c command, w *work) answer { return p.relate(c, nil, true, w) }

// relate matches for deny and ask: assignments are looked past, the program
// counts by its base name in any case. The command may be spelled out already.
func (p *cmdPattern) relate(c command, h *heard, tail bool, w *work) answer {
	if len(c.words) == 0 {
		return truth(len(c.assigns) > 0 && p.spells(c))
	}
	name, looked := joined(c.name()), false
	found := no
	for i := range p.alts {
		a := &p.alts[i]
		if tail && a.base.begins(opDeep) {
			continue
		}
		if a.assigns == 0 && c.words[0].sure() && !a.mayStart(name) {
			continue
		}
		if !looked {
			if tail && w.over() {
				return maybe
			}
			if h == nil {
				h = c.heard()
			}
			looked = true
			w.spend(len(h.plain) / 4)
		}
		w.spend(1 + len(h.plain)/8)
		if a.seq.match(h.plain, 0) || a.base.match(h.based, 0) || a.assigns > 0 && a.seq.match(c.subject(true), 0) {
			return yes
		}
		if found == no && !h.sure && (!w.spend(len(h.plain)) || a.base.seq().meetsWithin(c.possible(), 0, w)) {
			found = maybe
		}
	}
	return found
}

func (p *cmdPattern) spells(c command) bool {
	subject := c.subject(true)
	return slices.ContainsFunc(p.alts, func(a cmdAlt) bool { return a.seq.match(subject, 0) })
}

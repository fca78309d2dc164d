package permission

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// argOp is how one named argument is constrained.
type argOp string

const (
	opEqual   argOp = "="
	opColon   argOp = ":"
	opAtMost  argOp = "<="
	opAtLeast argOp = ">="
	opBelow   argOp = "<"
	opAbove   argOp = ">"
)

// constraint is one "name op value" of an argument rule.
type constraint struct {
	name   string
	op     argOp
	text   string
	number *big.Rat // set when the value is a number
	word   string   // "true", "false" or "null"
	glob   sequence // the value as a glob, for strings
	whole  string   // the canonical JSON of an object or an array
}

// argsPattern is either a list of constraints or a glob over the canonical
// JSON of all arguments.
type argsPattern struct {
	constraints []constraint
	glob        packed
	// narrow is glob for an allow: a star between quotes ends at a quote.
	narrow packed
}

// inQuotes keeps the stars between quotes within their text: what is allowed
// must not grow by names and values that the rule does not speak of.
func inQuotes(q sequence) sequence {
	out := slices.Clone(q)
	quoted := false
	for i, t := range out {
		switch {
		case t.op == opLit && t.r == '"':
			quoted = !quoted
		case t.op == opDeep && quoted:
			out[i].op = opStar
		}
	}
	return out
}

func parseArgsPattern(s string) (*argsPattern, error) {
	if strings.TrimSpace(s) == "" {
		return nil, errors.New("the parentheses are empty: leave them out, or write tool(name:value)")
	}
	if _, _, _, ok := splitConstraint(s); !ok {
		q, err := parseTextGlob(s)
		return &argsPattern{glob: q.pack(), narrow: inQuotes(q).pack()}, err
	}
	p := &argsPattern{}
	for _, piece := range splitConstraints(s) {
		name, op, value, ok := splitConstraint(piece)
		if !ok {
			return nil, fmt.Errorf("%q is not a condition: write name:value, name=value, name<=number or name>=number", piece)
		}
		c, err := newConstraint(name, op, value)
		if err != nil {
			return nil, err
		}
		p.constraints = append(p.constraints, c)
	}
	return p, nil
}

// splitConstraints cuts at commas outside quotes. A single name:value keeps
// its commas.
func splitConstraints(s string) []string {
	if _, op, _, _ := splitConstraint(s); op == opColon {
		return []string{s}
	}
	var out []string
	start, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			quoted = !quoted
		case ',':
			if !quoted {
				out = append(out, s[start:i])
				start = i + 1
			}
		}
	}
	return append(out, s[start:])
}

func splitConstraint(s string) (name string, op argOp, value string, ok bool) {
	s = strings.TrimSpace(s)
	n := 0
	for n < len(s) && (isWordByte(s[n]) || n > 0 && (s[n] == '.' || s[n] == '-')) {
		n++
	}
	if n == 0 {
		return "", "", "", false
	}
	rest := strings.TrimLeft(s[n:], " ")
	for _, op := range []argOp{opAtMost, opAtLeast, opBelow, opAbove, opEqual, opColon} {
		if v, found := strings.CutPrefix(rest, string(op)); found {
			return s[:n], op, strings.TrimSpace(v), true
		}
	}
	return "", "", "", false
}

func isWordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func newConstraint(name string, op argOp, value string) (constraint, error) {
	c := constraint{name: name, op: op, text: value}
	if strings.HasPrefix(value, `"`) {
		text, err := strconv.Unquote(value)
		if err != nil {
			return c, fmt.Errorf("the quoted value %s of %s is not closed or escaped properly", value, name)
		}
		c.text, c.glob = text, literal(text)
	} else if n, ok := parseNumber(value); ok {
		c.number = n
	} else if value == "true" || value == "false" || value == "null" {
		c.word = value
	} else {
		q, err := parseTextGlob(value)
		if err != nil {
			return c, err
		}
		c.glob = q
	}
	if op != opEqual && op != opColon && c.number == nil {
		return c, fmt.Errorf("%s%s needs a number, not %q", name, op, value)
	}
	if value == "" {
		return c, fmt.Errorf(`the value of %s is empty: write %s:"" for the empty text`, name, name)
	}
	return c, nil
}

// parseTextGlob reads a glob over plain text: * and ? are wildcards, a
// backslash escapes, and everything else, JSON's braces included, is itself.
func parseTextGlob(s string) (sequence, error) {
	var q sequence
	rs := []rune(s)
	for i := 0; i < len(rs); i++ {
		switch rs[i] {
		case '*':
			if n := len(q); n == 0 || q[n-1].op != opDeep {
				q = append(q, token{op: opDeep})
			}
		case '?':
			q = append(q, token{op: opOne})
		case '\\':
			if i++; i == len(rs) {
				return nil, errEscape
			}
			q = append(q, token{op: opLit, r: rs[i]})
		default:
			q = append(q, token{op: opLit, r: rs[i]})
		}
	}
	return q, nil
}

// maxExponent bounds numbers: 1e999999999 is valid JSON and would not fit in
// memory as a rational.
const maxExponent = 400

func parseNumber(s string) (*big.Rat, bool) {
	if s == "" || len(s) > maxExponent || !json.Valid([]byte(s)) || s[0] == '"' {
		return nil, false
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		exp, err := strconv.Atoi(s[i+1:])
		if err != nil || exp > maxExponent || exp < -maxExponent {
			return nil, false
		}
	}
	return new(big.Rat).SetString(s)
}

func canonicalNumber(n json.Number) string {
	r, ok := parseNumber(n.String())
	if !ok {
		return n.String()
	}
	if r.IsInt() {
		return r.Num().String()
	}
	return strings.TrimRight(r.FloatString(maxExponent), "0")
}

// answer is how a rule relates to a call.
type answer uint8

const (
	no answer = iota
	maybe
	yes
)

// holds compares one value. maybe means that the types differ, so that a
// person must look.
func (c constraint) holds(v any) answer {
	switch v := v.(type) {
	case json.Number:
		if c.number == nil {
			return maybe
		}
		n, ok := parseNumber(v.String())
		if !ok {
			return maybe
		}
		return truth(c.compare(n.Cmp(c.number)))
	case string:
		if c.glob == nil && c.text != "" {
			return maybe
		}
		return truth(c.glob.match([]rune(v), 0))
	case bool:
		return c.holdsWord(strconv.FormatBool(v))
	case nil:
		return c.holdsWord("null")
	default:
		if c.whole == "" {
			return maybe
		}
		return truth(canonical(v) == c.whole)
	}
}

func (c constraint) holdsWord(w string) answer {
	if c.word == "" {
		return maybe
	}
	return truth(c.word == w)
}

func (c constraint) compare(order int) bool {
	switch c.op {
	case opEqual, opColon:
		return order == 0
	case opAtMost:
		return order <= 0
	case opAtLeast:
		return order >= 0
	case opBelow:
		return order < 0
	case opAbove:
		return order > 0
	default:
		return false
	}
}

func truth(b bool) answer {
	if b {
		return yes
	}
	return no
}

// forbids answers for deny and ask; text is the object in canonical form. All constraints must hold for some of the
// values given, and a doubt anywhere is a doubt.
func (p *argsPattern) forbids(o object, text string) answer {
	if p.constraints == nil {
		return truth(p.glob.match(text, 0))
	}
	result := yes
	for _, c := range p.constraints {
		result = min(result, c.forbids(o))
	}
	return result
}

func (c constraint) forbids(o object) answer {
	exact, variants := o.lookup(c.name)
	result := no
	for _, v := range exact {
		result = max(result, c.holds(v))
	}
	for _, v := range variants {
		if c.holds(v) != no {
			result = max(result, maybe)
		}
	}
	return result
}

// permits answers for allow; text is the object in canonical form. Every constraint must hold for the one value
// given, and a name that differs only in case spoils it.
func (p *argsPattern) permits(o object, text string) bool {
	if p.constraints == nil {
		return p.narrow.match(text, '"')
	}
	return holdAll(p.constraints, o)
}

// holdAll reports whether every constraint holds for the one value given.
func holdAll(constraints []constraint, o object) bool {
	for _, c := range constraints {
		exact, variants := o.lookup(c.name)
		if len(exact) != 1 || len(variants) != 0 || c.holds(exact[0]) != yes || c.climbs(exact[0]) {
			return false
		}
	}
	return true
}

// climbs reports a path that leaves again what the wildcards of an allow cover.
func (c constraint) climbs(v any) bool {
	text, _ := v.(string)
	return slices.Contains(strings.Split(text, "/"), "..") && slices.ContainsFunc(c.glob, func(t token) bool { return t.op != opLit })
}

// lookup finds an argument by its name, or by a dotted path into nested
// objects.
func (o object) lookup(name string) (exact, variants []any) {
	exact, variants = o.named(name)
	head, rest, dotted := strings.Cut(name, ".")
	if !dotted {
		return exact, variants
	}
	heads, near := o.named(head)
	for _, v := range heads {
		switch v := v.(type) {
		case object:
			e, n := v.lookup(rest)
			exact, variants = append(exact, e...), append(variants, n...)
		case []any:
			// Whether the rule means the elements is not certain.
			near = append(near, v...)
		}
	}
	for _, v := range near {
		if inner, ok := v.(object); ok {
			e, n := inner.lookup(rest)
			variants = append(append(variants, e...), n...)
		}
	}
	return exact, variants
}

// Package redact takes secrets out of what is shown where not everybody who sees it may: logs, traces, notifications, events. It knows
// the formats of common services' tokens, and names of fields whose values are secrets.
//
// Start at New. It never changes what is executed or kept; who shows something says that parts were hidden. What it does not
// recognise stays: a secret without a known form under a harmless name. Work is linear in the text, and bounded.
package redact

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"holdpoint/interaction"
)

// Mark stands in the place of a secret.
const Mark = interaction.Redacted

// shortest is how long a text is at least that has a secret with its name: n=abc.
const shortest = 5

// MaxText bounds what is looked through of one text. The rest is left out.
const MaxText = 256 << 10

// Rules say what a secret is. They are safe for concurrent use; nil hides nothing.
type Rules struct {
	names []string       // plain; a field's name ends with one
	added *regexp.Regexp // those that are not usual, as prose writes them; nil for none
	// phrases are those of more than one word, at the end of a text; nil for none
	phrases *regexp.Regexp
}

// New returns rules that know the usual names, and more.
func New(names ...string) *Rules {
	r := &Rules{names: slices.Clone(usual)}
	var phrases []string
	for _, n := range names {
		if words := strings.Fields(n); len(words) > 1 {
			phrases = append(phrases, regexp.QuoteMeta(strings.Join(words, " ")))
		}
		if n = plain(n); n != "" && !slices.Contains(r.names, n) {
			r.names = append(r.names, n)
		}
	}
	if added := r.names[len(usual):]; len(added) > 0 {
		r.added = regexp.MustCompile(`(?i)(?:` + strings.Join(spelled(added, `[ _-]?`), "|") + `)`)
	}
	if len(phrases) > 0 {
		r.phrases = regexp.MustCompile(`(?i)(?:` + strings.Join(phrases, "|") + `)["']?[ \t]{0,4}$`)
	}
	return r
}

// Field reports whether the value of a field of that name is a secret.
func (r *Rules) Field(name string) bool {
	if r == nil {
		return false
	}
	p := strings.TrimRight(plain(name), "0123456789")
	return strings.HasSuffix(p, "token") && !strings.HasSuffix(p, "pagetoken") || slices.ContainsFunc(r.names, func(n string) bool { return strings.HasSuffix(p, n) })
}

// Text returns a text without its secrets, and whether something was hidden.
func (r *Rules) Text(s string) (string, bool) {
	if r == nil || len(s) < shortest {
		return s, false
	}
	if strings.ContainsFunc(s, disguises) {
		return r.disguised(s)
	}
	return r.text(s)
}

// text is Text of what is spelled as usual.
func (r *Rules) text(s string) (string, bool) {
	rest := ""
	if len(s) > MaxText {
		n := MaxText
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		rest = fmt.Sprintf(" %s [%d bytes more are left out]", Mark, len(s)-n)
		s = s[:n]
	}
	hidden := rest != ""
	lower := strings.ToLower(s)
	q := seek(lower)
	defer seekers.Put(q)
	for n := range shapes {
		f := &shapes[n]
		if f.hinted(q, s) {
			var found bool
			s, found = replace(f.re, f.only, s)
			hidden = hidden || found
		}
	}
	if holes := typed(q, s); len(holes) > 0 {
		s, hidden = string(fill([]byte(s), holes, Mark)), true
	}
	// Most texts have no such name: finding that out takes a hundredth of the search.
	joined := unspelled.Replace(lower)
	said := slices.ContainsFunc(r.names, func(n string) bool { return strings.Contains(joined, n) })
	if said || q.has("token") || r.phrases != nil {
		if holes := r.assignments(s); len(holes) > 0 {
			s, hidden = string(fill([]byte(s), holes, Mark)), true
		}
	}
	if said || r.added != nil || spoken(q) {
		var found bool
		s, found = r.besides(s)
		hidden = hidden || found
	}
	if q.has("kind") && q.has("secret") && q.has("data") {
		if holes := manifests(s); len(holes) > 0 {
			s, hidden = string(fill([]byte(s), holes, Mark)), true
		}
	}
	return s + rest, hidden
}

// unspelled drops what a name may be divided by.
var unspelled = strings.NewReplacer("-", "", "_", "")

// replace puts the mark in the place of what an expression finds: of its group, where one is there. only may be nil.
func replace(re *regexp.Regexp, only verdict, s string) (string, bool) {
	var b strings.Builder
	last, found := 0, false
	for _, at := range re.FindAllStringSubmatchIndex(s, -1) {
		n := len(at) - 2
		for n > 0 && at[n] < 0 {
			n -= 2
		}
		from, to := at[n], at[n+1]
		if s[from:to] == Mark || only != nil && !only(s[at[0]:at[1]], s[from:to]) {
			continue
		}
		b.WriteString(s[last:from])
		b.WriteString(Mark)
		last, found = to, true
	}
	if !found {
		return s, false
	}
	b.WriteString(s[last:])
	return b.String(), true
}

// JSON returns a value without the secrets in its texts and under names of secrets, at any depth, and whether something was
// hidden. Where nothing was, it is the same, byte for byte. What is no JSON is hidden whole.
func (r *Rules) JSON(raw []byte) ([]byte, bool) {
	if r == nil || len(raw) == 0 {
		return raw, false
	}
	w := walk{rules: r, in: json.NewDecoder(bytes.NewReader(raw))}
	w.in.UseNumber()
	if err := w.value(false); err != nil {
		return []byte(`"` + Mark + `"`), true
	}
	if _, err := w.in.Token(); err == nil { // something follows
		return []byte(`"` + Mark + `"`), true
	}
	if !w.hidden {
		return raw, false
	}
	return fill(w.out.Bytes(), w.holes, `"`+Mark+`"`), true
}

// walk copies JSON token by token: members that come twice are seen twice.
type walk struct {
	rules  *Rules
	in     *json.Decoder
	out    bytes.Buffer
	hidden bool
	said   string // the last text that was read
	holes  []hole
}

// hole is a part in whose place a mark comes.
type hole struct{ from, to int }

// fill puts a mark in the place of what is in holes. What is within another's is in that.
func fill(text []byte, holes []hole, mark string) []byte {
	if len(holes) == 0 {
		return text
	}
	slices.SortFunc(holes, func(a, b hole) int { return cmp.Or(a.from-b.from, b.to-a.to) })
	var out []byte
	last := 0
	for _, h := range holes {
		if h.from >= last {
			out = append(append(out, text[last:h.from]...), mark...)
			last = h.to
		}
	}
	return append(out, text[last:]...)
}

func (w *walk) value(secret bool) error {
	t, err := w.in.Token()
	if err != nil {
		return err
	}
	switch v := t.(type) {
	case json.Delim:
		return w.members(v, secret)
	case string:
		w.text(v, secret)
	case json.Number:
		if secret {
			w.text(v.String(), true)
		} else {
			w.out.WriteString(v.String())
		}
	default: // true, false, null: no secrets
		fmt.Fprint(&w.out, orNull(v))
	}
	return nil
}

func orNull(v any) any {
	if v == nil {
		return "null"
	}
	return v
}

func (w *walk) members(open json.Delim, secret bool) error {
	w.out.WriteString(open.String())
	var p pair
	for first := true; w.in.More(); first = false {
		if !first {
			w.out.WriteByte(',')
		}
		var err error
		if open == '{' {
			err = w.member(&p, secret)
		} else {
			err = w.value(secret)
		}
		if err != nil {
			return err
		}
	}
	if p.secretKind {
		for _, h := range p.data {
			w.dig(h)
		}
	}
	closing, err := w.in.Token()
	if err != nil {
		return err
	}
	fmt.Fprint(&w.out, closing)
	return nil
}

// pair is what is known of an object that may be a name and its value.
type pair struct {
	secret []string // what the names of secrets begin with: "", or Parameter as in ParameterKey
	before []early  // the values that came before their name, which may be given more than once
	// secretKind says that the object is a Secret of Kubernetes, data are its members that hold the values of one.
	secretKind bool
	data       []hole
}

// early is a value that came before its name.
type early struct {
	hole
	prefix string
}

// member copies a member of an object.
func (w *walk) member(p *pair, secret bool) error {
	t, err := w.in.Token()
	if err != nil {
		return err
	}
	name, _ := t.(string)
	w.text(name, false)
	w.out.WriteByte(':')
	own := plain(name)
	prefix, isValue := half(own, values)
	secretValue := isValue && slices.Contains(p.secret, prefix)
	from, was := w.out.Len(), w.hidden
	if err := w.value(secret || w.rules.Field(name) || secretValue); err != nil {
		return err
	}
	text := w.out.Bytes()[from] == '"'
	label, isLabel := half(own, labels)
	switch at := (hole{from, w.out.Len()}); {
	case isValue && !secretValue:
		p.before = append(p.before, early{at, prefix})
	case text && isLabel && w.rules.Field(w.said):
		p.secret = append(p.secret, label)
		for _, h := range p.before {
			if h.prefix == label {
				w.dig(h.hole)
			}
		}
		p.before = slices.DeleteFunc(p.before, func(h early) bool { return h.prefix == label })
	case text && w.hidden == was && slices.Contains(weakNames, own) && mixed(w.said):
		w.dig(at)
	case text && name == "kind" && w.said == "Secret":
		p.secretKind = true
	case name == "data" || name == "stringData":
		p.data = append(p.data, at)
	}
	return nil
}

// dig has the mark put in the place of a value, unless there is nothing in it to hide.
func (w *walk) dig(h hole) {
	switch string(w.out.Bytes()[h.from:h.to]) {
	case "", `""`, "true", "false", "null", `"` + Mark + `"`:
		return
	}
	w.holes, w.hidden = append(w.holes, h), true
}

func (w *walk) text(s string, secret bool) {
	w.said = s
	shown, hidden := w.rules.Text(s)
	if secret && s != "" {
		shown, hidden = Mark, s != Mark
	}
	w.hidden = w.hidden || hidden
	b, _ := json.Marshal(shown) // a text always has a JSON form
	w.out.Write(b)
}

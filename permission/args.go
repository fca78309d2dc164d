package permission

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds on arguments. What exceeds them asks, whatever the rules say.
const (
	maxArgBytes = 1 << 20
	maxArgDepth = 32
)

// member is one name and value of an object, in the order written; a name may
// occur twice, which encoding/json would hide.
type member struct {
	name  string
	value any // nil, bool, json.Number, string, []any or object
}

type object []member

// arguments are a call's decoded arguments together with what is wrong with
// them. When something is wrong the members read so far are kept, because a
// deny must still see them.
type arguments struct {
	members object
	fault   string
}

func decodeArgs(raw []byte) arguments {
	if members, ok := plainMembers(raw); ok {
		return arguments{members: members}
	}
	return longArgs(raw)
}

func longArgs(raw []byte) arguments {
	if len(raw) > maxArgBytes {
		return arguments{members: readMembers(raw[:maxArgBytes]).members,
			fault: fmt.Sprintf("the arguments exceed %d bytes", maxArgBytes)}
	}
	a := readMembers(raw)
	switch {
	case !utf8.Valid(raw):
		a.fault = "the arguments are not valid UTF-8"
	case loneSurrogate(raw):
		a.fault = "the arguments contain half of a surrogate pair"
	}
	return a
}

func readMembers(raw []byte) arguments {
	r := argReader{dec: json.NewDecoder(bytes.NewReader(raw))}
	r.dec.UseNumber()
	start, err := r.dec.Token()
	if err != nil {
		return arguments{fault: "the arguments are not JSON"}
	}
	if start != json.Delim('{') {
		return arguments{fault: "the arguments are not a JSON object"}
	}
	a := arguments{members: r.object(1)}
	if r.err == nil {
		if _, err := r.dec.Token(); !errors.Is(err, io.EOF) {
			r.fail("something follows the arguments' closing brace")
		}
	}
	if r.err != nil {
		a.fault = r.err.Error()
	}
	return a
}

// argReader reads values token by token; the first fault is kept.
type argReader struct {
	dec *json.Decoder
	err error
	// stop is set when nothing more can be read.
	stop bool
}

func (r *argReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

func (r *argReader) object(depth int) object {
	var out object
	seen := map[string]bool{}
	for !r.stop && r.dec.More() {
		t, err := r.dec.Token()
		name, ok := t.(string)
		if err != nil || !ok {
			break
		}
		if seen[name] {
			r.fail("the argument %q is given twice", name)
		}
		seen[name] = true
		value, ok := r.value(depth)
		if ok {
			out = append(out, member{name, value})
		}
	}
	r.close()
	return out
}

func (r *argReader) array(depth int) []any {
	out := []any{}
	for !r.stop && r.dec.More() {
		if v, ok := r.value(depth); ok {
			out = append(out, v)
		}
	}
	r.close()
	return out
}

func (r *argReader) close() {
	if r.stop {
		return
	}
	if _, err := r.dec.Token(); err != nil {
		r.fail("the arguments are not JSON")
		r.stop = true
	}
}

func (r *argReader) value(depth int) (any, bool) {
	t, err := r.dec.Token()
	if err != nil {
		r.fail("the arguments are not JSON")
		r.stop = true
		return nil, false
	}
	d, nested := t.(json.Delim)
	if !nested {
		return t, true
	}
	if depth >= maxArgDepth {
		r.fail("the arguments nest more than %d deep", maxArgDepth)
		r.skip()
		return nil, false
	}
	if d == '{' {
		return r.object(depth + 1), true
	}
	return r.array(depth + 1), true
}

// skip leaves the value just opened without recursion.
func (r *argReader) skip() {
	for open := 1; open > 0; {
		t, err := r.dec.Token()
		if err != nil {
			r.stop = true
			return
		}
		if d, ok := t.(json.Delim); ok {
			if d == '{' || d == '[' {
				open++
			} else {
				open--
			}
		}
	}
}

// loneSurrogate finds \ud800-style escapes that do not form a pair; decoders
// replace them, so that what is decided on is not what is run.
func loneSurrogate(raw []byte) bool {
	for i := 0; i+1 < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		if raw[i+1] != 'u' {
			i++
			continue
		}
		code, ok := hex4(raw, i+2)
		if !ok {
			return false // not JSON; reported as such
		}
		i += 5
		if code < 0xD800 || code > 0xDFFF {
			continue
		}
		low, ok := uint32(0), false
		if i+2 < len(raw) && raw[i+1] == '\\' && raw[i+2] == 'u' {
			low, ok = hex4(raw, i+3)
		}
		if code > 0xDBFF || !ok || low < 0xDC00 || low > 0xDFFF {
			return true
		}
		i += 6
	}
	return false
}

func hex4(raw []byte, at int) (uint32, bool) {
	if at+4 > len(raw) {
		return 0, false
	}
	var n uint32
	for _, c := range raw[at : at+4] {
		d := strings.IndexByte("0123456789abcdef", c|0x20)
		if d < 0 {
			return 0, false
		}
		n = n<<4 | uint32(d)
	}
	return n, true
}

// canonical writes a value as JSON with sorted names and no blanks.
func canonical(v any) string {
	var b strings.Builder
	writeCanonical(&b, v)
	return b.String()
}

func writeCanonical(b *strings.Builder, v any) {
	switch v := v.(type) {
	case object:
		sorted := slices.Clone(v)
		slices.SortStableFunc(sorted, func(x, y member) int { return strings.Compare(x.name, y.name) })
		b.WriteByte('{')
		for i, m := range sorted {
			if i > 0 {
				b.WriteByte(',')
			}
			writeCanonical(b, m.name)
			b.WriteByte(':')
			writeCanonical(b, m.value)
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			writeCanonical(b, e)
		}
		b.WriteByte(']')
	case json.Number:
		b.WriteString(canonicalNumber(v))
	case string:
		writeJSONString(b, v)
	case bool:
		fmt.Fprint(b, v)
	default:
		b.WriteString("null")
	}
}

func writeJSONString(b *strings.Builder, s string) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a text always has a form in JSON
	b.Write(bytes.TrimRight(buf.Bytes(), "\n"))
}

// named gives every value whose name is exactly name, and every value whose
// name differs from it only in case. Go's decoder, and so a tool's, takes
// both.
func (o object) named(name string) (exact, variants []any) {
	for _, m := range o {
		switch {
		case m.name == name:
			exact = append(exact, m.value)
		case foldString(m.name) == foldString(name):
			variants = append(variants, m.value)
		}
	}
	return exact, variants
}

// oddIn looks at the decoded texts and names: an escape hides what the raw
// text does not show.
func oddIn(v any) string {
	switch v := v.(type) {
	case object:
		for _, m := range v {
			if odd := cmp.Or(oddText(m.name, ""), oddIn(m.value)); odd != "" {
				return odd
			}
		}
	case []any:
		for _, e := range v {
			if odd := oddIn(e); odd != "" {
				return odd
			}
		}
	case string:
		return oddText(v, "\t\n")
	}
	return ""
}

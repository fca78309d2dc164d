package interaction

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// MaxDepth bounds how deep JSON from outside may nest.
const MaxDepth = 32

// Strict decodes data into v, a pointer to a struct or map, and takes nothing for granted: data must be one JSON
// object in UTF-8, with nothing after it, no key twice in one object at any depth (as it reads after unescaping),
// no field that v does not have, names in exactly their case, values of the right type, at most MaxDepth levels.
// encoding/json alone would let the last of two "action" keys win and read "ACTION" as "action".
//
// A field with the tag unsaid:"…" is one whose absence means something of its own, such as no bound. A zero that is
// stated there is refused: a count that has come down to 0 must not turn into "any number".
//
// The error is an *Error whose Field is the path of the offending field. v is untouched then.
func Strict(data []byte, v any) error { return strict(data, v, reading{}) }

// reading is how Strict differs for one kind of message.
type reading struct {
	hint  func(field string) string // to add where a field is unknown
	zeros bool                      // a stated zero is as good as none
}

func strict(data []byte, v any, how reading) error {
	trimmed := bytes.TrimSpace(data)
	if len(trimmed) == 0 {
		return refuse(CodeInvalid, "", "is empty; send a JSON object")
	}
	if err := checkSyntax(data); err != nil {
		return err
	}
	if trimmed[0] != '{' {
		return refuse(CodeInvalid, "", "must be a JSON object, not %s", found(trimmed))
	}
	var t reflect.Type
	if p := reflect.TypeOf(v); p != nil && p.Kind() == reflect.Pointer {
		t = p.Elem()
	}
	if err := newWalker(data, how).value("", t); err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return refuse(CodeInvalid, "", "can't be decoded: %v", err)
	}
	return nil
}

// checkValue holds any JSON value to Strict's rules that need no type.
func checkValue(data []byte) error {
	if err := checkSyntax(data); err != nil {
		return err
	}
	return newWalker(data, reading{}).value("", nil)
}

func checkSyntax(data []byte) error {
	if !utf8.Valid(data) {
		return refuse(CodeInvalid, "", "is not UTF-8")
	}
	var raw json.RawMessage
	err := json.Unmarshal(data, &raw)
	if at, ok := errors.AsType[*json.SyntaxError](err); ok {
		return refuse(CodeInvalid, "", "is not one JSON value: %v, at byte %d", at, at.Offset)
	}
	return nil
}

// walker reads JSON that is known to be well formed, beside the Go type that it is meant for. A nil type takes
// any value.
type walker struct {
	dec   *json.Decoder
	data  []byte
	depth int
	reading
}

func newWalker(data []byte, how reading) *walker {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return &walker{dec: dec, data: data, reading: how}
}

// next returns the next token; the syntax was checked before, so there is one.
func (w *walker) next() json.Token {
	token, _ := w.dec.Token()
	return token
}

func (w *walker) value(path string, t reflect.Type) error {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	start := w.dec.InputOffset()
	inner := t
	if t != nil && (decodesItself(t) || t.Kind() == reflect.Interface) {
		inner = nil
	}
	var err error
	switch w.next() {
	case json.Delim('{'):
		err = w.nested(path, func() error { return w.object(path, inner) })
	case json.Delim('['):
		err = w.nested(path, func() error { return w.array(path, inner) })
	default:
		return w.fits(path, t, start)
	}
	if err != nil || inner != nil {
		return err
	}
	return w.fits(path, t, start)
}

func (w *walker) nested(path string, read func() error) error {
	if w.depth++; w.depth > MaxDepth {
		return refuse(CodeInvalid, path, "nests deeper than %d levels", MaxDepth)
	}
	defer func() { w.depth-- }()
	return read()
}

// fits tries the value that ends here on t.
func (w *walker) fits(path string, t reflect.Type, start int64) error {
	if t == nil {
		return nil
	}
	raw := w.since(start)
	v := reflect.New(t).Interface()
	if err := json.Unmarshal(raw, v); err != nil {
		if _, closed := v.(encoding.TextUnmarshaler); closed && t != timeType && raw[0] == '"' {
			return refuse(CodeInvalid, path, "%v", err) // which says what there is
		}
		return refuse(CodeInvalid, path, "must be %s, not %s", wanted(t), found(raw))
	}
	return nil
}

// since is the value that began at start, or soon after it.
func (w *walker) since(start int64) []byte {
	return bytes.TrimLeft(w.data[start:w.dec.InputOffset()], " \t\r\n:,")
}

// stated refuses a zero that was written where leaving it out is what means something.
func (w *walker) stated(path string, f field, start int64) error {
	if f.unsaid == "" || w.zeros {
		return nil
	}
	raw, v := w.since(start), reflect.New(f.typ)
	if string(raw) == "null" || json.Unmarshal(raw, v.Interface()) != nil {
		return nil
	}
	if v = v.Elem(); v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if !zero(v) {
		return nil
	}
	if v.Kind() == reflect.String {
		return refuse(CodeInvalid, path, "is empty: write one, or leave it out for %s", f.unsaid)
	}
	return refuse(CodeInvalid, path, "is %s: write one above that, or leave it out for %s", bytes.Trim(raw, `"`), f.unsaid)
}

// zero reports whether a value means what an absent one does: the zero of times has many spellings, one for each offset.
func zero(v reflect.Value) bool {
	if z, ok := v.Interface().(interface{ IsZero() bool }); ok {
		return z.IsZero()
	}
	return v.IsZero()
}

func (w *walker) object(path string, t reflect.Type) error {
	fieldOf, err := w.members(path, t)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for w.dec.More() {
		key, _ := w.next().(string)
		at := join(path, key)
		if seen[key] {
			return refuse(CodeInvalid, at, "comes twice in one object; send it once")
		}
		seen[key] = true
		member, err := fieldOf(at, key)
		if err != nil {
			return err
		}
		start := w.dec.InputOffset()
		if err := w.value(at, member.typ); err != nil {
			return err
		}
		if err := w.stated(at, member, start); err != nil {
			return err
		}
	}
	w.next()
	return nil
}

// members returns how to find out about an object's members.
func (w *walker) members(path string, t reflect.Type) (func(at, key string) (field, error), error) {
	if t == nil {
		return func(string, string) (field, error) { return field{}, nil }, nil
	}
	switch t.Kind() {
	case reflect.Map:
		return func(string, string) (field, error) { return field{typ: t.Elem()}, nil }, nil
	case reflect.Struct:
		fields := fieldsOf(t)
		return func(at, key string) (field, error) {
			if n := slices.IndexFunc(fields, func(f field) bool { return f.name == key }); n >= 0 {
				return fields[n], nil
			}
			return field{}, w.unknown(at, key, fields)
		}, nil
	default:
		return nil, refuse(CodeInvalid, path, "must be %s, not an object", wanted(t))
	}
}

func (w *walker) unknown(at, key string, fields []field) error {
	if w.hint != nil {
		if h := w.hint(key); h != "" {
			return refuse(CodeInvalid, at, "is not taken: %s", h)
		}
	}
	names := make([]string, len(fields))
	for n, f := range fields {
		names[n] = f.name
	}
	return refuse(CodeInvalid, at, "is no field here; fields are %s", strings.Join(names, ", "))
}

func (w *walker) array(path string, t reflect.Type) error {
	var elem reflect.Type
	if t != nil {
		if t.Kind() != reflect.Slice && t.Kind() != reflect.Array {
			return refuse(CodeInvalid, path, "must be %s, not a list", wanted(t))
		}
		elem = t.Elem()
	}
	for n := 0; w.dec.More(); n++ {
		if err := w.value(fmt.Sprintf("%s[%d]", path, n), elem); err != nil {
			return err
		}
	}
	w.next()
	return nil
}

type field struct {
	name, unsaid string
	typ          reflect.Type
}

func fieldsOf(t reflect.Type) []field {
	var out []field
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || f.Anonymous || name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		out = append(out, field{name, f.Tag.Get("unsaid"), f.Type})
	}
	return out
}

var (
	jsonType = reflect.TypeFor[json.Unmarshaler]()
	textType = reflect.TypeFor[encoding.TextUnmarshaler]()
	timeType = reflect.TypeFor[time.Time]()
)

func decodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(jsonType) || p.Implements(textType)
}

func wanted(t reflect.Type) string {
	if t == timeType {
		return "a time such as 2026-01-31T15:04:05Z"
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Interface:
		return "JSON with numbers that are not too large"
	default:
		if decodesItself(t) {
			return "a string"
		}
		return "a fitting " + t.Kind().String()
	}
}

// found says what a JSON value is.
func found(raw []byte) string {
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "the string " + quote(string(bytes.Trim(raw, `"`)))
	default:
		return cut(string(raw), MaxTitleBytes)
	}
}

// join appends a key to a path; what a sender made up is shown short and harmless.
func join(path, key string) string {
	if strings.ContainsFunc(key, func(c rune) bool { return c <= ' ' || c > '~' || c == '"' || c == '\\' }) || len(key) > 64 || key == "" {
		key = quote(cut(key, 64))
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// within puts a path before an error's own.
func within(path string, err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	sep := "."
	if e.Field == "" || strings.HasPrefix(e.Field, "[") {
		sep = ""
	}
	return &Error{Code: e.Code, Field: path + sep + e.Field, Message: e.Message}
}

package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"holdpoint/interaction"
)

// maxFields bounds the arguments that a form has fields for.
const maxFields = 200

// field is one argument in a form. Its type is kept: what was a number stays one.
type field struct {
	Name, Type, Text string // Type: string, number, boolean, json
	Rows             int
}

// member is one argument. Text is a string's text, and the JSON of anything else.
type member struct {
	Name, Text string
	raw        json.RawMessage
}

// members reads a JSON object in its own order, a name that comes twice twice. It reports false for anything that is
// not such an object.
func members(raw json.RawMessage) ([]member, bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	var out []member
	for dec.More() {
		name, err := dec.Token()
		key, isName := name.(string)
		var value json.RawMessage
		if err != nil || !isName || dec.Decode(&value) != nil {
			return nil, false
		}
		m := member{Name: key, Text: pretty(value), raw: value}
		var s string
		if value[0] == '"' && json.Unmarshal(value, &s) == nil {
			m.Text = s
		}
		out = append(out, m)
	}
	_, err := dec.Token()
	return out, err == nil
}

// fieldsOf are the fields of a form for arguments; none where a form could not keep them as they are.
func fieldsOf(raw json.RawMessage) (out []field) {
	list, ok := members(raw)
	if !ok || len(list) > maxFields {
		return nil
	}
	seen := map[string]bool{}
	for _, m := range list {
		if seen[m.Name] {
			return nil
		}
		seen[m.Name] = true
		f := field{Name: m.Name, Text: m.Text, Type: "json"}
		switch c := m.raw[0]; {
		case c == '"' && interaction.VisibleLines(m.Text) == m.Text:
			f.Type = "string"
		case c == '"': // a browser would change what can't be seen
			f.Text = escaped(m.raw)
		case c == 't' || c == 'f':
			f.Type = "boolean"
		case c == '-' || c >= '0' && c <= '9':
			f.Type = "number"
		}
		f.Rows = min(max(strings.Count(f.Text, "\n")+1, len(f.Text)/90+1), 24)
		out = append(out, f)
	}
	return out
}

// escaped is JSON whose odd characters are escapes.
func escaped(raw json.RawMessage) string {
	var b strings.Builder
	for _, r := range string(raw) {
		if piece := string(r); interaction.Visible(piece) == piece {
			b.WriteString(piece)
		} else if r > 0xffff {
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+(r>>10), 0xdc00+(r&0x3ff))
		} else {
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// argsOf reads edited arguments: the JSON text if the form has one, else its fields.
func argsOf(form url.Values) (json.RawMessage, error) {
	if text := strings.TrimSpace(form.Get("args_json")); text != "" {
		if !json.Valid([]byte(text)) {
			return nil, fmt.Errorf("the JSON text: %w", badJSON(text))
		}
		return json.RawMessage(text), nil
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for n := range maxFields {
		at := strconv.Itoa(n)
		if !form.Has("arg." + at) {
			break
		}
		value, err := typed(form.Get("type."+at), unix(form.Get("arg."+at)))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", interaction.Visible(form.Get("name."+at)), err)
		}
		name, err := json.Marshal(form.Get("name." + at))
		if err != nil {
			return nil, err
		}
		if n > 0 {
			b.WriteByte(',')
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// unix undoes what a browser does to line ends.
func unix(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// typed is a field's text as JSON of its type.
func typed(kind, text string) (json.RawMessage, error) {
	switch kind {
	case "string":
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		err := enc.Encode(text)
		return bytes.TrimSpace(b.Bytes()), err
	case "number":
		text = strings.TrimSpace(text)
		if c := strings.TrimPrefix(text, "-"); c == "" || c[0] < '0' || c[0] > '9' || !json.Valid([]byte(text)) {
			return nil, errors.New("is a number, such as 12 or -0.5")
		}
	case "boolean":
		if text != "true" && text != "false" {
			return nil, errors.New("is true or false")
		}
	case "json":
		if !json.Valid([]byte(text)) {
			return nil, badJSON(text)
		}
	default:
		return nil, errors.New("has no known type")
	}
	return json.RawMessage(text), nil
}

// badJSON says what is wrong with a JSON text.
func badJSON(text string) error {
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return fmt.Errorf("is no JSON: %w", err)
	}
	return errors.New("is no JSON")
}

package config

import (
	"fmt"
	"slices"
	"strconv"

	"gopkg.in/yaml.v3"
)

// section is one mapping of a document while it is read: each getter takes one key, reports what is wrong
// with it, and remembers that the key is known, so that finish can report the rest.
type section struct {
	l      *loader
	file   string
	prefix string // of the keys in messages, such as "rules[2]."
	node   *yaml.Node
	fields map[string]field
	object *object         // the keys it may have; nil where anything goes
	told   map[string]bool // keys that were refused by their condition
}

// field is one key with its value.
type field struct {
	line  int
	value *yaml.Node
}

// section opens a mapping; nil, with the problem reported, when it is none.
func (l *loader) section(file, prefix string, n *yaml.Node, o *object) *section {
	if n.Kind != yaml.MappingNode {
		l.report(file, n.Line, trimDot(prefix), "must be a mapping of keys to values, such as %q", "type: agent")
		return nil
	}
	s := &section{l: l, file: file, prefix: prefix, node: n, fields: map[string]field{}, object: o, told: map[string]bool{}}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge" {
			l.report(file, key.Line, trimDot(prefix), "keys must be plain text")
			continue
		}
		if before, dup := s.fields[key.Value]; dup {
			s.report(key.Value, key.Line, "the key is here twice, first on line %d: keep one", before.line)
			continue
		}
		s.fields[key.Value] = field{line: key.Line, value: value}
	}
	return s
}

func trimDot(prefix string) string {
	if prefix == "" {
		return ""
	}
	return prefix[:len(prefix)-1]
}

func (s *section) pos() Pos { return Pos{File: s.file, Line: s.node.Line} }

func (s *section) report(key string, line int, format string, args ...any) {
	s.l.report(s.file, line, s.prefix+key, format, args...)
}

// reportKey reports at the key's own line, or at the section's where the key is not there.
func (s *section) reportKey(key, format string, args ...any) {
	line := s.node.Line
	if f, ok := s.fields[key]; ok {
		line = f.line
	}
	s.report(key, line, format, args...)
}

// has reports whether the key is there, whatever its value.
func (s *section) has(key string) bool {
	_, ok := s.fields[key]
	return ok
}

// is switches to the keys of a component's type.
func (s *section) is(o *object) { s.object = o }

// spec is what the table says of a key. One that is not in it would be refused by finish.
func (s *section) spec(name string) key {
	if s.object == nil {
		return key{name: name}
	}
	k, _ := s.object.key(name)
	return k
}

// take returns a key's value; false when it is not there, has none, or does not belong here.
func (s *section) take(name string) (*yaml.Node, bool) {
	f, ok := s.fields[name]
	if !ok || !s.belongs(s.spec(name)) {
		return nil, false
	}
	if f.value.Kind == yaml.ScalarNode && f.value.ShortTag() == "!!null" {
		s.report(name, f.line, "has no value: give it one or remove the key")
		return nil, false
	}
	return f.value, true
}

// belongs reports whether a key's condition holds. Where the other key has no known value that can't be said, and
// nothing is.
func (s *section) belongs(k key) bool {
	if k.when == nil {
		return true
	}
	value := s.governing(k.when.key)
	if value == "" || slices.Contains(k.when.values, value) {
		return value != ""
	}
	if s.has(k.name) && !s.told[k.name] {
		s.told[k.name] = true
		s.reportKey(k.name, "%s: remove it", k.when.why)
	}
	return false
}

// governing is the value of a key that others depend on, "" when it has no known one.
func (s *section) governing(name string) string {
	f, ok := s.fields[name]
	if !ok || f.value.Kind != yaml.ScalarNode {
		return ""
	}
	text, _, err := expand(f.value.Value, s.l.env)
	if err != nil || !slices.Contains(s.spec(name).choices, text) {
		return ""
	}
	return text
}

// require reports the keys of the table that must be there and are not.
func (s *section) require() {
	for _, k := range s.object.keys {
		needed := k.required || k.when != nil && k.when.required && slices.Contains(k.when.values, s.governing(k.when.key))
		if needed && !s.has(k.name) {
			s.reportKey(k.name, "is missing")
		}
	}
}

// finish reports every key that the table does not have, and those that do not belong here.
func (s *section) finish() {
	for i := 0; i+1 < len(s.node.Content); i += 2 {
		n := s.node.Content[i]
		if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!merge" {
			continue
		}
		k, known := s.object.key(n.Value)
		switch {
		case known:
			if s.belongs(k) && k.beside != "" && !s.has(k.beside) && !s.told[k.name] {
				s.report(k.name, n.Line, "has no effect without %s: add one or remove it", k.beside)
			}
		case slices.Contains(s.object.later, n.Value):
			s.report(n.Value, n.Line, "is not available in this version: remove it")
		default:
			s.report(n.Value, n.Line, "%s%s", s.object.unknownText(), didYouMean(n.Value, s.object.names()))
		}
	}
}

func (o *object) unknownText() string {
	if o.unknown == "" {
		return "unknown key"
	}
	return o.unknown
}

// scalar returns a scalar with its variables expanded. The second result is false, with the problem reported,
// when the key is not there or holds something else.
func (s *section) scalar(key, want string) (scalar, bool) {
	n, ok := s.take(key)
	if !ok {
		return scalar{}, false
	}
	return s.l.scalar(s.file, s.prefix+key, n, want)
}

// scalar is one value: as it is written, and as it is used.
type scalar struct {
	raw, text string
	tag       string
	line      int
	expanded  bool
}

func (l *loader) scalar(file, key string, n *yaml.Node, want string) (scalar, bool) {
	if n.Kind != yaml.ScalarNode {
		l.report(file, n.Line, key, "must be %s, not a %s", want, kindName(n.Kind))
		return scalar{}, false
	}
	text, changed, err := expand(n.Value, l.env)
	if err != nil {
		l.report(file, n.Line, key, "%v", err)
		return scalar{}, false
	}
	used := *n
	used.Value = text
	if changed && used.Style == 0 {
		used.Tag = "" // a plain value is typed by what the variable holds
	}
	return scalar{raw: n.Value, text: text, tag: used.ShortTag(), line: n.Line, expanded: changed}, true
}

// text returns a text, "" when it is not there or wrong. Text never is empty when it is there.
func (s *section) text(key string) string {
	want := s.spec(key).want
	if want == "" {
		want = "text"
	}
	v, ok := s.scalar(key, want)
	if !ok {
		return ""
	}
	if v.tag != "!!str" && !v.expanded {
		s.report(key, v.line, "must be text: put it in quotes")
		return ""
	}
	if v.text == "" {
		s.report(key, v.line, "is empty: give it a value or remove the key")
	}
	if most := s.spec(key).maxBytes; most > 0 && len(v.text) > most {
		s.report(key, v.line, "is longer than %d bytes", most)
	}
	return v.text
}

// flag returns a boolean, the table's default when it is not there or wrong.
func (s *section) flag(key string) bool {
	def, _ := s.spec(key).def.(bool)
	v, ok := s.scalar(key, "true or false")
	if !ok {
		return def
	}
	switch v.text {
	case "true":
		return true
	case "false":
		return false
	}
	s.report(key, v.line, "must be true or false, not %q", v.raw)
	return def
}

// optionalFlag returns a boolean, nil when it is not there or wrong.
func (s *section) optionalFlag(key string) *bool {
	if !s.has(key) {
		return nil
	}
	v := s.flag(key)
	return &v
}

// integer returns a whole number within the table's bounds, its default when it is not there or wrong.
func (s *section) integer(key string) int {
	k := s.spec(key)
	def, _ := k.def.(int)
	v, ok := s.scalar(key, "a whole number")
	if !ok {
		return def
	}
	n, err := strconv.Atoi(v.text)
	if err != nil || v.tag != "!!int" || n < k.low || n > k.high {
		s.report(key, v.line, "must be a whole number from %d to %d, not %q", k.low, k.high, v.raw)
		return def
	}
	return n
}

// choice returns one of the values of the table, "" when it is not there or wrong. Values that only later versions
// know are told apart from unknown ones.
func (s *section) choice(key string) string {
	values, later := s.spec(key).choices, s.spec(key).later
	v, ok := s.scalar(key, "text")
	if !ok {
		return ""
	}
	if slices.Contains(values, v.text) {
		return v.text
	}
	if slices.Contains(later, v.text) {
		s.report(key, v.line, "%s is not available in this version (known: %s)", v.text, joinNames(values))
		return ""
	}
	s.report(key, v.line, "%q is none of %s%s", v.raw, joinNames(values), onlyNear(v.raw, values))
	return ""
}

// onlyNear is didYouMean without the list, for messages that have it already.
func onlyNear(got string, known []string) string {
	if near := nearest(got, known); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	return ""
}

// list returns the texts of a sequence with their lines. Each is there once.
func (s *section) list(key string) []scalar {
	n, ok := s.take(key)
	if !ok {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		s.report(key, n.Line, "must be a list, such as [a, b], not a %s", kindName(n.Kind))
		return nil
	}
	if most := s.spec(key).most; len(n.Content) > most {
		s.report(key, n.Line, "has %d entries, more than %d", len(n.Content), most)
		return nil
	}
	var out []scalar
	for i, item := range n.Content {
		at := key + "[" + strconv.Itoa(i) + "]"
		v, ok := s.l.scalar(s.file, s.prefix+at, item, "text")
		if !ok {
			continue
		}
		switch {
		case v.tag != "!!str" && !v.expanded:
			s.report(at, v.line, "must be text: put it in quotes")
		case v.text == "":
			s.report(at, v.line, "is empty: give it a value or remove it")
		case slices.ContainsFunc(out, func(o scalar) bool { return o.text == v.text }):
			s.report(at, v.line, "%q is here twice: keep one", v.raw)
		default:
			out = append(out, v)
		}
	}
	return out
}

func texts(values []scalar) []string {
	var out []string
	for _, v := range values {
		out = append(out, v.text)
	}
	return out
}

func kindName(k yaml.Kind) string {
	switch k {
	case yaml.MappingNode:
		return "mapping"
	case yaml.SequenceNode:
		return "list"
	case yaml.ScalarNode:
		return "single value"
	case yaml.AliasNode:
		return "alias"
	case yaml.DocumentNode:
		return "document"
	}
	return "value of an unknown kind"
}

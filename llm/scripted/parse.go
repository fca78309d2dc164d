package scripted

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"holdpoint/tool"
)

// MaxScriptBytes bounds a script.
const MaxScriptBytes = 1 << 20

// maxDepth bounds how deep arguments may be nested.
const maxDepth = 64

// ParseError says what is wrong with a script, and where.
type ParseError struct {
	File    string
	Line    int // from 1; 0 where it is the whole
	Message string
}

func (e *ParseError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Message)
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
}

// Load reads and parses a script. The file's base name becomes the script's.
func Load(path string) (*Script, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("the script can't be read: %w", err)
	}
	defer f.Close() //nolint:errcheck // it is only read
	data, err := io.ReadAll(io.LimitReader(f, MaxScriptBytes+1))
	if err != nil {
		return nil, fmt.Errorf("the script can't be read: %w", err)
	}
	script, err := Parse(path, data)
	if err != nil {
		return nil, err
	}
	script.name = filepath.Base(path)
	return script, nil
}

// Parse parses a script; name stands in errors and in what the model says. What the format does not know is an
// error, a *ParseError.
func Parse(name string, data []byte) (*Script, error) {
	p := parser{file: name}
	if len(data) > MaxScriptBytes {
		return nil, &ParseError{File: name, Message: fmt.Sprintf("the script is larger than %d MiB", MaxScriptBytes>>20)}
	}
	root, err := p.document(data)
	if err != nil {
		return nil, err
	}
	return p.script(root)
}

type parser struct{ file string }

func (p parser) errorf(n *yaml.Node, format string, args ...any) error {
	return &ParseError{File: p.file, Line: n.Line, Message: fmt.Sprintf(format, args...)}
}

var yamlLine = regexp.MustCompile(`^yaml: line (\d+): `)

// document is the root of the only document.
func (p parser) document(data []byte) (*yaml.Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, &ParseError{File: p.file, Message: "the script is empty; it needs turns"}
	} else if err != nil {
		return nil, p.syntax(err)
	}
	if err := dec.Decode(&more); err == nil {
		return nil, p.errorf(&more, "a second document begins here; a script is one document")
	} else if !errors.Is(err, io.EOF) {
		return nil, p.syntax(err)
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		return nil, &ParseError{File: p.file, Message: "the script is empty; it needs turns"}
	}
	return doc.Content[0], nil
}

// syntax takes the line out of the YAML library's message.
func (p parser) syntax(err error) error {
	e := &ParseError{File: p.file, Message: "not YAML: " + strings.TrimPrefix(err.Error(), "yaml: ")}
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		// The digits are few; what does not fit an int leaves the line unknown.
		e.Line, _ = strconv.Atoi(m[1])
		e.Message = "not YAML: " + err.Error()[len(m[0]):]
	}
	return e
}

// fields goes through a mapping's keys; set takes a key's value, or reports that the key is unknown.
func (p parser) fields(n *yaml.Node, what string, known []string, set func(key string, value *yaml.Node) error) error {
	if err := p.plain(n); err != nil {
		return err
	}
	if n.Kind != yaml.MappingNode {
		return p.errorf(n, "%s must be a mapping with %s", what, strings.Join(known, ", "))
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || !slices.Contains(known, key.Value) {
			return p.errorf(key, "%s has no key %q; it knows %s", what, key.Value, strings.Join(known, ", "))
		}
		if seen[key.Value] {
			return p.errorf(key, "%s has %s twice", what, key.Value)
		}
		seen[key.Value] = true
		if err := set(key.Value, value); err != nil {
			return err
		}
	}
	return nil
}

// plain refuses what makes YAML hard to read, or larger than it looks.
func (p parser) plain(n *yaml.Node) error {
	switch {
	case n.Kind == yaml.AliasNode:
		return p.errorf(n, "aliases (*%s) are not supported; write the value out", n.Value)
	case n.Anchor != "":
		return p.errorf(n, "anchors (&%s) are not supported; write the value out", n.Anchor)
	case n.Style&yaml.TaggedStyle != 0:
		return p.errorf(n, "tags (%s) are not supported", n.Tag)
	}
	return nil
}

func (p parser) text(n *yaml.Node, what string) (string, error) {
	if err := p.plain(n); err != nil {
		return "", err
	}
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		return "", p.errorf(n, "%s must be text; put a number, a date, true, false or null in quotes", what)
	}
	return n.Value, nil
}

// filled is text that is not empty.
func (p parser) filled(n *yaml.Node, what string) (string, error) {
	s, err := p.text(n, what)
	if err == nil && strings.TrimSpace(s) == "" {
		err = p.errorf(n, "%s is empty", what)
	}
	return s, err
}

func (p parser) list(n *yaml.Node, what string) ([]*yaml.Node, error) {
	if err := p.plain(n); err != nil {
		return nil, err
	}
	if n.Kind != yaml.SequenceNode {
		return nil, p.errorf(n, "%s must be a list", what)
	}
	return n.Content, nil
}

func (p parser) script(root *yaml.Node) (*Script, error) {
	s := &Script{name: p.file}
	err := p.fields(root, "a script", []string{"turns", "loop"}, func(key string, value *yaml.Node) error {
		if key == "loop" {
			return p.bool(value, &s.loop)
		}
		items, err := p.list(value, "turns")
		for _, item := range items {
			t, err := p.turn(item)
			if err != nil {
				return err
			}
			s.turns = append(s.turns, t)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(s.turns) == 0 {
		return nil, p.errorf(root, "a script needs turns, at least one")
	}
	return s, nil
}

func (p parser) bool(n *yaml.Node, into *bool) error {
	if err := p.plain(n); err != nil {
		return err
	}
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" {
		return p.errorf(n, "loop must be true or false")
	}
	*into = strings.EqualFold(n.Value, "true")
	return nil
}

func (p parser) turn(n *yaml.Node) (turn, error) {
	var t turn
	err := p.fields(n, "a turn", []string{"when", "say", "calls"}, func(key string, value *yaml.Node) (err error) {
		switch key {
		case "when":
			t.when, err = p.when(value)
		case "say":
			t.say, err = p.text(value, "say")
		case "calls":
			t.calls, err = p.calls(value)
		}
		return err
	})
	if err == nil && t.say == "" && len(t.calls) == 0 {
		err = p.errorf(n, "a turn needs say, calls or both")
	}
	return t, err
}

func (p parser) when(n *yaml.Node) (when, error) {
	var w when
	err := p.fields(n, "when", []string{"user", "tool_result"}, func(key string, value *yaml.Node) error {
		if key == "user" {
			user, err := p.filled(value, "user")
			w.user = &user
			return err
		}
		condition, err := p.result(value)
		w.toolResult = &condition
		return err
	})
	if err == nil && w == (when{}) {
		err = p.errorf(n, "when has no condition; leave it out for a turn that always fits")
	}
	return w, err
}

func (p parser) result(n *yaml.Node) (resultCondition, error) {
	var c resultCondition
	err := p.fields(n, "tool_result", []string{"name", "status", "contains"}, func(key string, value *yaml.Node) (err error) {
		var s string
		switch key {
		case "name":
			s, err = p.filled(value, "name")
			c.name = &s
		case "contains":
			s, err = p.filled(value, "contains")
			c.contains = &s
		case "status":
			c.statuses, err = p.statuses(value)
		}
		return err
	})
	return c, err
}

var statuses = []tool.Status{
	tool.StatusSuccess, tool.StatusError, tool.StatusDenied, tool.StatusRejected, tool.StatusRetry,
	tool.StatusSkipped, tool.StatusExpired, tool.StatusAborted, tool.StatusUnknown, tool.StatusWithheld, tool.StatusUnreachable,
}

func (p parser) statuses(n *yaml.Node) ([]tool.Status, error) {
	items := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		var err error
		if items, err = p.list(n, "status"); err != nil {
			return nil, err
		}
		if len(items) == 0 {
			return nil, p.errorf(n, "status is an empty list; leave it out for any status")
		}
	}
	var out []tool.Status
	for _, item := range items {
		s, err := p.text(item, "status")
		if err != nil {
			return nil, err
		}
		if !slices.Contains(statuses, tool.Status(s)) {
			return nil, p.errorf(item, "%q is no status; there are %s (an approved call ends in success or error)", s, joined(statuses))
		}
		out = append(out, tool.Status(s))
	}
	return out, nil
}

func joined(all []tool.Status) string {
	var words []string
	for _, s := range all {
		words = append(words, string(s))
	}
	return strings.Join(words, ", ")
}

func (p parser) calls(n *yaml.Node) ([]call, error) {
	items, err := p.list(n, "calls")
	if err != nil {
		return nil, err
	}
	var out []call
	for _, item := range items {
		c := call{args: "{}"}
		err := p.fields(item, "a call", []string{"name", "args"}, func(key string, value *yaml.Node) (err error) {
			if key == "name" {
				c.name, err = p.filled(value, "name")
				return err
			}
			c.args, err = p.args(value)
			return err
		})
		if err != nil {
			return nil, err
		}
		if c.name == "" {
			return nil, p.errorf(item, "a call needs name, the tool to call")
		}
		out = append(out, c)
	}
	return out, nil
}

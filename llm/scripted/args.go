package scripted

import (
	"encoding/json"
	"math"
	"strings"

	"gopkg.in/yaml.v3"
)

// args is a call's arguments as a JSON object, in the file's order.
func (p parser) args(n *yaml.Node) (string, error) {
	if err := p.plain(n); err != nil {
		return "", err
	}
	if n.Kind != yaml.MappingNode {
		return "", p.errorf(n, "args must be a mapping from the tool's arguments to their values")
	}
	var out strings.Builder
	if err := p.value(&out, n, 0); err != nil {
		return "", err
	}
	return out.String(), nil
}

// value writes a node as JSON.
func (p parser) value(out *strings.Builder, n *yaml.Node, depth int) error {
	if err := p.plain(n); err != nil {
		return err
	}
	if depth > maxDepth {
		return p.errorf(n, "args are nested deeper than %d levels", maxDepth)
	}
	switch n.Kind {
	case yaml.MappingNode:
		return p.object(out, n, depth)
	case yaml.SequenceNode:
		out.WriteByte('[')
		for i, item := range n.Content {
			if i > 0 {
				out.WriteByte(',')
			}
			if err := p.value(out, item, depth+1); err != nil {
				return err
			}
		}
		out.WriteByte(']')
		return nil
	case yaml.ScalarNode:
		return p.scalar(out, n)
	case yaml.DocumentNode, yaml.AliasNode: // neither gets here
	}
	return p.errorf(n, "args have a value that is none of text, number, list and mapping")
}

func (p parser) object(out *strings.Builder, n *yaml.Node, depth int) error {
	seen := map[string]bool{}
	out.WriteByte('{')
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, err := p.text(n.Content[i], "a key of args")
		if err != nil {
			return err
		}
		if seen[key] {
			return p.errorf(n.Content[i], "args have %s twice", key)
		}
		seen[key] = true
		if i > 0 {
			out.WriteByte(',')
		}
		quote(out, key)
		out.WriteByte(':')
		if err := p.value(out, n.Content[i+1], depth+1); err != nil {
			return err
		}
	}
	out.WriteByte('}')
	return nil
}

func (p parser) scalar(out *strings.Builder, n *yaml.Node) error {
	switch n.ShortTag() {
	case "!!null":
		out.WriteString("null")
	case "!!bool":
		out.WriteString(strings.ToLower(n.Value))
	case "!!int", "!!float":
		return p.number(out, n)
	default: // text, and what YAML takes for a date
		quote(out, n.Value)
	}
	return nil
}

// number keeps a number that JSON can have as it is written, and takes the value of YAML's other notations.
func (p parser) number(out *strings.Builder, n *yaml.Node) error {
	if json.Valid([]byte(n.Value)) {
		out.WriteString(n.Value)
		return nil
	}
	var value any
	if err := n.Decode(&value); err != nil {
		return p.errorf(n, "%q can't be read as a number; put text in quotes", n.Value)
	}
	if f, ok := value.(float64); ok && (math.IsInf(f, 0) || math.IsNaN(f)) {
		return p.errorf(n, "%s is not a number that JSON has", n.Value)
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return p.errorf(n, "%q can't be written as JSON: %v", n.Value, err)
	}
	out.Write(raw)
	return nil
}

// quote writes text as JSON, readable: without escapes for HTML, which the encoder's default has.
func quote(out *strings.Builder, s string) {
	var line strings.Builder
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	// Text always encodes, and a strings.Builder takes all that is written.
	_ = enc.Encode(s)
	out.WriteString(strings.TrimSuffix(line.String(), "\n"))
}

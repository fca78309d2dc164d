package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"gopkg.in/yaml.v3"
)

// Shown is a configuration as it is in effect, for people and programs. It has no secrets.
type Shown []ShownComponent

// ShownComponent is a component with what is known of it beside its settings.
type ShownComponent struct {
	Component
	// Digest is the one that runs of an agent are pinned to; "" for everything else.
	Digest string
	// Notes are for people.
	Notes []string
}

// Show returns the components in the order of reading, each with all its defaults.
func (c *Config) Show() Shown {
	out := Shown{}
	for _, one := range c.Components {
		shown := ShownComponent{Component: one}
		if one.Kind == "agent" {
			if a, ok := c.Agent(one.Name); ok {
				shown.Digest = a.Digest()
			}
		}
		if one.Kind == "workflow" {
			if a, ok := c.Flow(one.Name); ok {
				shown.Digest = a.Digest()
			}
		}
		out = append(out, shown)
	}
	return out
}

// YAML writes it as a configuration again. What is masked must be filled in before it can be used.
func (s Shown) YAML() ([]byte, error) {
	var out bytes.Buffer
	for i, c := range s {
		if i > 0 {
			out.WriteString("---\n")
		}
		if c.Pos.File != "" {
			fmt.Fprintf(&out, "# %s\n", c.Pos)
		}
		if c.Digest != "" {
			fmt.Fprintf(&out, "# digest %s\n", c.Digest)
		}
		for _, n := range c.Notes {
			fmt.Fprintf(&out, "# %s\n", n)
		}
		doc := mapping(append([]Setting{{Key: "type", Value: c.Kind}, {Key: "name", Value: c.Name}}, c.Settings...))
		enc := yaml.NewEncoder(&out)
		enc.SetIndent(2)
		if err := enc.Encode(doc); err != nil {
			return nil, fmt.Errorf("%s %s can't be written: %w", c.Kind, c.Name, err)
		}
		if err := enc.Close(); err != nil {
			return nil, fmt.Errorf("%s %s can't be written: %w", c.Kind, c.Name, err)
		}
	}
	return out.Bytes(), nil
}

func mapping(settings []Setting) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, s := range settings {
		value := valueNode(s.Value)
		if s.Default {
			value.LineComment = "default"
		}
		n.Content = append(n.Content, text(s.Key), value)
	}
	return n
}

func valueNode(v any) *yaml.Node {
	switch v := v.(type) {
	case []Setting:
		return mapping(v)
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for _, item := range v {
			n.Content = append(n.Content, valueNode(item))
		}
		return n
	case string:
		return text(v)
	}
	n := &yaml.Node{}
	if err := n.Encode(v); err != nil { // it is a bool, a number or nil
		return text(fmt.Sprint(v))
	}
	return n
}

// text is a scalar that is read again as the same text. A dollar sign that would start a variable is doubled.
func text(s string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(escapeVariables(s))
	return n
}

// MarshalJSON writes a list of components.
func (s Shown) MarshalJSON() ([]byte, error) {
	type component struct {
		Type     string          `json:"type"`
		Name     string          `json:"name"`
		File     string          `json:"file,omitempty"`
		Line     int             `json:"line,omitempty"`
		Digest   string          `json:"digest,omitempty"`
		Notes    []string        `json:"notes,omitempty"`
		Settings json.RawMessage `json:"settings"`
	}
	list := []component{}
	for _, c := range s {
		settings, err := settingsJSON(c.Settings)
		if err != nil {
			return nil, err
		}
		list = append(list, component{c.Kind, c.Name, c.Pos.File, c.Pos.Line, c.Digest, c.Notes, settings})
	}
	return json.Marshal(list)
}

func settingsJSON(settings []Setting) ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, s := range settings {
		if i > 0 {
			b.WriteByte(',')
		}
		value, err := valueJSON(s.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Key, err)
		}
		name, err := json.Marshal(s.Key)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func valueJSON(v any) ([]byte, error) {
	switch v := v.(type) {
	case []Setting:
		return settingsJSON(v)
	case []any:
		list := []json.RawMessage{}
		for i, item := range v {
			one, err := valueJSON(item)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", strconv.Itoa(i), err)
			}
			list = append(list, one)
		}
		return json.Marshal(list)
	default:
		return json.Marshal(v)
	}
}

package config

import (
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"
)

// Setting is one key of a component as it is in effect: variables filled in, paths absolute, secrets masked.
type Setting struct {
	Key string
	// Value is a string, bool, int, float64, nil, a []any or a []Setting.
	Value any
	// Default reports whether the document does not have the key.
	Default bool
}

// Component is one document as it is in effect. It has no secret, so it may be shown.
type Component struct {
	Kind, Name string
	Pos        Pos
	// Settings are in the order of the documentation.
	Settings []Setting
}

// effective notes a component for showing.
func (s *section) effective(kind, name string) {
	s.l.config.Components = append(s.l.config.Components, Component{Kind: kind, Name: name, Pos: s.pos(), Settings: s.settings(name)})
}

// settings are the section's values and defaults in the order of its table.
func (s *section) settings(component string) []Setting {
	var out []Setting
	for _, k := range s.object.keys {
		if _, common := anyComponent.key(k.name); common && s.prefix == "" {
			continue
		}
		if f, ok := s.fields[k.name]; ok {
			out = append(out, Setting{Key: k.name, Value: s.setting(k, f.value, component)})
			continue
		}
		if def := k.def; def != nil && s.belongs(k) {
			out = append(out, Setting{Key: k.name, Value: def, Default: true})
		}
	}
	return out
}

// setting is one value in effect.
func (s *section) setting(k key, n *yaml.Node, component string) any {
	switch k.shape {
	case shapeSecret:
		return masked
	case shapeSecrets:
		return s.shown(n, true)
	case shapeWords:
		return s.words(n)
	case shapeConn:
		text := s.expanded(n)
		if s.governing("store_type") == string(StorePostgres) {
			return maskConnection(text)
		}
		return s.absolute(text)
	case shapePath, shapeFile:
		return s.absolute(s.expanded(n))
	case shapeObject:
		return s.inner(k.items, n, component)
	case shapeObjects:
		out := []any{}
		for _, item := range n.Content {
			out = append(out, s.inner(k.items, item, component))
		}
		return out
	case shapeParams:
		return s.inner(paramsOf(component), n, component)
	case shapeFree, shapeValue:
		return s.shown(n, secretName(k.name))
	case shapeName, shapeText, shapeURL, shapeFlag, shapeInteger, shapeDuration, shapeChoice, shapeTexts, shapeRefer, shapeRefers, shapeNumber:
	}
	return s.shown(n, false)
}

// inner are the settings of a mapping inside, without problems: they are reported where it is read.
func (s *section) inner(o *object, n *yaml.Node, component string) []Setting {
	quiet := &loader{env: s.l.env, config: &Config{}}
	inner := quiet.section(s.file, "in.", n, o)
	if inner == nil {
		return nil
	}
	return inner.settings(component)
}

// shown is a value with its variables filled in and its secrets masked. secret is true inside a key that names one.
func (s *section) shown(n *yaml.Node, secret bool) any {
	switch n.Kind {
	case yaml.MappingNode:
		out := []Setting{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			name := n.Content[i].Value
			out = append(out, Setting{Key: name, Value: s.shown(n.Content[i+1], secret || secretName(name))})
		}
		return out
	case yaml.SequenceNode:
		out := []any{}
		for _, item := range n.Content {
			out = append(out, s.shown(item, secret))
		}
		return out
	case yaml.ScalarNode:
		return s.leafShown(n, secret)
	case yaml.DocumentNode, yaml.AliasNode: // refused before a section is opened
	}
	return nil
}

func (s *section) leafShown(n *yaml.Node, secret bool) any {
	quiet := &loader{env: s.l.env, config: &Config{}}
	v, ok := quiet.scalar(s.file, "", n, "")
	if !ok || v.tag == "!!null" {
		return nil
	}
	if secret || v.expanded && secretVariable(n.Value) {
		return masked
	}
	switch v.tag {
	case "!!bool", "!!int", "!!float":
		var out any
		typed := yaml.Node{Kind: yaml.ScalarNode, Tag: v.tag, Value: v.text}
		if typed.Decode(&out) == nil {
			return out
		}
	}
	return maskText(v.text)
}

// words are a program's arguments. One behind an option that names a secret is masked, too.
func (s *section) words(n *yaml.Node) any {
	out, secret := []any{}, false
	for _, item := range n.Content {
		if secret {
			out = append(out, masked)
			secret = false
			continue
		}
		out = append(out, s.shown(item, false))
		secret = strings.HasPrefix(item.Value, "-") && !strings.Contains(item.Value, "=") && secretName(item.Value)
	}
	return out
}

// expanded is a scalar's text with its variables, "" when it is none.
func (s *section) expanded(n *yaml.Node) string {
	text, _, err := expand(n.Value, s.l.env)
	if err != nil {
		return ""
	}
	return text
}

func (s *section) absolute(text string) string {
	if text == "" || filepath.IsAbs(text) {
		return maskText(text)
	}
	abs, err := filepath.Abs(filepath.Join(filepath.Dir(s.file), text))
	if err != nil {
		return maskText(text)
	}
	return maskText(abs)
}

package config

import (
	"maps"
	"math"
	"slices"
	"strconv"

	"gopkg.in/yaml.v3"
)

// maxDepth bounds how deep a free-form value may nest.
const maxDepth = 20

// free returns a mapping whose values only their user understands, as JSON would have it.
func (s *section) free(key string) map[string]any {
	n, ok := s.take(key)
	if !ok {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		s.report(key, n.Line, "must be a mapping of keys to values, not a %s", kindName(n.Kind))
		return nil
	}
	out, _ := s.value(key, n, 0).(map[string]any)
	return out
}

func (s *section) value(key string, n *yaml.Node, depth int) any {
	if depth > maxDepth {
		s.report(key, n.Line, "nests deeper than %d levels", maxDepth)
		return nil
	}
	switch n.Kind {
	case yaml.MappingNode:
		inner := s.l.section(s.file, s.prefix+key+".", n, nil)
		out := make(map[string]any, len(inner.fields))
		for _, name := range slices.Sorted(maps.Keys(inner.fields)) {
			out[name] = s.value(key+"."+name, inner.fields[name].value, depth+1)
		}
		return out
	case yaml.SequenceNode:
		out := make([]any, 0, len(n.Content))
		for i, item := range n.Content {
			out = append(out, s.value(key+"["+strconv.Itoa(i)+"]", item, depth+1))
		}
		return out
	case yaml.ScalarNode:
		return s.leaf(key, n)
	case yaml.DocumentNode, yaml.AliasNode: // refused before a section is opened
	}
	s.report(key, n.Line, "can't be read")
	return nil
}

func (s *section) leaf(key string, n *yaml.Node) any {
	v, ok := s.l.scalar(s.file, s.prefix+key, n, "a value")
	if !ok {
		return nil
	}
	typed := yaml.Node{Kind: yaml.ScalarNode, Tag: v.tag, Value: v.text}
	var out any
	switch v.tag {
	case "!!null":
		return nil
	case "!!bool", "!!int", "!!float":
		if err := typed.Decode(&out); err != nil {
			s.report(key, n.Line, "is not a value of its type: put it in quotes if it is text")
			return nil
		}
		if f, isFloat := out.(float64); isFloat && (math.IsNaN(f) || math.IsInf(f, 0)) {
			s.report(key, n.Line, "must be a finite number")
			return nil
		}
		return out
	default:
		return v.text
	}
}

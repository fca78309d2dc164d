package tool

import (
	"fmt"
	"slices"
)

// Set is an ordered collection of tools, each name once. The zero value is empty and ready.
type Set struct {
	tools []Tool
	index map[string]int
}

// NewSet returns a set of tools in the order given. A name that comes twice is an error.
func NewSet(tools ...Tool) (*Set, error) {
	s := &Set{index: make(map[string]int, len(tools))}
	for _, t := range tools {
		name := t.Definition().Name
		if name == "" {
			return nil, fmt.Errorf("a tool has no name")
		}
		if _, dup := s.index[name]; dup {
			return nil, fmt.Errorf("two tools are named %q", name)
		}
		s.index[name] = len(s.tools)
		s.tools = append(s.tools, t)
	}
	return s, nil
}

// Get returns the tool of that exact name.
func (s *Set) Get(name string) (Tool, bool) {
	if s == nil {
		return nil, false
	}
	i, ok := s.index[name]
	if !ok {
		return nil, false
	}
	return s.tools[i], true
}

// Definitions returns the definitions in order.
func (s *Set) Definitions() []Definition {
	if s == nil {
		return nil
	}
	out := make([]Definition, 0, len(s.tools))
	for _, t := range s.tools {
		out = append(out, t.Definition())
	}
	return out
}

// Names returns the names in order.
func (s *Set) Names() []string {
	var out []string
	for _, d := range s.Definitions() {
		out = append(out, d.Name)
	}
	return slices.Clip(out)
}

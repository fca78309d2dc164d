package permission

import (
	"fmt"
	"strings"
	"time"
)

// Examples are calls written under a rule, by what must be decided on them.
//
// For a tool with a main argument an example is that argument: the command,
// the path, or the URL with a method before it if it is not GET. For any other
// tool, and wherever else the text of a file or URL tool's example starts with
// "{", it is the JSON of the arguments. Under a rule for several tools it
// starts with the tool's name and a blank.
type Examples struct {
	Allow []string `json:"allow,omitempty"`
	Ask   []string `json:"ask,omitempty"`
	Deny  []string `json:"deny,omitempty"`
}

// Setting is the world in which examples are decided.
type Setting struct {
	// Workspace and Home default to /workspace and /home/agent.
	Workspace, Home string
	Now             time.Time
	// Tool knows the tools by their names in rules; nil means BuiltinTool.
	Tool func(name string) Tool
}

// ExampleError is an example that comes out differently from what is written.
type ExampleError struct {
	Rule      Rule
	Example   string
	Want, Got Effect
	// Decision is what was decided; empty when the example can't be read.
	Decision Decision
	// Problem says why the example can't be read; "" when it can.
	Problem string
}

// Error says which example, of which rule, and why it comes out as it does.
func (e *ExampleError) Error() string {
	at := fmt.Sprintf("%sthe example %s of the rule %s", place(e.Rule.Source), visible(shortened(e.Example)), visible(e.Rule.Pattern))
	if e.Problem != "" {
		return at + " " + e.Problem
	}
	text := fmt.Sprintf("%s should be %s and is %s: %s", at, e.Want, e.Got, visible(e.Decision.Reason))
	if m := e.Decision.Matched; m != nil {
		if where := place(m.Source); where != "" {
			text += " (" + strings.TrimSuffix(where, ": ") + ")"
		}
	}
	return text
}

// CheckExamples decides the examples of one rule by the whole set, and returns
// those that come out differently, in the order written.
func (s *Set) CheckExamples(r Rule, examples Examples, in Setting) []*ExampleError {
	var out []*ExampleError
	for _, group := range []struct {
		want  Effect
		texts []string
	}{{Allow, examples.Allow}, {Ask, examples.Ask}, {Deny, examples.Deny}} {
		for _, text := range group.texts {
			if err := s.checkExample(r, text, group.want, in); err != nil {
				out = append(out, err)
			}
		}
	}
	return out
}

func (s *Set) checkExample(r Rule, text string, want Effect, in Setting) *ExampleError {
	c, problem := in.call(r, text)
	if problem != "" {
		return &ExampleError{Rule: r, Example: text, Want: want, Problem: problem}
	}
	d := s.Decide(c)
	if d.Effect == want {
		return nil
	}
	return &ExampleError{Rule: r, Example: text, Want: want, Got: d.Effect, Decision: d}
}

// call makes the call that an example stands for, in the rule's own scope.
func (in Setting) call(r Rule, text string) (c Call, problem string) {
	name, _, _, err := splitPattern(r.Pattern)
	if err != nil {
		return c, "can't be checked: " + err.Error()
	}
	if manyTools(name) {
		var ok bool
		if name, text, ok = strings.Cut(strings.TrimSpace(text), " "); !ok {
			return c, "has no arguments: the rule is for several tools, so write the tool's name, a blank, and the arguments"
		}
	}
	tool := in.Tool
	if tool == nil {
		tool = BuiltinTool
	}
	c = Call{Tool: tool(name), Workspace: in.Workspace, Home: in.Home, UserID: r.UserID, SessionID: r.SessionID, Now: in.Now}
	if c.Workspace == "" {
		c.Workspace = "/workspace"
	}
	if c.Home == "" {
		c.Home = "/home/agent"
	}
	c.Args, problem = exampleArgs(c.Tool, text)
	return c, problem
}

func exampleArgs(t Tool, text string) (args []byte, problem string) {
	isJSON := strings.HasPrefix(strings.TrimSpace(text), "{") && t.Kind != KindCommand
	switch {
	case isJSON:
		return []byte(text), ""
	case t.Field == "":
		return nil, `is no JSON object: write the arguments, such as {"id": 7}`
	}
	fields := object{{t.Field, text}}
	if method, url, ok := strings.Cut(text, " "); ok && t.Kind == KindURL {
		fields = object{{"method", method}, {t.Field, strings.TrimSpace(url)}}
	}
	return []byte(canonical(fields)), ""
}

// manyTools reports whether the tool part of a rule stands for several tools.
func manyTools(name string) bool {
	_, _, whole := mcpName(name)
	return strings.ContainsAny(name, "*?") || strings.HasPrefix(name, "mcp__") && !whole
}

package config

import (
	"fmt"

	"gopkg.in/yaml.v3"

	"holdpoint/permission"
)

// maxTemplateRules bounds the rules that are granted in one step, and maxTemplateUses how often one of them may be used.
const (
	maxTemplateRules = 100
	maxTemplateUses  = 1_000_000
)

// Template is a named set of rules that can be granted to a user or a session in one step. By itself it allows and
// denies nothing.
type Template struct {
	Name, Description string
	// Rules have no user and no id yet.
	Rules []permission.Rule
	Pos   Pos
}

// Template returns the template of that name.
func (c *Config) Template(name string) (Template, bool) {
	return find(c.Templates, func(t Template) bool { return t.Name == name })
}

var templateKeys = component("Rules that can be granted to a user or a session in one step. By themselves they have no effect.", object{
	keys: []key{
		{name: "description", shape: shapeText, maxBytes: maxPromptBytes, defDoc: "none", doc: "What it is for, in a sentence for whoever grants it."},
		{name: "rules", shape: shapeObjects, items: &templateRuleKeys, required: true, most: maxTemplateRules, doc: "The rules."},
	},
})

var templateRuleKeys = object{keys: []key{
	{name: "match", shape: shapeText, required: true, doc: "The tool, or `tool(pattern)`."},
	{name: "where", shape: shapeObjects, items: &conditionKeys, most: maxListed, doc: "Conditions on single arguments; all must hold beside the pattern."},
	{name: "decision", shape: shapeChoice, required: true, choices: []string{"deny", "allow"}, doc: "What happens to a call that matches."},
	{name: "risk", shape: shapeChoice, choices: risks, defDoc: "the tool's", doc: "Raises the risk that a reviewer is told."},
	{name: "max_uses", shape: shapeInteger, low: 1, high: maxTemplateUses, defDoc: "no bound", doc: "How many calls may rest on an allow.",
		when: &when{key: "decision", values: []string{"allow"}, why: "belongs to decision: allow"}},
}}

func readTemplate(s *section, name string) {
	t := Template{Name: name, Description: s.text("description"), Pos: s.pos()}
	n, ok := s.take("rules")
	switch most := s.spec("rules").most; {
	case !ok:
	case n.Kind != yaml.SequenceNode:
		s.report("rules", n.Line, "must be a list of rules, such as %q", `- {match: "bash(git status)", decision: allow}`)
	case len(n.Content) == 0:
		s.report("rules", n.Line, "is empty: a template grants at least one rule")
	case len(n.Content) > most:
		s.report("rules", n.Line, "has %d rules, more than %d", len(n.Content), most)
	default:
		for i, item := range n.Content {
			if r, ok := s.templateRule(i, item, name); ok {
				t.Rules = append(t.Rules, r)
			}
		}
	}
	s.l.config.Templates = append(s.l.config.Templates, t)
}

// templateRule reads one rule; false when it has a mistake, which is reported.
func (s *section) templateRule(i int, n *yaml.Node, template string) (permission.Rule, bool) {
	before := len(s.l.problems)
	r := s.l.section(s.file, fmt.Sprintf("%srules[%d].", s.prefix, i), n, &templateRuleKeys)
	if r == nil {
		return permission.Rule{}, false
	}
	r.require()
	out := permission.Rule{Risk: r.risk(), Where: r.conditions(), Source: permission.Source{Name: template, File: s.file, Line: n.Line}}
	decision := r.choice("decision")
	pattern, _ := r.scalar("match", "a pattern such as bash(git status)")
	if r.has("max_uses") {
		out.MaxUses = r.integer("max_uses")
	}
	r.finish()
	if decision != "" && pattern.line != 0 {
		out.Pattern = pattern.text
		r.pattern(&out, decision, pattern)
	}
	return out, len(s.l.problems) == before
}

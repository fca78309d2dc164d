package config

import (
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// maxNeeds bounds what one tool may ask for.
const maxNeeds = 10

// Need is a variable that a command needs and a person is asked for.
type Need struct {
	Name   string
	Prompt string
	Secret bool
}

var needKeys = object{keys: []key{
	{name: "name", shape: shapeText, required: true, doc: "The variable's name."},
	{name: "prompt", shape: shapeText, maxBytes: maxDescription, defDoc: "none", doc: "What the person is told: what it is for, and where to get it."},
	{name: "secret", shape: shapeFlag, def: true, doc: "Whether it is a secret: encrypted, for the command alone, and taken out of its output."},
}}

// reservedVariables are those that a command's environment has anyway, or that change how bash reads a script.
var reservedVariables = []string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "TERM", "PWD", "SHELL", "IFS", "ENV", "BASH_ENV", "SHELLOPTS", "BASHOPTS",
	"BASH_COMPAT", "POSIXLY_CORRECT", "LD_PRELOAD", "LD_LIBRARY_PATH"}

// needs reads what commands need of people; only bash has commands.
func (s *section) needs(tool string) []Need {
	n, ok := s.take("needs")
	switch {
	case !ok:
		return nil
	case tool != "bash":
		s.report("needs", n.Line, "is for bash, whose commands get variables: for an MCP server put the value into env or headers")
		return nil
	case n.Kind != yaml.SequenceNode || len(n.Content) == 0 || len(n.Content) > maxNeeds:
		s.report("needs", n.Line, "must be a list of 1 to %d variables, such as %q", maxNeeds, "- {name: GITHUB_TOKEN, prompt: A token that may read issues}")
		return nil
	}
	var out []Need
	for i, item := range n.Content {
		inner := s.l.section(s.file, s.prefix+"needs["+strconv.Itoa(i)+"].", item, &needKeys)
		if inner == nil {
			continue
		}
		inner.require()
		need := Need{Name: inner.text("name"), Prompt: inner.text("prompt"), Secret: inner.flag("secret")}
		if why := wrongVariable(need.Name); need.Name != "" && why != "" {
			inner.reportKey("name", "%q %s", need.Name, why)
		}
		if slices.ContainsFunc(out, func(o Need) bool { return o.Name == need.Name }) {
			inner.reportKey("name", "%q is here twice: keep one", need.Name)
		}
		inner.finish()
		out = append(out, need)
	}
	return out
}

func wrongVariable(name string) string {
	switch {
	case !variableNames.MatchString(name):
		return "is no name of a variable: letters, digits and _"
	case slices.Contains(reservedVariables, name) || strings.HasPrefix(name, "BASH_FUNC_") || strings.HasPrefix(name, "HOLDPOINT_"):
		return "is a variable that commands have of their own: choose another name"
	}
	return ""
}

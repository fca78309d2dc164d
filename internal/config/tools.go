package config

import (
	"slices"

	"gopkg.in/yaml.v3"

	"holdpoint/permission"
	"holdpoint/tool"
)

// builtins are the tools of this version, by name.
var builtins = []string{"ask_human", "bash", "file_edit", "file_read", "file_write", "http_fetch"}

// Builtins returns the names of the tools that come with Holdpoint, sorted.
func Builtins() []string { return slices.Clone(builtins) }

func readTool(s *section, name string) {
	t := Tool{
		Server: s.server(name),
		Name:   name, Pos: s.pos(), Risk: s.risk(), Params: s.params(name),
		Timeout: s.duration("timeout"), Idempotent: s.optionalFlag("idempotent"),
		Cacheable: s.cacheable(name), TaskQueue: s.text("task_queue"), Needs: s.needs(name),
	}
	t.Consent, t.Denied = s.consent()
	s.l.config.Tools = append(s.l.config.Tools, t)
}

// effectful are the tools whose every call counts: a kept result would stand for a write that was not made, or for
// a question that nobody was asked.
var effectful = []string{"ask_human", "file_edit", "file_write"}

func (s *section) cacheable(name string) *bool {
	v := s.optionalFlag("cacheable")
	if v != nil && *v && slices.Contains(effectful, name) {
		s.reportKey("cacheable", "is not possible for %s: each of its calls counts", name)
	}
	return v
}

// consent reads the two ways of saying what happens when no rule speaks. They may both be there if they agree.
func (s *section) consent() (c tool.Consent, denied bool) {
	requires := s.optionalFlag("requires_consent")
	if requires != nil {
		c = tool.ConsentNever
		if *requires {
			c = tool.ConsentAlways
		}
	}
	policy := s.choice("default_policy")
	if requires != nil && (policy == "allow" && *requires || policy == "ask" && !*requires) {
		s.reportKey("default_policy", "contradicts requires_consent: keep one of them")
	}
	switch policy {
	case "allow":
		c = tool.ConsentNever
	case "ask":
		c = tool.ConsentAlways
	case "deny":
		c, denied = tool.ConsentAlways, true
	}
	return c, denied
}

// params reads the settings of the tool of that name.
func (s *section) params(name string) map[string]any {
	n, ok := s.take("params")
	if !ok || s.told["params"] {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		s.report("params", n.Line, "must be a mapping of keys to values, not a %s", kindName(n.Kind))
		return nil
	}
	if !slices.Contains(builtins, name) {
		return nil // reported
	}
	o := paramsOf(name)
	inner := s.l.section(s.file, s.prefix+"params.", n, o)
	out := map[string]any{}
	for _, k := range o.keys {
		switch {
		case !inner.has(k.name):
		case k.shape == shapeTexts:
			list := []any{}
			for _, v := range inner.list(k.name) {
				list = append(list, v.text)
			}
			out[k.name] = list
		default:
			out[k.name] = inner.text(k.name)
		}
	}
	inner.finish()
	return out
}

func paramsOf(tool string) *object {
	if o, ok := toolKeys.params[tool]; ok {
		return o
	}
	return &noParams
}

var risks = []string{
	string(permission.RiskLow), string(permission.RiskMedium), string(permission.RiskHigh), string(permission.RiskCritical),
}

func (s *section) risk() permission.Risk { return permission.Risk(s.choice("risk")) }

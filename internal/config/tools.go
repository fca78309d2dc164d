package config

import (
	"slices"
	"time"

	"holdpoint/permission"
	"holdpoint/tool"
)

// builtins are the tools of this version, by name.
var builtins = []string{"ask_human", "bash", "file_edit", "file_read", "file_write", "http_fetch"}

// Builtins returns the names that a tool document may have, sorted.
func Builtins() []string { return slices.Clone(builtins) }

// maxToolTimeout is the longest time an execution may sensibly have; more is a slip of the unit.
const maxToolTimeout = 30 * 24 * time.Hour

func readTool(s *section, name string) {
	s.later("command", "args", "url", "transport", "server")
	if name != "" && !slices.Contains(builtins, name) {
		s.reportKey("name", "no tool is named %q%s", name, didYouMean(name, builtins))
	}
	t := Tool{
		Name: name, Pos: s.pos(), Risk: s.risk(), Params: s.free("params"),
		Timeout: s.duration("timeout", maxToolTimeout), Idempotent: s.optionalFlag("idempotent"),
		Cacheable: s.cacheable(name),
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
	policy := s.choice("default_policy", []string{"allow", "ask", "deny"}, nil)
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

func (s *section) risk() permission.Risk {
	return permission.Risk(s.choice("risk", []string{
		string(permission.RiskLow), string(permission.RiskMedium), string(permission.RiskHigh), string(permission.RiskCritical),
	}, nil))
}

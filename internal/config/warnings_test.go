package config_test

import (
	"strings"
	"testing"

	"holdpoint/internal/config"
)

// An allow that can't be read allows nothing and stops nothing; its neighbours count, and the value of a variable is in
// no warning.
func TestAnAllowThatCannotBeReadIsWarnedOf(t *testing.T) {
	t.Parallel()
	text := "type: policy\nname: p\nrules:\n  - {match: \"bash(ls\", decision: allow}\n  - {match: bash(pwd), decision: allow, examples: {allow: [pwd], ask: [ls]}}\n" +
		"  - {match: \"bash(${KEY}\", decision: allow}\n"
	c, err := config.Load(write(t, "c.yaml", text), env(map[string]string{"KEY": "hunter2"}))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Policies[0].Rules) != 1 || c.Policies[0].Rules[0].Pattern != "bash(pwd)" {
		t.Errorf("rules %+v", c.Policies[0].Rules)
	}
	if len(c.Warnings) != 2 {
		t.Fatalf("warnings %v", c.Warnings)
	}
	for i, want := range []string{`c.yaml:4: rules[0].match: the pattern does not end in ")"`, `c.yaml:6: rules[2].match: "bash(${KEY}" is no valid pattern`} {
		if got := c.Warnings[i].String(); !strings.Contains(got, want) || !strings.HasSuffix(got, "until then the rule allows nothing") || strings.Contains(got, "hunter2") {
			t.Errorf("warning %q, want %q", got, want)
		}
	}
	for _, wide := range []string{"*", "mcp__*", "file_*"} {
		if _, err := config.Load(write(t, "c.yaml", "type: policy\nname: p\nrules:\n  - {match: \""+wide+"\", decision: allow}\n"), env(nil)); err == nil {
			t.Errorf("an allow of %s is taken", wide)
		}
	}
}

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
	text := agentText + "type: policy\nname: p\nrules:\n  - {match: \"bash(ls\", decision: allow}\n  - {match: bash(pwd), decision: allow, examples: {allow: [pwd], ask: [ls]}}\n" +
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
	for i, want := range []string{`c.yaml:14: rules[0].match: the pattern does not end in ")"`, `c.yaml:16: rules[2].match: "bash(${KEY}" is no valid pattern`} {
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

// agentText is a document of an agent with its model, for what comes after it.
const agentText = "type: model\nname: m\nprovider: openai\nmodel: x\nbase_url: http://127.0.0.1:9\n---\ntype: agent\nname: a\nmodel: m\n---\n"

func TestWhatCanHaveNoEffectIsWarnedOf(t *testing.T) {
	t.Parallel()
	const policy = "type: policy\nname: p\nrules:\n"
	for text, want := range map[string]string{
		"type: model\nname: m\nprovider: openai\nmodel: x\nbase_url: http://127.0.0.1:9\n":           `c.yaml:1: there is no agent here, so no run can be started`,
		policy + "  - {match: bash, decision: ask}\n":                                                `c.yaml:1: there is no agent here, so no run can be started`,
		agentText + policy + "  - {match: \"http_fetch(ftp://h/**)\", decision: allow}\n":            `rules[0].match: a URL rule starts with https:// or http://`,
		agentText + policy + "  - {match: \"http_fetch(FETCH https://h/**)\", decision: allow}\n":    `rules[0].match: http_fetch has no method "FETCH", so no call has it: use GET, HEAD, POST`,
		agentText + policy + "  - {match: \"http_fetch(GET,PSOT https://h/**)\", decision: deny}\n":  `rules[0].match: http_fetch has no method "PSOT"`,
		agentText + policy + "  - {match: \"http_fetch(GET,POST https://h/**)\", decision: allow}\n": "",
		agentText + policy + "  - {match: \"http_fetch(* http://h/**)\", decision: deny}\n":          "",
	} {
		c, err := config.Load(write(t, "c.yaml", text), env(nil))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if want == "" && len(c.Warnings) > 0 || want != "" && (len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0].String(), want)) {
			t.Errorf("%s\nis warned of: %v, want %q", text, c.Warnings, want)
		}
	}
}

package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdpoint/internal/config"
	"holdpoint/permission"
)

func TestTemplatesAreRead(t *testing.T) {
	t.Parallel()
	file := write(t, "c.yaml", `type: policy_template
name: node-project
description: What a Node project needs every day
rules:
  - {match: "bash(npm run test:*)", decision: allow}
  - {match: "bash(npm publish:*)", decision: deny, risk: high}
  - {match: mcp__shop__order, decision: allow, max_uses: 3, where: [{name: amount, max: 100}]}
`)
	c, err := config.Load(file, env(nil))
	if err != nil {
		t.Fatal(err)
	}
	at := func(line int) permission.Source {
		return permission.Source{Name: "node-project", File: file, Line: line}
	}
	want := config.Template{Name: "node-project", Description: "What a Node project needs every day", Pos: config.Pos{File: file, Line: 1},
		Rules: []permission.Rule{
			{Effect: permission.Allow, Pattern: "bash(npm run test:*)", Source: at(5)},
			{Effect: permission.Deny, Pattern: "bash(npm publish:*)", Risk: permission.RiskHigh, Source: at(6)},
			{Effect: permission.Allow, Pattern: "mcp__shop__order", MaxUses: 3, Source: at(7),
				Where: []permission.Condition{{Name: "amount", Max: "100"}}},
		}}
	got, found := c.Template("node-project")
	if diff := cmp.Diff(want, got); !found || diff != "" {
		t.Errorf("found %v (-want +got):\n%s", found, diff)
	}
	if _, found := c.Template("other"); found {
		t.Error("a template that is not there was found")
	}
}

func TestMistakesInTemplatesAreTold(t *testing.T) {
	t.Parallel()
	file := write(t, "c.yaml", `type: policy_template
name: a
---
type: policy_template
name: b
rules: []
---
type: policy_template
name: c
rules: bash
---
type: policy_template
name: d
rules:
  - {match: "bash(ls", decision: allow}
  - {match: bash, decision: ask}
  - {match: bash, decision: deny, max_uses: 1}
  - {match: "*", decision: allow, max_uses: 0}
  - {match: "bahs(ls)", decision: deny, quorum: 2}
`)
	_, err := config.Load(file, env(nil))
	if err == nil {
		t.Fatal("the configuration was accepted")
	}
	for _, want := range []string{":1: rules: is missing", ":6: rules: is empty", ":10: rules: must be a list", ":15: rules[0].match: the pattern does not end",
		`:16: rules[1].decision: "ask" is none of deny, allow`, ":17: rules[2].max_uses: belongs to decision: allow", ":18: rules[3].max_uses: must be a whole number",
		":18: rules[3].match: an allow names its tool", `:19: rules[4].match: no tool is named "bahs"`, ":19: rules[4].quorum: unknown key"} {
		if !strings.Contains(err.Error(), file+want) {
			t.Errorf("%q is not told:\n%v", want, err)
		}
	}
}

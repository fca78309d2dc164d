package config_test

import (
	"strings"
	"testing"

	"holdpoint/internal/config"
)

const flowAgents = "type: model\nname: m\nprovider: openai\nmodel: x\nbase_url: http://127.0.0.1:1/v1\n---\ntype: agent\nname: a\nmodel: m\n---\n"

// Workflows start on line 11.
func TestMistakesInWorkflows(t *testing.T) {
	t.Parallel()
	pipe := "type: workflow\nname: w\nkind: pipeline\nstages:\n"
	for name, c := range map[string]struct{ text, want string }{
		"a stage that comes later":  {pipe + "  - {name: s, agent: a, when: 'outputs.t == \"\"'}\n  - {name: t, agent: a}\n", `:15: stages[0].when: unknown field t`},
		"a text of a later stage":   {pipe + "  - {name: s, agent: a, input: '{{outputs.t}}'}\n  - {name: t, agent: a}\n", `:15: stages[0].input: {{outputs.t}}: no stage`},
		"a condition with no truth": {pipe + "  - {name: s, agent: a, when: input}\n", `expected bool`},
		"two things at once":        {pipe + "  - {name: s, agent: a, gate: {}}\n", `:15: stages[0].name: has 2 of agent, workflow and gate`},
		"an unknown agent":          {pipe + "  - {name: s, agent: b}\n", `:15: stages[0].agent: no agent is named "b"`},
		"a name that is none":       {pipe + "  - {name: S-1, agent: a}\n", `must be lower-case letters`},
		"a name twice":              {pipe + "  - {name: s, agent: a}\n  - {name: s, agent: a}\n", `:16: stages[1].name: "s" is the name of an earlier stage`},
		"no stages":                 {"type: workflow\nname: w\nkind: pipeline\nstages: []\n", `:14: stages: must be a list of 1 to 50 stages`},
		"a gate beside others":      {"type: workflow\nname: w\nkind: parallel\nstages:\n  - {name: s, gate: {}}\n", `is not possible side by side`},
		"silence as approval":       {pipe + "  - {name: s, gate: {timeout: 1h, on_timeout: approve}}\n", `stages[0].gate.on_timeout`},
		"too many rounds":           {"type: workflow\nname: w\nkind: loop\nmax_iterations: 1001\nstages:\n  - {name: s, agent: a}\n", `:14: max_iterations`},
		"until without a loop":      {pipe + "  - {name: s, agent: a}\nuntil: 'true'\n", `until`},
		"an agent's name":           {"type: workflow\nname: a\nkind: pipeline\nstages:\n  - {name: s, agent: a}\n", `"a" is an agent's name already`},
		"a circle":                  {pipe + "  - {name: s, workflow: v}\n---\n" + strings.Replace(pipe, "name: w", "name: v", 1) + "  - {name: s, workflow: w}\n", `workflows would call one another for ever: w -> v -> w`},
		"too deep": {pipe + "  - {name: s, workflow: v1}\n---\n" + deep("v1", "v2") + deep("v2", "v3") + deep("v3", "v4") + deep("v4", "v5") +
			"type: workflow\nname: v5\nkind: pipeline\nstages:\n  - {name: s, agent: a}\n", `6 workflows stand within one another here; at most 5 may`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := config.Load(write(t, "c.yaml", flowAgents+c.text), env(nil))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v\nwant %s", err, c.want)
			}
		})
	}
}

func deep(name, inner string) string {
	return "type: workflow\nname: " + name + "\nkind: pipeline\nstages:\n  - {name: s, workflow: " + inner + "}\n---\n"
}

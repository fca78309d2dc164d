package config_test

import "strings"

// long is a text of n letters.
func long(n int) string { return strings.Repeat("a", n) }

// mistakesOfValues are those that any component may have.
var mistakesOfValues = []mistake{
	{"keys for secrets", "type: secrets\nname: a\nkey: short\nold_keys: {one: 7, two: hunter22}\n---\ntype: secrets\nname: b\nkey: MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=\n---\ntype: secrets\nname: c\n",
		`:3: key: is no key: it must be 32 bytes in base64, as openssl rand -base64 32 makes
:4: old_keys.one: must be text: put it in quotes
:4: old_keys.two: is no key: it must be 32 bytes in base64, as openssl rand -base64 32 makes
:6: type: there are keys for secrets already, at FILE:1: keep one component of this type, and put other keys into its old_keys
:10: key: is missing
:10: type: there are keys for secrets already, at FILE:1: keep one component of this type, and put other keys into its old_keys`},
	{"what commands need", "type: tool\nname: bash\nneeds:\n  - {name: A-B}\n  - {name: PATH}\n  - {name: TOKEN, secret: perhaps}\n  - {name: TOKEN}\n  - {prompt: x}\n---\ntype: tool\nname: file_read\nneeds: [{name: X}]\n",
		`:4: needs[0].name: "A-B" is no name of a variable: letters, digits and _
:5: needs[1].name: "PATH" is a variable that commands have of their own: choose another name
:6: needs[2].secret: must be true or false, not "perhaps"
:7: needs[3].name: "TOKEN" is here twice: keep one
:8: needs[4].name: is missing
:12: needs: is for bash, whose commands get variables: for an MCP server put the value into env or headers`},
	{"a value that is missing", "type: agent\nname: a\nmodel:\n", `:3: model: has no value: give it one or remove the key`},
	{"a list where a text belongs", "type: agent\nname: [a]\nmodel: {b: c}\n", `:2: name: must be text, not a list
:3: model: must be the name of a model, not a mapping`},
	{"tabs", "type: agent\n\tname: a\n", `:2: is not YAML: found a tab character that violates indentation`},
	{"a name of another type", "type: agent\nname: a\nmodel: p\n---\ntype: policy\nname: p\nrules: []\n", `:3: model: no model is named "p"`},
	{"a prompt that is too long", "type: agent\nname: a\nmodel: m\nsystem_prompt: " + long(64<<10+1) + model, `:4: system_prompt: is longer than 65536 bytes`},
	{"nesting without end", "type: model\nname: m\nprovider: openai\nmodel: x\nbase_url: http://h\nparams: {a: " + strings.Repeat("[", 21) + strings.Repeat("]", 21) + "}\n",
		`:6: params.a` + strings.Repeat("[0]", 20) + `: nests deeper than 20 levels`},
	{"a risk that is never accepted", "type: agent\nname: a\nmodel: m\nauto_approve_risk: critical" + model, `:4: auto_approve_risk: "critical" is none of low, medium, high`},
	{"settings of another tool", "type: tool\nname: bash\nparams: {proxy: http://h, evn: [A]}\n---\ntype: tool\nname: file_read\nparams: {env: [A]}\n---\ntype: tool\nname: http_fetch\nparams: {private_hosts: h, proxy: [x]}\n",
		`:3: params.proxy: is no setting of it (known: env)
:3: params.evn: is no setting of it (did you mean "env"?)
:7: params.env: is no setting of it
:11: params.private_hosts: must be a list, such as [a, b], not a single value
:11: params.proxy: must be the URL of a proxy, such as http://proxy.example:3128, not a list`},
	{"an empty variable", "type: model\nname: m\nprovider: openai\nmodel: ${EMPTY}\nbase_url: http://h\n", `:4: model: is empty: give it a value or remove the key`},
	{"a tool of a server", "type: tool\nname: bash\nserver: files\ntransport: stdio\nargs: [x]\nurl: http://h\n", `:3: server: is not available in this version: remove it
:4: transport: is not available in this version: remove it
:5: args: bash is built in and no MCP server: remove it, or give the server a name of its own
:6: url: bash is built in and no MCP server: remove it, or give the server a name of its own`},
	{"a ladder that nobody can climb", `type: policy
name: p
rules:
  - match: bash
    decision: ask
    reviewers: [alice]
    timeout: 8h
    escalate:
      - {after: 4h, to: [bob]}
      - {after: 2h, to: ["group:"]}
      - {after: 9h}
      - {when: 1h, to: [bob]}
  - {match: bash, decision: ask, escalate: [{after: 1h, to: [bob]}]}
  - {match: bash, decision: deny, remind_every: 1h}
`, `:10: rules[0].escalate[1].to: "group:" names no group: write group:NAME
:10: rules[0].escalate[1].after: is not later than that of the rung before: write the rungs in the order of their times
:11: rules[0].escalate[2].to: is missing
:11: rules[0].escalate[2].after: is not before the timeout, so it would never happen
:12: rules[0].escalate[3].after: is missing
:12: rules[0].escalate[3].when: unknown key (known: after, to)
:13: rules[1].escalate: has no effect without reviewers: anybody may answer
:14: rules[2].remind_every: belongs to decision: ask: remove it`},
	{"agents that call in a circle", "type: agent\nname: a\nmodel: m\nagents: [b]\n---\ntype: agent\nname: b\nmodel: m\nagents: [c, nobody]\n---\ntype: agent\nname: c\nmodel: m\nagents: [a, c]" + model,
		`:9: agents: no agent or workflow is named "nobody" (known: a, b, c)
:14: agents: agents would call one another for ever: a -> b -> c -> a: take one of the calls away
:14: agents: agents would call one another for ever: c -> c: take one of the calls away`},
	{"a name that is too long", "type: policy\nname: " + long(65) + "\nrules: []\n",
		`:2: name: must be at most 64 letters, digits, dots, dashes or underscores, the first a letter or digit (in quotes if it is a number)`},
	{"steps that are no number", "type: agent\nname: a\nmodel: m\nmax_steps: many" + model + "---\ntype: agent\nname: b\nmodel: m\nmax_steps: 10001\n",
		`:4: max_steps: must be a whole number from 1 to 10000, not "many"
:15: max_steps: must be a whole number from 1 to 10000, not "10001"`},
	{"all at once", "type: agnt\nname: a\n---\ntype: agent\nname: b\nmodle: m\n---\ntype: model\nname: m\nprovider: openai\n---\ntype: policy\nname: p\nrules: [{match: bash}]\n",
		`:1: type: "agnt" is none of model, tool, permission_store, session_store, policy, policy_template, agent, auth, bridge, secrets, redaction, adapter, workflow, notifier (did you mean "agent"?)
:4: model: is missing
:6: modle: unknown key (did you mean "model"?)
:8: model: is missing
:8: api_key: is missing: write "api_key: ${OPENAI_API_KEY}", or name another endpoint by base_url
:14: rules[0].decision: is missing`},
}

// model is the end of a document and one of a model named m, six lines long.
const model = "\n---\ntype: model\nname: m\nprovider: openai\nmodel: x\nbase_url: http://h\n"

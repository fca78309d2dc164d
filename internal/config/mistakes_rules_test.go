package config_test

// mistakesOfRules are those in a policy.
var mistakesOfRules = []mistake{
	{"rules that are no rules", "type: policy\nname: p\nrules: bash\n---\ntype: policy\nname: q\nrules:\n  - bash(ls)\n  - {match: bash}\n  - {decision: deny}\n  - {match: [a], decision: allow}\n---\ntype: policy\nname: r\nrules:\n",
		`:3: rules: must be a list of rules, such as "- {match: \"bash(rm:*)\", decision: deny}"
:8: rules[0]: must be a mapping of keys to values, such as "type: agent"
:9: rules[1].decision: is missing
:10: rules[2].match: is missing
:11: rules[3].match: must be a pattern such as bash(rm:*), not a list
:15: rules: has no value: give it one or remove the key`},
	{"decisions", "type: policy\nname: p\nrules:\n  - {match: bash, decision: dney}\n  - {match: bash, decision: deny, quorum: 2, on_timeout: skip}\n",
		`:4: rules[0].decision: "dney" is none of deny, ask, allow (did you mean "deny"?)
:5: rules[1].quorum: belongs to decision: ask: remove it
:5: rules[1].on_timeout: belongs to decision: ask: remove it`},
	{"a pattern beside another mistake", "type: policy\nname: p\nrules:\n  - {match: \"bash(rm:*\", decision: dney}\n  - {match: \"bash(ls\"}\n  - {match: \"*\", decision: dney}\n",
		`:4: rules[0].decision: "dney" is none of deny, ask, allow (did you mean "deny"?)
:4: rules[0].match: the pattern does not end in ")": write tool(pattern), and quote or escape nothing after it
:5: rules[1].decision: is missing
:5: rules[1].match: the pattern does not end in ")": write tool(pattern), and quote or escape nothing after it
:6: rules[2].decision: "dney" is none of deny, ask, allow (did you mean "deny"?)`},
	{"a rule for a tool with a slip in its name", "type: policy\nname: p\nrules:\n  - {match: \"bahs(rm:*)\", decision: deny}\n",
		`:4: rules[0].match: no tool is named "bahs" (did you mean "bash"?)`},
	{"how to ask", `type: policy
name: p
rules:
  - match: bash
    decision: ask
    reviewers: [alice, alice, "group:", "groups:x", "a b", 7, ""]
    quorum: 0
    exclude_requester: maybe
    timeout: soon
    on_timeout: approve
    max_grant: always
    remind_every: 1h
    escalate: []
    reviewer: bob
  - {match: bash, decision: ask, reviewers: [a, b], quorum: 3, on_timeout: rejct}
  - {match: bash, decision: ask, on_timeout: skip}
`, `:6: rules[0].reviewers[1]: "alice" is here twice: keep one
:6: rules[0].reviewers[5]: must be text: put it in quotes
:6: rules[0].reviewers[6]: is empty: give it a value or remove it
:6: rules[0].reviewers: "group:" names no group: write group:NAME
:6: rules[0].reviewers: "groups:x": a group is written group:NAME (did you mean "group:x"?)
:6: rules[0].reviewers: "a b" must not have blanks or invisible characters in it
:7: rules[0].quorum: must be a whole number from 1 to 100, not "0"
:8: rules[0].exclude_requester: must be true or false, not "maybe"
:9: rules[0].timeout: "soon" is no time: write a number and a unit, such as 30s, 15m, 72h or 30d
:10: rules[0].on_timeout: approve is not possible: silence is no approval (use reject, skip, terminate, retry)
:11: rules[0].max_grant: "always" is none of none, session, user
:13: rules[0].escalate: must be a list of 1 to 20 rungs, such as "- {after: 4h, to: [bob]}"
:14: rules[0].reviewer: unknown key (did you mean "reviewers"?)
:15: rules[1].on_timeout: "rejct" is none of reject, skip, terminate, retry (did you mean "reject"?)
:15: rules[1].quorum: 3 approvals are needed and only 2 reviewers may give one: lower it or name more
:15: rules[1].on_timeout: has no effect without timeout: add one or remove it
:16: rules[2].on_timeout: has no effect without timeout: add one or remove it`},
	{"rules about results", `type: policy
name: p
rules:
  - {match: bash, decision: deny, stage: result}
  - {match: bash, decision: allow, stage: result}
  - {match: bash, decision: ask, stage: reslt}
  - {match: bash, decision: ask, stage: result, max_grant: user, timeout: 1h, on_timeout: skip, examples: {ask: ["bash(ls)"]}}
  - {match: bash, decision: ask, timeout: 1h, on_timeout: withhold}
  - {match: "bahs", decision: ask, stage: result}
`, `:4: rules[0].decision: deny is not possible with stage: result: the call has run by then; deny the call by a rule without stage, or let people withhold its output (decision: ask)
:5: rules[1].decision: allow has no effect with stage: result: where no such rule asks, the agent gets the output anyway; remove the rule
:6: rules[2].stage: "reslt" is none of call, result (did you mean "result"?)
:7: rules[3].max_grant: has no effect with stage: result: no saved rule releases an output; remove it
:7: rules[3].examples: is about calls, and this rule is about results: put it on a rule without stage
:7: rules[3].on_timeout: "skip" is none of withhold, terminate
:8: rules[4].on_timeout: "withhold" is none of reject, skip, terminate, retry
:9: rules[5].match: no tool is named "bahs" (did you mean "bash"?)`},
	{"conditions", `type: policy
name: p
rules:
  - {match: bash, decision: deny, where: x}
  - {match: bash, decision: deny, where: [x, {glob: a}, {name: n, equals: 1, glob: b}, {name: n}, {name: n, min: one, max: 2}, {nme: n, name: n, min: 1}]}
`, `:4: rules[0].where: must be a list of at most 500 conditions, such as "- {name: amount, max: 100}"
:5: rules[1].where[0]: must be a mapping of keys to values, such as "type: agent"
:5: rules[1].where[1].name: is missing
:5: rules[1].where[2]: the condition on n needs one of equals, glob, and min or max
:5: rules[1].where[3]: the condition on n needs one of equals, glob, and min or max
:5: rules[1].where[4].min: must be a number such as 100 or 0.5, not "one"
:5: rules[1].where[5].nme: unknown key (did you mean "name"?)`},
	{"examples that are none", `type: policy
name: p
rules:
  - {match: bash, decision: deny, examples: [a]}
  - {match: bash, decision: deny, examples: {allow: x, dney: [y], ask: [z, z]}}
`, `:4: rules[0].examples: must be a mapping of keys to values, such as "type: agent"
:5: rules[1].examples.allow: must be a list, such as [a, b], not a single value
:5: rules[1].examples.ask[1]: "z" is here twice: keep one
:5: rules[1].examples.dney: unknown key (did you mean "deny"?)`},
	{"examples that come out differently", `type: policy
name: p
rules:
  - match: bash(git:*)
    decision: allow
    examples:
      allow: [git status, git push, make]
      deny: ["git ${WHO}"]
  - {match: "bash(git push:*)", decision: ask}
  - {match: effect, decision: allow, examples: {allow: [no JSON]}}
`, `:7: rules[0].examples.allow: "git push" is decided ask by bash(git push:*) (line 9)
:7: rules[0].examples.allow: "make" is decided ask: no rule decides it, only the tool's default
:8: rules[0].examples.deny: "git ${WHO}" is decided allow
:10: rules[2].examples.allow: "no JSON" is no JSON object: write the arguments, such as {"id": 7}`},
	{"patterns that can't be read", `type: policy
name: p
rules:
  - {match: "bash(rm:*", decision: deny}
  - {match: "(ls)", decision: allow}
  - {match: "bash(${WHO}", decision: deny}
  - {match: "", decision: deny}
`, `:4: rules[0].match: the pattern does not end in ")": write tool(pattern), and quote or escape nothing after it
:6: rules[2].match: "bash(${WHO}" is no valid pattern once its variables are filled in
:7: rules[3].match: the pattern is empty: write tool or tool(pattern), such as bash(npm test:*)`},
	{"too long and too many", "type: policy\nname: p\nrules:\n  - {match: bash, decision: ask, quorum: 101, timeout: 1826d, reviewers: [" + long(201) + "]}\n",
		`:4: rules[0].reviewers: is longer than 200 bytes
:4: rules[0].quorum: must be a whole number from 1 to 100, not "101"
:4: rules[0].timeout: must be more than 0 and at most 1825d, not "1826d"`},
}

package permission

import (
	"strings"
	"testing"
	"time"
)

// explained decides and explains, and compares whole texts.
func explained(t *testing.T, rules []Rule, c Call, want string) {
	t.Helper()
	set, _, err := Compile(rules)
	if err != nil {
		t.Fatal(err)
	}
	if got := Explain(c, set.Decide(c)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func bashCall(command string) Call {
	c := lsCall()
	c.Args = []byte(arg("command", command))
	return c
}

func TestExplainACompoundThatAsks(t *testing.T) {
	t.Parallel()
	explained(t, []Rule{
		{Effect: Allow, Pattern: "bash(ls:*)", Source: Source{Layer: LayerPolicy, File: "p.yaml", Line: 3}},
		{Effect: Ask, Pattern: "bash(git push:*)", Source: Source{Layer: LayerPolicy, File: "p.yaml", Line: 7}, Risk: RiskCritical,
			Approval: Approval{Reviewers: []string{"alice", "group:release"}, Quorum: 2, ExcludeRequester: true, Timeout: 24 * time.Hour, OnTimeout: "reject", MaxGrant: GrantSession}},
	}, bashCall("ls -la && git push && make"), `ask: git push: an ask rule matches: bash(git push:*)
  call: bash ls -la && git push && make
  rule: ask bash(git push:*) (p.yaml:7)
  allow ls -la: an allow rule matches: bash(ls:*)
  ask   git push: an ask rule matches: bash(git push:*)
  ask   make: no rule allows it
  risk: critical
  approval: 2 of alice, group:release, but not the requester, within 24h0m0s, else reject
  an answer may be kept: for the session
  could be allowed by all of:
    bash(git push)
    bash(make)
`)
}

func TestExplainAGrant(t *testing.T) {
	t.Parallel()
	g := stored(LayerSession, "u1", "s1")
	g.GrantedBy, g.InteractionID, g.Note, g.ExpiresAt, g.MaxUses, g.Uses = "alice", "2-1-1", "for\tthe \u202erelease", noon.Add(time.Hour), 3, 1
	explained(t, []Rule{g}, bashCall("ls"), `allow: ls: a stored grant allows it: bash(ls:*)
  call: bash ls
  rule: allow bash(ls:*) (grant g of u1, in the session s1, granted by alice, in answer to 2-1-1, until 2026-03-01T13:00:00Z, used 1 of 3 times, "for the \u202erelease")
  allow ls: a stored grant allows it: bash(ls:*)
  rests on the grant g
  risk: high
`)
}

func TestExplainPathsAndConditions(t *testing.T) {
	t.Parallel()
	c := Call{Tool: BuiltinTool("file_read"), Args: []byte(`{"path":"a"}`), Workspace: "/w", Resolve: links(map[string]string{"/w/a": "/etc/x"})}
	explained(t, []Rule{{Effect: Deny, Pattern: "file_read(/etc/**)", Where: []Condition{{Name: "path", Glob: "a*"}, {Name: "path", Equals: []byte(`"a"`)}}},
		{Effect: Ask, Pattern: "file_read"}}, c, `deny: A deny rule matches: file_read(/etc/**).
  call: file_read /w/a
  path: /etc/x
  rule: deny file_read(/etc/**) where path like "a*" and path = "a"
  also: The ask rule file_read matches too.
  risk: low
`)
}

func TestExplainWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	explained(t, nil, Call{Args: []byte(`{"a":1,"a":2}`)}, `ask: The argument "a" is given twice.
  call: a tool without a name {"a":1,"a":2}
  the arguments are malformed, so that no rule can allow the call
  also: The tool has no name.
  also: No rule allows it.
  approval: anyone who may answer
  an answer may be kept: not at all
`)
	explained(t, nil, Call{Tool: BuiltinTool("custom"), Args: []byte(`{"a":1}`)}, `ask: No rule allows it.
  call: custom {"a":1}
  risk: medium
  approval: anyone who may answer
  an answer may be kept: for the user
  could be allowed by one of:
    custom({"a":1})
    custom
`)
}

func TestExplainIsBoundedAndShowsNothingHidden(t *testing.T) {
	t.Parallel()
	c := bashCall(strings.Repeat("x\n", 160) + "\u200b\U000E0001")
	set, _, _ := Compile(nil)
	text := Explain(c, set.Decide(c))
	if lines := strings.Count(text, "\n"); lines > maxExplained+8 || !strings.Contains(text, "and 121 more parts") || !strings.Contains(text, "…") {
		t.Errorf("%d lines:\n%s", lines, text)
	}
	if got, want := visible("a\x1b\xff\t\n\u2028\U000E0001\uFFFDé"+string(opaqueMark)), `a\u001b\xff  ⏎ \u2028\U000e0001`+"\uFFFDé…"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := GrantScope("all").words(); got != "not at all" {
		t.Errorf("an unknown scope reads %q", got)
	}
}

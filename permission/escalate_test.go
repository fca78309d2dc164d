package permission_test

import (
	"testing"
	"time"

	"holdpoint/permission"
)

func TestALadderLetsInNobodyWhomAnotherRuleKeepsOut(t *testing.T) {
	t.Parallel()
	ladder := []permission.Escalation{{After: time.Hour, To: []string{"bob"}}}
	other := []permission.Escalation{{After: time.Hour, To: []string{"group:ops"}}}
	ask := func(pattern string, reviewers []string, ladder []permission.Escalation, remind time.Duration) permission.Rule {
		return permission.Rule{Effect: permission.Ask, Pattern: pattern, Source: permission.Source{Layer: permission.LayerPolicy},
			Approval: permission.Approval{Reviewers: reviewers, Escalate: ladder, RemindEvery: remind}}
	}
	alice := []string{"alice"}
	for name, tc := range map[string]struct {
		rules []permission.Rule
		rungs int
	}{
		"one rule":                     {[]permission.Rule{ask("bash(ls)", alice, ladder, 0)}, 1},
		"another that limits nobody":   {[]permission.Rule{ask("bash(ls)", alice, ladder, 0), ask("bash", nil, nil, 0)}, 1},
		"the same, the other way":      {[]permission.Rule{ask("bash", nil, nil, 0), ask("bash(ls)", alice, ladder, 0)}, 1},
		"another that limits, too":     {[]permission.Rule{ask("bash(ls)", alice, ladder, 0), ask("bash", alice, nil, 0)}, 0},
		"another with the same ladder": {[]permission.Rule{ask("bash(ls)", alice, ladder, 0), ask("bash", alice, ladder, 0)}, 1},
		"another ladder":               {[]permission.Rule{ask("bash(ls)", alice, ladder, 0), ask("bash", alice, other, 0)}, 0},
	} {
		set, _, err := permission.Compile(tc.rules)
		if err != nil {
			t.Fatal(err)
		}
		d := set.Decide(permission.Call{Tool: permission.Tool{Name: "bash", Kind: permission.KindCommand, Field: "command"},
			Args: []byte(`{"command":"ls"}`), Workspace: "/w", UserID: "u"})
		if len(d.Approval.Escalate) != tc.rungs {
			t.Errorf("%s: %d rungs, want %d", name, len(d.Approval.Escalate), tc.rungs)
		}
	}
	set, _, err := permission.Compile([]permission.Rule{ask("bash(ls)", nil, nil, 2*time.Hour), ask("bash", nil, nil, time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	d := set.Decide(permission.Call{Tool: permission.Tool{Name: "bash", Kind: permission.KindCommand, Field: "command"},
		Args: []byte(`{"command":"ls"}`), Workspace: "/w", UserID: "u"})
	if d.Approval.RemindEvery != time.Hour {
		t.Errorf("reminders come every %s", d.Approval.RemindEvery)
	}
}

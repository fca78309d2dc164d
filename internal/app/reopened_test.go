package app_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"holdpoint/interaction"
	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
	"holdpoint/tool"
)

// stricter restarts a Holdpoint with other rules.
func stricter(h *apptest.Holdpoint, rules ...string) *apptest.Holdpoint {
	h.T.Helper()
	if err := h.Close(); err != nil {
		h.T.Fatal(err)
	}
	o := h.Options
	apptest.WithRules(rules...)(&o)
	return apptest.Run(h.T, o)
}

// TestAReleaseThatIsNotEnoughAnyMoreIsAskedAgain has the rule about an output become stricter between its release and the
// moment at which the agent would get it.
func TestAReleaseThatIsNotEnoughAnyMoreIsAskedAgain(t *testing.T) {
	t.Parallel()
	l := newTeller()
	h := apptest.Start(t, func(o *app.Options) { o.Tools = []tool.Tool{l} }, apptest.WithModel(apptest.Turns(apptest.Calls("teller", `{"n":1}`))),
		apptest.WithRules(`{match: teller, decision: ask, stage: result, reviewers: [ada, bob]}`))
	by := func(who, action, text string) map[string]any {
		return map[string]any{"action": action, "text": text, "reviewer": map[string]any{"id": who}}
	}
	run := h.Begin("go")
	first := h.Waits(run.RunID, 1)[0]
	control(t, h, run, "pause_run")
	h.Answer(first.ID, by("ada", "redact", "a number"))
	h = stricter(h, `{match: teller, decision: ask, stage: result, reviewers: [ada, bob, cyd], quorum: 2}`)
	control(t, h, run, "resume_run")
	second := following(h, run, first.ID)
	if second.LinkedTo != first.ID || second.Details != "it is "+confidential || !strings.Contains(second.Message, "need 2 approval(s) by those they name; this has 1") {
		t.Fatalf("it asks again with a link to %q: %s", second.LinkedTo, second.Message)
	}
	if got := leaks(h, run, confidential); !slices.Equal(got, []string{"table executions", "table interactions"}) {
		t.Errorf("meanwhile it stands in %v", got)
	}
	h.Answer(second.ID, by("bob", "redact", "a number"))
	if got := h.Waits(run.RunID, 1)[0]; got.ID != second.ID {
		t.Fatalf("one vote of two released it: %+v", got)
	}
	h.Answer(second.ID, by("cyd", "redact", "a number"))
	completes(h, run.RunID)
	if got := lastResult(t, h.Events(run.RunID)); !strings.HasSuffix(got.Content, "\n\na number") || l.counter.count() != 1 {
		t.Errorf("the model got %+v after %d executions", got, l.counter.count())
	}
	keep(t, "release_asked_again", h.Closed(run.Workflow))
}

// TestAnApprovalThatIsNotEnoughAnyMoreIsAskedAgain has the rule about a call become stricter between its approval and the
// moment at which it would run.
func TestAnApprovalThatIsNotEnoughAnyMoreIsAskedAgain(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		first, rule string
		then        []string
	}{
		"a quorum":         {"ada", `{match: effect, decision: ask, quorum: 2}`, []string{"ada", "bob"}},
		"other reviewers":  {"ada", `{match: effect, decision: ask, reviewers: [cyd]}`, []string{"cyd"}},
		"four-eyes":        {"requester", `{match: effect, decision: ask, exclude_requester: true}`, []string{"ada"}},
		"who has not come": {"ada", `{match: effect, decision: ask, reviewers: [cyd], escalate: [{after: 1h, to: [ada]}]}`, []string{"cyd"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &counter{}
			h := startEffect(t, effectOnce(1), c, apptest.WithRules(`{match: effect, decision: ask}`))
			run := h.Begin("go")
			first := h.Waits(run.RunID, 1)[0]
			control(t, h, run, "pause_run")
			h.Answer(first.ID, said(tc.first, "approve"))
			h = stricter(h, tc.rule)
			control(t, h, run, "resume_run")
			second := following(h, run, first.ID)
			if second.LinkedTo != first.ID || !strings.Contains(second.Message, "the rules now in force need") || c.count() > 0 {
				t.Fatalf("after %d executions it asks again with a link to %q: %s", c.count(), second.LinkedTo, second.Message)
			}
			for _, who := range tc.then {
				h.Answer(second.ID, said(who, "approve"))
			}
			completes(h, run.RunID)
			if i := row(h, first.ID); i.Status != interaction.StatusAnswered || i.Action != interaction.ActionApprove || c.count() != 1 {
				t.Errorf("the first question is %s %s after %d executions", i.Status, i.Action, c.count())
			}
		})
	}
}

// TestACallThatNoRuleReleasesAnyMoreIsAskedAgain has the rule that released a waiting call revoked before the call runs.
func TestACallThatNoRuleReleasesAnyMoreIsAskedAgain(t *testing.T) {
	t.Parallel()
	c := &counter{}
	h := startEffect(t, effectOnce(1), c)
	run := h.Begin("go")
	first := h.Waits(run.RunID, 1)[0]
	control(t, h, run, "pause_run")
	asks(h, http.StatusCreated, "POST", "/v1/permissions/requester/allow", map[string]any{"id": "once", "pattern": "effect"})
	h.Eventually("the question to be withdrawn", func() bool {
		s, err := h.State(run.Workflow)
		return err == nil && len(s.Pending) == 0
	})
	if code, body := h.HTTP(http.MethodDelete, "/v1/permissions/requester/once", nil); code >= 300 {
		t.Fatalf("revoke: %d %s", code, body)
	}
	control(t, h, run, "resume_run")
	second := following(h, run, first.ID)
	if second.LinkedTo != first.ID || !strings.Contains(second.Message, "does not allow it any more") || c.count() > 0 {
		t.Errorf("after %d executions it asks again with a link to %q: %s", c.count(), second.LinkedTo, second.Message)
	}
	h.Answer(second.ID, map[string]any{"action": "approve"})
	completes(h, run.RunID)
	if i := row(h, first.ID); i.Status != interaction.StatusCancelled || c.count() != 1 {
		t.Errorf("the first question is %s after %d executions", i.Status, c.count())
	}
	keep(t, "released_and_asked_again", h.Closed(run.Workflow))
}

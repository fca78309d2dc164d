package app_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/internal/app/apptest"
	"holdpoint/tool"
)

// TestARejectionLeavesNoGrantBehind has two reviewers who answer at the same instant: one rejects, one would allow it always.
func TestARejectionLeavesNoGrantBehind(t *testing.T) {
	t.Parallel()
	const allowed = "effect(n:1)"
	reject := func() map[string]any { return by("bob", map[string]any{"action": "reject"}) }
	start := func(t *testing.T) (*counter, *apptest.Holdpoint) {
		c := &counter{}
		return c, startEffect(t, effectOnce(1), c, apptest.WithRules(`{match: nothing, decision: deny}`))
	}
	left := func(t *testing.T, h *apptest.Holdpoint, c *counter, run apptest.RunView, id interaction.ID) {
		t.Helper()
		completes(h, run.RunID)
		if rules := keptRules(h, run.SessionID); len(rules) > 0 || c.count() != 0 {
			t.Errorf("kept is %+v, after %d effects", rules, c.count())
		}
		if got := recordOf(h, id); got.Action != interaction.ActionReject || len(got.Responses) != 1 {
			t.Errorf("the record has %s by %+v", got.Action, got.Responses)
		}
	}
	t.Run("one after the other", func(t *testing.T) {
		t.Parallel()
		c, h := start(t)
		run := h.Begin("go")
		id := h.Waits(run.RunID, 1)[0].ID
		h.Answer(id, reject())
		refusedWith(h, id, always("user", allowed), http.StatusConflict)
		left(t, h, c, run, id)
	})
	t.Run("in one batch", func(t *testing.T) {
		t.Parallel()
		c, h := start(t)
		run := h.Begin("go")
		id := h.Waits(run.RunID, 1)[0].ID
		first, second := reject(), always("user", allowed)
		first["request_id"], second["request_id"] = id, id
		h.HTTP("POST", "/v1/interactions/respond", map[string]any{"responses": []any{first, second}})
		left(t, h, c, run, id)
	})
	t.Run("in one task of the workflow", func(t *testing.T) {
		t.Parallel()
		c, h := start(t)
		run := h.Begin("go")
		id := h.Waits(run.RunID, 1)[0].ID
		h.StopWorker()
		h.Signal(run.Workflow, interaction.Response{ID: "no", RequestID: id, Action: interaction.ActionReject, Reviewer: interaction.Principal{ID: "bob"}})
		h.Signal(run.Workflow, interaction.Response{ID: "always", RequestID: id, Action: interaction.ActionApprove, Reviewer: interaction.Principal{ID: "alice"},
			Grant: &interaction.Grant{Scope: interaction.GrantUser, Patterns: []string{allowed}}})
		if err := h.StartWorker(); err != nil {
			t.Fatal(err)
		}
		left(t, h, c, run, id)
	})
	t.Run("at once, whoever wins", func(t *testing.T) {
		t.Parallel()
		c, h := start(t)
		for range 6 {
			run := h.BeginIn(newSession(), "go")
			id, before := h.Waits(run.RunID, 1)[0].ID, c.count()
			codes := make([]int, 2)
			atOnce(2, 2, func(i int) {
				codes[i], _ = h.Respond(id, []map[string]any{always("session", allowed), reject()}[i])
			})
			completes(h, run.RunID)
			won := codes[0] == http.StatusOK
			if lost := codes[1] == http.StatusOK; won == lost {
				t.Fatalf("both were answered %v", codes)
			}
			if rules := keptRules(h, run.SessionID); (len(rules) == 1) != won || (c.count()-before == 1) != won {
				t.Errorf("the grant's answer won: %t; kept is %+v, after %d effects", won, rules, c.count()-before)
			}
		}
	})
}

// TestADeadlineThatPassesWhileNobodyWorksCountsOnce stops the worker before the deadline and starts it after.
func TestADeadlineThatPassesWhileNobodyWorksCountsOnce(t *testing.T) {
	t.Parallel()
	c := &counter{}
	ends := []struct {
		onTimeout, status string
		result            tool.Status
	}{{"reject", "completed", tool.StatusExpired}, {"skip", "completed", tool.StatusExpired}, {"terminate", "aborted", ""}, {"reject", "completed", tool.StatusExpired}}
	var rules []string
	for n, e := range ends {
		rules = append(rules, fmt.Sprintf(`{match: "effect(n:%d)", decision: ask, timeout: 6s, on_timeout: %s}`, n, e.onTimeout))
	}
	h := startEffect(t, echoing(), c, apptest.WithRules(rules...))
	var runs []apptest.RunView
	var asked []interaction.Request
	for n := range ends {
		runs = append(runs, h.Begin(fmt.Sprintf(`{"n":%d}`, n)))
		asked = append(asked, h.Waits(runs[n].RunID, 1)[0])
	}
	h.StopWorker()
	<-time.After(time.Until(asked[len(asked)-1].ExpiresAt.Add(300 * time.Millisecond)))
	late, answered := asked[len(asked)-1], make(chan struct{})
	go func() { // an answer after the deadline does not count, though nobody has seen yet that it is over
		defer close(answered)
		h.Respond(late.ID, map[string]any{"action": "approve", "reviewer": map[string]any{"id": "ada"}})
	}()
	<-answered
	if err := h.StartWorker(); err != nil {
		t.Fatal(err)
	}
	for n, e := range ends {
		if end := h.Ended(runs[n].RunID); end.Status != e.status {
			t.Errorf("on_timeout %s: the run ended %s", e.onTimeout, end.Status)
		}
		closed := eventsOf[event.InteractionResponseData](h, runs[n].RunID, event.InteractionResponse)
		if len(closed) != 1 || closed[0].Status != interaction.StatusExpired || string(closed[0].Action) != e.onTimeout {
			t.Errorf("on_timeout %s: the record has %+v", e.onTimeout, closed)
		}
		if got := resultOf(h, runs[n].RunID, asked[n].ToolCallID); e.result != "" && (got == nil || got.ToolStatus != string(e.result)) {
			t.Errorf("on_timeout %s: the model was told %+v", e.onTimeout, got)
		}
	}
	if c.count() != 0 {
		t.Errorf("%d executions", c.count())
	}
}

// TestWhoStartedARunIsNoneOfItsTwoApprovers though the requester is among the three who are asked, by name or by group.
func TestWhoStartedARunIsNoneOfItsTwoApprovers(t *testing.T) {
	t.Parallel()
	for _, asked := range []string{"[requester, ada, bo]", `["group:ops"]`} {
		t.Run(asked, func(t *testing.T) {
			t.Parallel()
			c := &counter{}
			h := startEffect(t, effectOnce(1), c, apptest.WithRules(fmt.Sprintf(`{match: effect, decision: ask, reviewers: %s, quorum: 2, exclude_requester: true}`, asked)))
			run := h.Begin("go")
			id := h.Waits(run.RunID, 1)[0].ID
			says := func(who string) map[string]any {
				return map[string]any{"action": "approve", "reviewer": map[string]any{"id": who, "groups": []string{"ops"}}}
			}
			stands := func(approvals int) {
				t.Helper()
				s, err := h.State(run.Workflow)
				if err != nil || len(s.Pending) != 1 || s.Pending[0].Approvals != approvals || c.count() != 0 {
					t.Fatalf("after %d approvals: %+v, %d executions, %v", approvals, s, c.count(), err)
				}
			}
			refusedWith(h, id, says("requester"), http.StatusForbidden)
			stands(0)
			h.Answer(id, says("ada"))
			stands(1)
			refusedWith(h, id, says("ada"), http.StatusConflict)
			refusedWith(h, id, says("requester"), http.StatusForbidden)
			refusedWith(h, id, map[string]any{"action": "approve", "reviewer": map[string]any{"id": "zed"}}, http.StatusForbidden)
			stands(1)
			h.Answer(id, says("bo"))
			completes(h, run.RunID)
			if c.count() != 1 {
				t.Errorf("%d executions", c.count())
			}
		})
	}
}

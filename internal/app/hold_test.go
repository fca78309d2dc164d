package app_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/history/v1"

	"holdpoint/interaction"
	"holdpoint/internal/app/apptest"
	"holdpoint/permission"
)

// asksWith stores a rule that asks about the effect tool, for the tests' user.
func asksWith(h *apptest.Holdpoint, need permission.Approval) {
	h.T.Helper()
	rule := permission.Rule{ID: "asks", Effect: permission.Ask, Pattern: "effect", UserID: "requester", Approval: need,
		Source: permission.Source{Layer: permission.LayerUser}, CreatedAt: time.Now().UTC()}
	if err := h.Store().SaveRule(context.Background(), rule); err != nil {
		h.T.Fatal(err)
	}
}

// row is an interaction as the bridge shows it.
func row(h *apptest.Holdpoint, id interaction.ID) (i interaction.Interaction) {
	h.T.Helper()
	i, found, err := h.Store().Interaction(context.Background(), id)
	if err != nil || !found {
		h.T.Fatalf("interaction %s: found %t, %v", id, found, err)
	}
	return i
}

func by(who string, body map[string]any) map[string]any {
	body["reviewer"] = map[string]any{"id": who}
	return body
}

func TestAHeldCallWaitsAndItsClockStands(t *testing.T) {
	t.Parallel()
	done := &counter{}
	h := apptest.Start(t, withEffect(apptest.Effect{Log: done.log}), apptest.WithModel(apptest.Turns(apptest.Calls("effect", `{"n":1}`, "effect", `{"n":2}`))))
	asksWith(h, permission.Approval{Timeout: 3 * time.Second})
	run := h.Begin("go")
	asked := h.Waits(run.RunID, 2)
	held, other := asked[0].ID, asked[1].ID
	control := "/v1/runs/" + string(run.RunID) + "/control"
	if code, body := h.HTTP("POST", control, map[string]any{"action": "pause", "interaction_id": held, "note": "let me look"}); code != http.StatusOK {
		t.Fatalf("pause: %d %s", code, body)
	}
	h.Eventually("the record to say that it is held", func() bool { return row(h, held).Status == interaction.StatusHeld })
	if code, body := h.Respond(held, map[string]any{"action": "approve"}); code != http.StatusBadRequest || !strings.Contains(string(body), "held") {
		t.Errorf("an approval of a held call: %d %s", code, body)
	}
	h.Eventually("the other call to expire", func() bool { return row(h, other).Status == interaction.StatusExpired })
	if at := row(h, held); at.Status != interaction.StatusHeld {
		t.Fatalf("the held call is %s", at.Status)
	}
	if code, body := h.HTTP("POST", control, map[string]any{"action": "resume", "interaction_id": held}); code != http.StatusOK {
		t.Fatalf("resume: %d %s", code, body)
	}
	h.Eventually("the record to say that it goes on", func() bool { return row(h, held).Status == interaction.StatusPending })
	if at := row(h, held); !at.Request.ExpiresAt.After(asked[0].ExpiresAt) {
		t.Errorf("its deadline is still %s", at.Request.ExpiresAt)
	}
	h.Answer(held, map[string]any{"action": "approve"})
	h.Ended(run.RunID)
	h.Closed(run.Workflow)
	keep(t, "held", h.History(run.Workflow, ""))
	if done.count() != 1 {
		t.Errorf("the effect happened %d times", done.count())
	}
	types := h.EventTypes(run.RunID)
	if !strings.Contains(types, "tool_paused") || strings.Index(types, "tool_paused") > strings.Index(types, "tool_resumed") {
		t.Errorf("the record has %s", types)
	}
}

func TestADelegateAnswersInstead(t *testing.T) {
	t.Parallel()
	done := &counter{}
	h := apptest.Start(t, withEffect(apptest.Effect{Log: done.log}), apptest.WithModel(apptest.Turns(apptest.Calls("effect", `{"n":1}`))))
	asksWith(h, permission.Approval{Reviewers: []string{"alice"}})
	run := h.Begin("go")
	id := h.Waits(run.RunID, 1)[0].ID
	if code, body := h.Respond(id, by("bob", map[string]any{"action": "delegate", "to": []string{"bob"}})); code != http.StatusForbidden {
		t.Errorf("a stranger delegated to himself: %d %s", code, body)
	}
	h.Answer(id, by("alice", map[string]any{"action": "delegate", "to": []string{"bob"}, "note": "on holiday"}))
	h.Eventually("the record to name the delegate", func() bool { return len(row(h, id).Delegations) == 1 })
	if code, body := h.Respond(id, by("alice", map[string]any{"action": "approve"})); code != http.StatusForbidden || !strings.Contains(string(body), "bob") {
		t.Errorf("who delegated approves: %d %s", code, body)
	}
	h.Answer(id, by("bob", map[string]any{"action": "approve"}))
	if end := h.Ended(run.RunID); end.Status != "completed" || done.count() != 1 {
		t.Errorf("the run ended %s after %d effects", end.Status, done.count())
	}
	h.Closed(run.Workflow)
	keep(t, "delegated", h.History(run.Workflow, ""))
}

func TestTimeRemindsAndEscalates(t *testing.T) {
	t.Parallel()
	done := &counter{}
	h := apptest.Start(t, withEffect(apptest.Effect{Log: done.log}), apptest.WithModel(apptest.Turns(apptest.Calls("effect", `{"n":1}`))))
	asksWith(h, permission.Approval{Reviewers: []string{"alice"}, RemindEvery: time.Second, Timeout: time.Hour,
		Escalate: []permission.Escalation{{After: 2 * time.Second, To: []string{"group:ops"}}}})
	run := h.Begin("go")
	id := h.Waits(run.RunID, 1)[0].ID
	carol := map[string]any{"action": "approve", "reviewer": map[string]any{"id": "carol", "groups": []string{"ops"}}}
	if code, body := h.Respond(id, carol); code != http.StatusForbidden {
		t.Errorf("an approval before the escalation: %d %s", code, body)
	}
	h.Eventually("a reminder and the escalation", func() bool {
		r := row(h, id).Request
		return r.Reminder >= 2 && r.Escalation == 1 && len(r.Reviewers) == 2
	})
	h.Answer(id, carol)
	if end := h.Ended(run.RunID); end.Status != "completed" || done.count() != 1 {
		t.Errorf("the run ended %s after %d effects", end.Status, done.count())
	}
	events := h.Closed(run.Workflow)
	keep(t, "reminded_and_escalated", events)
	for _, what := range []string{"reminder", "escalation"} { // as the Temporal UI shows what is due
		if due := timers(events); !slices.Contains(due, what+" of "+row(h, id).Request.Title) {
			t.Errorf("no timer is for the %s: %q", what, due)
		}
	}
	if n := strings.Count(h.EventTypes(run.RunID), "interaction_request"); n < 3 {
		t.Errorf("the question is %d times in the record", n)
	}
}

// timers are the summaries of a history's timers.
func timers(events []*history.HistoryEvent) (summaries []string) {
	for _, e := range events {
		if e.GetTimerStartedEventAttributes() == nil {
			continue
		}
		var summary string
		if json.Unmarshal(e.GetUserMetadata().GetSummary().GetData(), &summary) == nil {
			summaries = append(summaries, summary)
		}
	}
	return summaries
}

func TestADelegationEnds(t *testing.T) {
	t.Parallel()
	h := apptest.Start(t, withEffect(apptest.Effect{}), apptest.WithModel(apptest.Turns(apptest.Calls("effect", `{"n":1}`))))
	asksWith(h, permission.Approval{Reviewers: []string{"alice"}})
	run := h.Begin("go")
	id := h.Waits(run.RunID, 1)[0].ID
	h.Answer(id, by("alice", map[string]any{"action": "delegate", "to": []string{"bob"}, "until": time.Now().Add(2 * time.Second).UTC()}))
	h.Eventually("alice to be asked again", func() bool {
		i := row(h, id)
		return len(i.Responses) == 1 && len(i.Delegations) == 0
	})
	h.Answer(id, by("alice", map[string]any{"action": "approve"}))
	h.Ended(run.RunID)
}

func TestADelegationHandsOnOneSeatOfAQuorum(t *testing.T) {
	t.Parallel()
	done := &counter{}
	h := apptest.Start(t, withEffect(apptest.Effect{Log: done.log}), apptest.WithModel(apptest.Turns(apptest.Calls("effect", `{"n":1}`))))
	asksWith(h, permission.Approval{Reviewers: []string{"alice", "bob"}, Quorum: 2})
	run := h.Begin("go")
	id := h.Waits(run.RunID, 1)[0].ID
	h.Answer(id, by("alice", map[string]any{"action": "delegate", "to": []string{"carol", "dave"}}))
	h.Eventually("the record to name the delegates", func() bool { return len(row(h, id).Delegations) == 1 })
	for _, who := range []string{"carol", "dave"} {
		h.Answer(id, by(who, map[string]any{"action": "approve"}))
	}
	if i := row(h, id); i.Status != interaction.StatusPending || done.count() > 0 {
		t.Fatalf("two who speak for one made a quorum: %s, %d effects", i.Status, done.count())
	}
	h.Answer(id, by("bob", map[string]any{"action": "approve"}))
	if end := h.Ended(run.RunID); end.Status != "completed" || done.count() != 1 {
		t.Errorf("the run ended %s after %d effects", end.Status, done.count())
	}
}

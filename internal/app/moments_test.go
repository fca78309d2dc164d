package app_test

import (
	"net/http"
	"slices"
	"sync"
	"testing"

	"holdpoint/interaction"
	"holdpoint/internal/app/apptest"
	"holdpoint/internal/store"
)

// firstSeen waits for a run's question as the record has it, which is a moment before the run knows of it.
func firstSeen(h *apptest.Holdpoint, run apptest.RunView) (id interaction.ID) {
	h.T.Helper()
	h.Eventually("a question in the record", func() bool {
		list, _, err := h.Store().Interactions(h.T.Context(), store.InteractionFilter{RunID: run.RunID, Status: []interaction.Status{interaction.StatusPending}})
		if err != nil {
			h.T.Fatal(err)
		}
		if len(list) > 0 {
			id = list[0].Request.ID
		}
		return id != ""
	})
	return id
}

// TestWhoAnswersAtOnceIsToldWhatBecameOfIt answers as soon as a question can be seen anywhere, three at a time.
func TestWhoAnswersAtOnceIsToldWhatBecameOfIt(t *testing.T) {
	t.Parallel()
	c := &counter{}
	h := startEffect(t, effectOnce(1), c)
	approved := 0
	for range 6 {
		run := h.Begin("go")
		id := firstSeen(h, run)
		codes := make([]int, 3)
		var wg sync.WaitGroup
		for n, who := range []string{"ada", "bob", "cyd"} {
			wg.Go(func() {
				body := map[string]any{"action": "approve", "reviewer": map[string]any{"id": who}}
				if n == 1 {
					body["action"] = "reject"
				}
				codes[n], _ = h.Respond(id, body)
			})
		}
		wg.Wait()
		if codes[1] != http.StatusOK {
			approved++
		}
		slices.Sort(codes)
		if !slices.Equal(codes, []int{http.StatusOK, http.StatusConflict, http.StatusConflict}) {
			t.Errorf("the three were told %v", codes)
		}
		completes(h, run.RunID)
		if c.count() != approved {
			t.Fatalf("%d effects of %d approvals", c.count(), approved)
		}
	}
}

// TestWhoIsDelegatedToMayAnswerAtOnce has a delegate answer as soon as the delegation was taken, and delegations that would
// leave nobody refused.
func TestWhoIsDelegatedToMayAnswerAtOnce(t *testing.T) {
	t.Parallel()
	c := &counter{}
	h := startEffect(t, effectOnce(1), c, apptest.WithRules(`{match: effect, decision: ask, reviewers: [ada, bob]}`))
	by := func(who, action string, to ...string) map[string]any {
		body := map[string]any{"action": action, "reviewer": map[string]any{"id": who}}
		if len(to) > 0 {
			body["to"] = to
		}
		return body
	}
	run := h.Begin("go")
	asked := h.Waits(run.RunID, 1)[0]
	h.Answer(asked.ID, by("ada", "delegate", "bob"))
	refusedWith(h, asked.ID, by("bob", "delegate", "ada"), http.StatusBadRequest)
	refusedWith(h, asked.ID, by("eve ", "approve"), http.StatusBadRequest)
	refusedWith(h, asked.ID, by("b\u200bob", "approve"), http.StatusBadRequest)
	h.Answer(asked.ID, by("bob", "delegate", "eve"))
	h.Answer(asked.ID, by("eve", "approve"))
	completes(h, run.RunID)
	if c.count() != 1 {
		t.Errorf("%d effects", c.count())
	}
	h.Closed(run.Workflow)
	keep(t, "delegated_twice", h.History(run.Workflow, ""))
	if code, body := h.HTTP("POST", "/v1/runs", map[string]any{"agent": "tester", "input": "go", "user_id": "requester "}); code != http.StatusBadRequest {
		t.Errorf("a run for a user with a blank behind the name: %d %s", code, body)
	}
}

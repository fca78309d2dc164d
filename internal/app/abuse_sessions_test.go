package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"holdpoint/internal/app/apptest"
)

// startOf is a run's start by the bridge, as often and as parallel as wanted.
func startOf(h *apptest.Holdpoint, body map[string]string, header ...string) (int, []byte) {
	h.T.Helper()
	return h.HTTP("POST", "/v1/runs", body, header...)
}

func TestASessionHasOneLiveRun(t *testing.T) {
	t.Parallel()
	c := &counter{}
	model := &cast{}
	model.plays("go", effectCall(1))
	h := startEffect(t, model, c)
	body := map[string]string{"agent": "tester", "session_id": newSession(), "input": "go", "user_id": "requester"}
	var mu sync.Mutex
	var run apptest.RunView
	started, busy := 0, 0
	atOnce(6, 6, func(int) {
		code, out := startOf(h, body)
		mu.Lock()
		defer mu.Unlock()
		switch code {
		case http.StatusCreated:
			started++
			if err := json.Unmarshal(out, &run); err != nil {
				t.Error(err)
			}
		case http.StatusConflict:
			busy++
			if p := problemOf(h, out); p.Code != "session_busy" || p.RunID == "" {
				t.Errorf("refused as %s", out)
			}
		default:
			t.Errorf("%d %s", code, out)
		}
	})
	if started != 1 || busy != 5 {
		t.Fatalf("%d started and %d were refused", started, busy)
	}
	asked := h.Waits(run.RunID, 1)[0]
	h.Answer(asked.ID, map[string]any{"action": "approve"})
	completes(h, run.RunID)
	if len(model.requests("go")) != 2 || c.count() != 1 {
		t.Errorf("%d model calls and %d executions", len(model.requests("go")), c.count())
	}
}

// TestTheNextRunMayBeginWhenTheLastHasEnded begins a run in the moment in which the record shows the last one's end.
func TestTheNextRunMayBeginWhenTheLastHasEnded(t *testing.T) {
	t.Parallel()
	h := apptest.Start(t, apptest.WithModel(&cast{}))
	session := newSession()
	for i := range 8 {
		completes(h, h.BeginIn(session, fmt.Sprintf("input %d", i)).RunID)
	}
}

func TestAnIdempotencyKeyIsOneRun(t *testing.T) {
	t.Parallel()
	c := &counter{}
	h := startEffect(t, effectOnce(1), c)
	body := map[string]string{"agent": "tester", "input": "go", "user_id": "requester"}
	key := newSession()
	var mu sync.Mutex
	runs := map[string]bool{}
	var run apptest.RunView
	start := func() {
		code, out := startOf(h, body, "Idempotency-Key", key)
		mu.Lock()
		defer mu.Unlock()
		if code != http.StatusCreated {
			t.Errorf("%d %s", code, out)
		}
		if err := json.Unmarshal(out, &run); err != nil {
			t.Error(err)
		}
		runs[string(run.RunID)] = true
	}
	atOnce(6, 6, func(int) { start() })
	asked := h.Waits(run.RunID, 1)[0]
	start() // while it is parked
	h.Answer(asked.ID, map[string]any{"action": "approve"})
	completes(h, run.RunID)
	start() // after its end
	body["input"] = "something else"
	code, out := startOf(h, body, "Idempotency-Key", key)
	if p := problemOf(h, out); code != http.StatusUnprocessableEntity || p.Code != "key_reused" {
		t.Errorf("another body was answered %d %s", code, out)
	}
	if len(runs) != 1 || c.count() != 1 {
		t.Errorf("%d runs and %d executions", len(runs), c.count())
	}
}

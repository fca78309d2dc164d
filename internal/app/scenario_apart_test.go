package app_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
	"holdpoint/llm"
)

// echoing is a model that calls the effect tool with what its user wrote, and then ends.
func echoing() *apptest.Model {
	return &apptest.Model{Turn: func(n int, req llm.Request) llm.Message {
		if last := req.Messages[len(req.Messages)-1]; last.Role == llm.RoleUser {
			return apptest.Calls("effect", last.Content)
		}
		return llm.Message{Content: "done"}
	}}
}

// TestEqualCallsOfThreeSessionsAreKeptApart answers the same call of three sessions in the order that is not theirs.
func TestEqualCallsOfThreeSessionsAreKeptApart(t *testing.T) {
	t.Parallel()
	c := &counter{}
	h := startEffect(t, echoing(), c)
	var runs []apptest.RunView
	var asked []interaction.Request
	for range 3 {
		runs = append(runs, h.Begin(`{"n":1}`))
		asked = append(asked, h.Waits(runs[len(runs)-1].RunID, 1)[0])
	}
	for _, i := range []int{2, 1, 0} {
		h.Answer(asked[i].ID, map[string]any{"action": []string{"approve", "reject", "approve"}[i]})
		completes(h, runs[i].RunID)
		want := []string{"success", "rejected", "success"}[i]
		if got := resultOf(h, runs[i].RunID, asked[i].ToolCallID); got == nil || got.ToolStatus != want {
			t.Errorf("call %d ended %+v, want %s", i, got, want)
		}
		for j := range i {
			stillAsks(h, runs[j], asked[j].ID)
		}
	}
	if c.count() != 2 {
		t.Errorf("%d executions, want 2", c.count())
	}
}

// TestAGrantIsAsWideAsItSaysAndNoWider has a grant of up to 100 to one account, for one user, until Friday.
func TestAGrantIsAsWideAsItSaysAndNoWider(t *testing.T) {
	t.Parallel()
	c := &counter{}
	var late atomic.Bool
	now := func() time.Time {
		if late.Load() {
			return time.Now().Add(5 * 24 * time.Hour)
		}
		return time.Now()
	}
	h := startEffect(t, echoing(), c, apptest.WithRules(`{match: nothing, decision: deny}`), func(o *app.Options) { o.Now = now })
	grant := map[string]any{"pattern": "effect", "expires_at": time.Now().Add(4 * 24 * time.Hour).Format(time.RFC3339),
		"where": []map[string]any{{"name": "n", "max": "100"}, {"name": "to", "equals": "acct1"}}}
	if code, body := h.HTTP(http.MethodPost, "/v1/permissions/requester/allow", grant); code >= 300 {
		t.Fatalf("%d %s", code, body)
	}
	begin := func(user, args string) apptest.RunView {
		t.Helper()
		code, body := h.HTTP(http.MethodPost, "/v1/runs", map[string]any{"agent": "tester", "session_id": newSession(), "user_id": user, "input": args})
		var run apptest.RunView
		if err := json.Unmarshal(body, &run); err != nil || code != http.StatusCreated {
			t.Fatalf("%d %s", code, body)
		}
		return run
	}
	completes(h, begin("requester", `{"n":100,"to":"acct1"}`).RunID)
	if c.count() != 1 {
		t.Fatalf("what was granted ran %d times", c.count())
	}
	for _, tc := range []struct{ what, user, args string }{
		{"another amount", "requester", `{"n":101,"to":"acct1"}`},
		{"another account", "requester", `{"n":100,"to":"acct2"}`},
		{"another user", "bob", `{"n":100,"to":"acct1"}`},
		{"no account", "requester", `{"n":100}`},
		{"Saturday", "requester", `{"n":100,"to":"acct1"}`},
	} {
		late.Store(tc.what == "Saturday")
		run := begin(tc.user, tc.args)
		asked := h.Waits(run.RunID, 1)[0]
		if c.count() != 1 {
			t.Fatalf("%s ran without being asked", tc.what)
		}
		h.Answer(asked.ID, map[string]any{"action": "skip"})
		completes(h, run.RunID)
	}
}

// TestALongCommandIsWholeWhereverItIsAsked looks for the end of a long command in all that a client may show.
func TestALongCommandIsWholeWhereverItIsAsked(t *testing.T) {
	t.Parallel()
	command := strings.Repeat("echo harmless; ", 200) + "rm -rf build"
	h := apptest.Start(t, apptest.WithModel(apptest.Turns(apptest.Calls("bash", apptest.Bash(command)))))
	run := h.Begin("go")
	asked := h.Waits(run.RunID, 1)[0]
	whole := func(where string, args json.RawMessage) {
		t.Helper()
		var a struct {
			Command string `json:"command"`
		}
		if err := json.Unmarshal(args, &a); err != nil || a.Command != command {
			t.Errorf("%s has %d bytes of %d: %v", where, len(a.Command), len(command), err)
		}
	}
	whole("the list", asked.ToolArgs)
	var one interaction.Request
	_, raw := h.HTTP(http.MethodGet, "/v1/interactions/"+string(asked.ID), nil)
	if err := json.Unmarshal(raw, &one); err != nil {
		t.Fatal(err)
	}
	if whole("the interaction", one.ToolArgs); len(one.Digest) == 0 {
		t.Error("the interaction has no digest to answer by")
	}
	streamed := eventsOf[interaction.Request](h, run.RunID, event.InteractionRequest)
	if len(streamed) != 1 {
		t.Fatalf("%d questions are streamed", len(streamed))
	}
	whole("the stream", streamed[0].ToolArgs)
	if !strings.HasSuffix(asked.Title, "…") {
		t.Errorf("the title does not say that it is cut off: %q", asked.Title)
	}
	if !strings.Contains(asked.Explanation, "rm -rf build") {
		t.Errorf("what is decided on its last part is not explained: %q", asked.Explanation)
	}
	refusedWith(h, asked.ID, map[string]any{"action": "approve", "digest": strings.Repeat("0", 64)}, http.StatusConflict)
	h.Answer(asked.ID, map[string]any{"action": "reject", "digest": asked.Digest})
	completes(h, run.RunID)
}

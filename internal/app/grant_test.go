package app_test

import (
	"context"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdpoint/interaction"
	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
	"holdpoint/llm"
	"holdpoint/permission"
	"holdpoint/tool"
)

// keptRules are the rules kept for the tests' user.
func keptRules(h *apptest.Holdpoint, session interaction.SessionID) []permission.Rule {
	h.T.Helper()
	rules, err := h.Store().Rules(context.Background(), "requester", session)
	if err != nil {
		h.T.Fatal(err)
	}
	return rules
}

// echoes calls bash with what the user says, one line a turn.
func echoes() *apptest.Model {
	return &apptest.Model{Turn: func(_ int, req llm.Request) llm.Message {
		lines, done := strings.Split(req.Messages[0].Content, "\n"), 0
		for _, m := range req.Messages {
			if m.Role == llm.RoleAssistant {
				done++
			}
		}
		if done == len(lines) {
			return llm.Message{Content: "done"}
		}
		return apptest.Calls("bash", apptest.Bash(lines[done]))
	}}
}

func always(scope string, patterns ...string) map[string]any {
	g := map[string]any{"scope": scope}
	if len(patterns) > 0 {
		g["patterns"] = patterns
	}
	return map[string]any{"action": "approve", "reviewer": map[string]any{"id": "alice"}, "grant": g}
}

func TestAlwaysAllowCoversLaterCallsAndWhatWaits(t *testing.T) {
	t.Parallel()
	h := apptest.Start(t, apptest.WithModel(echoes()))
	other := h.BeginIn(t.Name()+"-other", "echo waits")
	h.Waits(other.RunID, 1)
	run := h.BeginIn(t.Name()+"-one", "echo a\necho b")
	id := h.Waits(run.RunID, 1)[0].ID
	if code, body := h.Respond(id, always("user", "bash(echo")); code != http.StatusBadRequest || !strings.Contains(string(body), "grant.patterns[0]") {
		t.Errorf("a pattern that can't be read: %d %s", code, body)
	}
	h.Answer(id, always("user", "bash(echo:*)"))
	for _, r := range []apptest.RunView{run, other} {
		if end := h.Ended(r.RunID); end.Status != "completed" {
			t.Errorf("run %s ended %s", r.RunID, end.Status)
		}
	}
	if n := strings.Count(h.EventTypes(run.RunID), "interaction_request"); n != 1 {
		t.Errorf("%d questions were asked, want one", n)
	}
	rules := keptRules(h, "")
	if len(rules) != 1 || rules[0].Pattern != "bash(echo:*)" || rules[0].GrantedBy != "alice" || rules[0].InteractionID != string(id) {
		t.Errorf("kept was %+v", rules)
	}
}

// TestAGrantFromAnAnswerEndsAsItSays bounds it by uses and by time. The call that it was given on is not one of its uses.
func TestAGrantFromAnAnswerEndsAsItSays(t *testing.T) {
	t.Parallel()
	var late atomic.Bool
	h := apptest.Start(t, apptest.WithModel(echoes()), func(o *app.Options) {
		o.Now = func() time.Time {
			if late.Load() {
				return time.Now().Add(2 * time.Hour)
			}
			return time.Now()
		}
	})
	run := h.BeginIn("", "echo a\necho b\necho c\necho d")
	first := h.Waits(run.RunID, 1)[0]
	grant := func(more map[string]any) map[string]any {
		answer := always("user", "bash(echo:*)")
		maps.Copy(answer["grant"].(map[string]any), more)
		return answer
	}
	for field, wrong := range map[string]any{"max_uses": -1, "expires_at": time.Now().Add(-time.Hour).UTC(), "scope": "world"} {
		if p := refusedWith(h, first.ID, grant(map[string]any{field: wrong}), http.StatusBadRequest); len(p.Errors) == 0 || p.Errors[0].Location != "body.grant."+field {
			t.Errorf("%s %v: %q at %+v", field, wrong, p.Detail, p.Errors)
		}
	}
	h.Answer(first.ID, grant(map[string]any{"max_uses": 2}))
	second := following(h, run, first.ID)
	if !strings.Contains(string(second.ToolArgs), "echo d") {
		t.Errorf("asked about %s, and two later calls were granted", second.ToolArgs)
	}
	h.Answer(second.ID, grant(map[string]any{"expires_at": time.Now().Add(time.Hour).UTC()}))
	completes(h, run.RunID)
	again := h.BeginIn("", "echo e")
	completes(h, again.RunID)
	late.Store(true)
	over := h.BeginIn("", "echo f")
	h.Answer(h.Waits(over.RunID, 1)[0].ID, map[string]any{"action": "skip"})
	completes(h, over.RunID)
}

func TestAGrantOfASessionEndsWithIt(t *testing.T) {
	t.Parallel()
	h := apptest.Start(t, apptest.WithModel(echoes()))
	run := h.BeginIn(t.Name()+"-one", "echo a\necho a")
	h.Answer(h.Waits(run.RunID, 1)[0].ID, always("session")) // what is suggested: this very command
	h.Ended(run.RunID)
	if rules := keptRules(h, run.SessionID); len(rules) != 1 || rules[0].SessionID != string(run.SessionID) {
		t.Errorf("kept was %+v", rules)
	}
	keep(t, "always_allowed", h.Closed(run.Workflow))
	other := h.BeginIn(t.Name()+"-two", "echo a")
	h.Answer(h.Waits(other.RunID, 1)[0].ID, map[string]any{"action": "skip"})
	h.Ended(other.RunID)
}

func TestAGrantThatLosesOrDoesNotFitLeavesNothing(t *testing.T) {
	t.Parallel()
	done := &counter{}
	h := apptest.Start(t, withEffect(apptest.Effect{Log: done.log}), apptest.WithModel(apptest.Turns(apptest.Calls("effect", `{"n":1}`))),
		apptest.WithRules(`{match: "effect(n:1)", decision: ask, quorum: 2, max_grant: user}`))
	lost := h.Begin("go")
	id := h.Waits(lost.RunID, 1)[0].ID
	h.Answer(id, always("user", "effect"))
	h.Answer(id, by("bob", map[string]any{"action": "reject"}))
	h.Ended(lost.RunID)

	misfit := h.BeginIn(t.Name()+"-misfit", "go")
	id = h.Waits(misfit.RunID, 1)[0].ID
	h.Answer(id, always("user", "bash(ls)"))
	second := always("user", "bash(ls)")
	second["reviewer"] = map[string]any{"id": "bob"}
	h.Answer(id, second)
	h.Ended(misfit.RunID)
	if rules := keptRules(h, ""); len(rules) > 0 || done.count() != 1 {
		t.Errorf("kept was %+v, after %d effects", rules, done.count())
	}
	if types := h.EventTypes(misfit.RunID); !strings.Contains(types, "error") {
		t.Errorf("the record does not say that the grant was not kept: %s", types)
	}
}

func TestAlwaysRejectDeniesFromThenOn(t *testing.T) {
	t.Parallel()
	model := echoes()
	h := apptest.Start(t, apptest.WithModel(model))
	run := h.BeginIn(t.Name()+"-one", "echo a\necho  a")
	h.Answer(h.Waits(run.RunID, 1)[0].ID, map[string]any{"action": "reject", "feedback": "never",
		"grant": map[string]any{"scope": "user", "patterns": []string{"bash(echo a)"}, "expires_at": time.Now().Add(time.Hour).UTC()}})
	h.Ended(run.RunID)
	if told := model.ToolResults(); len(told) != 2 || told[1].ToolStatus != string(tool.StatusDenied) {
		t.Errorf("the model got %+v", told)
	}
}

func TestAnAskRuleKeepsGrantsNarrow(t *testing.T) {
	t.Parallel()
	h := apptest.Start(t, apptest.WithModel(echoes()), apptest.WithRules(`{match: "bash(echo:*)", decision: ask, max_grant: session}`))
	run := h.BeginIn(t.Name()+"-one", "echo a\necho a")
	id := h.Waits(run.RunID, 1)[0].ID
	if code, body := h.Respond(id, always("user", "bash(echo a)")); code != http.StatusForbidden || !strings.Contains(string(body), "session") {
		t.Errorf("a grant wider than the rule lets: %d %s", code, body)
	}
	h.Answer(id, always("session", "bash(echo a)"))
	if end := h.Ended(run.RunID); end.Status != "completed" {
		t.Errorf("the run ended %s", end.Status)
	}
}

func TestAGrantDoesNotSatisfyAStricterAsk(t *testing.T) {
	t.Parallel()
	done := &counter{}
	h := apptest.Start(t, withEffect(apptest.Effect{Log: done.log}), apptest.WithModel(apptest.Turns(apptest.Calls("effect", `{"n":1}`), apptest.Calls("effect", `{"n":2}`))),
		apptest.WithRules(`{match: "effect(n:1)", decision: ask, max_grant: user}`,
			`{match: "effect(n:2)", decision: ask, reviewers: [alice, bob], quorum: 2, exclude_requester: true, max_grant: user}`))
	run := h.Begin("go")
	first := h.Waits(run.RunID, 1)[0].ID
	h.Answer(first, by("requester", map[string]any{"action": "approve", "grant": map[string]any{"scope": "user", "patterns": []string{"effect"}}}))
	h.Eventually("the second question", func() bool { p := h.Pending(run.RunID); return len(p) == 1 && p[0].ID != first })
	h.Answer(h.Waits(run.RunID, 1)[0].ID, by("alice", map[string]any{"action": "skip"}))
	h.Ended(run.RunID)
	if rules := keptRules(h, ""); len(rules) != 1 || done.count() != 1 {
		t.Errorf("kept was %+v, after %d effects", rules, done.count())
	}
}

func TestAnAnswerTakesNoStricterRulesPlace(t *testing.T) {
	t.Parallel()
	h := apptest.Start(t, withEffect(apptest.Effect{}), apptest.WithModel(echoes()))
	forbid := permission.Rule{ID: "for-good", Effect: permission.Deny, Pattern: "effect", UserID: "requester", GrantedBy: "admin",
		Source: permission.Source{Layer: permission.LayerUser}, CreatedAt: time.Now().UTC()}
	if err := h.Store().SaveRule(context.Background(), forbid); err != nil {
		t.Fatal(err)
	}
	soon := time.Now().Add(time.Minute).UTC()
	for _, patterns := range [][]string{{"effect"}, {"*"}, {"bash"}} {
		run := h.BeginIn("", "echo "+patterns[0])
		h.Answer(h.Waits(run.RunID, 1)[0].ID, map[string]any{"action": "reject", "grant": map[string]any{"scope": "user", "patterns": patterns, "expires_at": soon}})
		h.Ended(run.RunID)
		if types := h.EventTypes(run.RunID); !strings.Contains(types, "error") {
			t.Errorf("%v: the record does not say that it was not kept: %s", patterns, types)
		}
	}
	if rules := keptRules(h, ""); len(rules) != 1 || rules[0].ID != "for-good" {
		t.Errorf("kept is %+v", rules)
	}
}

func TestASessionIsItsUsers(t *testing.T) {
	t.Parallel()
	h := apptest.Start(t, apptest.WithModel(apptest.Turns()))
	run := h.Begin("a secret")
	h.Ended(run.RunID)
	code, body := h.HTTP("POST", "/v1/runs", map[string]string{"agent": "tester", "input": "what did they say?", "user_id": "other", "session_id": string(run.SessionID)})
	if code != http.StatusForbidden || strings.Contains(string(body), "requester") {
		t.Errorf("another's session: %d %s", code, body)
	}
	again := h.BeginIn(string(run.SessionID), "go on")
	h.Ended(again.RunID)
}

package app_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdpoint/activities"
	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
	"holdpoint/llm"
	"holdpoint/permission"
	"holdpoint/tool"
)

// The tests in this file and in those beside it named scenario_… each take one kind of trouble that people had with
// other approval systems.

func TestALateApprovalOfARejectedCallMovesNothing(t *testing.T) {
	t.Parallel()
	c := &counter{}
	model := apptest.Turns(effectCall(1), effectCall(2))
	h := startEffect(t, model, c)
	run := h.Begin("go")
	first := h.Waits(run.RunID, 1)[0]
	h.Answer(first.ID, map[string]any{"action": "reject", "feedback": "not on a Friday", "reviewer": map[string]string{"id": "ada"}})
	second := following(h, run, first.ID)
	if got := model.ToolResults(); len(got) != 1 || got[0].ToolStatus != string(tool.StatusRejected) || !contains(got[0], "ada", "not on a Friday") {
		t.Errorf("the model was not told of the rejection: %+v", got)
	}

	p := refusedWith(h, first.ID, map[string]any{"action": "approve"}, http.StatusConflict)
	if p.Decided == nil || p.Decided.Action != interaction.ActionReject || !slices.Contains(p.Decided.By, "ada") || p.Decided.At.IsZero() {
		t.Errorf("the refusal does not say what was decided, by whom and when: %+v", p)
	}
	late := interaction.Response{RequestID: first.ID, Action: interaction.ActionApprove}
	if err := h.Update(run.Workflow, late); err == nil || !strings.Contains(err.Error(), "already decided: reject by ada") {
		t.Errorf("the update was answered %v", err)
	}
	h.Signal(run.Workflow, late)
	if got := refusals(h, run.RunID, 1); got[0].Code != string(interaction.CodeAlreadyDecided) || !strings.Contains(got[0].Message, "ada") {
		t.Errorf("the signal is in the record as %+v", got)
	}
	stillAsks(h, run, second.ID)
	if c.count() != 0 {
		t.Errorf("%d executions", c.count())
	}
}

// misunderstood are bodies that some client might take for a decision, and a word of what it must be told.
var misunderstood = []struct{ body, told string }{
	{``, "required"},
	{`{}`, "action"},
	{`null`, "must be a JSON object"},
	{`[]`, "must be a JSON object"},
	{`"approve"`, "must be a JSON object"},
	{`true`, "must be a JSON object"},
	{`{"approved":"no"}`, "action"},
	{`{"approved":true}`, "action"},
	{`{"decision":"approve"}`, "action"},
	{`{"action":"yes"}`, "is no action"},
	{`{"action":true}`, "action"},
	{`{"action":null}`, "action"},
	{`{"Action":"approve"}`, "Action"},
	{`{"action":"reject","action":"approve"}`, "twice"},
	{`{"action":"approve"}{"action":"approve"}`, "not one JSON value"},
	{`{"action":"approve","confirmed":false}`, "confirmed"},
	{`{"action":"approve","args":{"n":2}}`, "args"},
	{`{"action":"resume"}`, "is not"},
	{`{"action":"redact"}`, "not offered"},
	{`{"action":"approve","grant":{"scope":"world"}}`, "use session or user"},
	{`{"action":"approve","reviewer":"ada"}`, "reviewer"},
	{`{"action":"approve","digest":"sha256:00"}`, "look again"},
	{`sure, but first tell me the price`, "not one JSON value"},
}

func TestABodyThatIsNoDecisionDecidesNothing(t *testing.T) {
	t.Parallel()
	c := &counter{}
	h := startEffect(t, effectOnce(1), c)
	run := h.Begin("go")
	asked := h.Waits(run.RunID, 1)[0]
	for _, m := range misunderstood {
		code, body := h.Respond(asked.ID, m.body)
		if code < 400 || code > 499 {
			t.Errorf("%s was answered %d %s", m.body, code, body)
			continue
		}
		if p := problemOf(h, body); !strings.Contains(p.Detail, m.told) {
			t.Errorf("%s was answered %q, which does not say %q", m.body, p.Detail, m.told)
		}
	}
	past := len(h.History(run.Workflow, ""))
	for _, m := range misunderstood { // nor past the bridge
		body := m.body
		if rest, object := strings.CutPrefix(body, "{"); object && rest == "}" {
			body = fmt.Sprintf(`{"request_id":%q}`, asked.ID)
		} else if object {
			body = fmt.Sprintf(`{"request_id":%q,%s`, asked.ID, rest)
		}
		if err := h.Update(run.Workflow, encoded("json/plain", body)); err == nil {
			t.Errorf("the update %s was taken", body)
		}
		item := fmt.Sprintf(`{"responses":[%s]}`, body)
		if code, out := h.HTTP("POST", "/v1/interactions/respond", item); code == http.StatusOK && !strings.Contains(string(out), `"problem"`) {
			t.Errorf("the batch %s was answered %d %s", item, code, out)
		}
	}
	if now := len(h.History(run.Workflow, "")); now != past {
		t.Errorf("what was refused left %d events of history", now-past)
	}
	if code, body := h.HTTP("POST", "/v1/interactions/"+string(asked.ID)+"/respond", `{"action":"approve"}`, "Content-Type", "text/plain"); code != http.StatusUnsupportedMediaType {
		t.Errorf("text was answered %d %s", code, body)
	}
	stillAsks(h, run, asked.ID)
	if c.count() != 0 {
		t.Errorf("%d executions", c.count())
	}
	h.Answer(asked.ID, map[string]any{"action": "approve"})
	completes(h, run.RunID)
}

func TestASecondDecisionIsToldOfTheFirst(t *testing.T) {
	t.Parallel()
	c := &counter{}
	running, release := make(chan struct{}), make(chan struct{})
	hold := func(context.Context, tool.Call) { close(running); <-release }
	h := apptest.Start(t, apptest.WithModel(effectOnce(1)), withEffect(apptest.Effect{Log: c.log, Hold: hold}))
	run := h.Begin("go")
	asked := h.Waits(run.RunID, 1)[0]
	before := time.Now().Add(-time.Second)
	h.Answer(asked.ID, map[string]any{"action": "approve", "reviewer": map[string]string{"id": "ada"}})
	<-running
	reject := map[string]any{"action": "reject", "reviewer": map[string]string{"id": "bo"}}
	told := func(when string) {
		t.Helper()
		p := refusedWith(h, asked.ID, reject, http.StatusConflict)
		if d := p.Decided; d == nil || d.Status != interaction.StatusAnswered || d.Action != interaction.ActionApprove ||
			!slices.Equal(d.By, []interaction.PrincipalID{"ada"}) || d.At.Before(before) || d.At.After(time.Now()) {
			t.Errorf("%s the second is told %q and %+v", when, p.Detail, p.Decided)
		}
	}
	told("while the call runs")
	close(release)
	completes(h, run.RunID)
	told("after the run")
	if got := recordOf(h, asked.ID); got.Action != interaction.ActionApprove || len(got.Responses) != 1 || c.count() != 1 {
		t.Errorf("the record has %+v, and the call ran %d times", got, c.count())
	}
}

func TestAReusedCallIDIsAnotherCall(t *testing.T) {
	t.Parallel()
	c := &counter{}
	model := apptest.Turns(effectCall(1), effectCall(1)) // the same id, tool and arguments in both turns
	h := startEffect(t, model, c)
	run := h.Begin("go")
	first := h.Waits(run.RunID, 1)[0]
	h.Answer(first.ID, map[string]any{"action": "approve"})
	second := following(h, run, first.ID)
	decided := recordOf(h, first.ID)
	if first.ToolCallID == second.ToolCallID || c.count() != 1 {
		t.Fatalf("calls %s and %s, %d executions", first.ToolCallID, second.ToolCallID, c.count())
	}
	refusedWith(h, first.ID, map[string]any{"action": "approve"}, http.StatusConflict)
	stillAsks(h, run, second.ID)
	h.Answer(second.ID, map[string]any{"action": "reject"})
	completes(h, run.RunID)
	if got := recordOf(h, first.ID); fmt.Sprint(got) != fmt.Sprint(decided) {
		t.Errorf("the first record changed:\n%+v\n%+v", decided, got)
	}
	results := model.ToolResults()
	if len(results) != 2 || results[0].ToolStatus != string(tool.StatusSuccess) || results[1].ToolStatus != string(tool.StatusRejected) || c.count() != 1 {
		t.Errorf("%d executions, and the model got %+v", c.count(), results)
	}
}

// TestWhatRunsIsWhatWasShown has a model that would ask for something else each time it is asked.
func TestWhatRunsIsWhatWasShown(t *testing.T) {
	t.Parallel()
	e := &executions{}
	var mu sync.Mutex
	times := 0
	model := &apptest.Model{Turn: func(n int, _ llm.Request) llm.Message {
		mu.Lock()
		defer mu.Unlock()
		times++
		if n > 1 {
			return llm.Message{Content: "done"}
		}
		return effectCall(times)
	}}
	var once sync.Once
	lost := func(o *app.Options) {
		o.Faults = func(p activities.Point) {
			if p == activities.PointTurnStored {
				once.Do(func() { panic("the answer to Temporal is lost") })
			}
		}
	}
	h := apptest.Start(t, apptest.WithModel(model), withEffect(apptest.Effect{Log: e.log}), lost)
	run := h.Begin("go")
	asked := h.Waits(run.RunID, 1)[0]
	h.Reset(run.Workflow)
	h.Eventually("the reset run to wait again", func() bool {
		s, err := h.State(run.Workflow)
		return err == nil && len(s.Pending) == 1
	})
	if again := h.Waits(run.RunID, 1)[0]; again.ID != asked.ID || string(again.ToolArgs) != `{"n":1}` || times != 1 {
		t.Fatalf("after %d model calls %s is shown, with %s", times, again.ID, again.ToolArgs)
	}
	h.Answer(asked.ID, map[string]any{"action": "approve"})
	completes(h, run.RunID)
	if ran := e.of(run.RunID); len(ran) != 1 || string(ran[0].Args) != string(asked.ToolArgs) {
		t.Errorf("shown was %s, and what ran is %+v", asked.ToolArgs, ran)
	}
}

func TestADenyThatComesAfterTheApprovalHolds(t *testing.T) {
	t.Parallel()
	c := &counter{}
	held, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	hold := func(o *app.Options) {
		o.Faults = func(p activities.Point) {
			if p == activities.PointBeforeClaim {
				once.Do(func() { close(held); <-release })
			}
		}
	}
	model := effectOnce(1)
	h := startEffect(t, model, c, hold)
	run := h.Begin("go")
	asked := h.Waits(run.RunID, 1)[0]
	h.Answer(asked.ID, map[string]any{"action": "approve"})
	<-held
	rule := permission.Rule{ID: "no-more-effects", Effect: permission.Deny, Pattern: "effect", UserID: "requester",
		Source: permission.Source{Layer: permission.LayerUser}, CreatedAt: time.Now()}
	if err := h.Store().SaveRule(context.Background(), rule); err != nil {
		t.Fatal(err)
	}
	close(release)
	completes(h, run.RunID)
	if got := model.ToolResults(); c.count() != 0 || len(got) != 1 || got[0].ToolStatus != string(tool.StatusDenied) {
		t.Errorf("%d executions, and the model got %+v", c.count(), got)
	}
	denied := eventsOf[event.ToolAuthDeniedData](h, run.RunID, event.ToolAuthDenied)
	if len(denied) != 1 || denied[0].InteractionID != asked.ID || denied[0].RuleID != rule.ID || denied[0].ToolCallID != asked.ToolCallID {
		t.Errorf("the record does not link approval and rule: %+v", denied)
	}
	if got := recordOf(h, asked.ID); got.Status != interaction.StatusAnswered || got.Action != interaction.ActionApprove {
		t.Errorf("the approval is in the record as %+v", got)
	}
}

func TestOnlyWhatIsAnsweredMoves(t *testing.T) {
	t.Parallel()
	c := &counter{}
	model := apptest.Turns(apptest.Calls("file_read", `{"path":"notes.txt"}`, "bash", apptest.Bash("rm doomed.txt"), "effect", `{"n":1}`))
	h := startEffect(t, model, c)
	doomed := filepath.Join(h.Dir, "doomed.txt")
	for name, text := range map[string]string{"notes.txt": "remember the milk", "doomed.txt": "gone soon"} {
		if err := os.WriteFile(filepath.Join(h.Dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := h.Begin("go")
	asked := h.Waits(run.RunID, 2)
	remove, mail := asked[0], asked[1]
	if remove.ToolName != "bash" || mail.ToolName != "effect" {
		t.Fatalf("asked are %s and %s", remove.ToolName, mail.ToolName)
	}
	reading := string(run.RunID) + "-1-1"
	h.Eventually("the read to have its result", func() bool {
		res := resultOf(h, run.RunID, interaction.CallID(reading))
		return res != nil && contains(*res, "remember the milk")
	})
	if _, err := os.Stat(doomed); err != nil {
		t.Fatal("it was removed before anyone approved that")
	}
	h.Answer(remove.ID, map[string]any{"action": "approve"})
	h.Eventually("the removal to have its result", func() bool { return resultOf(h, run.RunID, remove.ToolCallID) != nil })
	if _, err := os.Stat(doomed); err == nil {
		t.Error("the file is still there")
	}
	stillAsks(h, run, mail.ID)
	if c.count() != 0 || len(model.Requests()) != 1 {
		t.Errorf("mail went out %d times, and the model was asked %d times before it was decided", c.count(), len(model.Requests()))
	}
	h.Answer(mail.ID, map[string]any{"action": "approve"})
	completes(h, run.RunID)
	got := model.ToolResults()
	if len(got) != 3 || got[0].ToolName != "file_read" || got[1].ToolName != "bash" || got[2].ToolName != "effect" || c.count() != 1 {
		t.Errorf("the model got %+v", got)
	}
}

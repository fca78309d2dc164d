package app_test

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"holdpoint/interaction"
	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
	"holdpoint/tool"
)

const crowd = 12

// TestTwelveAnswersAtOnceToTwelveGates: more than Temporal lets one run have in flight.
func TestTwelveAnswersAtOnceToTwelveGates(t *testing.T) {
	t.Parallel()
	c := &counter{}
	model := apptest.Turns(parallel(crowd)...)
	h := startEffect(t, model, c)
	run := h.Begin("go")
	asked := h.Waits(run.RunID, crowd)
	atOnce(crowd, crowd, func(i int) {
		if code, out := h.Respond(asked[i].ID, map[string]any{"action": "approve"}); code != http.StatusOK {
			t.Errorf("answer %d: %d %s", i, code, out)
		}
	})
	completes(h, run.RunID)
	results := model.ToolResults()
	if c.count() != crowd || len(results) != crowd {
		t.Fatalf("%d executions and %d results", c.count(), len(results))
	}
	for i, res := range results {
		if res.Content != fmt.Sprintf(`did {"n":%d}`, i) {
			t.Errorf("result %d is %q", i, res.Content)
		}
	}
}

// TestTwelveAnswersAtOnceToOneGate has half of the crowd approve and half reject.
func TestTwelveAnswersAtOnceToOneGate(t *testing.T) {
	t.Parallel()
	c := &counter{}
	model := effectOnce(1)
	h := startEffect(t, model, c)
	run := h.Begin("go")
	asked := h.Waits(run.RunID, 1)[0]
	var mu sync.Mutex
	var won []string
	refused := map[int][]byte{}
	actions := []string{"approve", "reject"}
	atOnce(crowd, crowd, func(i int) {
		who := fmt.Sprintf("r%d", i)
		code, out := h.Respond(asked.ID, map[string]any{"action": actions[i%2], "reviewer": map[string]string{"id": who}})
		mu.Lock()
		defer mu.Unlock()
		switch code {
		case http.StatusOK:
			won = append(won, actions[i%2]+" by "+who)
		case http.StatusConflict:
			refused[i] = out
		default:
			t.Errorf("answer %d: %d %s", i, code, out)
		}
	})
	completes(h, run.RunID)
	if len(won) != 1 || len(refused) != crowd-1 {
		t.Fatalf("%d answers won (%v), %d were refused", len(won), won, len(refused))
	}
	for i, out := range refused {
		if p := problemOf(h, out); !strings.Contains(p.Detail, "already decided: "+won[0]+" at ") {
			t.Errorf("answer %d was told %q, but what won was %s", i, p.Detail, won[0])
		}
	}
	ran := 0
	if strings.HasPrefix(won[0], "approve") {
		ran = 1
	}
	if rec := recordOf(h, asked.ID); c.count() != ran || len(rec.Responses) != 1 || !strings.HasPrefix(won[0], string(rec.Action)) {
		t.Errorf("%s won, it ran %d times, and the record has %+v", won[0], c.count(), rec)
	}
}

// fourEyes needs two people, neither of whom started the run.
const fourEyes = `{match: "effect", decision: ask, quorum: 2, exclude_requester: true}`

func TestFourEyesAreFour(t *testing.T) {
	t.Parallel()
	c := &counter{}
	h := startEffect(t, effectOnce(1), c, apptest.WithRules(fourEyes))
	run := h.Begin("go")
	asked := h.Waits(run.RunID, 1)[0]
	by := func(who string) map[string]any {
		return map[string]any{"action": "approve", "reviewer": map[string]string{"id": who}}
	}
	refusedWith(h, asked.ID, by("requester"), http.StatusForbidden)
	h.Answer(asked.ID, by("ada"))
	if p := refusedWith(h, asked.ID, by("ada"), http.StatusConflict); !strings.Contains(p.Detail, "1 of 2") {
		t.Errorf("the second approval of one person is told %q", p.Detail)
	}
	refusedWith(h, asked.ID, by("requester"), http.StatusForbidden)
	refusedWith(h, asked.ID, map[string]any{"action": "modify_args", "args": map[string]int{"n": 2}, "reviewer": map[string]string{"id": "bo"}}, http.StatusBadRequest)
	h.Signal(run.Workflow, interaction.Response{RequestID: asked.ID, Action: interaction.ActionApprove}) // by nobody
	if got := refusals(h, run.RunID, 1); got[0].Code != string(interaction.CodeNotEntitled) {
		t.Errorf("an approval by nobody is in the record as %+v", got)
	}
	s, err := h.State(run.Workflow)
	if err != nil || len(s.Pending) != 1 || s.Pending[0].Approvals != 1 || s.Pending[0].Quorum != 2 || c.count() != 0 {
		t.Fatalf("after one approval: %+v, %d executions, %v", s, c.count(), err)
	}
	h.Answer(asked.ID, by("bo"))
	completes(h, run.RunID)
	if rec := recordOf(h, asked.ID); c.count() != 1 || len(rec.Responses) != 2 {
		t.Errorf("%d executions, and the record has %+v", c.count(), rec)
	}
}

// stubborn is the effect tool, but goes on when it is told to stop.
type stubborn struct {
	apptest.Effect
	running, stopped, release chan struct{}
}

// Run implements tool.Tool.
func (s stubborn) Run(ctx context.Context, c tool.Call) (tool.Outcome, error) {
	close(s.running)
	<-ctx.Done()
	close(s.stopped)
	<-s.release
	return s.Effect.Run(context.WithoutCancel(ctx), c)
}

func newStubborn(c *counter) stubborn {
	return stubborn{Effect: apptest.Effect{Log: c.log}, running: make(chan struct{}), stopped: make(chan struct{}), release: make(chan struct{})}
}

// startStubborn brings a run to where its approved call runs.
func startStubborn(t *testing.T, c *counter) (*apptest.Holdpoint, *apptest.Model, apptest.RunView, interaction.Request, stubborn) {
	t.Helper()
	body := newStubborn(c)
	model := effectOnce(1)
	h := apptest.Start(t, apptest.WithModel(model), func(o *app.Options) { o.Tools = append(o.Tools, body) })
	run := h.Begin("go")
	asked := h.Waits(run.RunID, 1)[0]
	h.Answer(asked.ID, map[string]any{"action": "approve"})
	<-body.running
	return h, model, run, asked, body
}

// TestPausingAnActivityRunsNothingTwice has an operator pause a running tool in Temporal, and let it go on.
func TestPausingAnActivityRunsNothingTwice(t *testing.T) {
	t.Parallel()
	c := &counter{}
	h, model, run, _, body := startStubborn(t, c)
	dir := filepath.Dir(apptest.Temporal(t))
	line := "temporal activity %s --workflow-id " + run.Workflow + " --activity-type RunTool"
	h.Shell(dir, fmt.Sprintf(line, "pause"))
	<-body.stopped
	h.Shell(dir, fmt.Sprintf(line, "unpause"))
	close(body.release)
	completes(h, run.RunID)
	if got := model.ToolResults(); c.count() != 1 || len(got) != 1 || got[0].Content != `did {"n":1}` {
		t.Errorf("%d executions, and the model got %+v", c.count(), got)
	}
}

// TestALateResultWinsOverRunningAgain resets the workflow while its tool runs, so that Temporal runs the activity
// again beside the first body.
func TestALateResultWinsOverRunningAgain(t *testing.T) {
	t.Parallel()
	c := &counter{}
	h, model, run, asked, body := startStubborn(t, c)
	h.Reset(run.Workflow)
	again := following(h, run, asked.ID)
	if again.Kind != interaction.KindOutcomeUnknown || c.count() != 0 {
		t.Errorf("asked is %+v after %d executions", again, c.count())
	}
	<-body.stopped
	close(body.release) // the first body ends after all, and says what it did
	h.Eventually("the result of the first body", func() bool { return resultOf(h, run.RunID, asked.ToolCallID) != nil })
	h.Answer(again.ID, map[string]any{"action": "approve"}) // run it again: but there is a result now
	completes(h, run.RunID)
	if got := model.ToolResults(); c.count() != 1 || len(got) != 1 || got[0].Content != `did {"n":1}` {
		t.Errorf("%d executions, and the model got %+v", c.count(), got)
	}
	if rec := recordOf(h, again.ID); rec.Status != interaction.StatusAnswered || rec.Action != interaction.ActionApprove {
		t.Errorf("what the person answered is in the record as %s %s (%s)", rec.Status, rec.Action, rec.ClosedReason)
	}
	keep(t, "outcome_unknown_after_a_reset", h.Closed(run.Workflow))
}

// TestARepeatedAnswerIsOneAnswer sends one answer, with its id, many times and by both roads.
func TestARepeatedAnswerIsOneAnswer(t *testing.T) {
	t.Parallel()
	c := &counter{}
	h := startEffect(t, apptest.Turns(effectCall(1), effectCall(2)), c)
	run := h.Begin("go")
	asked := h.Waits(run.RunID, 1)[0]
	body := map[string]any{"id": "mine", "action": "approve"}
	atOnce(6, 6, func(int) {
		if code, out := h.Respond(asked.ID, body); code != http.StatusOK {
			t.Errorf("%d %s", code, out)
		}
	})
	second := following(h, run, asked.ID)
	h.Answer(asked.ID, body) // once more, long decided
	if p := refusedWith(h, asked.ID, map[string]any{"id": "mine", "action": "reject"}, http.StatusConflict); p.Code != "id_reused" && p.Code != "already_decided" {
		t.Errorf("another answer of that id was refused as %+v", p)
	}
	if p := refusedWith(h, second.ID, body, http.StatusConflict); p.Code != "id_reused" {
		t.Errorf("the same id for another interaction was refused as %+v", p)
	}
	stillAsks(h, run, second.ID)
	if rec := recordOf(h, asked.ID); len(rec.Responses) != 1 || c.count() != 1 {
		t.Errorf("%d executions, and the record has %+v", c.count(), rec.Responses)
	}
}

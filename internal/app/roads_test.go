package app_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"holdpoint/activities"
	"holdpoint/interaction"
	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
	"holdpoint/llm"
	"holdpoint/tool"
)

// counter counts the executions of the effect tool by call.
type counter struct {
	mu    sync.Mutex
	calls map[interaction.CallID]int
	total int
}

func (c *counter) log(call tool.Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls == nil {
		c.calls = map[interaction.CallID]int{}
	}
	c.calls[call.ID]++
	c.total++
}

func (c *counter) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total
}

// road is a way for an answer to reach a run.
type road string

const (
	byUpdate road = "update"
	bySignal road = "signal"
	byBoth   road = "both"
)

func (r road) send(h *apptest.Holdpoint, workflowID string, resp interaction.Response) {
	h.T.Helper()
	if r == bySignal || r == byBoth {
		h.Signal(workflowID, resp)
	}
	if r == byUpdate || r == byBoth {
		// With no worker an update has no taker: the bridge's fallback, a signal of the same id, is what counts.
		if err := h.Update(workflowID, resp); err != nil && r == byUpdate {
			h.T.Logf("update: %v", err)
		}
	}
}

func approve(id interaction.ID) interaction.Response {
	return interaction.Response{ID: interaction.ResponseID("r-" + string(id)), RequestID: id, Action: interaction.ActionApprove,
		Reviewer: interaction.Principal{ID: "reviewer"}}
}

func effectOnce(n int) *apptest.Model {
	return apptest.Turns(apptest.Calls("effect", fmt.Sprintf(`{"n":%d}`, n)))
}

// startEffect runs a Holdpoint whose agent may call the effect tool, which asks.
func startEffect(t *testing.T, model llm.Model, c *counter, setups ...apptest.Setup) *apptest.Holdpoint {
	t.Helper()
	all := append([]apptest.Setup{apptest.WithModel(model), withEffect(apptest.Effect{Log: c.log})}, setups...)
	return apptest.Start(t, all...)
}

func withEffect(e apptest.Effect) apptest.Setup {
	return func(o *app.Options) { o.Tools = append(o.Tools, e) }
}

func TestAnAnswerHasOneOutcomeByEveryRoad(t *testing.T) {
	t.Parallel()
	for _, r := range []road{byUpdate, bySignal, byBoth} {
		t.Run(string(r), func(t *testing.T) {
			t.Parallel()
			t.Run("while it waits", func(t *testing.T) { t.Parallel(); answerWhileItWaits(t, r) })
			t.Run("before the run knows the interaction", func(t *testing.T) { t.Parallel(); answerBeforeItIsKnown(t, r) })
			t.Run("at the deadline", func(t *testing.T) { t.Parallel(); answerAtTheDeadline(t, r) })
			t.Run("with the worker down across the deadline", func(t *testing.T) { t.Parallel(); answerWhileTheWorkerIsDown(t, r) })
			t.Run("after a reset", func(t *testing.T) { t.Parallel(); answerAfterAReset(t, r) })
			t.Run("around continue-as-new", func(t *testing.T) { t.Parallel(); answerAroundContinueAsNew(t, r) })
		})
	}
}

func answerWhileItWaits(t *testing.T, r road) {
	c := &counter{}
	h := startEffect(t, effectOnce(1), c)
	run := h.Begin("go")
	asked := h.Waits(run.RunID, 1)[0]
	r.send(h, run.Workflow, approve(asked.ID))
	r.send(h, run.Workflow, approve(asked.ID)) // a second delivery
	if end := h.Ended(run.RunID); end.Status != "completed" || c.count() != 1 {
		t.Errorf("ended %s with %d executions; want completed with 1", end.Status, c.count())
	}
}

// answerBeforeItIsKnown answers what the store shows while CallModel has not returned yet.
func answerBeforeItIsKnown(t *testing.T, r road) {
	c := &counter{}
	stored, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	hold := func(o *app.Options) {
		o.Faults = func(p activities.Point) {
			if p == activities.PointTurnStored {
				once.Do(func() { close(stored); <-release })
			}
		}
	}
	h := startEffect(t, effectOnce(1), c, hold)
	run := h.Begin("go")
	<-stored
	asked := h.Pending(run.RunID)
	if len(asked) != 1 {
		t.Fatalf("pending in the store: %v", asked)
	}
	r.send(h, run.Workflow, approve(asked[0].ID))
	if c.count() != 0 {
		t.Error("it ran before the run knew of the approval")
	}
	close(release)
	if end := h.Ended(run.RunID); end.Status != "completed" || c.count() != 1 {
		t.Errorf("ended %s with %d executions; want completed with 1", end.Status, c.count())
	}
}

const asksFor = `{match: "effect", decision: ask, timeout: %s, on_timeout: reject}`

// answerAtTheDeadline sends the answer as the deadline passes: whichever wins, the outcome is one.
func answerAtTheDeadline(t *testing.T, r road) {
	c := &counter{}
	model := effectOnce(1)
	h := startEffect(t, model, c, apptest.WithRules(fmt.Sprintf(asksFor, "3s")))
	run := h.Begin("go")
	asked := h.Waits(run.RunID, 1)[0]
	<-time.After(time.Until(asked.ExpiresAt))
	r.send(h, run.Workflow, approve(asked.ID))
	if end := h.Ended(run.RunID); end.Status != "completed" {
		t.Errorf("ended %s", end.Status)
	}
	res := model.ToolResults()
	if len(res) != 1 {
		t.Fatalf("results: %+v", res)
	}
	ran := c.count()
	if ran > 1 || (ran == 1) != (res[0].ToolStatus == string(tool.StatusSuccess)) || (ran == 0) != (res[0].ToolStatus == string(tool.StatusExpired)) {
		t.Errorf("%d executions and a result of status %s", ran, res[0].ToolStatus)
	}
}

// answerWhileTheWorkerIsDown answers before the deadline while no worker runs, and starts one after it.
func answerWhileTheWorkerIsDown(t *testing.T, r road) {
	c := &counter{}
	model := effectOnce(1)
	h := startEffect(t, model, c, apptest.WithRules(fmt.Sprintf(asksFor, "6s")))
	run := h.Begin("go")
	asked := h.Waits(run.RunID, 1)[0]
	h.StopWorker()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		h.Respond(asked.ID, approve(asked.ID)) // the bridge's road: an update, then a signal of the same id
	}()
	if r != byUpdate {
		r.send(h, run.Workflow, approve(asked.ID))
	}
	<-time.After(time.Until(asked.ExpiresAt.Add(500 * time.Millisecond)))
	<-answered
	if err := h.StartWorker(); err != nil {
		t.Fatal(err)
	}
	if end := h.Ended(run.RunID); end.Status != "completed" || c.count() != 1 {
		t.Errorf("ended %s with %d executions; an answer before the deadline wins", end.Status, c.count())
	}
	_ = model
}

func answerAfterAReset(t *testing.T, r road) {
	c := &counter{}
	model := apptest.Turns(apptest.Calls("effect", `{"n":1}`), apptest.Calls("effect", `{"n":2}`))
	h := startEffect(t, model, c)
	run := h.Begin("go")
	first := h.Waits(run.RunID, 1)[0]
	r.send(h, run.Workflow, approve(first.ID))
	h.Eventually("the second call", func() bool { p := h.Pending(run.RunID); return len(p) == 1 && p[0].ID != first.ID })
	second := h.Waits(run.RunID, 1)[0]
	h.Reset(run.Workflow)
	h.Eventually("the reset run to wait again", func() bool {
		s, err := h.State(run.Workflow)
		return err == nil && len(s.Pending) == 1 && s.Pending[0].ID == second.ID
	})
	if c.count() != 1 {
		t.Errorf("after the reset the first call has run %d times", c.count())
	}
	r.send(h, run.Workflow, approve(second.ID))
	if end := h.Ended(run.RunID); end.Status != "completed" || c.count() != 2 {
		t.Errorf("ended %s with %d executions; want 2", end.Status, c.count())
	}
}

// answerAroundContinueAsNew has a server that suggests it after every step, and answers as each call opens.
func answerAroundContinueAsNew(t *testing.T, r road) {
	c := &counter{}
	model := &apptest.Model{Turn: func(n int, _ llm.Request) llm.Message {
		if n <= 4 {
			return apptest.Calls("effect", fmt.Sprintf(`{"n":%d}`, n))
		}
		return llm.Message{Content: "done"}
	}}
	o := apptest.Options(t, t.TempDir())
	o.DynamicConfig = apptest.DynamicConfig()
	o.DynamicConfig["limit.historyCount.suggestContinueAsNew"] = "12"
	o.Temporal = apptest.Temporal(t)
	apptest.WithModel(model)(&o)
	withEffect(apptest.Effect{Log: c.log})(&o)
	h := apptest.Run(t, o)
	run := h.Begin("go")
	seen := map[interaction.ID]bool{}
	h.Eventually("the run to end", func() bool {
		for _, p := range h.Pending(run.RunID) {
			if !seen[p.ID] {
				seen[p.ID] = true
				r.send(h, run.Workflow, approve(p.ID)) // at once, whether the run knows it or is between two histories
			}
		}
		return h.Show(run.RunID).Status == "completed"
	})
	if c.count() != 4 {
		t.Errorf("%d executions, want 4", c.count())
	}
	executions := h.Executions(run.Workflow)
	if len(executions) < 2 {
		t.Errorf("the run never continued as new: %d execution", len(executions))
	}
	for i, id := range executions {
		events := h.History(run.Workflow, id)
		keep(t, fmt.Sprintf("continue_as_new_%s_%d", r, i+1), events)
		replay(t, events)
	}
}

func TestTheLineInTheTemporalUIAnswersTheGate(t *testing.T) {
	t.Parallel()
	c := &counter{}
	h := startEffect(t, effectOnce(1), c)
	run := h.Begin("go")
	h.Waits(run.RunID, 1)
	details := h.Details(run.Workflow)
	_, line, found := strings.Cut(details, "\n    temporal ")
	if !found {
		t.Fatalf("no command in the details:\n%s", details)
	}
	line, _, _ = strings.Cut(line, "\n")
	h.Shell(filepath.Dir(apptest.Temporal(t)), "temporal "+line)
	if end := h.Ended(run.RunID); end.Status != "completed" || c.count() != 1 {
		t.Errorf("ended %s with %d executions", end.Status, c.count())
	}
}

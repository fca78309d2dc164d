package workflows_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"holdpoint/interaction"
	"holdpoint/internal/devserver"
	"holdpoint/workflows"
)

// realLives is how many random runs pass on a real server, realAtOnce of them side by side.
var realLives = flag.Int("real-lives", 12, "how many random runs the property of the gate is tried on, on a real server")

const realAtOnce = 4

// TestGateDoesAsItsModelSaysOnARealServer lets random runs pass on a real Temporal server, where workers are replaced in
// the middle of them, so that each goes on from its history. Nothing that time does is among them.
func TestGateDoesAsItsModelSaysOnARealServer(t *testing.T) {
	t.Parallel()
	binary, err := devserver.Find("../bin")
	if err != nil {
		t.Fatal(err)
	}
	server, err := devserver.Start(context.Background(), devserver.Options{Binary: binary, DynamicConfig: map[string]string{"frontend.namespaceRPS": "20000", "frontend.rps": "20000"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Stop() }()
	c, err := client.Dial(client.Options{HostPort: server.Address(), Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var wg sync.WaitGroup
	next := make(chan int)
	for range realAtOnce {
		wg.Go(func() {
			for n := range next {
				s := timeless(anyScript().Example(n))
				if wrong := live(c, s, fmt.Sprintf("life-%d", n)); len(wrong) > 0 {
					t.Errorf("life %d: %s\n%+v", n, strings.Join(wrong, "\n"), s)
				}
			}
		})
	}
	seed := int(time.Now().UnixNano() % 1_000_000_000)
	t.Logf("the lives are those of the numbers from %d", seed)
	for n := range *realLives {
		next <- seed + n
	}
	close(next)
	wg.Wait()
}

// timeless takes out of a script what time does.
func timeless(s script) script {
	for _, turn := range s.Turns {
		for i := range turn {
			turn[i].timeless()
		}
	}
	for i := range s.Stages {
		s.Stages[i].timeless()
	}
	for i := range s.Moves {
		s.Moves[i].Until, s.Moves[i].Tie = 0, false
	}
	s.Anew, s.Moves = false, s.Moves[:min(len(s.Moves), 12)]
	return s
}

// timeless takes time out of a call, and what asks while it runs: that waits for a while only.
func (c *called) timeless() {
	if c.Fate == fateLive {
		c.Fate = fateAsks
	}
	c.Rule.Timeout, c.Rule.Escalate, c.Rule.Remind = 0, 0, 0
	for i := range c.Sub {
		c.Sub[i].timeless()
	}
}

// others has lives with other agents' runs pass one by one: the ids of those are the same in each.
var others sync.Mutex

func (s script) hasOthers() bool {
	return len(s.Stages) > 0 || slices.ContainsFunc(s.Turns, func(turn []called) bool {
		return slices.ContainsFunc(turn, func(c called) bool { return c.Fate == fateAgent })
	})
}

// served is a run on a real server, with a worker of its own.
type served struct {
	client.Client
	id, queue string
	worker    worker.Worker
}

func (s *served) Now() time.Time { return time.Now() }

// of is the workflow of a run.
func (s *served) of(run interaction.RunID) string {
	if run == modelRun {
		return s.id
	}
	return workflows.RunWorkflowID(run)
}

func (s *served) Signal(run interaction.RunID, name string, message any) {
	_ = s.SignalWorkflow(context.Background(), s.of(run), "", name, message) // to a run that has ended
}

func (s *served) Update(run interaction.RunID, name, id string, then func(any, error), message any) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	h, err := s.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{WorkflowID: s.of(run), UpdateID: id, UpdateName: name, Args: []any{message},
		WaitForStage: client.WorkflowUpdateStageCompleted})
	var res workflows.RespondResult
	if err == nil && name == workflows.MessageRespond {
		err = h.Get(ctx, &res)
	} else if err == nil {
		err = h.Get(ctx, nil)
	}
	then(res, err)
}

func (s *served) State(run interaction.RunID) (state workflows.State, err error) {
	value, err := s.QueryWorkflow(context.Background(), s.of(run), "", workflows.QueryState)
	if err == nil {
		err = value.Get(&state)
	}
	return state, err
}

// work has a new worker take the place of the one there was.
func (s *served) work(w *world) error {
	if s.worker != nil {
		s.worker.Stop()
	}
	s.worker = worker.New(s.Client, s.queue, worker.Options{})
	s.worker.RegisterWorkflowWithOptions(workflows.AgentRun, workflow.RegisterOptions{Name: workflows.AgentRunName})
	s.worker.RegisterWorkflowWithOptions(workflows.Pipeline, workflow.RegisterOptions{Name: workflows.PipelineName})
	for name, f := range w.activities() {
		s.worker.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name})
	}
	return s.worker.Start()
}

// live lets one run pass.
func live(c client.Client, script script, id string) []string {
	if script.hasOthers() {
		others.Lock()
		defer others.Unlock()
	}
	d := newDrive(script, map[string]int{})
	s := &served{Client: c, id: id, queue: id}
	d.place, d.w.now = s, time.Now
	if err := s.work(d.w); err != nil {
		return []string{err.Error()}
	}
	defer func() { s.worker.Stop() }()
	in := workflows.RunInput{RunID: modelRun, SessionID: "s", Agent: "tester", Input: "go", Requester: requester, Trust: d.Trust.input()}
	kind := workflows.AgentRunName
	if len(script.Stages) > 0 {
		kind = workflows.PipelineName
	}
	run, err := c.ExecuteWorkflow(context.Background(), client.StartWorkflowOptions{ID: id, TaskQueue: id, WorkflowExecutionTimeout: 10 * time.Minute}, kind, in)
	if err != nil {
		return []string{err.Error()}
	}
	for d.rest(s) {
		if d.next < len(d.Moves) {
			m := d.Moves[d.next]
			if d.next++; m.Old == 0 {
				if err := s.work(d.w); err != nil {
					return append(d.wrong, err.Error())
				}
			}
			d.move(m)
		} else {
			d.windUp()
		}
		d.minute++
	}
	var res workflows.RunResult
	if err := run.Get(context.Background(), &res); err != nil {
		d.complain("%v", err)
	}
	return d.settle(time.Now(), res.Status)
}

// busy reports whether something of a workflow is under way.
func busy(is *client.WorkflowExecutionDescription) bool {
	return len(is.RawResponse.PendingActivities) > 0 || is.RawResponse.PendingWorkflowTask != nil
}

// rest waits until nothing of the run is under way, and holds it against the model. It returns false once the run has ended.
func (d *drive) rest(s *served) bool {
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	var wrong []string
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-tick.C {
		is, err := s.DescribeWorkflow(context.Background(), s.id, "")
		switch {
		case err != nil:
			wrong = []string{err.Error()}
			continue
		case is.RawResponse.WorkflowExecutionInfo.CloseTime != nil:
			return false
		case busy(is) || slices.ContainsFunc(is.RawResponse.PendingChildren, func(c *workflowpb.PendingChildExecutionInfo) bool {
			child, err := s.DescribeWorkflow(context.Background(), c.GetWorkflowId(), "")
			return err != nil || busy(child)
		}):
			continue
		}
		d.follow(time.Now())
		if wrong = d.compare(); len(wrong) == 0 {
			return true
		}
	}
	for _, w := range wrong {
		d.complain("%s", w)
	}
	_ = s.TerminateWorkflow(context.Background(), s.id, "", "it does not rest")
	return false
}

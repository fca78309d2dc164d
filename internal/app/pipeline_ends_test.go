package app_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdpoint/activities"
	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
	"holdpoint/llm"
	"holdpoint/workflows"
)

// rounds are workflows whose stages are a gate, within a loop and within branches.
const rounds = flows + `---
type: workflow
name: rounds
kind: loop
max_iterations: 3
stages:
  - {name: write, agent: writer}
  - {name: check, gate: {reviewers: [alice]}}
---
type: workflow
name: two
kind: parallel
stages:
  - {name: signed, workflow: rounds}
  - {name: plain, agent: critic}
`

// balanced checks that each stage and branch that a stream announces has one end in it, and returns the ends.
func balanced(h *apptest.Holdpoint, root interaction.RunID) (ends map[string]string) {
	h.T.Helper()
	begun, ended := map[string]int{}, map[string]int{}
	ends = map[string]string{}
	for _, e := range h.Events(root) {
		data, err := event.Decode(e)
		d, ok := data.(event.StageData)
		if err != nil || !ok {
			continue
		}
		name := fmt.Sprintf("%s/%s", d.Workflow, d.Stage)
		key := fmt.Sprintf("%s %s %d", e.RunID, name, d.Iteration)
		switch e.Type {
		case event.StageStarted, event.BranchStarted:
			begun[key]++
		case event.StageCompleted, event.BranchCompleted:
			ended[key]++
			ends[name] = strings.TrimSpace(d.Status + " " + d.Reason)
		default: // a stage that is skipped is not announced
		}
	}
	for key := range begun {
		if begun[key] != 1 || ended[key] != 1 {
			h.T.Errorf("%s began %d times and ended %d times", key, begun[key], ended[key])
		}
	}
	if len(begun) != len(ended) || len(begun) == 0 {
		h.T.Errorf("%d stages began, and %d ended", len(begun), len(ended))
	}
	return ends
}

// TestEveryStageThatBeganEnds has runs of workflows end in every way while a stage is at work, or about to be.
func TestEveryStageThatBeganEnds(t *testing.T) {
	t.Parallel()
	atGate := func(h *apptest.Holdpoint, root interaction.RunID) interaction.Request {
		asked := h.Waits(root, 1)[0]
		if asked.Kind != interaction.KindStage {
			h.T.Fatalf("asked is %+v", asked)
		}
		return asked
	}
	abort := func(h *apptest.Holdpoint, run apptest.RunView) { controlRun(h, run.RunID, "enough") }
	for name, tc := range map[string]struct {
		flow  string
		drive func(h *apptest.Holdpoint, run apptest.RunView)
		ends  string
		want  map[string]string // stages and their ends
	}{
		"stopped at a gate": {"rounds", func(h *apptest.Holdpoint, run apptest.RunView) {
			atGate(h, run.RunID)
			abort(h, run)
		}, "aborted", map[string]string{"rounds/check": "aborted enough", "rounds/write": "completed"}},
		"stopped at a gate of a later round": {"rounds", func(h *apptest.Holdpoint, run apptest.RunView) {
			first := atGate(h, run.RunID)
			h.Answer(first.ID, said("alice", "approve"))
			following(h, run, first.ID)
			abort(h, run)
		}, "aborted", map[string]string{"rounds/check": "aborted enough"}},
		"a gate is answered by terminate": {"rounds", func(h *apptest.Holdpoint, run apptest.RunView) {
			answer := said("alice", "terminate")
			answer["note"] = "wrong way"
			h.Answer(atGate(h, run.RunID).ID, answer)
		}, "aborted", map[string]string{"rounds/check": "aborted wrong way"}},
		"a gate's deadline stops": {"gated", func(*apptest.Holdpoint, apptest.RunView) {}, "failed", map[string]string{"gated/check": "expired stage check: nobody decided"}},
		"cancelled in Temporal": {"rounds", func(h *apptest.Holdpoint, run apptest.RunView) {
			atGate(h, run.RunID)
			if err := h.Client.CancelWorkflow(h.T.Context(), run.Workflow, ""); err != nil {
				h.T.Fatal(err)
			}
		}, "aborted", map[string]string{"rounds/check": "aborted the workflow was cancelled in Temporal"}},
		"terminated in Temporal": {"rounds", func(h *apptest.Holdpoint, run apptest.RunView) {
			atGate(h, run.RunID)
			terminate(h, run.Workflow)
			doctor(h, activities.KeepInput{Mend: true})
		}, "failed", map[string]string{"rounds/check": "failed The run was ended from outside"}},
		"a gate within a branch": {"two", func(h *apptest.Holdpoint, run apptest.RunView) {
			atGate(h, run.RunID+"-1-1-sub")
			abort(h, run)
		}, "aborted", map[string]string{"rounds/check": "aborted", "two/signed": "aborted", "two/plain": "completed"}},
		"a stage fails": {"release", func(h *apptest.Holdpoint, run apptest.RunView) {
			atGate(h, run.RunID)
			terminate(h, run.Workflow)
			doctor(h, activities.KeepInput{Mend: true})
		}, "failed", map[string]string{"release/sign_off": "failed"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := apptest.Start(t, apptest.WithModel(echo()), withConfig(rounds))
			run := h.Start(tc.flow, "go")
			tc.drive(h, run)
			if end := h.Ended(run.RunID); end.Status != tc.ends {
				t.Errorf("it ended %s: %s", end.Status, end.Error)
			}
			got := balanced(h, run.RunID)
			for stage, want := range tc.want {
				if !strings.HasPrefix(got[stage], want) {
					t.Errorf("%s ended %q, want %q", stage, got[stage], want)
				}
			}
			verified(h, run.RunID)
		})
	}
}

// TestAStageThatWasTakenAndNeverBeganEnds stops a workflow of agents that was paused just when a step of it was taken.
func TestAStageThatWasTakenAndNeverBeganEnds(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ flow, kept string }{{"release", "pipeline_stopped_before_a_taken_stage"}, {"views", "pipeline_stopped_before_taken_branches"}} {
		t.Run(tc.flow, func(t *testing.T) {
			t.Parallel()
			taken, release := make(chan struct{}), make(chan struct{})
			model := &apptest.Model{Turn: func(int, llm.Request) llm.Message { return llm.Message{Content: "done"} }}
			h := apptest.Start(t, apptest.WithModel(model), withConfig(rounds), func(o *app.Options) {
				var once bool
				o.Faults = func(p activities.Point) {
					if p == activities.PointStageStored && !once {
						once = true
						close(taken)
						<-release
					}
				}
			})
			run := h.Start(tc.flow, "go")
			<-taken
			control(t, h, run, "pause_run")
			h.TakenIn(run.Workflow, 1)
			close(release)
			h.Eventually("the run to stand", func() bool {
				s, err := h.State(run.Workflow)
				return err == nil && s.Status == "paused" && s.Steps == 0
			})
			begun := func() bool {
				_, err := h.Client.DescribeWorkflow(t.Context(), workflows.RunWorkflowID(run.RunID+"-1-1-sub"), "")
				return err == nil
			}
			<-time.After(100 * time.Millisecond)
			if begun() {
				t.Error("a stage began while the run was paused")
			}
			controlRun(h, run.RunID, "enough")
			if end := h.Ended(run.RunID); end.Status != "aborted" {
				t.Errorf("it ended %s", end.Status)
			}
			for stage, end := range balanced(h, run.RunID) {
				if end != "aborted enough" {
					t.Errorf("%s ended %q", stage, end)
				}
			}
			if begun() {
				t.Error("a stage began after the run was stopped")
			}
			events := h.Closed(run.Workflow)
			keep(t, tc.kept, events)
			replay(t, events)
		})
	}
}

// TestAPausedWorkflowSkipsAndIsAnswered pauses a workflow of agents while it finds out that a stage is skipped, and again
// before its gate is answered. Nothing begins before it goes on.
func TestAPausedWorkflowSkipsAndIsAnswered(t *testing.T) {
	t.Parallel()
	taken, release := make(chan struct{}), make(chan struct{})
	var steps atomic.Int32
	h := apptest.Start(t, apptest.WithModel(echo()), withConfig(rounds), func(o *app.Options) {
		o.Faults = func(p activities.Point) {
			if p == activities.PointStageStored && steps.Add(1) == 2 {
				close(taken)
				<-release
			}
		}
	})
	run := h.Start("release", "go")
	<-taken
	control(t, h, run, "pause_run")
	h.TakenIn(run.Workflow, 1)
	close(release)
	stands := func(turn int) {
		t.Helper()
		h.TakenIn(run.Workflow, 0)
		if s, err := h.State(run.Workflow); err != nil || s.Status != "paused" || s.Steps != turn {
			t.Errorf("it stands at step %d as %s, %v", s.Steps, s.Status, err)
		}
	}
	stands(2)
	control(t, h, run, "resume_run")
	asked := h.Waits(run.RunID, 1)[0]
	control(t, h, run, "pause_run")
	for _, who := range []string{"alice", "bob"} {
		h.Answer(asked.ID, said(who, "approve"))
	}
	h.Eventually("the gate to be closed", func() bool { return recordOf(h, asked.ID).Status == interaction.StatusAnswered })
	stands(4)
	if code, _ := h.HTTP("GET", "/v1/runs/"+string(run.RunID)+"-5-1-sub", nil); code != 404 {
		t.Errorf("the stage behind the gate began: %d", code)
	}
	control(t, h, run, "resume_run")
	completes(h, run.RunID)
	balanced(h, run.RunID)
	events := h.Closed(run.Workflow)
	keep(t, "pipeline_skipped_and_answered_while_paused", events)
	replay(t, events)
}

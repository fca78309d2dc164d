package app_test

import (
	"sync"
	"testing"

	"go.temporal.io/api/enums/v1"

	"holdpoint/activities"
	"holdpoint/interaction"
	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
	"holdpoint/workflows"
)

// TestAPauseReachesAnAgentThatIsBeingCalled has pauses reach runs while they call an agent, which may not have begun when it
// is told.
func TestAPauseReachesAnAgentThatIsBeingCalled(t *testing.T) {
	t.Parallel()
	const runs = 5
	claimed := make(chan struct{})
	h := apptest.Start(t, apptest.WithModel(teamwork()), withEffect(apptest.Effect{}), withConfig(team), func(o *app.Options) {
		o.Faults = func(p activities.Point) {
			if p == activities.PointClaimed {
				claimed <- struct{}{}
			}
		}
	})
	var all []apptest.RunView
	for range runs {
		all = append(all, startTeam(h))
	}
	free := make(chan struct{})
	defer close(free)
	for range runs { // all are in the middle of calling the manager, and go on at once
		<-claimed
	}
	go func() {
		for {
			select {
			case <-claimed:
			case <-free:
				return
			}
		}
	}()
	var wg sync.WaitGroup
	for _, run := range all {
		wg.Go(func() { control(t, as(t, h), run, "pause_run") })
	}
	wg.Wait()
	untold := 0
	for _, run := range all {
		child := interaction.RunID(run.RunID + "-1-1-sub")
		h.Eventually("the agent to be paused, or not called", func() bool {
			called := false
			for _, e := range h.History(run.Workflow, "") {
				called = called || e.GetEventType() == enums.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED
			}
			s, err := h.State(workflows.RunWorkflowID(child))
			return !called || err == nil && s.Status == "paused"
		})
		for _, e := range h.History(run.Workflow, "") {
			if e.GetEventType() == enums.EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED {
				untold++
				keep(t, "paused_while_an_agent_is_called", h.History(run.Workflow, ""))
				break
			}
		}
	}
	t.Logf("%d of %d agents could not be told at first", untold, runs)
	for _, run := range all {
		wg.Go(func() { control(t, as(t, h), run, "resume_run") })
	}
	wg.Wait()
	for _, run := range all {
		replay(t, h.History(run.Workflow, ""))
	}
}

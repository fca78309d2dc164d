package app_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"go.temporal.io/api/enums/v1"

	"holdpoint/activities"
	"holdpoint/internal/app/apptest"
	"holdpoint/internal/seal"
)

// TestAKeyThatIsMissingEndsNoRun takes the key away under which a run was parked, as somebody may who rotates keys, has the run
// answered, and gives the key back.
func TestAKeyThatIsMissingEndsNoRun(t *testing.T) {
	t.Parallel()
	old, next := seal.NewKey("k1"), seal.NewKey("k2")
	for name, left := range map[string]string{"another is there": next, "none is there": "", "another has its name": seal.NewKey("k1")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			done := &counter{}
			h := apptest.Start(t, withEffect(apptest.Effect{Log: done.log}), sealedBy(old), apptest.WithModel(effectOnce(1)))
			run := h.Begin("go")
			asked := h.Waits(run.RunID, 1)[0].ID
			h.App.Close()

			o := h.Options
			sealedBy(left)(&o)
			h = apptest.Run(t, o)
			if code, body := h.Respond(asked, map[string]any{"action": "approve"}); code != http.StatusAccepted {
				t.Errorf("an answer that nobody can apply yet: %d %s", code, body)
			}
			h.Eventually("the doctor to see it", func() bool {
				res := doctor(h, activities.KeepInput{Mend: true})
				return kinds(res) == "failing_task" && strings.Contains(res.Findings[0].Advice, "holdpoint replay")
			})
			if d, err := h.Client.DescribeWorkflow(context.Background(), run.Workflow, ""); err != nil || d.Status != enums.WORKFLOW_EXECUTION_STATUS_RUNNING || done.count() != 0 {
				t.Fatalf("without its key the workflow is %+v (%v), after %d effects", d, err, done.count())
			}
			h.App.Close()

			if wrong := strings.HasPrefix(left, "k1"); wrong {
				sealedBy(old)(&o)
				h = apptest.Run(t, o)
				h.Respond(asked, map[string]any{"action": "approve"}) // again: what that key sealed opens nowhere
			} else {
				sealedBy(strings.Trim(left+","+old, ","))(&o)
				h = apptest.Run(t, o)
			}
			if end := h.Ended(run.RunID); end.Status != "completed" || done.count() != 1 {
				t.Errorf("with its key the run ended as %s, after %d effects", end.Status, done.count())
			}
		})
	}
}

package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/client"

	"holdpoint/api"
	"holdpoint/interaction"
	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
	"holdpoint/internal/store/pgtest"
	"holdpoint/workflows"
)

// rollout is a bridge, and workers of the builds of one Worker Deployment beside it, as they are deployed.
type rollout struct {
	*apptest.Holdpoint
	done map[string]*counter // effects, by build
}

func newRollout(t *testing.T, pinned bool, setups ...apptest.Setup) *rollout {
	t.Helper()
	t.Setenv("TEMPORAL_ADDRESS", apptest.Server(t))
	o := apptest.Options(t, t.TempDir())
	withConfig(fmt.Sprintf("---\ntype: session_store\nname: shared\nstore_type: postgres\ndsn: %q\n", pgtest.Database(t)))(&o)
	for _, s := range append(setups, apptest.WithModel(effectOnce(1))) {
		s(&o)
	}
	bridge, err := app.API(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bridge.Close() })
	o.Deployment = app.Deployment{Name: "d-" + uuid.NewString(), Pinned: pinned}
	return &rollout{&apptest.Holdpoint{App: bridge, T: t, Options: o, Client: bridge.Client()}, map[string]*counter{}}
}

// deploy starts a worker of a build and makes the build current.
func (r *rollout) deploy(build string) (stop func()) {
	r.T.Helper()
	o := r.Options
	o.Data, o.Deployment.BuildID, r.done[build] = r.T.TempDir(), build, &counter{}
	withEffect(apptest.Effect{Log: r.done[build].log})(&o)
	w, err := app.Worker(context.Background(), o)
	if err != nil {
		r.T.Fatal(err)
	}
	stop = sync.OnceFunc(func() { _ = w.Close() })
	r.T.Cleanup(stop)
	becomesCurrent(r.Holdpoint, o.Deployment.Name, build)
	return stop
}

// park has a run wait for an approval.
func (r *rollout) park() (apptest.RunView, interaction.ID) {
	r.T.Helper()
	run := r.Begin("go")
	return run, r.Waits(run.RunID, 1)[0].ID
}

// TestAParkedRunGoesOnWithTheNextBuild makes another build current, whose workers stand beside those of the first: what was parked
// moves to it, unless runs are pinned, and what begins then begins there.
func TestAParkedRunGoesOnWithTheNextBuild(t *testing.T) {
	for name, moved := range map[string]int{"auto-upgrade": 1, "pinned": 0} {
		t.Run(name, func(t *testing.T) {
			r := newRollout(t, moved == 0)
			r.deploy("one")
			parked, asked := r.park()
			r.deploy("two")
			r.Answer(asked, map[string]any{"action": "approve"})
			completes(r.Holdpoint, parked.RunID)
			if r.done["two"].count() != moved || r.done["one"].count() != 1-moved {
				t.Errorf("%d effects by the first build, %d by the next", r.done["one"].count(), r.done["two"].count())
			}
			fresh, asked := r.park()
			r.Answer(asked, map[string]any{"action": "approve"})
			completes(r.Holdpoint, fresh.RunID)
			if n := r.done["two"].count() - moved; n != 1 {
				t.Errorf("what began when the next build was current had %d effects there", n)
			}
		})
	}
}

// TestARunThatWasParkedWithoutItsWorkersGoesOn has the next build start when none of the first is left.
func TestARunThatWasParkedWithoutItsWorkersGoesOn(t *testing.T) {
	r := newRollout(t, false)
	stop := r.deploy("one")
	parked, asked := r.park()
	stop()
	r.deploy("two")
	r.Answer(asked, map[string]any{"action": "approve"})
	completes(r.Holdpoint, parked.RunID)
	if r.done["two"].count() != 1 {
		t.Errorf("%d effects", r.done["two"].count())
	}
}

// TestTheDoctorSeesRunsWhoseVersionNobodyIsOf stops the workers of a pinned build while a run of it is parked, and moves the run as the
// doctor says.
func TestTheDoctorSeesRunsWhoseVersionNobodyIsOf(t *testing.T) {
	r := newRollout(t, true)
	stop := r.deploy("one")
	parked, asked := r.park()
	r.deploy("two")
	stop()
	move := ""
	r.Eventually("the doctor to see the run", func() bool {
		res, err := app.Doctor(context.Background(), app.Options{Config: r.Options.Config, Data: t.TempDir(), TaskQueue: r.Options.TaskQueue,
			Now: func() time.Time { return time.Now().Add(3 * time.Minute) }}, app.Examination{}) // when the last poll is long ago
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range res.Findings {
			if f.Fault() && f.Kind == "no_worker" && strings.Contains(f.What, ":one of a Worker Deployment, such as "+parked.Workflow) {
				_, move, _ = strings.Cut(f.Advice, `"): `)
			}
		}
		return move != ""
	})
	r.Shell(filepath.Dir(apptest.Temporal(t)), "TEMPORAL_ADDRESS="+apptest.Server(t)+" "+move+" --yes")
	r.Answer(asked, map[string]any{"action": "approve"})
	completes(r.Holdpoint, parked.RunID)
	if r.done["two"].count() != 1 || r.done["one"].count() != 0 {
		t.Errorf("%d effects by the build that is current, %d by the one that is gone", r.done["two"].count(), r.done["one"].count())
	}
}

// TestWhatIsToldIsPinnedToNoBuild stops the last worker of a pinned build, none of whose runs is left, while a message of it waits
// for a receiver that is down.
func TestWhatIsToldIsPinnedToNoBuild(t *testing.T) {
	hook := &receiver{down: math.MaxInt, attempts: map[string]int{}}
	at := httptest.NewServer(hook)
	t.Cleanup(at.Close)
	r := newRollout(t, true, withHook(at.URL))
	stop := r.deploy("one")
	run, asked := r.park()
	r.Answer(asked, map[string]any{"action": "skip"})
	completes(r.Holdpoint, run.RunID)
	r.Eventually("the receiver to be tried", func() bool {
		hook.mu.Lock()
		defer hook.mu.Unlock()
		return len(hook.attempts) > 0
	})
	r.deploy("two")
	stop()
	hook.mu.Lock()
	hook.down = 0
	hook.mu.Unlock()
	r.Eventually("the receiver to be told", func() bool { return len(hook.of("interaction.closed", string(asked))) > 0 })
}

func becomesCurrent(h *apptest.Holdpoint, deployment, build string) {
	h.T.Helper()
	h.Eventually("build "+build+" to be current", func() bool {
		_, err := h.Client.WorkerDeploymentClient().GetHandle(deployment).SetCurrentVersion(context.Background(),
			client.WorkerDeploymentSetCurrentVersionOptions{BuildID: build})
		return err == nil
	})
}

func TestADeploymentNeedsBothItsParts(t *testing.T) {
	t.Parallel()
	o := apptest.Options(t, t.TempDir())
	o.Address, o.Deployment = apptest.Server(t), app.Deployment{Name: "d"}
	if _, err := app.Dev(context.Background(), o); err == nil || !strings.Contains(err.Error(), "--build-id") {
		t.Errorf("a deployment without a build: %v", err)
	}
}

func TestRecordedAndLiveRunsReplay(t *testing.T) {
	h := apptest.Start(t, withEffect(apptest.Effect{}), apptest.WithModel(apptest.Turns(apptest.Calls("effect", `{"n":1}`))))
	run := h.Begin("go")
	h.Waits(run.RunID, 1)
	var asked api.ApprovalView
	if code, body := h.HTTP("POST", "/v1/approvals", map[string]any{"title": "Deploy?"}); code != 201 || json.Unmarshal(body, &asked) != nil {
		t.Fatalf("%d %s", code, body)
	}
	h.Waits(asked.ApprovalID, 1)
	t.Setenv("TEMPORAL_ADDRESS", h.TemporalAddress())
	var live []app.Replayed
	h.Eventually("Temporal to list the run and the approval", func() bool {
		live = nil
		query := fmt.Sprintf("WorkflowId IN ('%s', '%s')", run.Workflow, workflows.ApprovalWorkflowID(asked.ApprovalID))
		err := app.ReplayLive(context.Background(), os.LookupEnv, query, func(r app.Replayed) { live = append(live, r) })
		return err == nil && len(live) == 2
	})
	if err := errors.Join(live[0].Err, live[1].Err); err != nil {
		t.Error(err)
	}
	controlRun(h, run.RunID, "that is all")

	recorded := filepath.Join("..", "..", "workflows", "testdata", "histories")
	n := 0
	if err := app.ReplayFiles(context.Background(), os.LookupEnv, []string{recorded}, func(r app.Replayed) {
		if n++; r.Err != nil {
			t.Errorf("%s: %v", r.Name, r.Err)
		}
	}); err != nil || n < 20 {
		t.Errorf("%d histories, %v", n, err)
	}
	text, err := os.ReadFile(filepath.Join(recorded, "approved.json"))
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other.json")
	if err := os.WriteFile(other, []byte(strings.Replace(string(text), `"name": "RunTool"`, `"name": "ResolveCall"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := app.ReplayFiles(context.Background(), os.LookupEnv, []string{other}, func(r app.Replayed) {
		if r.Err == nil {
			t.Error("a history of other code replays")
		}
	}); err != nil {
		t.Error(err)
	}
	if err := app.ReplayFiles(context.Background(), os.LookupEnv, []string{t.TempDir()}, func(app.Replayed) {}); err == nil {
		t.Error("an empty directory is no mistake")
	}
}

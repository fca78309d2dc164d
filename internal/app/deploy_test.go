package app_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"go.temporal.io/sdk/client"

	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
)

// TestAParkedRunGoesOnWithTheNextBuild parks a run on one build of a Worker Deployment and makes another current.
func TestAParkedRunGoesOnWithTheNextBuild(t *testing.T) {
	t.Parallel()
	done := &counter{}
	deployment := app.Deployment{Name: "d-" + uuid.NewString(), BuildID: "one"}
	h := apptest.Start(t, withEffect(apptest.Effect{Log: done.log}), apptest.WithModel(apptest.Turns(apptest.Calls("effect", `{"n":1}`))),
		func(o *app.Options) { o.Deployment = deployment })
	current := func(build string) {
		h.Eventually("build "+build+" to be current", func() bool {
			_, err := h.Client.WorkerDeploymentClient().GetHandle(deployment.Name).SetCurrentVersion(context.Background(),
				client.WorkerDeploymentSetCurrentVersionOptions{BuildID: build})
			return err == nil
		})
	}
	current("one")
	run := h.Begin("go")
	asked := h.Waits(run.RunID, 1)[0]
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	o := h.Options
	o.Deployment.BuildID = "two"
	h = apptest.Run(t, o)
	current("two")
	if code, body := h.Respond(asked.ID, map[string]any{"action": "approve"}); code/100 != 2 {
		t.Fatalf("%d %s", code, body)
	}
	if end := h.Ended(run.RunID); end.Status != "completed" || done.count() != 1 {
		t.Errorf("the run ended %s after %d effects", end.Status, done.count())
	}
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
	t.Setenv("TEMPORAL_ADDRESS", h.TemporalAddress())
	var live []app.Replayed
	h.Eventually("Temporal to list the run", func() bool {
		live = nil
		err := app.ReplayLive(context.Background(), os.LookupEnv, "WorkflowId = '"+run.Workflow+"'", func(r app.Replayed) { live = append(live, r) })
		return err == nil && len(live) == 1
	})
	if live[0].Err != nil {
		t.Error(live[0].Err)
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

package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"holdpoint/interaction"
	"holdpoint/internal/app/apptest"
	"holdpoint/workflows"
)

func TestMain(m *testing.M) {
	code := m.Run()
	apptest.StopServer()
	os.Exit(code)
}

// deploy starts a deployment on a real server and returns how to answer it, to count the approvals, and to await it.
func deploy(t *testing.T) (answer func(who string, action interaction.Action) error, approvals func() int, await func() string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	c, err := client.Dial(client.Options{HostPort: apptest.Server(t), Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	id := uuid.NewString()
	w := worker.New(c, id, worker.Options{})
	w.RegisterWorkflow(Deploy)
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id, TaskQueue: id}, Deploy, "v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	answer = func(who string, action interaction.Action) error {
		u, err := c.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{WorkflowID: id, UpdateName: workflows.MessageRespond, WaitForStage: client.WorkflowUpdateStageCompleted,
			Args: []any{interaction.Response{RequestID: interaction.ID(id + "-1-1-1"), Action: action, Reviewer: interaction.Principal{ID: interaction.PrincipalID(who), Groups: []string{"release"}}}}})
		if err != nil {
			return err
		}
		return u.Get(ctx, nil)
	}
	approvals = func() int {
		var s workflows.State
		v, err := c.QueryWorkflow(ctx, id, "", workflows.QueryState)
		if err == nil {
			err = v.Get(&s)
		}
		if err != nil || len(s.Pending) != 1 {
			t.Fatalf("%+v, %v", s, err)
		}
		return s.Pending[0].Approvals
	}
	await = func() (done string) {
		if err := run.Get(ctx, &done); err != nil {
			t.Fatal(err)
		}
		return done
	}
	return answer, approvals, await
}

func TestADeploymentWaitsForTwoPeople(t *testing.T) {
	t.Parallel()
	answer, approvals, await := deploy(t)
	for _, who := range []string{"alice", "alice"} {
		if err := answer(who, interaction.ActionApprove); err != nil {
			t.Fatal(err)
		}
	}
	if n := approvals(); n != 1 {
		t.Errorf("alice counts as %d", n)
	}
	if err := answer("bob", interaction.ActionApprove); err != nil {
		t.Fatal(err)
	}
	if done := await(); done != "v1.2.3 was deployed" {
		t.Error(done)
	}
}

func TestOneRejectionIsEnough(t *testing.T) {
	t.Parallel()
	answer, _, await := deploy(t)
	if err := answer("bob", interaction.ActionReject); err != nil {
		t.Fatal(err)
	}
	if done := await(); done != "v1.2.3 was not deployed (answered)" {
		t.Error(done)
	}
}

// Not parallel: the settings of Temporal are those of the process.
func TestAMisspeltKeyOfTheProfileFileIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "temporal.toml")
	if err := os.WriteFile(file, []byte("[profile.default]\nnamespce = \"agents\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TEMPORAL_CONFIG_FILE", file)
	if _, err := connect(); err == nil || !strings.Contains(err.Error(), "namespce") {
		t.Error(err)
	}
}

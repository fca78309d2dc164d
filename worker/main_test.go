package main

import (
	"context"
	"testing"

	"go.temporal.io/sdk/client"

	"holdpoint/interaction"
	"holdpoint/internal/app/apptest"
	"holdpoint/workflows"
)

// The connection comes from the environment, so this test can't run beside others that set it.
func TestTheWorkerRunsAgents(t *testing.T) {
	address := apptest.Server(t)
	t.Setenv("TEMPORAL_ADDRESS", address)
	o := apptest.Options(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, o) }()

	c, err := client.Dial(client.Options{HostPort: address})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	in := workflows.RunInput{RunID: "run-of-the-worker", SessionID: "of-the-worker", Agent: "tester", Input: "go"}
	w, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: workflows.SessionWorkflowID(in.SessionID), TaskQueue: o.TaskQueue},
		workflows.AgentRunName, in)
	if err != nil {
		t.Fatal(err)
	}
	var result workflows.RunResult
	if err := w.Get(t.Context(), &result); err != nil || result.Status != "completed" || result.RunID != interaction.RunID("run-of-the-worker") {
		t.Errorf("the run ended as %+v, %v", result, err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("the worker ended with %v", err)
	}
}

func TestAWorkerNeedsAConfiguration(t *testing.T) {
	t.Parallel()
	o := apptest.Options(t, t.TempDir())
	o.Config = ""
	if err := run(t.Context(), o); err == nil {
		t.Error("a worker without a configuration runs")
	}
}

package api_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"holdpoint/api"
	"holdpoint/interaction"
	"holdpoint/internal/devserver"
	"holdpoint/workflows"
)

// gate is the least workflow with a run's messages: it ends with the first answer that it takes.
func gate(ctx workflow.Context, in workflows.RunInput) (workflows.RunResult, error) {
	it := interaction.Open(interaction.Request{ID: interaction.ID("ask-" + in.RunID), RunID: in.RunID, Digest: "d1"}, workflow.Now(ctx))
	respond := func(ctx workflow.Context, m workflows.RespondMessage) (workflows.RespondResult, error) {
		_, err := it.Apply(m.Responses[0], workflow.Now(ctx))
		return workflows.RespondResult{Items: []workflows.ResponseResult{{ResponseID: m.Responses[0].ID,
			InteractionID: it.Request.ID, Applied: err == nil, Status: it.Status}}}, err
	}
	validate := func(_ workflow.Context, m workflows.RespondMessage) error {
		if m.Responses[0].Note != "too late" {
			return nil
		}
		e := &interaction.Error{Code: interaction.CodeExpired, Field: "note", Message: "expired at noon"}
		return sdk.NewNonRetryableApplicationError(e.Error(), string(e.Code), nil, e)
	}
	if err := workflow.SetUpdateHandlerWithOptions(ctx, workflows.MessageRespond, respond, workflow.UpdateHandlerOptions{Validator: validate}); err != nil {
		return workflows.RunResult{}, err
	}
	workflow.Go(ctx, func(ctx workflow.Context) {
		var m workflows.RespondMessage
		if workflow.GetSignalChannel(ctx, workflows.MessageRespond).Receive(ctx, &m) && validate(ctx, m) == nil {
			_, _ = respond(ctx, m)
		}
	})
	return workflows.RunResult{RunID: in.RunID}, workflow.Await(ctx, func() bool { return it.Status.Final() })
}

// real is two bridges before one real Temporal server: one waits for a worker only a moment, the other long enough.
func real(t *testing.T) (hasty, patient *bridge, c client.Client) {
	t.Helper()
	bin, err := devserver.Find(filepath.Join("..", "bin"))
	if err != nil {
		t.Fatal(err)
	}
	server, err := devserver.Start(t.Context(), devserver.Options{Binary: bin})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop() })
	c, err = client.Dial(client.Options{HostPort: server.Address()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	hasty = setup(t, func(cfg *api.Config) { cfg.Temporal, cfg.UpdateTimeout = c, 600*time.Millisecond })
	patient = setup(t, func(cfg *api.Config) { cfg.Temporal, cfg.Store, cfg.UpdateTimeout = c, hasty.store, time.Minute })
	patient.store = hasty.store
	return hasty, patient, c
}

// startAndAsk starts a run by the bridge and returns its id; the store then shows the question that it asks.
func (b *bridge) startAndAsk(session, key string) string {
	b.t.Helper()
	a := b.do("ada", "POST", "/v1/runs", `{"agent":"fixer","session_id":"`+session+`","input":"go"}`, "Idempotency-Key", key)
	if a.status != 201 {
		b.t.Fatalf("%d %s", a.status, a.raw)
	}
	run := a.body["run_id"].(string)
	defer b.store.lock()()
	b.ask(interaction.RunID(run), interaction.ID("ask-"+run))
	return run
}

func TestOnARealServer(t *testing.T) {
	t.Parallel()
	hasty, b, c := real(t)
	parked := b.startAndAsk("s1", "k1")

	again := b.do("ada", "POST", "/v1/runs", `{"agent":"fixer","session_id":"s1","input":"go"}`)
	wantProblem(t, again, 409, "session_busy")
	if again.body["run_id"] != parked {
		t.Errorf("the live run is %s, said is %s", parked, again.raw)
	}
	b.store.mu.Lock()
	b.store.runs = nil // the record lags; Temporal knows
	b.store.mu.Unlock()
	if a := b.do("ada", "POST", "/v1/runs", `{"agent":"fixer","session_id":"s1","input":"go"}`, "Idempotency-Key", "k1"); a.body["run_id"] != parked {
		t.Errorf("the same key gave %s", a.raw)
	}
	wantProblem(t, b.do("ada", "POST", "/v1/runs", `{"agent":"fixer","session_id":"s1","input":"no"}`, "Idempotency-Key", "k1"), 422, "key_reused")
	b.store.mu.Lock()
	b.store.runs = append(b.store.runs, savedRun(parked))
	b.store.mu.Unlock()

	// Nobody works: the answer is stored, and carried out once a worker comes.
	path := "/v1/interactions/ask-" + parked + "/respond"
	if a := hasty.do("ada", "POST", path, `{"id":"x1","action":"approve"}`); a.status != 202 {
		t.Fatalf("without a worker: %d %s", a.status, a.raw)
	}
	w := worker.New(c, workflows.DefaultTaskQueue, worker.Options{})
	w.RegisterWorkflowWithOptions(gate, workflow.RegisterOptions{Name: workflows.AgentRunName})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	waitCompleted(t, c, "session-s1")
	wantProblem(t, b.do("ada", "POST", path, `{"action":"approve"}`), 409, "run_ended")

	// With a worker: a refusal leaves it open, an approval closes it.
	live := b.startAndAsk("s1", "k2")
	path = "/v1/interactions/ask-" + live + "/respond"
	late := b.do("ada", "POST", path, `{"action":"reject","note":"too late"}`)
	wantProblem(t, late, 410, "expired")
	wantLocation(t, late, "body.note")
	if a := b.do("ada", "POST", path, `{"id":"x2","action":"approve","digest":"d1"}`); a.status != 200 || a.body["status"] != "answered" {
		t.Fatalf("%d %s", a.status, a.raw)
	}
	waitCompleted(t, c, "session-s1")
}

func waitCompleted(t *testing.T, c client.Client, id string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := c.GetWorkflow(ctx, id, "").Get(ctx, nil); err != nil {
		t.Fatal(err)
	}
	d, err := c.DescribeWorkflow(ctx, id, "")
	if err != nil || d.Status != enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED {
		t.Fatalf("%v, %v", d, err)
	}
}

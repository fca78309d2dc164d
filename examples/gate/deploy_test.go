package main

import (
	"bytes"
	"context"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"holdpoint/interaction"
	"holdpoint/internal/app/apptest"
	"holdpoint/workflows"
)

var record = flag.Bool("record", false, "keep the histories of shapes of which none is kept yet")

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	apptest.StopServer()
	os.Exit(code)
}

// deployment is a run of Deploy on a real server, with a worker of its own.
type deployment struct {
	t   *testing.T
	c   client.Client
	ctx context.Context
	run client.WorkflowRun
}

func deploy(t *testing.T) *deployment {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	c, err := client.Dial(client.Options{HostPort: apptest.Server(t), Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	d := &deployment{t: t, c: c, ctx: ctx}
	id := "deploy-" + uuid.NewString()
	w := worker.New(c, id, worker.Options{})
	w.RegisterWorkflow(Deploy)
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	d.start(id)
	return d
}

func (d *deployment) start(id string) {
	d.t.Helper()
	run, err := d.c.ExecuteWorkflow(d.ctx, client.StartWorkflowOptions{ID: id, TaskQueue: id}, Deploy, "v1.2.3")
	if err != nil {
		d.t.Fatal(err)
	}
	d.run = run
}

// asked is what waits.
func (d *deployment) asked() workflows.PendingInteraction {
	d.t.Helper()
	var s workflows.State
	v, err := d.c.QueryWorkflow(d.ctx, d.run.GetID(), "", workflows.QueryState)
	if err == nil {
		err = v.Get(&s)
	}
	if err != nil || len(s.Pending) != 1 {
		d.t.Fatalf("%+v, %v", s, err)
	}
	return s.Pending[0]
}

func (d *deployment) answer(id interaction.ID, who string, action interaction.Action) error {
	u, err := d.c.UpdateWorkflow(d.ctx, client.UpdateWorkflowOptions{WorkflowID: d.run.GetID(), UpdateName: workflows.MessageRespond, WaitForStage: client.WorkflowUpdateStageCompleted,
		Args: []any{interaction.Response{RequestID: id, Action: action, Reviewer: interaction.Principal{ID: interaction.PrincipalID(who), Groups: []string{"release"}}}}})
	if err != nil {
		return err
	}
	return u.Get(d.ctx, nil)
}

func (d *deployment) say(who string, action interaction.Action) {
	d.t.Helper()
	if err := d.answer(d.asked().ID, who, action); err != nil {
		d.t.Fatal(err)
	}
}

func (d *deployment) await() (done string) {
	d.t.Helper()
	if err := d.run.Get(d.ctx, &done); err != nil {
		d.t.Fatal(err)
	}
	return done
}

// keep writes the history where -record asks for it and none is kept yet.
func (d *deployment) keep(name string) {
	d.t.Helper()
	path := filepath.Join("testdata", "histories", name+".json")
	if _, err := os.Stat(path); err == nil || !*record {
		return
	}
	var h history.History
	for it := d.c.GetWorkflowHistory(d.ctx, d.run.GetID(), d.run.GetRunID(), false, 1); it.HasNext(); {
		e, err := it.Next()
		if err != nil {
			d.t.Fatal(err)
		}
		h.Events = append(h.Events, e)
	}
	raw, err := temporalproto.CustomJSONMarshalOptions{Indent: " "}.Marshal(&h)
	if err == nil {
		raw = regexp.MustCompile(`"identity": ?"[^"]*"`).ReplaceAll(raw, []byte(`"identity": "recorded"`))
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err == nil {
		err = os.WriteFile(path, append(raw, '\n'), 0o644)
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

func TestADeploymentWaitsForTwoPeople(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	d.say("alice", interaction.ActionApprove)
	d.say("alice", interaction.ActionApprove)
	if n := d.asked().Approvals; n != 1 {
		t.Errorf("alice counts as %d", n)
	}
	d.say("bob", interaction.ActionApprove)
	if done := d.await(); done != "v1.2.3 was deployed" {
		t.Error(done)
	}
	d.keep("approved_by_two_of_one_execution")
}

func TestOneRejectionIsEnough(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	d.say("bob", interaction.ActionReject)
	if done := d.await(); done != "v1.2.3 was not deployed (answered)" {
		t.Error(done)
	}
}

// TestAnAnswerToAnEarlierDeploymentIsNoneToTheNext starts a deployment under the id of one that has ended.
func TestAnAnswerToAnEarlierDeploymentIsNoneToTheNext(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	first := d.asked().ID
	d.say("alice", interaction.ActionApprove)
	d.say("bob", interaction.ActionReject)
	d.await()
	d.start(d.run.GetID())
	for _, who := range []string{"alice", "carol"} {
		if err := d.answer(first, who, interaction.ActionApprove); err == nil || !strings.Contains(err.Error(), "no interaction") {
			t.Errorf("a late approval of the first by %s was answered %v", who, err)
		}
	}
	if n := d.asked().Approvals; n != 0 {
		t.Errorf("%d approvals of the first deployment count for the second", n)
	}
	d.say("bob", interaction.ActionReject)
	d.await()
}

// TestRecordedDeploymentsReplay replays deployments of every version of the gates that there was.
func TestRecordedDeploymentsReplay(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "histories", "*.json"))
	if err != nil || len(files) < 2 {
		t.Fatalf("recorded histories are missing: %v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		h, err := client.HistoryFromJSON(bytes.NewReader(text), client.HistoryJSONOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var o worker.ReplayWorkflowHistoryOptions
		if filepath.Base(file) == "approved_by_two.json" { // its question is named by the workflow's id, which is in no history
			o.OriginalExecution.ID = h.Events[0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowId()
		}
		r := worker.NewWorkflowReplayer()
		r.RegisterWorkflow(Deploy)
		if err := r.ReplayWorkflowHistoryWithOptions(nil, h, o); err != nil {
			t.Errorf("%s: %v", file, err)
		}
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

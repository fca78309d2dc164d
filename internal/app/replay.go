package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"holdpoint/internal/seal"
	"holdpoint/workflows"
)

// Replayed is what became of one history under this build.
type Replayed struct {
	Name string // file, or workflow id and Temporal's run id
	Err  error  // nil: this build takes it on
	// Unread says that Err is about reading it: it was not replayed, and nothing is known of it.
	Unread bool
}

// ReplayFiles replays the histories in files, and in directories the files that end in .json, and tells of each. They are
// what `temporal workflow show --output json` writes.
func ReplayFiles(ctx context.Context, getenv func(string) (string, bool), paths []string, tell func(Replayed)) error {
	keys, err := seal.Load(ctx, getenv)
	if err != nil {
		return err
	}
	for _, path := range paths {
		files := []string{path}
		if info, err := os.Stat(path); err != nil {
			return err
		} else if info.IsDir() {
			if files, err = filepath.Glob(filepath.Join(path, "*.json")); err != nil {
				return err
			}
			if len(files) == 0 {
				return fmt.Errorf("%s: %w: a directory of histories has files that end in .json", path, fs.ErrNotExist)
			}
		}
		for _, file := range files {
			h, err := historyIn(file)
			tell(replayOf(file, h, err, keys))
		}
	}
	return nil
}

// MaxReplayed bounds how many workflows ReplayLive looks at.
const MaxReplayed = 10_000

// ReplayLive replays the runs that a visibility query selects, "" all that are open, from the namespace that the
// TEMPORAL_* variables name. It changes nothing there.
func ReplayLive(ctx context.Context, getenv func(string) (string, bool), query string, tell func(Replayed)) error {
	options, err := connection()
	if err != nil {
		return err
	}
	keys, err := seal.Load(ctx, getenv)
	if err != nil {
		return err
	}
	c, err := client.DialContext(ctx, keys.Client(options))
	if err != nil {
		return unanswered(options, err)
	}
	defer c.Close()
	if err := namespaceThere(ctx, c, options); err != nil {
		return err
	}
	only := fmt.Sprintf("WorkflowType IN ('%s')", strings.Join(runTypes, "', '"))
	if query == "" {
		query = "ExecutionStatus = 'Running'"
	}
	request := &workflowservice.ListWorkflowExecutionsRequest{Query: only + " AND (" + query + ")", PageSize: 200}
	for n := 0; n < MaxReplayed; {
		page, err := c.ListWorkflow(ctx, request)
		if err != nil {
			return fmt.Errorf("the runs can't be listed: %w", err)
		}
		for _, e := range page.GetExecutions() {
			n++
			id, run := e.GetExecution().GetWorkflowId(), e.GetExecution().GetRunId()
			h, err := historyOf(ctx, c, id, run)
			tell(replayOf(id+" "+run, h, err, keys))
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			return nil
		}
	}
	return fmt.Errorf("there are more than %d such runs: narrow the query", MaxReplayed)
}

func historyOf(ctx context.Context, c client.Client, id, run string) (*history.History, error) {
	h := &history.History{}
	it := c.GetWorkflowHistory(ctx, id, run, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for it.HasNext() {
		e, err := it.Next()
		if err != nil {
			return nil, err
		}
		h.Events = append(h.Events, e)
	}
	return h, nil
}

func historyIn(file string) (_ *history.History, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return client.HistoryFromJSON(f, client.HistoryJSONOptions{})
}

// replayOf replays a history, unless it could not be read, or its payloads can't: what is sealed under a key that is not here
// says nothing about the build.
func replayOf(name string, h *history.History, err error, keys *seal.Ring) Replayed {
	if err == nil && len(h.GetEvents()) == 0 {
		err = errors.New("it has no events")
	}
	if err == nil {
		err = keys.Opens(h)
	}
	if err != nil {
		return Replayed{Name: name, Err: err, Unread: true}
	}
	r, err := replayer(keys)
	if err == nil {
		err = r.ReplayWorkflowHistory(quiet, h)
	}
	return Replayed{Name: name, Err: err}
}

// quiet keeps the SDK from telling on the output what the caller is told anyway.
var quiet = sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))

func replayer(keys *seal.Ring) (worker.WorkflowReplayer, error) {
	r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{DataConverter: keys.Converter()})
	if err != nil {
		return nil, err
	}
	r.RegisterWorkflowWithOptions(workflows.AgentRun, workflow.RegisterOptions{Name: workflows.AgentRunName})
	r.RegisterWorkflowWithOptions(workflows.Pipeline, workflow.RegisterOptions{Name: workflows.PipelineName})
	r.RegisterWorkflowWithOptions(workflows.Approval, workflow.RegisterOptions{Name: workflows.ApprovalName})
	r.RegisterWorkflowWithOptions(workflows.Notify, workflow.RegisterOptions{Name: workflows.NotifyName})
	r.RegisterWorkflowWithOptions(workflows.Keep, workflow.RegisterOptions{Name: workflows.KeepName})
	return r, nil
}

// ReplayMistake is a replay's error in one line.
func ReplayMistake(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

package app_test

import (
	"bufio"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
)

// drained stops a worker while a command runs that writes began, and returns the run, and the command's workspace.
func drained(t *testing.T, drain time.Duration, command string) (h *apptest.Holdpoint, run apptest.RunView, work string) {
	t.Helper()
	h = apptest.Start(t, apptest.WithRules(`{match: bash, decision: allow}`, `{match: file_write, decision: allow}`), func(o *app.Options) { o.Drain = drain },
		apptest.WithModel(apptest.Turns(apptest.Calls("bash", apptest.Bash("echo began >> began; "+command)))))
	run, work = h.Begin("go"), h.Dir
	h.Eventually("the command to begin", func() bool { return exists(filepath.Join(work, "began")) })
	h.StopWorker()
	return h, run, work
}

func lines(t *testing.T, path string) int {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Count(string(b), "\n")
}

func TestAWorkerThatIsStoppedLetsItsCallsEnd(t *testing.T) {
	t.Parallel()
	h, run, work := drained(t, time.Minute, "sleep 2; echo done >> done")
	if n := lines(t, filepath.Join(work, "done")); n != 1 {
		t.Errorf("the worker was stopped, and its command was done %d times", n)
	}
	if err := h.StartWorker(); err != nil {
		t.Fatal(err)
	}
	if got := h.Ended(run.RunID); got.Status != "completed" {
		t.Errorf("the run ended as %s", got.Status)
	}
	if strings.Contains(h.EventTypes(run.RunID), "interaction_request") || lines(t, filepath.Join(work, "began")) != 1 {
		t.Errorf("somebody was asked, or the command ran again: %s", h.EventTypes(run.RunID))
	}
}

func TestACallThatOutlastsItsWorkersPatienceIsStoppedAndToldOf(t *testing.T) {
	t.Parallel()
	h, run, work := drained(t, 300*time.Millisecond, "sleep 600; echo done >> done")
	if err := h.StartWorker(); err != nil {
		t.Fatal(err)
	}
	if got := h.Ended(run.RunID); got.Status != "completed" {
		t.Errorf("the run ended as %s", got.Status)
	}
	_, steps := h.HTTP(http.MethodGet, "/v1/runs/"+string(run.RunID)+"/steps", nil)
	if !strings.Contains(string(steps), "the worker was shut down") || !strings.Contains(string(steps), "aborted") {
		t.Errorf("the model was not told what became of its call: %s", steps)
	}
	if n := lines(t, filepath.Join(work, "began")); n != 1 || lines(t, filepath.Join(work, "done")) != 0 {
		t.Errorf("the command ran %d times, and went on %d", n, lines(t, filepath.Join(work, "done")))
	}
}

func TestABridgeThatIsStoppedEndsItsStreams(t *testing.T) {
	t.Parallel()
	h := apptest.Start(t, apptest.WithRules(`{match: bash, decision: ask}`), apptest.WithModel(apptest.Turns(apptest.Calls("bash", apptest.Bash("true")))))
	run := h.Begin("go")
	h.Waits(run.RunID, 1)
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, h.URL()+"/v1/runs/"+string(run.RunID)+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+h.Token())
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	stream, closed := bufio.NewScanner(resp.Body), make(chan error, 1)
	for stream.Scan() && !strings.Contains(stream.Text(), "execution_suspended") {
	}
	go func() { closed <- h.App.Close() }()
	for stream.Scan() { // to its end
	}
	if err := stream.Err(); err != nil {
		t.Errorf("the stream was torn: %v", err)
	}
	if err := <-closed; err != nil {
		t.Errorf("the bridge waited for a stream: %v", err)
	}
}

// TestACallThatAPersonApprovedEndsWithItsWorker stops the worker while a call runs that somebody approved: the approval is used up by it.
func TestACallThatAPersonApprovedEndsWithItsWorker(t *testing.T) {
	t.Parallel()
	h := apptest.Start(t, apptest.WithRules(`{match: bash, decision: ask}`), func(o *app.Options) { o.Drain = time.Minute },
		apptest.WithModel(apptest.Turns(apptest.Calls("bash", apptest.Bash("echo began >> began; sleep 2; echo done >> done")))))
	run, work := h.Begin("go"), h.Dir
	h.Answer(h.Waits(run.RunID, 1)[0].ID, map[string]any{"action": "approve"})
	h.Eventually("the command to begin", func() bool { return exists(filepath.Join(work, "began")) })
	h.StopWorker()
	if n := lines(t, filepath.Join(work, "done")); n != 1 {
		t.Errorf("the worker was stopped, and what was approved was done %d times", n)
	}
	if err := h.StartWorker(); err != nil {
		t.Fatal(err)
	}
	if got := h.Ended(run.RunID); got.Status != "completed" {
		t.Errorf("the run ended as %s", got.Status)
	}
	if asked := strings.Count(h.EventTypes(run.RunID), "interaction_request"); asked != 1 || lines(t, filepath.Join(work, "began")) != 1 {
		t.Errorf("somebody was asked %d times, or the command ran again", asked)
	}
}

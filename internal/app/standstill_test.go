package app_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
	"holdpoint/llm"
	"holdpoint/tool"
)

// ticking writes a line every now and then, beside a child that hears no request to end, until it is told to end.
const ticking = `(trap '' TERM HUP INT; echo $BASHPID > deaf.pid; exec sleep 600) & setsid sleep 600 & echo $! > other.pid
echo $$ > shell.pid; until test -e enough; do echo x >> ticks; sleep 0.05; done; kill -9 $(cat deaf.pid other.pid); echo finished`

// ticker is the directory of such a command.
type ticker string

func (d ticker) ticks() int64 {
	info, err := os.Stat(filepath.Join(string(d), "ticks"))
	if err != nil {
		return 0
	}
	return info.Size()
}

// begin approves the command and waits for it to run. It returns its processes.
func (d ticker) begin(h *apptest.Holdpoint, asked ...interaction.Request) (pids []string) {
	h.T.Helper()
	for _, q := range asked {
		h.Answer(q.ID, map[string]any{"action": "approve"})
	}
	return d.pids(h)
}

// pids waits for the command to run and returns its processes.
func (d ticker) pids(h *apptest.Holdpoint) (pids []string) {
	h.T.Helper()
	h.Eventually("the command to run", func() bool {
		pids = nil
		for _, name := range []string{"deaf.pid", "other.pid", "shell.pid"} {
			if b, err := os.ReadFile(filepath.Join(string(d), name)); err == nil && strings.HasSuffix(string(b), "\n") {
				pids = append(pids, strings.TrimSpace(string(b)))
			}
		}
		return len(pids) == 3 && d.ticks() > 0
	})
	return pids
}

// stand checks that the processes are there, and that none moves.
func (d ticker) stand(t *testing.T, pids []string) {
	t.Helper()
	before := d.ticks()
	for range 20 {
		<-time.After(10 * time.Millisecond)
		for _, pid := range pids {
			stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
			if _, state, _ := strings.Cut(string(stat), ") "); err != nil || !strings.HasPrefix(state, "T") {
				t.Fatalf("process %s does not stand: %q, %v", pid, state, err)
			}
		}
	}
	if after := d.ticks(); after != before {
		t.Errorf("%d bytes were written by a command that stands", after-before)
	}
}

func (d ticker) end(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(string(d), "enough"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// holds are the events that say how running calls stand, such as "tool_paused stopped".
func holds(h *apptest.Holdpoint, run interaction.RunID) (out []string) {
	h.T.Helper()
	events, err := h.Store().Events(context.Background(), run, 0, 1000)
	if err != nil {
		h.T.Fatal(err)
	}
	for _, e := range events {
		if d, err := event.Decode(e); err == nil {
			if d, ok := d.(event.ToolHoldData); ok {
				out = append(out, fmt.Sprintf("%s %s", e.Type, d.How))
			}
		}
	}
	return out
}

func waitsFor(h *apptest.Holdpoint, run interaction.RunID, want ...string) {
	h.T.Helper()
	h.Eventually(strings.Join(want, ", "), func() bool { return slices.Equal(holds(h, run), want) })
}

const (
	paused      = "tool_paused stopped"
	resumed     = "tool_resumed stopped"
	pausedLater = "tool_paused at its next boundary"
)

func TestAPausedCommandIsStoppedAndGoesOn(t *testing.T) {
	t.Parallel()
	h := apptest.Start(t, apptest.WithModel(apptest.Turns(apptest.Calls("bash", apptest.Bash(ticking)))))
	d := ticker(h.Dir)
	run := h.Begin("go")
	pids := d.begin(h, h.Waits(run.RunID, 1)...)
	began := time.Now()
	control(t, h, run, "pause_run")
	waitsFor(h, run.RunID, paused)
	t.Logf("it stood, and the record said so, after %s", time.Since(began))
	d.stand(t, pids)
	before := d.ticks()
	control(t, h, run, "resume_run")
	waitsFor(h, run.RunID, paused, resumed)
	h.Eventually("the command to go on", func() bool { return d.ticks() > before })
	d.end(t)
	if end := h.Ended(run.RunID); end.Status != "completed" || !strings.Contains(resultOf(h, run.RunID, interaction.CallID(run.RunID+"-1-1")).Content, "finished") {
		t.Errorf("it ended %s", end.Status)
	}
	events := h.Closed(run.Workflow)
	keep(t, "paused_while_a_tool_runs", events)
	replay(t, events)
}

func TestAPausedCommandOfACalledAgentIsStoppedAndAborted(t *testing.T) {
	t.Parallel()
	var dir string
	model := teamwork()
	hand := model.Turn
	model.Turn = func(n int, req llm.Request) llm.Message {
		if n == 1 && req.System == "worker" {
			return apptest.Calls("bash", apptest.Bash(ticking))
		}
		return hand(n, req)
	}
	h := apptest.Start(t, apptest.WithModel(model), func(o *app.Options) {
		dir = filepath.Join(filepath.Dir(o.Config), "work")
		withConfig(team + "tools: [bash]\nworkspace: " + dir + "\n")(o)
	})
	d := ticker(dir)
	run := startTeam(h)
	pids := d.begin(h, descendant(h, run.RunID))
	control(t, h, run, "pause_run")
	waitsFor(h, run.RunID, paused)
	d.stand(t, pids)
	began := time.Now()
	controlRun(h, run.RunID, "enough")
	h.Eventually("its processes to be gone", func() bool { return !slices.ContainsFunc(pids, processLives) })
	took := time.Since(began)
	if end := h.Ended(run.RunID); end.Status != "aborted" {
		t.Errorf("the run ended %s", end.Status)
	}
	t.Logf("the processes were gone after %s", took)
	if took > soon {
		t.Errorf("the processes were gone only after %s", took)
	}
}

func TestAToolThatCanNotBeStoppedPausesAtItsBoundary(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	c := &counter{}
	model := apptest.Turns(apptest.Calls("effect", `{"n":1}`))
	h := apptest.Start(t, apptest.WithModel(model), apptest.WithRules(`{match: effect, decision: allow}`),
		withEffect(apptest.Effect{Log: c.log, Hold: func(context.Context, tool.Call) { <-release }}))
	run := h.Begin("go")
	h.Eventually("the tool to run", func() bool { return c.count() == 1 })
	control(t, h, run, "pause_run")
	waitsFor(h, run.RunID, pausedLater)
	control(t, h, run, "resume_run")
	waitsFor(h, run.RunID, pausedLater, "tool_resumed at its next boundary")
	control(t, h, run, "pause_run")
	waitsFor(h, run.RunID, pausedLater, "tool_resumed at its next boundary", pausedLater)
	close(release)
	h.Eventually("its result to be stored", func() bool {
		return resultOf(h, run.RunID, interaction.CallID(run.RunID+"-1-1")) != nil
	})
	if n := len(model.Requests()); n != 1 {
		t.Errorf("the model was asked %d times while the run was paused", n)
	}
	control(t, h, run, "resume_run")
	completes(h, run.RunID)
}

func TestOneRunningCallIsPausedAlone(t *testing.T) {
	t.Parallel()
	h := apptest.Start(t, apptest.WithModel(apptest.Turns(
		apptest.Calls("bash", apptest.Bash(ticking), "bash", apptest.Bash("until test -e other; do sleep 0.05; done")))))
	d := ticker(h.Dir)
	run := h.Begin("go")
	pids := d.begin(h, h.Waits(run.RunID, 2)...)
	first, second := interaction.CallID(run.RunID+"-1-1"), interaction.CallID(run.RunID+"-1-2")
	call := func(action string, id interaction.CallID) (int, []byte) {
		return h.HTTP("POST", "/v1/runs/"+string(run.RunID)+"/control", map[string]any{"action": action, "tool_call_id": id, "note": "a look"})
	}
	if code, body := call("pause", first); code != 200 {
		t.Fatalf("pause: %d %s", code, body)
	}
	waitsFor(h, run.RunID, paused)
	d.stand(t, pids)
	if err := os.WriteFile(filepath.Join(h.Dir, "other"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h.Eventually("the other call to end", func() bool { return resultOf(h, run.RunID, second) != nil })
	h.TakenIn(run.Workflow, 1)
	for _, wrong := range []struct {
		action string
		id     interaction.CallID
	}{{"pause", second}, {"resume", second}, {"pause", "nothing"}} {
		if code, body := call(wrong.action, wrong.id); code == 200 || !strings.Contains(string(body), "no call") {
			t.Errorf("%s of %s: %d %s", wrong.action, wrong.id, code, body)
		}
	}
	if code, body := call("resume", first); code != 200 {
		t.Fatalf("resume: %d %s", code, body)
	}
	waitsFor(h, run.RunID, paused, resumed)
	d.end(t)
	completes(h, run.RunID)
	events := h.Closed(run.Workflow)
	keep(t, "paused_one_running_call", events)
	replay(t, events)
}

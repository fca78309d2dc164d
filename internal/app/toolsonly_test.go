package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"holdpoint/interaction"
	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
	"holdpoint/internal/store/pgtest"
)

// machine is another machine, as far as a worker can tell: a process with a configuration and a workspace of its own.
type machine struct {
	h     *apptest.Holdpoint
	o     app.Options
	queue string
	notes string
	work  string
	cmd   *exec.Cmd
}

// boundTo puts bash and file_write on a task queue, and everything into one database.
func boundTo(queue, dsn, env string) string {
	return fmt.Sprintf(`---
type: session_store
name: shared
store_type: postgres
dsn: %q
---
type: tool
name: bash
task_queue: %s
params: {env: ["WHERE=%s"]}
---
type: tool
name: file_write
task_queue: %s
`, dsn, queue, env, queue)
}

func newMachine(t *testing.T, h *apptest.Holdpoint, queue, dsn string) *machine {
	t.Helper()
	dir := t.TempDir()
	o := apptest.Options(t, dir)
	withConfig(boundTo(queue, dsn, "there"))(&o)
	return &machine{h: h, o: o, queue: queue, notes: dir, work: filepath.Join(dir, "work")}
}

// start runs a worker there.
func (m *machine) start() {
	m.h.T.Helper()
	spec, err := json.Marshal(victim{Role: toolsAlone, Config: m.o.Config, Data: filepath.Join(m.notes, "data-"+uuid.NewString()), TaskQueue: m.queue, Notes: m.notes})
	if err != nil {
		m.h.T.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		m.h.T.Fatal(err)
	}
	m.cmd = exec.Command(exe)
	m.cmd.Env = append(os.Environ(), envVictim+"="+string(spec), "TEMPORAL_ADDRESS="+m.h.TemporalAddress())
	m.cmd.Stderr = os.Stderr
	if _, err := m.cmd.StdinPipe(); err != nil {
		m.h.T.Fatal(err)
	}
	if err := m.cmd.Start(); err != nil {
		m.h.T.Fatal(err)
	}
	m.h.T.Cleanup(m.kill)
	m.h.Eventually("the worker to be ready", func() bool { return exists(filepath.Join(m.notes, fmt.Sprint(noteReady, m.cmd.Process.Pid))) })
}

func (m *machine) kill() {
	_ = m.cmd.Process.Kill()
	_ = m.cmd.Wait()
}

func (m *machine) read(name string) string {
	b, _ := os.ReadFile(filepath.Join(m.work, name))
	return strings.TrimSpace(string(b))
}

func TestAToolRunsWhereItsTaskQueueIs(t *testing.T) {
	t.Parallel()
	queue, dsn := "tools-"+uuid.NewString(), pgtest.Database(t)
	model := &cast{}
	model.plays("where", apptest.Calls("bash", apptest.Bash("echo $WHERE > where; pwd")))
	model.plays("write", apptest.Calls("file_write", `{"path":"note.txt","content":"new\n"}`))
	model.plays("long", apptest.Calls("bash", apptest.Bash("echo $$ > pid; sleep 600")))
	h := apptest.Start(t, apptest.WithModel(model), withConfig(boundTo(queue, dsn, "here")))
	m := newMachine(t, h, queue, dsn)
	if err := os.WriteFile(filepath.Join(m.work, "note.txt"), []byte("old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	approve := func(run apptest.RunView) interaction.Request {
		t.Helper()
		asked := h.Waits(run.RunID, 1)[0]
		h.Answer(asked.ID, map[string]any{"action": "approve"})
		return asked
	}
	first := h.Begin("where")
	h.Eventually("the run to say where its call waits", func() bool {
		return strings.Contains(h.Details(first.Workflow), "waits for a worker there")
	})
	m.start()
	approve(first)
	completes(h, first.RunID)
	if got := resultOf(h, first.RunID, interaction.CallID(first.RunID+"-1-1")).Content; m.read("where") != "there" || !strings.Contains(got, m.work) {
		t.Errorf("it ran in %s, and left %q", got, m.read("where"))
	}
	if exists(filepath.Join(h.Dir, "where")) {
		t.Error("it ran here, too")
	}

	second := h.Begin("write")
	if asked := approve(second); !strings.Contains(asked.Details, "-old") || !strings.Contains(asked.Details, "+new") {
		t.Errorf("the question shows %q", asked.Details)
	}
	completes(h, second.RunID)
	if m.read("note.txt") != "new" || exists(filepath.Join(h.Dir, "note.txt")) {
		t.Errorf("there the file has %q", m.read("note.txt"))
	}

	third := h.Begin("long")
	approve(third)
	h.Eventually("the command to run", func() bool { return m.read("pid") != "" })
	m.kill()
	h.Eventually("the command to end with its worker", func() bool { return !processLives(m.read("pid")) })
	m.start()
	asked := h.Waits(third.RunID, 1)[0]
	if asked.Kind != interaction.KindOutcomeUnknown {
		t.Errorf("what is asked is of kind %s", asked.Kind)
	}
	h.Answer(asked.ID, map[string]any{"action": "skip"})
	completes(h, third.RunID)

	if err := os.Remove(filepath.Join(m.work, "pid")); err != nil {
		t.Fatal(err)
	}
	fourth := h.Begin("long")
	approve(fourth)
	h.Eventually("the command to run", func() bool { return m.read("pid") != "" })
	control(t, h, fourth, "pause_run")
	waitsFor(h, fourth.RunID, paused)
	began := time.Now()
	controlRun(h, fourth.RunID, "enough")
	h.Eventually("its process to be gone", func() bool { return !processLives(m.read("pid")) })
	if took := time.Since(began); took > soon {
		t.Errorf("the process was gone only after %s", took)
	}
	abortedBy(h, fourth, "dev", "enough")
	for name, run := range map[string]apptest.RunView{"ran_on_a_task_queue_of_its_own": second, "lost_on_a_task_queue_of_its_own": third} {
		events := h.Closed(run.Workflow)
		keep(t, name, events)
		replay(t, events)
	}
}

func TestAWorkerForToolsAloneNeedsAQueueAndTheStore(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]apptest.Setup{
		"serves a task queue of its own": func(o *app.Options) { o.TaskQueue = "" },
		"is that of the agents":          func(o *app.Options) { o.TaskQueue = "holdpoint" },
		"needs the address of the store": func(*app.Options) {},
		"runs no workflows":              func(o *app.Options) { o.Deployment = app.Deployment{Name: "d", BuildID: "1"} },
	} {
		o := apptest.Options(t, t.TempDir())
		o.ToolsOnly = true
		change(&o)
		a, err := app.Worker(context.Background(), o)
		if err == nil {
			_ = a.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"

	"holdpoint/activities"
	"holdpoint/interaction"
	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
	"holdpoint/tool"
)

// crash is a Holdpoint of which a process is killed: all of it, or the worker, with the bridge and the Temporal
// server in the test's own process.
type crash struct {
	*apptest.Holdpoint // replaced at each start of a whole one: its port and Temporal's change
	t                  *testing.T
	o                  app.Options
	victim             victim
	cmd                *exec.Cmd
	exited             chan struct{}
	server             string // address of the Temporal server that the victim started
	runs               []interaction.RunID
	workflows          []string // of the runs
}

// The two who may approve where two approvals are needed.
const (
	reviewer1 = "reviewer-1"
	reviewer2 = "reviewer-2"
)

// newCrash prepares a victim whose model plays a script, under a policy; without rules, the tools' own defaults
// ask. Change victim before start.
func newCrash(t *testing.T, r role, script string, rules ...string) *crash {
	t.Helper()
	o := apptest.Options(t, t.TempDir())
	c := &crash{Holdpoint: &apptest.Holdpoint{T: t}, t: t, o: o}
	c.policy(rules...)
	c.must(os.WriteFile(filepath.Join(filepath.Dir(o.Config), "turns.yaml"), []byte(script), 0o600))
	notes := filepath.Join(filepath.Dir(o.Config), "notes")
	c.must(os.Mkdir(notes, 0o700))
	c.victim = victim{Role: r, Config: o.Config, Data: o.Data, Token: o.Token, TaskQueue: o.TaskQueue,
		Temporal: apptest.Temporal(t), Notes: notes}
	if r == workerAlone {
		beside, err := c.victim.options()
		c.must(err)
		beside.NoWorker, beside.Address, beside.UpdateTimeout = true, apptest.Server(t), o.UpdateTimeout
		c.Holdpoint = apptest.Run(t, beside)
	}
	return c
}

// policy replaces the rules, for the next start of the victim. The script stays.
func (c *crash) policy(rules ...string) {
	c.t.Helper()
	turns := filepath.Join(filepath.Dir(c.o.Config), "turns.yaml")
	script, err := os.ReadFile(turns)
	c.must(err)
	apptest.WithRules(rules...)(&c.o)
	c.must(os.WriteFile(turns, script, 0o600))
}

func (c *crash) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// start starts the victim and waits until it is ready.
func (c *crash) start() {
	c.t.Helper()
	spec, err := json.Marshal(c.victim)
	c.must(err)
	exe, err := os.Executable()
	c.must(err)
	cmd, exited := exec.Command(exe), make(chan struct{})
	cmd.Env = append(os.Environ(), envVictim+"="+string(spec))
	if c.victim.Role == workerAlone {
		cmd.Env = append(cmd.Env, "TEMPORAL_ADDRESS="+c.TemporalAddress())
	}
	stderr, err := os.Create(c.stderr())
	c.must(err)
	cmd.Stderr = stderr
	_, err = cmd.StdinPipe() // its end tells the victim that this process has ended
	c.must(err)
	c.must(cmd.Start())
	go func() {
		defer close(exited)
		_ = cmd.Wait() // how it ended is for the test to judge
		_ = stderr.Close()
	}()
	c.cmd, c.exited = cmd, exited
	c.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		c.gone()
	})
	c.t.Cleanup(c.explain)
	c.awaitReady(fmt.Sprint(noteReady, cmd.Process.Pid))
	if c.victim.Role == wholeDev {
		info, err := app.ReadDevInfo(c.o.Data)
		c.must(err)
		c.server, c.Holdpoint = info.TemporalAddress, apptest.Attach(c.t, c.o, info)
	}
}

// explain logs how far the runs of a failed test came, by Temporal's word.
func (c *crash) explain() {
	if !c.t.Failed() || c.ended() && c.victim.Role == wholeDev {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, w := range c.workflows {
		it := c.Client.GetWorkflowHistory(ctx, w, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		var text strings.Builder
		for it.HasNext() {
			e, err := it.Next()
			if err != nil {
				fmt.Fprint(&text, " ", err)
				break
			}
			fmt.Fprint(&text, " ", e.GetEventTime().AsTime().Format("05.000"), " ", e.GetEventType())
		}
		if d, err := c.Client.DescribeWorkflow(ctx, w, ""); err == nil {
			for _, a := range d.RawResponse.GetPendingActivities() {
				fmt.Fprintf(&text, "\n%s: %s, attempt %d, %s", a.GetActivityType().GetName(), a.GetState(), a.GetAttempt(), a.GetLastFailure())
			}
		}
		c.t.Logf("%s:%s", w, text.String())
	}
}

func (c *crash) stderr() string { return filepath.Join(c.victim.Notes, "stderr") }

func (c *crash) awaitReady(name string) {
	c.t.Helper()
	c.Eventually("the process to be ready", func() bool {
		if !c.noted(name) && c.ended() {
			c.t.Fatalf("the process ended as it started: %s", c.lines(c.stderr()))
		}
		return c.noted(name)
	})
}

func (c *crash) ended() bool {
	select {
	case <-c.exited:
		return true
	default:
		return false
	}
}

// kill ends the victim with SIGKILL and waits until nothing of it is left.
func (c *crash) kill() {
	c.t.Helper()
	if c.ended() {
		c.t.Fatalf("the process ended before it was killed: %s", c.lines(c.stderr()))
	}
	c.must(c.cmd.Process.Kill())
	c.gone()
}

// gone waits for the victim's end, and for that of the Temporal server that it started.
func (c *crash) gone() {
	c.t.Helper()
	c.Eventually("the process to end", c.ended)
	c.Eventually("its Temporal server to end with it", func() bool {
		if c.server == "" {
			return true
		}
		conn, err := net.Dial("tcp", c.server)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
}

// restart starts the victim again, without faults.
func (c *crash) restart() {
	c.t.Helper()
	c.victim.Points, c.victim.Dies = nil, false
	c.start()
}

func (c *crash) noted(name string) bool {
	_, err := os.Stat(filepath.Join(c.victim.Notes, name))
	return err == nil
}

// reaches waits until the victim stops at a point.
func (c *crash) reaches(p activities.Point) {
	c.t.Helper()
	c.Eventually("the process to come to "+string(p), func() bool { return c.noted(noteReached + string(p)) })
}

// begin starts a run that the audit at the end looks at.
func (c *crash) begin(input string) apptest.RunView {
	c.t.Helper()
	v := c.Begin(input)
	c.runs, c.workflows = append(c.runs, v.RunID), append(c.workflows, v.Workflow)
	return v
}

// says answers an interaction for each of the reviewers. Sent again, it is the same answer.
func (c *crash) says(action interaction.Action, id interaction.ID, reviewers ...string) {
	c.t.Helper()
	for _, who := range reviewers {
		c.Answer(id, answerOf(action, id, who))
	}
}

func answerOf(action interaction.Action, id interaction.ID, who string) map[string]any {
	return map[string]any{"id": fmt.Sprintf("%s:%s", id, who), "action": action, "reviewer": map[string]any{"id": who}}
}

// effects are the times that bodies of the tools did their work, for one run or for all ("").
func (c *crash) effects(run interaction.RunID) (calls []tool.Call) {
	c.t.Helper()
	for _, line := range c.lines(filepath.Join(c.victim.Notes, noteEffects)) {
		var call tool.Call
		c.must(json.Unmarshal([]byte(line), &call))
		if run == "" || call.RunID == run {
			calls = append(calls, call)
		}
	}
	return calls
}

// modelCalls counts the calls of the model of that kind: the user's message, and the length of the transcript.
func (c *crash) modelCalls(kind string) (n int) {
	c.t.Helper()
	for _, line := range c.lines(filepath.Join(c.victim.Notes, noteModel)) {
		if line == kind {
			n++
		}
	}
	return n
}

// lines are a file's; none if there is no file.
func (c *crash) lines(path string) []string {
	c.t.Helper()
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) || len(text) == 0 {
		return nil
	}
	c.must(err)
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// completes waits for a run's end and checks what its model was told last, and how often bodies did their work.
func (c *crash) completes(run interaction.RunID, told string, effects int) {
	c.t.Helper()
	end := c.Ended(run)
	if end.Status != "completed" || !strings.Contains(end.Output, told) {
		c.t.Errorf("it ended %s with %q; want completed with %q", end.Status, end.Output, told)
	}
	if n := len(c.effects(run)); n != effects {
		c.t.Errorf("the effect happened %d times, want %d", n, effects)
	}
}

// sideBySide runs subtests side by side. They wait most of their time, for timeouts on a real server, so their
// number need not be bound to that of the processors as t.Parallel binds it.
func sideBySide(t *testing.T, tests ...subtest) {
	t.Helper()
	var wg sync.WaitGroup
	for _, s := range tests {
		wg.Go(func() { t.Run(s.name, s.run) })
	}
	wg.Wait()
}

type subtest struct {
	name string
	run  func(t *testing.T)
}

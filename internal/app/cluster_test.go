package app_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"holdpoint/activities"
	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
	"holdpoint/internal/store/pgtest"
)

// member is one process of a cluster.
type member struct {
	cmd    *exec.Cmd
	stdin  io.Closer // its end tells the process to end in good order
	exited chan struct{}
	notes  string // what only it did
	url    string // of a bridge
}

// cluster is two workers and two bridges as processes on one PostgreSQL, beside the tests' Temporal server.
type cluster struct {
	t        *testing.T
	o        app.Options
	shared   string // notes of all
	workers  []*member
	bridges  []*member
	patience *apptest.Holdpoint
	temporal string // address of the Temporal server
	dsn      string
	halting  bool
}

const clusterScript = `turns:
  - say: "I begin with a change, and I say so at length, so that it comes in pieces."
    calls: [{name: effect, args: {n: 1}}]
  - say: "Now the other."
    calls: [{name: safe, args: {n: 2}}]
  - say: "Both are done: {{result}}"
`

func newCluster(t *testing.T) *cluster {
	t.Helper()
	return newClusterOn(t, pgtest.Database(t), clusterScript, apptest.Server(t), true, `{match: effect, decision: ask}`, `{match: safe, decision: allow}`)
}

func newClusterOn(t *testing.T, dsn, script, temporal string, halting bool, rules ...string) *cluster {
	t.Helper()
	o := apptest.Options(t, t.TempDir())
	dir := filepath.Dir(o.Config)
	apptest.WithRules(rules...)(&o)
	c := &cluster{t: t, o: o, shared: filepath.Join(dir, "shared"), patience: &apptest.Holdpoint{T: t}, temporal: temporal,
		dsn: dsn, halting: halting}
	c.must(os.Mkdir(c.shared, 0o700))
	c.must(os.WriteFile(filepath.Join(dir, "turns.yaml"), []byte(script), 0o600))
	f, err := os.OpenFile(o.Config, os.O_APPEND|os.O_WRONLY, 0)
	c.must(err)
	_, err = fmt.Fprintf(f, "---\ntype: session_store\nname: shared\nstore_type: postgres\ndsn: %q\n", dsn)
	c.must(err)
	c.must(f.Close())
	for range 2 {
		c.workers = append(c.workers, c.start(workerAlone, len(c.workers)))
		c.bridges = append(c.bridges, c.start(bridgeAlone, len(c.bridges)))
	}
	return c
}

func (c *cluster) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// armed is the file without which no worker stops at its point.
func (c *cluster) armed() string { return filepath.Join(c.shared, "armed") }

func (c *cluster) start(r role, n int) *member {
	c.t.Helper()
	m := &member{notes: filepath.Join(filepath.Dir(c.o.Config), fmt.Sprint(r, n)), exited: make(chan struct{})}
	c.must(os.Mkdir(m.notes, 0o700))
	spec, err := json.Marshal(victim{Role: r, Config: c.o.Config, Data: filepath.Join(m.notes, "data"), Token: c.o.Token,
		TaskQueue: c.o.TaskQueue, Notes: m.notes, Points: []activities.Point{pointSafeBegun}, Armed: c.armed(), Halting: c.halting})
	c.must(err)
	exe, err := os.Executable()
	c.must(err)
	m.cmd = exec.Command(exe)
	m.cmd.Env = append(os.Environ(), envVictim+"="+string(spec), "TEMPORAL_ADDRESS="+c.temporal)
	stderr, err := os.Create(filepath.Join(m.notes, "stderr"))
	c.must(err)
	m.cmd.Stderr = stderr
	m.stdin, err = m.cmd.StdinPipe()
	c.must(err)
	c.must(m.cmd.Start())
	go func() {
		defer close(m.exited)
		_ = m.cmd.Wait()
		_ = stderr.Close()
	}()
	c.t.Cleanup(func() { m.kill(c) })
	ready := filepath.Join(m.notes, fmt.Sprint(noteReady, m.cmd.Process.Pid))
	defer func() {
		if c.t.Failed() {
			said, _ := os.ReadFile(stderr.Name())
			logged, _ := os.ReadFile(filepath.Join(m.notes, "data", "private", "holdpoint.log"))
			c.t.Logf("%s said: %s\nand logged: %s", m.notes, said, logged[max(0, len(logged)-4000):])
		}
	}()
	c.patience.Eventually("a process to be ready", func() bool {
		line, err := os.ReadFile(ready)
		m.url = strings.TrimSpace(strings.TrimPrefix(string(line), "at "))
		return err == nil && len(line) > 0
	})
	return m
}

func (m *member) kill(c *cluster) {
	_ = m.cmd.Process.Kill()
	m.gone(c)
}

// gone waits until the process has ended.
func (m *member) gone(c *cluster) {
	c.patience.Eventually("a process to end", func() bool {
		select {
		case <-m.exited:
			return true
		default:
			return false
		}
	})
}

// at talks to one of the bridges.
func (c *cluster) at(bridge int) *apptest.Holdpoint {
	return apptest.Attach(c.t, c.o, app.DevInfo{URL: c.bridges[bridge].url, Token: c.o.Token, TemporalAddress: c.temporal})
}

// reader follows a run's stream at one bridge, and at another when that one is gone.
type reader struct {
	mu     sync.Mutex
	last   int64
	events []event.Event
	came   []time.Time // of each event
	live   string      // what came in pieces
}

func (r *reader) follow(ctx context.Context, url, token string, run interaction.RunID) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/v1/runs/"+string(run)+"/events", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	r.mu.Lock()
	if r.last > 0 {
		req.Header.Set("Last-Event-ID", strconv.FormatInt(r.last, 10))
	}
	r.mu.Unlock()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data:"); ok {
			if err := r.take([]byte(data)); err != nil {
				return err
			}
		}
	}
	return lines.Err()
}

func (r *reader) take(data []byte) error {
	var e event.Event
	if err := json.Unmarshal(data, &e); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Type == event.StepDelta {
		var d event.StepDeltaData
		err := json.Unmarshal(e.Payload, &d)
		r.live += d.Text
		return err
	}
	r.events, r.last, r.came = append(r.events, e), e.Number, append(r.came, time.Now())
	return nil
}

func (r *reader) has(t event.Type) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.Type == t {
			return true
		}
	}
	return false
}

func (r *reader) heard() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.live
}

// whole checks that what was read is the run from its first event to its last, each once.
func (r *reader) whole(t *testing.T) {
	t.Helper()
	for i, e := range r.events {
		if e.Number != int64(i+1) {
			t.Fatalf("event %d follows %d", e.Number, i)
		}
	}
	if n := len(r.events); n == 0 || r.events[n-1].Type != event.RunCompleted {
		t.Fatalf("the stream ended early, after %d events", n)
	}
}

func TestTwoWorkersAndTwoBridgesOnPostgreSQL(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	first, second := c.at(0), c.at(1)
	run := first.Begin("go")
	read, reading := &reader{}, make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { reading <- read.follow(ctx, second.URL(), c.o.Token, run.RunID) }()
	first.Eventually("the first half of the answer, live, at the other bridge", func() bool { return read.heard() != "" })
	if read.has(event.InteractionRequest) {
		t.Fatal("the answer is whole already, so nothing shows that it came live")
	}
	c.hear()
	first.Eventually("the question at the other bridge", func() bool { return read.has(event.InteractionRequest) })
	others := []apptest.RunView{first.Begin("go"), second.Begin("go"), first.Begin("go")}
	for _, o := range append(others, run) {
		first.Waits(o.RunID, 1)
	}

	c.bridges[1].kill(c)
	if err := <-reading; err == nil {
		t.Fatal("the stream ended as if the run had")
	}
	go func() { reading <- read.follow(ctx, first.URL(), c.o.Token, run.RunID) }()
	c.must(os.WriteFile(c.armed(), nil, 0o600))
	for _, o := range append(others, run) {
		first.Answer(first.Waits(o.RunID, 1)[0].ID, map[string]any{"action": "approve"})
	}
	for _, o := range append(others, run) { // a worker that died in the middle of such an effect would have to ask
		first.Eventually("the first tool's result of "+string(o.RunID), func() bool { return c.results(first, o.RunID) > 0 })
	}
	dying := c.stopped()
	c.must(os.Remove(c.armed()))
	c.workers[dying].kill(c)
	spared := c.workers[1-dying]
	if exists(filepath.Join(spared.notes, noteReached+string(pointSafeBegun))) {
		spared.kill(c) // it came to the point as well: then a third takes over
		c.start(workerAlone, 2)
	}

	for _, o := range append(others, run) {
		if end := first.Ended(o.RunID); end.Status != "completed" || !strings.Contains(end.Output, "Both are done: did") {
			t.Errorf("run %s ended %s with %q", o.RunID, end.Status, end.Output)
		}
	}
	if err := <-reading; err != nil {
		t.Fatal(err)
	}
	read.whole(t)
	c.effectsOnce(t, append(others, run))
}

// results counts the tools that have ended.
func (c *cluster) results(h *apptest.Holdpoint, run interaction.RunID) int {
	c.t.Helper()
	_, body := h.HTTP(http.MethodGet, "/v1/runs/"+string(run)+"/steps", nil)
	return strings.Count(string(body), `"tool_status"`)
}

// hear lets the models speak on.
func (c *cluster) hear() {
	for _, w := range c.workers {
		c.must(os.WriteFile(filepath.Join(w.notes, noteHeard), nil, 0o600))
	}
}

// stopped waits until a worker has stopped in the middle of a tool.
func (c *cluster) stopped() (worker int) {
	c.patience.Eventually("a worker in the middle of a tool", func() bool {
		for i, w := range c.workers {
			if exists(filepath.Join(w.notes, noteReached+string(pointSafeBegun))) {
				worker = i
				return true
			}
		}
		return false
	})
	return worker
}

// effectsOnce holds what the tools wrote down against what was approved: once for the one that is not idempotent, and
// with one key for the other.
func (c *cluster) effectsOnce(t *testing.T, runs []apptest.RunView) {
	t.Helper()
	effects, keys := map[interaction.RunID]int{}, map[interaction.RunID]map[string]bool{}
	notes, err := filepath.Glob(filepath.Join(filepath.Dir(c.o.Config), "worker*", noteEffects))
	c.must(err)
	for _, path := range notes {
		text, err := os.ReadFile(path)
		c.must(err)
		for line := range strings.Lines(string(text)) {
			var call struct {
				Name  string            `json:"name"`
				RunID interaction.RunID `json:"run_id"`
				Key   string            `json:"key"`
			}
			c.must(json.Unmarshal([]byte(line), &call))
			if call.Name == "effect" {
				effects[call.RunID]++
				continue
			}
			if keys[call.RunID] == nil {
				keys[call.RunID] = map[string]bool{}
			}
			keys[call.RunID][call.Key] = true
		}
	}
	for _, r := range runs {
		if effects[r.RunID] != 1 || len(keys[r.RunID]) != 1 {
			t.Errorf("run %s: the effect happened %d times, the idempotent one under %d keys", r.RunID, effects[r.RunID], len(keys[r.RunID]))
		}
	}
}

package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"holdpoint/agent"
	"holdpoint/interaction"
	"holdpoint/internal/app/apptest"
	"holdpoint/internal/devserver"
	"holdpoint/internal/store"
	"holdpoint/internal/store/pgtest"
	"holdpoint/workflows"
)

// chaosFor is how long everything is killed at random. make chaos takes longer than the suite can.
var chaosFor = flag.Duration("chaos", 8*time.Second, "how long the chaos test kills processes")

// chaosPace is how often what waits is looked at: without it, looking is all that two processors have time for.
const chaosPace = 50 * time.Millisecond

// chaos is a cluster of which anything may be killed at any time, with its PostgreSQL and its Temporal server.
type chaos struct {
	*cluster
	pg       *pgtest.Server
	server   *devserver.Server
	temporal devserver.Options
	door     *door

	calls  []string // of each run, behind its id
	calm   bool     // nobody holds or stops a run
	mu     sync.Mutex
	runs   []interaction.RunID
	sent   map[interaction.ID]map[interaction.ResponseID]interaction.Action // whatever became of it
	told   map[interaction.ID]map[interaction.ResponseID]interaction.Action // of those, what was told "applied"
	stops  map[interaction.RunID]bool                                       // runs that somebody tried to abort
	tried  map[interaction.ID]bool
	starts int
}

// newThreeCalls has runs with a call that needs one person, one that needs two and one that needs nobody.
func newThreeCalls(t *testing.T) *chaos {
	t.Helper()
	return newChaos(t, chaosScript, []string{`{match: "effect(n:1)", decision: ask}`, `{match: "effect(n:2)", decision: ask, quorum: 2}`, `{match: safe, decision: allow}`},
		"1-1", "1-2", "2-1")
}

const chaosScript = `turns:
  - say: "Two changes."
    calls: [{name: effect, args: {n: 1}}, {name: effect, args: {n: 2}}]
  - say: "And one more."
    calls: [{name: safe, args: {n: 3}}]
  - say: "Done."
`

// newChaos begins with a script of the model, the rules for what it calls, and the calls of each run.
func newChaos(t *testing.T, script string, rules []string, calls ...string) *chaos {
	t.Helper()
	dir := t.TempDir()
	c := &chaos{calls: calls, pg: pgtest.New(t), door: newDoor(t), sent: map[interaction.ID]map[interaction.ResponseID]interaction.Action{},
		told: map[interaction.ID]map[interaction.ResponseID]interaction.Action{}, stops: map[interaction.RunID]bool{}, tried: map[interaction.ID]bool{},
		temporal: devserver.Options{Binary: apptest.Temporal(t), DBFile: filepath.Join(dir, "temporal.db"),
			LogFile: filepath.Join(dir, "temporal.log"), DynamicConfig: apptest.DynamicConfig()}}
	c.startTemporal(t)
	t.Cleanup(func() { _ = c.server.Stop() })
	c.cluster = newClusterOn(t, c.pg.Database(t), script, c.door.listener.Addr().String(), false, rules...)
	return c
}

func (c *chaos) startTemporal(t *testing.T) {
	t.Helper()
	s, err := devserver.Start(context.Background(), c.temporal)
	if err != nil {
		t.Fatal(err)
	}
	c.server = s
	c.door.lead(s.Address())
}

// call sends a request to one of the bridges. Whatever goes wrong on the way is an error.
func (c *chaos) call(method, path string, body any) (int, []byte, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return 0, nil, err
	}
	c.mu.Lock()
	url := c.bridges[rand.IntN(len(c.bridges))].url
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url+path, bytes.NewReader(raw))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.o.Token)
	req.Header.Set("Content-Type", "application/json")
	if key, ok := body.(map[string]string); ok && key["session_id"] != "" {
		req.Header.Set("Idempotency-Key", key["session_id"])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	return resp.StatusCode, out, err
}

// begin starts a run, however often that must be tried.
func (c *chaos) begin(until time.Time) {
	c.mu.Lock()
	c.starts++
	ask := map[string]string{"agent": "tester", "input": "go", "user_id": "requester", "session_id": fmt.Sprintf("%s-%d", c.o.TaskQueue, c.starts)}
	c.mu.Unlock()
	for time.Now().Before(until) {
		code, body, err := c.call("POST", "/v1/runs", ask)
		var v apptest.RunView
		if err == nil && code == http.StatusCreated && json.Unmarshal(body, &v) == nil {
			c.mu.Lock()
			c.runs = append(c.runs, v.RunID)
			c.mu.Unlock()
			c.disturb(v.RunID, until)
			return
		}
	}
}

// disturb holds some runs for a while, and stops some for good.
func (c *chaos) disturb(run interaction.RunID, until time.Time) {
	tell := func(action workflows.ControlAction) bool {
		code, _, err := c.call("POST", "/v1/runs/"+string(run)+"/control", map[string]any{"action": action, "id": string(run) + string(action)})
		return err == nil && code < http.StatusInternalServerError
	}
	control := func(action workflows.ControlAction) {
		for !tell(action) && time.Now().Before(until) {
			<-time.After(chaosPace)
		}
	}
	if c.calm {
		return
	}
	switch rand.IntN(12) {
	case 0:
		control(workflows.PauseRun)
		control(workflows.ResumeRun)
	case 1:
		c.mu.Lock()
		c.stops[run] = true
		c.mu.Unlock()
		control(workflows.AbortRun)
	}
}

// sending is an answer, and by whom.
type sending struct {
	action interaction.Action
	who    string
}

// sendings are answers to a question, to be sent at the same time: one, or the same twice, or others that contradict it.
func sendings(q interaction.Request) []sending {
	choices := []interaction.Action{interaction.ActionApprove, interaction.ActionApprove, interaction.ActionReject, interaction.ActionModifyArgs}
	switch {
	case q.Kind == interaction.KindOutcomeUnknown:
		choices = []interaction.Action{interaction.ActionApprove, interaction.ActionSkip}
	case q.Quorum > 1:
		choices = []interaction.Action{interaction.ActionApprove, interaction.ActionApprove, interaction.ActionApprove, interaction.ActionReject}
	}
	pick := func() interaction.Action { return choices[rand.IntN(len(choices))] }
	first := sending{pick(), "ada"}
	out := []sending{first}
	if q.Quorum > 1 {
		out = append(out, sending{pick(), "bob"})
	}
	switch rand.IntN(4) {
	case 0:
		out = append(out, first)
	case 1:
		out = append(out, sending{pick(), "cy"})
	}
	return out
}

// answer decides what waits and was not decided yet.
func (c *chaos) answer() {
	<-time.After(chaosPace)
	code, body, err := c.call("GET", "/v1/interactions?status=pending&page_size=200", nil)
	var list struct {
		Items []interaction.Request `json:"items"`
	}
	if err != nil || code != http.StatusOK || json.Unmarshal(body, &list) != nil {
		return
	}
	var wg sync.WaitGroup
	for _, q := range list.Items {
		c.mu.Lock()
		seen := c.tried[q.ID]
		c.tried[q.ID] = true
		c.mu.Unlock()
		if seen && rand.IntN(4) > 0 { // what came to nothing is tried again
			continue
		}
		for _, s := range sendings(q) {
			wg.Go(func() { c.send(q.ID, s) })
		}
	}
	wg.Wait()
}

// editedN is what modify_args makes of the argument.
const editedN = 100

func (c *chaos) send(id interaction.ID, s sending) {
	as := interaction.ResponseID(fmt.Sprintf("%s-%s-%s", id, s.action, s.who)) // the same answer has the same id, however often it is sent
	answer := map[string]any{"id": as, "action": s.action, "reviewer": map[string]string{"id": s.who}}
	if s.action == interaction.ActionModifyArgs {
		answer["args"] = map[string]int{"n": editedN}
	}
	c.note(c.sent, id, as, s.action)
	code, body, err := c.call("POST", "/v1/interactions/"+string(id)+"/respond", answer)
	if err == nil && code == http.StatusOK && strings.Contains(string(body), `"applied":true`) {
		c.note(c.told, id, as, s.action)
	}
}

func (c *chaos) note(where map[interaction.ID]map[interaction.ResponseID]interaction.Action, id interaction.ID, as interaction.ResponseID, a interaction.Action) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if where[id] == nil {
		where[id] = map[interaction.ResponseID]interaction.Action{}
	}
	where[id][as] = a
}

// kill kills something, and starts it again.
func (c *chaos) kill(t *testing.T, round int) {
	switch {
	case round%9 == 4:
		if rand.IntN(2) == 0 {
			c.pg.Stop(t)
		} else {
			c.pg.Kill(t)
		}
		c.pg.Start(t)
	case round%9 == 8:
		if rand.IntN(2) == 0 { // without a word, as its machine would
			if err := syscall.Kill(c.server.PID(), syscall.SIGKILL); err != nil {
				t.Log("Temporal:", err)
			}
		}
		if err := c.server.Stop(); err != nil {
			t.Log("Temporal:", err)
		}
		c.startTemporal(t)
	case round%2 == 0:
		i := rand.IntN(len(c.workers))
		c.workers[i].kill(c.cluster)
		m := c.cluster.start(workerAlone, 100+round)
		c.mu.Lock()
		c.workers[i] = m
		c.mu.Unlock()
	default:
		i := rand.IntN(len(c.bridges))
		c.bridges[i].kill(c.cluster)
		m := c.cluster.start(bridgeAlone, 100+round)
		c.mu.Lock()
		c.bridges[i] = m
		c.mu.Unlock()
	}
}

// It runs alone: what it starts again and again would starve the tests beside it.
func TestNothingIsLostInChaos(t *testing.T) {
	c := newThreeCalls(t)
	end := time.Now().Add(*chaosFor)
	var wg sync.WaitGroup
	atOnce := 5
	if *chaosFor < time.Minute { // every run that begins must be led to its end as well
		atOnce = 2
	}
	for range atOnce {
		wg.Go(func() {
			for time.Now().Before(end) {
				c.begin(end.Add(time.Minute))
			}
		})
		wg.Go(func() {
			for time.Now().Before(end) {
				c.answer()
			}
		})
	}
	rounds := 0
	for ; time.Now().Before(end); rounds++ {
		c.kill(t, rounds)
		<-time.After(time.Duration(rand.Int64N(int64(*chaosFor) / 60))) // in a long test, much is done between two kills
	}
	wg.Wait()
	h := c.at(0)
	db := c.open(t)
	c.settle(h, db)
	c.audit(t, h, db)
	t.Logf("%d runs, %d kills and restarts, %d decisions", len(c.runs), rounds, len(c.told))
}

func (c *chaos) open(t *testing.T) *store.Store {
	t.Helper()
	db, err := store.Open(context.Background(), store.Config{Driver: store.Postgres, DSN: c.dsn})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// settle answers until every run has ended.
func (c *chaos) settle(h *apptest.Holdpoint, db *store.Store) {
	h.T.Helper()
	deadline := time.Now().Add(5*time.Minute + 2*(*chaosFor))
	for {
		open, last := 0, ""
		for _, id := range c.runs {
			r, found, err := db.Run(context.Background(), id)
			if err != nil || !found || !r.Status.Final() {
				open, last = open+1, fmt.Sprintf("%s %s", id, r.Status)
			}
			if r.Status == agent.RunPaused { // whoever would have resumed it may have been answered by a bridge that died
				_, _, _ = c.call("POST", "/v1/runs/"+string(id)+"/control", map[string]any{"action": workflows.ResumeRun})
			}
		}
		if open == 0 {
			return
		}
		if time.Now().After(deadline) {
			h.T.Fatalf("%d of %d runs did not end, as %s", open, len(c.runs), last)
		}
		c.answer()
	}
}

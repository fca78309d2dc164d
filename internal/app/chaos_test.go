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
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/internal/app/apptest"
	"holdpoint/internal/devserver"
	"holdpoint/internal/store"
	"holdpoint/internal/store/pgtest"
	"holdpoint/tool"
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

	mu       sync.Mutex
	runs     []interaction.RunID
	answered map[interaction.ID]map[interaction.ResponseID]interaction.Action // those that were told "applied"
	tried    map[interaction.ID]bool
	starts   int
}

const chaosScript = `turns:
  - say: "Two changes."
    calls: [{name: effect, args: {n: 1}}, {name: effect, args: {n: 2}}]
  - say: "And one more."
    calls: [{name: safe, args: {n: 3}}]
  - say: "Done."
`

func newChaos(t *testing.T) *chaos {
	t.Helper()
	dir := t.TempDir()
	c := &chaos{pg: pgtest.New(t), door: newDoor(t), answered: map[interaction.ID]map[interaction.ResponseID]interaction.Action{},
		tried: map[interaction.ID]bool{}, temporal: devserver.Options{Binary: apptest.Temporal(t), DBFile: filepath.Join(dir, "temporal.db"),
			LogFile: filepath.Join(dir, "temporal.log"), DynamicConfig: apptest.DynamicConfig()}}
	c.startTemporal(t)
	t.Cleanup(func() { _ = c.server.Stop() })
	c.cluster = newClusterOn(t, c.pg.Database(t), chaosScript, c.door.listener.Addr().String(), false)
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
			return
		}
	}
}

// answer decides what waits and was not decided yet. Some answers are sent twice at once, some beside their opposite.
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
		choices := []interaction.Action{interaction.ActionApprove, interaction.ActionReject}
		if q.Kind == interaction.KindOutcomeUnknown {
			choices = []interaction.Action{interaction.ActionApprove, interaction.ActionSkip}
		}
		first := rand.IntN(3) / 2
		sends := []interaction.Action{choices[first]}
		switch rand.IntN(4) {
		case 0:
			sends = append(sends, choices[first])
		case 1:
			sends = append(sends, choices[1-first])
		}
		for _, a := range sends {
			wg.Go(func() { c.send(q.ID, a) })
		}
	}
	wg.Wait()
}

func (c *chaos) send(id interaction.ID, a interaction.Action) {
	as := interaction.ResponseID(string(id) + "-" + string(a)) // the same answer has the same id, however often it is sent
	code, body, err := c.call("POST", "/v1/interactions/"+string(id)+"/respond", map[string]any{"id": as, "action": a})
	if err == nil && code == http.StatusOK && strings.Contains(string(body), `"applied":true`) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.answered[id] == nil {
			c.answered[id] = map[interaction.ResponseID]interaction.Action{}
		}
		c.answered[id][as] = a
	}
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
	c := newChaos(t)
	end := time.Now().Add(*chaosFor)
	var wg sync.WaitGroup
	for range 3 {
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
	}
	wg.Wait()
	h := c.at(0)
	db := c.open(t)
	c.settle(h, db)
	c.audit(t, db)
	t.Logf("%d runs, %d kills and restarts, %d decisions", len(c.runs), rounds, len(c.answered))
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
	deadline := time.Now().Add(3 * time.Minute)
	for {
		open := ""
		for _, id := range c.runs {
			r, found, err := db.Run(context.Background(), id)
			if err != nil || !found || !r.Status.Final() {
				open = fmt.Sprintf("%s %s", id, r.Status)
			}
		}
		if open == "" {
			return
		}
		if time.Now().After(deadline) {
			h.T.Fatalf("a run did not end: %s", open)
		}
		c.answer()
	}
}

// audit holds what the tools wrote down, outside the product, against what people decided.
func (c *chaos) audit(t *testing.T, db *store.Store) {
	t.Helper()
	did := c.effects()
	for _, run := range c.runs {
		r, _, err := db.Run(context.Background(), run)
		if err != nil || r.Status != "completed" {
			t.Errorf("run %s is %s (%s), %v", run, r.Status, r.Error, err)
		}
		if err := db.VerifyRun(context.Background(), run); err != nil {
			t.Error(err)
		}
		asked, _, err := db.Interactions(context.Background(), store.InteractionFilter{RunID: run, PageSize: 200})
		if err != nil {
			t.Error(err)
		}
		for n := 1; n <= 2; n++ {
			c.judge(t, interaction.CallID(fmt.Sprintf("%s-1-%d", run, n)), asked, did)
		}
		c.applied(t, asked)
		events, err := db.Events(context.Background(), run, 0, 1000)
		if err != nil || events[len(events)-1].Type != event.RunCompleted {
			t.Errorf("run %s: its record does not end with its end (%v)", run, err)
		}
	}
}

// judge checks one call of the tool whose effect must happen once.
func (c *chaos) judge(t *testing.T, call interaction.CallID, asked []interaction.Interaction, did map[interaction.CallID]int) {
	t.Helper()
	approved, again, unknown := false, 0, 0
	for _, i := range asked {
		switch {
		case i.Request.ToolCallID != call:
		case !i.Status.Final():
			t.Errorf("call %s: interaction %s is %s after the end", call, i.Request.ID, i.Status)
		case i.Request.Kind == interaction.KindOutcomeUnknown:
			unknown++
			if i.Action == interaction.ActionApprove {
				again++
			}
		case i.Action == interaction.ActionApprove:
			approved = true
		}
	}
	switch n := did[call]; {
	case !approved && n > 0:
		t.Errorf("call %s: %d effects that nobody approved", call, n)
	case n > 1+again:
		t.Errorf("call %s: %d effects, and people said again %d times", call, n, again)
	case approved && unknown == 0 && n != 1:
		t.Errorf("call %s: it was approved, nobody was asked about its outcome, and its effect happened %d times", call, n)
	}
}

// applied checks that whoever was told that an answer counts finds it in the record.
func (c *chaos) applied(t *testing.T, asked []interaction.Interaction) {
	t.Helper()
	for _, i := range asked {
		told := c.answered[i.Request.ID]
		if len(told) > 1 {
			t.Errorf("interaction %s: two different answers were told that they count: %v", i.Request.ID, told)
		}
		for _, a := range told {
			if i.Action != a {
				t.Errorf("interaction %s: %s was told that it counts, and the record says %s", i.Request.ID, a, i.Action)
			}
		}
	}
}

// effects counts, by call, what the tools wrote into files of their own.
func (c *chaos) effects() map[interaction.CallID]int {
	did := map[interaction.CallID]int{}
	notes, err := filepath.Glob(filepath.Join(filepath.Dir(c.o.Config), "worker*", noteEffects))
	c.must(err)
	for _, path := range notes {
		text, err := os.ReadFile(path)
		c.must(err)
		for line := range strings.Lines(string(text)) {
			var call tool.Call
			c.must(json.Unmarshal([]byte(line), &call))
			if call.Name == "effect" {
				did[call.ID]++
			}
		}
	}
	return did
}

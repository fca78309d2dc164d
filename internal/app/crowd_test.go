package app_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"holdpoint/event"
	"holdpoint/internal/app/apptest"
	"holdpoint/internal/store/pgtest"
)

var (
	answerers = flag.Int("answerers", 100, "how many answer one question at once")
	listeners = flag.Int("listeners", 60, "how many clients read streams at one bridge")
)

// TestOfManyAnswersAtOnceOneCounts has a crowd approve and reject one call at the same moment.
func TestOfManyAnswersAtOnceOneCounts(t *testing.T) {
	t.Parallel()
	h := apptest.Start(t, apptest.WithModel(apptest.Turns(apptest.Calls("bash", apptest.Bash("echo ran >> times")))))
	run := h.Begin("go")
	q := h.Waits(run.RunID, 1)[0]
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: *answerers}}
	defer client.CloseIdleConnections()
	type told struct {
		status int
		body   string
	}
	answers := make([]told, *answerers)
	start := make(chan struct{})
	var all sync.WaitGroup
	for n := range answers {
		all.Go(func() {
			action := []string{"approve", "reject"}[n%2]
			body := fmt.Sprintf(`{"action":%q,"reviewer":{"id":"person-%d"}}`, action, n)
			req, err := http.NewRequest(http.MethodPost, h.URL()+"/v1/interactions/"+string(q.ID)+"/respond", strings.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			req.Header.Set("Authorization", "Bearer "+h.Token())
			req.Header.Set("Content-Type", "application/json")
			<-start
			resp, err := client.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			var raw json.RawMessage
			if err := json.NewDecoder(resp.Body).Decode(&raw); err != nil {
				t.Error(err)
			}
			answers[n] = told{resp.StatusCode, string(raw)}
		})
	}
	began := time.Now()
	close(start)
	all.Wait()
	took := time.Since(began)
	winner := slices.IndexFunc(answers, func(a told) bool { return a.status == http.StatusOK })
	if winner < 0 {
		t.Fatalf("nobody's counted: %v", answers[0])
	}
	whose := regexp.MustCompile(fmt.Sprintf(`person-%d\b`, winner))
	for n, a := range answers {
		if n != winner && (a.status != http.StatusConflict || !whose.MatchString(a.body)) {
			t.Errorf("person-%d is told %d %s, and person-%d's counted", n, a.status, a.body, winner)
		}
	}
	end := h.Ended(run.RunID)
	text, err := os.ReadFile(h.Dir + "/times")
	if approved := winner%2 == 0; end.Status != "completed" || approved != (err == nil) || approved && string(text) != "ran\n" {
		t.Errorf("person-%d decided; the run is %s, and the command wrote %q", winner, end.Status, text)
	}
	t.Logf("%d answers at once: one counted and the rest were told whose in %s, %.0f a second", len(answers), took.Round(time.Millisecond), float64(len(answers))/took.Seconds())
}

// TestManyClientsOnOneBridgeLoseNothing has many clients follow runs at one bridge, which dies; they go on at the other.
func TestManyClientsOnOneBridgeLoseNothing(t *testing.T) {
	t.Parallel()
	const script = "turns:\n  - calls: [{name: safe, args: {n: 1}}]\n  - calls: [{name: effect, args: {n: 2}}]\n  - say: done\n"
	c := newClusterOn(t, pgtest.Database(t), script, apptest.Server(t), false, `{match: effect, decision: ask}`, `{match: safe, decision: allow}`)
	first, second := c.at(0), c.at(1)
	runs := []apptest.RunView{second.Begin("go"), second.Begin("go"), second.Begin("go"), second.Begin("go")}
	for _, r := range runs {
		second.Waits(r.RunID, 1)
	}
	pid := c.bridges[0].cmd.Process.Pid
	before := resident(t, pid)
	list := make([]*reader, *listeners)
	ended := make([]chan error, len(list))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	follow := func(n int, url string) {
		ended[n] = make(chan error, 1)
		go func() { ended[n] <- list[n].follow(ctx, url, c.o.Token, runs[n%len(runs)].RunID) }()
	}
	for n := range list {
		list[n] = &reader{}
		follow(n, first.URL())
	}
	first.Eventually("all to have the question", func() bool {
		return !slices.ContainsFunc(list, func(r *reader) bool { return !r.has(event.InteractionRequest) })
	})
	each := (resident(t, pid) - before) / int64(len(list))
	c.bridges[0].kill(c)
	for n := range list {
		if err := <-ended[n]; err == nil {
			t.Fatal("a stream ended as if its run had")
		}
		follow(n, second.URL())
	}
	for _, r := range runs {
		second.Answer(second.Waits(r.RunID, 1)[0].ID, map[string]any{"action": "approve"})
	}
	for n, r := range list {
		if err := <-ended[n]; err != nil {
			t.Fatal(err)
		}
		r.whole(t)
	}
	delays := delaysOf(list)
	t.Logf("%d clients on one bridge: %d KiB of its memory each; events came %s (median), %s (p99) after they happened", len(list), each>>10,
		delays[len(delays)/2].Round(time.Millisecond), delays[len(delays)*99/100].Round(time.Millisecond))
}

// delaysOf are how long after they happened the events came that were waited for: those that followed the answer.
func delaysOf(list []*reader) (out []time.Duration) {
	for _, r := range list {
		for n, at := range r.came {
			if e := r.events[n]; e.Type == event.InteractionResponse || e.Type == event.RunCompleted {
				out = append(out, at.Sub(e.Time))
			}
		}
	}
	slices.Sort(out)
	return out
}

// resident is a process's memory in bytes.
func resident(t *testing.T, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "VmRSS:" {
			kib, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatal("no VmRSS")
	return 0
}

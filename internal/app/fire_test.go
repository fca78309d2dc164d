package app_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdpoint/interaction"
)

// fireRuns is how many runs the fire takes; make fire has 1,000 and more.
var fireRuns = flag.Int("fire", 12, "approved runs in which everything is killed half-way")

const fireScript = `turns:
  - say: "One change."
    calls: [{name: effect, args: {n: 1}}]
  - say: "Done."
`

// fire is a cluster whose runs are all approved, and that is killed whole in the meantime.
type fire struct {
	*chaos
	unknown  sync.Map // what people were asked because nobody could know it
	restarts int
}

// TestExactlyOnceUnderFire parks runs at their gates, kills everything, approves all of them, and kills everything again
// when half of the effects have happened. No effect may happen twice or be lost; where nobody can know, a person is asked,
// who here looks and says: leave it.
func TestExactlyOnceUnderFire(t *testing.T) {
	f := &fire{chaos: newChaos(t, fireScript, []string{`{match: effect, decision: ask, timeout: 24h}`}, "1-1")}
	f.calm = true
	began := time.Now()
	first := *fireRuns / 10 // with them comes what is there once for all
	f.park(t, 0, first)
	before := []weight{f.workers[0].weigh(f.cluster), f.workers[1].weigh(f.cluster), f.bridges[0].weigh(f.cluster), f.bridges[1].weigh(f.cluster)}
	stored, temporal := f.onDisk(t)
	f.park(t, first, *fireRuns)
	t.Logf("%d runs parked in %s", *fireRuns, time.Since(began).Round(time.Second))
	moreStored, moreTemporal := f.onDisk(t)
	t.Logf("bytes of a parked run: %d in the store on PostgreSQL, %d in Temporal's SQLite", (moreStored-stored)/int64(*fireRuns-first), (moreTemporal-temporal)/int64(*fireRuns-first))
	if *fireRuns >= 200 {
		f.weighParked(t, before, first)
	}

	began = time.Now()
	f.restart(t)
	t.Logf("all killed while parked, and back in %s", time.Since(began).Round(time.Second))

	began = time.Now()
	var stop atomic.Bool
	var people sync.WaitGroup
	for n := range 8 {
		people.Go(func() {
			for !stop.Load() {
				f.approve(n)
			}
		})
	}
	limit := time.Now().Add(10*time.Minute + time.Duration(*fireRuns)*time.Second)
	half := f.until(t, limit, *fireRuns/2)
	f.restart(t)
	t.Logf("%d effects had happened when all was killed; everything was back %s after the first approval", half, time.Since(began).Round(time.Second))
	f.allEnd(t, limit)
	stop.Store(true)
	people.Wait()
	t.Logf("all ended %s after the first approval", time.Since(began).Round(time.Second))
	f.audit(t, f.at(0), f.open(t))
	f.tally(t)
}

// park starts runs, and waits until as many as there are then have asked.
func (f *fire) park(t *testing.T, from, to int) {
	t.Helper()
	until := time.Now().Add(time.Minute + 2*time.Duration(to)*time.Second)
	atOnce(to-from, 20, func(int) { f.begin(until) })
	db := f.open(t)
	for all := int64(0); all < int64(to); <-time.After(chaosPace) {
		waiting, err := db.Waiting(context.Background(), nil)
		all = 0
		for _, w := range waiting {
			all += w.Count
		}
		if time.Now().After(until) {
			t.Fatalf("%d runs of %d ask (%v)", all, to, err)
		}
	}
}

// weighParked tells what a parked run costs in memory, beside the bare workflow of the benchmarks, and in the store.
func (f *fire) weighParked(t *testing.T, before []weight, first int) {
	t.Helper()
	perRun := func(was, is int64, n int) float64 { return float64(is-was) / float64(n) / 1024 }
	var workers, bridges float64
	for n, m := range []*member{f.workers[0], f.workers[1], f.bridges[0], f.bridges[1]} {
		grown := perRun(before[n].Memory, m.weigh(f.cluster).Memory, *fireRuns-first)
		if n < 2 {
			workers += grown
		} else {
			bridges += grown
		}
	}
	bare := f.start(bareAlone, 0)
	f.parkBare(t.Context(), 0, first)
	few := bare.weigh(f.cluster)
	f.parkBare(t.Context(), first, *fireRuns)
	alone := perRun(few.Memory, bare.weigh(f.cluster).Memory, *fireRuns-first)
	bare.kill(f.cluster)
	f.endBare(t.Context(), *fireRuns)
	t.Logf("memory of a parked run: %.1f KiB in the workers, %.1f KiB in the bridges, %.1f KiB in the worker of the bare workflow: %.2f times", workers, bridges, alone, workers/alone)
}

// onDisk are the bytes of the store's tables and indexes, and those of Temporal's files.
func (f *fire) onDisk(t *testing.T) (stored, temporal int64) {
	t.Helper()
	db, err := sql.Open("pgx", f.dsn)
	f.must(err)
	defer db.Close()
	f.must(db.QueryRowContext(t.Context(), `SELECT SUM(pg_total_relation_size(c.oid)) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
		WHERE n.nspname = 'public' AND c.relkind = 'r'`).Scan(&stored))
	files, err := filepath.Glob(f.temporal.DBFile + "*")
	f.must(err)
	for _, path := range files {
		info, err := os.Stat(path)
		f.must(err)
		temporal += info.Size()
	}
	return stored, temporal
}

// restart kills everything at once, as a machine does that loses its power, and starts it again.
func (f *fire) restart(t *testing.T) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range append(append([]*member{}, f.workers...), f.bridges...) {
		_ = m.cmd.Process.Kill()
	}
	server, err := os.FindProcess(f.server.PID())
	f.must(err)
	_ = server.Kill()
	f.pg.Kill(t)
	<-f.server.Done()
	_ = f.server.Stop()
	f.pg.Start(t)
	f.startTemporal(t)
	for n := range f.workers {
		f.workers[n].kill(f.cluster)
		f.bridges[n].kill(f.cluster)
		f.restarts += 2
		f.workers[n], f.bridges[n] = f.cluster.start(workerAlone, 100+f.restarts), f.cluster.start(bridgeAlone, 100+f.restarts)
	}
}

// approve approves what waits, or, where the outcome of a call is not known, leaves it. One of eight people, who begin at
// different places.
func (f *fire) approve(person int) {
	code, body, err := f.call("GET", "/v1/interactions?status=pending&page_size=200", nil)
	var list struct {
		Items []interaction.Request `json:"items"`
	}
	if err != nil || code != http.StatusOK || json.Unmarshal(body, &list) != nil || len(list.Items) == 0 {
		<-time.After(chaosPace)
		return
	}
	for n := range min(len(list.Items), 25) {
		q := list.Items[(n+person*25)%len(list.Items)]
		s := sending{interaction.ActionApprove, "ada"}
		if q.Kind == interaction.KindOutcomeUnknown {
			s.action = interaction.ActionSkip
			f.unknown.Store(q.ID, true)
		}
		f.send(q.ID, s)
	}
}

// happened counts effects without reading what they were.
func (f *fire) happened() (n int) {
	notes, err := filepath.Glob(filepath.Join(filepath.Dir(f.o.Config), "worker*", noteEffects))
	f.must(err)
	for _, path := range notes {
		text, err := os.ReadFile(path)
		f.must(err)
		n += strings.Count(string(text), "\n")
	}
	return n
}

func (f *fire) until(t *testing.T, limit time.Time, want int) int {
	t.Helper()
	for {
		n := f.happened()
		if n >= want {
			return n
		}
		if time.Now().After(limit) {
			t.Fatalf("%d effects of %d have happened", n, want)
		}
		<-time.After(10 * time.Millisecond)
	}
}

// allEnd waits until no run is open.
func (f *fire) allEnd(t *testing.T, limit time.Time) {
	t.Helper()
	db := f.open(t)
	for {
		open, _, err := db.OpenRuns(context.Background(), "")
		if err == nil && len(open) == 0 {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("runs have not ended: %v, %v", open, err)
		}
		<-time.After(chaosPace)
	}
}

// tally tells how it went, and holds that what people were asked is bounded by what ran at the time.
func (f *fire) tally(t *testing.T) {
	t.Helper()
	twice, unknown := 0, 0
	did := f.effects()
	for _, times := range did {
		if len(times) > 1 {
			twice++
		}
	}
	f.unknown.Range(func(any, any) bool { unknown++; return true })
	t.Logf("%d runs: %d effects, %d of them twice, %d outcomes were asked about", *fireRuns, len(did), twice, unknown)
	if lost := *fireRuns - len(did) - unknown; twice > 0 || lost > 0 {
		t.Errorf("%d effects happened twice, %d are lost", twice, lost)
	}
}

package app_test

import (
	"context"
	"flag"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"holdpoint/internal/app/apptest"
)

// soakFor is how long steady load lasts. From soakJudged on, memory and goroutines are held flat: before, caches fill.
var soakFor = flag.Duration("soak", 6*time.Second, "how long the soak lasts")

const soakJudged = 10 * time.Minute

// soak is a cluster under steady load. The first worker and the first bridge live through all of it and are weighed, the
// others are restarted again and again, some in good order and some not.
type soak struct {
	*chaos
	worker, bridge []weight
}

// TestSteadyLoadLeavesNothingBehind starts runs at a steady pace, answers them, restarts processes, and then holds every
// effect against what was approved, and what the processes hold at the end against what they held in the beginning.
func TestSteadyLoadLeavesNothingBehind(t *testing.T) {
	s := &soak{chaos: newThreeCalls(t)}
	s.calm = true
	end := time.Now().Add(*soakFor)
	var load sync.WaitGroup
	load.Go(func() { s.startSteadily(t, &load, end) })
	for range 2 {
		load.Go(func() {
			for time.Now().Before(end) {
				s.answer()
			}
		})
	}
	restarts := 0
	for n, pause := 1, *soakFor/60; time.Now().Before(end); n++ {
		s.worker, s.bridge = append(s.worker, s.workers[0].weigh(s.cluster)), append(s.bridge, s.bridges[0].weigh(s.cluster))
		<-time.After(pause)
		if n%3 == 0 {
			restarts++
			s.restart(restarts)
		}
	}
	load.Wait()
	db := s.open(t)
	s.settle(s.at(0), db)
	s.audit(t, s.at(0), db)
	t.Logf("%d runs in %s, %d restarts", len(s.runs), *soakFor, restarts)
	for who, m := range map[string]*member{"worker": s.workers[0], "bridge": s.bridges[0]} {
		w := m.weigh(s.cluster)
		t.Logf("%s, with nothing to do: %.1f MiB and %d goroutines", who, float64(w.Memory)/(1<<20), w.Goroutines)
	}
	s.flat(t, "worker", s.worker)
	s.flat(t, "bridge", s.bridge)
}

// soakOpen bounds the runs that are open at a time: a machine that others use as well can't take in more than it does.
const soakOpen = 30

// startSteadily starts a run every so often, whether those before have ended or not, unless too many have not.
func (s *soak) startSteadily(t *testing.T, load *sync.WaitGroup, end time.Time) {
	tick := time.NewTicker(700 * time.Millisecond)
	defer tick.Stop()
	db := s.open(t)
	for ; time.Now().Before(end); <-tick.C {
		if open, _, err := db.OpenRuns(context.Background(), ""); err == nil && len(open) < soakOpen {
			load.Go(func() { s.begin(end.Add(apptest.Patience)) })
		}
	}
}

// restart ends the second worker or the second bridge, half of the time in good order.
func (s *soak) restart(n int) {
	which, as := s.workers, workerAlone
	if rand.IntN(2) == 0 {
		which, as = s.bridges, bridgeAlone
	}
	if m := which[1]; rand.IntN(2) == 0 {
		_ = m.stdin.Close()
		m.gone(s.cluster)
	}
	which[1].kill(s.cluster)
	m := s.cluster.start(as, 100+n)
	s.mu.Lock()
	which[1] = m
	s.mu.Unlock()
}

// flat tells what a process held over time, and holds that the last quarter is no more than the second.
func (s *soak) flat(t *testing.T, who string, held []weight) {
	t.Helper()
	quarter := len(held) / 4
	if quarter == 0 {
		t.Errorf("the %s was never weighed", who)
		return
	}
	memory := func(w weight) float64 { return float64(w.Memory) / (1 << 20) }
	goroutines := func(w weight) float64 { return float64(w.Goroutines) }
	m1, m2 := median(held[quarter:2*quarter], memory), median(held[len(held)-quarter:], memory)
	g1, g2 := median(held[quarter:2*quarter], goroutines), median(held[len(held)-quarter:], goroutines)
	t.Logf("%s: %.1f MiB and %.0f goroutines in the second quarter, %.1f MiB and %.0f in the last", who, m1, g1, m2, g2)
	if *soakFor >= soakJudged && (m2 > 1.15*m1 || g2 > 1.1*g1+10) {
		t.Errorf("the %s grows", who)
	}
}

func median(list []weight, of func(weight) float64) float64 {
	var values []float64
	for _, w := range list {
		values = append(values, of(w))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

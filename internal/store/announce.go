package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"holdpoint/interaction"
)

// channel is where processes tell one another which runs have something new.
const channel = "holdpoint_runs"

// maxAnnouncement is below what a notification of PostgreSQL may have (8,000 bytes).
const maxAnnouncement = 7900

// announceTimeout bounds one attempt to announce; the last one, too, when the store is closed.
const announceTimeout = 5 * time.Second

// announcement is the payload of a notification. It is a wake-up: whatever it says, only reads follow.
type announcement struct {
	From string              `json:"from"` // a store skips its own
	Runs []interaction.RunID `json:"runs"`
}

// announcer tells other processes what this one has committed.
//
// It does so after the commit, in a transaction of its own, and what was written meanwhile goes out together. A
// NOTIFY inside a writing transaction would be atomic, but the server lets only one transaction that notifies commit
// at a time, disk flush included. What gets lost here, when a process dies between the two, is found by polling.
type announcer struct {
	q    queries
	self string
	wake chan struct{}
	stop context.CancelFunc
	done chan struct{}

	mu   sync.Mutex
	runs map[interaction.RunID]bool
}

func newAnnouncer(db *sql.DB, d *dialect, self string) *announcer {
	ctx, cancel := context.WithCancel(context.Background())
	a := &announcer{q: queries{q: db, d: d}, self: self, wake: make(chan struct{}, 1), stop: cancel,
		done: make(chan struct{}), runs: map[interaction.RunID]bool{}}
	go a.loop(ctx)
	return a
}

// add announces runs soon. It does not wait.
func (a *announcer) add(runs map[interaction.RunID]bool) {
	if a == nil || len(runs) == 0 {
		return
	}
	a.mu.Lock()
	maps.Copy(a.runs, runs)
	a.mu.Unlock()
	select {
	case a.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// close announces what is left.
func (a *announcer) close() {
	a.stop()
	<-a.done
}

func (a *announcer) loop(ctx context.Context) {
	defer close(a.done)
	for {
		select {
		case <-ctx.Done():
			a.announce() // what fails now is for polling to find
			return
		case <-a.wake:
		}
		// What is not told is kept, and told later: there may be no more writes after it.
		for attempt := 1; !a.announce(); attempt++ {
			if pause(ctx, reconnectStep*time.Duration(min(attempt, 30))) != nil {
				break // the end is seen above
			}
		}
	}
}

// announce tells what there is to tell, and reports whether it could.
func (a *announcer) announce() bool {
	a.mu.Lock()
	runs := slices.Sorted(maps.Keys(a.runs))
	clear(a.runs)
	a.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), announceTimeout)
	defer cancel()
	for _, payload := range payloads(a.self, runs) {
		if _, err := a.q.exec(ctx, `SELECT pg_notify(?, ?)`, channel, payload); err != nil {
			a.mu.Lock()
			for _, r := range runs {
				a.runs[r] = true
			}
			a.mu.Unlock()
			return false
		}
	}
	return true
}

// payloads puts runs into as few notifications as they fit in.
func payloads(self string, runs []interaction.RunID) (out []string) {
	for len(runs) > 0 {
		n := min(len(runs), 200)
		text, err := json.Marshal(announcement{From: self, Runs: runs[:n]})
		for err == nil && len(text) > maxAnnouncement && n > 1 {
			n /= 2
			text, err = json.Marshal(announcement{From: self, Runs: runs[:n]})
		}
		if err == nil { // names always have a JSON form
			out = append(out, string(text))
		}
		runs = runs[n:]
	}
	return out
}

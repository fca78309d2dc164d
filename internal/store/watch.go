package store

import (
	"context"
	"sync"
	"time"

	"holdpoint/interaction"
)

// Watch returns a channel that receives soon after new events or deltas of the run are committed ("" means any run):
// at once for what this Store commits; for what other processes commit, at once in PostgreSQL and within about
// Config.PollInterval in an SQLite file, which is also the most that a lost notification costs. It is a wake-up and no
// message: several changes may be one, and one may come without a change. A change that is committed after Watch has
// returned is never missed, so: watch, read, wait, read again.
//
// The channel is closed when ctx ends or the Store is closed.
func (s *Store) Watch(ctx context.Context, run interaction.RunID) <-chan struct{} {
	return s.hub.watch(ctx, run)
}

// mark is how far a run had come when it was last looked at.
type mark struct{ number, delta int64 }

type watcher struct {
	run   interaction.RunID
	wake  chan struct{} // holds one wake-up
	seen  mark
	known bool // seen was read at least once
}

func (w *watcher) fire() {
	select {
	case w.wake <- struct{}{}:
	default: // one is waiting already
	}
}

// hub knows who waits. While anyone does, it also looks for what other processes wrote.
type hub struct {
	interval time.Duration
	poller   *poller               // nil where there are no other processes
	listen   func(context.Context) // hears what other processes announce; nil where they don't
	ctx      context.Context
	cancel   context.CancelFunc
	parts    sync.WaitGroup // the poll and the listener

	mu       sync.Mutex
	watchers map[*watcher]bool
	polling  bool
	hearing  bool
}

func newHub(interval time.Duration, p *poller, listen func(context.Context)) *hub {
	ctx, cancel := context.WithCancel(context.Background())
	return &hub{interval: interval, poller: p, listen: listen, ctx: ctx, cancel: cancel, watchers: map[*watcher]bool{}}
}

func (h *hub) close() {
	h.cancel()
	h.mu.Lock()
	for w := range h.watchers {
		h.drop(w)
	}
	h.mu.Unlock()
	h.parts.Wait()
}

func (h *hub) watch(ctx context.Context, run interaction.RunID) <-chan struct{} {
	w := &watcher{run: run, wake: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ctx.Err() != nil {
		close(w.wake)
		return w.wake
	}
	h.watchers[w] = true
	if !h.polling && h.poller != nil {
		h.polling = true
		h.parts.Go(h.poll)
	}
	if !h.hearing && h.listen != nil { // from the first watch on: a process that never watches needs no connection for it
		h.hearing = true
		h.parts.Go(func() { h.listen(h.ctx) })
	}
	context.AfterFunc(ctx, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.drop(w)
	})
	return w.wake
}

// drop ends a watch, once. The caller holds the lock.
func (h *hub) drop(w *watcher) {
	if h.watchers[w] {
		delete(h.watchers, w)
		close(w.wake)
	}
}

// notify wakes who waits for one of the runs.
func (h *hub) notify(runs map[interaction.RunID]bool) {
	if len(runs) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watchers {
		if w.run == "" || runs[w.run] {
			w.fire()
		}
	}
}

// wakeAll wakes everyone: something may have been missed.
func (h *hub) wakeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watchers {
		w.fire()
	}
}

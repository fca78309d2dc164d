package tool

import (
	"context"
	"sync"
	"time"
)

// Stopper is how a call that runs can be stopped where it stands.
type Stopper interface {
	// Stop returns true once nothing of the call moves any more. Where that can't be reached it returns false, and the
	// call goes on as before.
	Stop() bool
	// Continue lets a call go on that Stop has stopped.
	Continue()
}

// Limit is the time that something may take, on a clock that can stand.
type Limit struct {
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	timer *time.Timer
	since time.Time     // when the clock was last set going
	left  time.Duration // at that moment
	stood bool
}

// WithLimit returns a context that ends as one with a deadline does when d is over, not counting the time in which the
// clock stood. End releases what it holds.
func WithLimit(ctx context.Context, d time.Duration) (context.Context, *Limit) {
	inner, cancel := context.WithCancelCause(ctx)
	l := &Limit{cancel: cancel, since: time.Now(), left: d}
	l.timer = time.AfterFunc(d, func() { cancel(context.DeadlineExceeded) })
	return limited{inner}, l
}

// Stand stops the clock. Doing it twice changes nothing.
func (l *Limit) Stand() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.stood && l.timer.Stop() {
		l.stood = true
		l.left -= time.Since(l.since)
	}
}

// Go lets the clock go on.
func (l *Limit) Go() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stood {
		l.stood, l.since = false, time.Now()
		l.timer.Reset(max(l.left, 0))
	}
}

// End ends the context.
func (l *Limit) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer.Stop()
	l.stood = false
	l.cancel(context.Canceled)
}

// limited says of its end what a context with a deadline would.
type limited struct{ context.Context }

// Err implements context.Context.
func (l limited) Err() error {
	err := l.Context.Err()
	if err != nil && context.Cause(l.Context) == context.DeadlineExceeded {
		return context.DeadlineExceeded
	}
	return err
}

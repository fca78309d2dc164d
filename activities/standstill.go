package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"holdpoint/agent"
	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/tool"
)

// lookEvery is how often a running call looks whether it is to stand still. A call that ends sooner never looks.
const lookEvery = 500 * time.Millisecond

// lookTimeout bounds one look.
const lookTimeout = 10 * time.Second

// paused reports whether a call is to stand still: with its run, or alone.
func paused(run agent.Run, call interaction.CallID) bool {
	return run.Status == agent.RunPaused || slices.ContainsFunc(run.Held, func(h agent.HeldCall) bool { return h.CallID == call && h.Paused })
}

// standstill has a running call stand still while it is paused, and says in the record how it does: stopped, where its
// tool can be, or at its next boundary. The run's row is how a worker learns of a pause, whichever worker it is.
type standstill struct {
	x     *execution
	limit *tool.Limit

	mu      sync.Mutex
	stopper tool.Stopper
	stands  bool // the stopper has stopped it
	asking  int  // questions of the call that wait for people
	said    int  // events so far; odd while the last one said that it is paused
}

// follow looks until end is called.
func (s *standstill) follow(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				s.look(ctx)
			}
		}
	}()
	return func() { cancel(); <-done }
}

// stoppable takes in how the call can be stopped while it runs.
func (s *standstill) stoppable(how tool.Stopper) (forget func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopper = how
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.stopper = nil
	}
}

// look has the call stand as its run's row says. What can't be read changes nothing.
func (s *standstill) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	run, found, err := s.x.a.Store.Run(ctx, s.x.in.RunID)
	if err != nil || !found {
		if ctx.Err() == nil {
			s.x.log(ctx).Warn("whether a running call is paused could not be read", "error", err)
		}
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch isPaused := paused(run, s.x.in.CallID); {
	case isPaused && !s.stands && s.stop():
		s.say(ctx, run, event.ToolPaused, event.HowStopped)
	case isPaused && s.said%2 == 0:
		s.say(ctx, run, event.ToolPaused, event.HowBoundary)
	case !isPaused && s.stands:
		s.goOn()
		s.say(ctx, run, event.ToolResumed, event.HowStopped)
	case !isPaused && s.said%2 == 1:
		s.say(ctx, run, event.ToolResumed, event.HowBoundary)
	}
}

// stop reports whether the call was brought to a stand. Its clock stands with it.
func (s *standstill) stop() bool {
	if s.stopper == nil || !s.stopper.Stop() {
		return false
	}
	s.stands = true
	s.clock()
	return true
}

// clock has the call's time stand while it does, and while it waits for people.
func (s *standstill) clock() {
	if s.stands || s.asking > 0 {
		s.limit.Stand()
	} else {
		s.limit.Go()
	}
}

// asks notes that the call asks people; done that it does no more.
func (s *standstill) asks() (done func()) {
	add := func(n int) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asking += n
		s.clock()
	}
	add(1)
	return func() { add(-1) }
}

func (s *standstill) goOn() {
	s.stands = false
	s.clock()
	if s.stopper != nil {
		s.stopper.Continue()
	}
}

// say records how the call stands. That it could not be recorded changes nothing about how it does.
func (s *standstill) say(ctx context.Context, run agent.Run, t event.Type, how event.How) {
	if t == event.ToolPaused && s.said%2 == 0 || t == event.ToolResumed {
		s.said++
	}
	x := s.x
	data := event.ToolHoldData{ToolCallID: x.in.CallID, How: how}
	if i := slices.IndexFunc(run.Held, func(h agent.HeldCall) bool { return h.CallID == x.in.CallID }); i >= 0 {
		data.By, data.Note = run.Held[i].By, run.Held[i].Note
	}
	e := event.New(x.in.RunID, t, x.a.Now(), data)
	e.Key = fmt.Sprintf("stands-%s-%d-%s", x.claim, s.said, how)
	err := x.a.Store.Write(ctx, func(tx Tx) error {
		if _, _, err := lockRun(ctx, tx, x.in.RunID); err != nil {
			return err
		}
		_, err := tx.AppendEvents(ctx, x.in.RunID, e)
		return err
	})
	if err != nil && ctx.Err() == nil {
		x.log(ctx).Warn("that a running call stands, or goes on, could not be recorded", "error", err)
	}
}

// boundary is the event of a call that was paused alone and came to its end before its tool had said so; nil if there is
// none to say.
func (x *execution) boundary(run agent.Run) *event.Event {
	if x.still == nil || x.still.said%2 == 1 {
		return nil
	}
	i := slices.IndexFunc(run.Held, func(h agent.HeldCall) bool { return h.CallID == x.in.CallID && h.Paused })
	if i < 0 {
		return nil
	}
	e := heldEvent(x.in.RunID, run.Held[i], x.a.Now())
	return &e
}

// heldEvent says of a call that does not run any more that it is paused at its boundary, or goes on from there.
func heldEvent(run interaction.RunID, h agent.HeldCall, now time.Time) event.Event {
	t := event.ToolResumed
	if h.Paused {
		t = event.ToolPaused
	}
	return event.New(run, t, now, event.ToolHoldData{ToolCallID: h.CallID, By: h.By, Note: h.Note, How: event.HowBoundary})
}

// ready prepares the call, and waits at this boundary, before anything is claimed, while it is paused: the pause may have
// come while it was on its way to this worker. What was found out is then found out anew.
func (x *execution) ready(ctx context.Context) error {
	for {
		if err := x.prepare(ctx); err != nil || !paused(x.run, x.in.CallID) {
			return errors.Join(err, x.slow())
		}
		if x.quick {
			return errLeft
		}
		tick := time.NewTicker(lookEvery)
		for waiting := true; waiting; {
			select {
			case <-ctx.Done():
				tick.Stop()
				return ctx.Err()
			case <-tick.C:
			}
			run, found, err := x.a.Store.Run(ctx, x.in.RunID)
			waiting = err != nil || found && paused(run, x.in.CallID)
		}
		tick.Stop()
	}
}

// maxHeld bounds how many calls' pauses and their ends a run's row keeps.
const maxHeld = 50

// withHeld adds how a call stands. What is dropped above the bound is about calls that go on: one that is paused stays so.
func withHeld(list []agent.HeldCall, held agent.HeldCall) []agent.HeldCall {
	list = append(slices.DeleteFunc(slices.Clone(list), func(o agent.HeldCall) bool { return o.CallID == held.CallID }), held)
	for len(list) > maxHeld {
		oldest := slices.IndexFunc(list, func(o agent.HeldCall) bool { return !o.Paused })
		if oldest < 0 { // more than ever run at once
			break
		}
		list = slices.Delete(list, oldest, oldest+1)
	}
	return list
}

// holdCalls notes in a run's row which of its calls are paused alone. A call that runs says itself how it stands.
func (a *Activities) holdCalls(ctx context.Context, tx Tx, run *agent.Run, holds []CallHold) ([]event.Event, error) {
	var events []event.Event
	for _, h := range holds {
		held := agent.HeldCall{CallID: h.CallID, Paused: h.Paused, By: h.By, Note: h.Note}
		run.Held = withHeld(run.Held, held)
		rec, err := callOf(ctx, tx, h.CallID)
		if err != nil {
			return nil, err
		}
		if rec.Result != nil {
			e := heldEvent(run.ID, held, a.Now())
			e.Key = "held-" + fingerprint(string(h.Key))
			events = append(events, e)
		}
	}
	if len(holds) == 0 {
		return nil, nil
	}
	return events, tx.UpdateRun(ctx, *run)
}

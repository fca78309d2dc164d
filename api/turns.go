package api

import (
	"context"
	"sync"
)

// messagesAtOnce is how many messages for one run a bridge has under way at once. Temporal takes ten updates of a workflow
// from all bridges together and refuses more, which would then be left as signals, and nobody told what became of them.
const messagesAtOnce = 4

// turns has those wait who have messages for one run.
type turns struct {
	mu     sync.Mutex
	places map[string]*place
}

// place is a run's: users are those who have a message under way or wait.
type place struct {
	free  chan struct{}
	users int
}

// take waits for a turn with a run, which ends with release; waited says that it took a while. Without a turn before ctx
// ends, release is nil.
func (t *turns) take(ctx context.Context, workflowID string) (release func(), waited bool) {
	t.mu.Lock()
	if t.places == nil {
		t.places = map[string]*place{}
	}
	p := t.places[workflowID]
	if p == nil {
		p = &place{free: make(chan struct{}, messagesAtOnce)}
		t.places[workflowID] = p
	}
	p.users++
	t.mu.Unlock()
	release = func() { <-p.free; t.leave(workflowID, p) }
	select {
	case p.free <- struct{}{}:
		return release, false
	default:
	}
	select {
	case p.free <- struct{}{}:
		return release, true
	case <-ctx.Done():
		t.leave(workflowID, p)
		return nil, true
	}
}

func (t *turns) leave(workflowID string, p *place) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p.users--; p.users == 0 {
		delete(t.places, workflowID)
	}
}

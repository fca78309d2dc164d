package telemetry

import (
	"fmt"
	"sync"

	"go.temporal.io/sdk/client"
)

// keptTags bounds how many sets of tags are kept: their values are names of queues and types, which are few, but a client can
// start workflows of any name.
const keptTags = 1000

// tagged keeps one handler for each set of tags: the SDK asks anew for every workflow, and keeps what it gets for as long as
// the workflow waits.
type tagged struct {
	client.MetricsHandler
	mu   sync.Mutex
	made map[string]*tagged
}

// WithTags adds to every metric.
func (t *tagged) WithTags(tags map[string]string) client.MetricsHandler {
	key := fmt.Sprintf("%q", tags) // in the order of its keys
	t.mu.Lock()
	defer t.mu.Unlock()
	if same, ok := t.made[key]; ok {
		return same
	}
	made := &tagged{MetricsHandler: t.MetricsHandler.WithTags(tags)}
	if len(t.made) < keptTags {
		if t.made == nil {
			t.made = map[string]*tagged{}
		}
		t.made[key] = made
	}
	return made
}

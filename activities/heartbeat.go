package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
)

// heartbeatEvery is well below every heartbeat timeout. A cancellation arrives with a heartbeat, of which the SDK sends one
// a second.
const heartbeatEvery = time.Second / 2

// heartbeat tells Temporal that the activity lives until stop is called. It is also how a cancellation arrives; an
// activity that was cancelled or paused lives on until its tool has stopped and its result is stored.
func heartbeat(ctx context.Context) (stop func()) {
	ctx = context.WithoutCancel(ctx)
	ending, end := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(heartbeatEvery)
		defer tick.Stop()
		for {
			select {
			case <-ending.Done():
				return
			case <-tick.C:
				activity.RecordHeartbeat(ctx)
			}
		}
	}()
	return func() { end(); <-done }
}

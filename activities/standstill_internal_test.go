package activities

import (
	"fmt"
	"testing"

	"holdpoint/agent"
	"holdpoint/interaction"
)

// TestAPausedCallStaysPausedWhateverManyOthersDo pauses one of many calls, and then each of the others for a moment.
func TestAPausedCallStaysPausedWhateverManyOthersDo(t *testing.T) {
	t.Parallel()
	run := agent.Run{Status: agent.RunRunning}
	run.Held = withHeld(run.Held, agent.HeldCall{CallID: "first", Paused: true})
	for n := range 3 * maxHeld {
		id := interaction.CallID(fmt.Sprint(n))
		run.Held = withHeld(run.Held, agent.HeldCall{CallID: id, Paused: true})
		if run.Held = withHeld(run.Held, agent.HeldCall{CallID: id}); !paused(run, "first") || paused(run, id) {
			t.Fatalf("after %d others the first is paused: %t, the last: %t", n+1, paused(run, "first"), paused(run, id))
		}
	}
	if len(run.Held) != maxHeld {
		t.Errorf("%d are kept", len(run.Held))
	}
}

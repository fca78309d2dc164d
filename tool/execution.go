package tool

import (
	"time"

	"holdpoint/interaction"
)

// State is how far an execution came. An absent record means that nothing began.
type State string

const (
	StateStarted  State = "started"  // claimed: the effect may have begun
	StateAsked    State = "asked"    // the tool returned a request and had no effect
	StateHeld     State = "held"     // the tool has run, and people decide what becomes of its output
	StateFinished State = "finished" // the result is stored
)

// Execution is the ledger's entry for a call. It is keyed by our run and call, never by Temporal's run id, so
// neither a retry nor a reset runs a finished call again.
type Execution struct {
	CallID   interaction.CallID `json:"call_id"`
	RunID    interaction.RunID  `json:"run_id"`
	Attempt  int                `json:"attempt"` // counts claims, from 1
	Phase    int                `json:"phase"`   // counts the answers a tool that asks has been given
	State    State              `json:"state"`
	Digest   string             `json:"digest"`         // of the tool and arguments that were claimed
	Worker   string             `json:"worker"`         // who claimed it
	Claim    string             `json:"claim"`          // which activity attempt claimed it
	Interact interaction.ID     `json:"interaction_id"` // the approval that it was claimed under
	// Grants are the stored rules that it was claimed under: the call has counted its one use of each that has a bound.
	Grants []string `json:"grants,omitempty"`
	// Held is the output while it waits to be released, and KeepAs the key under which it may be kept once it is.
	Held      *Result   `json:"held,omitempty"`
	KeepAs    string    `json:"keep_as,omitempty"`
	StartedAt time.Time `json:"started_at"`
	EndedAt   time.Time `json:"ended_at,omitzero"`
}

package tool

import (
	"encoding/json"
	"time"

	"holdpoint/interaction"
)

// Record is what is kept of a call: the call itself, where its result belongs in the transcript, what was
// decided when it was taken in, and its result once there is one.
type Record struct {
	Call     Call  `json:"call"`
	Turn     int   `json:"turn"`
	Index    int   `json:"index"`    // among the calls of its turn
	Sequence int64 `json:"sequence"` // reserved in the session for its result
	// Edited are the arguments that a reviewer gave the call and that were claimed; none if it runs as it is.
	Edited   json.RawMessage `json:"edited,omitempty"`
	Digest   string          `json:"digest"`             // of the tool's name and the arguments
	Decision json.RawMessage `json:"decision,omitempty"` // permission.Decision, as taken in
	// Interactions counts the interactions opened for this call so far; the next id is derived from it.
	Interactions int `json:"interactions"`
	// SharedWith is the identical call of the same turn whose interaction and result are this one's too; Shared has,
	// in that call's record, the others.
	SharedWith interaction.CallID   `json:"shared_with,omitempty"`
	Shared     []interaction.CallID `json:"shared,omitempty"`
	Result     *Result              `json:"result,omitempty"`
	EndedAt    time.Time            `json:"ended_at,omitzero"`
}

package tool

import "holdpoint/interaction"

// Answered says how a person answered a call that is remembered for the rest of its run.
type Answered string

// The answers that are remembered. All others are for the call alone.
const (
	AnsweredRejected Answered = "rejected" // the same call is not asked again
	AnsweredEdited   Answered = "edited"   // the same call is asked again, linked to the interaction that edited it
)

// Memory is what a run remembers of a call that a person answered. Calls are the same if tool and canonical arguments
// are.
type Memory struct {
	CallID      interaction.CallID      `json:"call_id"`
	Answered    Answered                `json:"answered"`
	Interaction interaction.ID          `json:"interaction_id"`
	By          interaction.PrincipalID `json:"by,omitempty"`
	Reason      string                  `json:"reason,omitempty"`
	// Repeats counts the turns in which the model made the call again after it was rejected.
	Repeats int `json:"repeats,omitempty"`
}

// MaxRepeats is how often a model may make a rejected call again; with the last of them its run stops.
const MaxRepeats = 3

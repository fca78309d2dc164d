package interaction

import "time"

// Interaction is a request with what became of it.
type Interaction struct {
	Request   Request    `json:"request"`
	Status    Status     `json:"status"`
	Responses []Response `json:"responses,omitempty"` // accepted, in order
	Action    Action     `json:"action,omitempty"`    // what it ended in, once final
	Reason    string     `json:"reason,omitempty"`    // why it was cancelled or expired
	ClosedAt  time.Time  `json:"closed_at,omitzero"`
	HeldAt    time.Time  `json:"held_at,omitzero"` // since when it is held
	// HeldFor is how long it was held before: reminders and escalations are later by that, as the deadline is.
	HeldFor time.Duration `json:"held_for,omitempty"`
	// Delegations are those in force, each of one reviewer's seat; Named are the reviewers then, seats handed on or not.
	Delegations []Delegation `json:"delegations,omitempty"`
	Named       []string     `json:"named,omitempty"`
	// SubmittedAt is when an answer was accepted that has not been carried out yet. It belongs to the stored
	// projection alone.
	SubmittedAt time.Time `json:"submitted_at,omitzero"`
}

// Outcome is how an interaction ended.
type Outcome struct {
	InteractionID ID         `json:"interaction_id"`
	Status        Status     `json:"status"`
	Action        Action     `json:"action"`
	Responses     []Response `json:"responses,omitempty"` // the accepted ones; the last decided
	Reason        string     `json:"reason,omitempty"`
	At            time.Time  `json:"at"`
}

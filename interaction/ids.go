// Package interaction is what a person is asked, what they may answer, who may, and what becomes of it: a
// request, its responses, and the transitions open → answered, held, expired, cancelled as pure functions that
// take the time. It knows neither Temporal nor a database nor tools, so it can be used alone.
//
// Start at Request, Response and Interaction.
package interaction

// Identifiers have types of their own so that one can't be passed where another is meant. They are
// opaque to everyone but their makers.
type (
	// ID names an interaction: "<call id>-<n>", n counting the interactions of one call from 1.
	ID string
	// RunID names an agent run. It is ours, not Temporal's run id, which a reset changes.
	RunID string
	// SessionID names a conversation.
	SessionID string
	// StepID names one message of a transcript.
	StepID string
	// CallID names a tool call: "<run id>-<turn>-<index>". Providers reuse their own ids; this one is unique.
	CallID string
	// ResponseID is chosen by a response's sender; the same id is applied once, by whatever road it comes.
	ResponseID string
	// PrincipalID names a person or a service that calls.
	PrincipalID string
)

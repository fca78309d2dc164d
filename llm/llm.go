// Package llm has the provider-neutral side of talking to a language model: messages, a transcript's steps,
// the Model interface that adapters implement, and the errors that say whether trying again makes sense.
//
// Start at Model.
package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"holdpoint/interaction"
	"holdpoint/tool"
)

// Role is who wrote a message.
type Role string

const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// ToolCall is a call as the model wrote it. Args is its text exactly: it need not be JSON.
type ToolCall struct {
	ID         interaction.CallID `json:"id,omitempty"` // ours, once the call is taken in
	ProviderID string             `json:"provider_id"`
	Name       string             `json:"name"`
	Args       string             `json:"args"`
}

// Message is one message of a transcript. An assistant message with tool calls is followed by exactly one
// tool message per call, in the order of the calls.
type Message struct {
	Role       Role       `json:"role"`
	Content    string     `json:"content,omitempty"`
	ToolCalls  []ToolCall `json:"tool_calls,omitempty"`  // assistant
	ProviderID string     `json:"provider_id,omitempty"` // tool: the call it answers, in the model's words
	ToolName   string     `json:"tool_name,omitempty"`   // tool
	ToolStatus string     `json:"tool_status,omitempty"` // tool: tool.Status
	Refusal    bool       `json:"refusal,omitempty"`     // assistant: the model declined
}

// Step is a message with its place: sequence orders a session's steps and has gaps only while tool results
// are awaited.
type Step struct {
	ID        interaction.StepID    `json:"id"`
	RunID     interaction.RunID     `json:"run_id"`
	SessionID interaction.SessionID `json:"session_id"`
	Sequence  int64                 `json:"sequence"`
	Turn      int                   `json:"turn"`
	CallID    interaction.CallID    `json:"tool_call_id,omitempty"` // tool results
	Message   Message               `json:"message"`
	Usage     Usage                 `json:"usage,omitzero"`
	CreatedAt time.Time             `json:"created_at"`
}

// Usage counts tokens, as the provider reports them.
type Usage struct {
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"`
}

// Request is one call of a model.
type Request struct {
	System   string
	Messages []Message
	Tools    []tool.Definition
	// Delta receives pieces of text as they come. It may be nil; it must not block.
	Delta func(text string)
}

// Reply is what the model answered: text, tool calls, or both.
type Reply struct {
	Message Message
	Usage   Usage
	// Truncated reports that the provider cut the answer at its token limit, or elsewhere.
	Truncated bool
	// Paused reports that it is cut because the provider wants to be asked to go on.
	Paused bool
}

// Model is one configured language model.
type Model interface {
	Generate(ctx context.Context, req Request) (Reply, error)
}

// ErrorKind classifies what went wrong at a provider. The set is closed.
type ErrorKind string

const (
	ErrAuth        ErrorKind = "auth"         // the key is wrong or lacks rights; trying again is useless
	ErrBadRequest  ErrorKind = "bad_request"  // the provider does not take this request; useless
	ErrRateLimited ErrorKind = "rate_limited" // try again, not before RetryAfter
	ErrUnavailable ErrorKind = "unavailable"  // the provider or the way to it is down; try again
	ErrMalformed   ErrorKind = "malformed"    // the answer can't be read, or the stream was cut; try again
)

// Error is what adapters return. Message never contains a key.
type Error struct {
	Kind       ErrorKind
	Message    string
	RetryAfter time.Duration // zero: unknown
	Err        error
}

func (e *Error) Error() string { return fmt.Sprintf("model: %s: %s", e.Kind, e.Message) }
func (e *Error) Unwrap() error { return e.Err }

// Retryable reports whether the same request may succeed later.
func (e *Error) Retryable() bool {
	switch e.Kind {
	case ErrRateLimited, ErrUnavailable, ErrMalformed:
		return true
	case ErrAuth, ErrBadRequest:
		return false
	}
	return false
}

// Args returns the call's arguments as JSON, an empty text counting as the empty object, or an error that
// tells a model what is wrong with them.
func (c ToolCall) JSON() (json.RawMessage, error) {
	if c.Args == "" {
		return json.RawMessage("{}"), nil
	}
	if !json.Valid([]byte(c.Args)) {
		return nil, fmt.Errorf("the arguments of %s are not valid JSON", c.Name)
	}
	return json.RawMessage(c.Args), nil
}

// Package event is the vocabulary of a run's stream, its record and the inbox: a closed set of event types,
// their JSON form, and the hash chain that shows when a stored event was changed, removed or cut off.
//
// Start at Event and Chain. All types but StepDelta are stored, numbered per run from 1 without gaps.
package event

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"holdpoint/interaction"
)

// Type names an event. The set is closed.
type Type string

const (
	RunStarted          Type = "run_started"
	StepDelta           Type = "step_delta" // live only, never stored
	StepCompleted       Type = "step_completed"
	InteractionRequest  Type = "interaction_request"
	InteractionResponse Type = "interaction_response"
	ExecutionSuspended  Type = "execution_suspended"
	ExecutionResumed    Type = "execution_resumed"
	ToolAuthRequired    Type = "tool_auth_required"
	ToolAuthDenied      Type = "tool_auth_denied"
	ToolPaused          Type = "tool_paused"
	ToolResumed         Type = "tool_resumed"
	RunPaused           Type = "run_paused"
	RunResumed          Type = "run_resumed"
	RunCompleted        Type = "run_completed"
	RunFailed           Type = "run_failed"
	RunAbortedByHuman   Type = "run_aborted_by_human"
	StageStarted        Type = "stage_started"
	StageCompleted      Type = "stage_completed"
	StageSkipped        Type = "stage_skipped"
	IterationStarted    Type = "iteration_started"
	BranchStarted       Type = "branch_started"
	BranchCompleted     Type = "branch_completed"
	Error               Type = "error"
)

// Types lists every type in the order above.
func Types() []Type {
	return []Type{RunStarted, StepDelta, StepCompleted, InteractionRequest, InteractionResponse, ExecutionSuspended,
		ExecutionResumed, ToolAuthRequired, ToolAuthDenied, ToolPaused, ToolResumed, RunPaused, RunResumed,
		RunCompleted, RunFailed, RunAbortedByHuman, StageStarted, StageCompleted, StageSkipped, IterationStarted,
		BranchStarted, BranchCompleted, Error}
}

// Valid reports whether t belongs to the set.
func (t Type) Valid() bool {
	for _, k := range Types() {
		if k == t {
			return true
		}
	}
	return false
}

// Last reports whether a run's stream ends with t.
func (t Type) Last() bool { return t == RunCompleted || t == RunFailed || t == RunAbortedByHuman }

// Event is one entry of a run's record. Number, Salt and Hash are given by the store when it is appended.
type Event struct {
	RunID   interaction.RunID `json:"run_id"`
	Number  int64             `json:"number,omitempty"`
	Type    Type              `json:"type"`
	Time    time.Time         `json:"time"`
	Payload json.RawMessage   `json:"payload"`
	// Key, if set, makes appending idempotent: a run has at most one event of a key.
	Key  string `json:"-"`
	Salt []byte `json:"-"`
	// Inner is the hash of salt and payload, set by Chain. It stands in for a payload that was erased.
	Inner string `json:"-"`
	Hash  string `json:"hash,omitempty"`
	// Redacted says that parts of the payload are hidden here: the hash is that of the whole, and who answers must read the
	// interaction itself. It is set where an event is shown; what is stored is whole.
	Redacted bool `json:"redacted,omitempty"`
}

// Erased reports whether e's payload was removed after it was chained.
func (e Event) Erased() bool { return len(e.Payload) == 0 && e.Inner != "" }

// Erase returns e without its payload and salt; Verify still accepts it. Without the salt, nobody can try out what
// the payload was.
func (e Event) Erase() Event {
	if !e.Erased() {
		e.Inner = PayloadHash(e.Salt, e.Payload)
	}
	e.Payload, e.Salt = nil, nil
	return e
}

// Head is the end of a run's chain. An activity's result carries it, so that Temporal's history shows when
// the stored record was cut off.
type Head struct {
	Number int64  `json:"number"`
	Hash   string `json:"hash"`
}

// New makes an event whose payload is v's JSON form. A payload that can't be encoded becomes one that says so:
// an event is never lost for its shape.
func New(run interaction.RunID, t Type, at time.Time, v any) Event {
	p, err := json.Marshal(v)
	if err != nil {
		p, _ = json.Marshal(map[string]string{"encoding_error": err.Error()})
	}
	return Event{RunID: run, Type: t, Time: at.UTC().Truncate(time.Microsecond), Payload: p}
}

// Chain returns e as the next event after head, with its number and hash:
//
//	hash = SHA-256(previous ‖ number ‖ type ‖ time ‖ SHA-256(salt ‖ payload))
//
// every part preceded by its length. A payload can be erased later: its inner hash is enough to verify.
func Chain(head Head, e Event) Event {
	e.Number = head.Number + 1
	if !e.Erased() {
		e.Inner = PayloadHash(e.Salt, e.Payload)
	}
	e.Hash = Hash(head.Hash, e.Number, e.Type, e.Time, e.Inner)
	return e
}

// PayloadHash is the inner hash of an event, hex.
func PayloadHash(salt, payload []byte) string { return digest(salt, payload) }

// Hash is the outer hash of an event, hex.
func Hash(previous string, number int64, t Type, at time.Time, payloadHash string) string {
	return digest([]byte(previous), fmt.Append(nil, number), []byte(t), []byte(at.UTC().Format(time.RFC3339Nano)), []byte(payloadHash))
}

// Verify checks events, in order, against the chain that starts after head, and returns the new head. On an error
// the head is that of the last event in order. That the record was not cut off at its end shows only by comparing
// the head with one kept elsewhere: Temporal's history has one in every activity's result.
func Verify(head Head, events []Event) (Head, error) {
	for _, e := range events {
		want := Chain(head, e)
		if e.Number != want.Number {
			return head, fmt.Errorf("run %s: event %d follows event %d", e.RunID, e.Number, head.Number)
		}
		if e.Hash != want.Hash {
			return head, fmt.Errorf("run %s: event %d (%s) was changed after it was written", e.RunID, e.Number, e.Type)
		}
		head = Head{Number: e.Number, Hash: e.Hash}
	}
	return head, nil
}

func digest(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write(p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

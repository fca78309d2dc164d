package event

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"holdpoint/interaction"
)

// ErrErased is Decode's answer for an event whose payload was erased.
var ErrErased = errors.New("the payload was erased")

// Decode returns an event's payload as the struct of its type: a RunStartedData for run_started, an
// interaction.Request for interaction_request, and so on. Types without a struct of their own give the
// json.RawMessage itself. Fields that a newer version added are ignored.
func Decode(e Event) (any, error) {
	if !e.Type.Valid() {
		return nil, fmt.Errorf("run %s: event %d has the unknown type %q", e.RunID, e.Number, e.Type)
	}
	if e.Erased() {
		return nil, fmt.Errorf("run %s: event %d (%s): %w", e.RunID, e.Number, e.Type, ErrErased)
	}
	var fault struct {
		Message string `json:"encoding_error"`
	}
	if json.Unmarshal(e.Payload, &fault) == nil && fault.Message != "" {
		return nil, fmt.Errorf("run %s: event %d (%s) was written without its payload: %s", e.RunID, e.Number, e.Type, fault.Message)
	}
	v := reflect.New(payloadType(e.Type))
	if err := json.Unmarshal(e.Payload, v.Interface()); err != nil {
		return nil, fmt.Errorf("run %s: event %d (%s) has a payload of the wrong shape: %w", e.RunID, e.Number, e.Type, err)
	}
	return v.Elem().Interface(), nil
}

func payloadType(t Type) reflect.Type {
	switch t {
	case RunStarted:
		return reflect.TypeFor[RunStartedData]()
	case StepDelta:
		return reflect.TypeFor[StepDeltaData]()
	case StepCompleted:
		return reflect.TypeFor[StepCompletedData]()
	case InteractionRequest:
		return reflect.TypeFor[interaction.Request]()
	case InteractionResponse:
		return reflect.TypeFor[InteractionResponseData]()
	case ExecutionSuspended:
		return reflect.TypeFor[SuspendedData]()
	case ExecutionResumed:
		return reflect.TypeFor[ResumedData]()
	case ToolAuthDenied:
		return reflect.TypeFor[ToolAuthDeniedData]()
	case ToolPaused, ToolResumed:
		return reflect.TypeFor[ToolHoldData]()
	case RunPaused, RunResumed:
		return reflect.TypeFor[HoldData]()
	case RunCompleted:
		return reflect.TypeFor[RunCompletedData]()
	case RunFailed:
		return reflect.TypeFor[RunFailedData]()
	case RunAbortedByHuman:
		return reflect.TypeFor[RunAbortedData]()
	case Error:
		return reflect.TypeFor[ErrorData]()
	case StageStarted, StageCompleted, StageSkipped, IterationStarted, BranchStarted, BranchCompleted:
		return reflect.TypeFor[StageData]()
	case ToolAuthRequired: // nobody reads theirs by a struct yet
	}
	return reflect.TypeFor[json.RawMessage]()
}

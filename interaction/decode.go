package interaction

import (
	"encoding/json"
	"fmt"
)

// Bounds of one message with several responses.
const (
	MaxBatch      = 100     // responses
	MaxBatchBytes = 1 << 20 // all of them, encoded: well below the 2 MB at which Temporal ends a run
)

// DecodeResponse reads one response as Strict does. The error is an *Error. Whether the response fits an
// interaction is Check's question; the request id may be missing where an address carries it.
func DecodeResponse(data []byte) (Response, error) {
	return decodeResponse(data, answers)
}

var (
	answers = reading{hint: responseHint}
	taken   = reading{hint: responseHint, zeros: true}
)

func decodeResponse(data []byte, how reading) (Response, error) {
	var r Response
	if len(data) > MaxResponseBytes {
		return r, refuse(CodeTooLarge, "", "the response has %d bytes; at most %d are taken", len(data), MaxResponseBytes)
	}
	if err := strict(data, &r, how); err != nil {
		return Response{}, err
	}
	return r, checkDecoded(r)
}

// DecodeResponses reads the argument of respond: one response object, or {"responses": [...]} with several. Each
// must name its request. An object whose only key is "responses" is always the latter; a response to a combined
// request says its request_id beside them.
func DecodeResponses(data []byte) ([]Response, error) {
	return decodeResponses(data, answers)
}

// DecodeTaken reads what a run has taken already, in which a stated zero was as good as none: a history must come out
// as it did.
func DecodeTaken(data []byte) ([]Response, error) {
	return decodeResponses(data, taken)
}

func decodeResponses(data []byte, how reading) ([]Response, error) {
	if len(data) > MaxBatchBytes {
		return nil, refuse(CodeTooLarge, "", "the message has %d bytes; at most %d are taken", len(data), MaxBatchBytes)
	}
	if isBatch(data) {
		return decodeBatch(data, how)
	}
	r, err := decodeResponse(data, how)
	if err == nil {
		err = checkNamed(r)
	}
	if err != nil {
		return nil, err
	}
	return []Response{r}, nil
}

func isBatch(data []byte) bool {
	var keys map[string]json.RawMessage
	if json.Unmarshal(data, &keys) != nil {
		return false
	}
	_, ok := keys["responses"]
	return ok && len(keys) == 1
}

func decodeBatch(data []byte, how reading) ([]Response, error) {
	var batch struct {
		Responses []Response `json:"responses"`
	}
	if err := strict(data, &batch, how); err != nil {
		return nil, err
	}
	if n := len(batch.Responses); n == 0 || n > MaxBatch {
		return nil, refuse(CodeInvalid, "responses", "has %d responses; send 1 to %d", n, MaxBatch)
	}
	total := 0
	for n, r := range batch.Responses {
		path := fmt.Sprintf("responses[%d]", n)
		size, err := encodedSize(r)
		if total += size; err == nil && total > MaxBatchBytes {
			err = refuse(CodeTooLarge, "", "the responses up to here have %d bytes as JSON; at most %d are taken at once", total, MaxBatchBytes)
		}
		if err == nil {
			err = checkDecoded(r)
		}
		if err == nil {
			err = checkNamed(r)
		}
		if err != nil {
			return nil, within(path, err)
		}
	}
	return batch.Responses, nil
}

func checkDecoded(r Response) error {
	if r.Action != "" && !r.Action.Valid() {
		return refuse(CodeInvalid, "action", "%s is no action; use one of %s", quote(string(r.Action)), joinActions(choosable))
	}
	return nil
}

func checkNamed(r Response) error {
	if r.RequestID == "" {
		return refuse(CodeInvalid, "request_id", "is missing: say which interaction this answers, and what to do by action (%s)", joinActions(choosable))
	}
	return nil
}

// responseHint helps with the fields that people and other protocols try.
func responseHint(field string) string {
	switch field {
	case "tool_name", "tool", "name":
		return "the tool of a call can't be changed; reject the call and say in feedback what to use instead"
	case "approved", "approve", "decision", "allow", "status":
		return "say what to do by action: " + joinActions(choosable)
	case "reason", "comment", "message":
		return "put words for the agent in feedback, words for the record in note"
	default:
		return ""
	}
}

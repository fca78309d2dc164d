package interaction_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"holdpoint/interaction"
)

// FuzzDecodeResponses: nothing panics; what is refused is refused with a typed error; what is taken means the
// same after it was sent on, and can be held against an interaction.
func FuzzDecodeResponses(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `[]`, `"x"`, `{"approved":"no"}`, `{"request_id":"c-1","action":"explode"}`,
		`{"request_id":"run-1-0-1","action":"approve"}`,
		`{"responses":[{"request_id":"run-1-0-1","action":"reject","feedback":"é\u0000"},{"request_id":"c-2","option_id":"skip"}]}`,
		`{"request_id":"run-1-0-1","action":"modify_args","args":{"n":5,"ok":false,"tags":[]},"tool_name":"bash"}`,
		`{"request_id":"run-1-0-1","action":"approve","\u0061ction":"reject"}`,
		`{"request_id":"run-1-0-1","responses":[{"confirmed":true},{"responses":[{"responses":[]}]}]}`,
		`{"request_id":"c","responded_at":"2026-05-04T09:00:00+02:00","data":[[[[1e400]]]]}`,
		"{\"request_id\":\"\xff\"}",
	} {
		f.Add([]byte(seed))
	}
	whole := approval(nil)
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := interaction.DecodeResponses(data)
		if err != nil {
			if e, ok := errors.AsType[*interaction.Error](err); !ok || e.Code == "" || e.Message == "" || got != nil {
				t.Fatalf("refused with %#v and %+v", err, got)
			}
			return
		}
		for _, r := range got {
			_ = whole.Check(r, t0)
			sent, err := json.Marshal(r)
			if err != nil {
				t.Fatalf("taken but can't be sent on: %v", err)
			}
			if len(sent) > interaction.MaxResponseBytes {
				continue
			}
			again, err := interaction.DecodeResponse(sent)
			if err != nil {
				t.Fatalf("taken, sent on as %s, then refused: %v", sent, err)
			}
			if resent, _ := json.Marshal(again); !reflect.DeepEqual(sent, resent) {
				t.Fatalf("%s became %s", sent, resent)
			}
		}
	})
}

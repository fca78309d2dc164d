package interaction_test

import (
	"fmt"
	"strings"
	"testing"

	"holdpoint/interaction"
)

func TestDecodeResponsesTakes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		want       int
	}{
		{"one response", `{"request_id":"c-1","action":"approve"}`, 1},
		{"several", `{"responses":[{"request_id":"c-1","action":"approve"},{"request_id":"d-1","action":"reject","feedback":"no"}]}`, 2},
		{"one with parts", `{"request_id":"c-1","responses":[{"confirmed":true},{"text":"x"}]}`, 1},
		{"all fields", `{"id":"r","request_id":"c-1","action":"answer","option_id":"o","selected":["a"],"text":"t","confirmed":true,
			"args":{},"args_ref":"x","args_digest":"y","feedback":"f","data":[1],"responses":[],"digest":"d","note":"n",
			"reviewer":{"id":"ada","groups":["ops"],"roles":["reviewer"]},"responded_at":"2026-05-04T09:00:00Z"}`, 1},
		{"the most at once", batch(interaction.MaxBatch, ""), interaction.MaxBatch},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := interaction.DecodeResponses([]byte(tt.text))
			if err != nil || len(got) != tt.want || got[0].RequestID == "" {
				t.Fatalf("%d responses, %v; want %d", len(got), err, tt.want)
			}
		})
	}
}

func batch(n int, note string) string {
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprintf(`{"request_id":"c-%d","action":"reject","note":"%s"}`, i, note)
	}
	return `{"responses":[` + strings.Join(items, ",") + `]}`
}

func TestDecodeResponsesRefuses(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", interaction.MaxResponseBytes-100)
	for _, tt := range []struct {
		name, text string
		code       interaction.Code
		field      string
		message    string
	}{
		{"an empty object", `{}`, interaction.CodeInvalid, "request_id", "is missing: say which interaction this answers, and what to do by action (approve, modify_args, reject, retry, provide_info, answer, skip, terminate, redact, withhold)"},
		{"null", `null`, interaction.CodeInvalid, "", "must be a JSON object, not null"},
		{"a list", `[]`, interaction.CodeInvalid, "", "must be a JSON object, not a list"},
		{"a list of responses", `[{"request_id":"c-1","action":"approve"}]`, interaction.CodeInvalid, "", "must be a JSON object, not a list"},
		{"a string", `"approve"`, interaction.CodeInvalid, "", `not the string "approve"`},
		{"another vocabulary", `{"request_id":"c-1","approved":"no"}`, interaction.CodeInvalid, "approved", "is not taken: say what to do by action: approve, modify_args"},
		{"a reason", `{"request_id":"c-1","action":"reject","reason":"no"}`, interaction.CodeInvalid, "reason", "put words for the agent in feedback"},
		{"another tool", `{"request_id":"c-1","action":"modify_args","args":{},"tool_name":"bash"}`, interaction.CodeInvalid, "tool_name", "the tool of a call can't be changed"},
		{"an unknown field", `{"request_id":"c-1","acton":"approve"}`, interaction.CodeInvalid, "acton", "is no field here; fields are id, request_id, action"},
		{"another case", `{"request_id":"c-1","Action":"approve"}`, interaction.CodeInvalid, "Action", "is no field here"},
		{"two actions", `{"request_id":"c-1","action":"reject","action":"approve"}`, interaction.CodeInvalid, "action", "comes twice"},
		{"an unknown action", `{"request_id":"c-1","action":"yes"}`, interaction.CodeInvalid, "action", `"yes" is no action; use one of approve`},
		{"an action of the wrong type", `{"request_id":"c-1","action":true}`, interaction.CodeInvalid, "action", "must be a string, not true"},
		{"confirmed of the wrong type", `{"request_id":"c-1","confirmed":"no"}`, interaction.CodeInvalid, "confirmed", `must be true or false, not the string "no"`},
		{"a second one that is wrong", `{"responses":[{"request_id":"c-1","action":"approve"},{"request_id":"d-1","action":1}]}`, interaction.CodeInvalid, "responses[1].action", "must be a string"},
		{"a second one of no known action", `{"responses":[{"request_id":"c-1","action":"approve"},{"request_id":"d-1","action":"ok"}]}`, interaction.CodeInvalid, "responses[1].action", `"ok" is no action`},
		{"a second one without address", `{"responses":[{"request_id":"c-1","action":"approve"},{"action":"approve"}]}`, interaction.CodeInvalid, "responses[1].request_id", "is missing"},
		{"no responses", `{"responses":[]}`, interaction.CodeInvalid, "responses", "has 0 responses; send 1 to 100"},
		{"null responses", `{"responses":null}`, interaction.CodeInvalid, "responses", "has 0 responses"},
		{"too many", batch(interaction.MaxBatch+1, ""), interaction.CodeInvalid, "responses", "has 101 responses"},
		{"one too large", `{"request_id":"c-1","note":"` + strings.Repeat("x", interaction.MaxResponseBytes) + `"}`, interaction.CodeTooLarge, "", "at most 65536"},
		{"one of several too large", batch(1, strings.Repeat("x", interaction.MaxResponseBytes)), interaction.CodeTooLarge, "responses[0]", "at most 65536"},
		{"all together too large", batch(17, big), interaction.CodeTooLarge, "", "at most 1048576"},
		{"all together too large once encoded", batch(50, strings.Repeat("<", 10000)), interaction.CodeTooLarge, "responses[17]", "at most 1048576 are taken at once"},
		{"three megabytes", `{"request_id":"` + strings.Repeat("x", 3<<20) + `"}`, interaction.CodeTooLarge, "", "has 3145745 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := interaction.DecodeResponses([]byte(tt.text))
			wantError(t, err, tt.code, tt.field, tt.message)
			if got != nil {
				t.Errorf("refused and yet returned %+v", got)
			}
		})
	}
}

func TestDecodeResponseLeavesTheAddressToItsCaller(t *testing.T) {
	t.Parallel()
	r, err := interaction.DecodeResponse([]byte(`{"action":"approve"}`))
	if err != nil || r.Action != interaction.ActionApprove || r.RequestID != "" {
		t.Fatalf("%+v, %v", r, err)
	}
}

func TestErrorsReadWell(t *testing.T) {
	t.Parallel()
	_, err := interaction.DecodeResponse([]byte(`{"reviewer":{"groups":["ops",7]}}`))
	if err == nil || err.Error() != "reviewer.groups[1]: must be a string, not 7" {
		t.Errorf("error %v", err)
	}
	_, err = interaction.DecodeResponse(nil)
	if err == nil || err.Error() != "is empty; send a JSON object" {
		t.Errorf("error %v", err)
	}
}

package adapters

import (
	"errors"
	"strings"
	"testing"

	"holdpoint/api"
)

func TestABodyThatCannotBeReadNamesTheField(t *testing.T) {
	t.Parallel()
	for body, want := range map[string][2]string{
		`{"toolcallid":"x"}`: {"body.toolcallid", "is no field here; fields are toolCallId, action, modifiedArgs, note, reviewerId"},
		`{"action":7}`:       {"body.action", "must be a string, not 7"},
		`[]`:                 {"", "must be a JSON object, not a list"},
	} {
		var p *api.Problem
		if err := decode([]byte(body), &approvalDecision{}); !errors.As(err, &p) || p.Status != 422 || !strings.Contains(p.Detail, want[1]) {
			t.Errorf("%s: %v", body, err)
			continue
		}
		if want[0] == "" && len(p.Errors) != 0 || want[0] != "" && (len(p.Errors) != 1 || p.Errors[0].Location != want[0]) {
			t.Errorf("%s: %+v", body, p.Errors)
		}
	}
	var p *api.Problem
	if err := decode([]byte(`{"tool_call_id":"x","decision":"allow","patterns":["bash(ls)"],"expires_at":"0001-01-01T00:00:00Z"}`), &consentRequest{}); !errors.As(err, &p) ||
		len(p.Errors) != 1 || p.Errors[0].Location != "body.expires_at" {
		t.Errorf("a stated end that is none: %v", err)
	}
}

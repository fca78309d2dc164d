package adapters

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"holdpoint/api"
	"holdpoint/interaction"
)

// FuzzAnswers: whatever a client sends, only a plain yes approves a call, and nothing panics.
func FuzzAnswers(f *testing.F) {
	for _, s := range []string{`{}`, `null`, `[]`, `{"approved":"no"}`, `{"request_id":"r","type":"confirm","confirmed":true}`, `{"request_id":"r","type":"combined","responses":[{}]}`,
		`{"tool_call_id":"c","decision":"allow","patterns":["bash(ls)"],"expires_at":"2099-01-01T00:00:00Z","user_id":"u"}`,
		`{"toolCallId":"c","action":"modify_args","modifiedArgs":{"command":"ls"},"note":"n","reviewerId":"ada"}`, `{"runId":"r","action":"pause_run","payload":{"note":"n"}}`,
		`{"type":"agent_tool_permission_response","data":{"execution_id":"e","approved":true}}`, `{"execution_id":"e","approved":"yes"}`,
		`{"message":"m","sessionId":"s","userId":"u"}`, `{"sessionId":"s","requestId":"r","selectedOptionId":"approve","feedback":"f","data":{"args":{"n":1}}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, q := range []interaction.Request{approval(), question(interaction.TypeConfirm), question(interaction.TypeSelect, "a"), question(interaction.TypeInput),
			question(interaction.TypeMissingInfo), question(interaction.TypeCombined), question(interaction.TypeCustom)} {
			var agio agioResponse
			if decode(data, &agio) == nil {
				r, err := agio.answerOf(q)
				approves(t, q, r, err, agio.Type == agioConfirm && agio.Confirmed != nil && *agio.Confirmed)
			}
			var react reactAnswer
			if decode(data, &react) == nil {
				r, err := react.answerOf(q)
				approves(t, q, r, err, react.SelectedOptionID == "approve")
			}
			var decision approvalDecision
			if decode(data, &decision) == nil {
				r, err := decision.answerOf(q)
				approves(t, q, r, err, decision.Action == "approve" || decision.Action == "modify_args")
			}
		}
		var signal controlSignal
		if decode(data, &signal) == nil {
			if out, err := signal.message(); err == nil && out.Action == "" {
				t.Fatal("a signal without an action was taken")
			}
		}
		for _, v := range []any{&consentRequest{}, &socketMessage{}, &permissionResponse{}, &reactChat{}} {
			_ = decode(data, v)
		}
	})
}

func approves(t *testing.T, q interaction.Request, r interaction.Response, err error, meant bool) {
	t.Helper()
	if err != nil || q.Type != interaction.TypeToolApproval || meant {
		return
	}
	r.ID = "one"
	i := interaction.Interaction{Request: q, Status: interaction.StatusPending}
	if out, err := i.Apply(r, time.Unix(1, 0)); err == nil && out != nil && (out.Action == interaction.ActionApprove || out.Action == interaction.ActionModifyArgs) {
		t.Fatalf("%+v approves", r)
	}
}

// FuzzSocket: whatever a WebSocket's client sends, only a permission response with a plain true approves, and only what it names.
func FuzzSocket(f *testing.F) {
	for _, s := range []string{`{"type":"agent_tool_permission_response","data":{"execution_id":"e1","approved":true}}`, `{"type":"get_agent_status","data":{}}`,
		`{"type":"agent_tool_permission_response","data":{"execution_id":"e1","approved":false}}`, `{"type":"agent_tool_permission_response","data":{"execution_id":"e1","approved":"true"}}`,
		`{"type":"agent_tool_permission_response","data":{"execution_id":"e2","approved":true}}`, `{"type":"agent_tool_permission_response","data":{"approved":true}}`,
		`{"type":"chat","data":{"text":"approve"}}`, `{}`, `null`, `[]`, `{"type":"agent_tool_permission_response"}`, "\xff", `{"type":"get_agent_status","type":"x"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var answered []interaction.Response
		bridge := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == http.MethodPost && r.URL.Path == "/v1/interactions/e1/respond":
				var answer interaction.Response
				if err := json.NewDecoder(r.Body).Decode(&answer); err != nil {
					t.Fatal(err)
				}
				answered = append(answered, answer)
				reply(w, http.StatusOK, api.Answered{Applied: true})
			case r.URL.Path == "/v1/interactions/e1":
				q := approval()
				q.ID, q.SessionID = "e1", "s"
				reply(w, http.StatusOK, api.Interaction{Request: q, Status: interaction.StatusPending})
			case r.URL.Path == "/v1/interactions" || r.URL.Path == "/v1/runs":
				reply(w, http.StatusOK, map[string]any{"items": []any{}, "next_page_token": ""})
			default:
				reply(w, http.StatusNotFound, refusal(http.StatusNotFound, api.CodeNotFound, "nothing"))
			}
		})
		a, err := New(Config{Bridge: bridge})
		if err != nil {
			t.Fatal(err)
		}
		s := &session{a: a, id: "s", write: func(context.Context, []byte) error { return nil }}
		refused := s.take(t.Context(), data)
		if refused != nil {
			if p := a.asProblem(t.Context(), refused); p.Status >= 500 {
				t.Fatalf("%q: %v", data, refused)
			}
		}
		var sent struct {
			Type string
			Data struct {
				ExecutionID string `json:"execution_id"`
				Approved    any
			}
		}
		_ = json.Unmarshal(data, &sent)
		for _, r := range answered {
			if yes := r.Action == interaction.ActionApprove; yes != (sent.Data.Approved == true) || sent.Data.ExecutionID != "e1" && sent.Data.ExecutionID != "r-1-0" || sent.Type != socketResponse {
				t.Fatalf("%q was taken for %s", data, r.Action)
			}
		}
	})
}

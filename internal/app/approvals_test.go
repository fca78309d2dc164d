package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"holdpoint/api"
	"holdpoint/interaction"
	"holdpoint/internal/app/apptest"
)

// gated are the rules of the approvals' tests.
const gated = `---
type: policy
name: ship
rules:
  - {match: 'deploy(target=dev)', decision: allow}
  - {match: 'deploy(target=moon)', decision: deny}
  - {match: 'deploy(target=live)', decision: ask, reviewers: [alice, bob], quorum: 2, risk: high, timeout: 1h}
`

// asking is a program that asks.
type asking struct {
	*apptest.Holdpoint
	t *testing.T
}

func (h asking) ask(path string, body any, header ...string) (code int, a api.ApprovalView) {
	h.t.Helper()
	code, raw := h.HTTP("POST", "/v1/approvals"+path, body, header...)
	if code/100 != 2 {
		return code, api.ApprovalView{Reason: string(raw)}
	}
	if err := json.Unmarshal(raw, &a); err != nil {
		h.t.Fatal(err)
	}
	return code, a
}

// decided waits for the decision by the long-poll.
func (h asking) decided(id interaction.RunID) (a api.ApprovalView) {
	h.t.Helper()
	h.Get("/v1/approvals/"+string(id)+"?wait=60s", &a)
	return a
}

func said(who, action string) map[string]any {
	return map[string]any{"action": action, "reviewer": map[string]any{"id": who}}
}

func TestAnyProgramMayAsk(t *testing.T) {
	t.Parallel()
	h := asking{apptest.Start(t, withConfig(gated)), t}
	for name, test := range map[string]func(t *testing.T, h asking){
		"a retry attaches to the same, and one approval lets it go on": retryAttaches,
		"rules decide at once":                                rulesDecideAsk,
		"a rule's quorum holds whatever the program asks for": ruleQuorumHolds,
		"a reviewer changes the arguments":                    argsEdited,
		"rejected, expired and cancelled are three things":    threeEnds,
		"a rule that is saved while it waits decides it":      recheckDecidesAsk,
		"what nobody could answer is refused":                 badAsks,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, asking{as(t, h.Holdpoint), t})
		})
	}
}

func retryAttaches(t *testing.T, h asking) {
	body := map[string]any{"title": "Deploy v1?", "details": "everything", "reviewers": []string{"alice"}}
	key := []string{"Idempotency-Key", uuid.NewString()}
	code, first := h.ask("", body, key...)
	if code != http.StatusCreated || first.Status != api.ApprovalPending {
		t.Fatalf("%d %+v", code, first)
	}
	asked := h.Waits(first.ApprovalID, 1)[0]
	code, again := h.ask("?wait=50ms", body, key...) // it gives up, and comes back
	if code != http.StatusOK || again.ApprovalID != first.ApprovalID || again.Status != api.ApprovalPending || again.InteractionID != asked.ID {
		t.Errorf("the retry: %d %+v", code, again)
	}
	if code, other := h.ask("", map[string]any{"title": "Deploy v2?"}, key...); code != 422 || !strings.Contains(other.Reason, "key_reused") {
		t.Errorf("another question under the key: %d %+v", code, other)
	}
	if code, out := h.Respond(asked.ID, said("bob", "approve")); code != 403 {
		t.Errorf("bob was not asked: %d %s", code, out)
	}
	h.Answer(asked.ID, said("alice", "approve"))
	done := h.decided(first.ApprovalID)
	if done.Status != "approved" || fmt.Sprint(done.By) != "[alice]" || done.DecidedAt.IsZero() {
		t.Errorf("decided: %+v", done)
	}
	if code, late := h.ask("?wait=60s", body, key...); code != 200 || late.Status != "approved" || late.ApprovalID != first.ApprovalID {
		t.Errorf("a retry after the decision: %d %+v", code, late)
	}
	if code, out := h.Respond(asked.ID, said("alice", "reject")); code != 409 || !strings.Contains(string(out), "already_decided") {
		t.Errorf("a late answer: %d %s", code, out)
	}
	got := h.EventTypes(first.ApprovalID)
	want := "run_started interaction_request execution_suspended interaction_response execution_resumed run_completed"
	if strings.Join(strings.Fields(strings.NewReplacer("[", "", "]", "", ",", " ").Replace(fmt.Sprint(got))), " ") != want {
		t.Errorf("its record has %v", got)
	}
	events := h.Closed("approval-" + string(first.ApprovalID))
	keep(t, "program_asked", events)
	replay(t, events)
}

func deploy(target string) map[string]any {
	return map[string]any{"title": "Deploy to " + target + "?", "tool": "deploy", "policy": "ship", "args": map[string]any{"target": target, "n": 5, "ok": false}}
}

func rulesDecideAsk(t *testing.T, h asking) {
	for target, want := range map[string]string{"dev": "approved", "moon": "denied"} {
		_, a := h.ask("?wait=60s", deploy(target))
		if string(a.Status) != want || !strings.Contains(a.Rule, target) || a.InteractionID != "" || len(a.By) > 0 {
			t.Errorf("%s: %+v", target, a)
		}
	}
}

func ruleQuorumHolds(t *testing.T, h asking) {
	body := deploy("live")
	body["reviewers"], body["quorum"] = []string{"mallory"}, 1
	_, a := h.ask("", body)
	asked := h.Waits(a.ApprovalID, 1)[0]
	if asked.Quorum != 2 || fmt.Sprint(asked.Reviewers) != "[alice bob]" || asked.Risk != "high" || asked.ExpiresAt.IsZero() || asked.Kind != interaction.KindProgram {
		t.Errorf("asked: %+v", asked)
	}
	h.Answer(asked.ID, said("alice", "approve"))
	if _, now := h.HTTP("GET", "/v1/approvals/"+string(a.ApprovalID), nil); !strings.Contains(string(now), `"pending"`) {
		t.Errorf("after one of two: %s", now)
	}
	h.Answer(asked.ID, said("bob", "approve"))
	if done := h.decided(a.ApprovalID); done.Status != "approved" || fmt.Sprint(done.By) != "[alice bob]" {
		t.Errorf("%+v", done)
	}
}

func argsEdited(t *testing.T, h asking) {
	body := map[string]any{"title": "Send it?", "tool": "send", "args": map[string]any{"to": "everybody", "n": 5, "tags": []string{}}}
	_, a := h.ask("", body)
	asked := h.Waits(a.ApprovalID, 1)[0]
	if code, out := h.Respond(asked.ID, map[string]any{"action": "modify_args", "args": "x"}); code/100 != 4 {
		t.Errorf("no object: %d %s", code, out)
	}
	if code, out := h.Respond(asked.ID, map[string]any{"action": "retry"}); code/100 != 4 {
		t.Errorf("not offered: %d %s", code, out)
	}
	h.Signal("approval-"+string(a.ApprovalID), map[string]any{"request_id": asked.ID, "action": "modify_args", "args": map[string]any{"to": interaction.Redacted}})
	asked = following(h.Holdpoint, apptest.RunView{RunID: a.ApprovalID}, asked.ID)
	if !strings.Contains(asked.Message, "args.to") {
		t.Errorf("what was hidden is asked about with %q", asked.Message)
	}
	h.Answer(asked.ID, map[string]any{"action": "modify_args", "args": map[string]any{"to": "alice", "n": 6, "tags": []string{}}})
	done := h.decided(a.ApprovalID)
	var args map[string]any
	if err := json.Unmarshal(done.Args, &args); err != nil || done.Status != "approved" || !done.Edited || fmt.Sprint(args) != "map[n:6 tags:[] to:alice]" {
		t.Errorf("%+v %v", done, args)
	}
	h.Closed("approval-" + string(a.ApprovalID))

	_, b := h.ask("", deploy("live")) // a change to what a rule denies is denied
	q := h.Waits(b.ApprovalID, 1)[0]
	if code, out := h.Respond(q.ID, map[string]any{"action": "modify_args", "args": map[string]any{"target": "moon"}, "reviewer": map[string]any{"id": "alice"}}); code/100 != 4 {
		t.Errorf("edited under a quorum: %d %s", code, out)
	}
}

func threeEnds(t *testing.T, h asking) {
	_, rejected := h.ask("", map[string]any{"title": "One?"})
	answer := map[string]any{"action": "reject", "feedback": "not today"}
	h.Answer(h.Waits(rejected.ApprovalID, 1)[0].ID, answer)
	if a := h.decided(rejected.ApprovalID); a.Status != "rejected" || a.Reason != "not today" {
		t.Errorf("%+v", a)
	}
	if _, expired := h.ask("?wait=60s", map[string]any{"title": "Two?", "timeout": "1s"}); expired.Status != "expired" || expired.Args != nil {
		t.Errorf("%+v", expired)
	}
	_, cancelled := h.ask("", map[string]any{"title": "Three?", "args": map[string]any{}})
	asked := h.Waits(cancelled.ApprovalID, 1)[0]
	path := "/v1/approvals/" + string(cancelled.ApprovalID) + "/cancel"
	if code, out := h.HTTP("POST", path, map[string]any{"note": "not needed"}); code != 200 {
		t.Fatalf("%d %s", code, out)
	}
	if a := h.decided(cancelled.ApprovalID); a.Status != api.ApprovalCancelled || a.Reason != "not needed" {
		t.Errorf("%+v", a)
	}
	if code, out := h.Respond(asked.ID, map[string]any{"action": "approve"}); code != 409 {
		t.Errorf("an answer to what was withdrawn: %d %s", code, out)
	}
	events := h.Closed("approval-" + string(cancelled.ApprovalID))
	keep(t, "program_cancelled", events)
	replay(t, events)
	if code, out := h.HTTP("POST", path, map[string]any{}); code != 409 {
		t.Errorf("cancelled again: %d %s", code, out)
	}
}

func recheckDecidesAsk(t *testing.T, h asking) {
	body := map[string]any{"title": "Restart?", "tool": "restart", "args": map[string]any{"host": "web1"}, "user_id": "carol"}
	_, a := h.ask("", body)
	asked := h.Waits(a.ApprovalID, 1)[0]
	if code, out := h.HTTP("POST", "/v1/permissions/carol/allow", map[string]any{"pattern": `restart(host=web1)`}); code != 201 {
		t.Fatalf("%d %s", code, out)
	}
	if done := h.decided(a.ApprovalID); done.Status != "approved" || !strings.Contains(done.Rule, "restart") || len(done.By) > 0 {
		t.Errorf("%+v", done)
	}
	if code, out := h.Respond(asked.ID, map[string]any{"action": "approve"}); code != 409 {
		t.Errorf("an answer to what a rule decided: %d %s", code, out)
	}
	events := h.Closed("approval-" + string(a.ApprovalID))
	keep(t, "program_released_by_rule", events)
	replay(t, events)
}

func badAsks(t *testing.T, h asking) {
	for body, want := range map[string]string{
		`{}`:                                             "title",
		`{"title":" "}`:                                  "title",
		`{"title":"x","policy":"none"}`:                  "main, ship",
		`{"title":"x","args":[1]}`:                       "args",
		`{"title":"x","args":null}`:                      "",
		`{"title":"x","timeout":"soon"}`:                 "timeout",
		`{"title":"x","timeout":"800d"}`:                 "timeout",
		`{"title":"x","timeout":"1ns"}`:                  "timeout",
		`{"title":"x","timeout":""}`:                     "timeout",
		`{"title":"x","remind_every":""}`:                "remind_every",
		`{"title":"x","quorum":-1}`:                      "quorum",
		`{"title":"x","quorum":0}`:                       "quorum",
		`{"title":"x","quorum":2,"reviewers":["alice"]}`: "quorum",
		`{"title":"x","reviewers":[""]}`:                 "reviewers[0]",
		`{"title":"x","unknown":1}`:                      "unknown",
		`{"title":"x","escalate":[{"after":"2h","to":["a"]},{"after":"1h","to":["b"]}]}`: "escalate[1].after",
	} {
		code, a := h.ask("", body)
		if want == "" {
			continue
		}
		if code != 422 && code != 400 || !strings.Contains(a.Reason, want) {
			t.Errorf("%s: %d %s", body, code, a.Reason)
		}
	}
	if code, a := h.ask("?wait=ever", map[string]any{"title": "x"}); code != 422 {
		t.Errorf("%d %+v", code, a)
	}
}

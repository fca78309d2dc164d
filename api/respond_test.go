package api_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/temporal"

	"holdpoint/agent"
	"holdpoint/interaction"
	"holdpoint/workflows"
)

const respondPath = "/v1/interactions/i1/respond"

func decided(by interaction.PrincipalID, action interaction.Action) func(*interaction.Interaction) {
	return func(i *interaction.Interaction) {
		if _, err := i.Apply(interaction.Response{ID: "first", RequestID: i.Request.ID, Action: action,
			Reviewer: interaction.Principal{ID: by}}, t0); err != nil {
			panic(err)
		}
	}
}

func TestAnAnswerIsAppliedAndMarked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.park("r1", "i1")
	a := b.do("rex", "POST", respondPath, `{"id":"x1","action":"approve","note":"ok"}`)
	if a.status != 200 || a.body["applied"] != true || a.body["status"] != "answered" || a.body["response_id"] != "x1" ||
		a.body["interaction_id"] != "i1" || a.body["quorum"] != float64(1) || a.body["approvals"] != float64(1) {
		t.Fatalf("%d %s", a.status, a.raw)
	}
	up := b.temporal.updates[0]
	r := up.Args[0].(workflows.RespondMessage).Responses[0]
	if up.UpdateID != "x1" || up.UpdateName != "respond" || up.WorkflowID != "session-s-r1" {
		t.Errorf("update %+v", up)
	}
	if r.Reviewer.ID != "rex" || len(r.Reviewer.Groups) != 1 || !r.RespondedAt.Equal(t0) || r.Note != "ok" {
		t.Errorf("forwarded %+v", r)
	}
	if b.store.submitted["i1"] != "x1" {
		t.Error("the interaction is not marked as submitted")
	}
}

func TestAnAnswerThatIsNoneIsRefusedAndNothingIsSent(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]struct {
		status         int
		code, location string
	}{
		``:                                       {400, "invalid", ""},
		`{}`:                                     {400, "invalid", "body.action"},
		`null`:                                   {400, "invalid", ""},
		`[]`:                                     {400, "invalid", ""},
		`{"approved":"no"}`:                      {400, "invalid", "body.approved"},
		`{"action":"yes"}`:                       {400, "invalid", "body.action"},
		`{"action":"approve"`:                    {400, "invalid", ""},
		`{"action":"reject","action":"approve"}`: {400, "invalid", "body.action"},
		`{"action":"approve"} {}`:                {400, "invalid", ""},
		`{"action":"approve","tool_name":"x"}`:   {400, "invalid", "body.tool_name"},
		`{"action":"approve","digest":"other"}`:  {409, "digest_mismatch", "body.digest"},
		`{"action":"approve","request_id":"i2"}`: {400, "invalid", "body.request_id"},
		`{"action":"approve","id":"a b"}`:        {400, "invalid", "body.id"},
		`{"action":"approve","args_ref":"x"}`:    {400, "invalid", "body.args_ref"},
		`{"action":"approve","reviewer":{"id":"ada"}}`:                         {403, "not_entitled", "body.reviewer"},
		`{"action":"modify_args"}`:                                             {422, "invalid_args", "body.args"},
		`{"action":"modify_args","args":{"n":"six"}}`:                          {422, "invalid_args", "body.args.n"},
		`{"action":"reject","note":"` + strings.Repeat("x", 1<<17) + `"}`:      {413, "too_large", ""},
		`{"action":"modify_args","args":"` + strings.Repeat("x", 3<<20) + `"}`: {413, "too_large", ""},
	} {
		t.Run(body[:min(len(body), 60)], func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.park("r1", "i1")
			a := b.do("rex", "POST", respondPath, body)
			wantProblem(t, a, want.status, want.code)
			if want.location != "" {
				wantLocation(t, a, want.location)
			}
			if len(b.temporal.updates)+len(b.temporal.signals)+len(b.store.responses) > 0 {
				t.Error("something was sent or stored")
			}
			if pending := b.do("rex", "GET", "/v1/interactions/i1", ""); pending.body["status"] != "pending" {
				t.Errorf("no longer pending: %s", pending.raw)
			}
		})
	}
}

func TestArgsAreStoredAndForwardedByReference(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.park("r1", "i1")
	const args = `{ "n": 6, "html": "<b>&" }`
	if a := b.do("rex", "POST", respondPath, `{"id":"x1","action":"modify_args","args":`+args+`}`); a.status != 200 {
		t.Fatal(a.raw)
	}
	r := b.temporal.updates[0].Args[0].(workflows.RespondMessage).Responses[0]
	stored := b.store.responses["x1"].Args
	sum := sha256.Sum256(stored)
	if r.Args != nil || r.ArgsRef != "x1" || r.ArgsDigest != hex.EncodeToString(sum[:]) || string(stored) != args {
		t.Errorf("forwarded %+v, stored %s", r, stored)
	}
}

// refusing is a workflow whose validator says no.
func refusing(e interaction.Error) func(client.UpdateWorkflowOptions) (any, error) {
	return func(client.UpdateWorkflowOptions) (any, error) {
		return nil, sdk.NewNonRetryableApplicationError(e.Message, string(e.Code), nil, e)
	}
}

func TestWhatTheWorkflowRefuses(t *testing.T) {
	t.Parallel()
	for code, want := range map[interaction.Code]struct {
		status int
		code   string
	}{
		interaction.CodeInvalid: {400, "invalid"}, interaction.CodeNotEntitled: {403, "not_entitled"},
		interaction.CodeUnknown: {404, "not_found"}, interaction.CodeAlreadyDecided: {409, "already_decided"},
		interaction.CodeExpired: {410, "expired"}, interaction.CodeDigestMismatch: {409, "digest_mismatch"},
		interaction.CodeTooLarge: {413, "too_large"}, interaction.CodeWrongRun: {409, "wrong_run"},
		"something else": {500, "internal"},
	} {
		t.Run(string(code), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.park("r1", "i1")
			b.temporal.onUp = refusing(interaction.Error{Code: code, Field: "responses[0].note", Message: "no"})
			a := b.do("rex", "POST", respondPath, `{"action":"approve"}`)
			wantProblem(t, a, want.status, want.code)
			if want.status != 500 {
				wantLocation(t, a, "body.note")
			}
			if len(b.temporal.signals) > 0 || len(b.store.submitted) > 0 {
				t.Error("a refused answer was sent on or marked")
			}
		})
	}
	t.Run("arguments against the schema", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.park("r1", "i1")
		b.temporal.onUp = refusing(interaction.Error{Code: interaction.CodeInvalid, Field: "args.n", Message: "no"})
		wantProblem(t, b.do("rex", "POST", respondPath, `{"action":"modify_args","args":{"n":1}}`), 422, "invalid_args")
	})
	t.Run("a result instead of a rejection", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.park("r1", "i1")
		b.temporal.onUp = func(client.UpdateWorkflowOptions) (any, error) {
			return workflows.RespondResult{Items: []workflows.ResponseResult{{Code: "already_decided", Error: "decided: reject by rob"}}}, nil
		}
		a := b.do("rex", "POST", respondPath, `{"action":"approve"}`)
		wantProblem(t, a, 409, "already_decided")
		if !strings.Contains(a.body["detail"].(string), "reject by rob") {
			t.Error(a.raw)
		}
	})
}

func TestAClosedInteractionSaysWhatWhoAndWhen(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.park("r1", "i1", decided("rob", interaction.ActionReject))
	a := b.do("rex", "POST", respondPath, `{"action":"approve"}`)
	wantProblem(t, a, 409, "already_decided")
	d, _ := a.body["decided"].(map[string]any)
	if d["action"] != "reject" || fmt.Sprint(d["by"]) != "[rob]" || d["at"] != "2026-01-31T12:00:00Z" ||
		!strings.Contains(a.body["detail"].(string), "rob") {
		t.Errorf("%s", a.raw)
	}
	if len(b.temporal.updates) > 0 || len(b.store.responses) > 0 {
		t.Error("an answer to a closed interaction was sent or stored")
	}

	b = setup(t)
	b.park("r1", "i1", func(i *interaction.Interaction) {
		i.Status, i.Reason, i.ClosedAt = interaction.StatusExpired, "nobody", t0
	})
	wantProblem(t, b.do("rex", "POST", respondPath, `{"action":"approve"}`), 410, "expired")
	wantProblem(t, b.do("rex", "POST", "/v1/interactions/nope/respond", `{"action":"approve"}`), 404, "not_found")
}

func TestTheSameResponseIDIsOneAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.park("r1", "i1")
	for range 2 {
		if a := b.do("rex", "POST", respondPath, `{"id":"x1","action":"approve"}`); a.status != 200 {
			t.Fatal(a.raw)
		}
	}
	if b.temporal.updates[0].UpdateID != b.temporal.updates[1].UpdateID {
		t.Error("the repetition went out under another id")
	}
	wantProblem(t, b.do("rex", "POST", respondPath, `{"id":"x1","action":"reject"}`), 409, "id_reused")
	wantProblem(t, b.do("rob", "POST", respondPath, `{"id":"x1","action":"approve"}`), 409, "id_reused")

	b = setup(t)
	b.park("r1", "i1", decided("rex", interaction.ActionApprove))
	b.store.responses["first"] = interaction.Response{ID: "first", RequestID: "i1", Action: interaction.ActionApprove,
		Reviewer: interaction.Principal{ID: "rex"}}
	a := b.do("rex", "POST", respondPath, `{"id":"first","action":"approve"}`)
	if a.status != 200 || a.body["applied"] != true || a.body["status"] != "answered" {
		t.Errorf("repeating the answer that decided: %d %s", a.status, a.raw)
	}
	wantProblem(t, b.do("rex", "POST", respondPath, `{"id":"first","action":"reject"}`), 409, "id_reused")
}

func TestWithoutAWorkerTheAnswerIsKeptAsASignal(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.park("r1", "i1")
	b.temporal.onUp = func(client.UpdateWorkflowOptions) (any, error) { return nil, errNoWorker }
	a := b.do("rex", "POST", respondPath, `{"id":"x1","action":"approve"}`)
	if a.status != 202 || a.body["status"] != "stored" || a.body["applied"] != false || a.body["response_id"] != "x1" {
		t.Fatalf("%d %s", a.status, a.raw)
	}
	if len(b.temporal.updates) < 2 || b.temporal.updates[0].UpdateID != "x1" || b.temporal.updates[1].UpdateID != "x1" {
		t.Errorf("updates: %+v", b.temporal.updates)
	}
	if r := b.temporal.signals[0].(workflows.RespondMessage).Responses[0]; r.ID != "x1" || r.Action != "approve" {
		t.Errorf("signalled %+v", r)
	}
	if len(b.store.submitted) > 0 {
		t.Error("marked as submitted before any worker has seen it")
	}
}

func TestAnAnswerThatOvertakesItsQuestionIsKept(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.park("r1", "i1")
	b.temporal.onUp = func(client.UpdateWorkflowOptions) (any, error) {
		return workflows.RespondResult{Items: []workflows.ResponseResult{{InteractionID: "i1", Kept: true}}}, nil
	}
	if a := b.do("rex", "POST", respondPath, `{"action":"approve"}`); a.status != 202 || a.body["status"] != "stored" || len(b.temporal.signals) > 0 {
		t.Errorf("%d %s", a.status, a.raw)
	}
}

func TestWhatBecameOfAnEarlyAnswerIsReadFromTheRecord(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.park("r1", "i1")
	b.temporal.onUp = func(client.UpdateWorkflowOptions) (any, error) {
		b.store.mu.Lock()
		defer b.store.mu.Unlock()
		if _, err := b.store.interactions[0].Apply(interaction.Response{ID: "x1", RequestID: "i1", Action: interaction.ActionApprove,
			Reviewer: interaction.Principal{ID: "rex"}}, t0); err != nil {
			t.Error(err)
		}
		return workflows.RespondResult{Items: []workflows.ResponseResult{{InteractionID: "i1", Kept: true}}}, nil
	}
	a := b.do("rex", "POST", respondPath, `{"id":"x1","action":"approve"}`)
	if a.status != 200 || a.body["applied"] != true || a.body["status"] != "answered" || len(b.temporal.updates) != 1 {
		t.Errorf("%d %s after %d messages", a.status, a.raw, len(b.temporal.updates))
	}
}

func TestWhenTemporalIsGoneOrTheRunHasEnded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.park("r1", "i1")
	b.temporal.onUp = func(client.UpdateWorkflowOptions) (any, error) { return nil, errNoWorker }
	b.temporal.onSig = serviceerror.NewUnavailable("down")
	wantProblem(t, b.do("rex", "POST", respondPath, `{"action":"approve"}`), 503, "unavailable")
	b.temporal.onSig = serviceerror.NewNotFound("no workflow")
	wantProblem(t, b.do("rex", "POST", respondPath, `{"action":"approve"}`), 409, "run_ended")

	b = setup(t)
	b.park("r1", "i1")
	b.temporal.onUp = func(client.UpdateWorkflowOptions) (any, error) { return nil, serviceerror.NewNotFound("completed") }
	wantProblem(t, b.do("rex", "POST", respondPath, `{"action":"approve"}`), 409, "run_ended")

	b = setup(t)
	b.park("r1", "i1")
	b.store.runs[0].Status = agent.RunAborted
	wantProblem(t, b.do("rex", "POST", respondPath, `{"action":"approve"}`), 409, "run_ended")
}

func TestAnAnswerThatEndedItsRunIsNotRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.park("r1", "i1")
	b.temporal.onUp = func(client.UpdateWorkflowOptions) (any, error) {
		if len(b.temporal.updates) == 1 { // it comes before the run knows its question, and is kept
			return workflows.RespondResult{Items: []workflows.ResponseResult{{InteractionID: "i1", Kept: true}}}, nil
		}
		b.store.mu.Lock()
		defer b.store.mu.Unlock()
		if _, err := b.store.interactions[0].Apply(interaction.Response{ID: "x1", RequestID: "i1", Action: interaction.ActionTerminate,
			Reviewer: interaction.Principal{ID: "rex"}}, t0); err != nil {
			t.Error(err)
		}
		b.store.runs[0].Status = agent.RunAborted
		return nil, serviceerror.NewNotFound("completed")
	}
	a := b.do("rex", "POST", respondPath, `{"id":"x1","action":"terminate"}`)
	if a.status != 200 || a.body["applied"] != true || a.body["status"] != "answered" {
		t.Errorf("%d %s", a.status, a.raw)
	}
}

func TestAFaultInsideIsNotShown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.park("r1", "i1")
	b.temporal.onUp = func(client.UpdateWorkflowOptions) (any, error) { return nil, errors.New("secret at 10.0.0.1") }
	a := b.do("rex", "POST", respondPath, `{"action":"approve"}`)
	wantProblem(t, a, 500, "internal")
	if strings.Contains(a.raw, "secret") {
		t.Error(a.raw)
	}
	b.store.readErr = errors.New("secret table")
	if a := b.do("ada", "GET", "/v1/runs/r1", ""); a.status != 500 || strings.Contains(a.raw, "secret") {
		t.Errorf("%d %s", a.status, a.raw)
	}
}

func TestABatchHasAResultForEachAndOneUpdateForEachRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.park("r1", "i1")
	b.park("r2", "i2")
	b.store.mu.Lock()
	b.ask("r1", "i3")
	b.ask("r1", "i4", decided("rob", interaction.ActionReject))
	b.store.mu.Unlock()
	a := b.do("rex", "POST", "/v1/interactions/respond", `{"responses":[
		{"id":"a","request_id":"i1","action":"approve"},
		{"id":"b","request_id":"i2","action":"reject"},
		{"id":"c","request_id":"i3","action":"approve"},
		{"id":"d","request_id":"i4","action":"approve"},
		{"id":"e","request_id":"nope","action":"approve"},
		{"id":"f","request_id":"i3","action":"modify_args","args":{"n":"six"}},
		{"id":"a","request_id":"i1","action":"approve"}]}`)
	if a.status != 200 {
		t.Fatal(a.raw)
	}
	var got struct {
		Items []struct {
			ResponseID string `json:"response_id"`
			HTTPStatus int    `json:"http_status"`
			Problem    json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(a.raw), &got); err != nil {
		t.Fatal(err)
	}
	for n, want := range []int{200, 200, 200, 409, 404, 422, 400} {
		if it := got.Items[n]; it.HTTPStatus != want || (want == 200) != (it.Problem == nil) {
			t.Errorf("item %d: %d %s; want %d", n, it.HTTPStatus, it.Problem, want)
		}
	}
	if !strings.Contains(string(got.Items[5].Problem), `body.responses[5].args.n`) {
		t.Errorf("%s", got.Items[5].Problem)
	}
	if len(b.temporal.updates) != 2 {
		t.Errorf("%d updates for two runs", len(b.temporal.updates))
	}
}

func TestABadAnswerInABatchHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.park("r1", "i1")
	b.store.mu.Lock()
	b.ask("r1", "i2")
	b.store.mu.Unlock()
	b.temporal.onUp = func(o client.UpdateWorkflowOptions) (any, error) {
		for n, r := range o.Args[0].(workflows.RespondMessage).Responses {
			if r.RequestID == "i2" {
				return refusing(interaction.Error{Code: interaction.CodeExpired, Field: fmt.Sprintf("responses[%d]", n), Message: "late"})(o)
			}
		}
		return applied(o)
	}
	a := b.do("rex", "POST", "/v1/interactions/respond",
		`{"responses":[{"request_id":"i1","action":"approve"},{"request_id":"i2","action":"approve"}]}`)
	items := a.body["items"].([]any)
	if items[0].(map[string]any)["http_status"] != 200.0 || items[1].(map[string]any)["http_status"] != 410.0 {
		t.Error(a.raw)
	}
	for body, location := range map[string]string{`{"responses":[]}`: "body.responses", `{"responses":[{"request_id":"i1","action":"x"}]}`: "body.responses[0].action"} {
		a := b.do("rex", "POST", "/v1/interactions/respond", body)
		wantProblem(t, a, 400, "invalid")
		wantLocation(t, a, location)
	}
}

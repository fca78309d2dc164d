package api_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"holdpoint/agent"
	"holdpoint/api"
	"holdpoint/interaction"
	"holdpoint/llm"
	"holdpoint/workflows"
)

const startBody = `{"agent":"fixer","session_id":"s1","input":"go"}`

func TestARunStartsAndIsThereAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.do("uma", "POST", "/v1/runs", `{"agent":"fixer","session_id":"s1","input":"go","metadata":{"ticket":"7"}}`)
	if a.status != 201 || a.body["session_id"] != "s1" || a.body["workflow_id"] != "session-s1" || a.body["status"] != "running" {
		t.Fatalf("%d %s", a.status, a.raw)
	}
	o, in := b.temporal.starts[0], b.temporal.inputs[0]
	if o.TaskQueue != workflows.DefaultTaskQueue || o.WorkflowIDConflictPolicy != enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL ||
		o.WorkflowIDReusePolicy != enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE || o.RetryPolicy != nil {
		t.Errorf("options %+v", o)
	}
	if in.UserID != "uma" || in.Requester != "uma" || in.Input != "go" || in.Metadata["ticket"] != "7" || in.Agent != "fixer" {
		t.Errorf("input %+v", in)
	}
	got := b.do("uma", "GET", "/v1/runs/"+a.body["run_id"].(string), "")
	if got.status != 200 || got.body["run_id"] != a.body["run_id"] || fmt.Sprint(got.body["pending"]) != "[]" {
		t.Errorf("%d %s", got.status, got.raw)
	}
	if a := b.do("uma", "POST", "/v1/runs", `{"agent":"fixer","input":"go"}`); a.status != 201 || a.body["session_id"] == "" {
		t.Errorf("without a session: %d %s", a.status, a.raw)
	}
}

func TestWhatStartsNoRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	long := strings.Repeat("x", interaction.MaxMessageBytes+1)
	for body, want := range map[string]struct {
		status         int
		code, location string
	}{
		``:                                {400, "invalid", ""},
		`{}`:                              {422, "invalid", "body.agent"},
		`[]`:                              {400, "invalid", "body"},
		`{"agent":"fixer"}`:               {422, "invalid", "body.input"},
		`{"agent":"fixer","input":""}`:    {422, "invalid", "body.input"},
		`{"agent":"fixer","input":7}`:     {422, "invalid", "body.input"},
		`{"agent":"nobody","input":"go"}`: {422, "unknown_agent", "body.agent"},
		`{"agent":"fixer","input":"go","sesion_id":"s1"}`:                                {422, "invalid", "body.sesion_id"},
		`{"agent":"fixer","input":"go","session_id":"a/b"}`:                              {422, "invalid", "body.session_id"},
		`{"agent":"fixer","input":"go","session_id":"` + strings.Repeat("s", 129) + `"}`: {422, "invalid", "body.session_id"},
		`{"agent":"fixer","input":"go","input":"rm"}`:                                    {400, "invalid", "body.input"},
		`{"agent":"fixer","input":"go","user_id":"zoe"}`:                                 {403, "forbidden", "body.user_id"},
		`{"agent":"fixer","input":"` + long + `"}`:                                       {413, "too_large", "body.input"},
		`{"agent":"fixer","input":"` + strings.Repeat(long, 20) + `"}`:                   {413, "too_large", ""},
		`{"agent":"fixer","input":"go","metadata":{"k":"` + long + `"}}`:                 {413, "too_large", "body.metadata"},
	} {
		a := b.do("uma", "POST", "/v1/runs", body)
		wantProblem(t, a, want.status, want.code)
		if want.location != "" {
			wantLocation(t, a, want.location)
		}
	}
	if a := b.do("uma", "POST", "/v1/runs", `{"agent":"nobody","input":"go"}`); fmt.Sprint(a.body["agents"]) != "[fixer]" {
		t.Error(a.raw)
	}
	for _, who := range []string{"rex", "nil"} {
		wantProblem(t, b.do(who, "POST", "/v1/runs", startBody), 403, "forbidden")
	}
	if len(b.temporal.starts) > 0 {
		t.Error("a run was started")
	}
	if a := b.do("ada", "POST", "/v1/runs", `{"agent":"fixer","input":"go","user_id":"zoe"}`); a.status != 201 || b.temporal.inputs[0].UserID != "zoe" || b.temporal.inputs[0].Requester != "ada" {
		t.Errorf("an admin for another: %d %s", a.status, a.raw)
	}
}

func TestASessionHasOneLiveRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.do("uma", "POST", "/v1/runs", startBody)
	a := b.do("uma", "POST", "/v1/runs", startBody)
	wantProblem(t, a, 409, "session_busy")
	if a.body["run_id"] != first.body["run_id"] {
		t.Errorf("the run in the way is %v, said is %s", first.body["run_id"], a.raw)
	}
}

func TestTheSameIdempotencyKeyIsTheSameRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const body = `{"agent":"fixer","input":"go"}`
	start := func(who, body string) answer { return b.do(who, "POST", "/v1/runs", body, "Idempotency-Key", "k1") }
	first := start("uma", body)
	same := func(when string) {
		t.Helper()
		if a := start("uma", body); a.status != 201 || a.body["run_id"] != first.body["run_id"] || a.body["session_id"] != first.body["session_id"] {
			t.Errorf("%s: %d %s", when, a.status, a.raw)
		}
	}
	same("while it is live")
	wantProblem(t, start("uma", `{"agent":"fixer","input":"other"}`), 422, "key_reused")
	saved := b.store.runs
	b.store.runs = nil
	same("before the record has it")
	wantProblem(t, start("uma", `{"agent":"fixer","input":"other"}`), 422, "key_reused")
	b.store.runs = saved
	b.store.runs[0].Status = agent.RunCompleted
	clear(b.temporal.live)
	same("after it has ended")
	if a := start("ada", body); a.status != 201 || a.body["run_id"] == first.body["run_id"] {
		t.Errorf("another caller's key gave the same run: %s", a.raw)
	}
	if len(b.temporal.starts) != 2 {
		t.Errorf("%d runs were started", len(b.temporal.starts))
	}
}

func TestStartingWithoutTemporalOrStore(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.temporal.startIs = serviceerror.NewUnavailable("down")
	a := b.do("uma", "POST", "/v1/runs", startBody)
	wantProblem(t, a, 503, "unavailable")
	if a.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	b = setup(t)
	b.store.ensureErr = errors.New("disk full")
	if a := b.do("uma", "POST", "/v1/runs", startBody); a.status != 201 {
		t.Errorf("a run that started is reported as %d %s", a.status, a.raw)
	}
}

func TestWhoSeesARun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.park("r1", "i1", func(i *interaction.Interaction) { i.Request.Reviewers = []string{"group:ops"} })
	b.park("r2", "i2", func(i *interaction.Interaction) { i.Request.Reviewers = []string{"zoe"} })
	for _, c := range []struct {
		who         string
		run         string
		status      int
		runs, inbox string
	}{
		{"uma", "r1", 200, "r2 r1", "i2 i1"}, {"ada", "r1", 200, "r2 r1", "i2 i1"}, {"rex", "r1", 200, "", "i1"},
		{"rex", "r2", 404, "", "i1"}, {"rob", "r1", 404, "", ""}, {"nil", "r1", 404, "", ""}, {"ada", "nope", 404, "r2 r1", "i2 i1"},
	} {
		for _, path := range []string{"", "/steps"} {
			if a := b.do(c.who, "GET", "/v1/runs/"+c.run+path, ""); a.status != c.status {
				t.Errorf("%s %s%s: %d %s", c.who, c.run, path, a.status, a.raw)
			}
		}
		if got := ids(b.do(c.who, "GET", "/v1/runs", ""), "run_id"); got != c.runs {
			t.Errorf("%s lists runs %q, want %q", c.who, got, c.runs)
		}
		if got := ids(b.do(c.who, "GET", "/v1/interactions", ""), "id"); got != c.inbox {
			t.Errorf("%s lists interactions %q, want %q", c.who, got, c.inbox)
		}
	}
	wantProblem(t, b.do("rex", "GET", "/v1/interactions/i2", ""), 404, "not_found")
	wantProblem(t, b.do("uma", "GET", "/v1/runs?user_id=zoe", ""), 403, "forbidden")
}

func ids(a answer, field string) string {
	var out []string
	items, _ := a.body["items"].([]any)
	for _, it := range items {
		out = append(out, it.(map[string]any)[field].(string))
	}
	return strings.Join(out, " ")
}

func TestARunShowsWhatWaits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.park("r1", "i1")
	b.store.mu.Lock()
	b.ask("r1", "i2")
	b.ask("r1", "i3", decided("rex", interaction.ActionApprove))
	b.store.steps = []llm.Step{{ID: "s1", RunID: "r1", Message: llm.Message{Role: llm.RoleUser, Content: "go"}}, {ID: "s2", RunID: "r1"}}
	b.store.mu.Unlock()
	a := b.do("uma", "GET", "/v1/runs/r1", "")
	pending := a.body["pending"].([]any)
	first := pending[0].(map[string]any)
	if len(pending) != 2 || first["id"] != "i1" || first["tool_name"] != "bash" || !strings.Contains(fmt.Sprint(first["actions"]), "approve") ||
		a.body["steps"] != 2.0 || a.body["status"] != "awaiting_human" {
		t.Errorf("%s", a.raw)
	}
	steps := b.do("uma", "GET", "/v1/runs/r1/steps?page_size=1", "")
	if ids(steps, "id") != "s1" || steps.body["next_page_token"] == "" {
		t.Errorf("%s", steps.raw)
	}
	one := b.do("rex", "GET", "/v1/interactions/i1", "")
	if one.body["id"] != "i1" || one.body["status"] != "pending" || fmt.Sprint(one.body["tool_args"]) != "map[command:rm -rf build]" {
		t.Errorf("%s", one.raw)
	}
}

func TestLists(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if a := b.do("ada", "GET", "/v1/runs", ""); a.raw != `{"items":[],"next_page_token":""}`+"\n" {
		t.Errorf("an empty list is %q", a.raw)
	}
	for n := range 5 {
		b.park(interaction.RunID(fmt.Sprint("r", n)), interaction.ID(fmt.Sprint("i", n)), func(i *interaction.Interaction) {
			if n%2 == 1 {
				i.Request.Reviewers = []string{"zoe"}
			}
		})
	}
	b.store.interactions[0].Status = interaction.StatusExpired
	for query, want := range map[string]string{"?status=pending": "i4 i3 i2 i1", "?status=expired": "i0", "?run_id=r2": "i2", "?run_id=r2&status=held": ""} {
		if got := ids(b.do("ada", "GET", "/v1/interactions"+query, ""), "id"); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	for query, want := range map[string]string{"?prefix=r": "r4 r3 r2 r1 r0", "?prefix=r3": "r3", "?prefix=3": ""} {
		if got := ids(b.do("ada", "GET", "/v1/runs"+query, ""), "run_id"); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	var got []string
	path, pages := "/v1/interactions?page_size=2", 0
	for token := "-"; token != ""; pages++ {
		a := b.do("rex", "GET", path, "")
		got = append(got, ids(a, "id"))
		token = a.body["next_page_token"].(string)
		path = "/v1/interactions?page_size=2&page_token=" + token
	}
	if strings.TrimSpace(strings.Join(got, " ")) != "i4 i2 i0" || pages > 3 {
		t.Errorf("pages %q", got)
	}
	for query, location := range map[string]string{"status=ended": "query.status", "stauts=pending": "query.stauts",
		"page_size=0": "query.page_size", "page_size=1000": "query.page_size", "page_token=zzz": "query.page_token"} {
		a := b.do("ada", "GET", "/v1/interactions?"+query, "")
		if a.status != 422 && a.status != 400 {
			t.Errorf("%s: %d %s", query, a.status, a.raw)
		}
		wantLocation(t, a, location)
	}
}

func TestControlAndMessages(t *testing.T) {
	t.Parallel()
	for path, body := range map[string]string{"control": `{"id":"x1","action":"abort_run","note":"enough"}`, "messages": `{"id":"x1","text":"use tabs"}`} {
		b := setup(t)
		b.park("r1", "i1")
		path = "/v1/runs/r1/" + path
		if a := b.do("uma", "POST", path, body); a.status != 200 || a.body["status"] != "accepted" || a.body["id"] != "x1" {
			t.Errorf("%s: %d %s", path, a.status, a.raw)
		}
		switch m := b.temporal.updates[0].Args[0].(type) {
		case workflows.ControlMessage:
			if m.RunID != "r1" || m.Principal.ID != "uma" || m.Action != workflows.AbortRun || m.Note != "enough" || m.ID != "x1" {
				t.Errorf("%+v", m)
			}
		case workflows.TextMessage:
			if m.RunID != "r1" || m.Principal.ID != "uma" || m.Text != "use tabs" || m.ID != "x1" {
				t.Errorf("%+v", m)
			}
		}
		if id := b.temporal.updates[0].UpdateID; id == "x1" {
			t.Error("a response of the same id would meet this update's outcome")
		}
		b.temporal.onUp = func(client.UpdateWorkflowOptions) (any, error) { return nil, errNoWorker }
		if a := b.do("uma", "POST", path, body); a.status != 202 || a.body["status"] != "stored" || len(b.temporal.signals) != 1 {
			t.Errorf("without a worker: %d %s", a.status, a.raw)
		}
		b.temporal.onUp = refusing(interaction.Error{Code: interaction.CodeWrongRun, Message: "the session is at another run"})
		wantProblem(t, b.do("uma", "POST", path, body), 409, "wrong_run")
		wantProblem(t, b.do("rex", "POST", path, body), 403, "forbidden")
		wantProblem(t, b.do("rob", "POST", "/v1/runs/nope/control", `{"action":"abort_run"}`), 404, "not_found")
		b.store.runs[0].Status = agent.RunFailed
		wantProblem(t, b.do("uma", "POST", path, body), 409, "run_ended")
	}
	b := setup(t)
	b.park("r1", "i1")
	for _, c := range []struct {
		path, body string
		status     int
	}{
		{"control", `{"action":"explode"}`, 422}, {"control", `{}`, 422}, {"control", ``, 400}, {"messages", `{"text":""}`, 422},
		{"control", `{"action":"abort_run","note":"` + strings.Repeat("x", interaction.MaxNoteBytes+1) + `"}`, 413},
		{"messages", `{"text":"` + strings.Repeat("x", interaction.MaxMessageBytes+1) + `"}`, 413},
	} {
		if a := b.do("uma", "POST", "/v1/runs/r1/"+c.path, c.body); a.status != c.status {
			t.Errorf("%s %.40s: %d %s", c.path, c.body, a.status, a.raw)
		}
	}
	if len(b.temporal.updates) > 0 {
		t.Error("something was sent")
	}
}

func TestAgents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if a := b.do("uma", "GET", "/v1/agents", ""); ids(a, "name") != "fixer" || a.body["next_page_token"] != "" {
		t.Error(a.raw)
	}
}

func TestConfigNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	_, err := api.New(api.Config{Heartbeat: -1})
	for _, field := range []string{"Temporal", "Store", "Agents", "Auth", "ValidateArgs", "Heartbeat"} {
		if err == nil || !strings.Contains(err.Error(), "api.Config."+field) {
			t.Errorf("%s is not named: %v", field, err)
		}
	}
}

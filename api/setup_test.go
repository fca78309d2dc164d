package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"holdpoint/agent"
	"holdpoint/api"
	"holdpoint/api/apitest"
	"holdpoint/interaction"
	"holdpoint/workflows"
)

// people are the principals of the tests, by token.
var people = map[string]interaction.Principal{
	"ada": {ID: "ada", Roles: []string{"admin", "act_for"}},
	"bot": {ID: "bot", Roles: []string{"user", "reviewer", "act_for"}},
	"pia": {ID: "pia", Roles: []string{"admin"}},
	"udo": {ID: "udo", Roles: []string{"user"}},
	"uma": {ID: "uma", Roles: []string{"user"}},
	"rex": {ID: "rex", Groups: []string{"ops"}, Roles: []string{"reviewer"}},
	"rob": {ID: "rob", Roles: []string{"reviewer"}},
	"nil": {ID: "nil"},
}

type tokens struct{}

func (tokens) Authenticate(r *http.Request) (interaction.Principal, bool, error) {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if token == "broken" {
		return interaction.Principal{}, false, errors.New("the identity provider is down")
	}
	p, ok := people[token]
	return p, ok, nil
}

type agents struct{}

func (agents) Agents() []api.AgentInfo {
	return []api.AgentInfo{{Name: "fixer", Description: "Fixes."}}
}

var t0 = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

// bridge is a running bridge with what is behind it.
type bridge struct {
	t        testing.TB
	url      string
	api      *api.Server
	server   *httptest.Server
	store    *store
	temporal *temporal
}

func setup(t testing.TB, change ...func(*api.Config)) *bridge {
	t.Helper()
	b := &bridge{t: t, store: newStore(), temporal: &temporal{live: map[string]client.StartWorkflowOptions{}, onUp: applied}}
	cfg := api.Config{Temporal: b.temporal, Store: b.store, Agents: agents{}, Auth: tokens{}, ValidateArgs: validate,
		UpdateTimeout: 60 * time.Millisecond, Heartbeat: 20 * time.Millisecond, Clock: func() time.Time { return t0 },
		Loopback: true, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	for _, c := range change {
		c(&cfg)
	}
	var err error
	if b.api, err = api.New(cfg); err != nil {
		t.Fatal(err)
	}
	b.server = httptest.NewServer(b.api)
	t.Cleanup(func() { _ = b.api.Close(); b.server.Close() })
	b.url = b.server.URL
	return b
}

// applied is a workflow that takes everything.
func applied(o client.UpdateWorkflowOptions) (any, error) {
	msg, ok := o.Args[0].(workflows.RespondMessage)
	if !ok {
		return workflows.Accepted{}, nil
	}
	var out workflows.RespondResult
	for _, r := range msg.Responses {
		out.Items = append(out.Items, workflows.ResponseResult{ResponseID: r.ID, InteractionID: r.RequestID, Applied: true,
			Status: interaction.StatusAnswered, Approvals: 1, Quorum: 1})
	}
	return out, nil
}

// validate wants an integer n, as the schema of a tool might.
func validate(_ context.Context, _ string, _ interaction.RunID, args []byte) error {
	var v struct{ N *int }
	if err := json.Unmarshal(args, &v); err != nil {
		return &interaction.Error{Code: interaction.CodeInvalid, Field: "args.n", Message: "must be an integer"}
	}
	return nil
}

// answer is a response of the bridge.
type answer struct {
	status int
	header http.Header
	body   map[string]any
	raw    string
}

func (b *bridge) do(who, method, path, body string, headers ...string) answer {
	b.t.Helper()
	req := b.request(who, method, path, body, headers...)
	res, err := b.server.Client().Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	a := answer{status: res.StatusCode, header: res.Header, raw: string(raw)}
	_ = json.Unmarshal(raw, &a.body)
	if err := b.described().Check(req, res.StatusCode, res.Header.Get("Content-Type"), raw); err != nil {
		b.t.Errorf("what is answered is not as it is described: %v", err)
	}
	return a
}

// descriptions are those that were read, by the routes that they tell of.
var descriptions sync.Map

// described is the bridge's own description of its API, against which every answer is held.
func (b *bridge) described() *apitest.Description {
	b.t.Helper()
	routes := strings.Join(b.api.Routes(), "\n")
	if d, known := descriptions.Load(routes); known {
		return d.(*apitest.Description)
	}
	rec := httptest.NewRecorder()
	b.api.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "http://localhost/openapi.json", http.NoBody))
	d, err := apitest.Read(rec.Body.Bytes())
	if err != nil {
		b.t.Fatal(err)
	}
	descriptions.Store(routes, d)
	return d
}

func (b *bridge) request(who, method, path, body string, headers ...string) *http.Request {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.url+path, bytes.NewBufferString(body))
	if err != nil {
		b.t.Fatal(err)
	}
	if who != "" {
		req.Header.Set("Authorization", "Bearer "+who)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for n := 0; n < len(headers); n += 2 {
		req.Header.Set(headers[n], headers[n+1])
		if headers[n] == "Host" {
			req.Host = headers[n+1]
		}
	}
	return req
}

// wantProblem checks that an answer is the problem of that status and code.
func wantProblem(t *testing.T, a answer, status int, code string) {
	t.Helper()
	if a.status != status || a.body["type"] != api.ProblemTypePrefix+code || a.body["status"] != float64(status) {
		t.Fatalf("got %d %s; want %d %s", a.status, a.raw, status, code)
	}
	if ct := a.header.Get("Content-Type"); ct != "application/problem+json" {
		t.Errorf("content type %q", ct)
	}
	if a.body["title"] == "" || a.body["detail"] == "" {
		t.Errorf("no title or detail: %s", a.raw)
	}
}

func wantLocation(t *testing.T, a answer, location string) {
	t.Helper()
	errs, _ := a.body["errors"].([]any)
	for _, e := range errs {
		if e.(map[string]any)["location"] == location {
			return
		}
	}
	t.Errorf("no error at %q in %s", location, a.raw)
}

// park adds a run of uma's with one open interaction.
func (b *bridge) park(run interaction.RunID, id interaction.ID, change ...func(*interaction.Interaction)) {
	defer b.store.lock()()
	b.store.runs = append(b.store.runs, agent.Run{ID: run, SessionID: "s-" + interaction.SessionID(run),
		WorkflowID: "session-s-" + string(run), Agent: "fixer", UserID: "uma", Requester: "uma", Input: "go",
		Status: agent.RunAwaitingHuman, StartedAt: t0})
	b.ask(run, id, change...)
}

// ask adds an open interaction; the store is locked.
func (b *bridge) ask(run interaction.RunID, id interaction.ID, change ...func(*interaction.Interaction)) {
	i := interaction.Open(interaction.Request{ID: id, RunID: run, ToolName: "bash", Title: "Run a command",
		ToolArgs: json.RawMessage(`{"command":"rm -rf build"}`), Digest: "d1"}, t0)
	for _, c := range change {
		c(&i)
	}
	b.store.interactions = append(b.store.interactions, i)
}

// eventually waits for a condition that others bring about.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(5 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline:
			t.Fatal("not within 5 s: " + what)
		case <-tick.C:
		}
	}
}

// savedRun is a parked run of session s1 as the record has it.
func savedRun(id string) agent.Run {
	return agent.Run{ID: interaction.RunID(id), SessionID: "s1", WorkflowID: "session-s1", Agent: "fixer", UserID: "ada",
		Requester: "ada", Input: "go", Status: agent.RunAwaitingHuman, StartedAt: t0}
}

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
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"holdpoint/agent"
	"holdpoint/api"
	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/llm"
	"holdpoint/workflows"
)

// store is an api.Store in memory.
type store struct {
	mu           sync.Mutex
	runs         []agent.Run // oldest first
	steps        []llm.Step
	events       map[interaction.RunID][]event.Event
	deltas       map[interaction.RunID][]api.LiveDelta
	interactions []interaction.Interaction
	responses    map[interaction.ResponseID]interaction.Response
	submitted    map[interaction.ID]interaction.ResponseID
	watchers     map[chan struct{}]bool
	ensureErr    error
	readErr      error
}

func newStore() *store {
	return &store{events: map[interaction.RunID][]event.Event{}, deltas: map[interaction.RunID][]api.LiveDelta{},
		responses: map[interaction.ResponseID]interaction.Response{}, submitted: map[interaction.ID]interaction.ResponseID{},
		watchers: map[chan struct{}]bool{}}
}

func (s *store) lock() func() { s.mu.Lock(); return s.mu.Unlock }

func (s *store) EnsureRun(_ context.Context, r agent.Run) error {
	defer s.lock()()
	if s.ensureErr != nil {
		return s.ensureErr
	}
	if !slices.ContainsFunc(s.runs, func(o agent.Run) bool { return o.ID == r.ID }) {
		s.runs = append(s.runs, r)
	}
	return nil
}

func (s *store) Run(_ context.Context, id interaction.RunID) (agent.Run, bool, error) {
	defer s.lock()()
	if s.readErr != nil {
		return agent.Run{}, false, s.readErr
	}
	for _, r := range s.runs {
		if r.ID == id {
			return r, true, nil
		}
	}
	return agent.Run{}, false, nil
}

// page cuts rows at a token, which here is the last row's id.
func page[T any](rows []T, id func(T) string, size int, token string) ([]T, string, error) {
	if token != "" {
		n := slices.IndexFunc(rows, func(r T) bool { return id(r) == token })
		if n < 0 {
			return nil, "", &interaction.Error{Code: interaction.CodeInvalid, Field: "page_token", Message: "not of this list"}
		}
		rows = rows[n+1:]
	}
	if len(rows) > size {
		return rows[:size], id(rows[size-1]), nil
	}
	return rows, "", nil
}

func (s *store) Runs(_ context.Context, f api.RunFilter) ([]agent.Run, string, error) {
	defer s.lock()()
	var rows []agent.Run
	for _, r := range slices.Backward(s.runs) {
		if (f.Status == "" || r.Status == f.Status) && (f.SessionID == "" || r.SessionID == f.SessionID) &&
			(f.Agent == "" || r.Agent == f.Agent) && (f.UserID == "" || r.UserID == f.UserID) {
			rows = append(rows, r)
		}
	}
	return page(rows, func(r agent.Run) string { return string(r.ID) }, f.PageSize, f.PageToken)
}

func (s *store) Steps(_ context.Context, run interaction.RunID, size int, token string) ([]llm.Step, string, error) {
	defer s.lock()()
	var rows []llm.Step
	for _, st := range s.steps {
		if st.RunID == run {
			rows = append(rows, st)
		}
	}
	return page(rows, func(st llm.Step) string { return string(st.ID) }, size, token)
}

func (s *store) Progress(_ context.Context, run interaction.RunID) (api.Progress, error) {
	defer s.lock()()
	p := api.Progress{LastEvent: int64(len(s.events[run]))}
	for _, st := range s.steps {
		if st.RunID == run {
			p.Steps++
		}
	}
	return p, nil
}

func (s *store) Events(_ context.Context, run interaction.RunID, after int64, limit int) ([]event.Event, error) {
	defer s.lock()()
	all := s.events[run]
	after = min(after, int64(len(all)))
	return slices.Clone(all[after:min(int(after)+limit, len(all))]), nil
}

func (s *store) Deltas(_ context.Context, run interaction.RunID, after int64) ([]api.LiveDelta, error) {
	defer s.lock()()
	var out []api.LiveDelta
	for _, d := range s.deltas[run] {
		if d.ID > after {
			out = append(out, d)
		}
	}
	return out, nil
}

func (s *store) Watch(ctx context.Context, _ interaction.RunID) <-chan struct{} {
	defer s.lock()()
	c := make(chan struct{}, 1)
	s.watchers[c] = true
	context.AfterFunc(ctx, func() {
		defer s.lock()()
		delete(s.watchers, c)
		close(c)
	})
	return c
}

// emit appends an event and wakes the streams.
func (s *store) emit(run interaction.RunID, t event.Type, payload any) {
	defer s.lock()()
	list := s.events[run]
	var head event.Head
	if n := len(list); n > 0 {
		head = event.Head{Number: list[n-1].Number, Hash: list[n-1].Hash}
	}
	s.events[run] = append(list, event.Chain(head, event.New(run, t, t0, payload)))
	s.wake()
}

func (s *store) delta(run interaction.RunID, id int64, text string) {
	defer s.lock()()
	s.deltas[run] = append(s.deltas[run], api.LiveDelta{ID: id, StepDeltaData: event.StepDeltaData{Text: text}})
	s.wake()
}

func (s *store) wake() {
	for c := range s.watchers {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

func (s *store) watching() int { defer s.lock()(); return len(s.watchers) }

func (s *store) Interaction(_ context.Context, id interaction.ID) (interaction.Interaction, bool, error) {
	defer s.lock()()
	for _, i := range s.interactions {
		if i.Request.ID == id {
			return i, true, nil
		}
	}
	return interaction.Interaction{}, false, nil
}

func (s *store) Interactions(_ context.Context, f api.InteractionFilter) ([]interaction.Interaction, string, error) {
	defer s.lock()()
	var rows []interaction.Interaction
	for _, i := range slices.Backward(s.interactions) {
		if (len(f.Status) == 0 || slices.Contains(f.Status, i.Status)) && (f.RunID == "" || i.Request.RunID == f.RunID) {
			rows = append(rows, i)
		}
	}
	return page(rows, func(i interaction.Interaction) string { return string(i.Request.ID) }, f.PageSize, f.PageToken)
}

func (s *store) SaveResponse(_ context.Context, r interaction.Response) (interaction.Response, bool, error) {
	defer s.lock()()
	if old, ok := s.responses[r.ID]; ok {
		return old, false, nil
	}
	s.responses[r.ID] = r
	return r, true, nil
}

func (s *store) MarkSubmitted(_ context.Context, id interaction.ID, r interaction.Response, _ time.Time) error {
	defer s.lock()()
	s.submitted[id] = r.ID
	return nil
}

// temporal is an api.Temporal that the test scripts.
type temporal struct {
	mu      sync.Mutex
	starts  []client.StartWorkflowOptions
	inputs  []workflows.RunInput
	live    map[string]client.StartWorkflowOptions
	startIs error
	onUp    func(o client.UpdateWorkflowOptions) (any, error) // an outcome, or a refusal
	updates []client.UpdateWorkflowOptions
	onSig   error
	signals []any
	health  error
}

func (f *temporal) ExecuteWorkflow(_ context.Context, o client.StartWorkflowOptions, _ any, args ...any) (client.WorkflowRun, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.startIs != nil {
		return nil, f.startIs
	}
	if _, ok := f.live[o.ID]; ok {
		return nil, serviceerror.NewWorkflowExecutionAlreadyStarted("already", "", "")
	}
	f.live[o.ID] = o
	f.starts = append(f.starts, o)
	f.inputs = append(f.inputs, args[0].(workflows.RunInput))
	return nil, nil
}

func (f *temporal) DescribeWorkflowExecution(_ context.Context, id, _ string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fields := map[string]*commonpb.Payload{}
	for k, v := range f.live[id].Memo {
		fields[k], _ = converter.GetDefaultDataConverter().ToPayload(v)
	}
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{
		Memo: &commonpb.Memo{Fields: fields}}}, nil
}

func (f *temporal) UpdateWorkflow(ctx context.Context, o client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	f.mu.Lock()
	f.updates = append(f.updates, o)
	on := f.onUp
	f.mu.Unlock()
	v, err := on(o)
	if errors.Is(err, errNoWorker) {
		<-ctx.Done()
		return nil, client.NewWorkflowUpdateServiceTimeoutOrCanceledError(ctx.Err())
	}
	var gone *serviceerror.NotFound
	if errors.As(err, &gone) {
		return nil, err
	}
	return handle{v, err}, nil
}

func (f *temporal) SignalWorkflow(_ context.Context, _, _, _ string, arg any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.onSig == nil {
		f.signals = append(f.signals, arg)
	}
	return f.onSig
}

func (f *temporal) CheckHealth(context.Context, *client.CheckHealthRequest) (*client.CheckHealthResponse, error) {
	return nil, f.health
}

var errNoWorker = errors.New("no worker")

type handle struct {
	v   any
	err error
}

func (h handle) WorkflowID() string { return "" }
func (h handle) RunID() string      { return "" }
func (h handle) UpdateID() string   { return "" }

func (h handle) Get(_ context.Context, out any) error {
	if h.err != nil {
		return h.err
	}
	b, err := json.Marshal(h.v)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, out)
}

// people are the principals of the tests, by token.
var people = map[string]interaction.Principal{
	"ada": {ID: "ada", Roles: []string{"admin"}},
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
	t        *testing.T
	url      string
	api      *api.Server
	server   *httptest.Server
	store    *store
	temporal *temporal
}

func setup(t *testing.T, change ...func(*api.Config)) *bridge {
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
	return a
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
func eventually(t *testing.T, what string, ok func() bool) {
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

package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
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
			(f.Agent == "" || r.Agent == f.Agent) && (strings.HasPrefix(string(r.ID), f.Prefix) || strings.HasPrefix(string(r.SessionID), f.Prefix)) && (f.UserID == "" || r.UserID == f.UserID) {
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

func (s *store) Verify(context.Context, interaction.RunID) (string, error) { return "", nil }

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

// Closed selects less than it might: the rest is the bridge's to look at.
func (s *store) Closed(ctx context.Context, f api.ClosedFilter) ([]interaction.Interaction, string, error) {
	statuses := []interaction.Status{f.Status}
	if f.Status == "" {
		statuses = []interaction.Status{interaction.StatusAnswered, interaction.StatusExpired, interaction.StatusCancelled}
	}
	return s.Interactions(ctx, api.InteractionFilter{Status: statuses, PageSize: f.PageSize, PageToken: f.PageToken})
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
	onStart func(workflows.RunInput)
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
	if f.onStart != nil {
		f.onStart(args[0].(workflows.RunInput))
	}
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

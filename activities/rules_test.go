package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"

	"holdpoint/activities"
	"holdpoint/agent"
	"holdpoint/interaction"
	"holdpoint/internal/store"
	"holdpoint/internal/store/pgtest"
	"holdpoint/llm"
	"holdpoint/permission"
	"holdpoint/tool"
)

// effect is a tool whose every call counts.
type effect struct {
	def  tool.Definition
	runs *atomic.Int64
	run  func(ctx context.Context, c tool.Call) // beside counting; may be nil
}

func (e effect) Definition() tool.Definition { return e.def }

func (e effect) Run(ctx context.Context, c tool.Call) (tool.Outcome, error) {
	e.runs.Add(1)
	if e.run != nil {
		e.run(ctx, c)
	}
	return tool.Outcome{Result: &tool.Result{Status: tool.StatusSuccess, Content: "done"}}, nil
}

// definitions is the configuration of these tests: one agent, one policy, one tool.
type definitions struct {
	agent   agent.Agent
	policy  []permission.Rule
	results []permission.Rule
	tool    tool.Tool
}

func (d *definitions) Agent(string) (agent.Agent, bool) { return d.agent, true }

func (d *definitions) Results(string) []permission.Rule             { return d.results }
func (d *definitions) Policy(name string) ([]permission.Rule, bool) { return d.policy, name == "house" }

func (d *definitions) Model(string) (llm.Model, error) {
	return nil, errors.New("there is no model here")
}

func (d *definitions) Tool(name string) (tool.Tool, bool) {
	return d.tool, name == d.tool.Definition().Name
}

// data is the store as the activities see it.
type data struct{ *store.Store }

func (d data) Write(ctx context.Context, fn func(activities.Tx) error) error {
	return d.Store.Write(ctx, func(tx *store.Tx) error { return fn(tx) })
}

// worker is the activities of one process.
type worker struct {
	t    testing.TB
	acts *activities.Activities
	defs *definitions
	runs *atomic.Int64
	now  atomic.Pointer[time.Time]
}

var start = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

func newWorker(t testing.TB, s activities.Store) *worker {
	w := &worker{t: t, runs: &atomic.Int64{}}
	w.now.Store(&start)
	w.defs = &definitions{agent: agent.Agent{Name: "tester", Tools: []string{"effect"}, Policy: "house", MaxSteps: 10,
		Workspace: "/workspace", EnableHITL: true, EnablePermissions: true},
		tool: effect{runs: w.runs, def: tool.Definition{Name: "effect", Schema: json.RawMessage(`{"type":"object"}`), Resource: tool.ResourceArgs}}}
	w.acts = &activities.Activities{Store: s, Definitions: w.defs, Worker: "w",
		Validate: func(tool.Definition, []byte) *interaction.Error { return nil }, Now: func() time.Time { return *w.now.Load() }}
	return w
}

// newRun stores a run of ann's, for calls to be made in.
func newRun(t testing.TB, s *store.Store, w *worker, id interaction.RunID) {
	t.Helper()
	r := agent.Run{ID: id, SessionID: "s-" + interaction.SessionID(id), WorkflowID: "session-s-" + string(id), Agent: "tester",
		AgentDigest: w.defs.agent.Digest(), UserID: "ann", Requester: "ann", Input: "go", Status: agent.RunRunning, StartedAt: start}
	if err := s.EnsureRun(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), func(tx *store.Tx) error {
		return tx.SaveAgent(t.Context(), w.defs.agent.Digest(), w.defs.agent)
	}); err != nil {
		t.Fatal(err)
	}
}

// newCall stores a call that was taken in.
func newCall(t testing.TB, s *store.Store, run interaction.RunID, n int, args string) interaction.CallID {
	t.Helper()
	id := interaction.CallID(fmt.Sprintf("%s-1-%d", run, n))
	rec := tool.Record{Call: tool.Call{ID: id, RunID: run, SessionID: "s-" + interaction.SessionID(run), Name: "effect", Args: json.RawMessage(args)},
		Turn: 1, Index: n, Sequence: int64(n), Digest: interaction.Digest("effect", []byte(args), "")}
	if err := s.Write(t.Context(), func(tx *store.Tx) error { return tx.InsertCall(t.Context(), rec) }); err != nil {
		t.Fatal(err)
	}
	return id
}

// attempt is one execution of the activity RunTool.
func (w *worker) attempt(run interaction.RunID, call interaction.CallID) (activities.RunToolResult, error) {
	var suite testsuite.WorkflowTestSuite
	suite.SetDisableRegistrationAliasing(true)
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivityWithOptions(w.acts.RunTool, activity.RegisterOptions{Name: activities.RunToolName})
	v, err := env.ExecuteActivity(activities.RunToolName, activities.RunToolInput{RunID: run, CallID: call, AgentDigest: w.defs.agent.Digest()})
	var out activities.RunToolResult
	if err == nil {
		err = v.Get(&out)
	}
	return out, err
}

func (w *worker) try(run interaction.RunID, call interaction.CallID) activities.RunToolResult {
	w.t.Helper()
	out, err := w.attempt(run, call)
	if err != nil {
		w.t.Errorf("call %s: %v", call, err)
	}
	return out
}

// outcome is what became of a call, in a word.
func outcome(r activities.RunToolResult) string {
	if r.Interaction != nil {
		return "asked"
	}
	return string(r.Status)
}

func openStore(t testing.TB, cfg store.Config) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// stores opens a database of each kind.
var stores = map[string]func(t testing.TB) *store.Store{
	"memory": func(t testing.TB) *store.Store { return openStore(t, store.Config{Driver: store.Memory}) },
	"file": func(t testing.TB) *store.Store {
		return openStore(t, store.Config{DSN: filepath.Join(t.TempDir(), "holdpoint.db")})
	},
	"postgres": func(t testing.TB) *store.Store {
		return openStore(t, store.Config{Driver: store.Postgres, DSN: pgtest.Database(t)})
	},
}

// grant is an allow of ann's.
func grant(id, pattern string, change ...func(*permission.Rule)) permission.Rule {
	r := permission.Rule{ID: id, Effect: permission.Allow, Pattern: pattern, UserID: "ann", GrantedBy: "root", CreatedAt: start}
	for _, c := range change {
		c(&r)
	}
	return r
}

func uses(n int) func(*permission.Rule) { return func(r *permission.Rule) { r.MaxUses = n } }

func save(t testing.TB, s *store.Store, rules ...permission.Rule) {
	t.Helper()
	if _, err := s.SaveRules(t.Context(), rules...); err != nil {
		t.Fatal(err)
	}
}

func TestAGrantIsUsedAsOftenAsItSaysAndNoMore(t *testing.T) {
	t.Parallel()
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			one, two := newWorker(t, data{s}), newWorker(t, data{s})
			save(t, s, grant("few", "effect", uses(3)))
			newRun(t, s, one, "r1")
			var mu sync.Mutex
			got := map[string]int{}
			var all sync.WaitGroup
			for n := range 10 {
				call := newCall(t, s, "r1", n+1, fmt.Sprintf(`{"n":%d}`, n))
				w := []*worker{one, two}[n%2]
				all.Go(func() {
					out := outcome(w.try("r1", call))
					mu.Lock()
					defer mu.Unlock()
					got[out]++
				})
			}
			all.Wait()
			if ran := one.runs.Load() + two.runs.Load(); got["success"] != 3 || got["asked"] != 7 || ran != 3 {
				t.Errorf("outcomes %v, and the tool ran %d times; want 3 successes", got, ran)
			}
			if r, _, err := s.StoredRule(t.Context(), "few"); err != nil || r.Uses != 3 {
				t.Errorf("%d uses are counted, %v", r.Uses, err)
			}
		})
	}
}

func TestACallCountsOnceHoweverOftenItIsClaimed(t *testing.T) {
	t.Parallel()
	s := stores["memory"](t)
	w := newWorker(t, data{s})
	w.defs.tool = effect{runs: w.runs, def: tool.Definition{Name: "effect", Schema: json.RawMessage(`{"type":"object"}`),
		Resource: tool.ResourceArgs, Idempotent: true}}
	save(t, s, grant("once", "effect", uses(1)))
	newRun(t, s, w, "r1")
	call := newCall(t, s, "r1", 1, `{}`)
	died := errors.New("the worker died here")
	w.acts.Faults = func(p activities.Point) {
		if p == activities.PointClaimed {
			panic(died)
		}
	}
	if _, err := w.attempt("r1", call); err == nil {
		t.Fatal("the worker did not die")
	}
	w.acts.Faults = nil
	if got := outcome(w.try("r1", call)); got != "success" {
		t.Errorf("the idempotent call that was claimed before ended %q", got)
	}
	if got := outcome(w.try("r1", newCall(t, s, "r1", 2, `{"another":1}`))); got != "asked" {
		t.Errorf("another call under the grant that is used up ended %q", got)
	}
}

func TestConditionsOfAGrantHoldWhenTheCallRuns(t *testing.T) {
	t.Parallel()
	s := stores["memory"](t)
	w := newWorker(t, data{s})
	friday := start.Add(48 * time.Hour)
	save(t, s, grant("small", "effect", func(r *permission.Rule) {
		r.ExpiresAt = friday
		r.Where = []permission.Condition{{Name: "amount", Max: "100"}, {Name: "to", Equals: json.RawMessage(`"acct1"`)}}
	}))
	newRun(t, s, w, "r1")
	n := 0
	want := func(args, result string) {
		t.Helper()
		n++
		if got := outcome(w.try("r1", newCall(t, s, "r1", n, args))); got != result {
			t.Errorf("%s at %s ended %q, want %q", args, *w.now.Load(), got, result)
		}
	}
	want(`{"amount":100,"to":"acct1"}`, "success")
	want(`{"amount":101,"to":"acct1"}`, "asked")
	want(`{"amount":100,"to":"acct2"}`, "asked")
	want(`{"to":"acct1"}`, "asked")
	w.now.Store(&friday)
	want(`{"amount":100,"to":"acct1"}`, "asked")
}

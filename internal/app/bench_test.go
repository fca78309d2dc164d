package app_test

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"holdpoint/interaction"
	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
	"holdpoint/internal/store/pgtest"
	"holdpoint/llm"
	"holdpoint/tool"
)

var (
	gatedRuns  = flag.Int("gated", 100, "gated runs of a benchmark")
	parkedRuns = flag.Int("parked", 200, "runs that a benchmark parks")
)

// starts tells when the tool of a run began, by the run's input.
type starts struct{ at sync.Map }

func (s *starts) of(input string) chan time.Time {
	c, _ := s.at.LoadOrStore(input, make(chan time.Time, 1))
	return c.(chan time.Time)
}

// plainGate is the workflow that a Temporal developer would write by hand: a model, an answer by update with a deadline, a
// tool, a model. It keeps no record, judges nothing and knows nobody.
type plainGate struct {
	client client.Client
	queue  string
	starts starts
	asked  starts
}

func newPlainGate(b *testing.B, c client.Client) *plainGate {
	b.Helper()
	x := &plainGate{client: c, queue: "bare-" + uuid.NewString()}
	w, err := x.serve()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(w.Stop)
	return x
}

// serve starts its worker.
func (x *plainGate) serve() (worker.Worker, error) {
	w := worker.New(x.client, x.queue, worker.Options{})
	w.RegisterWorkflowWithOptions(x.run, workflow.RegisterOptions{Name: "Bare"})
	w.RegisterActivityWithOptions(func(context.Context, string) (string, error) { return "call", nil }, activity.RegisterOptions{Name: "model"})
	w.RegisterActivityWithOptions(func(_ context.Context, input string) (string, error) {
		x.starts.of(input) <- time.Now()
		return "done", nil
	}, activity.RegisterOptions{Name: "tool"})
	return w, w.Start()
}

func (x *plainGate) run(ctx workflow.Context, input string) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	answer := ""
	if err := workflow.SetUpdateHandler(ctx, "respond", func(_ workflow.Context, text string) error { answer = text; return nil }); err != nil {
		return err
	}
	if err := workflow.ExecuteActivity(ctx, "model", input).Get(ctx, nil); err != nil {
		return err
	}
	if !workflow.IsReplaying(ctx) {
		x.asked.of(input) <- time.Now()
	}
	deadline, cancel := workflow.WithCancel(ctx)
	timer := workflow.NewTimer(deadline, 24*time.Hour)
	if err := workflow.Await(ctx, func() bool { return answer != "" || timer.IsReady() }); err != nil {
		return err
	}
	cancel()
	if err := workflow.ExecuteActivity(ctx, "tool", input).Get(ctx, nil); err != nil {
		return err
	}
	return workflow.ExecuteActivity(ctx, "model", input).Get(ctx, nil)
}

func (x *plainGate) start(b *testing.B, input string) string {
	id := "bare-" + uuid.NewString()
	if _, err := x.client.ExecuteWorkflow(b.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: x.queue}, "Bare", input); err != nil {
		b.Error(err)
	}
	<-x.asked.of(input)
	return id
}

func (x *plainGate) approve(b *testing.B, id string) {
	u, err := x.client.UpdateWorkflow(b.Context(), client.UpdateWorkflowOptions{WorkflowID: id, UpdateName: "respond", Args: []any{"approve"}, WaitForStage: client.WorkflowUpdateStageCompleted})
	if err == nil {
		err = u.Get(b.Context(), nil)
	}
	if err != nil {
		b.Error(err)
	}
}

// whole runs one to its end.
func (x *plainGate) whole(b *testing.B, input string) {
	id := x.start(b, input)
	x.approve(b, id)
	if err := x.client.GetWorkflow(b.Context(), id, "").Get(b.Context(), nil); err != nil {
		b.Error(err)
	}
}

// gate is Holdpoint with one tool that asks.
type gate struct {
	*apptest.Holdpoint
	starts starts
}

func newGate(b *testing.B, setups ...apptest.Setup) *gate {
	b.Helper()
	g := &gate{}
	model := &apptest.Model{Forgets: true, Turn: func(_ int, req llm.Request) llm.Message {
		if last := req.Messages[len(req.Messages)-1]; last.Role == llm.RoleUser {
			return apptest.Calls("effect", fmt.Sprintf(`{"tags":[%q]}`, last.Content))
		}
		return llm.Message{Content: "done"}
	}}
	effect := apptest.Effect{Log: func(c tool.Call) {
		var args struct{ Tags []string }
		if json.Unmarshal(c.Args, &args) == nil && len(args.Tags) == 1 {
			g.starts.of(args.Tags[0]) <- time.Now()
		}
	}}
	g.Holdpoint = apptest.Start(b, append([]apptest.Setup{withEffect(effect), apptest.WithModel(model), apptest.WithRules(`{match: effect, decision: ask, timeout: 24h}`)}, setups...)...)
	return g
}

// follow starts a run and reads its stream as its client would: it is told of the question and of the end.
func (g *gate) follow(b *testing.B, input string, asked func(id interaction.ID) (on bool)) interaction.RunID {
	run := g.Begin(input)
	req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, g.URL()+"/v1/runs/"+string(run.RunID)+"/events", nil)
	if err != nil {
		b.Error(err)
		return run.RunID
	}
	req.Header.Set("Authorization", "Bearer "+g.Token())
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.Error(err)
		return run.RunID
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for kind := ""; lines.Scan(); {
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			kind = name
		}
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && kind == "interaction_request" {
			var e struct{ Payload interaction.Request }
			if err := json.Unmarshal([]byte(data), &e); err != nil || !asked(e.Payload.ID) {
				return run.RunID
			}
		}
	}
	return run.RunID
}

func (g *gate) approve(b *testing.B, id interaction.ID) {
	// On a busy machine an answer may be kept for a workflow that does not take it in at once.
	if code, body := g.Respond(id, map[string]any{"action": "approve"}); code != http.StatusOK && code != http.StatusAccepted {
		b.Errorf("approve: %d %s", code, body)
	}
}

// decide measures one run from sending the approval to the tool's first line.
func (g *gate) decide(b *testing.B, input string) time.Duration {
	var q interaction.ID
	run := g.follow(b, input, func(id interaction.ID) bool { q = id; return false })
	g.Waits(run, 1) // people don't answer before the workflow knows that it asks
	began := time.Now()
	g.approve(b, q)
	return (<-g.starts.of(input)).Sub(began)
}

// quantile of durations, in milliseconds.
func quantile(list []time.Duration, q float64) float64 {
	slices.Sort(list)
	return float64(list[min(int(q*float64(len(list))), len(list)-1)]) / 1e6
}

// BenchmarkDecisionToTool measures from sending an approval to the tool's first line, beside the bare workflow, turn and
// turn about.
func BenchmarkDecisionToTool(b *testing.B) {
	g := newGate(b)
	x := newPlainGate(b, g.Client)
	for b.Loop() {
		var ours, theirs []time.Duration
		for n := range *gatedRuns {
			input := fmt.Sprintf("decision %d", n)
			id := x.start(b, input)
			began := time.Now()
			x.approve(b, id)
			theirs = append(theirs, (<-x.starts.of(input)).Sub(began))
			ours = append(ours, g.decide(b, input))
		}
		for name, q := range map[string]float64{"p50": 0.5, "p95": 0.95, "p99": 0.99} {
			b.ReportMetric(quantile(ours, q), name+"-ms")
			b.ReportMetric(quantile(theirs, q), "bare-"+name+"-ms")
			b.ReportMetric(quantile(ours, q)/quantile(theirs, q), name+"-ratio")
		}
	}
}

// atATime is how many runs end in a second, 50 at a time.
func atATime(run func(input string)) float64 {
	began := time.Now()
	var all sync.WaitGroup
	free := make(chan struct{}, 50)
	for range *gatedRuns {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			run(uuid.NewString())
		})
	}
	all.Wait()
	return float64(*gatedRuns) / time.Since(began).Seconds()
}

// whole runs one to its end, approved as soon as it asks.
func (g *gate) whole(b *testing.B, input string) {
	g.follow(b, input, func(id interaction.ID) bool { g.approve(b, id); return true })
}

// BenchmarkGatedRuns measures whole runs, 50 at a time, each approved as soon as it asks.
func BenchmarkGatedRuns(b *testing.B) {
	g := newGate(b)
	x := newPlainGate(b, g.Client)
	for b.Loop() {
		start := transactions(b)
		theirs := atATime(func(input string) { x.whole(b, input) })
		between := transactions(b)
		ours := atATime(func(input string) { g.whole(b, input) })
		if end := transactions(b); end > 0 {
			b.ReportMetric(float64(end-between)/float64(*gatedRuns), "transactions/run")
			b.ReportMetric(float64(between-start)/float64(*gatedRuns), "bare-transactions/run")
		}
		b.ReportMetric(ours, "runs/s")
		b.ReportMetric(theirs, "bare-runs/s")
		b.ReportMetric(ours/theirs, "ratio")
	}
}

// transactions are those of Temporal's own database, where it is PostgreSQL.
func transactions(b *testing.B) int64 {
	b.Helper()
	if !apptest.Operated() {
		return 0
	}
	n, err := pgtest.Transactions("temporal")
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// BenchmarkParkedRuns measures what a run costs that waits for a person: memory of worker and bridge together, and bytes
// in the store; and that all of them go on.
func BenchmarkParkedRuns(b *testing.B) {
	for _, cache := range []int{0, 100} {
		b.Run(fmt.Sprintf("cache=%d", cache), func(b *testing.B) {
			g := newGate(b, func(o *app.Options) { o.StickyCache = cache })
			for n := range *parkedRuns / 10 { // with them comes what is there once for all
				g.follow(b, fmt.Sprintf("before %d", n), func(interaction.ID) bool { return false })
			}
			for b.Loop() {
				memory, stored := keptMemory(), g.storeBytes(b)
				var ids []interaction.ID
				for n := range *parkedRuns {
					g.follow(b, fmt.Sprintf("parked %d", n), func(id interaction.ID) bool { ids = append(ids, id); return false })
				}
				b.ReportMetric(float64(keptMemory()-memory)/float64(*parkedRuns)/1024, "KiB/run")
				b.ReportMetric(float64(g.storeBytes(b)-stored)/float64(*parkedRuns), "store-B/run")
				began := time.Now()
				for _, id := range ids {
					g.approve(b, id)
				}
				for n := range *parkedRuns {
					<-g.starts.of(fmt.Sprintf("parked %d", n))
				}
				b.ReportMetric(float64(*parkedRuns)/time.Since(began).Seconds(), "approved/s")
			}
		})
	}
}

func keptMemory() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// storeBytes is the size of the store's database, with what is in its log alone.
func (g *gate) storeBytes(b *testing.B) (n int64) {
	b.Helper()
	db, err := sql.Open("sqlite", filepath.Join(g.Options.Data, "private", "holdpoint.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRowContext(b.Context(), `SELECT page_count * page_size FROM pragma_page_count, pragma_page_size`).Scan(&n); err != nil {
		b.Fatal(err)
	}
	return n
}

// BenchmarkCost counts what a call costs in history events, bytes and billable actions.
func BenchmarkCost(b *testing.B) {
	const allow, ask = `{match: effect, decision: allow}`, `{match: effect, decision: ask, timeout: 24h}`
	for _, c := range []struct {
		name  string
		rules string
		calls int
		quick bool
	}{{"allowed", allow, 1, false}, {"quick", allow, 1, true}, {"five-allowed", allow, 5, false}, {"five-quick", allow, 5, true}, {"gated", ask, 1, false}, {"five-gated", ask, 5, false}} {
		b.Run(c.name, func(b *testing.B) {
			var pairs []string
			for n := range c.calls {
				pairs = append(pairs, "effect", fmt.Sprintf(`{"n":%d}`, n))
			}
			h := apptest.Start(b, withEffect(apptest.Effect{Quick: c.quick, Idempotent: c.quick}), apptest.WithModel(apptest.Turns(apptest.Calls(pairs...))), apptest.WithRules(c.rules))
			none := apptest.Start(b, apptest.WithModel(apptest.Turns()))
			for b.Loop() {
				run := h.Begin("go")
				if c.rules == ask {
					var list []any
					for _, q := range h.Waits(run.RunID, c.calls) {
						list = append(list, map[string]any{"request_id": q.ID, "action": "approve"})
					}
					h.HTTP(http.MethodPost, "/v1/interactions/respond", map[string]any{"responses": list})
				}
				h.Ended(run.RunID)
				plain := none.Begin("go")
				none.Ended(plain.RunID)
				// Without the model call that asked for the tools.
				events, bytes, actions := cost(h, run.Workflow)
				e, by, a := cost(none, plain.Workflow)
				b.ReportMetric(float64(events-e-6), "events")
				b.ReportMetric(float64(bytes-by), "history-B")
				b.ReportMetric(float64(actions-a-1), "actions")
			}
		})
	}
}

// cost of a run that has ended. Billable are the start of the workflow, and what actions counts.
func cost(h *apptest.Holdpoint, workflowID string) (events, bytes, billed int) {
	all := h.Closed(workflowID)
	for _, e := range all {
		bytes += e.Size()
	}
	return len(all), bytes, 1 + actions(all)
}

package app_test

import (
	"fmt"
	"testing"
	"time"

	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
	"holdpoint/internal/devserver"
	"holdpoint/llm"
)

// BenchmarkQuickCalls measures what a tool call takes of a run, from the end of the model's answer to the beginning of the next
// question to it: as an activity, and in the workflow task.
func BenchmarkQuickCalls(b *testing.B) {
	const calls = 25
	for b.Loop() {
		took := map[bool][]time.Duration{}
		run := map[bool]func(){}
		for _, quick := range []bool{false, true} {
			var ended time.Time
			model := &apptest.Model{Turn: func(n int, req llm.Request) llm.Message {
				if len(req.Messages) > 1 {
					took[quick] = append(took[quick], time.Since(ended))
				}
				m := llm.Message{Content: "done"}
				if len(req.Messages) < 2*calls {
					m = apptest.Calls("effect", `{"n":1}`)
				}
				ended = time.Now()
				return m
			}}
			h := apptest.Start(b, apptest.WithModel(model), withEffect(apptest.Effect{Quick: quick, Idempotent: quick}), apptest.WithRules(allowsEffect), apptest.WithMaxSteps(2*calls))
			run[quick] = func() { h.Ended(h.Begin("go").RunID) }
		}
		for range max(*gatedRuns/calls, 1) { // turn and turn about
			run[false]()
			run[true]()
		}
		for name, q := range map[string]float64{"p50": 0.5, "p95": 0.95, "p99": 0.99} {
			b.ReportMetric(quantile(took[true], q), name+"-ms")
			b.ReportMetric(quantile(took[false], q), "activity-"+name+"-ms")
			b.ReportMetric(quantile(took[true], q)/quantile(took[false], q), name+"-ratio")
		}
	}
}

// BenchmarkEager measures what it is worth that a server hands out activities with the answer to the workflow task that schedules
// them, turn and turn about with one that does not: from an approval to its tool, and in runs a second, 50 at a time, beside those
// of the bare workflow.
func BenchmarkEager(b *testing.B) {
	gates := map[string]*gate{}
	for _, eager := range []string{"true", "false"} {
		settings := apptest.DynamicConfig()
		settings["system.enableActivityEagerExecution"] = eager
		server, err := devserver.Start(b.Context(), devserver.Options{Binary: apptest.Temporal(b), DynamicConfig: settings})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = server.Stop() })
		gates[eager] = newGate(b, func(o *app.Options) { o.Address = server.Address() })
	}
	for b.Loop() {
		took := map[string][]time.Duration{}
		for n := range *gatedRuns {
			for eager, g := range gates {
				took[eager] = append(took[eager], g.decide(b, fmt.Sprintf("decision %d", n)))
			}
		}
		for name, q := range map[string]float64{"p50": 0.5, "p95": 0.95, "p99": 0.99} {
			b.ReportMetric(quantile(took["true"], q), name+"-ms")
			b.ReportMetric(quantile(took["false"], q), "lazy-"+name+"-ms")
			b.ReportMetric(quantile(took["true"], q)/quantile(took["false"], q), name+"-ratio")
		}
		for eager, name := range map[string]string{"true": "", "false": "lazy-"} {
			x := newPlainGate(b, gates[eager].Client)
			b.ReportMetric(atATime(func(input string) { x.whole(b, input) }), name+"bare-runs/s")
			b.ReportMetric(atATime(func(input string) { gates[eager].whole(b, input) }), name+"runs/s")
		}
	}
}

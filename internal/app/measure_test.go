package app_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
)

// collected is an OTLP collector: a server that takes spans and keeps them.
type collected struct {
	mu    sync.Mutex
	spans []*trace.Span
}

func (c *collected) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var req collector.ExportTraceServiceRequest
	b, err := io.ReadAll(r.Body)
	if err == nil {
		err = proto.Unmarshal(b, &req)
	}
	if err != nil || r.URL.Path != "/v1/traces" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range req.ResourceSpans {
		for _, s := range resource.ScopeSpans {
			c.spans = append(c.spans, s.Spans...)
		}
	}
}

// named returns the spans whose name begins so.
func (c *collected) named(prefix string) (out []*trace.Span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if strings.HasPrefix(s.Name, prefix) {
			out = append(out, s)
		}
	}
	return out
}

func TestARunIsMeasuredAndTraced(t *testing.T) {
	t.Parallel()
	spans := &collected{}
	receiver := httptest.NewServer(spans)
	t.Cleanup(receiver.Close)
	h := apptest.Start(t, withEffect(apptest.Effect{}), apptest.WithModel(apptest.Turns(apptest.Calls("effect", `{"n":1}`))), func(o *app.Options) {
		o.Metrics = "127.0.0.1:0"
		o.Getenv = func(name string) (string, bool) {
			return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.URL}[name], name == "OTEL_EXPORTER_OTLP_ENDPOINT"
		}
	})
	run := h.Begin("go")
	id := h.Waits(run.RunID, 1)[0].ID
	wantMetric(t, h, `holdpoint_interactions_pending\{age="1m",[^}]*risk="high"\} 1`)
	h.Answer(id, by("alice", map[string]any{"action": "approve"}))
	h.Ended(run.RunID)
	for _, want := range []string{
		`holdpoint_gate_outcomes_total\{action="approve",[^}]*status="answered"\} 1`,
		`holdpoint_gate_open_seconds_count\{[^}]*status="answered"\} 1`,
		`holdpoint_permission_decisions_total\{effect="ask",[^}]*\} [1-9]`,
		`holdpoint_tool_duration_seconds_count\{[^}]*status="success",tool="effect"\} 1`,
		`holdpoint_model_duration_seconds_count\{model="played",[^}]*status="success"\} 2`,
		`temporal_request_total\{`, `http_server_request_duration_seconds_count\{`, `go_goroutines `,
	} {
		wantMetric(t, h, want)
	}
	tool := spans.named("tool effect")
	h.Eventually("the spans to come", func() bool {
		tool = spans.named("tool effect")
		return len(tool) == 1 && len(spans.named("StartWorkflow")) > 0 && len(spans.named("RunActivity:RunTool")) > 0
	})
	if start := spans.named("StartWorkflow")[0]; string(start.TraceId) != string(tool[0].TraceId) {
		t.Errorf("the tool ran in trace %x, the run began in %x", tool[0].TraceId, start.TraceId)
	}
}

// TestEveryGateThatClosesIsCountedOnce has gates close in every way there is, and also those that no call is behind.
func TestEveryGateThatClosesIsCountedOnce(t *testing.T) {
	t.Parallel()
	h := apptest.Start(t, apptest.WithModel(obliging()), apptest.WithRules(`{match: bash, decision: ask, risk: high}`), withConfig(`
---
type: workflow
name: gated
kind: pipeline
stages:
  - {name: check, gate: {}}
`), func(o *app.Options) {
		o.Metrics, o.KeepEvery, o.KeepGrace = "127.0.0.1:0", time.Second, time.Nanosecond
	})
	for _, action := range []string{"approve", "reject", "terminate"} {
		run := h.Begin(action)
		h.Answer(h.Waits(run.RunID, 1)[0].ID, by("alice", map[string]any{"action": action}))
		h.Ended(run.RunID)
	}
	stopped := h.Begin("stop")
	h.Waits(stopped.RunID, 1)
	if code, body := h.HTTP(http.MethodPost, "/v1/runs/"+string(stopped.RunID)+"/control", map[string]any{"action": "abort_run"}); code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
	h.Ended(stopped.RunID)
	gone := h.Begin("gone")
	h.Waits(gone.RunID, 1)
	terminate(h, gone.Workflow)
	h.Ended(gone.RunID)
	flow := h.Start("gated", "go")
	h.Answer(h.Waits(flow.RunID, 1)[0].ID, by("alice", map[string]any{"action": "approve"}))
	h.Ended(flow.RunID)
	for _, want := range []string{
		`action="approve",[^}]*risk="high",status="answered"\} 1`, `action="reject",[^}]*risk="high",status="answered"\} 1`,
		`action="terminate",[^}]*risk="high",status="answered"\} 1`, `action="",[^}]*risk="high",status="cancelled"\} 2`,
		`action="approve",[^}]*risk="",status="answered"\} 1`,
	} {
		wantMetric(t, h, `holdpoint_gate_outcomes_total\{`+want+"$")
	}
	wantMetric(t, h, `holdpoint_gate_open_seconds_count\{[^}]*risk="high",status="answered"\} 3$`)
	wantMetric(t, h, `holdpoint_gate_open_seconds_count\{[^}]*risk="high",status="cancelled"\} 2$`)
}

// wantMetric waits for a line of the metrics that matches.
func wantMetric(t *testing.T, h *apptest.Holdpoint, line string) {
	t.Helper()
	re := regexp.MustCompile("(?m)^" + line)
	var last string
	defer func() {
		if t.Failed() {
			t.Log(last)
		}
	}()
	h.Eventually("the metric "+line, func() bool {
		resp, err := http.Get("http://" + h.Metrics() + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		last = string(b)
		return err == nil && re.MatchString(last)
	})
}

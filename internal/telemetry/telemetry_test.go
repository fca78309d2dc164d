package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/sdk/interceptor"
	sdklog "go.temporal.io/sdk/log"

	"holdpoint/internal/redact"
)

func TestALineAndAnAnswerFindEachOther(t *testing.T) {
	t.Parallel()
	tel, err := New(context.Background(), Options{Part: "bridge"})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	log := HidingLog(NewLog(&out), redact.New())
	h := tel.HTTP(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { log.WarnContext(r.Context(), "a line", "run_id", "r-1") }))
	seen := map[string]bool{}
	for range 2 {
		out.Reset()
		r, w := httptest.NewRequest(http.MethodGet, "/", http.NoBody), httptest.NewRecorder()
		r.Header.Set(requestHeader, "of the sender's making")
		h.ServeHTTP(w, r)
		var line struct {
			Request string `json:"request_id"`
			Run     string `json:"run_id"`
		}
		if err := json.Unmarshal(out.Bytes(), &line); err != nil || len(line.Request) < 20 || line.Run != "r-1" || line.Request != w.Header().Get(requestHeader) || seen[line.Request] {
			t.Errorf("the answer's id is %q, the line %s (%v)", w.Header().Get(requestHeader), out.String(), err)
		}
		seen[line.Request] = true
	}
}

// spanRef is a span as Temporal's tracing knows it.
type spanRef struct{ interceptor.TracerSpanRef }

// SpanContext is the span's.
func (spanRef) SpanContext() trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}})
}

func TestLinesOfActivitiesNameTheTraceAsThoseOfRequestsDo(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	of := sdklog.NewStructuredLogger(NewLog(&out))
	tracer{}.GetLogger(of, spanRef{}).Warn("a line")
	if want := `"trace_id":"01000000000000000000000000000000"`; !strings.Contains(out.String(), want) {
		t.Errorf("there is no %s in %s", want, out.String())
	}
}

func TestWhereTracesGo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env    map[string]string
		traces bool
		wrong  []string
	}{
		"nothing is said": {},
		"http":            {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, traces: true},
		"grpc":            {env: map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, traces: true},
		"switched off":    {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "TRUE"}},
		"no exporter":     {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none"}},
		"no scheme":       {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, wrong: []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://"}},
		"no host":         {env: map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http:///v1/traces"}, wrong: []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"}},
		"no protocol of ours": {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/json"},
			wrong: []string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json", "grpc"}},
	} {
		tel, err := New(context.Background(), Options{Part: "worker", Getenv: func(key string) (string, bool) { v, ok := c.env[key]; return v, ok }})
		if (err != nil) != (c.wrong != nil) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, want := range c.wrong {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v does not say %s", name, err, want)
			}
		}
		if err == nil && (tel.traces != nil) != c.traces {
			t.Errorf("%s: traces are exported: %v", name, tel.traces != nil)
		}
	}
}

// Not parallel: the variables are those of the process.
func TestTheEnvironmentNamesTheService(t *testing.T) {
	t.Setenv("OTEL_SERVICE_NAME", "agents")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
	res, err := described(Options{Part: "worker", Version: "7"})
	if err != nil {
		t.Fatal(err)
	}
	want := resource.NewSchemaless(attribute.String("service.name", "agents"), attribute.String("service.version", "7"), attribute.String("deployment.environment.name", "test"))
	if !res.Equal(want) {
		t.Errorf("%s", res)
	}
}

package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"holdpoint/interaction"
	"holdpoint/internal/redact"
	"holdpoint/llm"
	"holdpoint/tool"
)

const planted = "ghp_aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3"

type said struct{ s string }

func (s said) String() string       { return s.s }
func (s said) LogValue() slog.Value { return slog.StringValue(s.s) }

func TestNoLineOfTheLogHasASecret(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := HidingLog(NewLog(&out), redact.New("pin"))
	log.Info("got " + planted)
	log.Info("text", "v", planted)
	log.Info("error", "error", fmt.Errorf("refused: %w", errors.New("https://ann:hunter22@db")))
	log.Info("named", "api_key", "hunter22", "pin", 12345, slog.Group("g", slog.String("password", "hunter22"), slog.Any("x", []string{planted})))
	log.Info("any", "v", map[string]any{"deep": []any{map[string]any{"password": "hunter22"}}}, "b", []byte(planted), "s", said{planted}, "p", &said{planted})
	log.With("v", planted, "password", "hunter22").WithGroup("g").Warn("with", "w", planted)
	log.Info("kept", "n", 7, "name", "what is no secret", "list", []int{1, 2})
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for _, line := range lines {
		if strings.Contains(line, planted) || strings.Contains(line, "hunter22") || strings.Contains(line, "12345") || !json.Valid([]byte(line)) {
			t.Errorf("the log has %s", line)
		}
	}
	if last := lines[len(lines)-1]; len(lines) != 7 || !strings.Contains(last, `"n":7`) || !strings.Contains(last, "what is no secret") || !strings.Contains(last, "[1,2]") {
		t.Errorf("of what is no secret remains %s", last)
	}
}

func TestNoSpanHasASecret(t *testing.T) {
	t.Parallel()
	seen := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(hidingExporter{seen, redact.New("pin")}))
	_, span := provider.Tracer("t").Start(context.Background(), "GET /"+planted, trace.WithAttributes(attribute.String("v", planted),
		attribute.String("password", "hunter22"), attribute.StringSlice("l", []string{"a", planted}), attribute.Int("n", 7)))
	span.RecordError(errors.New("refused " + planted))
	span.SetStatus(codes.Error, planted)
	span.End()
	spans := seen.GetSpans()
	text := fmt.Sprintf("%+v", spans)
	if len(spans) != 1 || strings.Contains(text, planted) || strings.Contains(text, "hunter22") || len(spans[0].Attributes) != 4 || len(spans[0].Events) != 1 {
		t.Errorf("exported: %s", text)
	}
}

func TestNoLabelOfAMetricHasASecret(t *testing.T) {
	t.Parallel()
	tel, err := New(context.Background(), Options{Part: "dev", Hider: redact.New()})
	if err != nil {
		t.Fatal(err)
	}
	m := tel.Metrics()
	m.Unknown(planted)
	_, ran := m.Running(context.Background(), "mcp__files__"+planted)
	ran(tool.StatusSuccess)
	_, called := m.Calling(context.Background(), "m "+planted)
	called(llm.Usage{Input: 1}, errors.New(planted))
	m.Answered(interaction.Request{Risk: "high", Title: planted}, interaction.Outcome{Status: interaction.StatusAnswered, Reason: planted}, 1)
	served := httptest.NewServer(tel.HTTP(http.NotFoundHandler()))
	t.Cleanup(served.Close)
	r, err := http.NewRequest(planted, served.URL+"/"+planted+"?token="+planted, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = planted + ".example.com"
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	seen := httptest.NewRecorder()
	tel.Handler().ServeHTTP(seen, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	text := seen.Body.String()
	for _, want := range []string{`holdpoint_tool_outcome_unknown_total{`, `tool="mcp__files__[redacted]"`, `model="m [redacted]"`, `http_server_request_duration_seconds_count{`} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s in\n%s", want, text)
		}
	}
	for line := range strings.Lines(text) {
		if strings.Contains(line, planted) || strings.Contains(line, "server_address") {
			t.Errorf("a metric is labelled %s", line)
		}
	}
}

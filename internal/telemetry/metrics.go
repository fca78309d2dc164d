package telemetry

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"holdpoint/interaction"
	"holdpoint/llm"
	"holdpoint/permission"
	"holdpoint/tool"
)

// Metrics are Holdpoint's own instruments. It is the activities' Observer.
type Metrics struct {
	tracer  trace.Tracer
	hider   Hider // nil hides nothing
	meter   metric.Meter
	decided metric.Int64Counter
	gates   metric.Int64Counter
	open    metric.Float64Histogram
	unknown metric.Int64Counter
	tools   metric.Float64Histogram
	models  metric.Float64Histogram
	tokens  metric.Int64Counter
}

func newMetrics(meter metric.Meter, tracer trace.Tracer, hider Hider) (*Metrics, error) {
	m := &Metrics{tracer: tracer, meter: meter, hider: hider}
	var errs []error
	count := func(c *metric.Int64Counter, name, what string) {
		var err error
		*c, err = meter.Int64Counter(name, metric.WithDescription(what))
		errs = append(errs, err)
	}
	time := func(h *metric.Float64Histogram, name, what string) {
		var err error
		*h, err = meter.Float64Histogram(name, metric.WithDescription(what), metric.WithUnit("s"))
		errs = append(errs, err)
	}
	count(&m.decided, "holdpoint.permission.decisions", "Decisions on calls, by effect and whether an earlier one was found to hold.")
	count(&m.gates, "holdpoint.gate.outcomes", "Gates that closed, by how.")
	time(&m.open, "holdpoint.gate.open", "How long gates were open.")
	count(&m.unknown, "holdpoint.tool.outcome_unknown", "Executions of which nobody knows whether they had their effect.")
	time(&m.tools, "holdpoint.tool.duration", "Executions of tools, by how they ended.")
	time(&m.models, "holdpoint.model.duration", "Calls of models, by how they ended.")
	count(&m.tokens, "holdpoint.model.tokens", "Tokens that models reported.")
	return m, errors.Join(errs...)
}

// named is a label with the name of what is configured, or of what a server of tools says that it has.
func (m *Metrics) named(label, name string) attribute.KeyValue {
	if m.hider != nil {
		name, _ = m.hider.Text(name)
	}
	return attribute.String(label, name)
}

// Decided counts a decision.
func (m *Metrics) Decided(effect permission.Effect, remembered bool) {
	m.decided.Add(context.Background(), 1, metric.WithAttributes(attribute.String("effect", effect.String()), attribute.Bool("remembered", remembered)))
}

// Answered counts a gate that closed, and how long it was open.
func (m *Metrics) Answered(q interaction.Request, out interaction.Outcome, open time.Duration) {
	ctx, risk := context.Background(), attribute.String("risk", q.Risk)
	m.gates.Add(ctx, 1, metric.WithAttributes(risk, attribute.String("status", string(out.Status)), attribute.String("action", string(out.Action))))
	m.open.Record(ctx, open.Seconds(), metric.WithAttributes(risk, attribute.String("status", string(out.Status))))
}

// Unknown counts an execution of which nobody knows how it ended.
func (m *Metrics) Unknown(name string) {
	m.unknown.Add(context.Background(), 1, metric.WithAttributes(m.named("tool", name)))
}

// Running measures one execution of a tool.
func (m *Metrics) Running(ctx context.Context, name string) (context.Context, func(tool.Status)) {
	began := time.Now()
	ctx, span := m.tracer.Start(ctx, "tool "+name, trace.WithAttributes(attribute.String("tool", name)))
	return ctx, func(s tool.Status) {
		ended := string(s)
		if s == "" {
			ended = "asked"
		}
		m.tools.Record(context.Background(), time.Since(began).Seconds(), metric.WithAttributes(m.named("tool", name), attribute.String("status", ended)))
		span.SetAttributes(attribute.String("status", ended))
		span.End()
	}
}

// Calling measures one call of a model.
func (m *Metrics) Calling(ctx context.Context, name string) (context.Context, func(llm.Usage, error)) {
	began := time.Now()
	model := m.named("model", name)
	ctx, span := m.tracer.Start(ctx, "model "+name, trace.WithAttributes(model), trace.WithSpanKind(trace.SpanKindClient))
	return ctx, func(used llm.Usage, err error) {
		status := attribute.String("status", modelStatus(err))
		background := context.Background()
		m.models.Record(background, time.Since(began).Seconds(), metric.WithAttributes(model, status))
		m.tokens.Add(background, used.Input, metric.WithAttributes(model, attribute.String("direction", "input")))
		m.tokens.Add(background, used.Output, metric.WithAttributes(model, attribute.String("direction", "output")))
		span.SetAttributes(status)
		if err != nil {
			span.SetStatus(codes.Error, status.Value.AsString())
		}
		span.End()
	}
}

// modelStatus is how a call of a model ended, without its words, which may have a prompt in them.
func modelStatus(err error) string {
	var e *llm.Error
	switch {
	case err == nil:
		return "success"
	case errors.As(err, &e):
		return string(e.Kind)
	default:
		return "error"
	}
}

// Waiting is how many interactions of one risk have waited for less than a bound, and no shorter bound holds.
type Waiting struct {
	Risk  string
	Age   string
	Count int64
}

// CountWaiting has what waits for people counted whenever the metrics are read. A count that fails is left out.
func (m *Metrics) CountWaiting(count func(context.Context) ([]Waiting, error)) error {
	_, err := m.meter.Int64ObservableGauge("holdpoint.interactions.pending",
		metric.WithDescription("Interactions that wait for a person, by risk and by how long they have waited."),
		metric.WithInt64Callback(func(ctx context.Context, o metric.Int64Observer) error {
			rows, err := count(ctx)
			if err != nil {
				return err
			}
			for _, w := range rows {
				o.Observe(w.Count, metric.WithAttributes(attribute.String("risk", w.Risk), attribute.String("age", w.Age)))
			}
			return nil
		}))
	return err
}

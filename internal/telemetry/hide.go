package telemetry

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// Hider takes secrets out of texts, out of JSON, and from under names.
type Hider interface {
	Text(s string) (string, bool)
	JSON(raw []byte) ([]byte, bool)
	Field(name string) bool
}

// hiddenValue stands for a value under the name of a secret.
const hiddenValue = "[redacted]"

// HidingLog writes to a log what remains when secrets are taken out: of messages, names and values, errors and groups included.
func HidingLog(to *slog.Logger, h Hider) *slog.Logger {
	return slog.New(hiding{Handler: to.Handler(), hider: h})
}

// hiding takes secrets out of log lines.
type hiding struct {
	slog.Handler
	hider Hider
	// added is put into a line when there is one: every workflow that waits has a logger of its own, which would keep a buffer.
	added []slog.Attr
}

// Handle writes one line.
func (l hiding) Handle(ctx context.Context, r slog.Record) error {
	shown := slog.NewRecord(r.Time, r.Level, l.text(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		shown.AddAttrs(l.attr(a))
		return true
	})
	return l.grouped().Handle(ctx, shown)
}

// WithAttrs adds to every line.
func (l hiding) WithAttrs(attrs []slog.Attr) slog.Handler {
	l.added = append(slices.Clip(l.added), attrs...)
	return l
}

// grouped is the handler with what was added so far.
func (l hiding) grouped() slog.Handler {
	if len(l.added) == 0 {
		return l.Handler
	}
	return l.Handler.WithAttrs(l.attrs(l.added))
}

// WithGroup puts what follows into a group.
func (l hiding) WithGroup(name string) slog.Handler {
	return hiding{Handler: l.grouped().WithGroup(l.text(name)), hider: l.hider}
}

func (l hiding) text(s string) string {
	s, _ = l.hider.Text(s)
	return s
}

func (l hiding) attrs(in []slog.Attr) []slog.Attr {
	out := make([]slog.Attr, len(in))
	for n, a := range in {
		out[n] = l.attr(a)
	}
	return out
}

func (l hiding) attr(a slog.Attr) slog.Attr {
	a.Key, a.Value = l.text(a.Key), a.Value.Resolve()
	switch a.Value.Kind() {
	case slog.KindGroup:
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(l.attrs(a.Value.Group())...)}
	case slog.KindBool, slog.KindDuration, slog.KindTime:
		return a
	case slog.KindString, slog.KindAny, slog.KindInt64, slog.KindUint64, slog.KindFloat64, slog.KindLogValuer:
	}
	if l.hider.Field(a.Key) {
		return slog.String(a.Key, hiddenValue)
	}
	switch a.Value.Kind() {
	case slog.KindString:
		return slog.String(a.Key, l.text(a.Value.String()))
	case slog.KindAny:
		return l.any(a)
	default:
		return a
	}
}

// any is a value of another kind: an error or what says itself in words as that text, others as their JSON.
func (l hiding) any(a slog.Attr) slog.Attr {
	switch v := a.Value.Any().(type) {
	case nil:
		return a
	case error:
		return slog.String(a.Key, l.text(v.Error()))
	case fmt.Stringer:
		return slog.String(a.Key, l.text(v.String()))
	case []byte:
		return slog.String(a.Key, l.text(string(v)))
	default:
		raw, err := json.Marshal(v)
		if err != nil {
			return slog.String(a.Key, l.text(fmt.Sprint(v)))
		}
		shown, hidden := l.hider.JSON(raw)
		if !hidden {
			return a
		}
		return slog.Any(a.Key, json.RawMessage(shown))
	}
}

// hidingExporter takes secrets out of spans: names, attributes, events and what went wrong.
type hidingExporter struct {
	sdktrace.SpanExporter
	hider Hider
}

// ExportSpans hands spans on.
func (e hidingExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	shown := make([]sdktrace.ReadOnlySpan, len(spans))
	for n, s := range spans {
		shown[n] = hidingSpan{s, e.hider}
	}
	return e.SpanExporter.ExportSpans(ctx, shown)
}

type hidingSpan struct {
	sdktrace.ReadOnlySpan
	hider Hider
}

// Name is the span's.
func (s hidingSpan) Name() string {
	name, _ := s.hider.Text(s.ReadOnlySpan.Name())
	return name
}

// Attributes are the span's.
func (s hidingSpan) Attributes() []attribute.KeyValue { return s.hide(s.ReadOnlySpan.Attributes()) }

// Status is the span's.
func (s hidingSpan) Status() sdktrace.Status {
	status := s.ReadOnlySpan.Status()
	status.Description, _ = s.hider.Text(status.Description)
	return status
}

// Events are the span's.
func (s hidingSpan) Events() []sdktrace.Event {
	out := make([]sdktrace.Event, len(s.ReadOnlySpan.Events()))
	for n, e := range s.ReadOnlySpan.Events() {
		e.Name, _ = s.hider.Text(e.Name)
		e.Attributes = s.hide(e.Attributes)
		out[n] = e
	}
	return out
}

func (s hidingSpan) hide(in []attribute.KeyValue) []attribute.KeyValue {
	out := make([]attribute.KeyValue, len(in))
	for n, a := range in {
		out[n] = a
		switch {
		case a.Value.Type() == attribute.STRING && s.hider.Field(string(a.Key)):
			out[n].Value = attribute.StringValue(hiddenValue)
		case a.Value.Type() == attribute.STRING:
			text, _ := s.hider.Text(a.Value.AsString())
			out[n].Value = attribute.StringValue(text)
		case a.Value.Type() == attribute.STRINGSLICE:
			list := a.Value.AsStringSlice()
			for i := range list {
				list[i], _ = s.hider.Text(list[i])
			}
			out[n].Value = attribute.StringSliceValue(list)
		}
	}
	return out
}

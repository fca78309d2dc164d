package telemetry

import (
	"context"
	"io"
	"log/slog"

	"go.uber.org/zap/exp/zapslog"
	"go.uber.org/zap/zapcore"
)

// NewLog writes one JSON object a line: time, level, msg, what is told beside it, and the id of the trace, so that a line
// and a trace find each other, and of the request, which its answer has too.
func NewLog(w io.Writer) *slog.Logger {
	encoder := zapcore.NewJSONEncoder(zapcore.EncoderConfig{TimeKey: "time", LevelKey: "level", NameKey: "logger", MessageKey: "msg",
		EncodeTime: zapcore.RFC3339NanoTimeEncoder, EncodeLevel: zapcore.CapitalLevelEncoder, EncodeDuration: zapcore.StringDurationEncoder})
	core := zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(w)), zapcore.InfoLevel)
	return slog.New(traced{zapslog.NewHandler(core, zapslog.AddStacktraceAt(slog.Level(100)))})
}

// traced adds the ids of the trace and of the request that a line is written in.
type traced struct{ slog.Handler }

// Handle writes one line.
func (t traced) Handle(ctx context.Context, r slog.Record) error {
	r = r.Clone()
	if id := TraceID(ctx); id != "" {
		r.AddAttrs(slog.String(traceID, id))
	}
	if id, ok := ctx.Value(requestKey{}).(string); ok {
		r.AddAttrs(slog.String("request_id", id))
	}
	return t.Handler.Handle(ctx, r)
}

// WithAttrs adds to every line.
func (t traced) WithAttrs(a []slog.Attr) slog.Handler { return traced{t.Handler.WithAttrs(a)} }

// WithGroup puts what follows into a group.
func (t traced) WithGroup(name string) slog.Handler { return traced{t.Handler.WithGroup(name)} }

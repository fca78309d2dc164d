package activities

import (
	"context"
	"time"

	"holdpoint/interaction"
	"holdpoint/llm"
	"holdpoint/permission"
	"holdpoint/tool"
)

// Observer is told what the activities do, for metrics and traces. It returns at once, and nothing depends on it. What an
// activity does twice, because its worker died, it tells twice.
type Observer interface {
	// Decided tells that a call was decided, or that an earlier decision was found to hold still.
	Decided(effect permission.Effect, remembered bool)
	// Answered tells that a gate has closed which was open for so long.
	Answered(q interaction.Request, out interaction.Outcome, open time.Duration)
	// Unknown tells that a tool may or may not have had its effect, so that a person is asked.
	Unknown(tool string)
	// Running tells that a tool is about to run; the function it returns, how that ended. The tool runs in the context
	// that it returns.
	Running(ctx context.Context, tool string) (context.Context, func(tool.Status))
	// Calling is the same for a model.
	Calling(ctx context.Context, model string) (context.Context, func(llm.Usage, error))
}

// unobserved is an Observer that nobody looks through.
type unobserved struct{}

func (unobserved) Decided(permission.Effect, bool) {}

func (unobserved) Answered(interaction.Request, interaction.Outcome, time.Duration) {}

func (unobserved) Unknown(string) {}

func (unobserved) Running(ctx context.Context, _ string) (context.Context, func(tool.Status)) {
	return ctx, func(tool.Status) {}
}

func (unobserved) Calling(ctx context.Context, _ string) (context.Context, func(llm.Usage, error)) {
	return ctx, func(llm.Usage, error) {}
}

func (a *Activities) observer() Observer {
	if a.Observer == nil {
		return unobserved{}
	}
	return a.Observer
}

// answered tells of a gate that has closed.
func (a *Activities) answered(q interaction.Request, out *interaction.Outcome) {
	if out == nil || q.CreatedAt.IsZero() {
		return
	}
	at := out.At
	if at.IsZero() {
		at = a.Now()
	}
	a.observer().Answered(q, *out, max(at.Sub(q.CreatedAt), 0))
}

// statusOf is the status that an outcome of a tool will have in the record; "" for a question.
func statusOf(out tool.Outcome) tool.Status {
	if out.Result == nil {
		return ""
	}
	return out.Result.Status
}

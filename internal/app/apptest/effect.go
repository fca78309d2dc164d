package apptest

import (
	"context"
	"encoding/json"

	"holdpoint/tool"
)

// Effect is a tool named "effect" whose executions can be counted: each appends its call id to Log, held until
// Gate lets it, if set.
type Effect struct {
	Idempotent bool
	Quick      bool
	Log        func(c tool.Call)
	Hold       func(ctx context.Context, c tool.Call)
}

// Definition implements tool.Tool.
func (e Effect) Definition() tool.Definition {
	return tool.Definition{Name: "effect", Description: "has an effect", Resource: tool.ResourceArgs, Risk: "high", Idempotent: e.Idempotent, Quick: e.Quick,
		Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"},"ok":{"type":"boolean"},"tags":{"type":"array"}}}`)}
}

// Run implements tool.Tool.
func (e Effect) Run(ctx context.Context, c tool.Call) (tool.Outcome, error) {
	if e.Log != nil {
		e.Log(c)
	}
	if e.Hold != nil {
		e.Hold(ctx, c)
		if err := ctx.Err(); err != nil {
			return tool.Outcome{}, err
		}
	}
	return tool.Text("did " + string(c.Args)), nil
}

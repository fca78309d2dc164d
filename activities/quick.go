package activities

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"holdpoint/tool"
)

// A quick tool only reads, and soon ends. Its call may run in the middle of a workflow task, which spares history five events
// of six, and the run a trip through the server. Such an attempt is one like any other: it decides again, claims the call in
// the ledger, executes, and stores the result. But it must not last, because what people send to the run waits for the end of
// the task. What does not end in time leaves its claim behind, and the call runs once more as any other does.

// QuickLimit bounds such an attempt, its transactions included.
const QuickLimit = 500 * time.Millisecond

// errLeft ends such an attempt without a result.
var errLeft = errors.New("the call is left to an attempt that may last")

// quick reports whether a tool is taken at its word. Of an MCP server's tools none is: what they do is beyond this process.
func quick(def tool.Definition) bool {
	return def.Quick && def.Idempotent && def.TaskQueue == "" && def.Server == ""
}

// slow returns errLeft for an attempt in a workflow task whose tool this worker does not know as quick: its configuration may be
// a newer one than that of the worker that made the plan.
func (x *execution) slow() error {
	if x.quick && (!x.known || !quick(x.impl.Definition())) {
		return errLeft
	}
	return nil
}

// RunQuick is RunTool in the middle of a workflow task. It never fails: what it does not bring to an end, RunTool will.
func (a *Activities) RunQuick(ctx context.Context, in RunToolInput) (RunQuickResult, error) {
	ctx, cancel := context.WithTimeout(ctx, QuickLimit)
	defer cancel()
	x := &execution{a: a, in: in, claim: uuid.NewString(), quick: true}
	res, err := x.carry(ctx)
	if err != nil {
		x.log(ctx).Info("a quick call is run again as any other", "error", err)
		return RunQuickResult{Left: true}, nil
	}
	return RunQuickResult{RunToolResult: res}, nil
}

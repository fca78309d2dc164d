package activities

import (
	"context"
	"fmt"
	"time"

	"holdpoint/tool"
)

// lateReturn is how long a tool may take to return once its time is over. What takes longer is told as it is.
const lateReturn = 5 * time.Minute

// enter runs the tool and returns when it does, or when it has not heeded the end of ctx for long.
func (x *execution) enter(ctx context.Context, call tool.Call) (tool.Outcome, error) {
	type returned struct {
		out tool.Outcome
		err error
	}
	done := make(chan returned, 1)
	go func() {
		var r returned
		defer func() {
			if p := recover(); p != nil {
				x.log(ctx).Error("a tool panicked", "tool", call.Name, "panic", scrub(fmt.Sprint(p), secretForms(x.hidden)))
				r = returned{out: tool.Failure(fmt.Sprintf("The tool %s failed inside. It may have had an effect.", call.Name))}
			}
			done <- r
		}()
		r.out, r.err = x.impl.Run(ctx, call)
	}()
	select {
	case r := <-done:
		return r.out, r.err
	case <-ctx.Done():
	}
	if x.quick { // it only reads, so nobody need know what became of it
		return tool.Outcome{}, ctx.Err()
	}
	timer := time.NewTimer(lateReturn)
	defer timer.Stop()
	select {
	case r := <-done:
		return r.out, r.err
	case <-timer.C:
		return tool.Failure(fmt.Sprintf("The tool %s did not stop when it was told to. It may still run, and have an effect.", call.Name)), nil
	}
}

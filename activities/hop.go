package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"holdpoint/permission"
)

// hop decides on a request that a running call would go on to, such as a redirect, as on a call of its own: by the
// rules as they stand at that moment. Only an allow is enough. The tool runs already, so nobody can be asked; the
// model is told instead, and may make the request a call of its own, which asks.
func (x *execution) hop(ctx context.Context, args json.RawMessage) (private bool, err error) {
	def := x.impl.Definition()
	if bad := x.a.Validate(def, args); bad != nil {
		return false, fmt.Errorf("the arguments of a call to it are not valid: %w", bad)
	}
	var rules inForce
	err = x.a.Store.Write(ctx, func(tx Tx) (err error) {
		rules, err = x.a.rulesFor(ctx, tx, x.run, x.ag, x.entry.Grants...)
		return err
	})
	if err != nil {
		x.log(ctx).Error("a redirect could not be decided", "error", err)
		return false, errors.New("the rules could not be read")
	}
	d := x.a.judge(rules, x.run, x.ag, def, args)
	if d.Effect != permission.Allow {
		return false, errors.New(d.Reason)
	}
	if err := x.useHopGrants(ctx, d.Grants); err != nil {
		x.log(ctx).Error("a redirect could not be counted", "error", err)
		return false, errors.New("the grant that allows it could not be used")
	}
	return d.Private, nil
}

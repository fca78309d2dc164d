package activities

import (
	"context"
	"errors"
	"slices"

	"holdpoint/permission"
	"holdpoint/tool"
)

// errGrantEnded makes the activity begin again, and decide again: only where rules are kept in another database than
// executions can a grant end between the decision and its use.
var errGrantEnded = errors.New("a grant that the call rests on was used up or revoked while it was claimed")

// useGrants counts the call's use of the grants that its decision rests on, in the transaction that claims it. A call
// counts once for each, however often it is claimed. What people approved needs no grant.
func (x *execution) useGrants(ctx context.Context, tx Tx, entry *tool.Execution) error {
	if x.decide.Effect != permission.Allow {
		return nil
	}
	return x.use(ctx, tx, entry, x.decide.Grants)
}

func (x *execution) use(ctx context.Context, tx Tx, entry *tool.Execution, grants []string) error {
	fresh := slices.DeleteFunc(slices.Clone(grants), func(id string) bool { return slices.Contains(entry.Grants, id) })
	if len(fresh) == 0 {
		return nil
	}
	ok, err := tx.UseRules(ctx, fresh, x.in.CallID)
	if err != nil {
		return err
	}
	if !ok {
		return errGrantEnded
	}
	entry.Grants = slices.Concat(entry.Grants, fresh)
	return nil
}

// useHopGrants counts what a redirect rests on and the call itself did not.
func (x *execution) useHopGrants(ctx context.Context, grants []string) error {
	if len(grants) == 0 {
		return nil
	}
	next := x.entry
	err := x.a.Store.Write(ctx, func(tx Tx) error {
		entry, begun, err := tx.Execution(ctx, x.in.CallID)
		if err != nil {
			return err
		}
		if !begun || entry.Claim != x.claim {
			return errors.New("the execution was claimed by another")
		}
		next = entry
		if err := x.use(ctx, tx, &next, grants); err != nil {
			return err
		}
		return tx.SaveExecution(ctx, next)
	})
	if err == nil {
		x.entry = next
	}
	return err
}

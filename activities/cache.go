package activities

import (
	"context"

	"holdpoint/tool"
)

// A tool that is declared cacheable answers the same call of a session once. What is kept is only ever served where
// the call itself would have run: in the transaction that would claim it, after the rules and the approval.

// resultKey stands for a call's session, tool (as it is now), arguments and workspace. It is "" where results are not shared: the
// tool is not cacheable, or a person had a part in this call's arguments or result.
func (x *execution) resultKey() string {
	if !x.impl.Definition().Cacheable || x.edited || x.in.Answer != nil {
		return ""
	}
	return callKey(x.rec.Call.Name, x.args, string(x.run.SessionID), x.ag.Workspace, toolDigest(x.impl.Definition()))
}

// kept returns the result of an equal call of the session; nil where the tool must run.
func (x *execution) kept(ctx context.Context, tx Tx) (*tool.Result, error) {
	key := x.resultKey()
	if key == "" {
		return nil, nil
	}
	id, found, err := tx.KeptResult(ctx, key)
	if err != nil || !found {
		return nil, err
	}
	rec, found, err := tx.Call(ctx, id)
	if err != nil || !found || rec.Result == nil || rec.Result.Status != tool.StatusSuccess {
		return nil, err
	}
	res := *rec.Result
	res.CachedFrom = id
	return &res, nil
}

// keep remembers a success for equal calls of the session.
func (x *execution) keep(ctx context.Context, tx Tx, res tool.Result) error {
	key := x.resultKey()
	if key == "" || res.Status != tool.StatusSuccess {
		return nil
	}
	return tx.KeepResult(ctx, key, x.in.CallID)
}

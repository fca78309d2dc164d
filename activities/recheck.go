package activities

import (
	"bytes"
	"context"
	"fmt"

	"holdpoint/interaction"
	"holdpoint/permission"
)

// RecheckInput asks which of the interactions that wait need nobody any more, since rules have changed.
type RecheckInput struct {
	RunID        interaction.RunID `json:"run_id"`
	AgentDigest  string            `json:"agent_digest"`
	Interactions []interaction.ID  `json:"interactions"`
}

// RecheckResult has the interactions that a rule now decides, in the order of the input.
type RecheckResult struct {
	Released []Released `json:"released,omitempty"`
}

// Released is one of them, and why.
type Released struct {
	Interaction interaction.ID `json:"interaction_id"`
	Reason      string         `json:"reason"`
	Allowed     bool           `json:"allowed,omitempty"` // else denied
}

// Recheck decides the waiting calls of a run again. It only reads: a call that is released is decided once more where
// it is about to run.
func (a *Activities) Recheck(ctx context.Context, in RecheckInput) (RecheckResult, error) {
	var out RecheckResult
	for _, id := range in.Interactions {
		d, waits, err := a.decideWaiting(ctx, in, id)
		if err == nil && !waits {
			d, waits, err = a.decideAsk(ctx, in.RunID, id)
		}
		if err != nil {
			return out, err
		}
		if waits && d.Effect != permission.Ask {
			out.Released = append(out.Released, Released{Interaction: id, Reason: clip(released(d), 500), Allowed: d.Effect == permission.Allow})
		}
	}
	return out, nil
}

func released(d permission.Decision) string {
	verb := "allows"
	if d.Effect == permission.Deny {
		verb = "denies"
	}
	if d.Matched == nil {
		return fmt.Sprintf("what is in force now %s it: %s", verb, d.Reason)
	}
	by := ""
	if d.Matched.GrantedBy != "" {
		by = " by " + interaction.Visible(d.Matched.GrantedBy)
	}
	return fmt.Sprintf("the rule %s%s now %s it", interaction.Visible(d.Matched.Pattern), by, verb)
}

// decideWaiting decides a call that waits for a permission; waits is false for what no longer does, or waits for
// something that no rule can give.
func (a *Activities) decideWaiting(ctx context.Context, in RecheckInput, id interaction.ID) (d permission.Decision, waits bool, err error) {
	x := execution{a: a}
	var rules inForce
	var edited bool // what waits is a reviewer's version of the call, which is for people to decide
	err = a.Store.Write(ctx, func(tx Tx) error {
		waiting, found, err := tx.Interaction(ctx, id)
		if err != nil {
			return err
		}
		asked := waiting.Request
		if waits = found && !waiting.Status.Final() && asked.Kind == interaction.KindPermission && asked.RunID == in.RunID; !waits {
			return nil
		}
		if x.run, _, err = lockRun(ctx, tx, in.RunID); err != nil {
			return err
		}
		if x.ag, err = agentOf(ctx, tx, in.AgentDigest); err != nil {
			return err
		}
		if x.rec, err = callOf(ctx, tx, asked.ToolCallID); err != nil {
			return err
		}
		edited = !bytes.Equal(asked.ToolArgs, x.rec.Call.Args)
		rules, err = a.rulesFor(ctx, tx, x.run, x.ag)
		return err
	})
	if err != nil || !waits || edited {
		return d, false, err
	}
	_, def, known := a.toolOf(x.ag, x.rec.Call.Name)
	if !known {
		return d, false, nil
	}
	return a.judge(rules, x.run, x.ag, def, x.rec.Call.Args), true, nil
}

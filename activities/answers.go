package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"

	"holdpoint/agent"
	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/permission"
	"holdpoint/tool"
)

// What people answer may hold for later calls: a grant, or a refusal for good. It is stored in the transaction that
// carries the answer out, after the gate has closed, so an answer that lost leaves nothing behind.

// standingRules are the rules that an answer leaves behind; none, and why, where it must not.
func standingRules(run agent.Run, rec tool.Record, asked interaction.Request, out interaction.Outcome, effect permission.Effect) (rules []permission.Rule, why string) {
	g, by, ok := out.Grants(asked.QuorumNeeded())
	switch {
	case !ok && len(out.Responses) > 0 && out.Responses[len(out.Responses)-1].Grant != nil:
		return nil, fmt.Sprintf("%d people must say the same for it to hold for later calls", asked.QuorumNeeded())
	case !ok:
		return nil, ""
	case run.UserID == "":
		return nil, "the run has no user for whom it could hold"
	}
	names, givers := make([]string, len(by)), make([]permission.Giver, len(by))
	for i, p := range by {
		names[i], givers[i] = string(p.ID), permission.Giver{ID: string(p.ID), Groups: p.Groups}
	}
	last := out.Responses[len(out.Responses)-1]
	patterns := g.Patterns
	if len(patterns) == 0 {
		patterns = suggested(rec, asked)
	}
	for i, p := range patterns {
		if err := permission.ParsePattern(effect, p); err != nil {
			return nil, err.Error()
		}
		if effect == permission.Deny && len(g.Patterns) > 0 && !slices.Contains(asked.SuggestedPattern, p) {
			return nil, fmt.Sprintf("%s is not among what was suggested for this call (%s)", interaction.Visible(p), strings.Join(asked.SuggestedPattern, ", "))
		}
		r := permission.Rule{ID: fmt.Sprintf("kept-%s-%d", fingerprint(string(out.InteractionID)+" "+string(last.ID)), i+1), Effect: effect, Pattern: p, UserID: string(run.UserID),
			ExpiresAt: g.ExpiresAt, MaxUses: g.MaxUses, Givers: givers, GrantedBy: strings.Join(names, ", "), InteractionID: string(out.InteractionID),
			Note: last.Note, CreatedAt: out.At, Source: permission.Source{Layer: permission.LayerUser}}
		if g.Scope == interaction.GrantSession {
			r.SessionID, r.Source.Layer = string(run.GrantSession()), permission.LayerSession
		}
		rules = append(rules, r)
	}
	if len(rules) == 0 {
		why = "no rule was named, and none could be suggested"
	}
	return rules, why
}

// suggested are the patterns that a grant without any takes: the narrowest one, or all where only all of them together
// cover the call.
func suggested(rec tool.Record, asked interaction.Request) []string {
	var d permission.Decision
	patterns := asked.SuggestedPattern
	if json.Unmarshal(rec.Decision, &d) == nil && d.SuggestTogether || len(patterns) < 2 {
		return patterns
	}
	return patterns[:1]
}

// inTheWay says why rules from an answer must not take the place of others of the same pattern: whoever wrote those may
// have had more to say. An allow takes the place of an allow; a deny also that of one that ends sooner.
func inTheWay(stored, rules []permission.Rule) string {
	for _, r := range rules {
		for _, old := range stored {
			if old.Pattern != r.Pattern || old.SessionID != r.SessionID || old.UserID != r.UserID || old.ID == r.ID {
				continue
			}
			if !r.MayReplace(old) {
				return fmt.Sprintf("a stored rule (%s %s) says something about that already", old.Effect, interaction.Visible(old.Pattern))
			}
		}
	}
	return ""
}

// keepApproval stores the grant of the approval that a call is about to run under. It must cover the very call.
func (x *execution) keepApproval(ctx context.Context, tx Tx, w *callWriter) error {
	if x.in.Approval == nil || x.in.Approval.Action != interaction.ActionApprove {
		return nil
	}
	rules, why := standingRules(x.run, x.rec, x.asked.Request, *x.in.Approval, permission.Allow)
	var err error
	if len(rules) > 0 {
		if why, err = x.uncovered(ctx, tx, rules); err != nil {
			return err
		}
	}
	x.granted, err = w.keep(rules, why)
	return err
}

// uncovered says why rules would not have allowed the call that they were given for; "" if they would.
func (x *execution) uncovered(ctx context.Context, tx Tx, rules []permission.Rule) (string, error) {
	now, err := x.a.rulesFor(ctx, tx, x.run, x.ag)
	if err != nil {
		return "", err
	}
	stored, err := tx.Rules(ctx, x.run.UserID, x.run.GrantSession())
	if err != nil {
		return "", err
	}
	if why := inTheWay(stored, rules); why != "" {
		return why, nil
	}
	policy, _ := x.a.Definitions.Policy(x.ag.Policy)
	call := x.a.permissionCall(now, x.run, x.ag, x.impl.Definition(), x.args)
	for _, r := range rules {
		if len(permission.Preview(r, []permission.Call{call})) == 0 {
			return fmt.Sprintf("the rule %s does not match the call that it was given for", interaction.Visible(r.Pattern)), nil
		}
	}
	with := compileSet(slices.Concat(x.a.Protected, policy, stored, rules))
	if d := decideBy(with, call, now.readable, true); d.Effect != permission.Allow {
		return "it would not have allowed the call that it was given for: " + d.Reason, nil
	}
	return "", nil
}

// keepRefusal stores "always reject".
func keepRefusal(tx Tx, w *callWriter, run agent.Run, asked interaction.Request, out interaction.Outcome) (bool, error) {
	if out.Action != interaction.ActionReject {
		return false, nil
	}
	rules, why := standingRules(run, *w.rec, asked, out, permission.Deny)
	if len(rules) > 0 {
		stored, err := tx.Rules(w.ctx, run.UserID, run.GrantSession())
		if err != nil {
			return false, err
		}
		why = inTheWay(stored, rules)
	}
	return w.keep(rules, why)
}

// keep stores rules, or notes why not; the answer itself counts all the same.
func (w *callWriter) keep(rules []permission.Rule, why string) (kept bool, err error) {
	if why != "" {
		w.emit(event.Error, event.ErrorData{Code: "not_kept", Message: clip("An answer was carried out, but not kept for later calls: "+why, 500)})
		return false, nil
	}
	if len(rules) == 0 {
		return false, nil
	}
	room, err := w.tx.RoomForRules(w.ctx, rules[0].UserID, len(rules), w.now)
	if err != nil {
		return false, err
	}
	if !room {
		return w.keep(nil, "the user has too many stored rules: revoke some")
	}
	for _, r := range rules {
		err := w.tx.SaveRule(w.ctx, r)
		var refused *interaction.Error
		if errors.As(err, &refused) { // the answer is carried out all the same
			return w.keep(nil, refused.Error())
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// tellPatience bounds how long telling runs may take. One that is not told goes on waiting for a person.
const tellPatience = 30 * time.Second

// tellRuns has the user's runs that wait decide again, since rules have changed. It does so beside what its caller goes
// on to do; told waits for its end.
func (a *Activities) tellRuns(ctx context.Context, user interaction.PrincipalID) (told func()) {
	if a.Tell == nil {
		return func() {}
	}
	log := activity.GetLogger(ctx)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tellPatience)
	done := make(chan struct{})
	go func() {
		defer close(done)
		waiting, err := a.Store.WaitingRuns(ctx, user)
		if err != nil {
			log.Warn("waiting runs could not be told that rules have changed", "user", user, "error", err)
		}
		for _, id := range waiting {
			if err := a.Tell(ctx, id); err != nil {
				log.Warn("a run could not be told that rules have changed", "workflow_id", id, "error", err)
			}
		}
	}()
	return func() {
		<-done
		cancel()
	}
}

package activities

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"holdpoint/agent"
	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/permission"
)

// needs says who must answer an ask: what the rules say, and what the program asks beside. The program can only make it
// stricter: whom rules name, nobody else joins.
func needs(ask agent.Ask, rules permission.Approval) permission.Approval {
	out := rules
	if len(rules.Reviewers) == 0 {
		out.Reviewers, out.Escalate = ask.Reviewers, nil
		for _, rung := range ask.Escalate {
			out.Escalate = append(out.Escalate, permission.Escalation(rung))
		}
	}
	out.Quorum = max(rules.Quorum, ask.Quorum)
	out.ExcludeRequester = rules.ExcludeRequester || ask.ExcludeRequester
	if ask.Timeout > 0 && (rules.Timeout == 0 || ask.Timeout < rules.Timeout) {
		out.Timeout = ask.Timeout
	}
	if rules.RemindEvery == 0 {
		out.RemindEvery = ask.RemindEvery
	}
	return out
}

// gate opens the question of a step and returns it as the workflow carries it.
func (x *asking) gate(d permission.Decision, why string) (*interaction.Request, error) {
	req := x.question(d, why)
	open := interaction.Open(req, x.now)
	if err := open.Request.Validate(); err != nil {
		return nil, permanent(CodeInternal, "what is asked can't be put to a person: %v", err)
	}
	if err := x.tx.SaveInteraction(x.ctx, open); err != nil {
		return nil, fmt.Errorf("interaction %s: %w", req.ID, err)
	}
	x.emit(event.InteractionRequest, open.Request)
	x.emit(event.ExecutionSuspended, event.SuspendedData{Interactions: []interaction.ID{req.ID}})
	brief := open.Request.Brief()
	return &brief, nil
}

func (x *asking) question(d permission.Decision, why string) interaction.Request {
	ask := x.ask
	r := interaction.Request{ID: interaction.ID(fmt.Sprintf("%s-%d-1-1", x.run.ID, x.in.Step)), RunID: x.run.ID, SessionID: x.run.SessionID,
		ToolName: ask.Tool, Type: interaction.TypeToolApproval, Kind: interaction.KindProgram, Title: clip(interaction.Visible(ask.Title), interaction.MaxTitleBytes),
		Message: ask.Message, Details: ask.Details, Reason: d.Reason, Risk: higher(ask.Risk, string(d.Risk)), Requester: requester(x.run),
		AgentPath: []string{agent.ApprovalAgent}, Metadata: x.run.Metadata, MaxGrant: interaction.GrantNone,
		Options: interaction.ProgramOptions(len(ask.Args) > 0)}
	if len(ask.Args) > 0 {
		r.ToolArgs = x.args
	}
	r.Digest = interaction.Digest(ask.Named(), x.args, shownDigest(ask))
	if d.Matched != nil {
		r.MatchedRule = d.Matched.Pattern
	}
	if x.in.Outcome != nil {
		r.LinkedTo = x.in.Outcome.InteractionID
	}
	if why != "" {
		r.Message = sentence(r.Message, "It is asked again", why)
	}
	applyApproval(&r, needs(ask, d.Approval), x.now)
	r.OnTimeout = "" // a program is told that nobody decided, whatever the rules have agents do then
	return r
}

// shownDigest stands for the words that a reviewer sees beside the arguments.
func shownDigest(ask agent.Ask) string {
	h := sha256.New()
	for _, part := range []string{ask.Title, ask.Message, ask.Details} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// higher is the worse of two risks; one that is unknown says nothing.
func higher(a, b string) string {
	order := map[string]int{string(permission.RiskLow): 1, string(permission.RiskMedium): 2, string(permission.RiskHigh): 3,
		string(permission.RiskCritical): 4}
	if order[a] > order[b] {
		return a
	}
	return b
}

// decideAsk decides an ask that waits, for a recheck. waits is false for what a reviewer has changed: that is for people.
func (a *Activities) decideAsk(ctx context.Context, run interaction.RunID, id interaction.ID) (d permission.Decision, waits bool, err error) {
	var x asking
	err = a.Store.Write(ctx, func(tx Tx) error {
		waiting, found, err := tx.Interaction(ctx, id)
		if err != nil {
			return err
		}
		asked := waiting.Request
		if waits = found && !waiting.Status.Final() && asked.Kind == interaction.KindProgram && asked.RunID == run; !waits {
			return nil
		}
		if x.run, _, err = lockRun(ctx, tx, asked.RunID); err != nil {
			return err
		}
		if waits = x.run.Ask != nil; !waits {
			return nil
		}
		x.ask = *x.run.Ask
		if waits = len(asked.ToolArgs) == 0 || string(asked.ToolArgs) == string(x.ask.Arguments()); !waits {
			return nil
		}
		if x.ag, err = agentOf(ctx, tx, x.run.AgentDigest); err != nil {
			return err
		}
		x.rules, err = a.rulesFor(ctx, tx, x.run, x.ag)
		return err
	})
	if err != nil || !waits {
		return d, false, err
	}
	return a.judge(x.rules, x.run, x.ag, a.askedTool(x.ask), x.ask.Arguments()), true, nil
}

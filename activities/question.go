package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"holdpoint/agent"
	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/permission"
	"holdpoint/tool"
)

// question words the approval request for a call.
func question(run agent.Run, ag agent.Agent, rec tool.Record, d permission.Decision, c taken, now time.Time) interaction.Request {
	r := request(run, ag, rec, interaction.TypeToolApproval, interaction.KindPermission)
	r.Title = clip("Run "+c.call.Name+": "+interaction.Visible(subject(c.def, c.call.Args)), interaction.MaxTitleBytes)
	r.Message = fmt.Sprintf("The agent %s wants to run %s. %s", ag.Name, c.call.Name, d.Reason)
	r.Details = c.preview
	r.ToolDigest = toolDigest(c.def)
	r.Base = c.base
	r.Reason, r.MaxGrant = d.Reason, interaction.GrantScope(d.Approval.MaxGrant)
	r.Risk = string(d.Risk)
	r.SuggestedPattern = d.SuggestedPatterns
	if d.Matched != nil {
		r.MatchedRule = d.Matched.Pattern
	}
	if len(d.Parts) > 1 {
		r.Explanation = clip(permission.Explain(permission.Call{Tool: permissionTool(c.def, ag.AutoApproveRisk), Args: c.call.Args,
			Workspace: ag.Workspace, UserID: string(run.UserID), SessionID: string(run.GrantSession()), Now: now}, d), maxExplanation)
	}
	applyApproval(&r, d.Approval, now)
	return r
}

// maxExplanation bounds the explanation that a question carries, in bytes.
const maxExplanation = 8 << 10

// toolDigest stands for what a tool takes: an approval is for the tool that was shown, and another version of it, with
// other arguments or of another kind, is shown again.
func toolDigest(def tool.Definition) string {
	b, err := json.Marshal([]any{def.Name, def.Server, def.Schema, def.Resource, def.Field, def.Closed})
	if err != nil { // a schema that is no JSON
		b = []byte(err.Error())
	}
	return fingerprint(string(b))
}

// subject is what a call is about, in few words: the argument that its permission is decided on, or all of them.
func subject(def tool.Definition, args []byte) string {
	var fields map[string]json.RawMessage
	var text string
	if json.Unmarshal(args, &fields) == nil && json.Unmarshal(fields[def.Field], &text) == nil && text != "" {
		return text
	}
	return string(args)
}

// request has what every request about a call has.
func request(run agent.Run, ag agent.Agent, rec tool.Record, t interaction.Type, k interaction.Kind) interaction.Request {
	return interaction.Request{RunID: run.ID, SessionID: run.SessionID, ToolCallID: rec.Call.ID, ToolName: rec.Call.Name,
		ToolArgs: rec.Call.Args, Type: t, Kind: k, Digest: rec.Digest, Requester: requester(run), AgentPath: append(slices.Clone(run.Path), ag.Name),
		Options: interaction.StandardOptions(k, t)}
}

// requester is on whose behalf a run acts: four-eyes excludes this person.
func requester(run agent.Run) interaction.PrincipalID {
	if run.UserID != "" {
		return run.UserID
	}
	return run.Requester
}

// applyApproval puts on a request who must answer it and until when. Questions of one turn are given one now, so that
// they share a deadline, and a run the timer for it.
func applyApproval(r *interaction.Request, need permission.Approval, now time.Time) {
	r.Reviewers, r.Quorum, r.ExcludeRequester = need.Reviewers, need.Quorum, need.ExcludeRequester
	r.RemindEvery = need.RemindEvery
	for _, rung := range need.Escalate {
		r.Escalate = append(r.Escalate, interaction.Escalation(rung))
	}
	if need.Timeout > 0 {
		r.ExpiresAt = now.Add(need.Timeout).Truncate(time.Millisecond)
		r.OnTimeout = interaction.Action(need.OnTimeout)
	}
}

// openInteraction stores a request about a call under the call's next id, and returns its event and the brief
// form for the workflow. The caller stores rec.
func openInteraction(ctx context.Context, tx Tx, rec *tool.Record, req interaction.Request, now time.Time) ([]event.Event, *interaction.Request, error) {
	rec.Interactions++
	req.ID = interaction.ID(fmt.Sprintf("%s-%d", rec.Call.ID, rec.Interactions))
	open := interaction.Open(req, now)
	if err := tx.SaveInteraction(ctx, open); err != nil {
		return nil, nil, fmt.Errorf("interaction %s: %w", req.ID, err)
	}
	brief := open.Request.Brief()
	return []event.Event{event.New(rec.Call.RunID, event.InteractionRequest, now, open.Request.WithoutOutput())}, &brief, nil
}

// clip cuts s to at most n bytes at a rune's boundary.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const mark = "…"
	n -= len(mark)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + mark
}

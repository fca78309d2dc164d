package activities

import (
	"context"
	"fmt"
	"strings"

	"holdpoint/agent"
	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/permission"
	"holdpoint/tool"
)

// ResolveCall records an answer, or the lack of one, that runs no tool: the call's result says what a person
// wants, in words that a model can act on. A result that is stored already wins.
func (a *Activities) ResolveCall(ctx context.Context, in ResolveCallInput) (ResolveCallResult, error) {
	var out ResolveCallResult
	var run agent.Run
	var asked interaction.Interaction
	kept := false
	err := a.Store.Write(ctx, func(tx Tx) (err error) {
		var head event.Head
		run, head, err = lockRun(ctx, tx, in.RunID)
		if err != nil {
			return err
		}
		rec, err := callOf(ctx, tx, in.CallID)
		if err != nil {
			return err
		}
		asked, _, err = tx.Interaction(ctx, in.Outcome.InteractionID)
		if err != nil {
			return err
		}
		w := &callWriter{ctx: ctx, tx: tx, rec: &rec, now: a.Now()}
		if err := w.closeAnswered(&in.Outcome, nil, nil, false); err != nil {
			return err
		}
		if rec.Result != nil { // the interaction is closed all the same
			out = ResolveCallResult{Status: rec.Result.Status, Head: head}
			out.Head, err = w.flush()
			return err
		}
		if err := remember(ctx, tx, rec, in.Outcome); err != nil {
			return err
		}
		if kept, err = keepRefusal(tx, w, run, asked.Request, in.Outcome); err != nil {
			return err
		}
		finish := func() (*RunToolResult, error) { return w.finish(resolved(asked.Request, in.Outcome)) }
		if asked.Request.Kind == interaction.KindResult {
			finish = func() (*RunToolResult, error) { return dropHeld(ctx, tx, in.CallID, w, withheld(in.Outcome)) }
		}
		res, err := finish()
		if err != nil {
			return err
		}
		out = ResolveCallResult{Status: res.Status, Head: res.Head}
		return nil
	})
	if err == nil {
		if kept {
			a.tellRuns(ctx, run.UserID)()
		}
		a.at(PointAnswerStored)
	}
	return out, err
}

// resolved words the result of a call that a person kept from running, or answered in its stead.
func resolved(asked interaction.Request, out interaction.Outcome) tool.Result {
	if asked.Kind == interaction.KindOutcomeUnknown {
		return unknownResult(out)
	}
	if out.Status == interaction.StatusExpired {
		return tool.Result{Status: tool.StatusExpired, Content: "Nobody answered before the deadline, so the call was not run" +
			then(out.Action) + ". Go on without it, or ask the user."}
	}
	if out.Status != interaction.StatusAnswered {
		return tool.Result{Status: tool.StatusAborted, Content: "The question was withdrawn, so the call was not run."}
	}
	r := interaction.Response{}
	if n := len(out.Responses); n > 0 {
		r = out.Responses[n-1]
	}
	switch out.Action {
	case interaction.ActionReject:
		return tool.Result{Status: tool.StatusRejected, Content: sentence("A reviewer"+named(r)+" rejected this call; it was not run.", "Reason", r.Feedback, r.Note)}
	case interaction.ActionRetry:
		return tool.Result{Status: tool.StatusRetry, Content: sentence("A reviewer"+named(r)+" asks you to think again; the call was not run.", "Feedback", r.Feedback, r.Note)}
	case interaction.ActionSkip:
		return tool.Result{Status: tool.StatusSkipped, Content: sentence("This call was skipped; it was not run. Go on without it.", "Note", r.Feedback, r.Note)}
	case interaction.ActionAnswer:
		return tool.Result{Status: tool.StatusSuccess, Content: r.Text}
	case interaction.ActionTerminate:
		return tool.Result{Status: tool.StatusAborted, Content: "A reviewer stopped the run; the call was not run."}
	default:
		return tool.Result{Status: tool.StatusRejected, Content: fmt.Sprintf("The call was not run: the answer %q can't be carried out here.", out.Action)}
	}
}

// unapproved is the result of a call that needs a person, of an agent that runs without people. Nobody said no to it.
func unapproved(d permission.Decision) *tool.Result {
	return &tool.Result{Status: tool.StatusUnreachable, Content: "This call needs a person's approval (" + d.Reason +
		"), and this agent runs without people: nobody was asked. It was not run. Go on without it."}
}

// unanswered is the result of a call whose tool asks people, of such an agent.
func unanswered(q interaction.Request) tool.Result {
	return tool.Result{Status: tool.StatusUnreachable, Content: "The tool asks a person (" + interaction.Visible(clip(q.Title, interaction.MaxTitleBytes)) +
		"), and this agent runs without people: nobody was asked, and the call ended there. Go on without an answer."}
}

func unknownResult(out interaction.Outcome) tool.Result {
	content := "The worker stopped while this call ran. Whether it had its effect is not known, and it was not run again. " +
		"Check the state of what it touches before you go on."
	if n := len(out.Responses); n > 0 {
		content = sentence(content, "A reviewer notes", out.Responses[n-1].Feedback, out.Responses[n-1].Note)
	}
	return tool.Result{Status: tool.StatusUnknown, Content: content}
}

// then says what a deadline brought, where that is more than an end.
func then(a interaction.Action) string {
	switch a {
	case interaction.ActionSkip:
		return " and counts as skipped"
	case interaction.ActionRetry:
		return "; think again about how to go on"
	}
	return ""
}

func named(r interaction.Response) string {
	if r.Reviewer.ID == "" {
		return ""
	}
	return " (" + interaction.Visible(string(r.Reviewer.ID)) + ")"
}

// sentence adds the first text that is not empty under its label.
func sentence(s, label string, texts ...string) string {
	for _, t := range texts {
		if t = strings.TrimSpace(t); t != "" {
			return s + " " + label + ": " + t
		}
	}
	return s
}

package workflows

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"holdpoint/interaction"
)

// state answers the state query.
func (r *agentRun) state() (State, error) {
	s := State{RunID: r.in.RunID, SessionID: r.in.SessionID, Status: r.status(), Steps: r.st.Turn, Pending: []PendingInteraction{},
		LastOutcome: r.st.Last, Refused: r.st.lastRefused()}
	for _, g := range r.gates {
		p := PendingInteraction{ID: g.it.Request.ID, Title: g.it.Request.Title, Status: g.it.Status, Actions: g.it.Request.Actions(),
			Approvals: g.it.Approvals(), Quorum: g.it.Request.QuorumNeeded()}
		if at := g.it.Request.ExpiresAt; !at.IsZero() {
			p.ExpiresAt = at.UTC().Format(time.RFC3339)
		}
		s.Pending = append(s.Pending, p)
	}
	return s, nil
}

// shownGates bounds how many gates the details spell out.
const shownGates = 8

// showDetails says in the Temporal UI what the run waits for and how to answer from a terminal. It costs no
// history.
func (r *agentRun) showDetails(ctx workflow.Context) {
	workflow.SetCurrentDetails(ctx, r.details(workflow.GetInfo(ctx).WorkflowExecution.ID))
}

func (r *agentRun) details(workflowID string) string {
	var b strings.Builder
	switch {
	case len(r.gates) > 0:
	case r.in.SessionID == "": // the gates of a workflow that is no run
		b.WriteString("Nothing waits for a person.\n")
	default:
		fmt.Fprintf(&b, "Step %d. Nothing waits for a person.\n", r.st.Turn+1)
	}
	for _, p := range r.away[:min(len(r.away), shownGates)] {
		fmt.Fprintf(&b, "%s runs on the task queue %s, or waits for a worker there.\n", markdown(p.Tool), markdown(p.TaskQueue))
	}
	for i, g := range r.gates {
		if i == shownGates {
			fmt.Fprintf(&b, "\n… and %d more.\n", len(r.gates)-i)
			break
		}
		writeGate(&b, workflowID, g)
	}
	if n := len(r.st.Refused); n > 0 {
		f := r.st.Refused[n-1]
		fmt.Fprintf(&b, "\nThe last message that could not be applied (%s, %s): %s\n", f.Message, f.Code, markdown(f.Reason))
	}
	return b.String()
}

func writeGate(b *strings.Builder, workflowID string, g *gate) {
	req := g.it.Request
	fmt.Fprintf(b, "**Waits for a person: %s**\n\n", markdown(req.Title))
	if len(req.Reviewers) > 0 {
		fmt.Fprintf(b, "Asked: %s. ", markdown(strings.Join(req.Reviewers, ", ")))
	}
	if n := req.QuorumNeeded(); n > 1 {
		fmt.Fprintf(b, "%d of %d approvals. ", g.it.Approvals(), n)
	}
	if !req.ExpiresAt.IsZero() {
		fmt.Fprintf(b, "Until %s. ", req.ExpiresAt.UTC().Format(time.RFC3339))
	}
	fmt.Fprintf(b, "Answers: %s.\n\n    %s\n\n", joinActions(req.Actions()), SignalLine(workflowID, req))
}

// SignalLine is the Temporal CLI's command that answers a request; the first action it offers stands in it.
func SignalLine(workflowID string, req interaction.Request) string {
	action := interaction.ActionApprove
	if offered := req.Actions(); len(offered) > 0 {
		action = offered[0]
	}
	who := ""
	if len(req.Reviewers) > 0 || req.QuorumNeeded() > 1 || req.ExcludeRequester {
		who = `,"reviewer":{"id":"YOU"}`
	}
	return fmt.Sprintf(`temporal workflow signal --workflow-id %s --name %s --input '{"request_id":%s,"action":%s%s}'`,
		shellWord(workflowID), MessageRespond, quoted(string(req.ID)), quoted(string(action)), who)
}

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return strings.ReplaceAll(string(b), "'", `\u0027`)
}

// shellWord quotes what a shell would read as more than one word.
func shellWord(s string) string {
	safe := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("._-:/", c)
	}
	if s != "" && strings.IndexFunc(s, func(c rune) bool { return !safe(c) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// markdown shows hostile text as text.
func markdown(s string) string {
	s = interaction.Visible(s)
	return strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "<", "&lt;", "&", "&amp;", "#", `\#`, "!", `\!`).Replace(s)
}

func joinActions(actions []interaction.Action) string {
	words := make([]string, len(actions))
	for i, a := range actions {
		words[i] = string(a)
	}
	return strings.Join(words, ", ")
}

// waitingFor says what time does next, for the timer's summary.
func (r *agentRun) waitingFor() string {
	next := r.earliest()
	for _, g := range r.gates {
		if at, what := g.it.Next(); at.Equal(next) {
			return what + " of " + clip(interaction.Visible(g.it.Request.Title), 150)
		}
	}
	return "time of an interaction"
}

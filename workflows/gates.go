package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"holdpoint/interaction"
)

// Gates are hold points in a workflow of your own. They take the same answers, by the same messages, as those of an
// agent's run: "respond" as an update or a signal, and the "state" query, which says what waits. Make them before the
// workflow yields for the first time, so that no message finds nobody at home:
//
//	gates, err := workflows.NewGates(ctx)
//	…
//	out, err := gates.Ask(ctx, interaction.Request{Title: "Deploy " + version + "?", Reviewers: []string{"group:release"}})
//	if err != nil || out.Action != interaction.ActionApprove { … }
//
// They keep everything in the workflow: nothing is stored elsewhere, and nobody is notified. End the workflow with Close.
type Gates struct{ run *agentRun }

// NewGates registers the messages of the calling workflow.
func NewGates(ctx workflow.Context) (*Gates, error) {
	r := &agentRun{in: RunInput{RunID: gatesOf(ctx)}, st: &RunState{}, cancel: func() {}}
	if err := workflow.SetQueryHandler(ctx, QueryState, r.state); err != nil {
		return nil, fmt.Errorf("query %s: %w", QueryState, err)
	}
	respond := workflow.UpdateHandlerOptions{Validator: r.validateRespond, Description: "answer interactions"}
	if err := workflow.SetUpdateHandlerWithOptions(ctx, MessageRespond, r.respond, respond); err != nil {
		return nil, fmt.Errorf("update %s: %w", MessageRespond, err)
	}
	r.attendTo(ctx, []signal{answers}) // other signals are the workflow's own
	return &Gates{run: r}, nil
}

// A workflow id is used again: by the next execution once one has ended, and by what continues it as new. Questions are named by
// their own execution, so that an answer to an earlier one's never counts for a later one's. Those from before this version
// were named by the workflow's id, which a replayer that is given a file does not know, either.
const changeOwnQuestions = "questions-of-one-execution"

// gatesOf is what the questions of an execution are named by. A reset keeps it: it is the same execution, told again.
func gatesOf(ctx workflow.Context) interaction.RunID {
	info := workflow.GetInfo(ctx)
	if workflow.GetVersion(ctx, changeOwnQuestions, workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		return interaction.RunID(info.WorkflowExecution.ID)
	}
	return interaction.RunID(info.OriginalRunID)
}

// Ask waits until people have decided, or time has, and returns how: check Status and Action. An empty id is given one,
// which no other execution's question has; the state query and the Temporal UI show it. It returns an error for a request that nobody could answer, for an id that was used
// before, and when ctx is cancelled. It may be called from several coroutines at once.
func (g *Gates) Ask(ctx workflow.Context, req interaction.Request) (interaction.Outcome, error) {
	r := g.run
	r.asked++
	if req.ID == "" {
		req.ID = interaction.ID(fmt.Sprintf("%s-1-%d-1", r.in.RunID, r.asked))
	}
	req.RunID = r.in.RunID
	if _, closed := r.st.closedInteraction(req.ID); closed || r.find(req.ID) != nil {
		return interaction.Outcome{}, fmt.Errorf("the id %q was used for another question of this workflow", req.ID)
	}
	if err := interaction.Open(req, workflow.Now(ctx)).Request.Validate(); err != nil {
		return interaction.Outcome{}, fmt.Errorf("the question can't be put to a person: %w", err)
	}
	if req.HasSecret() {
		return interaction.Outcome{}, fmt.Errorf("the question asks for a secret, and what answers it would stand in Temporal's history")
	}
	gate := r.open(ctx, req)
	if err := workflow.Await(ctx, func() bool { return gate.outcome != nil }); err != nil {
		if out, ok := gate.it.Cancel("the workflow went on without an answer", workflow.Now(ctx)); ok {
			r.decided(ctx, gate, out)
		}
		return interaction.Outcome{}, err
	}
	return *gate.outcome, nil
}

// Close waits until every message that was sent has had its answer. Call it last, so that none is lost.
func (g *Gates) Close(ctx workflow.Context) error { return g.run.calm(ctx) }

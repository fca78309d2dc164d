package workflows

import (
	"errors"
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"holdpoint/activities"
	"holdpoint/agent"
	"holdpoint/interaction"
)

// AgentRun is one run of an agent: from a user's message, through model and tool calls, to a final answer. A
// call that needs a person waits at its gate, for as long as it takes.
func AgentRun(ctx workflow.Context, in RunInput) (RunResult, error) {
	r, err := newAgentRun(ctx, AgentRunName, in)
	if err != nil {
		return RunResult{}, err
	}
	return r.run(ctx)
}

// agentRun is a run in progress. st is what outlives continue-as-new; the rest belongs to the current step.
type agentRun struct {
	kind    string // of workflow: AgentRunName or PipelineName
	version workflow.Version
	in      RunInput
	st      *RunState
	inboxes []inbox
	life    workflow.Context // the workflow's own: an abort does not cancel it
	// shift counts those who have taken in signals and kept deadlines so far; the last of them does.
	shift    int
	deadline deadline
	gates    []*gate // open ones, in the order they were opened
	// modelTurn is the turn that a model call in flight will bring; 0 when there is none.
	modelTurn int
	running   []interaction.CallID  // tool calls in flight
	away      []activities.CallPlan // those of them that run on a task queue of their own
	asked     int                   // questions of Gates so far
	children  []*calledRun
	lastHold  *ControlMessage     // the last pause of the run, or its end
	cancel    workflow.CancelFunc // of tools and model calls, for an abort
	ended     agent.RunStatus     // how it ended, "" while it goes on
	recording bool
	// rulesChanged asks for what waits to be decided again.
	rulesChanged bool
	rulesMoved   func()
	rechecking   bool
	writing      bool // something pressing is being recorded
	// owed are the ends of interactions that no activity has carried out yet.
	owed []interaction.Outcome
}

// newAgentRun validates the input and registers every handler before the run yields for the first time, so that
// no message finds nobody at home.
func newAgentRun(ctx workflow.Context, kind string, in RunInput) (*agentRun, error) {
	if err := in.validate(); err != nil {
		return nil, temporal.NewNonRetryableApplicationError(err.Error(), activities.CodeInternal, err)
	}
	// An update that came before the first task is handled while handlers are being registered: there is nothing to cancel yet.
	r := &agentRun{kind: kind, in: in, st: in.Resume, cancel: func() {}}
	if r.st == nil {
		r.st = &RunState{}
	}
	r.versioned(ctx)
	if err := r.handle(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

func (in RunInput) validate() error {
	switch {
	case in.RunID == "":
		return errors.New("run_id is missing")
	case in.SessionID == "":
		return errors.New("session_id is missing")
	case in.Agent == "":
		return errors.New("agent is missing: name one of the configuration")
	case len(in.Input) > interaction.MaxMessageBytes:
		return fmt.Errorf("input has %d bytes; at most %d are taken", len(in.Input), interaction.MaxMessageBytes)
	}
	return nil
}

// run is the story of a run.
func (r *agentRun) run(ctx workflow.Context) (RunResult, error) {
	work, cancel, err := r.begin(ctx)
	defer cancel()
	if err != nil {
		return r.fail(ctx, err)
	}
	for {
		if r.st.Stop != nil {
			return r.finish(ctx, activities.FinishRunInput{Status: agent.RunAborted})
		}
		if r.st.Turn >= r.st.MaxSteps {
			return r.finish(ctx, activities.FinishRunInput{Status: agent.RunFailed, Code: activities.CodeMaxSteps,
				Message: fmt.Sprintf("the agent made %d model calls, its limit, without coming to an answer", r.st.Turn)})
		}
		if err := r.hold(work); err != nil {
			return r.fail(ctx, err)
		}
		if r.st.Stop != nil {
			continue
		}
		if err := r.written(work); err != nil {
			return r.fail(ctx, err)
		}
		turn, err := r.takeTurn(work)
		if err != nil {
			return r.fail(ctx, err)
		}
		if err := r.carryOut(work, turn.calls); err != nil {
			return r.fail(ctx, err)
		}
		r.dropStale()
		yield(ctx) // what came together with the answer is still taken in
		if s := turn.stopped; s != nil && r.st.Stop == nil {
			return r.finish(ctx, activities.FinishRunInput{Status: agent.RunFailed, Code: s.Code, Message: s.Message})
		}
		if turn.final && len(r.st.Texts) == 0 && r.st.Stop == nil {
			return r.finish(ctx, activities.FinishRunInput{Status: agent.RunCompleted})
		}
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() && r.st.Stop == nil {
			return r.continueAsNew(ctx)
		}
	}
}

// begin starts what watches over the run, and its record. What is done with the context is cancelled by an abort.
func (r *agentRun) begin(ctx workflow.Context) (work workflow.Context, cancel workflow.CancelFunc, err error) {
	work, cancel = r.watch(ctx)
	return work, cancel, r.aside(work, r.start)
}

// watch starts what watches over the run.
func (r *agentRun) watch(ctx workflow.Context) (work workflow.Context, cancel workflow.CancelFunc) {
	work, cancel = workflow.WithCancel(ctx)
	r.cancel = cancel
	if r.version < versionFewCoroutines {
		workflow.Go(ctx, r.watchRules)
		return work, cancel
	}
	r.rulesMoved = func() { // as long as there is anything to decide again
		if !r.rechecking {
			r.rechecking = true
			workflow.Go(ctx, r.decideAgain)
		}
	}
	return work, cancel
}

// fail ends the run in the record as well as in Temporal. A cancelled workflow and a stopped run are aborts.
func (r *agentRun) fail(ctx workflow.Context, err error) (RunResult, error) {
	if r.st.Stop == nil && temporal.IsCanceledError(err) {
		r.st.Stop = &Stop{Note: "the workflow was cancelled in Temporal"}
		if r.in.Parent != nil {
			r.st.Stop.Note = "the run that called this agent was stopped"
		}
	}
	if r.st.Stop != nil {
		return r.finish(ctx, activities.FinishRunInput{Status: agent.RunAborted})
	}
	code, message := activities.CodeInternal, err.Error()
	var app *temporal.ApplicationError
	if errors.As(err, &app) {
		message = app.Message()
		if app.Type() != "" {
			code = app.Type()
		}
	}
	return r.finish(ctx, activities.FinishRunInput{Status: agent.RunFailed, Code: code, Message: clip(message, 1000)})
}

// finish writes the end of the record and waits for everything that was sent to be dealt with.
func (r *agentRun) finish(ctx workflow.Context, in activities.FinishRunInput) (RunResult, error) {
	ctx, cancel := workflow.NewDisconnectedContext(ctx) // the end is recorded even when the workflow was cancelled
	defer cancel()
	if s := r.st.Stop; s != nil && in.Status == agent.RunAborted {
		in.By, in.Note = s.By, s.Note
	}
	in.RunID = r.in.RunID
	r.ended = in.Status
	r.closeGates(ctx, in.Status)
	r.recordLeftovers(ctx)
	in.Outcomes = bounded(r.owed)
	if err := r.finishRecord(ctx, in); err != nil {
		return RunResult{}, err
	}
	r.settle(ctx)
	return RunResult{RunID: r.in.RunID, Status: in.Status, ErrorCode: in.Code, Error: in.Message, Steps: r.st.Turn}, nil
}

// calm waits until nothing that was sent is in anyone's hands. A signal that arrives in the task that goes on here has
// been handed to the reader of its channel, which has not run yet: without yielding it would be lost with the run.
func (r *agentRun) calm(ctx workflow.Context) error {
	idle := func() bool { return workflow.AllHandlersFinished(ctx) && !r.recording }
	for {
		yield(ctx)
		r.drain(ctx)
		if idle() {
			return ctx.Err()
		}
		if err := workflow.Await(ctx, idle); err != nil {
			return err
		}
	}
}

// recordLeftovers puts what the run can't take in any more into the record before its last event, with which every
// stream of it ends.
func (r *agentRun) recordLeftovers(ctx workflow.Context) {
	r.drain(ctx)
	_ = workflow.Await(ctx, func() bool { return !r.recording })
	r.refuseTexts()
	r.refuseEarly(ctx)
	r.recordNews(ctx)
}

// settle leaves nothing that was sent unanswered: handlers end, signals are read, refusals are recorded.
func (r *agentRun) settle(ctx workflow.Context) {
	for {
		_ = r.calm(ctx) // the context is never cancelled
		r.refuseTexts()
		if r.recorded() {
			return
		}
		r.recordNews(ctx)
	}
}

// continueAsNew hands the state to a fresh history. No interaction is open and no call in flight here.
func (r *agentRun) continueAsNew(ctx workflow.Context) (RunResult, error) {
	if err := r.calm(ctx); err != nil {
		return r.fail(ctx, err)
	}
	next := r.in
	next.Input = "" // stored by StartRun
	next.Metadata = nil
	next.Resume = r.st
	return RunResult{}, workflow.NewContinueAsNewError(ctx, r.kind, next)
}

func (r *agentRun) start(ctx workflow.Context) error {
	if r.st.AgentDigest != "" {
		return nil
	}
	if r.version >= versionStartHere { // also of a run that is stopped before it begins: its end needs a record to be put into
		free, cancel := workflow.NewDisconnectedContext(ctx)
		defer cancel()
		ctx = free
	}
	res, err := r.startRun(ctx)
	if err != nil {
		return err
	}
	r.st.AgentDigest, r.st.MaxSteps = res.AgentDigest, res.MaxSteps
	if !r.recorded() && r.since(ctx, changeRecordFromStart) {
		r.recordSoon(ctx)
	}
	return nil
}

// What came before there was a record to put it into is put there once there is; in runs from before this version, with
// what came next.
const changeRecordFromStart = "record-from-the-start"

// turn is what the model said, without what is needed no more.
type turn struct {
	calls   []*call
	final   bool
	stopped *activities.Stopped
}

// takeTurn takes one turn, and opens the gates of its calls.
func (r *agentRun) takeTurn(ctx workflow.Context) (t turn, err error) {
	err = r.aside(ctx, func(ctx workflow.Context) error {
		res, err := r.callModel(ctx)
		if err == nil {
			t = turn{r.begun(ctx, res.Calls), res.Final, res.Stopped}
		}
		return err
	})
	return t, err
}

// callModel takes one turn, with the messages that came since the last one.
func (r *agentRun) callModel(ctx workflow.Context) (activities.CallModelResult, error) {
	in := activities.CallModelInput{RunID: r.in.RunID, SessionID: r.in.SessionID, Turn: r.st.Turn + 1, AgentDigest: r.st.AgentDigest}
	for _, t := range r.st.Texts {
		in.Texts = append(in.Texts, activities.Text{ID: string(t.ID), Text: t.Text})
	}
	taken := len(r.st.Texts)
	r.modelTurn = in.Turn
	r.showDetails(ctx)
	res, err := r.model(ctx, in)
	r.modelTurn = 0
	if err != nil {
		return res, err
	}
	r.st.Turn = in.Turn
	r.st.Texts = r.st.Texts[taken:] // what came meanwhile joins the next turn
	return res, nil
}

// status is where the run stands.
func (r *agentRun) status() agent.RunStatus {
	switch {
	case r.ended != "":
		return r.ended
	case r.st.Paused:
		return agent.RunPaused
	case len(r.gates) > 0:
		return agent.RunAwaitingHuman
	}
	return agent.RunRunning
}

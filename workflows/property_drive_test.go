package workflows_test

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"holdpoint/activities"
	"holdpoint/interaction"
	"holdpoint/workflows"
)

// place is where a run takes place: Temporal's test environment, or a real server.
type place interface {
	Now() time.Time
	Signal(run interaction.RunID, name string, message any)
	Update(run interaction.RunID, name, id string, then func(result any, err error), message any)
	State(run interaction.RunID) (workflows.State, error)
}

// skipping is the test environment, which skips time.
type skipping struct {
	*testsuite.TestWorkflowEnvironment
}

func (s skipping) Signal(run interaction.RunID, name string, message any) {
	if run == modelRun {
		s.SignalWorkflow(name, message)
		return
	}
	_ = s.SignalWorkflowByID(workflows.RunWorkflowID(run), name, message) // to a run that has ended
}

func (s skipping) Update(run interaction.RunID, name, id string, then func(any, error), message any) {
	if run == modelRun {
		s.UpdateWorkflow(name, id, &updated{then}, message)
	} else if err := s.UpdateWorkflowByID(workflows.RunWorkflowID(run), name, id, &updated{then}, message); err != nil {
		then(nil, err)
	}
}

func (s skipping) State(run interaction.RunID) (state workflows.State, err error) {
	value, err := s.QueryWorkflow(workflows.QueryState)
	if run != modelRun {
		value, err = s.QueryWorkflowByID(workflows.RunWorkflowID(run), workflows.QueryState)
	}
	if err == nil {
		err = value.Get(&state)
	}
	return state, err
}

// updated takes what becomes of an update.
type updated struct{ then func(any, error) }

func (*updated) Accept()                        {}
func (u *updated) Reject(err error)             { u.then(nil, err) }
func (u *updated) Complete(result any, e error) { u.then(result, e) }

// drive leads a run through a script, beside the model of it.
type drive struct {
	script
	place
	env  *testsuite.TestWorkflowEnvironment // if that is the place
	w    *world
	seen map[string]int

	start     time.Time
	minute    int // of the last move
	next      int // move
	rounds    int // of winding up
	updates   int
	questions []*question
	sent      []interaction.Response
	counted   map[answered]interaction.ID // responses that were applied
	early     []interaction.Response
	refused   map[interaction.ResponseID]int // signals that were refused
	texts     map[string]int                 // accepted
	paused    bool
	pauses    []span
	stopped   bool
	failed    bool                       // a gate of a workflow of agents was not approved
	over      map[interaction.RunID]bool // runs of other agents that people stopped
	wrong     []string
}

// answered is a response as its run knows it.
type answered struct {
	run interaction.RunID
	id  interaction.ResponseID
}

func (d *drive) about(r interaction.Response) answered { return answered{d.of(r), r.ID} }

type span struct{ from, to time.Time }

var morning = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

func newDrive(s script, seen map[string]int) *drive {
	w := newWorld(s.Turns)
	for i, stage := range s.Stages {
		w.know(callID(i+1, 1), stage)
	}
	w.stages = s.Stages
	return &drive{script: s, w: w, seen: seen, start: morning, counted: map[answered]interaction.ID{}, over: map[interaction.RunID]bool{},
		refused: map[interaction.ResponseID]int{}, texts: map[string]int{}}
}

func (d *drive) complain(format string, args ...any) {
	d.wrong = append(d.wrong, fmt.Sprintf("minute %d: ", d.minute)+fmt.Sprintf(format, args...))
}

// live lets the whole run pass, and returns what went wrong.
func (d *drive) live() []string {
	in := workflows.RunInput{RunID: modelRun, SessionID: "s", Agent: "tester", Input: "go", Requester: requester, Trust: d.Trust.input()}
	at := d.start
	for {
		d.environment(at)
		d.plan()
		if len(d.Stages) > 0 {
			d.env.ExecuteWorkflow(workflows.Pipeline, in)
		} else {
			d.env.ExecuteWorkflow(workflows.AgentRun, in)
		}
		at = d.env.Now()
		if !d.env.IsWorkflowCompleted() {
			return append(d.wrong, "the run did not end")
		}
		var anew *workflow.ContinueAsNewError
		if !errors.As(d.env.GetWorkflowError(), &anew) {
			break
		}
		d.seen["continued as new"]++
		in = workflows.RunInput{}
		if err := converter.GetDefaultDataConverter().FromPayloads(anew.Input, &in); err != nil {
			return append(d.wrong, err.Error())
		}
	}
	var res workflows.RunResult
	if err := d.env.GetWorkflowError(); err != nil {
		d.complain("the workflow failed: %v", err)
	} else if err := d.env.GetWorkflowResult(&res); err != nil {
		d.complain("%v", err)
	}
	return d.settle(at, res.Status)
}

func (d *drive) environment(at time.Time) {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	d.env = suite.NewTestWorkflowEnvironment()
	d.place = skipping{d.env}
	d.env.SetStartTime(at)
	d.env.SetTestTimeout(20 * time.Second)
	d.env.SetContinueAsNewSuggested(d.Anew)
	d.w.now = d.env.Now
	d.w.later = func(wait time.Duration, then func()) { d.env.RegisterDelayedCallback(then, wait) }
	d.w.tell = func(run interaction.RunID, q activities.Inquiry) { d.place.Signal(run, workflows.MessageAsked, q) }
	d.w.ended = func(token []byte, res activities.RunToolResult) { _ = d.env.CompleteActivity(token, res, nil) } // or it was stopped
	d.env.RegisterWorkflowWithOptions(workflows.AgentRun, workflow.RegisterOptions{Name: workflows.AgentRunName})
	for name, f := range d.w.activities() {
		d.env.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name})
	}
}

// plan has the next move happen at its time.
func (d *drive) plan() {
	minute, tie := d.minute+1, false
	if d.next < len(d.Moves) {
		minute, tie = d.minute+d.Moves[d.next].Wait, d.Moves[d.next].Tie
	}
	at := d.start.Add(time.Duration(minute) * time.Minute)
	if tie {
		at = at.Add(30 * time.Second)
	}
	d.env.RegisterDelayedCallback(func() {
		quiet := minute > d.minute
		if d.minute = minute; tie {
			d.minute++
		}
		d.follow(d.env.Now())
		if quiet && !tie {
			for _, w := range d.compare() {
				d.complain("%s", w)
			}
		}
		if d.next < len(d.Moves) {
			d.next++
			d.move(d.Moves[d.next-1])
		} else {
			d.windUp()
		}
		d.plan()
	}, max(at.Sub(d.env.Now()), 0))
}

// follow has the model know what was asked meanwhile, and how time passed.
func (d *drive) follow(now time.Time) {
	d.w.mu.Lock()
	for _, a := range d.w.asked[len(d.questions):] {
		q := &question{rule: d.w.ruleOf(a), trust: d.Trust, id: a.ID, kind: a.Kind, digest: a.Digest, opened: a.CreatedAt, status: interaction.StatusPending,
			run: a.RunID, live: a.Live, givesUp: goneBy(a)}
		if a.Live {
			d.seen["asked while it ran"]++
		} else if a.RunID != modelRun {
			d.seen["asked by another agent"]++
		} else if a.Kind == interaction.KindStage {
			d.seen["asked by a stage"]++
		}
		if a.Kind == interaction.KindOutcomeUnknown {
			d.seen["asked whether to run again"]++
		}
		d.questions = append(d.questions, q)
		if len(d.early) > 0 { // one of them may end the run, and with it what had not ended before
			d.passInOrder(q.opened)
		}
		early := d.early
		d.early = nil
		for _, r := range early {
			if r.RequestID != q.id {
				d.early = append(d.early, r)
			} else if d.foresee(q, r, q.opened) != "" {
				d.refused[r.ID]++
			}
		}
	}
	d.w.mu.Unlock()
	d.passInOrder(now)
}

// passInOrder lets time pass from one deadline to the next.
func (d *drive) passInOrder(now time.Time) {
	var due []time.Time
	for _, q := range d.questions {
		if q.open() && q.Timeout > 0 {
			due = append(due, q.deadline())
		}
		if q.open() && !q.givesUp.IsZero() {
			due = append(due, q.givesUp)
		}
	}
	slices.SortFunc(due, time.Time.Compare)
	for _, at := range due {
		if at.Before(now) {
			d.pass(at)
		}
	}
	d.pass(now)
}

// pass lets time pass for the questions. Those of a run that has ended end with it.
func (d *drive) pass(now time.Time) {
	stopped, over := d.stopped || d.failed, maps.Clone(d.over)
	for _, q := range d.questions {
		was := q.status
		if stopped || over[q.run] {
			continue
		}
		if q.pass(now); q.status == interaction.StatusExpired && was != q.status {
			d.ends(q)
		}
	}
}

// foresee applies an answer to the model: "" and it counts, or the code of an objection.
func (d *drive) foresee(q *question, r interaction.Response, now time.Time) interaction.Code {
	if done, ok := d.counted[d.about(r)]; ok {
		if done != r.RequestID {
			return interaction.CodeInvalid
		}
		return ""
	}
	if codes := q.objections(r); len(codes) > 0 {
		return codes[0]
	}
	q.take(r, now)
	d.counted[d.about(r)] = r.RequestID
	if !q.open() {
		d.ends(q)
	}
	return ""
}

// ends has a question's end be that of its run, where it is.
func (d *drive) ends(q *question) {
	switch {
	case q.action == interaction.ActionTerminate && q.run == modelRun:
		d.stopped = true
	case q.action == interaction.ActionTerminate:
		d.over[q.run] = true
		d.stopped = d.stopped || len(d.Stages) > 0 // a stage that is stopped stops the workflow
	case q.kind == interaction.KindStage && q.action == interaction.ActionReject:
		d.failed = true
	}
}

func (d *drive) find(id interaction.ID) *question {
	for _, q := range d.questions {
		if q.id == id {
			return q
		}
	}
	return nil
}

// turn is how many the model took.
func (d *drive) turn() int {
	d.w.mu.Lock()
	defer d.w.mu.Unlock()
	return d.w.turn
}

// target is the question that a move is about.
func (d *drive) target(m move) interaction.ID {
	if id := d.ofOthers(m); id != "" {
		return id
	}
	turn := max(min(d.turn(), len(d.Turns)), 1)
	call := callID(turn, m.Call%len(d.Turns[turn-1])+1)
	switch m.At {
	case "next turn":
		return interaction.ID(callID(turn+1, 1+m.Call%2)) + "-1"
	case "unknown":
		return []interaction.ID{"elsewhere", "r-0-1-1", "r-1-1", "q-1-1-1", "r-1-9-1", "r-01-1-1"}[m.Old%6]
	}
	last := interaction.ID(call) + "-1"
	for _, q := range d.questions {
		if callOf(q.id) == call && m.At == "" {
			last = q.id
		}
	}
	return last
}

// ofOthers is the question of another agent, or of a stage, that a move is about; "" where it is about a call of the run. Of those
// only what is open is answered: their runs end with them.
func (d *drive) ofOthers(m move) interaction.ID {
	var open []interaction.ID
	for _, q := range d.questions {
		if q.open() && (len(d.Stages) > 0 || m.Sub && q.run != modelRun) && !d.over[q.run] && !d.stopped {
			open = append(open, q.id)
		}
	}
	if len(open) == 0 {
		return ""
	}
	return open[m.Call%len(open)]
}

// code is what an update was refused with, "" for one that was not.
func code(err error) interaction.Code {
	var app *temporal.ApplicationError
	if errors.As(err, &app) {
		return interaction.Code(app.Type())
	}
	if err != nil {
		return interaction.Code(err.Error())
	}
	return ""
}

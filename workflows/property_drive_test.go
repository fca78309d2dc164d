package workflows_test

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"holdpoint/agent"
	"holdpoint/interaction"
	"holdpoint/workflows"
)

// place is where a run takes place: Temporal's test environment, or a real server.
type place interface {
	Now() time.Time
	Signal(name string, message any)
	Update(name, id string, then func(result any, err error), message any)
	State() (workflows.State, error)
}

// skipping is the test environment, which skips time.
type skipping struct {
	*testsuite.TestWorkflowEnvironment
}

func (s skipping) Signal(name string, message any) { s.SignalWorkflow(name, message) }

func (s skipping) Update(name, id string, then func(any, error), message any) {
	s.UpdateWorkflow(name, id, &updated{then}, message)
}

func (s skipping) State() (state workflows.State, err error) {
	value, err := s.QueryWorkflow(workflows.QueryState)
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
	counted   map[interaction.ResponseID]interaction.ID // responses that were applied
	early     []interaction.Response
	refused   map[interaction.ResponseID]int // signals that were refused
	texts     map[string]int                 // accepted
	paused    bool
	pauses    []span
	stopped   bool
	wrong     []string
}

type span struct{ from, to time.Time }

var morning = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

func newDrive(s script, seen map[string]int) *drive {
	return &drive{script: s, w: newWorld(s.Turns), seen: seen, start: morning, counted: map[interaction.ResponseID]interaction.ID{},
		refused: map[interaction.ResponseID]int{}, texts: map[string]int{}}
}

func (d *drive) complain(format string, args ...any) {
	d.wrong = append(d.wrong, fmt.Sprintf("minute %d: ", d.minute)+fmt.Sprintf(format, args...))
}

// pass lets the whole run pass, and returns what went wrong.
func (d *drive) pass() []string {
	in := workflows.RunInput{RunID: modelRun, SessionID: "s", Agent: "tester", Input: "go", Requester: requester, Trust: d.Trust.input()}
	at := d.start
	for {
		d.environment(at)
		d.plan()
		d.env.ExecuteWorkflow(workflows.AgentRun, in)
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
		q := &question{rule: d.w.ruleOf(a), trust: d.Trust, id: a.ID, kind: a.Kind, digest: a.Digest, opened: a.CreatedAt, status: interaction.StatusPending}
		if a.Kind == interaction.KindOutcomeUnknown {
			d.seen["asked whether to run again"]++
		}
		d.questions = append(d.questions, q)
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
	for _, q := range d.questions {
		was := q.status
		if q.pass(now); q.status == interaction.StatusExpired && was != q.status && q.action == interaction.ActionTerminate {
			d.stopped = true
		}
	}
}

// foresee applies an answer to the model: "" and it counts, or the code of an objection.
func (d *drive) foresee(q *question, r interaction.Response, now time.Time) interaction.Code {
	if done, ok := d.counted[r.ID]; ok {
		if done != r.RequestID {
			return interaction.CodeInvalid
		}
		return ""
	}
	if codes := q.objections(r); len(codes) > 0 {
		return codes[0]
	}
	q.take(r, now)
	d.counted[r.ID] = r.RequestID
	if r.Action == interaction.ActionTerminate {
		d.stopped = true
	}
	return ""
}

// compare holds the run against the model.
func (d *drive) compare() (wrong []string) {
	s, err := d.State()
	if err != nil {
		return []string{err.Error()}
	}
	want, open := map[interaction.ID]string{}, agent.RunRunning
	for _, q := range d.questions {
		if q.open() {
			want[q.id], open = fmt.Sprint(q.status, q.approvals()), agent.RunAwaitingHuman
		}
	}
	if d.paused {
		open = agent.RunPaused
	}
	if s.Status != open {
		wrong = append(wrong, fmt.Sprintf("the run is %s, and should be %s", s.Status, open))
	}
	for _, p := range s.Pending {
		if got := fmt.Sprint(p.Status, p.Approvals); got != want[p.ID] {
			wrong = append(wrong, fmt.Sprintf("%s is %s, and should be %q", p.ID, got, want[p.ID]))
		}
		delete(want, p.ID)
	}
	if len(want) > 0 {
		wrong = append(wrong, fmt.Sprintf("%v should be open", want))
	}
	return wrong
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

package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"holdpoint/agent"
	"holdpoint/interaction"
)

// Keeper compares what the store says of runs with what Temporal knows of their workflows. What is safe to mend it mends:
// it only ever closes the record of a run whose workflow is seen to have ended. Everything else it reports.
type Keeper struct {
	// Records closes the records. Its Store and Now are used.
	Records *Activities
	// Books is nil where the store can't be reached, and Executions where Temporal can't: what needs them is passed over.
	Books      Books
	Executions Executions
	// Wake has the outbox drained.
	Wake func(ctx context.Context) error
	// Grace is how old a disagreement must be to count: both sides are written one after the other. Defaults to 1 minute.
	Grace time.Duration
	// KeepFor is how long sessions are kept after their last run has ended; 0 is for ever.
	KeepFor time.Duration
}

// Books is what a keeper reads of the store beside what activities do.
type Books interface {
	// OpenRuns lists the runs that have not ended, and the token of the next page, "" after the last.
	OpenRuns(ctx context.Context, pageToken string) (runs []agent.Run, next string, err error)
	// NewerRun reports whether a run of the same workflow id was started after r.
	NewerRun(ctx context.Context, r agent.Run) (bool, error)
	// StrayInteractions returns at most limit open interactions whose runs have ended.
	StrayInteractions(ctx context.Context, limit int) ([]interaction.Interaction, error)
	// ExpiredRules counts the stored rules that have expired and were not revoked.
	ExpiredRules(ctx context.Context, now time.Time) (int, error)
	// SessionsEndedBefore lists at most limit sessions all of whose runs had ended by then, and that were not erased.
	SessionsEndedBefore(ctx context.Context, at time.Time, limit int) ([]interaction.SessionID, error)
	// Erase erases what was said and done in a session that has ended; false where something goes on in it.
	Erase(ctx context.Context, id interaction.SessionID) (bool, error)
}

// Executions tells of workflow executions, as Temporal knows them.
type Executions interface {
	// Execution describes the newest execution of a workflow id; found is false where there is none.
	Execution(ctx context.Context, workflowID string) (x Execution, found bool, err error)
	// Live lists the executions of runs that are open, as far as visibility knows them, and the token of the next page.
	Live(ctx context.Context, pageToken []byte) (list []Execution, next []byte, err error)
}

// Execution is a workflow execution.
type Execution struct {
	WorkflowID string
	RunID      interaction.RunID // the agent's, where the execution says so; "" where it doesn't
	Status     string            // Temporal's, such as "Running" or "Terminated"
	Open       bool
	StartedAt  time.Time
	ClosedAt   time.Time
	// TaskAttempts is how often its present workflow task was tried.
	TaskAttempts int
	// Failing are its activities that were tried more than once, each with its last failure.
	Failing []FailingActivity
}

// FailingActivity is an activity that is tried again.
type FailingActivity struct {
	Name     string
	Attempts int
	Failure  string
}

const (
	maxFindings = 200
	// maxErased bounds the sessions of one round.
	maxErased = 1000
	// keepGrace is how long both sides may disagree: the record is written before the workflow ends.
	keepGrace = time.Minute
	// manyAttempts is from when on trying again is no mere hiccup.
	manyAttempts = 5
	// CodeOrphaned ends runs whose workflow was ended from outside.
	CodeOrphaned = "orphaned"
)

// keeping is one round.
type keeping struct {
	*Keeper
	in  KeepInput
	out KeepResult
}

// Keep looks at everything once. It may be called as often as one likes, and by several at once.
func (k *Keeper) Keep(ctx context.Context, in KeepInput) (KeepResult, error) {
	r := &keeping{Keeper: k, in: in}
	if r.Grace == 0 {
		r.Grace = keepGrace
	}
	var errs []error
	for _, look := range r.looks() { // each is of use without the others
		if errs = append(errs, look(ctx)); ctx.Err() != nil {
			break
		}
	}
	return r.out, errors.Join(errs...)
}

// Round is Keep as an activity.
func (k *Keeper) Round(ctx context.Context, in KeepInput) (KeepResult, error) {
	stop := heartbeat(ctx)
	defer stop()
	return k.Keep(ctx, in)
}

// looks are those that what can be reached is enough for.
func (r *keeping) looks() []func(context.Context) error {
	switch {
	case r.Books == nil && r.Executions == nil:
		return nil
	case r.Books == nil:
		return []func(context.Context) error{r.tasks}
	case r.Executions == nil:
		return []func(context.Context) error{r.strays, r.outbox, r.expired}
	default:
		return []func(context.Context) error{r.openRuns, r.live, r.strays, r.outbox, r.expired, r.retain}
	}
}

func (r *keeping) find(f Finding) {
	if len(r.out.Findings) < maxFindings {
		r.out.Findings = append(r.out.Findings, f)
	} else {
		r.out.More = true
	}
}

// settled reports whether something is old enough to count.
func (r *keeping) settled(at time.Time) bool { return r.Records.Now().Sub(at) >= r.Grace }

// openRuns looks for each run that the store has open at its workflow.
func (r *keeping) openRuns(ctx context.Context) error {
	var orphans []orphan
	living := map[interaction.RunID]bool{} // runs that a person started, below which something goes on
	for token := ""; ; {
		runs, next, err := r.Books.OpenRuns(ctx, token)
		if err != nil {
			return err
		}
		for _, run := range runs {
			r.out.Runs++
			o, err := r.look(ctx, run)
			switch {
			case err != nil:
				return fmt.Errorf("run %s: %w", run.ID, err)
			case o != nil:
				orphans = append(orphans, *o)
			case run.Root != "":
				living[run.Root] = true
			}
		}
		if token = next; next == "" {
			return r.close(ctx, orphans, living)
		}
	}
}

// orphan is a run whose workflow has ended without it.
type orphan struct {
	run  agent.Run
	kind FindingKind
	how  string // what became of its workflow
}

// look compares a run with its workflow; nil where they agree.
func (r *keeping) look(ctx context.Context, run agent.Run) (*orphan, error) {
	x, found, err := r.Executions.Execution(ctx, run.WorkflowID)
	if err != nil {
		return nil, err
	}
	if !found {
		if !r.settled(run.StartedAt) {
			return nil, nil
		}
		return &orphan{run, FindingMissingWorkflow, "Temporal has no workflow " + run.WorkflowID}, nil
	}
	if x.RunID != run.ID { // a session has one live run: of a later one, this one's workflow is over
		switch newer, err := r.Books.NewerRun(ctx, run); {
		case err != nil:
			return nil, err
		case newer:
			return &orphan{run, FindingOrphanedRun, "its session's workflow runs another run"}, nil
		case x.RunID != "": // one that was started by hand doesn't say whose it is
			return nil, nil
		}
	}
	if !x.Open {
		if !r.settled(x.ClosedAt) {
			return nil, nil
		}
		return &orphan{run, FindingOrphanedRun, fmt.Sprintf("its workflow %s ended as %s", run.WorkflowID, x.Status)}, nil
	}
	r.failing(run, x)
	return nil, nil
}

// failing reports what is tried again and again.
func (r *keeping) failing(run agent.Run, x Execution) {
	if x.TaskAttempts >= manyAttempts {
		r.find(Finding{Kind: FindingFailingTask, RunID: run.ID, WorkflowID: x.WorkflowID,
			What:   fmt.Sprintf("its workflow task was tried %d times", x.TaskAttempts),
			Advice: fmt.Sprintf("This build can't carry it out, fails in it, or lacks the key that sealed it: holdpoint replay --query \"WorkflowId = '%s'\" says which.", x.WorkflowID)})
	}
	for _, a := range x.Failing {
		if a.Attempts >= manyAttempts {
			r.find(Finding{Kind: FindingFailingActivity, RunID: run.ID, WorkflowID: x.WorkflowID,
				What:   fmt.Sprintf("%s was tried %d times, and last failed with: %s", a.Name, a.Attempts, interaction.Visible(clip(a.Failure, 300))),
				Advice: "It is tried again until that is mended."})
		}
	}
}

// close ends the records of orphans, those that others called before their callers: a stream ends with the end of the run
// that a person started.
// One that can't be closed keeps none of the others from it.
func (r *keeping) close(ctx context.Context, orphans []orphan, living map[interaction.RunID]bool) error {
	var errs []error
	slices.SortStableFunc(orphans, func(a, b orphan) int { return len(b.run.Path) - len(a.run.Path) })
	for _, o := range orphans {
		f := Finding{Kind: o.kind, RunID: o.run.ID, WorkflowID: o.run.WorkflowID, What: "the store says that it is " + string(o.run.Status) + ", but " + o.how}
		mend := r.in.Mend && o.kind == FindingOrphanedRun || slices.Contains(r.in.GiveUp, o.run.ID)
		switch {
		case living[o.run.ID]:
			f.Advice = "A run that it called goes on. Its record is closed once that has ended."
		case mend:
			_, err := r.Records.FinishRun(ctx, FinishRunInput{RunID: o.run.ID, Status: agent.RunFailed, Code: CodeOrphaned,
				Message: "The run was ended from outside of Holdpoint: " + o.how + "."})
			if f.Mended = err == nil; err != nil {
				errs = append(errs, fmt.Errorf("the record of run %s can't be closed: %w", o.run.ID, err))
			}
		case o.kind == FindingMissingWorkflow:
			f.Advice = "Make sure that this is the right Temporal namespace. If it is, the workflow is lost: holdpoint doctor --give-up " + string(o.run.ID)
		default:
			f.Advice = "holdpoint doctor --mend closes its record."
		}
		r.find(f)
	}
	return errors.Join(errs...)
}

// live looks for each workflow that is open at its record.
func (r *keeping) live(ctx context.Context) error {
	for token := []byte(nil); ; {
		list, next, err := r.Executions.Live(ctx, token)
		if err != nil {
			return err
		}
		for _, x := range list {
			if err := r.recorded(ctx, x); err != nil {
				return err
			}
		}
		if token = next; len(next) == 0 {
			return nil
		}
	}
}

func (r *keeping) recorded(ctx context.Context, x Execution) error {
	if x.RunID == "" || !r.settled(x.StartedAt) {
		return nil
	}
	run, found, err := r.Records.Store.Run(ctx, x.RunID)
	if err != nil || found && (!run.Status.Final() || !r.settled(run.EndedAt)) {
		return err
	}
	// What visibility says may be old.
	if now, there, err := r.Executions.Execution(ctx, x.WorkflowID); err != nil || !there || !now.Open || now.RunID != "" && now.RunID != x.RunID {
		return err
	}
	f := Finding{Kind: FindingUnrecorded, RunID: x.RunID, WorkflowID: x.WorkflowID, What: "its workflow is open, and the store has no such run",
		Advice: "Is this the right database, and whole? After a restore: temporal workflow terminate --workflow-id " + x.WorkflowID}
	if found {
		f.Kind, f.What = FindingEndedRun, "its workflow is open, and the store says that it ended as "+string(run.Status)
		f.Advice = "Nothing that it does counts any more: temporal workflow terminate --workflow-id " + x.WorkflowID
	}
	r.find(f)
	return nil
}

// tasks looks for what is tried again and again in the workflows that are open, without the records of their runs.
func (r *keeping) tasks(ctx context.Context) error {
	for token := []byte(nil); ; {
		list, next, err := r.Executions.Live(ctx, token)
		if err != nil {
			return err
		}
		for _, x := range list {
			now, there, err := r.Executions.Execution(ctx, x.WorkflowID)
			if err != nil {
				return err
			}
			if there && now.Open {
				r.out.Runs++
				r.failing(agent.Run{ID: now.RunID}, now)
			}
		}
		if token = next; len(next) == 0 {
			return nil
		}
	}
}

// strays closes open interactions of runs that have ended.
func (r *keeping) strays(ctx context.Context) error {
	list, err := r.Books.StrayInteractions(ctx, maxFindings)
	if err != nil {
		return err
	}
	r.out.More = r.out.More || len(list) == maxFindings
	for _, i := range list {
		f := Finding{Kind: FindingStrayInteraction, RunID: i.Request.RunID, What: fmt.Sprintf("interaction %s is open, and its run has ended", i.Request.ID),
			Advice: "holdpoint doctor --mend closes it."}
		if r.in.Mend {
			err := r.Records.Store.Write(ctx, func(tx Tx) error {
				run, _, found, err := tx.LockRun(ctx, i.Request.RunID)
				if err != nil || !found || !run.Status.Final() {
					return err
				}
				_, err = closeInteraction(ctx, tx, interaction.Outcome{InteractionID: i.Request.ID, Status: interaction.StatusCancelled,
					Responses: i.Responses, Reason: fmt.Sprintf("the run ended (%s)", run.Status), At: r.Records.Now()})
				return err
			})
			if err != nil {
				return err
			}
			f.Mended, f.Advice = true, ""
		}
		r.find(f)
	}
	return nil
}

// outbox looks whether what is to be told is told.
func (r *keeping) outbox(ctx context.Context) error {
	due, _, err := r.Records.Store.DueNotices(ctx, r.Records.Now().Add(-r.Grace), maxFindings)
	if err != nil || len(due) == 0 {
		return err
	}
	f := Finding{Kind: FindingUndelivered, What: fmt.Sprintf("%d notices or more should have been told, the first of %s, to %s", len(due), due[0].CreatedAt.Format(time.RFC3339), due[0].To),
		Advice: "holdpoint doctor --mend has them told. If they stay, no worker is up that has the notifiers' configuration."}
	if r.in.Mend && r.Wake != nil {
		if err := r.Wake(ctx); err != nil {
			return err
		}
		f.Mended = true
	}
	r.find(f)
	return nil
}

func (r *keeping) expired(ctx context.Context) error {
	n, err := r.Books.ExpiredRules(ctx, r.Records.Now())
	if err == nil && n > 0 {
		r.find(Finding{Kind: FindingExpiredRules, What: fmt.Sprintf("stored rules that have expired: %d. They allow nothing any more, and stay for the record", n)})
	}
	return err
}

// retain erases the sessions whose time is over.
func (r *keeping) retain(ctx context.Context) error {
	if r.KeepFor <= 0 || !r.in.Mend {
		return nil
	}
	list, err := r.Books.SessionsEndedBefore(ctx, r.Records.Now().Add(-r.KeepFor), maxErased)
	if err != nil {
		return err
	}
	for _, id := range list {
		done, err := r.Books.Erase(ctx, id)
		if err != nil {
			return err
		}
		if done {
			r.out.Erased++
		}
	}
	return nil
}

package activities

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"holdpoint/agent"
	"holdpoint/event"
	"holdpoint/interaction"
)

// Notifier tells people or programs something, by its own technology. An error that is an *UndeliverableError is for good.
type Notifier interface {
	Notify(ctx context.Context, m Message) error
}

// Message is what a notifier tells. Interaction is as it stands now, without an output that waits for release; it is zero
// for approval.decided, which is about Run.
type Message struct {
	ID          string
	Kind        agent.NoticeKind
	At          time.Time // when it came to be
	Interaction interaction.Interaction
	Run         agent.Run
	// Begun is when it was first tried, zero where it was not: that attempt may have arrived, and nobody knows of it.
	Begun time.Time
}

// UndeliverableError is the refusal of a message that trying again does not mend.
type UndeliverableError struct{ Reason string }

func (e *UndeliverableError) Error() string { return e.Reason }

// DeliverResult says whether anything is left, and how long until it is due.
type DeliverResult struct {
	Left bool          `json:"left,omitempty"`
	Wait time.Duration `json:"wait,omitempty"`
}

// Bounds of delivering. An attempt that takes longer has failed, and what could not be told for so long is given up.
const (
	noticeBatch    = 20
	noticeTimeout  = 15 * time.Second
	noticeLife     = 3 * 24 * time.Hour
	maxNoticePause = 10 * time.Minute

	// DefaultNoticePause is the time before the second attempt; it doubles from there.
	DefaultNoticePause = 5 * time.Second
)

// DeliverDue tells what is due, side by side, each once as far as its receiver says that it has it. A receiver that said
// so while this process died hears it again, under the same id.
func (a *Activities) DeliverDue(ctx context.Context) (DeliverResult, error) {
	due, next, err := a.Store.DueNotices(ctx, a.Now(), noticeBatch)
	if err != nil {
		return DeliverResult{}, err
	}
	errs := make([]error, len(due))
	var all sync.WaitGroup
	for i, n := range due {
		all.Go(func() { errs[i] = a.deliver(ctx, n) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return DeliverResult{}, err
	}
	if len(due) > 0 { // some may have been put off
		if _, next, err = a.Store.DueNotices(ctx, time.Time{}, 0); err != nil {
			return DeliverResult{}, err
		}
	}
	if next.IsZero() {
		return DeliverResult{}, nil
	}
	return DeliverResult{Left: true, Wait: max(next.Sub(a.Now()), 0)}, nil
}

// deliver makes one attempt. The error is the store's.
func (a *Activities) deliver(ctx context.Context, n agent.Notice) error {
	m := Message{ID: n.ID, Kind: n.Kind, At: n.CreatedAt, Begun: n.BegunAt}
	there := true
	now := a.Now()
	if n.BegunAt.IsZero() {
		n.BegunAt = now
	}
	err := a.Store.Write(ctx, func(tx Tx) (err error) {
		if m.Begun.IsZero() { // whoever comes after a crash must know that it was tried
			if err := tx.DelayNotice(ctx, n, now); err != nil {
				return err
			}
		}
		if m.Run, there, err = tx.Run(ctx, n.RunID); err != nil || !there || n.Interaction == "" {
			return err
		}
		m.Interaction, there, err = tx.Interaction(ctx, n.Interaction)
		m.Interaction = m.Interaction.WithoutOutput()
		return err
	})
	if err != nil {
		return err
	}
	var failed error
	if there {
		failed = a.tell(ctx, n.To, m)
	}
	return a.told(ctx, n, failed)
}

func (a *Activities) tell(ctx context.Context, to string, m Message) error {
	notifier, ok := a.Notifiers[to]
	if !ok {
		return fmt.Errorf("no notifier is named %q in this worker's configuration", to)
	}
	ctx, cancel := context.WithTimeout(ctx, noticeTimeout)
	defer cancel()
	return notifier.Notify(ctx, m)
}

// told writes down how an attempt ended. The first failure, and giving up, stand in the run's record while it is open.
func (a *Activities) told(ctx context.Context, n agent.Notice, failed error) error {
	now := a.Now()
	n.Attempts++
	next := now.Add(a.noticePause(n.Attempts))
	var forGood *UndeliverableError
	over := errors.As(failed, &forGood) || next.Sub(n.CreatedAt) > noticeLife
	if failed != nil {
		activity.GetLogger(ctx).Warn("could not be delivered", "run_id", n.RunID, "interaction_id", n.Interaction, "notice", n.ID, "to", n.To, "attempts", n.Attempts, "given_up", over, "error", failed)
	}
	return a.Store.Write(ctx, func(tx Tx) error {
		if failed == nil {
			return tx.DropNotice(ctx, n.ID)
		}
		if over {
			if err := undelivered(ctx, tx, n, now, "It was given up: "+failed.Error()); err != nil {
				return err
			}
			return tx.DropNotice(ctx, n.ID)
		}
		if n.Attempts == 1 {
			if err := undelivered(ctx, tx, n, now, "It is tried again: "+failed.Error()); err != nil {
				return err
			}
		}
		return tx.DelayNotice(ctx, n, next)
	})
}

func (a *Activities) noticePause(attempts int) time.Duration {
	pause := a.NoticePause
	if pause <= 0 {
		pause = DefaultNoticePause
	}
	for range attempts - 1 {
		if pause = 2 * pause; pause >= maxNoticePause {
			return maxNoticePause
		}
	}
	return pause
}

// undelivered puts it into the record of a run that goes on.
func undelivered(ctx context.Context, tx Tx, n agent.Notice, now time.Time, what string) error {
	run, _, found, err := tx.LockRun(ctx, n.RunID)
	if err != nil || !found || run.Status.Final() {
		return err
	}
	if run.Root != "" {
		root, found, err := tx.Run(ctx, run.Root)
		if err != nil || !found || root.Status.Final() {
			return err
		}
	}
	e := event.New(n.RunID, event.Error, now, event.ErrorData{Code: CodeNotDelivered,
		Message: clip(fmt.Sprintf("%s of %s could not be delivered to %s. %s", n.Kind, n.Interaction, n.To, interaction.Visible(what)), 500)})
	e.Key = fmt.Sprintf("notice-%s-%d", n.ID, n.Attempts)
	_, err = tx.AppendEvents(ctx, n.RunID, e)
	return err
}

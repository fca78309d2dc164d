package activities

import (
	"context"
	"fmt"
	"time"

	"holdpoint/agent"
	"holdpoint/interaction"
)

// Outbox is a store that keeps with every interaction that is opened, asked again or closed, in the same transaction, what
// is to be told of it, and to whom.
type Outbox struct {
	Store
	// Notifiers are the names of those who are told of every interaction, and Callback of the one that tells programs, "" if
	// none does.
	Notifiers []string
	Callback  string
	Now       func() time.Time
	// Wake is called when something has been kept.
	Wake func()
}

// Write is the store's, with a transaction that keeps notices.
func (o Outbox) Write(ctx context.Context, fn func(tx Tx) error) error {
	kept := false
	err := o.Store.Write(ctx, func(tx Tx) error {
		kept = false
		return fn(outboxTx{Tx: tx, o: o, kept: &kept})
	})
	if err == nil && kept && o.Wake != nil {
		o.Wake()
	}
	return err
}

type outboxTx struct {
	Tx
	o    Outbox
	kept *bool
}

// SaveInteraction is the store's, and tells of what is new about the interaction.
func (tx outboxTx) SaveInteraction(ctx context.Context, i interaction.Interaction) error {
	if len(tx.o.Notifiers) == 0 {
		return tx.Tx.SaveInteraction(ctx, i)
	}
	old, found, err := tx.Interaction(ctx, i.Request.ID)
	if err != nil {
		return err
	}
	if err := tx.Tx.SaveInteraction(ctx, i); err != nil {
		return err
	}
	var kind agent.NoticeKind
	times := i.Request.Reminder + i.Request.Escalation
	switch {
	case !found && !i.Status.Final():
		kind = agent.NoticeOpened
	case found && !old.Status.Final() && i.Status.Final():
		kind = agent.NoticeClosed
	case found && !i.Status.Final() && times > old.Request.Reminder+old.Request.Escalation:
		kind = agent.NoticeReminded
	default:
		return nil
	}
	for _, to := range tx.o.Notifiers {
		n := agent.Notice{ID: "msg_" + fingerprint(fmt.Sprintf("%q %q %q %d", to, i.Request.ID, kind, times)), To: to, Kind: kind,
			RunID: i.Request.RunID, Interaction: i.Request.ID, CreatedAt: tx.o.Now()}
		if err := tx.Enqueue(ctx, n, n.CreatedAt); err != nil {
			return err
		}
	}
	*tx.kept = true
	return nil
}

// UpdateRun is the store's, and tells the program that asked what was decided.
func (tx outboxTx) UpdateRun(ctx context.Context, r agent.Run) error {
	if err := tx.Tx.UpdateRun(ctx, r); err != nil {
		return err
	}
	if tx.o.Callback == "" || r.Ask == nil || r.Ask.CallbackURL == "" || !r.Status.Final() {
		return nil
	}
	*tx.kept = true
	n := agent.Notice{ID: "msg_" + fingerprint(fmt.Sprintf("callback %q", r.ID)), To: tx.o.Callback, Kind: agent.NoticeDecided, RunID: r.ID, CreatedAt: tx.o.Now()}
	return tx.Enqueue(ctx, n, n.CreatedAt)
}

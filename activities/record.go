package activities

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"holdpoint/agent"
	"holdpoint/event"
)

// Record writes what no other activity does into a run's record, each once: pauses and their ends, and messages
// that could not be applied.
func (a *Activities) Record(ctx context.Context, in RecordInput) (RecordResult, error) {
	var out RecordResult
	err := a.Store.Write(ctx, func(tx Tx) error {
		run, head, err := lockRun(ctx, tx, in.RunID)
		if err != nil {
			return err
		}
		events := a.news(in)
		if n := len(in.Holds); n > 0 && !run.Status.Final() {
			if err := stand(ctx, tx, run, in.Holds[n-1].Paused); err != nil {
				return err
			}
		}
		out.Head = head
		if len(events) > 0 {
			out.Head, err = tx.AppendEvents(ctx, in.RunID, events...)
		}
		return err
	})
	return out, err
}

func (a *Activities) news(in RecordInput) []event.Event {
	events := make([]event.Event, 0, len(in.Holds)+len(in.Refused))
	for _, h := range in.Holds {
		t := event.RunResumed
		if h.Paused {
			t = event.RunPaused
		}
		e := event.New(in.RunID, t, a.Now(), event.HoldData{By: h.By, Note: h.Note})
		e.Key = "hold-" + fingerprint(string(h.Key))
		events = append(events, e)
	}
	for _, r := range in.Refused {
		e := event.New(in.RunID, event.Error, a.Now(), event.ErrorData{Code: r.Code, Message: r.Reason, ResponseID: r.ResponseID})
		e.Key = "refused-" + fingerprint(r.Key)
		events = append(events, e)
	}
	return events
}

// stand puts into a live run's row where it stands: paused, waiting for people, or running.
func stand(ctx context.Context, tx Tx, run agent.Run, paused bool) error {
	open, err := tx.OpenInteractions(ctx, run.ID)
	if err != nil {
		return err
	}
	status := agent.RunRunning
	switch {
	case paused:
		status = agent.RunPaused
	case len(open) > 0:
		status = agent.RunAwaitingHuman
	}
	if status == run.Status {
		return nil
	}
	run.Status = status
	return tx.UpdateRun(ctx, run)
}

// fingerprint stands for a text that others wrote where a store takes a plain key.
func fingerprint(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:16])
}

package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"holdpoint/interaction"
)

// delivery is a message for a run.
type delivery struct {
	workflowID string
	name       string // of the update and the signal
	updateID   string
	arg        any
	// late refuses what has become too late while the message waited for its turn; nil refuses nothing.
	late func(ctx context.Context) error
}

// deliver brings a message to its workflow: as an update, again under the same id while the time for it lasts, and
// then as a signal, which Temporal keeps; stored says that it came to that. result gets the update's outcome.
//
// Once begun it is not given up when the client goes: what a person sent must arrive. The same message may arrive
// by both roads; its id makes the workflow apply it once.
func (s *Server) deliver(ctx context.Context, d delivery, result any) (stored bool, err error) {
	ctx = context.WithoutCancel(ctx)
	err = s.inTurn(ctx, d, result)
	if err == nil || !retryable(err) {
		return false, refused(err)
	}
	s.cfg.Log.InfoContext(ctx, "no worker took an update in time; leaving it as a signal", "workflow_id", d.workflowID,
		"message", d.name, "error", err)
	ctx, cancel := context.WithTimeout(ctx, s.cfg.SignalTimeout)
	defer cancel()
	if err := s.cfg.Temporal.SignalWorkflow(ctx, d.workflowID, "", d.name, d.arg); err != nil {
		if retryable(err) {
			s.cfg.Log.WarnContext(ctx, "a message did not reach Temporal", "workflow_id", d.workflowID, "message", d.name, "error", err)
			return false, problem(http.StatusServiceUnavailable, CodeUnavailable,
				"Temporal could not be reached; send the same again, with the same id").header("Retry-After", "2")
		}
		return false, refused(err)
	}
	return true, nil
}

// inTurn updates when it is the message's turn. One that does not get it in time is as one that no worker took.
func (s *Server) inTurn(ctx context.Context, d delivery, result any) error {
	limited, cancel := context.WithTimeout(ctx, s.cfg.UpdateTimeout)
	defer cancel()
	release, waited := s.turns.take(limited, d.workflowID)
	if release != nil {
		defer release()
	}
	if waited && d.late != nil {
		if err := d.late(ctx); err != nil {
			return err
		}
	}
	if release == nil {
		return limited.Err()
	}
	return s.update(ctx, d, result)
}

// update tries under one id for as long as UpdateTimeout, at least twice. The first try gets most of it: right after
// a worker's restart the first message can take about five seconds.
func (s *Server) update(ctx context.Context, d delivery, result any) error {
	total := s.cfg.UpdateTimeout
	err := s.updateOnce(ctx, d, result, total*2/3)
	if err == nil || !retryable(err) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, total/3)
	defer cancel()
	for {
		if err = s.updateOnce(ctx, d, result, total); err == nil || !retryable(err) || !pause(ctx, total/30) {
			return err
		}
	}
}

func (s *Server) updateOnce(ctx context.Context, d delivery, result any, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	h, err := s.cfg.Temporal.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{UpdateID: d.updateID,
		WorkflowID: d.workflowID, UpdateName: d.name, Args: []any{d.arg}, WaitForStage: client.WorkflowUpdateStageCompleted})
	if err != nil {
		return err
	}
	return h.Get(ctx, result)
}

// pause waits, and reports whether there is time left.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// unreachable reports errors after which it is not known whether Temporal did what was asked.
func unreachable(err error) bool {
	var timeout *client.WorkflowUpdateServiceTimeoutOrCanceledError
	if errors.As(err, &timeout) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return true
	}
	for _, class := range []any{new(*serviceerror.Unavailable), new(*serviceerror.DeadlineExceeded), new(*serviceerror.Canceled),
		new(*serviceerror.Aborted), new(*serviceerror.ResourceExhausted), new(*serviceerror.Internal)} {
		if errors.As(err, class) {
			return true
		}
	}
	return false
}

// retryable reports errors that another try may mend. What the workflow or Temporal refuses is refused for good.
func retryable(err error) bool {
	var notReady *serviceerror.WorkflowNotReady
	return unreachable(err) || errors.As(err, &notReady)
}

// refused turns a final error of a delivery into what the caller is told.
func refused(err error) error {
	if err == nil {
		return nil
	}
	var gone *serviceerror.NotFound
	if errors.As(err, &gone) {
		return runEnded()
	}
	var app *temporal.ApplicationError
	if !errors.As(err, &app) {
		return err
	}
	if app.Type() == "AcceptedUpdateCompletedWorkflow" { // Temporal's own: the run ended with the message in hand
		return runEnded()
	}
	e := &interaction.Error{Code: interaction.Code(app.Type()), Message: app.Message()}
	if _, code := refusalStatus(e); code == CodeInternal {
		return err
	}
	var detail interaction.Error
	if app.HasDetails() && app.Details(&detail) == nil && detail.Code != "" {
		e = &detail
	}
	return e
}

func runEnded() *Problem {
	return problem(http.StatusConflict, CodeRunEnded, "the run has ended and takes nothing any more")
}

package api

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"holdpoint/agent"
	"holdpoint/interaction"
	"holdpoint/workflows"
)

// A run and its record are moments apart: the record has a question before its run knows of it, and a run has applied a
// delegation before the record shows who is asked now, and was stopped before the agents that it called have heard of it.
// Whoever answers, delegates, pauses or stops is kept waiting for that long, so that what they are told is what became of it,
// and what they do next meets it.

// moments bounds that wait. It is long, for a machine that is busy.
const moments = 3 * time.Second

// hearsWithin is how long a run takes to hear of its own question. A program's answer waits for that: one that overtakes the
// question costs two workflow tasks more, and comes to the run later.
const hearsWithin = 30 * time.Millisecond

// ripen waits until what is answered has been asked for so long. Clocks that differ cost no more than that.
func (s *Server) ripen(ctx context.Context, answers []*answer) {
	var wait time.Duration
	for _, a := range answers {
		if age := s.now().Sub(a.row.Request.CreatedAt); age >= 0 {
			wait = max(wait, hearsWithin-age)
		}
	}
	if wait > 0 {
		pause(context.WithoutCancel(ctx), wait)
	}
}

// shownFirst is how many times the record is looked at before the run is asked: where all is well it says what became of an
// answer within milliseconds, and a look at it costs a fraction of a message.
const shownFirst = 5

// known waits until it is known what became of answers that came before their run knew of the question.
func (s *Server) known(ctx context.Context, updateID, workflowID string, msg workflows.RespondMessage, result *workflows.RespondResult) error {
	early := func(r workflows.ResponseResult) bool { return r.Kept }
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), moments)
	defer cancel()
	for n, wait := 1, 10*time.Millisecond; slices.ContainsFunc(result.Items, early) && pause(ctx, wait); n, wait = n+1, 2*wait {
		s.shown(ctx, msg, result)
		if n <= shownFirst || !slices.ContainsFunc(result.Items, early) {
			continue
		}
		var again workflows.RespondResult
		d := delivery{workflowID: workflowID, name: workflows.MessageRespond, updateID: fmt.Sprintf("%s~%d", updateID, n), arg: msg}
		switch err := s.updateOnce(ctx, d, &again, moments); {
		case err == nil:
			*result = again
		case retryable(err): // it is kept, and will be applied
			return nil
		default:
			return refused(err)
		}
	}
	return nil
}

// shown takes from the record what became of answers that were kept.
func (s *Server) shown(ctx context.Context, msg workflows.RespondMessage, result *workflows.RespondResult) {
	for n, r := range msg.Responses {
		if n >= len(result.Items) || !result.Items[n].Kept {
			continue
		}
		row, found, err := s.cfg.Store.Interaction(ctx, r.RequestID)
		if err == nil && found && hasResponse(row, r.ID) {
			result.Items[n] = workflows.ResponseResult{InteractionID: r.RequestID, ResponseID: r.ID, Applied: true, Status: row.Status,
				Approvals: row.Approvals(), Quorum: row.Request.QuorumNeeded()}
		}
	}
}

// followed waits until the record shows a response that keeps its question open.
func (s *Server) followed(ctx context.Context, r interaction.Response) {
	s.recorded(ctx, r.RequestID, time.Now().Add(moments), func(row interaction.Interaction) bool { return row.Status.Final() || hasResponse(row, r.ID) })
}

// followsWithin is how long a decision may take to be carried out before the record is made to say that it was accepted. Mostly
// the tool's own claim says more within milliseconds; a write just before it is one that the tool would wait for.
const followsWithin = 40 * time.Millisecond

// carriedOut waits until the record shows a question closed, and reports whether it does in time.
func (s *Server) carriedOut(ctx context.Context, id interaction.ID, by time.Time) bool {
	return s.recorded(ctx, id, by, func(row interaction.Interaction) bool { return row.Status.Final() })
}

// recorded waits until the record of a question is as wanted, and reports whether it is in time.
func (s *Server) recorded(ctx context.Context, id interaction.ID, by time.Time, wanted func(interaction.Interaction) bool) bool {
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), by)
	defer cancel()
	for wait := 8 * time.Millisecond; pause(ctx, wait); wait = min(2*wait, 200*time.Millisecond) {
		if row, found, err := s.cfg.Store.Interaction(ctx, id); err != nil || !found || wanted(row) {
			return err == nil && found
		}
	}
	return false
}

// checkPerson refuses ids of people that look like another's: whom somebody else may act for is not known here.
func checkPerson(field, id string) error {
	if strings.ContainsFunc(id, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsGraphic(r) }) || interaction.Visible(id) != id {
		return &interaction.Error{Code: interaction.CodeInvalid, Field: field, Message: fmt.Sprintf("%q has blanks or invisible characters in it", interaction.Visible(id))}
	}
	return nil
}

// unreached are the statuses of a called run that has not heard yet of what its caller was told.
var unreached = map[workflows.ControlAction][]agent.RunStatus{
	workflows.PauseRun:  {agent.RunRunning, agent.RunAwaitingHuman},
	workflows.ResumeRun: {agent.RunPaused},
	workflows.AbortRun:  {agent.RunRunning, agent.RunAwaitingHuman, agent.RunPaused},
}

// reached waits until what a run was told has reached the runs that it has called, at any depth.
func (s *Server) reached(ctx context.Context, run interaction.RunID, action workflows.ControlAction) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), moments)
	defer cancel()
	wait := 10 * time.Millisecond
	for _, status := range unreached[action] {
		for {
			left, _, err := s.cfg.Store.Runs(ctx, RunFilter{Status: status, Prefix: string(run) + "-", PageSize: 1})
			if err != nil || len(left) == 0 {
				break
			}
			if !pause(ctx, wait) {
				return
			}
			wait = min(2*wait, 200*time.Millisecond)
		}
	}
}

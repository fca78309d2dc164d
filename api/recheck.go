package api

import (
	"context"

	"holdpoint/agent"
	"holdpoint/interaction"
	"holdpoint/workflows"
)

// recheckRuns bounds how many runs are told of one change; more than that wait for their next decision.
const recheckRuns = 10_000

// rulesChanged tells the runs that wait for people that rules have changed, so that a call which a saved grant covers
// goes on, and one that is denied now does not wait for nothing: those of a user, or with "" everyone's. A run that
// can't be told goes on waiting; that is logged, and costs no more than an answer.
func (s *Server) rulesChanged(ctx context.Context, user interaction.PrincipalID) {
	ctx = context.WithoutCancel(ctx)
	for _, status := range []agent.RunStatus{agent.RunAwaitingHuman, agent.RunPaused} {
		s.tellRuns(ctx, RunFilter{Status: status, UserID: user, PageSize: 200})
	}
}

func (s *Server) tellRuns(ctx context.Context, filter RunFilter) {
	for told := 0; told < recheckRuns; {
		runs, next, err := s.cfg.Store.Runs(ctx, filter)
		if err != nil {
			s.cfg.Log.WarnContext(ctx, "waiting runs could not be told that rules have changed", "user", filter.UserID, "error", err)
			return
		}
		for _, r := range runs {
			told++
			if err := s.cfg.Temporal.SignalWorkflow(ctx, r.WorkflowID, "", workflows.MessageRecheck, struct{}{}); err != nil {
				s.cfg.Log.WarnContext(ctx, "a run could not be told that rules have changed", "run_id", r.ID, "error", err)
			}
		}
		if filter.PageToken = next; next == "" {
			return
		}
	}
}

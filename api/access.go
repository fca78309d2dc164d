package api

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"holdpoint/agent"
	"holdpoint/interaction"
	"holdpoint/workflows"
)

// The roles. A user starts runs and sees their own; a reviewer sees and answers what is addressed to them; an
// admin sees and controls everything. Who has act_for may say for whom they do what they may do: it is for programs
// that know by their own means who their people are. A principal without a role may do nothing.
const (
	RoleUser     = "user"
	RoleReviewer = "reviewer"
	RoleAdmin    = "admin"
	RoleActFor   = "act_for"
)

func isAdmin(p interaction.Principal) bool { return slices.Contains(p.Roles, RoleAdmin) }

func mayActFor(p interaction.Principal) bool { return slices.Contains(p.Roles, RoleActFor) }

func mayReview(p interaction.Principal) bool {
	return isAdmin(p) || slices.Contains(p.Roles, RoleReviewer)
}

func mayStart(p interaction.Principal) bool { return isAdmin(p) || slices.Contains(p.Roles, RoleUser) }

func owns(p interaction.Principal, r agent.Run) bool {
	return isAdmin(p) || p.ID != "" && len(p.Roles) > 0 && (r.UserID == p.ID || r.Requester == p.ID)
}

// addressed reports whether a request is put to p. One that names no reviewers is put to all.
func addressed(p interaction.Principal, q interaction.Request) bool {
	if isAdmin(p) {
		return true
	}
	if !mayReview(p) {
		return false
	}
	return len(q.Reviewers) == 0 || slices.ContainsFunc(q.Reviewers, func(name string) bool {
		if group, isGroup := strings.CutPrefix(name, "group:"); isGroup {
			return slices.Contains(p.Groups, group)
		}
		return name == string(p.ID)
	})
}

// seesOutput reports whether p may see what a question about an output shows: those to whom it is put, and not the one
// for whom the call was made, where that one may not answer.
func seesOutput(p interaction.Principal, q interaction.Request) bool {
	return addressed(p, q) && (isAdmin(p) || !q.ExcludeRequester || p.ID != q.Requester)
}

// visibleRun returns a run that the caller may see: their own, or one with something addressed to them. One that
// they may not see looks like one that is not there.
func (s *Server) visibleRun(ctx context.Context, id interaction.RunID) (agent.Run, error) {
	r, found, err := s.cfg.Store.Run(ctx, id)
	if err != nil {
		return r, err
	}
	if found {
		p := principal(ctx)
		if owns(p, r) {
			return r, nil
		}
		ok, err := s.reviews(ctx, p, id)
		if err != nil {
			return agent.Run{}, err
		}
		if ok {
			if r.Ask != nil { // the address that the program is told at is the program's
				ask := *r.Ask
				ask.CallbackURL, r.Ask = "", &ask
			}
			return r, nil
		}
	}
	return agent.Run{}, problem(http.StatusNotFound, CodeNotFound, "there is no run %q that you may see", id)
}

// ownRun returns a run that the caller may steer and stop.
func (s *Server) ownRun(ctx context.Context, id interaction.RunID) (agent.Run, error) {
	r, err := s.visibleRun(ctx, id)
	if err != nil {
		return r, err
	}
	if !owns(principal(ctx), r) {
		return r, problem(http.StatusForbidden, CodeForbidden, "only its user, its requester or an admin may control run %q", id)
	}
	return r, nil
}

// controlled returns a run to which the caller may do what a control message says: what is about the run as a whole is
// its owner's; what is about one question is for those who may answer it, as by an answer.
func (s *Server) controlled(ctx context.Context, id interaction.RunID, c Control) (agent.Run, error) {
	switch c.Action {
	case workflows.PauseCall, workflows.ResumeCall, workflows.LiftRejection:
	case workflows.AbortRun, workflows.PauseRun, workflows.ResumeRun:
		return s.ownRun(ctx, id)
	default:
		return s.ownRun(ctx, id) // it is refused later
	}
	if c.ToolCallID != "" && c.InteractionID == "" { // a call that runs: no question is open
		return s.ownRun(ctx, id)
	}
	r, err := s.visibleRun(ctx, id)
	if err != nil {
		return r, err
	}
	i, found, err := s.cfg.Store.Interaction(ctx, c.InteractionID)
	if err != nil {
		return r, err
	}
	p := principal(ctx)
	if !found || i.Request.RunID != r.ID || !addressed(p, i.Request) && !owns(p, r) {
		return r, noInteraction(c.InteractionID)
	}
	if !addressed(p, i.Request) {
		return r, problem(http.StatusForbidden, CodeNotEntitled, "%s is for those who may answer the question", c.Action)
	}
	return r, nil
}

// reviews reports whether a run has an interaction that is addressed to p.
func (s *Server) reviews(ctx context.Context, p interaction.Principal, run interaction.RunID) (bool, error) {
	if !mayReview(p) {
		return false, nil
	}
	f := InteractionFilter{RunID: run, PageSize: scanPage}
	for range maxScans {
		rows, next, err := s.cfg.Store.Interactions(ctx, f)
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(rows, func(i interaction.Interaction) bool { return addressed(p, i.Request) }) {
			return true, nil
		}
		if next == "" {
			return false, nil
		}
		f.PageToken = next
	}
	return false, nil
}

// seesInteraction reports whether p may see an interaction: it is addressed to them or belongs to their run.
// owner tells whether a run is p's.
func seesInteraction(p interaction.Principal, i interaction.Interaction, owner func(interaction.RunID) (bool, error)) (bool, error) {
	if addressed(p, i.Request) {
		return true, nil
	}
	return owner(i.Request.RunID)
}

// ownerOf remembers the answers, so that a page of a run's interactions reads the run once.
func (s *Server) ownerOf(ctx context.Context, p interaction.Principal) func(interaction.RunID) (bool, error) {
	known := map[interaction.RunID]bool{}
	return func(id interaction.RunID) (bool, error) {
		if own, ok := known[id]; ok {
			return own, nil
		}
		r, found, err := s.cfg.Store.Run(ctx, id)
		if err != nil {
			return false, err
		}
		known[id] = found && owns(p, r)
		return known[id], nil
	}
}

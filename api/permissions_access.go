package api

import (
	"context"
	"net/http"
	"slices"

	"holdpoint/interaction"
	"holdpoint/permission"
)

// mayRead lets an admin see everyone's rules, and others their own.
func (s *Server) mayRead(ctx context.Context, user interaction.PrincipalID) error {
	p := principal(ctx)
	if isAdmin(p) || p.ID == user && len(p.Roles) > 0 && user != OrganisationUser {
		return nil
	}
	return problem(http.StatusForbidden, CodeForbidden, "only an admin may see the rules and calls of others")
}

// mayRevoke lets an admin end any rule, and a user give up an allow of their own. Ending a deny would allow more.
func (s *Server) mayRevoke(ctx context.Context, user interaction.PrincipalID, id string) error {
	p := principal(ctx)
	if isAdmin(p) {
		return nil
	}
	if p.ID != user || len(p.Roles) == 0 || user == OrganisationUser {
		return problem(http.StatusForbidden, CodeForbidden, "only an admin may revoke the rules of others")
	}
	f := RuleFilter{UserID: string(user), Scope: "", State: "all", Now: s.now(), PageSize: scanPage}
	for range maxScans {
		rules, next, err := s.cfg.Permissions.ListRules(ctx, f)
		if err != nil {
			return err
		}
		n := slices.IndexFunc(rules, func(r StoredRule) bool { return r.ID == id && r.UserID == string(user) })
		if n >= 0 && rules[n].Effect == permission.Allow {
			return nil
		}
		if n >= 0 {
			return problem(http.StatusForbidden, CodeForbidden, "only an admin may revoke a deny")
		}
		if next == "" {
			return noRule(id)
		}
		f.PageToken = next
	}
	return noRule(id)
}

// maySave lets an admin save any rule. A reviewer may keep what an open question suggests that they may answer: for its
// user, no wider than its rules permit, and not for themselves where two must look.
func (s *Server) maySave(ctx context.Context, user interaction.PrincipalID, r permission.Rule) error {
	p := principal(ctx)
	if isAdmin(p) {
		return nil
	}
	if !mayReview(p) || r.UserID == "" {
		return problem(http.StatusForbidden, CodeForbidden, "only an admin may save rules, or a reviewer what an open question suggests")
	}
	refuse := func(why string) error {
		return problem(http.StatusForbidden, CodeNotEntitled, "you may not save this rule: %s", why).at("body.interaction_id", why)
	}
	if r.InteractionID == "" {
		return refuse("name by interaction_id the question that leads to it")
	}
	i, found, err := s.cfg.Store.Interaction(ctx, interaction.ID(r.InteractionID))
	if err != nil {
		return err
	}
	if !found || !addressed(p, i.Request) {
		return refuse("there is no such question for you to answer")
	}
	if i.Status.Final() {
		return refuse("the question is closed")
	}
	run, found, err := s.cfg.Store.Run(ctx, i.Request.RunID)
	if err != nil {
		return err
	}
	if !found || run.UserID != user || r.SessionID != "" && r.SessionID != string(run.GrantSession()) {
		return refuse("the question is not about a call of this user and session")
	}
	res, err := s.cfg.Permissions.Check(ctx, CheckCall{UserID: run.UserID, SessionID: run.GrantSession(), Agent: run.Agent,
		Tool: i.Request.ToolName, Args: i.Request.ToolArgs})
	if err != nil {
		return err
	}
	if why := unentitled(p, run.UserID, r, res.Decision); why != "" {
		return refuse(why)
	}
	return nil
}

// unentitled says why a reviewer may not keep a rule by the decision on the call that waits; "" if they may.
func unentitled(p interaction.Principal, user interaction.PrincipalID, r permission.Rule, d permission.Decision) string {
	widest := d.Approval.MaxGrant
	switch {
	case d.Effect != permission.Ask:
		return "the call is not asked about any more"
	case !interaction.Entitled(d.Approval.Reviewers, p):
		return "the rules name others to decide"
	case d.Approval.ExcludeRequester && p.ID == user:
		return "the rules want another person than the one for whom the agent works"
	case d.Approval.Quorum > 1:
		return "the rules want several people to agree on each call"
	case r.Effect == permission.Allow && widest != permission.GrantUser && (widest != permission.GrantSession || r.SessionID == ""):
		return "the rules permit no grant as wide as this"
	case !slices.Contains(d.SuggestedPatterns, r.Pattern):
		return "the pattern is not among those that the question suggests"
	}
	return ""
}

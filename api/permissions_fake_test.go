package api_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"holdpoint/api"
	"holdpoint/interaction"
	"holdpoint/permission"
)

// rules is an api.Permissions in memory, with the real engine.
type rules struct {
	mu     sync.Mutex
	all    []api.StoredRule // oldest first
	policy []permission.Rule
	past   []api.PastCall
	sets   []api.RuleTemplate
}

func (s *rules) SaveRules(_ context.Context, list ...permission.Rule) ([]api.SavedRule, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []api.SavedRule
	for _, r := range list {
		switch {
		case r.SessionID != "":
			r.Source.Layer = permission.LayerSession
		case r.UserID != "":
			r.Source.Layer = permission.LayerUser
		default:
			r.Source.Layer = permission.LayerOrganisation
		}
		saved := api.SavedRule{Rule: r}
		for n, have := range s.all {
			if have.ID == r.ID {
				if have.Pattern != r.Pattern || have.Effect != r.Effect {
					return nil, fmt.Errorf("taken: %w", api.ErrRuleExists)
				}
				saved = api.SavedRule{Rule: have.Rule, Known: true}
			} else if have.RevokedAt.IsZero() && have.UserID == r.UserID && have.SessionID == r.SessionID && have.Pattern == r.Pattern {
				s.all[n].RevokedAt, s.all[n].ReplacedBy = r.CreatedAt, r.ID
				saved.Replaced = append(saved.Replaced, have.ID)
			}
		}
		if !saved.Known {
			s.all = append(s.all, api.StoredRule{Rule: r})
		}
		out = append(out, saved)
	}
	return out, nil
}

func (s *rules) AddRules(ctx context.Context, list ...permission.Rule) ([]api.SavedRule, error) {
	s.mu.Lock()
	for _, r := range list {
		for _, old := range s.all {
			if old.RevokedAt.IsZero() && old.UserID == r.UserID && old.SessionID == r.SessionID && old.Pattern == r.Pattern && old.ID != r.ID && !r.MayReplace(old.Rule) {
				s.mu.Unlock()
				return nil, api.ErrRuleInTheWay
			}
		}
	}
	s.mu.Unlock()
	return s.SaveRules(ctx, list...)
}

func (s *rules) BundleID(id string, n int) string { return fmt.Sprintf("%s.%d", id, n) }

func (s *rules) RevokeRules(_ context.Context, user interaction.PrincipalID, id string, by interaction.PrincipalID, at time.Time) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ended []string
	found := false
	for n, r := range s.all {
		if r.UserID != string(user) || r.ID != id && !strings.HasPrefix(r.ID, id+".") {
			continue
		}
		found = true
		if r.RevokedAt.IsZero() {
			s.all[n].RevokedAt, s.all[n].RevokedBy = at, by
			ended = append(ended, r.ID)
		}
	}
	if !found {
		return nil, fmt.Errorf("%s: %w", id, api.ErrNoRule)
	}
	return ended, nil
}

func (s *rules) ListRules(_ context.Context, f api.RuleFilter) ([]api.StoredRule, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var rows []api.StoredRule
	for _, r := range slices.Backward(s.all) {
		if (r.UserID == "" || r.UserID == f.UserID) && (f.Scope == "" || f.Scope == r.Source.Layer) && (f.Effect == "" || f.Effect == r.Effect.String()) &&
			(f.State == "all" || r.RevokedAt.IsZero() == (f.State == "")) {
			rows = append(rows, r)
		}
	}
	return page(rows, func(r api.StoredRule) string { return r.ID }, f.PageSize, f.PageToken)
}

func (s *rules) Check(_ context.Context, c api.CheckCall) (api.CheckResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Agent != "" && c.Agent != "fixer" {
		return api.CheckResult{}, &interaction.Error{Code: interaction.CodeInvalid, Field: "agent", Message: "there is no such agent"}
	}
	in := slices.Clone(s.policy)
	for _, r := range s.all {
		if r.RevokedAt.IsZero() {
			in = append(in, r.Rule)
		}
	}
	set, _, err := permission.Compile(in)
	call := permission.Call{Tool: permission.BuiltinTool(c.Tool), Args: c.Args, Workspace: "/w", Home: "/h", UserID: string(c.UserID),
		SessionID: string(c.SessionID), Now: t0}
	return api.CheckResult{Call: call, Decision: set.Decide(call)}, err
}

func (s *rules) PolicyRules(agent string) ([]permission.Rule, bool) {
	return s.policy, agent == "fixer"
}

func (s *rules) Odd(r permission.Rule) string {
	if r.IsAbout(permission.BuiltinTool("bash")) {
		return ""
	}
	return "there is only bash"
}

func (s *rules) PastCalls(_ context.Context, _ interaction.PrincipalID, limit int) ([]api.PastCall, error) {
	return s.past[:min(limit, len(s.past))], nil
}

func (s *rules) Templates() []api.RuleTemplate { return s.sets }

// permitting is a bridge with rules.
func permitting(b **rules) func(*api.Config) {
	*b = &rules{}
	return func(c *api.Config) { c.Permissions = *b }
}

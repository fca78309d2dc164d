package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"holdpoint/activities"
	"holdpoint/api"
	"holdpoint/interaction"
	"holdpoint/internal/store"
	"holdpoint/permission"
	"holdpoint/tool"
	"holdpoint/tool/mcp"
)

// ruleStore is where rules are kept: in the database of everything else, or in one of their own.
type ruleStore interface {
	SaveRules(ctx context.Context, rules ...permission.Rule) ([]store.SavedRule, error)
	AddRules(ctx context.Context, rules ...permission.Rule) ([]store.SavedRule, error)
	RevokeRules(ctx context.Context, user interaction.PrincipalID, id string, by interaction.PrincipalID, at time.Time) ([]string, error)
	ListRules(ctx context.Context, f store.RuleFilter) ([]store.StoredRule, string, error)
}

// permissions serves the bridge: rules, and decisions by the same way as those that count.
type permissions struct {
	rules ruleStore
	store *store.Store
	defs  *definitions
	acts  *activities.Activities
}

// newActivities makes what decides and runs. A worker adds what it runs with.
func (a *App) newActivities() *activities.Activities {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "" // then ~/ in a path asks
	}
	acts := &activities.Activities{Store: a.activityStore(), Definitions: a.defs, Validate: a.schemas.validate,
		Protected: protected(a.o, a.defs.cfg), Home: home, Now: a.o.Now,
		Notifiers: a.notifiers, NoticePause: a.o.NoticePause}
	if a.secrets != nil {
		acts.Secrets = a.secrets
	}
	return acts
}

func (a *App) permissions() api.Permissions {
	return permissions{rules: a.ruleStore(), store: a.store, defs: a.defs, acts: a.newActivities()}
}

// told turns the store's errors into those that the bridge knows.
func told(err error) error {
	switch {
	case errors.Is(err, store.ErrExists):
		return errors.Join(api.ErrRuleExists, err)
	case errors.Is(err, store.ErrStricter):
		return errors.Join(api.ErrRuleInTheWay, err)
	case errors.Is(err, store.ErrNotFound):
		return errors.Join(api.ErrNoRule, err)
	}
	return err
}

func (p permissions) SaveRules(ctx context.Context, rules ...permission.Rule) ([]api.SavedRule, error) {
	saved, err := p.rules.SaveRules(ctx, rules...)
	return savedRules(saved, err)
}

func (p permissions) AddRules(ctx context.Context, rules ...permission.Rule) ([]api.SavedRule, error) {
	saved, err := p.rules.AddRules(ctx, rules...)
	return savedRules(saved, err)
}

func savedRules(saved []store.SavedRule, err error) ([]api.SavedRule, error) {
	out := make([]api.SavedRule, 0, len(saved))
	for _, s := range saved {
		out = append(out, api.SavedRule(s))
	}
	return out, told(err)
}

func (p permissions) RevokeRules(ctx context.Context, user interaction.PrincipalID, id string, by interaction.PrincipalID, at time.Time) ([]string, error) {
	ended, err := p.rules.RevokeRules(ctx, user, id, by, at)
	return ended, told(err)
}

func (p permissions) ListRules(ctx context.Context, f api.RuleFilter) ([]api.StoredRule, string, error) {
	list, next, err := p.rules.ListRules(ctx, store.RuleFilter{UserID: f.UserID, Scope: f.Scope, SessionID: f.SessionID, Effect: f.Effect,
		State: store.RuleState(f.State), Now: f.Now, PageSize: f.PageSize, PageToken: f.PageToken})
	out := make([]api.StoredRule, 0, len(list))
	for _, r := range list {
		out = append(out, api.StoredRule(r))
	}
	return out, next, err
}

func (permissions) BundleID(id string, n int) string { return store.BundleID(id, n) }

func (p permissions) Check(ctx context.Context, c api.CheckCall) (api.CheckResult, error) {
	call, d, invalid, err := p.acts.Check(ctx, activities.CheckInput(c))
	return api.CheckResult{Call: call, Decision: d, Invalid: invalid}, err
}

func (p permissions) PolicyRules(name string) ([]permission.Rule, bool) {
	ag, found := p.defs.Agent(name)
	if !found {
		return nil, false
	}
	rules, _ := p.defs.Policy(ag.Policy)
	return slices.Concat(p.acts.Protected, rules), true
}

func (p permissions) PastCalls(ctx context.Context, user interaction.PrincipalID, limit int) ([]api.PastCall, error) {
	calls, err := p.store.PastCalls(ctx, user, limit)
	if err != nil {
		return nil, err
	}
	out := make([]api.PastCall, 0, len(calls))
	for _, c := range calls {
		one := api.PastCall{RunID: c.Call.RunID, SessionID: c.Call.SessionID, CallID: c.Call.ID, Agent: c.Agent, Tool: c.Call.Name,
			Args: c.Call.Args, At: c.EndedAt}
		if c.Result != nil {
			one.Status = string(c.Result.Status)
		}
		ag, _ := p.defs.Agent(c.Agent) // one that is gone has no workspace
		one.Call = p.acts.PastCall(ag, p.toolNow(c.Call.Name), c.Call)
		out = append(out, one)
	}
	return out, nil
}

// toolNow is a tool as it is configured now, or as its name tells of it.
func (p permissions) toolNow(name string) tool.Definition {
	if t, ok := p.defs.Tool(name); ok {
		return t.Definition()
	}
	return activities.Unconfigured(name)
}

// Odd warns of a rule that no call could match, and of one about a tool that is not there: it may come later, or be a slip. The tools of MCP servers come
// and go, so that only the server is looked at.
func (p permissions) Odd(r permission.Rule) string {
	if idle := permission.Idle(r.Pattern); idle != "" {
		return idle
	}
	for _, d := range p.defs.tools.Definitions() {
		if r.IsAbout(permission.Tool{Name: d.Name, Server: d.Server}) {
			return ""
		}
	}
	name, _, _ := strings.Cut(strings.TrimSpace(r.Pattern), "(")
	var servers []string
	for _, t := range p.defs.cfg.Tools {
		if t.Server == nil {
			continue
		}
		prefix := mcp.Prefix + t.Name
		if strings.HasPrefix(name+"__", prefix+"__") || r.IsAbout(permission.Tool{Name: prefix + "__any", Server: t.Name}) {
			return ""
		}
		servers = append(servers, prefix+"__…")
	}
	known := strings.Join(append(p.defs.tools.Names(), servers...), ", ")
	for _, have := range p.defs.tools.Names() {
		if strings.EqualFold(have, name) {
			return fmt.Sprintf("no tool is named %q, so the rule allows nothing: write %s, as the tool is spelled", name, have)
		}
	}
	return fmt.Sprintf("no tool is named %q now, so the rule holds for nothing until there is one; there are %s", name, known)
}

func (p permissions) Templates() []api.RuleTemplate {
	out := make([]api.RuleTemplate, 0, len(p.defs.cfg.Templates))
	for _, t := range p.defs.cfg.Templates {
		out = append(out, api.RuleTemplate{Name: t.Name, Description: t.Description, Rules: t.Rules})
	}
	slices.SortFunc(out, func(a, b api.RuleTemplate) int { return strings.Compare(a.Name, b.Name) })
	return out
}

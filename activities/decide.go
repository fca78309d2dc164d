package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"holdpoint/agent"
	"holdpoint/interaction"
	"holdpoint/permission"
	"holdpoint/tool"
)

// decide is the one place where permission is decided. It is called when a model's calls are taken in, in the
// transaction that claims an execution, and for what a running call would go on to (hop), each time with the rules as
// they stand then. Whatever can't be read ends in ask, never in allow.
//
// Judging a hostile command may take long, and the transaction holds every other writer up. So a verdict is
// worked out before it, and counts in it only if the rules are still the same.
//
// counted are the grants whose use the call has counted already.
func (a *Activities) decide(ctx context.Context, tx Tx, run agent.Run, ag agent.Agent, def tool.Definition, args []byte, counted []string, before *verdict) (permission.Decision, error) {
	now, err := a.rulesFor(ctx, tx, run, ag, counted...)
	if err != nil {
		return permission.Decision{}, err
	}
	if before != nil && before.under == now.key {
		return before.decision, nil
	}
	return a.judge(now, run, ag, def, args), nil
}

// verdict is a decision with the rules that it was made under.
type verdict struct {
	under    rulesKey
	decision permission.Decision
}

// inForce is what holds for one run at one moment.
type inForce struct {
	key      rulesKey
	at       time.Time
	set      *ruleSet          // nil: rules are still to be compiled
	rules    []permission.Rule // without a set
	common   bool              // they are what everyone has whose agent has this policy: no rule is stored for the user or session
	readable bool              // false when the agent names a policy that is gone
}

// rulesFor gathers what is in force: Holdpoint's own denies, the agent's policy, the user's and session's rules. Of the
// counted grants, a use is the call's own. The stored rules are read, or known by their version, in the transaction.
func (a *Activities) rulesFor(ctx context.Context, tx Tx, run agent.Run, ag agent.Agent, counted ...string) (inForce, error) {
	policy, found := a.Definitions.Policy(ag.Policy)
	version, err := tx.RulesVersion(ctx, run.UserID)
	if err != nil {
		return inForce{}, fmt.Errorf("rules of user %q: %w", run.UserID, err)
	}
	in := inForce{at: a.Now(), readable: found || ag.Policy == "", key: rulesKey{policy: a.memory.policy(ag.Policy, policy, found),
		user: string(run.UserID), session: string(run.GrantSession()), version: version, counted: strings.Join(counted, " ")}}
	if set, ok := a.memory.set(in.key); ok {
		in.set, in.key.expired = set, expired(set.expiries, in.at)
		return in, nil
	}
	stored, err := tx.Rules(ctx, run.UserID, run.GrantSession())
	if err != nil {
		return inForce{}, fmt.Errorf("rules of user %q: %w", run.UserID, err)
	}
	for i, r := range stored {
		if r.MaxUses > 0 && r.Uses > 0 && slices.Contains(counted, r.ID) {
			stored[i].Uses--
		}
	}
	in.rules, in.common = slices.Concat(a.Protected, policy, stored), len(stored) == 0
	in.key.expired = expired(expiriesOf(in.rules), in.at)
	return in, nil
}

// compiled returns the rules ready for deciding.
func (a *Activities) compiled(in inForce) *ruleSet {
	if in.set != nil {
		return in.set
	}
	if set, ok := a.memory.set(in.key); ok {
		return set
	}
	shared := rulesKey{policy: in.key.policy, common: true}
	set, ok := a.memory.set(shared)
	if !in.common || !ok {
		set = compileSet(in.rules)
	}
	if in.common {
		a.memory.keepSet(shared, set)
	}
	a.memory.keepSet(in.key, set)
	return set
}

// judge decides a call under given rules, or remembers how it decided. It opens no transaction and is not called in
// one, but for rules that changed within milliseconds.
func (a *Activities) judge(in inForce, run agent.Run, ag agent.Agent, def tool.Definition, args []byte) permission.Decision {
	call := a.permissionCall(in, run, ag, def, args)
	key, keep := keyOf(in, call, ag.EnablePermissions)
	if keep {
		if d, ok := a.memory.verdict(key, in.at); ok {
			a.observer().Decided(d.Effect, true)
			return d
		}
	}
	var links []link
	call.Resolve = func(path string) (string, error) {
		real, err := resolveLinks(path)
		links = append(links, link{path, real, err != nil})
		return real, err
	}
	d := decideBy(a.compiled(in), call, in.readable, ag.EnablePermissions)
	if keep {
		a.memory.keepVerdict(key, d, links, in.at)
	}
	a.observer().Decided(d.Effect, false)
	return d
}

// permissionCall is a call as the engine sees it.
func (a *Activities) permissionCall(in inForce, run agent.Run, ag agent.Agent, def tool.Definition, args []byte) permission.Call {
	t := permissionTool(def, ag.AutoApproveRisk)
	if def.Closed {
		t.Fields = a.memory.schemaFields(def.Schema)
	}
	return permission.Call{Tool: t, Args: args, Workspace: ag.Workspace, Home: a.Home, UserID: string(run.UserID),
		SessionID: string(run.GrantSession()), Resolve: resolveLinks, Now: in.at}
}

func decideBy(rules *ruleSet, call permission.Call, readable, permissions bool) permission.Decision {
	if rules.set == nil {
		return permission.Decision{Effect: permission.Ask, Reason: fmt.Sprintf("the rules can't be read: %v", rules.err)}
	}
	d := rules.set.Decide(call)
	if d.Effect == permission.Allow && (rules.err != nil || !readable) {
		d.Effect = permission.Ask
		d.Reason = "a rule or policy that this agent names can't be read, so nothing is allowed without a person"
	}
	if d.Effect == permission.Ask && !permissions && readable && rules.err == nil {
		d.Effect = permission.Allow
		d.Reason = "permissions are switched off for this agent and no rule denies the call"
	}
	return d
}

// permissionTool tells the engine about a tool, as an agent that accepts risks up to a limit uses it; without the names
// of its arguments.
func permissionTool(def tool.Definition, accepted permission.Risk) permission.Tool {
	t := permission.Tool{Name: def.Name, Server: def.Server, Field: def.Field, Risk: permission.Risk(def.Risk)}
	switch def.Resource {
	case tool.ResourceCommand:
		t.Kind = permission.KindCommand
	case tool.ResourceRead:
		t.Kind = permission.KindRead
	case tool.ResourceWrite:
		t.Kind = permission.KindWrite
	case tool.ResourceURL:
		t.Kind = permission.KindURL
	case tool.ResourceArgs:
		t.Kind = permission.KindOther
	default:
		t.Kind = permission.KindOther
	}
	if def.Server != "" {
		t.Kind = permission.KindMCP
	}
	switch def.Consent {
	case tool.ConsentNever:
		t.Consent = permission.ConsentNever
	case tool.ConsentOutside:
		t.Consent = permission.ConsentOutside
	case tool.ConsentAlways:
		t.Consent = permission.ConsentAlways
	default:
		t.Consent = permission.ConsentAlways
	}
	if t.Consent == permission.ConsentAlways && accepted.Accepts(t.Risk) {
		t.Consent = permission.ConsentAccepted
	}
	return t
}

// schemaFields lists the argument names that a schema knows; none is not the same as open.
func schemaFields(schema []byte) []string {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	fields := []string{}
	if json.Unmarshal(schema, &s) == nil {
		for name := range s.Properties {
			fields = append(fields, name)
		}
	}
	slices.Sort(fields)
	return fields
}

// resolveLinks follows symlinks; of a path that does not exist, those of its nearest existing parent.
func resolveLinks(path string) (string, error) {
	rest := ""
	for p := path; ; {
		real, err := filepath.EvalSymlinks(p)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if _, lerr := os.Lstat(p); lerr == nil {
			return "", fmt.Errorf("%s is a link to nowhere", p)
		}
		parent := filepath.Dir(p)
		if parent == p {
			return "", err
		}
		rest = filepath.Join(filepath.Base(p), rest)
		p = parent
	}
}

// outside reports whether any path that was decided on lies outside the workspace.
func outside(d permission.Decision, workspace string) bool {
	real := workspace
	if r, err := filepath.EvalSymlinks(workspace); err == nil {
		real = r
	}
	for _, p := range d.Paths {
		if !within(p, workspace) && !within(p, real) {
			return true
		}
	}
	return false
}

func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return dir != "" && err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// enough reports whether an approval that was given to asked meets what is required now, for the digest that is about to
// run. why says what is missing.
func enough(need permission.Approval, requester interaction.PrincipalID, asked interaction.Interaction, out *interaction.Outcome, now time.Time) (ok bool, why string) {
	if out == nil {
		return false, ""
	}
	redacts := asked.Request.Kind == interaction.KindResult && out.Action == interaction.ActionRedact
	if out.Status != interaction.StatusAnswered || (out.Action != interaction.ActionApprove && out.Action != interaction.ActionModifyArgs && !redacts) {
		return false, "the answer was not an approval"
	}
	var approvers, seats []interaction.PrincipalID
	for n, r := range out.Responses {
		approves := r.Action == interaction.ActionApprove || r.Action == interaction.ActionModifyArgs
		if asked.Request.Kind == interaction.KindResult {
			approves = interaction.SameVote(r, out.Responses[len(out.Responses)-1]) && interaction.Stands(out.Responses, n)
		}
		if !approves || slices.Contains(approvers, r.Reviewer.ID) {
			continue
		}
		at := r.RespondedAt
		if at.IsZero() {
			at = now
		}
		seat, ok := interaction.SeatOf(mayApprove(need, asked, at), out.Responses, n)
		if !ok || slices.Contains(seats, seat) {
			continue
		}
		if need.ExcludeRequester && (r.Reviewer.ID == "" || requester == "" || r.Reviewer.ID == requester || seat == requester) {
			continue
		}
		approvers, seats = append(approvers, r.Reviewer.ID), append(seats, seat)
	}
	if n := max(need.Quorum, 1); len(approvers) < n {
		return false, fmt.Sprintf("the rules now in force need %d approval(s) by those they name; this has %d", n, len(approvers))
	}
	return true, ""
}

// mayApprove lists whom the rules name for an answer that was given at that time. A ladder that was not the one asked by
// lets nobody in before their rung has come.
func mayApprove(need permission.Approval, asked interaction.Interaction, at time.Time) []string {
	who := need.Reviewers
	if len(who) == 0 {
		return who
	}
	same := slices.EqualFunc(need.Escalate, asked.Request.Escalate, func(a permission.Escalation, b interaction.Escalation) bool {
		return a.After == b.After && slices.Equal(a.To, b.To)
	})
	for _, rung := range need.Escalate {
		if same || !at.Before(asked.Request.CreatedAt.Add(rung.After+asked.HeldFor)) {
			who = slices.Concat(who, rung.To)
		}
	}
	return who
}

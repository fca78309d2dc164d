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
	under    string // inForce.key
	decision permission.Decision
}

// inForce is what holds for one run at one moment.
type inForce struct {
	rules    []permission.Rule
	readable bool   // false when the agent names a policy that is gone
	key      string // equal for equal rules
}

// rulesFor gathers what is in force: Holdpoint's own denies, the agent's policy, the user's and session's rules. Of the
// counted grants, a use is the call's own.
func (a *Activities) rulesFor(ctx context.Context, tx Tx, run agent.Run, ag agent.Agent, counted ...string) (inForce, error) {
	policy, found := a.Definitions.Policy(ag.Policy)
	stored, err := tx.Rules(ctx, run.UserID, run.SessionID)
	if err != nil {
		return inForce{}, fmt.Errorf("rules of user %q: %w", run.UserID, err)
	}
	for i, r := range stored {
		if r.MaxUses > 0 && r.Uses > 0 && slices.Contains(counted, r.ID) {
			stored[i].Uses--
		}
	}
	in := inForce{readable: found || ag.Policy == ""}
	now := a.Now()
	for _, r := range slices.Concat(a.Protected, policy, stored) {
		if r.ExpiresAt.IsZero() || now.Before(r.ExpiresAt) {
			in.rules = append(in.rules, r)
		}
	}
	b, err := json.Marshal(in.rules)
	if err != nil {
		return inForce{}, fmt.Errorf("rules of user %q: %w", run.UserID, err)
	}
	in.key = fingerprint(fmt.Sprintf("%t %s", in.readable, b))
	return in, nil
}

// judge decides a call under given rules. It opens no transaction and is not called in one, but for rules that
// changed within milliseconds.
func (a *Activities) judge(in inForce, run agent.Run, ag agent.Agent, def tool.Definition, args []byte) permission.Decision {
	set, _, compileErr := permission.Compile(in.rules)
	if set == nil {
		return permission.Decision{Effect: permission.Ask, Reason: fmt.Sprintf("the rules can't be read: %v", compileErr)}
	}
	d := set.Decide(permission.Call{Tool: permissionTool(def, ag.AutoApproveRisk), Args: args, Workspace: ag.Workspace, Home: a.Home,
		UserID: string(run.UserID), SessionID: string(run.SessionID), Resolve: resolveLinks, Now: a.Now()})
	if d.Effect == permission.Allow && (compileErr != nil || !in.readable) {
		d.Effect = permission.Ask
		d.Reason = "a rule or policy that this agent names can't be read, so nothing is allowed without a person"
	}
	if d.Effect == permission.Ask && !ag.EnablePermissions && in.readable && compileErr == nil {
		d.Effect = permission.Allow
		d.Reason = "permissions are switched off for this agent and no rule denies the call"
	}
	return d
}

// permissionTool tells the engine about a tool, as an agent that accepts risks up to a limit uses it.
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
	if def.Closed {
		t.Fields = schemaFields(def.Schema)
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

// enough reports whether an approval meets what is required now, for the digest that is about to run. why says
// what is missing.
func enough(need permission.Approval, requester interaction.PrincipalID, out *interaction.Outcome) (ok bool, why string) {
	if out == nil {
		return false, ""
	}
	if out.Status != interaction.StatusAnswered || (out.Action != interaction.ActionApprove && out.Action != interaction.ActionModifyArgs) {
		return false, "the answer was not an approval"
	}
	var approvers []interaction.PrincipalID
	for _, r := range out.Responses {
		approves := r.Action == interaction.ActionApprove || r.Action == interaction.ActionModifyArgs
		if !approves || slices.Contains(approvers, r.Reviewer.ID) {
			continue
		}
		if !interaction.Entitled(need.Reviewers, r.Reviewer) {
			continue
		}
		if need.ExcludeRequester && (r.Reviewer.ID == "" || requester == "" || r.Reviewer.ID == requester) {
			continue
		}
		approvers = append(approvers, r.Reviewer.ID)
	}
	if n := max(need.Quorum, 1); len(approvers) < n {
		return false, fmt.Sprintf("the rules now in force need %d approval(s) by those they name; this has %d", n, len(approvers))
	}
	return true, ""
}

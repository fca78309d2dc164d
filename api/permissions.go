package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"holdpoint/interaction"
	"holdpoint/permission"
)

// OrganisationUser stands for the user in paths of rules that belong to nobody in particular and bind everyone.
const OrganisationUser = "@organisation"

const (
	previewCalls    = 500  // looked at unless said
	maxPreviewCalls = 1000 // at most
	previewTime     = 3 * time.Second
)

func (s *Server) permissionRoutes(h huma.API) {
	if s.cfg.Permissions == nil {
		return
	}
	register(s, h, operation(h, "list-rules", http.MethodGet, "/v1/permissions/{user_id}",
		"The rules stored for a user and those that bind everyone, newest first", 200, 400, 404, 422), s.listRules)
	for _, e := range []permission.Effect{permission.Allow, permission.Deny} {
		op := operation(h, e.String()+"-pattern", http.MethodPost, "/v1/permissions/{user_id}/"+e.String(), "Save a rule", 201, 400, 409, 413, 415)
		op.Description = "It takes the place of what was said before of the same pattern and conditions for the same user and session. " +
			"It is in force at the next check, in every worker, once this is answered. " + OrganisationUser + " as the user binds everyone, by denies."
		body[SaveRule](h, &op)
		register(s, h, op, func(ctx context.Context, in *saveRuleInput) (*ruleOutput, error) { return s.saveRule(ctx, in, e) })
	}
	register(s, h, operation(h, "revoke-rule", http.MethodDelete, "/v1/permissions/{user_id}/{rule_id}",
		"End a rule, or those that were granted together under an id", 200, 404), s.revokeRule)
	check := operation(h, "check", http.MethodPost, "/v1/permissions/check", "What would be decided on a call, and why; nothing is run or saved", 200, 400, 413, 415)
	body[CheckRequest](h, &check)
	register(s, h, check, s.checkCall)
	preview := operation(h, "preview-rule", http.MethodPost, "/v1/permissions/{user_id}/preview",
		"Which past calls of the user's runs a rule would have matched", 200, 400, 413, 415)
	body[PreviewRequest](h, &preview)
	register(s, h, preview, s.preview)
	grant := operation(h, "grant-template", http.MethodPost, "/v1/permissions/{user_id}/templates/{name}",
		"Grant a named set of rules in one step", 201, 400, 404, 409, 413, 415)
	body[GrantTemplate](h, &grant)
	register(s, h, grant, s.grantTemplate)
	register(s, h, operation(h, "list-templates", http.MethodGet, "/v1/permission-templates", "The rule sets that can be granted", 200), s.listTemplates)
	s.plainPermissionRoutes(h)
	// json.Number is a number on the wire.
	if c := h.OpenAPI().Components.Schemas.Map()["PermissionCondition"]; c != nil {
		c.Properties["min"].Type, c.Properties["max"].Type = "number", "number"
	}
}

// schemaName names a type in the API's description. Types of the engine say so: others have the same names.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Name() != "" && t.PkgPath() == reflect.TypeFor[permission.Rule]().PkgPath() {
		return "Permission" + name
	}
	return name
}

// userOf is whose rules a path means: "" for the organisation's.
func userOf(id interaction.PrincipalID) interaction.PrincipalID {
	if id == OrganisationUser {
		return ""
	}
	return id
}

type listRulesInput struct {
	UserID interaction.PrincipalID `path:"user_id" maxLength:"256"`
	PageQuery
	Scope     string `query:"scope" enum:"user,session,organisation"`
	SessionID string `query:"session_id" maxLength:"128"`
	Effect    string `query:"effect" enum:"allow,deny,ask"`
	State     string `query:"state" enum:"in_force,ended,all" default:"in_force" doc:"ended: revoked, replaced, expired or used up"`
	Agent     string `query:"agent" maxLength:"128" doc:"Shows the rules of this agent's policy too"`
}

type ruleListOutput struct{ Body RuleList }

func (s *Server) listRules(ctx context.Context, in *listRulesInput) (*ruleListOutput, error) {
	if err := s.mayRead(ctx, in.UserID); err != nil {
		return nil, err
	}
	now := s.now()
	f := RuleFilter{UserID: string(userOf(in.UserID)), Scope: permission.Layer(in.Scope), SessionID: in.SessionID, Effect: in.Effect,
		State: in.State, Now: now, PageSize: in.PageSize, PageToken: in.PageToken}
	if f.State == "in_force" {
		f.State = ""
	}
	out := RuleList{Items: []RuleView{}}
	if in.Agent != "" {
		rules, found := s.cfg.Permissions.PolicyRules(in.Agent)
		if !found {
			return nil, s.noAgent(in.Agent)
		}
		if in.PageToken == "" {
			out.Policy = rules
		}
	}
	rules, next, err := s.cfg.Permissions.ListRules(ctx, f)
	if err != nil {
		return nil, badQuery(err)
	}
	for _, r := range rules {
		out.Items = append(out.Items, viewOf(r, now))
	}
	out.NextPageToken = next
	return &ruleListOutput{out}, nil
}

func viewOf(r StoredRule, now time.Time) RuleView {
	v := RuleView{StoredRule: r, Scope: r.Source.Layer}
	v.InForce = r.RevokedAt.IsZero() && (r.ExpiresAt.IsZero() || now.Before(r.ExpiresAt)) && (r.MaxUses == 0 || r.Uses < r.MaxUses)
	return v
}

func (s *Server) noAgent(name string) *Problem {
	p := problem(http.StatusUnprocessableEntity, CodeUnknownAgent, "there is no agent %q; agents lists those there are", name)
	for _, a := range s.cfg.Agents.Agents() {
		p.Agents = append(p.Agents, a.Name)
	}
	return p
}

type revokeRuleInput struct {
	UserID interaction.PrincipalID `path:"user_id" maxLength:"256"`
	RuleID string                  `path:"rule_id" maxLength:"512"`
}

type revokedOutput struct{ Body Revoked }

func (s *Server) revokeRule(ctx context.Context, in *revokeRuleInput) (*revokedOutput, error) {
	if err := s.mayRevoke(ctx, in.UserID, in.RuleID); err != nil {
		return nil, err
	}
	ended, err := s.cfg.Permissions.RevokeRules(ctx, userOf(in.UserID), in.RuleID, principal(ctx).ID, s.now())
	if errors.Is(err, ErrNoRule) {
		return nil, noRule(in.RuleID)
	}
	if err != nil {
		return nil, err
	}
	if len(ended) > 0 {
		s.rulesChanged(ctx, userOf(in.UserID))
	}
	return &revokedOutput{Revoked{append([]string{}, ended...)}}, nil
}

func noRule(id string) *Problem {
	return problem(http.StatusNotFound, CodeNotFound, "the user has no rule %q", id)
}

type rawInput struct{ RawBody []byte }

type checkedOutput struct{ Body Checked }

func (s *Server) checkCall(ctx context.Context, in *rawInput) (*checkedOutput, error) {
	var b CheckRequest
	if err := interaction.Strict(in.RawBody, &b); err != nil {
		return nil, err
	}
	if b.UserID == "" {
		b.UserID = principal(ctx).ID
	}
	if err := s.mayRead(ctx, b.UserID); err != nil {
		return nil, err
	}
	args := []byte(b.ArgsRaw)
	switch {
	case b.Tool == "" || len(b.Tool) > 256:
		return nil, badField("tool", "name the tool, such as bash")
	case (len(b.Args) > 0) == (b.ArgsRaw != ""):
		return nil, badField("args", "give the arguments of the call, either as an object in args or as text in args_raw")
	case len(b.Args) > 0:
		args = b.Args
	}
	if _, found := s.cfg.Permissions.PolicyRules(b.Agent); b.Agent != "" && !found {
		return nil, badField("agent", fmt.Sprintf("there is no agent %q; there are %s", b.Agent, strings.Join(s.noAgent(b.Agent).Agents, ", ")))
	}
	res, err := s.cfg.Permissions.Check(ctx, CheckCall{UserID: b.UserID, SessionID: b.SessionID, Agent: b.Agent, Tool: b.Tool, Args: args})
	if err != nil {
		return nil, err
	}
	return &checkedOutput{Checked{Decision: res.Decision, Explanation: permission.Explain(res.Call, res.Decision), Invalid: res.Invalid}}, nil
}

// badField refuses a part of a body.
func badField(field, message string) *Problem {
	return problem(http.StatusBadRequest, CodeInvalid, "%s: %s", field, message).at("body."+field, message)
}

type previewInput struct {
	UserID  interaction.PrincipalID `path:"user_id" maxLength:"256"`
	RawBody []byte
}

type previewOutput struct{ Body Previewed }

func (s *Server) preview(ctx context.Context, in *previewInput) (*previewOutput, error) {
	if err := s.mayRead(ctx, in.UserID); err != nil {
		return nil, err
	}
	b := PreviewRequest{Effect: permission.Allow, Limit: previewCalls}
	if err := interaction.Strict(in.RawBody, &b); err != nil {
		return nil, err
	}
	if b.Limit < 1 || b.Limit > maxPreviewCalls {
		return nil, badField("limit", "use 1 to 1000")
	}
	rule := permission.Rule{Effect: b.Effect, Pattern: b.Pattern, Where: b.Where}
	if p := refusedByEngine(rule); p != nil {
		return nil, p
	}
	past, err := s.cfg.Permissions.PastCalls(ctx, userOf(in.UserID), b.Limit)
	if err != nil {
		return nil, err
	}
	out := Previewed{Items: []PastCall{}, Complete: true}
	began := time.Now()
	for _, c := range past {
		if time.Since(began) > previewTime || ctx.Err() != nil { // a hostile command takes its time
			out.Complete = false
			break
		}
		out.LookedAt++
		if c.Call.Tool.Name != "" && len(permission.Preview(rule, []permission.Call{c.Call})) > 0 {
			c.Args = validJSON(c.Args)
			out.Items = append(out.Items, c)
		}
	}
	return &previewOutput{out}, nil
}

type templateListOutput struct{ Body TemplateList }

func (s *Server) listTemplates(context.Context, *struct{}) (*templateListOutput, error) {
	return &templateListOutput{newPage(s.cfg.Permissions.Templates(), "")}, nil
}

// templateNames tells which templates there are.
func (s *Server) templateNames() string {
	var names []string
	for _, t := range s.cfg.Permissions.Templates() {
		names = append(names, t.Name)
	}
	if len(names) == 0 {
		return "; the configuration has none (type: policy_template)"
	}
	return "; there are " + strings.Join(names, ", ")
}

// template finds one by name.
func (s *Server) template(name string) (RuleTemplate, bool) {
	all := s.cfg.Permissions.Templates()
	n := slices.IndexFunc(all, func(t RuleTemplate) bool { return t.Name == name })
	if n < 0 {
		return RuleTemplate{}, false
	}
	return all[n], true
}

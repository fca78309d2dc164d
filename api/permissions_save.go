package api

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"holdpoint/interaction"
	"holdpoint/permission"
)

const (
	maxPatternBytes = 16 << 10
	maxConditions   = 32
	maxRuleUses     = 1_000_000
	// maxRuleLife is the longest time a rule may be given; more is a slip of the unit. Without an expiry it lives on.
	maxRuleLife = 10 * 365 * 24 * time.Hour
)

type saveRuleInput struct {
	UserID  interaction.PrincipalID `path:"user_id" maxLength:"256"`
	RawBody []byte
}

type ruleOutput struct {
	Status int
	Body   RuleView
}

func (s *Server) saveRule(ctx context.Context, in *saveRuleInput, effect permission.Effect) (*ruleOutput, error) {
	var b SaveRule
	if err := interaction.Strict(in.RawBody, &b); err != nil {
		return nil, err
	}
	v, err := s.keepRule(ctx, in.UserID, effect, b)
	if err != nil {
		return nil, err
	}
	return &ruleOutput{http.StatusCreated, v}, nil
}

// keepRule saves one rule for whoever may, and has what waits looked at again.
func (s *Server) keepRule(ctx context.Context, user interaction.PrincipalID, effect permission.Effect, b SaveRule) (RuleView, error) {
	r, err := s.ruleOf(ctx, user, effect, b)
	if err != nil {
		return RuleView{}, err
	}
	if p := refusedByEngine(r); p != nil {
		return RuleView{}, p
	}
	if err := s.maySave(ctx, user, r); err != nil {
		return RuleView{}, err
	}
	save := s.cfg.Permissions.AddRules
	if isAdmin(principal(ctx)) {
		save = s.cfg.Permissions.SaveRules
	}
	views, err := s.saveAll(ctx, save, []permission.Rule{r})
	if err != nil {
		return RuleView{}, err
	}
	return views[0], nil
}

// saving is SaveRules or AddRules.
type saving func(ctx context.Context, rules ...permission.Rule) ([]SavedRule, error)

func (s *Server) saveAll(ctx context.Context, save saving, rules []permission.Rule) ([]RuleView, error) {
	saved, err := save(ctx, rules...)
	if errors.Is(err, ErrRuleInTheWay) {
		return nil, problem(http.StatusConflict, CodeRuleInTheWay, "a stored rule says more about one of these patterns, and would end: "+
			"an admin may revoke it, or save another in its place").at("body.pattern", "a stricter rule has its place")
	}
	if errors.Is(err, ErrRuleExists) {
		return nil, problem(http.StatusConflict, CodeIDReused, "the id was used for another rule; choose another, or leave it out").at("body.id", "is taken")
	}
	if err != nil {
		return nil, err
	}
	now := s.now()
	views := make([]RuleView, 0, len(saved))
	for _, one := range saved {
		v := viewOf(StoredRule{Rule: one.Rule}, now)
		v.Replaced, v.Warning = one.Replaced, s.cfg.Permissions.Odd(one.Rule)
		views = append(views, v)
	}
	s.rulesChanged(ctx, interaction.PrincipalID(rules[0].UserID))
	return views, nil
}

// bound is how many uses a body says, nothing where there is no bound.
func bound(uses int) *int {
	if uses == 0 {
		return nil
	}
	return &uses
}

func orNone(uses *int) int {
	if uses == nil {
		return 0
	}
	return *uses
}

// ruleOf makes a rule of a body.
func (s *Server) ruleOf(ctx context.Context, user interaction.PrincipalID, effect permission.Effect, b SaveRule) (permission.Rule, error) {
	now := s.now()
	expires, p := lifetime(now, b.ExpiresAt, b.ExpiresIn)
	switch {
	case p != nil:
	case len(b.Pattern) > maxPatternBytes:
		p = tooLong("body.pattern", len(b.Pattern), maxPatternBytes)
	case len(b.Where) > maxConditions:
		p = badField("where", "at most 32 conditions are taken")
	case len(b.Note) > interaction.MaxNoteBytes:
		p = tooLong("body.note", len(b.Note), interaction.MaxNoteBytes)
	case len(b.SessionID) > 128 || len(b.InteractionID) > 512:
		p = badField("session_id", "the ids are too long")
	case b.MaxUses != nil && (*b.MaxUses < 1 || *b.MaxUses > maxRuleUses): // a count that came down to 0 is no bound lifted
		p = badField("max_uses", "use 1 to 1000000, or leave it out for no bound")
	case !ruleID(b.ID):
		p = badField("id", "use at most 100 letters, digits, - _ and :")
	case b.Risk != "" && !knownRisk(b.Risk):
		p = badField("risk", "use low, medium, high or critical")
	case userOf(user) == "" && effect == permission.Allow:
		p = badField("pattern", "an allow belongs to a user; write an allow for everyone into a policy")
	case userOf(user) == "" && b.SessionID != "":
		p = badField("session_id", "a session's rule belongs to a user")
	}
	if p != nil {
		return permission.Rule{}, p
	}
	r := permission.Rule{ID: b.ID, Effect: effect, Pattern: b.Pattern, UserID: string(userOf(user)), SessionID: string(b.SessionID),
		ExpiresAt: expires, Where: b.Where, MaxUses: orNone(b.MaxUses), Risk: b.Risk, GrantedBy: string(principal(ctx).ID),
		InteractionID: string(b.InteractionID), Note: b.Note, CreatedAt: now}
	if r.ID == "" {
		r.ID = uuid.NewString()
	}
	return r, nil
}

func ruleID(id string) bool {
	return len(id) <= 100 && !strings.ContainsFunc(id, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != ':'
	})
}

func knownRisk(r permission.Risk) bool {
	switch r {
	case permission.RiskLow, permission.RiskMedium, permission.RiskHigh, permission.RiskCritical:
		return true
	default:
		return false
	}
}

// lifetime is when a rule ends; zero is never.
func lifetime(now, at time.Time, in string) (time.Time, *Problem) {
	switch {
	case in != "" && !at.IsZero():
		return at, badField("expires_in", "give expires_at or expires_in, not both")
	case in != "":
		d, err := interaction.ParseSpan(in)
		if err != nil || d <= 0 || d > maxRuleLife {
			return at, badField("expires_in", "write a time such as 90m, 24h or 7d, at most ten years")
		}
		return now.Add(d), nil
	case at.IsZero():
		return at, nil
	case !at.After(now):
		return at, badField("expires_at", "it has passed already")
	case at.After(now.Add(maxRuleLife)):
		return at, badField("expires_at", "it is more than ten years away; leave it out for a rule without end")
	}
	return at.UTC().Truncate(time.Microsecond), nil
}

// refusedByEngine says why the engine would not take a rule. A rule that would be kept and never match helps nobody.
func refusedByEngine(r permission.Rule) *Problem {
	_, problems, err := permission.Compile([]permission.Rule{r})
	if err == nil && len(problems) > 0 {
		err = problems[0].Err
	}
	if err == nil {
		return nil
	}
	message := err.Error()
	return problem(http.StatusBadRequest, CodeInvalid, "the rule can't be used: %s", message).at("body.pattern", message)
}

type grantTemplateInput struct {
	UserID  interaction.PrincipalID `path:"user_id" maxLength:"256"`
	Name    string                  `path:"name" maxLength:"128"`
	RawBody []byte
}

type grantedOutput struct {
	Status int
	Body   GrantedTemplate
}

// grantTemplate saves the rules of a template together, under ids that begin with one.
func (s *Server) grantTemplate(ctx context.Context, in *grantTemplateInput) (*grantedOutput, error) {
	var b GrantTemplate
	if err := interaction.Strict(in.RawBody, &b); err != nil {
		return nil, err
	}
	if !isAdmin(principal(ctx)) {
		return nil, problem(http.StatusForbidden, CodeForbidden, "only an admin may grant a template")
	}
	t, found := s.template(in.Name)
	if !found {
		return nil, problem(http.StatusNotFound, CodeNotFound, "there is no template %q%s", in.Name, s.templateNames())
	}
	out := GrantedTemplate{ID: b.ID, Template: t.Name}
	if out.ID == "" {
		out.ID = uuid.NewString()
	}
	rules := make([]permission.Rule, 0, len(t.Rules))
	for n, line := range t.Rules {
		note := b.Note
		if note == "" {
			note = "template " + t.Name
		}
		r, err := s.ruleOf(ctx, in.UserID, line.Effect, SaveRule{ID: b.ID, Pattern: line.Pattern, SessionID: b.SessionID, Where: line.Where,
			ExpiresAt: b.ExpiresAt, ExpiresIn: b.ExpiresIn, MaxUses: bound(line.MaxUses), Note: note, Risk: line.Risk})
		if err != nil {
			return nil, err
		}
		r.ID, r.Approval = s.cfg.Permissions.BundleID(out.ID, n+1), line.Approval
		r.Source.Name = t.Name
		rules = append(rules, r)
	}
	var err error
	if out.Rules, err = s.saveAll(ctx, s.cfg.Permissions.AddRules, rules); err != nil { // a set must not end what nobody looked at
		return nil, err
	}
	return &grantedOutput{http.StatusCreated, out}, nil
}

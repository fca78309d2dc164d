package interaction_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"holdpoint/interaction"
)

func grants(who string, a interaction.Action, g interaction.Grant) interaction.Response {
	r := says(who, a)
	r.Grant = &g
	return r
}

func TestGrantsThatAreRefused(t *testing.T) {
	t.Parallel()
	user := func(r *interaction.Request) { r.MaxGrant = interaction.GrantUser }
	session := func(r *interaction.Request) { r.MaxGrant = interaction.GrantSession }
	always := interaction.Grant{Scope: interaction.GrantUser, Patterns: []string{"bash(ls)"}}
	with := func(change func(*interaction.Grant)) interaction.Grant { g := always; change(&g); return g }
	late := grants("ada", interaction.ActionApprove, with(func(g *interaction.Grant) { g.ExpiresAt = t0 }))
	late.RespondedAt = t0
	for name, tt := range map[string]struct {
		change func(*interaction.Request)
		r      interaction.Response
		code   interaction.Code
		field  string
		text   string
	}{
		"the widest":            {user, grants("ada", interaction.ActionApprove, always), "", "", ""},
		"wider than is allowed": {session, grants("ada", interaction.ActionApprove, always), interaction.CodeNotEntitled, "grant.scope", "kept for: session"},
		"where none is allowed": {nil, grants("ada", interaction.ActionApprove, always), interaction.CodeNotEntitled, "grant.scope", "kept for: none"},
		"always reject":         {nil, grants("ada", interaction.ActionReject, always), "", "", ""},
		"with an edit": {user, func() interaction.Response {
			r := grants("ada", interaction.ActionModifyArgs, always)
			r.Args = []byte(`{}`)
			return r
		}(), interaction.CodeInvalid, "grant", "goes with approve or reject"},
		"no scope":                 {user, grants("ada", interaction.ActionApprove, with(func(g *interaction.Grant) { g.Scope = "" })), interaction.CodeInvalid, "grant.scope", "use session or user"},
		"the scope none":           {user, grants("ada", interaction.ActionApprove, with(func(g *interaction.Grant) { g.Scope = "none" })), interaction.CodeInvalid, "grant.scope", "use session or user"},
		"too many patterns":        {user, grants("ada", interaction.ActionApprove, with(func(g *interaction.Grant) { g.Patterns = make([]string, 21) })), interaction.CodeInvalid, "grant.patterns", "at most 20"},
		"an empty pattern":         {user, grants("ada", interaction.ActionApprove, with(func(g *interaction.Grant) { g.Patterns = []string{" "} })), interaction.CodeInvalid, "grant.patterns[0]", "is empty"},
		"a pattern too long":       {user, grants("ada", interaction.ActionApprove, with(func(g *interaction.Grant) { g.Patterns = []string{strings.Repeat("a", 2049)} })), interaction.CodeTooLarge, "grant.patterns[0]", "at most 2048"},
		"a pattern twice":          {user, grants("ada", interaction.ActionApprove, with(func(g *interaction.Grant) { g.Patterns = []string{"a", "a"} })), interaction.CodeInvalid, "grant.patterns[1]", "comes twice"},
		"fewer than no uses":       {user, grants("ada", interaction.ActionApprove, with(func(g *interaction.Grant) { g.MaxUses = -1 })), interaction.CodeInvalid, "grant.max_uses", "-1"},
		"a rejection with uses":    {user, grants("ada", interaction.ActionReject, with(func(g *interaction.Grant) { g.MaxUses = 1 })), interaction.CodeInvalid, "grant.max_uses", "1"},
		"over when it is given":    {user, late, interaction.CodeInvalid, "grant.expires_at", "is over"},
		"about an unknown outcome": {func(r *interaction.Request) { r.Kind = interaction.KindOutcomeUnknown; r.Options = nil }, grants("ada", interaction.ActionApprove, always), interaction.CodeInvalid, "grant", "belongs to the approval"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantError(t, approval(tt.change).Check(tt.r, t0), tt.code, tt.field, tt.text)
		})
	}
}

func TestWhatAnswersLeaveBehind(t *testing.T) {
	t.Parallel()
	a := interaction.Grant{Scope: interaction.GrantUser, Patterns: []string{"bash(ls)"}, ExpiresAt: t0.Add(time.Hour)}
	b := interaction.Grant{Scope: interaction.GrantSession, Patterns: []string{"bash(ls)"}}
	approve, reject := interaction.ActionApprove, interaction.ActionReject
	for name, tt := range map[string]struct {
		action    interaction.Action
		responses []interaction.Response
		quorum    int
		by        []interaction.PrincipalID
	}{
		"one approval":              {approve, []interaction.Response{grants("ada", approve, a)}, 0, []interaction.PrincipalID{"ada"}},
		"no grant":                  {approve, []interaction.Response{says("ada", approve)}, 1, nil},
		"nobody":                    {approve, nil, 1, nil},
		"two that say the same":     {approve, []interaction.Response{grants("ada", approve, a), grants("bo", approve, a)}, 2, []interaction.PrincipalID{"ada", "bo"}},
		"two that differ":           {approve, []interaction.Response{grants("ada", approve, b), grants("bo", approve, a)}, 2, nil},
		"one of two":                {approve, []interaction.Response{says("ada", approve), grants("bo", approve, a)}, 2, nil},
		"a grant that lost":         {reject, []interaction.Response{grants("ada", approve, a), says("bo", reject)}, 2, nil},
		"one rejection for ever":    {reject, []interaction.Response{says("ada", approve), grants("bo", reject, a)}, 2, []interaction.PrincipalID{"bo"}},
		"an answer of another kind": {interaction.ActionSkip, []interaction.Response{grants("ada", interaction.ActionSkip, a)}, 1, nil},
	} {
		out := interaction.Outcome{Status: interaction.StatusAnswered, Action: tt.action, Responses: tt.responses}
		_, givers, ok := out.Grants(tt.quorum)
		var by []interaction.PrincipalID
		for _, p := range givers {
			by = append(by, p.ID)
		}
		if ok != (tt.by != nil) || ok && !slices.Equal(by, tt.by) {
			t.Errorf("%s: %v, %v", name, by, ok)
		}
	}
	far := interaction.Grant{ExpiresAt: time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC)} // no JSON form
	out := interaction.Outcome{Status: interaction.StatusAnswered, Action: approve, Responses: []interaction.Response{grants("ada", approve, far)}}
	if _, _, ok := out.Grants(1); ok {
		t.Error("a grant that can't be written counts")
	}
}

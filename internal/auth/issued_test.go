package auth_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"holdpoint/interaction"
	"holdpoint/internal/auth"
)

// with is a request that carries a token.
func with(token string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

func TestIssuedTokens(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	tokens := map[string]auth.Kept{
		"hpt_good":    {Principal: bob()},
		"hpt_lasting": {Principal: bob(), ExpiresAt: now.Add(time.Second)},
		"hpt_expired": {Principal: bob(), ExpiresAt: now},
		"hpt_revoked": {Principal: bob(), RevokedAt: now.Add(-time.Second)},
		"other_kind":  {Principal: bob()},
	}
	byHash := map[string]auth.Kept{}
	for token, k := range tokens {
		k.Hash = auth.HexHash(token)
		byHash[k.Hash] = k
	}
	var broken error
	issued := auth.Issued{Now: func() time.Time { return now }, Find: func(_ context.Context, hash string) (auth.Kept, bool, error) {
		k, found := byHash[hash]
		return k, found, broken
	}}
	for token, want := range map[string]bool{"hpt_good": true, "hpt_lasting": true, "hpt_expired": false, "hpt_revoked": false,
		"other_kind": false, "hpt_unknown": false, auth.HexHash("hpt_good"): false} {
		if p, ok, err := issued.Authenticate(with(token)); ok != want || err != nil || ok && p.ID != "bob" {
			t.Errorf("%s: %v, %v, %v", token, p.ID, ok, err)
		}
	}
	broken = errors.New("the database is away")
	if _, ok, err := issued.Authenticate(with("hpt_good")); ok || err == nil {
		t.Errorf("without its database it says %v, %v", ok, err)
	}
}

func TestAChainLetsInWhomOneKnows(t *testing.T) {
	t.Parallel()
	tokens, err := auth.New([]auth.Token{{Token: tokenA, Principal: ada()}})
	if err != nil {
		t.Fatal(err)
	}
	down := auth.Issued{Find: func(context.Context, string) (auth.Kept, bool, error) { return auth.Kept{}, false, errors.New("away") }}
	chain := auth.Chain{down, tokens}
	if p, ok, err := chain.Authenticate(with(tokenA)); !ok || err != nil || p.ID != "ada" {
		t.Errorf("%v %v %v", p, ok, err)
	}
	if _, ok, err := chain.Authenticate(with("hpt_x")); ok || err == nil {
		t.Errorf("one that can't tell is taken for one that does not know: %v %v", ok, err)
	}
	if _, ok, err := chain.Authenticate(with(tokenB)); ok || err != nil {
		t.Errorf("%v %v", ok, err)
	}
}

func TestPrincipalsForTokens(t *testing.T) {
	t.Parallel()
	user := []string{"user"}
	for name, c := range map[string]struct {
		p    interaction.Principal
		want string // "" is taken
	}{
		"plain":               {interaction.Principal{ID: "alice", Roles: user, Groups: []string{"ops"}}, ""},
		"acts for others":     {interaction.Principal{ID: "bot", Roles: []string{"reviewer", "act_for"}}, ""},
		"nobody":              {interaction.Principal{Roles: user}, "can't be a principal's id"},
		"the organisation":    {interaction.Principal{ID: "@organisation", Roles: user}, "can't be a principal's id"},
		"like a group":        {interaction.Principal{ID: "group:ops", Roles: user}, "can't be a principal's id"},
		"hidden characters":   {interaction.Principal{ID: "ada\u202e", Roles: user}, "can't be a principal's id"},
		"long":                {interaction.Principal{ID: interaction.PrincipalID(strings.Repeat("x", 300)), Roles: user}, "can't be a principal's id"},
		"no role":             {interaction.Principal{ID: "alice"}, "no role"},
		"an unknown role":     {interaction.Principal{ID: "alice", Roles: []string{"root"}}, `"root" is no role`},
		"a group of a group":  {interaction.Principal{ID: "alice", Roles: user, Groups: []string{"group:ops"}}, "can't be a group"},
		"a group of no name":  {interaction.Principal{ID: "alice", Roles: user, Groups: []string{""}}, "can't be a group"},
		"more than any holds": {interaction.Principal{ID: "alice", Roles: user, Groups: make([]string, 600)}, "too many"},
	} {
		err := auth.CheckPrincipal(c.p)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package config_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"holdpoint/internal/config"
)

const aHash = "9F86D081884C7D659A2FEAA0C55AD015A3BF4F1B2B0B822CD15D6C15B0F00A08"

func TestIdentitiesAreRead(t *testing.T) {
	t.Parallel()
	text := "type: auth\nname: people\ntokens:\n  - {id: ci, roles: [user], groups: [build], sha256: " + aHash + "}\n" +
		"oidc:\n  issuer: https://login.example.com\n  audience: holdpoint\n  id_claim: email\n  clock_skew: 2m\n" +
		"  sign_in: {address: 'https://desk.example.com/', client_id: inbox, client_secret: s3cret, scopes: [groups], label: Example, lasts: 1h}\n" +
		"  default_roles: [user]\n  roles:\n    - {group: ops, roles: [reviewer, admin]}\n---\n" +
		"type: bridge\nname: b\nbehind_proxy: true\ncors_origins: ['https://desk.example.com', 'http://localhost:3000']\nrequests_per_minute: 60\n"
	cfg, err := config.Load(write(t, "c.yaml", text), env(nil))
	if err != nil {
		t.Fatal(err)
	}
	a, b := cfg.Auths[0], cfg.Bridges[0]
	if tok := a.Tokens[0]; tok.ID != "ci" || tok.Roles[0] != "user" || tok.Groups[0] != "build" || tok.SHA256 != strings.ToLower(aHash) {
		t.Errorf("token %+v", tok)
	}
	if o := a.OIDC; o.Issuer != "https://login.example.com" || o.Audience != "holdpoint" || o.IDClaim != "email" || o.ClockSkew != 2*time.Minute ||
		o.DefaultRoles[0] != "user" || o.Roles[0].Group != "ops" || len(o.Roles[0].Roles) != 2 {
		t.Errorf("oidc %+v", o)
	}
	if in := a.OIDC.SignIn; in.Address != "https://desk.example.com" || in.ClientID != "inbox" || in.ClientSecret.Reveal() != "s3cret" || in.Scopes[0] != "groups" ||
		in.Label != "Example" || in.Lasts != time.Hour {
		t.Errorf("sign-in %+v", in)
	}
	if !b.BehindProxy || len(b.CORSOrigins) != 2 || b.RequestsPerMinute != 60 || b.FailuresPerMinute != 60 {
		t.Errorf("bridge %+v", b)
	}
}

func TestMistakesInIdentities(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"neither":            {"type: auth\nname: a\n", "give tokens, oidc or both"},
		"a token in clear":   {"type: auth\nname: a\ntokens: [{id: ci, roles: [user], sha256: hpt_SECRET}]\n", "64 hexadecimal digits"},
		"a role with a slip": {"type: auth\nname: a\ntokens: [{id: ci, roles: [reviewr], sha256: " + aHash + "}]\n", `did you mean "reviewer"?`},
		"no roles":           {"type: auth\nname: a\ntokens: [{id: ci, roles: [], sha256: " + aHash + "}]\n", "names none of user"},
		"the same twice":     {"type: auth\nname: a\ntokens: [{id: a, roles: [user], sha256: " + aHash + "}, {id: b, roles: [user], sha256: " + strings.ToLower(aHash) + "}]\n", "is here twice"},
		"no audience":        {"type: auth\nname: a\noidc: {issuer: https://x.example}\n", "oidc.audience: is missing"},
		"no encryption":      {"type: auth\nname: a\noidc: {issuer: http://x.example, audience: a}\n", "must be https"},
		"too much skew":      {"type: auth\nname: a\noidc: {issuer: https://x.example, audience: a, clock_skew: 2h}\n", "more than 1h"},
		"no way back":        {"type: auth\nname: a\noidc: {issuer: https://x.example, audience: a, sign_in: {}}\n", "oidc.sign_in.address: is missing"},
		"a way in clear":     {"type: auth\nname: a\noidc: {issuer: https://x.example, audience: a, sign_in: {address: 'http://desk.example'}}\n", "must be https"},
		"a way elsewhere":    {"type: auth\nname: a\noidc: {issuer: https://x.example, audience: a, sign_in: {address: 'https://desk.example/inbox'}}\n", "must have no path"},
		"half of TLS":        {"type: bridge\nname: b\ntls_cert: c.yaml\n", "no effect without tls_key"},
		"an origin's path":   {"type: bridge\nname: b\ncors_origins: ['https://x.example/']\n", "is no origin"},
		"every origin":       {"type: bridge\nname: b\ncors_origins: ['*']\n", "is no origin"},
		"two bridges":        {"type: bridge\nname: b\n---\ntype: bridge\nname: c\n", "there is a bridge already"},
	} {
		_, err := config.Load(write(t, "c.yaml", c.text), env(nil))
		var wrong *config.Error
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: the token is shown: %v", name, err)
		}
	}
}

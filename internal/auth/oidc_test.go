package auth_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"slices"
	"strings"
	"testing"
	"time"

	"holdpoint/internal/auth"
	"holdpoint/internal/auth/authtest"
)

func newIssuer(t *testing.T, kids ...string) *authtest.Issuer {
	t.Helper()
	i := authtest.NewIssuer(t, kids...)
	i.Now = func() time.Time { return oidcTime }
	return i
}

var oidcTime = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// oidcOf is an authenticator for the issuer. Keys may be fetched again at once.
func oidcOf(t *testing.T, i *authtest.Issuer, change ...func(*auth.OIDCConfig)) *auth.OIDC {
	t.Helper()
	cfg := auth.OIDCConfig{Issuer: i.URL, Audience: "holdpoint", Refresh: time.Nanosecond, Now: func() time.Time { return oidcTime },
		Roles: []auth.GroupRoles{{Group: "ops", Roles: []string{"reviewer"}}, {Group: "root", Roles: []string{"admin", "reviewer"}}}, DefaultRoles: []string{"user"}}
	for _, c := range change {
		c(&cfg)
	}
	o, err := auth.NewOIDC(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestOIDCTokensMakePrincipals(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "k1")
	o := oidcOf(t, i)
	for name, c := range map[string]struct {
		change map[string]any
		id     string // "" is refused
		roles  string
	}{
		"a member of a group":          {nil, "alice", "reviewer user"},
		"a member of two":              {map[string]any{"groups": []string{"root", "ops", "ops"}}, "alice", "admin reviewer user"},
		"one group as text":            {map[string]any{"groups": "root"}, "alice", "admin reviewer user"},
		"no groups":                    {map[string]any{"groups": nil}, "alice", "user"},
		"groups of another shape":      {map[string]any{"groups": map[string]any{"root": true}}, "alice", "user"},
		"several audiences":            {map[string]any{"aud": []string{"other", "holdpoint"}}, "alice", "reviewer user"},
		"expired within the skew":      {map[string]any{"exp": oidcTime.Add(-30 * time.Second).Unix()}, "alice", "reviewer user"},
		"expired":                      {map[string]any{"exp": oidcTime.Add(-2 * time.Minute).Unix()}, "", ""},
		"without an end":               {map[string]any{"exp": nil}, "", ""},
		"not yet":                      {map[string]any{"nbf": oidcTime.Add(10 * time.Minute).Unix()}, "", ""},
		"another audience":             {map[string]any{"aud": "other"}, "", ""},
		"no audience":                  {map[string]any{"aud": nil}, "", ""},
		"another issuer":               {map[string]any{"iss": "https://evil.example"}, "", ""},
		"nobody":                       {map[string]any{"sub": nil}, "", ""},
		"an id of another type":        {map[string]any{"sub": 7}, "", ""},
		"the organisation":             {map[string]any{"sub": "@organisation"}, "", ""},
		"an id that looks like groups": {map[string]any{"sub": "group:root"}, "", ""},
	} {
		p, ok, err := o.Authenticate(with(i.Sign("k1", c.change)))
		if err != nil || ok != (c.id != "") || string(p.ID) != c.id || strings.Join(p.Roles, " ") != c.roles {
			t.Errorf("%s: %+v, %v, %v", name, p, ok, err)
		}
	}
	named := oidcOf(t, i, func(c *auth.OIDCConfig) { c.IDClaim, c.GroupsClaim, c.DefaultRoles = "email", "teams", nil })
	p, ok, err := named.Authenticate(with(i.Sign("k1", map[string]any{"email": "alice@example.com", "teams": []string{"ops", "", "group:x"}})))
	if !ok || err != nil || p.ID != "alice@example.com" || !slices.Equal(p.Groups, []string{"ops"}) || !slices.Equal(p.Roles, []string{"reviewer"}) {
		t.Errorf("claims by name: %+v, %v, %v", p, ok, err)
	}
}

func TestOIDCForgedTokensAreRefused(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "k1")
	o := oidcOf(t, i)
	good := i.Sign("k1", nil)
	parts := strings.Split(good, ".")
	stranger := newIssuer(t, "k1")
	none := authtest.Encode(map[string]any{"alg": "none"}, i.Claims(nil))
	mac := authtest.Encode(map[string]any{"alg": "HS256", "kid": "k1"}, i.Claims(nil))
	h := hmac.New(sha256.New, i.Key("k1").N.Bytes())
	h.Write([]byte(mac))
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	curve := authtest.Encode(map[string]any{"alg": "ES256", "kid": "k1"}, i.Claims(nil))
	sum := sha256.Sum256([]byte(curve))
	r, s, err := ecdsa.Sign(rand.Reader, ec, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	for name, token := range map[string]string{
		"no algorithm":                none + ".",
		"no algorithm, a signature":   none + "." + parts[2],
		"a MAC with the public key":   mac + "." + authtest.Base64(h.Sum(nil)),
		"a key of another kind":       curve + "." + authtest.Base64(append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)),
		"another issuer's key":        stranger.Sign("k1", map[string]any{"iss": i.URL}),
		"changed claims":              parts[0] + "." + strings.Split(i.Sign("k1", map[string]any{"sub": "ada"}), ".")[1] + "." + parts[2],
		"no signature":                parts[0] + "." + parts[1] + ".",
		"a part missing":              parts[0] + "." + parts[1],
		"the signature of nothing":    parts[0] + "." + parts[1] + ".AAAA",
		"no JWT":                      "hpt_1234567890",
		"a JWT with a part too many":  good + ".x",
		"a JWT whose claims are text": parts[0] + "." + authtest.Base64([]byte(`"x"`)) + "." + parts[2],
	} {
		if p, ok, err := o.Authenticate(with(token)); ok || err != nil {
			t.Errorf("%s: %+v, %v, %v", name, p, ok, err)
		}
	}
	if _, ok, err := o.Authenticate(with(good)); !ok || err != nil {
		t.Errorf("the good one: %v, %v", ok, err)
	}
}

func TestOIDCKeysAreFetchedKeptAndRotated(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "k1")
	now := oidcTime
	o := oidcOf(t, i, func(c *auth.OIDCConfig) { c.Refresh, c.Now = 10*time.Second, func() time.Time { return now } })
	for range 20 {
		if _, ok, err := o.Authenticate(with(i.Sign("k1", nil))); !ok || err != nil {
			t.Fatalf("%v, %v", ok, err)
		}
	}
	if i.Fetched != 1 {
		t.Errorf("the keys were fetched %d times for 20 tokens", i.Fetched)
	}
	i.Rotate(t, "k2")
	next := i.Sign("k2", nil)
	if _, ok, _ := o.Authenticate(with(next)); ok || i.Fetched != 1 {
		t.Errorf("a key that is not known yet: %v, fetched %d times", ok, i.Fetched)
	}
	now = now.Add(11 * time.Second)
	if _, ok, err := o.Authenticate(with(next)); !ok || err != nil || i.Fetched != 2 {
		t.Errorf("after the rotation: %v, %v, fetched %d times", ok, err, i.Fetched)
	}
	stranger := newIssuer(t, "k9")
	for range 20 { // unknown key ids make it ask no more often than that
		if _, ok, _ := o.Authenticate(with(stranger.Sign("k9", map[string]any{"iss": i.URL}))); ok {
			t.Error("a stranger is let in")
		}
	}
	if i.Fetched != 2 {
		t.Errorf("made-up key ids had the keys fetched %d times", i.Fetched)
	}
	i.Set(func() { i.Down = true })
	if _, ok, err := o.Authenticate(with(next)); !ok || err != nil {
		t.Errorf("a known key while the issuer is away: %v, %v", ok, err)
	}
}

func TestOIDCWithoutItsIssuerLetsNobodyIn(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "k1")
	now := oidcTime
	o := oidcOf(t, i, func(c *auth.OIDCConfig) { c.Now = func() time.Time { now = now.Add(time.Second); return now } })
	token := i.Sign("k1", nil)
	i.Set(func() { i.Down = true })
	if _, ok, err := o.Authenticate(with(token)); ok || err == nil {
		t.Errorf("without discovery: %v, %v", ok, err)
	}
	if _, ok, err := o.Authenticate(with("hpt_anything")); ok || err != nil {
		t.Errorf("another kind of token: %v, %v", ok, err)
	}
	i.Set(func() { i.Down = false })
	if _, ok, err := o.Authenticate(with(token)); !ok || err != nil {
		t.Errorf("once it is back: %v, %v", ok, err)
	}
	i.Rotate(t, "k2")
	next := i.Sign("k2", nil)
	i.Set(func() { i.Down = true })
	if _, ok, err := o.Authenticate(with(next)); ok || err == nil {
		t.Errorf("without the new key: %v, %v", ok, err)
	}
}

func TestNewOIDCSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cfg  auth.OIDCConfig
		want string
	}{
		"no issuer":    {auth.OIDCConfig{Audience: "a"}, "is no URL"},
		"unencrypted":  {auth.OIDCConfig{Issuer: "http://login.example.com", Audience: "a"}, "use https"},
		"no audience":  {auth.OIDCConfig{Issuer: "https://login.example.com"}, "no audience"},
		"unknown role": {auth.OIDCConfig{Issuer: "https://login.example.com", Audience: "a", Roles: []auth.GroupRoles{{Group: "g", Roles: []string{"root"}}}}, `"root" is no role`},
		"a default":    {auth.OIDCConfig{Issuer: "https://login.example.com", Audience: "a", DefaultRoles: []string{"root"}}, `"root" is no role`},
	} {
		if _, err := auth.NewOIDC(c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

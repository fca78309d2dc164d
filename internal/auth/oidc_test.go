package auth_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdpoint/internal/auth"
)

// issuer is an OpenID Connect issuer: discovery and keys, which a test may change.
type issuer struct {
	*httptest.Server
	mu      sync.Mutex
	keys    map[string]*rsa.PrivateKey
	down    bool
	fetched int
}

func newIssuer(t *testing.T, kids ...string) *issuer {
	t.Helper()
	i := &issuer{keys: map[string]*rsa.PrivateKey{}}
	for _, kid := range kids {
		i.rotate(t, kid)
	}
	i.Server = httptest.NewServer(http.HandlerFunc(i.serve))
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) rotate(t *testing.T, kid string) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys[kid] = key
}

func (i *issuer) set(change func()) { i.mu.Lock(); defer i.mu.Unlock(); change() }

func (i *issuer) serve(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.down {
		http.Error(w, "away", http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path != "/keys" {
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL + "/a",
			"token_endpoint": i.URL + "/t", "id_token_signing_alg_values_supported": []string{"RS256", "HS256", "none"}})
		return
	}
	i.fetched++
	keys := []any{}
	for kid, k := range i.keys {
		keys = append(keys, map[string]any{"kty": "RSA", "kid": kid, "use": "sig", "alg": "RS256", "n": b64(k.N.Bytes()), "e": b64(big.NewInt(int64(k.E)).Bytes())})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"keys": keys})
}

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

var oidcTime = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// claims are those of a good token, with changes; nil takes one away.
func (i *issuer) claims(change map[string]any) map[string]any {
	c := map[string]any{"iss": i.URL, "aud": "holdpoint", "sub": "alice", "groups": []string{"ops"}, "exp": oidcTime.Add(time.Hour).Unix(), "iat": oidcTime.Unix()}
	maps.Copy(c, change)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

func encodeJWT(t *testing.T, header, claims map[string]any) string {
	t.Helper()
	h, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	c, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	return b64(h) + "." + b64(c)
}

// sign makes a token with the key of that id.
func (i *issuer) sign(t *testing.T, kid string, change map[string]any) string {
	t.Helper()
	text := encodeJWT(t, map[string]any{"alg": "RS256", "kid": kid, "typ": "JWT"}, i.claims(change))
	sum := sha256.Sum256([]byte(text))
	i.mu.Lock()
	key := i.keys[kid]
	i.mu.Unlock()
	sig, err := rsa.SignPKCS1v15(nil, key, crypto.SHA256, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + b64(sig)
}

// oidcOf is an authenticator for the issuer. Keys may be fetched again at once.
func oidcOf(t *testing.T, i *issuer, change ...func(*auth.OIDCConfig)) *auth.OIDC {
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
		p, ok, err := o.Authenticate(with(i.sign(t, "k1", c.change)))
		if err != nil || ok != (c.id != "") || string(p.ID) != c.id || strings.Join(p.Roles, " ") != c.roles {
			t.Errorf("%s: %+v, %v, %v", name, p, ok, err)
		}
	}
	named := oidcOf(t, i, func(c *auth.OIDCConfig) { c.IDClaim, c.GroupsClaim, c.DefaultRoles = "email", "teams", nil })
	p, ok, err := named.Authenticate(with(i.sign(t, "k1", map[string]any{"email": "alice@example.com", "teams": []string{"ops", "", "group:x"}})))
	if !ok || err != nil || p.ID != "alice@example.com" || !slices.Equal(p.Groups, []string{"ops"}) || !slices.Equal(p.Roles, []string{"reviewer"}) {
		t.Errorf("claims by name: %+v, %v, %v", p, ok, err)
	}
}

func TestOIDCForgedTokensAreRefused(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "k1")
	o := oidcOf(t, i)
	good := i.sign(t, "k1", nil)
	parts := strings.Split(good, ".")
	stranger := newIssuer(t, "k1")
	none := encodeJWT(t, map[string]any{"alg": "none"}, i.claims(nil))
	mac := encodeJWT(t, map[string]any{"alg": "HS256", "kid": "k1"}, i.claims(nil))
	h := hmac.New(sha256.New, i.keys["k1"].N.Bytes())
	h.Write([]byte(mac))
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	curve := encodeJWT(t, map[string]any{"alg": "ES256", "kid": "k1"}, i.claims(nil))
	sum := sha256.Sum256([]byte(curve))
	r, s, err := ecdsa.Sign(rand.Reader, ec, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	for name, token := range map[string]string{
		"no algorithm":                none + ".",
		"no algorithm, a signature":   none + "." + parts[2],
		"a MAC with the public key":   mac + "." + b64(h.Sum(nil)),
		"a key of another kind":       curve + "." + b64(append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)),
		"another issuer's key":        stranger.sign(t, "k1", map[string]any{"iss": i.URL}),
		"changed claims":              parts[0] + "." + strings.Split(i.sign(t, "k1", map[string]any{"sub": "ada"}), ".")[1] + "." + parts[2],
		"no signature":                parts[0] + "." + parts[1] + ".",
		"a part missing":              parts[0] + "." + parts[1],
		"the signature of nothing":    parts[0] + "." + parts[1] + ".AAAA",
		"no JWT":                      "hpt_1234567890",
		"a JWT with a part too many":  good + ".x",
		"a JWT whose claims are text": parts[0] + "." + b64([]byte(`"x"`)) + "." + parts[2],
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
		if _, ok, err := o.Authenticate(with(i.sign(t, "k1", nil))); !ok || err != nil {
			t.Fatalf("%v, %v", ok, err)
		}
	}
	if i.fetched != 1 {
		t.Errorf("the keys were fetched %d times for 20 tokens", i.fetched)
	}
	i.rotate(t, "k2")
	next := i.sign(t, "k2", nil)
	if _, ok, _ := o.Authenticate(with(next)); ok || i.fetched != 1 {
		t.Errorf("a key that is not known yet: %v, fetched %d times", ok, i.fetched)
	}
	now = now.Add(11 * time.Second)
	if _, ok, err := o.Authenticate(with(next)); !ok || err != nil || i.fetched != 2 {
		t.Errorf("after the rotation: %v, %v, fetched %d times", ok, err, i.fetched)
	}
	stranger := newIssuer(t, "k9")
	for range 20 { // unknown key ids make it ask no more often than that
		if _, ok, _ := o.Authenticate(with(stranger.sign(t, "k9", map[string]any{"iss": i.URL}))); ok {
			t.Error("a stranger is let in")
		}
	}
	if i.fetched != 2 {
		t.Errorf("made-up key ids had the keys fetched %d times", i.fetched)
	}
	i.set(func() { i.down = true })
	if _, ok, err := o.Authenticate(with(next)); !ok || err != nil {
		t.Errorf("a known key while the issuer is away: %v, %v", ok, err)
	}
}

func TestOIDCWithoutItsIssuerLetsNobodyIn(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "k1")
	now := oidcTime
	o := oidcOf(t, i, func(c *auth.OIDCConfig) { c.Now = func() time.Time { now = now.Add(time.Second); return now } })
	token := i.sign(t, "k1", nil)
	i.set(func() { i.down = true })
	if _, ok, err := o.Authenticate(with(token)); ok || err == nil {
		t.Errorf("without discovery: %v, %v", ok, err)
	}
	if _, ok, err := o.Authenticate(with("hpt_anything")); ok || err != nil {
		t.Errorf("another kind of token: %v, %v", ok, err)
	}
	i.set(func() { i.down = false })
	if _, ok, err := o.Authenticate(with(token)); !ok || err != nil {
		t.Errorf("once it is back: %v, %v", ok, err)
	}
	i.rotate(t, "k2")
	next := i.sign(t, "k2", nil)
	i.set(func() { i.down = true })
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

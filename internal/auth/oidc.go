package auth

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"holdpoint/interaction"
)

// OIDCConfig says whose JWTs are taken, and what they say of their bearer.
type OIDCConfig struct {
	// Issuer is the URL that tokens name as iss, and below which discovery is found. https, but on loopback.
	Issuer string
	// Audience must be among a token's aud: a token for another service is none for this one.
	Audience string
	// IDClaim is the claim with the principal's id. Defaults to "sub". It must be one that people can't choose.
	IDClaim string
	// GroupsClaim is the claim with the principal's groups, a list of texts. Defaults to "groups".
	GroupsClaim string
	// Roles gives the members of groups roles.
	Roles []GroupRoles
	// DefaultRoles are everybody's who has a valid token. Defaults to none.
	DefaultRoles []string
	// ClockSkew is how far the issuer's clock may be ahead or behind. Defaults to 1 minute.
	ClockSkew time.Duration
	// Refresh is how soon after keys were fetched they may be fetched again, for a key that is not known.
	// Defaults to 10 seconds.
	Refresh time.Duration
	// Now defaults to time.Now.
	Now func() time.Time
}

// GroupRoles are the roles that the members of a group have.
type GroupRoles struct {
	Group string
	Roles []string
}

// signingAlgorithms are those that tokens may be signed by: with a public key, always. Which one a token says it is
// signed by is looked up here and nowhere else, so neither "none" nor a MAC made with a public key counts.
var signingAlgorithms = []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA}

const (
	issuerTimeout = 5 * time.Second
	maxGroups     = 500
	maxNameBytes  = 256
)

// OIDC authenticates by the JWTs of one issuer. Its keys are fetched when they are first needed and kept; while they
// can't be had, nobody is let in by it.
type OIDC struct {
	cfg    OIDCConfig
	client *http.Client

	mu    sync.Mutex
	found *discovered
}

// discovered is what the issuer says of itself.
type discovered struct {
	keys     keys
	endpoint oauth2.Endpoint
}

// NewOIDC checks the configuration. It does not reach the issuer yet.
func NewOIDC(cfg OIDCConfig) (*OIDC, error) {
	cfg.IDClaim, cfg.GroupsClaim = orText(cfg.IDClaim, "sub"), orText(cfg.GroupsClaim, "groups")
	if cfg.ClockSkew == 0 {
		cfg.ClockSkew = time.Minute
	}
	if cfg.Refresh == 0 {
		cfg.Refresh = 10 * time.Second
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	u, err := url.Parse(cfg.Issuer)
	switch {
	case err != nil || u.Host == "" || u.User != nil:
		return nil, fmt.Errorf("auth: oidc issuer %q is no URL such as https://login.example.com", cfg.Issuer)
	case u.Scheme != "https" && (u.Scheme != "http" || !Loopback(hostPort(u))):
		return nil, fmt.Errorf("auth: oidc issuer %q: use https: whoever can change what it answers can be anybody", cfg.Issuer)
	case cfg.Audience == "":
		return nil, errors.New("auth: oidc has no audience: name the one that the issuer puts into tokens for this bridge")
	}
	for _, g := range cfg.Roles {
		if err := checkRoles(g.Roles); err != nil {
			return nil, fmt.Errorf("auth: oidc roles of group %q: %w", g.Group, err)
		}
	}
	if len(cfg.DefaultRoles) > 0 {
		if err := checkRoles(cfg.DefaultRoles); err != nil {
			return nil, fmt.Errorf("auth: oidc default roles: %w", err)
		}
	}
	return &OIDC{cfg: cfg, client: &http.Client{Timeout: issuerTimeout,
		Transport: &sparing{base: http.DefaultTransport, every: cfg.Refresh, now: cfg.Now}}}, nil
}

func orText(s, def string) string {
	if s == "" {
		return def
	}
	return s
}

func hostPort(u *url.URL) string {
	if u.Port() == "" {
		return u.Host + ":0"
	}
	return u.Host
}

// Authenticate returns the principal of a request's JWT. ok is false for one that is not this issuer's, not for this
// audience, not in its time or not signed by the issuer; an error means that its keys could not be had.
func (o *OIDC) Authenticate(r *http.Request) (p interaction.Principal, ok bool, err error) {
	token, ok := bearer(r)
	if !ok || !o.meant(token) {
		return p, false, nil
	}
	claims, ok, err := o.verify(r.Context(), o.cfg.Audience, token)
	if err != nil || !ok {
		return p, false, err
	}
	p, ok = o.principal(claims)
	return p, ok, nil
}

// verify returns what a token says that is the issuer's, for that audience and in its time.
func (o *OIDC) verify(ctx context.Context, audience, token string) (claims map[string]any, ok bool, err error) {
	d, err := o.ready(ctx)
	if err != nil {
		return nil, false, err
	}
	v := oidc.NewVerifier(o.cfg.Issuer, d.keys, &oidc.Config{ClientID: audience, SupportedSigningAlgs: signingAlgorithms,
		Now: func() time.Time { return o.cfg.Now().Add(-o.cfg.ClockSkew) }})
	fault := new(faultOf)
	idToken, err := v.Verify(context.WithValue(ctx, faultKey{}, fault), token)
	if err != nil {
		return nil, false, fault.err // nil: the token is no good
	}
	return claims, idToken.Claims(&claims) == nil, nil
}

// meant reports whether a token claims to be of this issuer and for this audience, so that no stranger's token, and
// none that is no JWT at all, makes the bridge fetch anything. It proves nothing.
func (o *OIDC) meant(token string) bool {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return false
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return false
	}
	var claims struct {
		Issuer string `json:"iss"`
	}
	return json.Unmarshal(payload, &claims) == nil && claims.Issuer == o.cfg.Issuer
}

// ready finds out where the issuer's keys are, and where people sign in, once.
func (o *OIDC) ready(ctx context.Context) (*discovered, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.found != nil {
		return o.found, nil
	}
	ctx = oidc.ClientContext(context.WithoutCancel(ctx), o.client) // the provider outlives the request that made it
	provider, err := oidc.NewProvider(ctx, o.cfg.Issuer)
	if err != nil {
		return nil, fmt.Errorf("auth: the oidc issuer %s: %w", o.cfg.Issuer, err)
	}
	var found struct {
		Keys string `json:"jwks_uri"`
	}
	if err := provider.Claims(&found); err != nil || found.Keys == "" {
		return nil, fmt.Errorf("auth: the oidc issuer %s does not say where its keys are (jwks_uri)", o.cfg.Issuer)
	}
	o.found = &discovered{keys: keys{oidc.NewRemoteKeySet(ctx, found.Keys)}, endpoint: provider.Endpoint()}
	return o.found, nil
}

// principal reads who a verified token is about. One without a usable id is nobody.
func (o *OIDC) principal(claims map[string]any) (interaction.Principal, bool) {
	id, _ := claims[o.cfg.IDClaim].(string)
	if !nameable(id) {
		return interaction.Principal{}, false
	}
	p := interaction.Principal{ID: interaction.PrincipalID(id), Groups: texts(claims[o.cfg.GroupsClaim]), Roles: slices.Clone(o.cfg.DefaultRoles)}
	for _, g := range o.cfg.Roles {
		if slices.Contains(p.Groups, g.Group) {
			p.Roles = append(p.Roles, g.Roles...)
		}
	}
	slices.Sort(p.Roles)
	p.Roles = slices.Compact(p.Roles)
	return p, true
}

// texts are the names of a claim that is a list of them, or one.
func texts(claim any) []string {
	var list []any
	switch v := claim.(type) {
	case string:
		list = []any{v}
	case []any:
		list = v
	}
	var out []string
	for _, item := range list {
		if s, ok := item.(string); ok && nameable(s) && len(out) < maxGroups {
			out = append(out, s)
		}
	}
	return out
}

// nameable reports whether a text can be a principal's id or a group. What is shown to people and compared must not
// hide anything; "@" begins names that are no person's, and "group:" stands for a group among reviewers.
func nameable(s string) bool {
	return s != "" && len(s) <= maxNameBytes && s[0] != '@' && !strings.HasPrefix(s, "group:") && interaction.Visible(s) == s
}

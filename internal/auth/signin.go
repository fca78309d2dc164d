package auth

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"

	"golang.org/x/oauth2"

	"holdpoint/interaction"
)

// SignInConfig says how the bridge is known to an issuer as an application at which people sign in.
type SignInConfig struct {
	// Name tells one issuer from another in addresses.
	Name string
	// Label is what people read, such as "Example's account". Defaults to Name.
	Label string
	// ClientID is the application's id at the issuer. Defaults to the issuer's audience.
	ClientID string
	// ClientSecret is empty for an application without one, which proves itself by PKCE alone.
	ClientSecret string
	// Scopes are asked for beside openid.
	Scopes []string
	// Callback is the whole address to which the issuer sends people back, as the issuer knows it.
	Callback string
}

// SignIn lets people sign in at an issuer with their browser: OpenID Connect Core 1.0, section 3.1 (the authorization
// code flow), with PKCE (RFC 7636) and the issuer named in the answer where it does so (RFC 9207).
type SignIn struct {
	cfg    SignInConfig
	issuer *OIDC
	client *http.Client
}

// maxCodeBytes bounds what an issuer's answer through a browser may hold.
const maxCodeBytes = 8 << 10

// NewSignIn checks the configuration. It does not reach the issuer yet.
func NewSignIn(issuer *OIDC, cfg SignInConfig) (*SignIn, error) {
	cfg.ClientID, cfg.Label = orText(cfg.ClientID, issuer.cfg.Audience), orText(cfg.Label, cfg.Name)
	u, err := url.Parse(cfg.Callback)
	switch {
	case cfg.Name == "":
		return nil, errors.New("auth: sign-in has no name")
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("auth: sign-in: %q is no address to come back to, such as https://holdpoint.example.com/sign-in/callback", cfg.Callback)
	case u.Scheme != "https" && (u.Scheme != "http" || !Loopback(hostPort(u))):
		return nil, fmt.Errorf("auth: sign-in: %q: use https: who reads the answer on its way can sign in with it", cfg.Callback)
	}
	// Nothing that the issuer answers is followed elsewhere: the code and the secret go to it alone.
	client := &http.Client{Timeout: issuerTimeout, Transport: bounded{http.DefaultTransport},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return &SignIn{cfg: cfg, issuer: issuer, client: client}, nil
}

// Name tells this issuer from another.
func (s *SignIn) Name() string { return s.cfg.Name }

// Label is what people read.
func (s *SignIn) Label() string { return s.cfg.Label }

// Callback is the address to which the issuer sends people back.
func (s *SignIn) Callback() string { return s.cfg.Callback }

// begun is what the browser that began must still have when it comes back. It is secret.
type begun struct {
	State    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`
}

// Begin returns the issuer's page to which a browser goes, and what that browser has to keep until it comes back, sealed
// from its reader. An error means that the issuer can't be reached.
func (s *SignIn) Begin(ctx context.Context) (to string, keep []byte, err error) {
	d, err := s.issuer.ready(ctx)
	if err != nil {
		return "", nil, err
	}
	b := begun{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier()}
	if keep, err = json.Marshal(b); err != nil {
		return "", nil, err
	}
	return s.application(d).AuthCodeURL(b.State, oauth2.SetAuthURLParam("nonce", b.Nonce), oauth2.S256ChallengeOption(b.Verifier)), keep, nil
}

func (s *SignIn) application(d *discovered) *oauth2.Config {
	return &oauth2.Config{ClientID: s.cfg.ClientID, ClientSecret: s.cfg.ClientSecret, Endpoint: d.endpoint, RedirectURL: s.cfg.Callback,
		Scopes: append([]string{"openid"}, slices.DeleteFunc(slices.Clone(s.cfg.Scopes), func(v string) bool { return v == "openid" })...)}
}

// refuse says why nobody is signed in, in words for the person at the browser.
func refuse(format string, args ...any) error {
	return &interaction.Error{Code: interaction.CodeNotEntitled, Message: fmt.Sprintf(format, args...)}
}

// Finish tells who came back from the issuer, from the query of the address and what the browser kept. It returns
// *interaction.Error for one who is not let in; another error means that the issuer can't be reached.
func (s *SignIn) Finish(ctx context.Context, keep []byte, query url.Values) (p interaction.Principal, err error) {
	var b begun
	if json.Unmarshal(keep, &b) != nil || b.State == "" || b.Nonce == "" ||
		subtle.ConstantTimeCompare([]byte(b.State), []byte(query.Get("state"))) != 1 {
		return p, refuse("This sign-in was begun in another browser, or too long ago. Begin again.")
	}
	if iss := query.Get("iss"); iss != "" && iss != s.issuer.cfg.Issuer {
		return p, refuse("The answer is not of the issuer that was asked. Begin again.")
	}
	if code := query.Get("error"); code != "" {
		return p, refuse("The issuer did not sign you in: %s", interaction.Visible(short(code+" "+query.Get("error_description"))))
	}
	code := query.Get("code")
	if code == "" || len(code) > maxCodeBytes {
		return p, refuse("The issuer's answer has no code. Begin again.")
	}
	return s.exchange(ctx, b, code)
}

// exchange trades the code for an ID token, and reads that.
func (s *SignIn) exchange(ctx context.Context, b begun, code string) (p interaction.Principal, err error) {
	d, err := s.issuer.ready(ctx)
	if err != nil {
		return p, err
	}
	token, err := s.application(d).Exchange(context.WithValue(ctx, oauth2.HTTPClient, s.client), code, oauth2.VerifierOption(b.Verifier))
	var refused *oauth2.RetrieveError
	switch {
	case errors.As(err, &refused) && refused.Response.StatusCode < http.StatusInternalServerError:
		return p, refuse("The issuer did not take its own code back: %s. Begin again; if it stays, the client's id, secret or address is not as the issuer knows it.",
			interaction.Visible(short(orText(refused.ErrorCode, refused.Response.Status))))
	case err != nil:
		return p, fmt.Errorf("auth: the oidc issuer %s: %w", s.issuer.cfg.Issuer, err)
	}
	raw, _ := token.Extra("id_token").(string)
	claims, ok, err := s.issuer.verify(ctx, s.cfg.ClientID, raw)
	if err != nil {
		return p, err
	}
	nonce, _ := claims["nonce"].(string)
	// An ID token for several audiences names the one that asked (Core 3.1.3.7).
	party, named := claims["azp"]
	if !ok || nonce != b.Nonce || named && party != any(s.cfg.ClientID) {
		return p, refuse("The issuer's word of who you are does not hold: it is not signed by it, not for this bridge, or not of this sign-in.")
	}
	if p, ok = s.issuer.principal(claims); !ok {
		return p, refuse("The issuer does not say who you are: its token has no usable %q.", s.issuer.cfg.IDClaim)
	}
	if CheckPrincipal(p) != nil {
		return p, refuse("You are %s to the issuer, and none of your groups may do anything here. Ask who runs this bridge.", p.ID)
	}
	return p, nil
}

// short bounds what a page repeats of somebody else's.
func short(s string) string {
	if len(s) > maxNameBytes {
		return s[:maxNameBytes] + "…"
	}
	return s
}

// bounded is a transport whose answers end after what an issuer may say.
type bounded struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(resp.Body, maxIssuerBytes), resp.Body}
	return resp, nil
}

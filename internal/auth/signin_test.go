package auth_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"holdpoint/interaction"
	"holdpoint/internal/auth"
	"holdpoint/internal/auth/authtest"
)

const home = "http://127.0.0.1:7400/sign-in/callback"

// signInOf is an issuer that knows the inbox, and the inbox's side of it.
func signInOf(t *testing.T, secret string) (*authtest.Issuer, *auth.SignIn) {
	t.Helper()
	i := newIssuer(t, "k1")
	i.ClientID, i.ClientSecret, i.Callback = "inbox", secret, home
	i.People = map[string]map[string]any{"bob": {"groups": []string{"ops"}}}
	s, err := auth.NewSignIn(oidcOf(t, i), auth.SignInConfig{Name: "people", ClientID: "inbox", ClientSecret: secret, Scopes: []string{"groups", "openid"}, Callback: home})
	if err != nil {
		t.Fatal(err)
	}
	return i, s
}

// visit goes to the issuer's page and says there who one is, as a browser would, and returns what comes back.
func visit(t *testing.T, to, person string) url.Values {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("person", person)
	u.Path, u.RawQuery = "/decided", q.Encode()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Get(u.String())
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	back, err := resp.Location()
	if err != nil {
		t.Fatal(err)
	}
	return back.Query()
}

func begin(t *testing.T, s *auth.SignIn) (to string, keep []byte) {
	t.Helper()
	to, keep, err := s.Begin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return to, keep
}

func TestPeopleSignInAtTheIssuer(t *testing.T) {
	t.Parallel()
	for name, secret := range map[string]string{"with a secret": "s3cret of the inbox's", "by PKCE alone": ""} {
		t.Run(name, func(t *testing.T) {
			_, s := signInOf(t, secret)
			to, keep := begin(t, s)
			q := must(url.Parse(to)).Query()
			if q.Get("scope") != "openid groups" || q.Get("code_challenge_method") != "S256" || len(q.Get("nonce")) < 20 || len(q.Get("state")) < 20 || secret != "" && strings.Contains(to, secret) {
				t.Errorf("the issuer is asked %v", q)
			}
			p, err := s.Finish(context.Background(), keep, visit(t, to, "bob"))
			if err != nil || p.ID != "bob" || strings.Join(p.Roles, " ") != "reviewer user" || strings.Join(p.Groups, " ") != "ops" {
				t.Errorf("%+v, %v", p, err)
			}
		})
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestASignInThatDoesNotHoldLetsNobodyIn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(i *authtest.Issuer, back url.Values)
		person string
		want   string
	}{
		"no, says the person":     {nil, "nobody", "access_denied <b>The person said no.</b>"},
		"another's state":         {func(_ *authtest.Issuer, q url.Values) { q.Set("state", "another") }, "bob", "begun in another browser"},
		"no state":                {func(_ *authtest.Issuer, q url.Values) { q.Del("state") }, "bob", "begun in another browser"},
		"another issuer's answer": {func(_ *authtest.Issuer, q url.Values) { q.Set("iss", "https://evil.example") }, "bob", "not of the issuer"},
		"no code":                 {func(_ *authtest.Issuer, q url.Values) { q.Del("code") }, "bob", "has no code"},
		"a made-up code":          {func(_ *authtest.Issuer, q url.Values) { q.Set("code", "made up") }, "bob", "invalid_grant"},
		"a secret that changed":   {func(i *authtest.Issuer, _ url.Values) { i.ClientSecret = "another" }, "bob", "invalid_client"},
		"another sign-in's nonce": {func(i *authtest.Issuer, _ url.Values) { i.People["bob"]["nonce"] = "another" }, "bob", "does not hold"},
		"no nonce":                {func(i *authtest.Issuer, _ url.Values) { i.People["bob"]["nonce"] = nil }, "bob", "does not hold"},
		"for another application": {func(i *authtest.Issuer, _ url.Values) { i.People["bob"]["aud"] = "other" }, "bob", "does not hold"},
		"asked for by another":    {func(i *authtest.Issuer, _ url.Values) { i.People["bob"]["azp"] = "other" }, "bob", "does not hold"},
		"of another issuer":       {func(i *authtest.Issuer, _ url.Values) { i.People["bob"]["iss"] = "https://evil.example" }, "bob", "does not hold"},
		"expired":                 {func(i *authtest.Issuer, _ url.Values) { i.People["bob"]["exp"] = oidcTime.Unix() - 3600 }, "bob", "does not hold"},
		"without an id":           {func(i *authtest.Issuer, _ url.Values) { i.People["bob"]["sub"] = nil }, "bob", `no usable "sub"`},
		"control characters":      {func(_ *authtest.Issuer, q url.Values) { q.Set("error", "a\x1b[31m\u202e") }, "bob", `\u`},
	} {
		t.Run(name, func(t *testing.T) {
			i, s := signInOf(t, "secret")
			to, keep := begin(t, s)
			back := visit(t, to, c.person)
			if c.change != nil {
				i.Set(func() { c.change(i, back) })
			}
			p, err := s.Finish(context.Background(), keep, back)
			var refused *interaction.Error
			if !errors.As(err, &refused) || !strings.Contains(refused.Message, c.want) || p.ID != "" {
				t.Errorf("%+v, %v", p, err)
			}
		})
	}
}

func TestACodeSignsInOnceAndWhereItWasAskedFor(t *testing.T) {
	t.Parallel()
	_, s := signInOf(t, "secret")
	to, keep := begin(t, s)
	back := visit(t, to, "bob")
	_, others := begin(t, s)
	if p, err := s.Finish(context.Background(), others, back); err == nil {
		t.Errorf("in another browser: %+v", p)
	}
	if _, err := s.Finish(context.Background(), keep, back); err != nil {
		t.Errorf("in the right one: %v", err)
	}
	if p, err := s.Finish(context.Background(), keep, back); err == nil {
		t.Errorf("again: %+v", p)
	}
	for _, kept := range []string{"", "{}", "null", `{"state":""}`, "x"} {
		if p, err := s.Finish(context.Background(), []byte(kept), url.Values{"state": {""}, "code": {"x"}}); err == nil {
			t.Errorf("with %q kept: %+v", kept, p)
		}
	}
}

func TestWhoMayDoNothingIsTold(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "k1")
	i.ClientID, i.Callback, i.People = "holdpoint", home, map[string]map[string]any{"eve": {"groups": []string{"visitors"}}}
	s := must(auth.NewSignIn(oidcOf(t, i, func(c *auth.OIDCConfig) { c.DefaultRoles = nil }), auth.SignInConfig{Name: "people", Callback: home}))
	to, keep := begin(t, s)
	if _, err := s.Finish(context.Background(), keep, visit(t, to, "eve")); err == nil || !strings.Contains(err.Error(), "You are eve to the issuer, and none of your groups") {
		t.Error(err)
	}
	if s.Label() != "people" {
		t.Errorf("the button says %q", s.Label())
	}
}

func TestAnIssuerThatIsAwayIsNotTheirFault(t *testing.T) {
	t.Parallel()
	i, s := signInOf(t, "secret")
	i.Set(func() { i.Down = true })
	var refused *interaction.Error
	if _, _, err := s.Begin(context.Background()); err == nil || errors.As(err, &refused) {
		t.Errorf("at the start: %v", err)
	}
	i.Set(func() { i.Down = false })
	to, keep := begin(t, s)
	back := visit(t, to, "bob")
	i.Set(func() { i.Down = true })
	if _, err := s.Finish(context.Background(), keep, back); err == nil || errors.As(err, &refused) {
		t.Errorf("at the end: %v", err)
	}
}

func TestNewSignInSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	o := must(auth.NewOIDC(auth.OIDCConfig{Issuer: "https://login.example.com", Audience: "a"}))
	for name, c := range map[string]struct {
		cfg  auth.SignInConfig
		want string
	}{
		"no name":     {auth.SignInConfig{Callback: home}, "no name"},
		"no address":  {auth.SignInConfig{Name: "a"}, "is no address"},
		"unencrypted": {auth.SignInConfig{Name: "a", Callback: "http://desk.example.com/x"}, "use https"},
		"a query":     {auth.SignInConfig{Name: "a", Callback: home + "?a=b"}, "is no address"},
	} {
		if _, err := auth.NewSignIn(o, c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package web_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"holdpoint/api"
	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
	"holdpoint/internal/auth/authtest"
)

// withIssuer is a Holdpoint of its own at which people sign in by an issuer.
func withIssuer(t *testing.T) (*apptest.Holdpoint, *authtest.Issuer) {
	t.Helper()
	i := authtest.NewIssuer(t, "k1")
	listen := apptest.FreePort(t)
	i.ClientID, i.ClientSecret, i.Callback = "inbox", "a secret of the inbox's", "http://"+listen+"/sign-in/callback"
	i.People = map[string]map[string]any{"bob": {"groups": []string{"ops"}}, "eve": {"groups": []string{"visitors"}}}
	h := apptest.Start(t, func(o *app.Options) {
		o.Listen = listen
		old, err := os.ReadFile(o.Config)
		if err == nil {
			err = os.WriteFile(o.Config, fmt.Appendf(old, `---
type: auth
name: people
oidc:
  issuer: %s
  audience: holdpoint
  roles: [{group: ops, roles: [reviewer]}]
  sign_in: {address: "http://%s", client_id: inbox, client_secret: "a secret of the inbox's", label: Example, lasts: 1h}
`, i.URL, listen), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	return h, i
}

func (tb *tab) signInAs(who string) {
	tb.t.Helper()
	tb.click(".signin a.primary")
	tb.shows("Who are you?")
	tb.click("#" + who)
}

func TestPeopleSignInAtTheirIssuer(t *testing.T) {
	h, _ := withIssuer(t)
	tb := newTab(t, h.URL())
	tb.goTo("/inbox?view=open")
	tb.shows("Sign in with Example")
	tb.accessible()
	tb.signInAs("bob")
	tb.holds(`location.pathname === "/inbox" && location.search === "?view=open"`)
	tb.shows("bob")
	if list := tokensOf(h, "bob"); len(list) != 1 || list[0].Note != "signed in with people" || strings.Join(list[0].Roles, " ") != "reviewer" || list[0].ExpiresAt.IsZero() {
		t.Errorf("the session's token: %+v", list)
	}
	tb.holds(`!document.cookie.includes("holdpoint")`) // scripts see none of it
	tb.click(`form[action="/sign-out"] button`)
	tb.holds(`location.pathname === "/sign-in"`)
	if list := tokensOf(h, "bob"); len(list) != 1 || list[0].RevokedAt.IsZero() {
		t.Errorf("after signing out: %+v", list)
	}
	tb.signInAs("nobody")
	tb.shows("The issuer did not sign you in: access_denied <b>The person said no.</b>")
	tb.signInAs("eve")
	tb.shows("You are eve to the issuer, and none of your groups may do anything here.")
	tb.run("no token", chromedp.WaitVisible(chromedp.CSS("#token")))
}

func tokensOf(h *apptest.Holdpoint, who string) []api.TokenInfo {
	h.T.Helper()
	var list api.TokenList
	h.Get("/v1/tokens?id="+who, &list)
	return list.Items
}

func TestASignInEndsInTheBrowserThatBeganIt(t *testing.T) {
	h, i := withIssuer(t)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	get := func(url string) *http.Response {
		t.Helper()
		resp, err := client.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp
	}
	begun := get(h.URL() + "/sign-in/with/people")
	if at := begun.Header.Get("Location"); begun.StatusCode != http.StatusSeeOther || !strings.HasPrefix(at, i.URL+"/authorize?") {
		t.Fatalf("begun: %s, to %s", begun.Status, at)
	}
	for name, c := range map[string]struct {
		path   string
		status int
	}{
		"an issuer that is none": {"/sign-in/with/another", http.StatusNotFound},
		"without what is kept":   {"/sign-in/callback?code=x&state=y", http.StatusForbidden},
	} {
		if got := get(h.URL() + c.path); got.StatusCode != c.status {
			t.Errorf("%s: %s", name, got.Status)
		}
	}
	_, port, err := net.SplitHostPort(h.Options.Listen)
	if err != nil {
		t.Fatal(err)
	}
	// By another name of the same machine, the browser would not bring what it kept.
	moved := get("http://localhost:" + port + "/sign-in/with/people?next=/runs")
	if at := moved.Header.Get("Location"); !strings.HasPrefix(at, h.URL()+"/sign-in/with/people?") || !strings.Contains(at, "next=%2Fruns") {
		t.Errorf("from localhost: to %s", at)
	}
	i.Set(func() { i.Down = true })
	var kept *http.Cookie
	for _, c := range begun.Cookies() {
		kept = c
	}
	if kept == nil || !kept.HttpOnly || kept.SameSite != http.SameSiteLaxMode || kept.MaxAge > 600 {
		b, _ := json.Marshal(kept)
		t.Fatalf("the browser keeps %s", b)
	}
	req, err := http.NewRequest(http.MethodGet, h.URL()+"/sign-in/callback?code=x&state=y", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.AddCookie(kept)
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("another's state: %s", resp.Status)
	}
}

func TestBearersAndPeopleShareAnIssuersKeys(t *testing.T) {
	h, i := withIssuer(t)
	bearer := func() {
		t.Helper()
		req, err := http.NewRequest(http.MethodGet, h.URL()+"/v1/interactions", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+i.Sign("k1", nil))
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("with a JWT: %s", resp.Status)
		}
	}
	bearer()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if r.URL.Path == "/authorize" { // the person says who they are
			q := r.URL.Query()
			q.Set("person", "bob")
			r.URL.Path, r.URL.RawQuery = "/decided", q.Encode()
		}
		return nil
	}}
	resp, err := client.Get(h.URL() + "/sign-in/with/people")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK || len(tokensOf(h, "bob")) != 1 {
		t.Errorf("signed in: %s at %s", resp.Status, resp.Request.URL)
	}
	bearer()
	i.Set(func() {
		if i.Discovered != 1 || i.Fetched != 1 {
			t.Errorf("the issuer was asked %d times what it is, and %d times for its keys", i.Discovered, i.Fetched)
		}
	})
}

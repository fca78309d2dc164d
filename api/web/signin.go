package web

import (
	"net/http"
	"net/url"
	"strings"
)

type signInData struct {
	page
	Problem string
	Next    string
	Ways    []SignIn
}

func (v *view) signInData() signInData {
	return signInData{page: v.page("Sign in", ""), Next: localPath(v.r.FormValue("next")), Ways: v.s.cfg.SignIns}
}

// signInPage asks for a token, or signs in whoever comes by a link that has not been used.
func signInPage(v *view) error {
	data := v.signInData()
	if code := v.r.FormValue("link"); code != "" {
		if token, ok := v.s.take(code); ok {
			return v.enter(token, data)
		}
		data.Problem = "This link was used already, or is more than an hour old. Sign in with a token instead."
	}
	return v.render(http.StatusOK, "signin", data)
}

func signIn(v *view) error {
	data := v.signInData()
	return v.enter(strings.TrimSpace(v.r.FormValue("token")), data)
}

// enter begins a session, if the token is someone's.
func (v *view) enter(token string, data signInData) error {
	v.ses = session{Token: token}
	if err := v.get("/v1/agents", nil); err != nil { // the bridge counts who tries too often
		p := asProblem(err)
		if data.Problem = p.Detail; p.Status == http.StatusUnauthorized {
			data.Problem = "This token is not known here."
		}
		return v.render(p.Status, "signin", data)
	}
	if _, err := v.s.newSession(v.w, v.r, session{Token: token}, sessionAge); err != nil {
		return err
	}
	return v.redirect(data.Next)
}

// signOut ends the session, and the token that was made for it.
func signOut(v *view) error {
	if v.ses.Issued != "" {
		if _, _, err := v.s.cfg.Tokens.RevokeToken(v.r.Context(), v.ses.Issued, v.who.ID, v.s.cfg.Clock()); err != nil {
			return err
		}
	}
	http.SetCookie(v.w, v.s.cookie(v.r, cookieName, "", -1))
	return v.redirect("/sign-in")
}

// localPath keeps a redirect on this site.
func localPath(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\r\n\t") {
		return "/inbox"
	}
	return next
}

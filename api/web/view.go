package web

import (
	"bytes"
	"crypto/subtle"
	"errors"
	"net/http"
	"net/url"
	"time"

	"holdpoint/api"
	"holdpoint/interaction"
)

// view is one request of a person.
type view struct {
	s   *Server
	w   http.ResponseWriter
	r   *http.Request
	ses session
	who interaction.Principal
}

// page is what every page has.
type page struct {
	Title   string
	Place   string // of the navigation
	Who     interaction.Principal
	Token   string // goes with every form
	Now     time.Time
	Version string
}

func (v *view) page(title, place string) page {
	return page{Title: title, Place: place, Who: v.who, Token: v.s.formToken(v.ses), Now: v.s.cfg.Clock(), Version: v.s.cfg.Version}
}

// open serves a page to anyone.
func (s *Server) open(fn func(*view) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v := &view{s: s, w: w, r: r}
		if err := fn(v); err != nil {
			v.fail(err)
		}
	}
}

// signedIn serves a page to whoever has a session, and sends others to sign in. A change must carry the form's token.
func (s *Server) signedIn(fn func(*view) error) http.HandlerFunc {
	return s.open(func(v *view) error {
		known, err := v.identify()
		if err != nil {
			return err
		}
		if !known {
			if v.r.Method != http.MethodGet || v.fragment() {
				v.w.Header().Set("HX-Redirect", "/sign-in")
				return &api.Problem{Status: http.StatusUnauthorized, Title: "Signed out", Detail: "Your session has ended. Sign in again."}
			}
			return v.redirect("/sign-in?next=" + url.QueryEscape(v.r.URL.RequestURI()))
		}
		if v.r.Method != http.MethodGet {
			if err := v.r.ParseForm(); err != nil {
				return &api.Problem{Status: http.StatusBadRequest, Title: "Unreadable", Detail: "The form could not be read, or is longer than 1 MiB."}
			}
			if subtle.ConstantTimeCompare([]byte(v.r.PostFormValue("_token")), []byte(s.formToken(v.ses))) != 1 {
				return &api.Problem{Status: http.StatusForbidden, Title: "Form out of date",
					Detail: "This form was made for another session. Open the page again; nothing was changed."}
			}
		}
		return fn(v)
	})
}

// identify finds out who is there. Where the bridge needs no token, everyone is its one person.
func (v *view) identify() (bool, error) {
	ses, ok := v.s.sessionOf(v.r)
	who, known, err := v.s.whose(v.r, ses.Token)
	if err != nil {
		v.s.cfg.Log.ErrorContext(v.r.Context(), "authentication failed", "error", err)
		return false, &api.Problem{Status: http.StatusServiceUnavailable, Title: "Unavailable", Detail: "Who you are could not be found out. Try again."}
	}
	if !known {
		return false, nil
	}
	if !ok {
		if v.r.Method != http.MethodGet {
			return false, nil
		}
		if ses, err = v.s.newSession(v.w, v.r, session{}, sessionAge); err != nil {
			return false, err
		}
	}
	v.ses, v.who = ses, who
	return true, nil
}

// fragment reports whether the request is for a part of a page.
func (v *view) fragment() bool { return v.r.Header.Get("HX-Request") == "true" }

func (v *view) redirect(to string) error {
	if v.fragment() {
		v.w.Header().Set("HX-Redirect", to)
		v.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	http.Redirect(v.w, v.r, to, http.StatusSeeOther)
	return nil
}

// render writes a template, whole or not at all.
func (v *view) render(status int, name string, data any) error {
	var b bytes.Buffer
	if err := v.s.pages.ExecuteTemplate(&b, name, data); err != nil {
		return err
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.WriteHeader(status)
	_, _ = v.w.Write(b.Bytes()) // a reader who is gone is nobody to tell
	return nil
}

type problemData struct {
	page
	Problem *api.Problem
}

// fail shows what went wrong: a problem as it is, anything else as internal.
func (v *view) fail(err error) {
	p := asProblem(err)
	if p.Status >= 500 {
		v.s.cfg.Log.ErrorContext(v.r.Context(), "page failed", "path", v.r.URL.Path, "error", err)
	}
	name := "problem"
	if v.fragment() {
		name = "problem-fragment"
	}
	if err := v.render(p.Status, name, problemData{v.page(p.Title, ""), p}); err != nil {
		http.Error(v.w, p.Detail, p.Status)
	}
}

func asProblem(err error) *api.Problem {
	var p *api.Problem
	if errors.As(err, &p) {
		return p
	}
	return &api.Problem{Status: http.StatusInternalServerError, Title: "Internal", Detail: "Something went wrong inside; the server's log says what."}
}

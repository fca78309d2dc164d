package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"

	"holdpoint/api"
	"holdpoint/interaction"
)

// CallbackPath is where an issuer sends people back to.
const CallbackPath = "/sign-in/callback"

// SignIn is an issuer at which people may sign in.
type SignIn struct {
	Issuer Issuer
	// Lasts is how long the session lasts, with what the issuer said at its start.
	Lasts time.Duration
}

// Issuer tells who somebody is who came by way of its own pages.
type Issuer interface {
	// Name is for addresses, Label for people.
	Name() string
	Label() string
	// Callback is the address to which the issuer sends people back.
	Callback() string
	// Begin returns the issuer's page, and what this browser has to keep until it comes back.
	Begin(ctx context.Context) (to string, keep []byte, err error)
	// Finish tells who came back. *interaction.Error says, in words for that person, why they are not let in; another
	// error means that the issuer can't be reached.
	Finish(ctx context.Context, keep []byte, query url.Values) (interaction.Principal, error)
}

const (
	// awayCookie is kept by a browser whose person is at the issuer's pages.
	awayCookie = "holdpoint_sign_in"
	awayAge    = 10 * time.Minute
)

// away is what awayCookie seals.
type away struct {
	Issuer string `json:"issuer"`
	Keep   []byte `json:"keep"`
	Next   string `json:"next"`
	Until  int64  `json:"until"`
}

func (s *Server) issuer(name string) (SignIn, bool) {
	for _, w := range s.cfg.SignIns {
		if w.Issuer.Name() == name {
			return w, true
		}
	}
	return SignIn{}, false
}

// beginSignIn leads to the issuer's page.
func beginSignIn(v *view) error {
	way, ok := v.s.issuer(v.r.PathValue("issuer"))
	if !ok {
		return &api.Problem{Status: http.StatusNotFound, Title: "Not found", Detail: "People don't sign in that way here."}
	}
	next := localPath(v.r.FormValue("next"))
	// The issuer sends people to one address, and only a browser that began there has what it must bring.
	if home, err := url.Parse(way.Issuer.Callback()); err == nil && home.Host != v.r.Host && !v.r.Form.Has("moved") {
		home.Path, home.RawQuery = v.r.URL.Path, url.Values{"next": {next}, "moved": {""}}.Encode()
		http.Redirect(v.w, v.r, home.String(), http.StatusSeeOther)
		return nil
	}
	to, keep, err := way.Issuer.Begin(v.r.Context())
	if err != nil {
		return v.unreached(err)
	}
	kept := away{Issuer: way.Issuer.Name(), Keep: keep, Next: next, Until: v.s.cfg.Clock().Add(awayAge).Unix()}
	if err := v.s.keep(v.w, v.r, awayCookie, kept, awayAge); err != nil {
		return err
	}
	http.Redirect(v.w, v.r, to, http.StatusSeeOther)
	return nil
}

// finishSignIn begins a session for who comes back from the issuer. Its token is made for it alone: what a browser
// keeps stays small, whatever the issuer's own token holds, and is revoked like any other.
func finishSignIn(v *view) error {
	var kept away
	known := v.s.kept(v.r, awayCookie, &kept) && v.s.cfg.Clock().Unix() < kept.Until
	way, found := v.s.issuer(kept.Issuer)
	data := v.signInData()
	if !known || !found {
		data.Problem = "This sign-in was begun in another browser, or too long ago. Begin again."
		return v.render(http.StatusForbidden, "signin", data)
	}
	http.SetCookie(v.w, v.s.cookie(v.r, awayCookie, "", -1))
	data.Next = kept.Next
	who, err := way.Issuer.Finish(v.r.Context(), kept.Keep, v.r.URL.Query())
	var refused *interaction.Error
	switch {
	case errors.As(err, &refused):
		v.s.cfg.Log.InfoContext(v.r.Context(), "sign-in refused", "issuer", kept.Issuer, "why", refused.Message)
		data.Problem = refused.Message
		return v.render(http.StatusForbidden, "signin", data)
	case err != nil:
		return v.unreached(err)
	}
	now := v.s.cfg.Clock()
	info, token, err := v.s.cfg.Tokens.CreateToken(v.r.Context(), api.NewToken{ID: uuid.NewString(), Principal: who, Note: "signed in with " + kept.Issuer,
		CreatedBy: who.ID, CreatedAt: now, ExpiresAt: now.Add(way.Lasts)})
	if err != nil {
		return err
	}
	if _, err := v.s.newSession(v.w, v.r, session{Token: token, Issued: info.TokenID}, way.Lasts); err != nil {
		return err
	}
	v.s.cfg.Log.InfoContext(v.r.Context(), "signed in", "issuer", kept.Issuer, "principal", who.ID, "token_id", info.TokenID)
	return v.redirect(kept.Next)
}

// unreached is for an issuer that does not answer as one.
func (v *view) unreached(err error) error {
	v.s.cfg.Log.WarnContext(v.r.Context(), "issuer not reached", "error", err)
	return &api.Problem{Status: http.StatusServiceUnavailable, Title: "Issuer not reached",
		Detail: "The service at which you sign in does not answer as it should. Try again soon, or sign in with a token; the bridge's log says more."}
}

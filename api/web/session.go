package web

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"holdpoint/interaction"
)

// cookieName is the session's cookie. It is sent when someone follows a link from a message to a page (SameSite=Lax),
// and with nothing that another site's page posts.
const cookieName = "holdpoint_session"

// sessionAge is how long a session lasts, unless its token ends before.
const sessionAge = 7 * 24 * time.Hour

// session is what the cookie seals.
type session struct {
	ID    string `json:"id"`
	Token string `json:"token,omitempty"` // "" where the bridge needs none
	// Issued is the id of the token, where it was made for this session and ends with it.
	Issued string `json:"issued,omitempty"`
	Until  int64  `json:"until"`
}

// newSession begins a session and sets its cookie.
func (s *Server) newSession(w http.ResponseWriter, r *http.Request, ses session, lasts time.Duration) (session, error) {
	ses.ID, ses.Until = rand.Text(), s.cfg.Clock().Add(lasts).Unix()
	return ses, s.keep(w, r, cookieName, ses, lasts)
}

// keep has the browser keep a value that only this server, and those with its key, can read.
func (s *Server) keep(w http.ResponseWriter, r *http.Request, name string, value any, lasts time.Duration) error {
	plain, err := json.Marshal(value)
	if err != nil {
		return err
	}
	nonce := make([]byte, s.seal.NonceSize())
	if _, err := rand.Read(nonce); err != nil {
		return err
	}
	sealed := base64.RawURLEncoding.EncodeToString(s.seal.Seal(nonce, nonce, plain, []byte(name)))
	http.SetCookie(w, s.cookie(r, name, sealed, int(lasts.Seconds())))
	return nil
}

// kept reads what the browser was given to keep.
func (s *Server) kept(r *http.Request, name string, value any) bool {
	c, err := r.Cookie(name)
	if err != nil {
		return false
	}
	raw, err := base64.RawURLEncoding.DecodeString(c.Value)
	n := s.seal.NonceSize()
	if err != nil || len(raw) <= n {
		return false
	}
	plain, err := s.seal.Open(nil, raw[:n], raw[n:], []byte(name))
	return err == nil && json.Unmarshal(plain, value) == nil
}

func (s *Server) cookie(r *http.Request, name, value string, age int) *http.Cookie {
	tls := r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
	return &http.Cookie{Name: name, Value: value, Path: "/", MaxAge: age, HttpOnly: true, Secure: tls, SameSite: http.SameSiteLaxMode}
}

// sessionOf opens the cookie of a request.
func (s *Server) sessionOf(r *http.Request) (ses session, ok bool) {
	ok = s.kept(r, cookieName, &ses)
	return ses, ok && s.cfg.Clock().Unix() < ses.Until
}

// whose asks whose a token is.
func (s *Server) whose(r *http.Request, token string) (interaction.Principal, bool, error) {
	ask := r.Clone(r.Context())
	ask.Header = http.Header{}
	if token != "" {
		ask.Header.Set("Authorization", "Bearer "+token)
	}
	p, ok, err := s.cfg.Auth.Authenticate(ask)
	return p, ok && p.ID != "", err
}

// formToken goes with every change: a page of another origin can't know it.
func (s *Server) formToken(ses session) string {
	m := hmac.New(sha256.New, s.mac)
	m.Write([]byte(ses.ID))
	return hex.EncodeToString(m.Sum(nil)[:16])
}

// linkAge is how long a sign-in link may be used, and maxLinks how many wait at once.
const (
	linkAge  = time.Hour
	maxLinks = 64
)

// links are sign-in links that have not been used.
type links struct {
	mu   sync.Mutex
	open map[string]link
}

type link struct {
	token string
	until time.Time
}

// Link returns the path of a page that signs its first visitor in with a token, once and within an hour.
func (s *Server) Link(token string) string {
	code := rand.Text()
	s.links.mu.Lock()
	defer s.links.mu.Unlock()
	if s.links.open == nil || len(s.links.open) >= maxLinks {
		s.links.open = map[string]link{}
	}
	s.links.open[code] = link{token, s.cfg.Clock().Add(linkAge)}
	return "/sign-in?link=" + code
}

// take uses a link up.
func (s *Server) take(code string) (token string, ok bool) {
	s.links.mu.Lock()
	defer s.links.mu.Unlock()
	l, ok := s.links.open[code]
	delete(s.links.open, code)
	return l.token, ok && s.cfg.Clock().Before(l.until)
}

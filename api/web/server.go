package web

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"holdpoint/api"
)

// Config is what the pages are made of.
type Config struct {
	// API is the bridge, which is asked for everything, and serves every path that no page has.
	API http.Handler
	// Auth tells whose a token is.
	Auth api.Authenticator
	// SignIns are the issuers at which people may sign in, beside doing so with a token.
	SignIns []SignIn
	// Tokens makes the token of a session that began at an issuer. Required where there are SignIns.
	Tokens api.Tokens
	// Key seals sessions, at least 32 bytes. Bridges that share it share their sessions.
	Key []byte
	// Loopback says that the bridge listens on loopback only: pages for any other host are then refused.
	Loopback bool
	// TemporalUI is the base URL of Temporal's own pages; "" leaves out the links to them.
	TemporalUI string
	// Version is shown at the foot of the sign-in page. Defaults to "dev".
	Version string
	// Clock defaults to time.Now.
	Clock func() time.Time
	// Log defaults to slog.Default().
	Log *slog.Logger
}

// Server serves the pages, and hands on to the bridge what is none.
type Server struct {
	cfg   Config
	mux   *http.ServeMux
	seal  cipher.AEAD
	mac   []byte
	links links
	pages *template.Template
}

// New prepares the pages.
func New(cfg Config) (*Server, error) {
	if cfg.API == nil || cfg.Auth == nil {
		return nil, errors.New("web: Config.API and Config.Auth are required")
	}
	if len(cfg.Key) < 32 {
		return nil, errors.New("web: Config.Key needs 32 bytes or more")
	}
	if len(cfg.SignIns) > 0 && cfg.Tokens == nil {
		return nil, errors.New("web: Config.Tokens is required with Config.SignIns")
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	if cfg.Version == "" {
		cfg.Version = "dev"
	}
	s := &Server{cfg: cfg, mux: http.NewServeMux()}
	if err := s.keys(cfg.Key); err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	var err error
	if s.pages, err = parsePages(); err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	s.routes()
	return s, nil
}

// keys derives one key for each purpose.
func (s *Server) keys(secret []byte) error {
	k, err := hkdf.Key(sha256.New, secret, nil, "holdpoint session", 32)
	if err != nil {
		return err
	}
	if s.mac, err = hkdf.Key(sha256.New, secret, nil, "holdpoint form", 32); err != nil {
		return err
	}
	block, err := aes.NewCipher(k)
	if err != nil {
		return err
	}
	s.seal, err = cipher.NewGCM(block)
	return err
}

func (s *Server) routes() {
	s.mux.Handle("GET /static/", s.files())
	s.mux.HandleFunc("GET /sign-in", s.open(signInPage))
	s.mux.HandleFunc("POST /sign-in", s.open(signIn))
	s.mux.HandleFunc("GET /sign-in/with/{issuer}", s.open(beginSignIn))
	s.mux.HandleFunc("GET "+CallbackPath, s.open(finishSignIn))
	for pattern, fn := range map[string]func(*view) error{
		"GET /{$}":                  func(v *view) error { return v.redirect("/inbox") },
		"POST /sign-out":            signOut,
		"GET /inbox":                inboxPage,
		"GET /inbox/live":           inboxLive,
		"GET /inbox/review":         reviewPage,
		"POST /inbox/review":        review,
		"GET /inbox/{id}":           interactionPage,
		"GET /inbox/{id}/live":      interactionLive,
		"GET /inbox/{id}/verdict":   verdict,
		"GET /inbox/{id}/card":      gateCard,
		"POST /inbox/{id}/answer":   answer,
		"POST /inbox/{id}/preview":  previewGrant,
		"POST /inbox/{id}/hold":     hold,
		"GET /runs":                 runsPage,
		"GET /runs/{id}":            runPage,
		"GET /runs/{id}/live":       runLive,
		"GET /runs/{id}/head":       runHead,
		"POST /runs/{id}/control":   controlRun,
		"POST /runs/{id}/message":   messageRun,
		"GET /chat":                 chatsPage,
		"POST /chat":                chatStart,
		"GET /chat/{session}":       chatPage,
		"POST /chat/{session}":      chatSend,
		"GET /agents":               agentsPage,
		"GET /rules":                rulesPage,
		"POST /rules":               saveRule,
		"POST /rules/{rule}/revoke": revokeRule,
		"POST /rules/template":      grantTemplate,
		"POST /rules/check":         checkRule,
		"GET /audit":                auditPage,
		"GET /audit/export":         auditExport,
		"GET /audit/{id}":           recordPage,
	} {
		s.mux.HandleFunc(pattern, s.signedIn(fn))
	}
}

// ServeHTTP serves a page, or what the bridge has at the path.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, pattern := s.mux.Handler(r); pattern == "" {
		s.cfg.API.ServeHTTP(w, r)
		return
	}
	defer s.recovered(w, r)
	headers(w.Header())
	if r.TLS != nil {
		w.Header().Set("Strict-Transport-Security", "max-age=31536000")
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(pageTimeout)) // streams set their own
	if s.cfg.Loopback && !api.LoopbackHost(r.Host) {
		http.Error(w, "This bridge listens on loopback and answers only to localhost, 127.0.0.1 and [::1].", http.StatusForbidden)
		return
	}
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		http.Error(w, "A page of another origin may not send this.", http.StatusForbidden)
		return
	}
	api.BoundBody(w, r)
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	s.mux.ServeHTTP(w, r)
}

// pageTimeout bounds how long a page may take, its reader included.
const pageTimeout = 2 * time.Minute

// maxForm bounds a form: an answer, and what is typed beside it.
const maxForm = 1 << 20

// policy lets a page load and send to its own origin alone, and run no script that is written into it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

func headers(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

func (s *Server) recovered(w http.ResponseWriter, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if v == http.ErrAbortHandler { //nolint:errorlint // net/http compares it so
		panic(v)
	}
	s.cfg.Log.ErrorContext(r.Context(), "page panicked", "path", r.URL.Path, "panic", v, "stack", string(debug.Stack()))
	http.Error(w, "Something went wrong inside; the server's log says what.", http.StatusInternalServerError)
}

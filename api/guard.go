package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"
	"time"

	"holdpoint/interaction"
)

// maxBody bounds every request body, so that nothing is read that can't be accepted.
const maxBody = interaction.MaxBatchBytes

// bodyTimeout bounds how long a client may take to send a body.
const bodyTimeout = 10 * time.Second

// open are the paths that need no credentials: they say nothing of anyone's runs.
var open = map[string]bool{"/healthz": true, "/readyz": true, "/openapi.json": true, "/openapi.yaml": true, "/docs": true}

type principalKey struct{}

// principal is who the guard found to be calling. It is the zero value, who may do nothing, for open paths.
func principal(ctx context.Context) interaction.Principal {
	p, _ := ctx.Value(principalKey{}).(interaction.Principal)
	return p
}

// guard stands before every route: it refuses what must not reach one, and finds out who calls.
func (s *Server) guard(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if inner(r) {
			mux.ServeHTTP(w, r)
			return
		}
		defer s.recovered(w, r)
		s.protect(w, r)
		BoundBody(w, r)
		if r.Method == http.MethodHead {
			w, r = headersOnly(w, r)
		}
		if s.ownSignature(r) {
			s.serveSigned(w, r)
			return
		}
		if s.crossOrigin(w, r) {
			return
		}
		if p := s.admit(r); p != nil {
			writeProblem(w, p)
			return
		}
		if !open[r.URL.Path] {
			p, refused := s.authenticate(r)
			if refused != nil {
				writeProblem(w, refused)
				return
			}
			var end func()
			r, end = s.whileEntitled(r, p)
			defer end()
		}
		if p := readBody(w, r); p != nil {
			writeProblem(w, p)
			return
		}
		if h, pattern := mux.Handler(r); pattern == "" {
			noRoute(w, r, h)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// admit refuses requests that a web page of another site may have sent: the bridge also runs on people's own
// machines, where their browsers can reach it.
func (s *Server) admit(r *http.Request) *Problem {
	if s.cfg.Loopback && !loopbackHost(r.Host) {
		return problem(http.StatusForbidden, CodeForbiddenHost,
			"this bridge listens on loopback and answers only to localhost, 127.0.0.1 and [::1], not to %q", r.Host)
	}
	if err := s.origins.Check(r); err != nil {
		return problem(http.StatusForbidden, CodeForbiddenOrigin, "a page of another origin may not send this request")
	}
	if r.Method == http.MethodPost && r.ContentLength != 0 {
		if mt, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || mt != "application/json" {
			return problem(http.StatusUnsupportedMediaType, CodeMediaType,
				"send the body as application/json, not %q", r.Header.Get("Content-Type"))
		}
	}
	return nil
}

func (s *Server) authenticate(r *http.Request) (interaction.Principal, *Problem) {
	from := s.address(r)
	if p := s.failures.spent(from); p != nil {
		return interaction.Principal{}, p
	}
	p, ok, err := s.whoIs(r)
	if err != nil {
		s.cfg.Log.ErrorContext(r.Context(), "authentication failed", "error", err)
		return p, problem(http.StatusServiceUnavailable, CodeUnavailable, "who you are could not be found out; try again")
	}
	if !ok || p.ID == "" {
		if limited := s.failures.take(from); limited != nil {
			return p, limited
		}
		return p, problem(http.StatusUnauthorized, CodeUnauthenticated,
			"send a valid token as \"Authorization: Bearer …\"").header("WWW-Authenticate", `Bearer realm="holdpoint"`)
	}
	return p, s.requests.take(string(p.ID))
}

// whoIs finds out who sends a request.
func (s *Server) whoIs(r *http.Request) (interaction.Principal, bool, error) {
	if p, ok := s.guest(r); ok {
		return p, true, nil
	}
	return s.cfg.Auth.Authenticate(r)
}

// readBody takes in the whole body, within its bounds of size and time.
func readBody(w http.ResponseWriter, r *http.Request) *Problem {
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	if r.ContentLength > maxBody {
		if r.ContentLength <= maxDrained {
			drain(r)
		}
		return tooMuch(w)
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		drain(r)
		return tooMuch(w)
	case err != nil:
		return problem(http.StatusBadRequest, CodeInvalid, "the body could not be read to its end")
	}
	r.Body = io.NopCloser(bytes.NewReader(data))
	return nil
}

// BoundBody bounds the time for a request's body, until all of it was read, or else for good: of a request that is refused
// before it is read, net/http reads on after the answer, as slowly as the client sends.
func BoundBody(w http.ResponseWriter, r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	c := http.NewResponseController(w)
	_ = c.SetReadDeadline(time.Now().Add(bodyTimeout)) // a writer that knows no deadlines is a test's
	r.Body = timedBody{r.Body, func() { _ = c.SetReadDeadline(time.Time{}) }}
}

// timedBody lifts the deadline at its end: it would end the request while an answer waits for a worker.
type timedBody struct {
	io.ReadCloser
	lift func()
}

func (b timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.lift()
	}
	return n, err
}

// maxDrained is up to where a body that is too large is read all the same, and thrown away: who is still sending hears why
// only once it has sent everything. A larger one is refused at once.
const maxDrained = 8 << 20

func drain(r *http.Request) { _, _ = io.CopyN(io.Discard, r.Body, maxDrained) }

// tooMuch refuses a body, and what is left of it with its connection.
func tooMuch(w http.ResponseWriter) *Problem {
	w.Header().Set("Connection", "close")
	return problem(http.StatusRequestEntityTooLarge, CodeTooLarge, "the body has more than %d bytes", maxBody)
}

// loopbackHost reports whether a Host header names this machine's loopback, by a name that no DNS server answers for.
func loopbackHost(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}

// headersOnly ends a request once its answer has begun: of HEAD nothing more is sent, and a stream would go on unread for ever.
func headersOnly(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	return &headWriter{w, cancel}, r.WithContext(ctx)
}

type headWriter struct {
	http.ResponseWriter
	begun func()
}

func (w *headWriter) WriteHeader(status int) {
	w.ResponseWriter.WriteHeader(status)
	w.begun()
}

// Unwrap gives http.ResponseController the deadlines.
func (w *headWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// noRoute answers for what the mux has no route for, in the shape that every error has.
func noRoute(w http.ResponseWriter, r *http.Request, h http.Handler) {
	rec := &statusRecorder{header: http.Header{}}
	h.ServeHTTP(rec, r)
	if rec.status == http.StatusMethodNotAllowed {
		writeProblem(w, problem(rec.status, CodeMethod, "%s takes %s", r.URL.Path, rec.header.Get("Allow")).
			header("Allow", rec.header.Get("Allow")))
		return
	}
	writeProblem(w, problem(http.StatusNotFound, CodeNotFound, "there is nothing at %s", r.URL.Path))
}

type statusRecorder struct {
	header http.Header
	status int
}

func (s *statusRecorder) Header() http.Header         { return s.header }
func (s *statusRecorder) Write(b []byte) (int, error) { return len(b), nil }
func (s *statusRecorder) WriteHeader(status int)      { s.status = status }

// recovered keeps a fault in one request from ending the process.
func (s *Server) recovered(w http.ResponseWriter, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if v == http.ErrAbortHandler { //nolint:errorlint // net/http compares it so
		panic(v)
	}
	s.cfg.Log.ErrorContext(r.Context(), "request panicked", "path", r.URL.Path, "panic", v, "stack", string(debug.Stack()))
	p, _ := asProblem(nil)
	writeProblem(w, p)
}

func writeProblem(w http.ResponseWriter, p *Problem) {
	for name, values := range p.headers {
		w.Header()[name] = values
	}
	writeJSON(w, p.Status, problemMedia, p)
}

// writeJSON writes v; a client that is gone by then is nobody to tell.
func writeJSON(w http.ResponseWriter, status int, media string, v any) {
	w.Header().Set("Content-Type", media)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

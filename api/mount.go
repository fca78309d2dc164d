package api

import (
	"context"
	"net/http"
	"strings"

	"holdpoint/interaction"
)

// Mount serves another handler behind the guard, which has found out by then who calls. The handler may make the
// bridge's own calls in that one's name, with the request's context. Call it before the first request.
func (s *Server) Mount(r Route, h http.Handler) {
	s.mounted[r.Pattern] = true
	s.mux.Handle(r.Pattern, h)
	s.describe(r, false)
}

// MountSigned serves a handler that finds out itself who calls, by a signature over the request: it gets requests without
// credentials, with a body of any type, and must refuse what is not signed with 401. Call it before the first request.
func (s *Server) MountSigned(r Route, h http.Handler) {
	s.signed[r.Pattern] = true
	s.mux.Handle(r.Pattern, h)
	s.describe(r, true)
}

// ownSignature reports whether a request is for what MountSigned serves.
func (s *Server) ownSignature(r *http.Request) bool {
	_, pattern := s.mux.Handler(r)
	return s.signed[pattern]
}

// serveSigned counts the refusals of a signature as it would those of a token.
func (s *Server) serveSigned(w http.ResponseWriter, r *http.Request) {
	from := s.address(r)
	if p := s.failures.spent(from); p != nil {
		writeProblem(w, p)
		return
	}
	if p := readBody(w, r); p != nil {
		writeProblem(w, p)
		return
	}
	seen := &statusWriter{ResponseWriter: w}
	s.mux.ServeHTTP(seen, r)
	if seen.status == http.StatusUnauthorized {
		s.failures.take(from)
	}
}

// statusWriter remembers a response's status.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// AnswerAs gives an answer in somebody's name, by the same way as their own request. It is for what MountSigned serves. The
// error is a *Problem.
func (s *Server) AnswerAs(ctx context.Context, who interaction.Principal, r interaction.Response) error {
	ctx = context.WithValue(ctx, principalKey{}, who)
	a, err := s.prepare(ctx, r)
	if err == nil {
		_, _, err = s.respond(ctx, a)
	}
	if err != nil {
		return s.report(ctx, "answer-as", err)
	}
	return nil
}

// inner reports whether a request comes from a handler behind the guard. Nothing outside the process can make it so.
func inner(r *http.Request) bool {
	_, ok := r.Context().Value(principalKey{}).(interaction.Principal)
	return ok
}

// guest is who sends a request without credentials to an earlier protocol, where one was configured for such clients.
func (s *Server) guest(r *http.Request) (interaction.Principal, bool) {
	if s.cfg.Guest.ID == "" || len(r.Header.Values("Authorization")) > 0 {
		return interaction.Principal{}, false
	}
	_, pattern := s.mux.Handler(r)
	_, at, _ := strings.Cut(pattern, " ")
	return s.cfg.Guest, s.mounted[pattern] || strings.HasPrefix(at, "/permissions/")
}

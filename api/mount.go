package api

import (
	"net/http"
	"strings"

	"holdpoint/interaction"
)

// Mount serves another handler behind the guard, which has found out by then who calls. The handler may make the
// bridge's own calls in that one's name, with the request's context. Call it before the first request.
func (s *Server) Mount(pattern string, h http.Handler) {
	s.mounted[pattern] = true
	s.mux.Handle(pattern, h)
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

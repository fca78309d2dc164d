package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// metricsRoutes shows the process's measurements to admins: they name tools, models and how much waits.
func (s *Server) metricsRoutes(h huma.API) {
	if s.cfg.Metrics == nil {
		return
	}
	op := operation(h, "metrics", http.MethodGet, "/metrics", "Measurements of this bridge, in Prometheus's text format; for admins", 200)
	op.Responses["200"] = &huma.Response{Description: "The measurements", Content: map[string]*huma.MediaType{plainMedia: {Schema: &huma.Schema{Type: huma.TypeString}}}}
	register(s, h, op, func(ctx context.Context, _ *struct{}) (*huma.StreamResponse, error) {
		if !isAdmin(principal(ctx)) {
			return nil, problem(http.StatusForbidden, CodeForbidden, "only an admin may read the metrics")
		}
		return &huma.StreamResponse{Body: func(hc huma.Context) {
			r, w := humago.Unwrap(hc)
			s.cfg.Metrics.ServeHTTP(w, r)
		}}, nil
	})
}

package api

import (
	"context"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"go.temporal.io/sdk/client"
)

// readyTimeout bounds all checks of one /readyz together.
const readyTimeout = 3 * time.Second

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }

type healthOutput struct{ Body Health }

func (s *Server) healthRoutes(h huma.API) {
	live := operation(h, "healthz", http.MethodGet, "/healthz", "Whether the bridge is up", 200)
	ready := operation(h, "readyz", http.MethodGet, "/readyz", "Whether all that it needs is there; names what is missing", 200, 503)
	live.Security, ready.Security = []map[string][]string{{}}, []map[string][]string{{}}
	register(s, h, live, func(context.Context, *struct{}) (*healthOutput, error) {
		return &healthOutput{Health{Status: "ok"}}, nil
	})
	register(s, h, ready, s.ready)
}

func (s *Server) ready(ctx context.Context, _ *struct{}) (*healthOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	checks := append([]Check{{Name: "temporal", Missing: "the Temporal server does not answer", Run: s.temporalHealth}}, s.cfg.Checks...)
	errs := make([]error, len(checks))
	var wg sync.WaitGroup
	for i, c := range checks {
		wg.Go(func() { errs[i] = c.Run(ctx) })
	}
	wg.Wait()
	p := problem(http.StatusServiceUnavailable, CodeNotReady, "")
	var names []string
	for i, c := range checks {
		if errs[i] != nil {
			s.cfg.Log.WarnContext(ctx, "not ready", "check", c.Name, "error", errs[i])
			names = append(names, c.Name)
			p.at(c.Name, c.missing())
		}
	}
	if names == nil {
		return &healthOutput{Health{Status: "ready"}}, nil
	}
	p.Detail = "missing: " + strings.Join(names, ", ")
	return nil, p
}

func (c Check) missing() string {
	if c.Missing == "" {
		return c.Name + " is not there"
	}
	return c.Missing
}

func (s *Server) temporalHealth(ctx context.Context) error {
	_, err := s.cfg.Temporal.CheckHealth(ctx, &client.CheckHealthRequest{})
	return err
}

package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"holdpoint/internal/redact"
	"holdpoint/internal/telemetry"
)

// measure makes what this process is measured by, and serves it where Options.Metrics says.
func (a *App) measure(ctx context.Context, part string) error {
	log := a.log // which is another once the configuration is known, while exporters run already
	t, err := telemetry.New(ctx, telemetry.Options{Part: part, Version: a.o.Version, Getenv: a.o.Getenv, Hider: redact.New(),
		Failed: func(err error) { log.Warn("something could not be measured or exported", "error", err) }})
	if err != nil {
		return err
	}
	a.telemetry = t
	a.closing(t.Close)
	if a.o.Metrics == "" {
		return nil
	}
	listener, err := net.Listen("tcp", a.o.Metrics)
	if err != nil {
		return fmt.Errorf("the metrics can't be served on %s: %w: choose another address with --metrics", a.o.Metrics, err)
	}
	a.metrics = listener.Addr().String()
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", t.Handler())
	server := &http.Server{Handler: mux, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, MaxHeaderBytes: 16 << 10, ErrorLog: a.serverLog()}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			a.fail(fmt.Errorf("metrics: %w", err))
		}
	}()
	a.closing(server.Close)
	return nil
}

// Metrics is the address that the metrics are served on; "" for none.
func (a *App) Metrics() string { return a.metrics }

// ages are what "pending" is told apart by.
var ages = []struct {
	name string
	upTo time.Duration
}{{"1m", time.Minute}, {"1h", time.Hour}, {"1d", 24 * time.Hour}, {"7d", 7 * 24 * time.Hour}}

// older is the age beyond all of them.
const older = "older"

// countWaiting has what waits for people counted from the store. Bridges do it, each the same: take the maximum.
func (a *App) countWaiting() error {
	return a.telemetry.Metrics().CountWaiting(func(ctx context.Context) ([]telemetry.Waiting, error) {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		now := a.o.Now()
		bounds, names := make([]time.Time, len(ages)), map[time.Time]string{{}: older}
		for i, age := range ages {
			bounds[i] = now.Add(-age.upTo)
			names[bounds[i]] = age.name
		}
		rows, err := a.store.Waiting(ctx, bounds)
		if err != nil {
			return nil, err
		}
		out := make([]telemetry.Waiting, len(rows))
		for i, w := range rows {
			out[i] = telemetry.Waiting{Risk: w.Risk, Age: names[w.Since], Count: w.Count}
		}
		return out, nil
	})
}

package apptest

import (
	"log/slog"
	"path/filepath"
	"testing"

	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	"holdpoint/internal/app"
)

// Attach talks to a Holdpoint that another process runs with these options. It has no App: nothing here can stop
// it.
func Attach(t testing.TB, o app.Options, info app.DevInfo) *Holdpoint {
	t.Helper()
	c, err := client.NewLazyClient(client.Options{HostPort: info.TemporalAddress,
		Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return &Holdpoint{T: t, Options: o, Client: c, Dir: filepath.Join(filepath.Dir(o.Config), "work"), elsewhere: &info}
}

// URL is the bridge's base URL.
func (h *Holdpoint) URL() string {
	if h.elsewhere != nil {
		return h.elsewhere.URL
	}
	return h.App.URL()
}

// Token is the bridge's bearer token.
func (h *Holdpoint) Token() string {
	if h.elsewhere != nil {
		return h.elsewhere.Token
	}
	return h.App.Token()
}

// TemporalAddress is where its Temporal server listens.
func (h *Holdpoint) TemporalAddress() string {
	if h.elsewhere != nil {
		return h.elsewhere.TemporalAddress
	}
	return h.App.TemporalAddress()
}

package adapters

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"holdpoint/api"
	"holdpoint/interaction"
)

// Config is what the adapters are made of.
type Config struct {
	// Bridge answers the calls that they make. Required.
	Bridge http.Handler
	// Agent is who is started by a chat that names no agent. Where it is "", the only agent there is.
	Agent string
	// Origins are other sites whose pages may open a WebSocket, as scheme://host. Defaults to none: the bridge's own alone.
	Origins []string
	// Ping is the time between pings on a WebSocket. Defaults to 15 s.
	Ping time.Duration
	// WriteTimeout is how long a reader may take for one message. Defaults to 10 s.
	WriteTimeout time.Duration
	// Hider takes secrets out of what is shown. Nil hides nothing.
	Hider api.Hider
	// Log defaults to slog.Default().
	Log *slog.Logger
}

// Adapters are the protocols. Make them with New.
type Adapters struct {
	cfg  Config
	core core
	life context.Context
	end  context.CancelFunc
}

// New makes the adapters.
func New(cfg Config) (*Adapters, error) {
	if cfg.Bridge == nil {
		return nil, errors.New("adapters.Config.Bridge is required")
	}
	if cfg.Ping <= 0 {
		cfg.Ping = 15 * time.Second
	}
	if cfg.WriteTimeout <= 0 {
		cfg.WriteTimeout = 10 * time.Second
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	a := &Adapters{cfg: cfg, core: core{cfg.Bridge}}
	a.life, a.end = context.WithCancel(context.Background())
	return a, nil
}

// Close ends the WebSockets, which would hold up a shutdown.
func (a *Adapters) Close() error {
	a.end()
	return nil
}

// refusal is a request that an adapter refuses itself, before the bridge sees it.
func refusal(status int, code api.Code, format string, args ...any) *api.Problem {
	return &api.Problem{Type: api.ProblemTypePrefix + string(code), Code: code, Status: status, Title: string(code),
		Detail: fmt.Sprintf(format, args...)}
}

// asProblem is an error as clients see it. One that is nobody's refusal is logged and tells nothing.
func (a *Adapters) asProblem(ctx context.Context, err error) *api.Problem {
	var p *api.Problem
	if errors.As(err, &p) {
		return p
	}
	var e *interaction.Error
	if errors.As(err, &e) {
		return refusal(http.StatusBadRequest, api.CodeInvalid, "%s", e.Error())
	}
	a.cfg.Log.ErrorContext(ctx, "an adapter failed", "error", err)
	return refusal(http.StatusInternalServerError, api.CodeInternal, "something went wrong inside; the server's log says what")
}

// refuse answers with a problem, which also has the "detail" that the designs' own servers send.
func (a *Adapters) refuse(w http.ResponseWriter, r *http.Request, err error) {
	p := a.asProblem(r.Context(), err)
	writeJSON(w, p.Status, p.ContentType(""), p)
}

func reply(w http.ResponseWriter, status int, v any) { writeJSON(w, status, "application/json", v) }

// writeJSON writes v; a client that is gone by then is nobody to tell.
func writeJSON(w http.ResponseWriter, status int, media string, v any) {
	w.Header().Set("Content-Type", media)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

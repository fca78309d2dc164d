package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"holdpoint/interaction"
	"holdpoint/workflows"
)

// Config is what the bridge is made of. All fields without a default are required.
type Config struct {
	Temporal Temporal
	Store    Store
	Agents   Agents
	Auth     Authenticator
	// Guest is who sends requests without credentials to earlier protocols: what Mount adds, and /permissions/. Without an
	// id, such requests are refused as they are everywhere.
	Guest interaction.Principal
	// Permissions keeps rules and decides by them. Nil leaves out the calls about rules.
	Permissions Permissions
	// Approvals lets programs ask for approvals. Nil leaves out the calls about them.
	Approvals Approvals
	// Tokens keeps bearer tokens. Nil leaves out the calls about them.
	Tokens Tokens
	// Secrets keeps what people answer to secret questions. Nil, where no key is configured, refuses such answers.
	Secrets Secrets
	// Sign signs a response before it is forwarded. Defaults to leaving it as it is.
	Sign func(interaction.Response) (interaction.Response, error)
	// Hider takes secrets out of what streams show. Nil hides nothing.
	Hider Hider
	// Trust says whose answers count for the runs that are started here. Nil takes answers as they come.
	Trust *interaction.Trust
	// Unreached says why what an agent asks may wait and reach nobody, "" where it reaches somebody. It is told to who starts
	// a run. Defaults to "".
	Unreached func(agent string) string
	// Unmet says which questions of an agent that works for a user can never get the approvals that they need. Defaults to none.
	Unmet func(agent string, user interaction.PrincipalID) []string
	// ValidateArgs checks the arguments that a reviewer wrote against the tool's schema as it stands for the
	// run. It refuses them with *interaction.Error whose Field starts with "args"; any other error means that
	// they could not be checked, and they are refused as well.
	ValidateArgs func(ctx context.Context, tool string, run interaction.RunID, args []byte) error

	// TaskQueue is where runs are started. Defaults to workflows.DefaultTaskQueue.
	TaskQueue string
	// UpdateTimeout bounds how long an answer waits for a worker before it is left as a signal. Defaults to 15 s.
	UpdateTimeout time.Duration
	// SignalTimeout bounds leaving it as a signal. Defaults to 5 s.
	SignalTimeout time.Duration
	// Heartbeat is the time between comments on a silent event stream. Defaults to 15 s.
	Heartbeat time.Duration
	// WriteTimeout is how long a stream's reader may take for one write. Defaults to 10 s.
	WriteTimeout time.Duration
	// MaxStreams bounds the event streams open at once. Defaults to 1,000.
	MaxStreams int
	// Loopback says that the bridge listens on loopback only: requests for any other host are then refused,
	// which keeps web pages from reaching it by a name of theirs.
	Loopback bool
	// BehindProxy says that a proxy stands before the bridge and ends TLS: what it says of the client counts.
	BehindProxy bool
	// CORSOrigins are other sites whose pages may call, as scheme://host. Defaults to none.
	CORSOrigins []string
	// RequestsPerMinute bounds the requests of one principal. Defaults to 6,000.
	RequestsPerMinute int
	// FailuresPerMinute bounds the requests from one address with wrong credentials or none; after so many nothing more
	// is looked at from there for a while. Defaults to 60.
	FailuresPerMinute int
	// Checks must all pass before /readyz is 200. Temporal is checked without being named here.
	Checks []Check
	// Metrics shows what this process has measured. Nil leaves /metrics out.
	Metrics http.Handler
	// Version is shown in the API's description. Defaults to "dev".
	Version string
	// Clock defaults to time.Now.
	Clock func() time.Time
	// Log defaults to slog.Default().
	Log *slog.Logger
}

func (c Config) withDefaults() Config {
	orDefault(&c.TaskQueue, workflows.DefaultTaskQueue)
	orDefault(&c.UpdateTimeout, 15*time.Second)
	orDefault(&c.SignalTimeout, 5*time.Second)
	orDefault(&c.Heartbeat, 15*time.Second)
	orDefault(&c.WriteTimeout, 10*time.Second)
	orDefault(&c.MaxStreams, 1000)
	orDefault(&c.RequestsPerMinute, 6000)
	orDefault(&c.FailuresPerMinute, 60)
	orDefault(&c.Version, "dev")
	if c.Unreached == nil {
		c.Unreached = func(string) string { return "" }
	}
	if c.Unmet == nil {
		c.Unmet = func(string, interaction.PrincipalID) []string { return nil }
	}
	if c.Sign == nil {
		c.Sign = func(r interaction.Response) (interaction.Response, error) { return r, nil }
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return c
}

func orDefault[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}

func (c Config) validate() error {
	var errs []error
	need := func(ok bool, field string) {
		if !ok {
			errs = append(errs, fmt.Errorf("api.Config.%s is required", field))
		}
	}
	need(c.Temporal != nil, "Temporal")
	need(c.Store != nil, "Store")
	need(c.Agents != nil, "Agents")
	need(c.Auth != nil, "Auth")
	need(c.ValidateArgs != nil, "ValidateArgs")
	for name, d := range map[string]time.Duration{"UpdateTimeout": c.UpdateTimeout, "SignalTimeout": c.SignalTimeout,
		"Heartbeat": c.Heartbeat, "WriteTimeout": c.WriteTimeout} {
		if d < 0 {
			errs = append(errs, fmt.Errorf("api.Config.%s is negative", name))
		}
	}
	if c.RequestsPerMinute < 0 || c.FailuresPerMinute < 0 {
		errs = append(errs, errors.New("api.Config.RequestsPerMinute or FailuresPerMinute is negative"))
	}
	if c.MaxStreams < 0 {
		errs = append(errs, errors.New("api.Config.MaxStreams is negative"))
	}
	for i, k := range c.Checks {
		if k.Name == "" || k.Run == nil {
			errs = append(errs, fmt.Errorf("api.Config.Checks[%d] needs a Name and Run", i))
		}
	}
	return errors.Join(errs...)
}

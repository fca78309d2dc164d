// Package mcp makes the tools of MCP servers into tools of agents, named mcp__SERVER__TOOL. A server is a program
// that is talked to through its standard streams, or an address that speaks streamable HTTP. It is started, or
// connected to, when it is first needed, and again after it died; nothing waits for it before.
//
// A server is not trusted: what it says of its tools is bounded, its hints allow nothing, and its results are text
// for the model. Definitions are read from the server whenever they are asked for, so that a tool that changed or
// vanished while a call was parked is noticed.
//
// Start at Server.
package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"holdpoint/interaction"
	"holdpoint/tool"
)

// Prefix begins the names of all tools of MCP servers.
const Prefix = "mcp__"

// Process is a running program. Close ends it and everything that it started.
type Process struct {
	Stdin          io.WriteCloser
	Stdout, Stderr io.ReadCloser
	Close          func() error
}

// Config says what a server is, and what is held of all its tools. Name, and Start or URL, are required.
type Config struct {
	// Name is of letters, digits, dashes and single underscores.
	Name string
	// Start starts the server's program.
	Start func() (Process, error)
	// URL is the address of a server that speaks streamable HTTP; Headers go with every request to it.
	URL     string
	Headers http.Header

	// Consent defaults to always, Risk to high: a server can do anything, whatever it says.
	Consent tool.Consent
	Risk    string
	// Idempotent tools may run again after a crash.
	Idempotent bool
	Cacheable  bool
	// Timeout bounds one call. Defaults to the caller's.
	Timeout time.Duration
	// StartTimeout is how long anybody waits for a server to be started and to answer. It may go on starting for longer.
	// Defaults to DefaultStartTimeout.
	StartTimeout time.Duration
	// TaskQueue is where calls are made; "" is with the agents.
	TaskQueue string

	// Usable, if set, says what is wrong with a tool; one that is refused is left out.
	Usable func(tool.Definition) error
	// Log defaults to nothing.
	Log *slog.Logger
}

// How long things may take.
const (
	startPatience = time.Minute      // from the start to the first answer
	listPatience  = 15 * time.Second // for the list of tools
	fresh         = 2 * time.Second  // how old a list may be that is taken as the present one
	waitForTurn   = 5 * time.Second  // for a restart that is put off
	maxBackOff    = time.Minute
	young         = 10 * time.Second // a connection that ends earlier makes the next one wait
)

// DefaultStartTimeout is what a run waits at most for a server that does not answer.
const DefaultStartTimeout = 10 * time.Second

// Server is an MCP server and its tools. It is safe for concurrent use.
type Server struct {
	cfg  Config
	log  *slog.Logger
	ctx  context.Context // ends with Close
	stop context.CancelFunc
	// turn is held by whoever connects or lists; the rest is under mu.
	turn chan struct{}
	// asks: the server has asked people in the middle of a call. own are places for calls that have a connection each.
	asks atomic.Bool
	own  chan struct{}

	mu       sync.Mutex
	conn     *connection
	trying   *attempt // to reach it, while there is one
	failures int
	notUntil time.Time
	lastErr  error
	closed   bool
	tools    []tool.Tool // as last listed
	listed   bool
	listedAt time.Time
	said     string // what was last logged, to say it once
	left     string // the same of tools that are left out
}

// New returns a server, without starting or connecting to anything.
func New(cfg Config) (*Server, error) {
	if cfg.Name == "" || (cfg.Start == nil) == (cfg.URL == "") {
		return nil, errors.New("an MCP server has a name, and a program or a URL")
	}
	cfg = Defaults(cfg)
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{cfg: cfg, ctx: ctx, stop: stop, log: cfg.Log, turn: make(chan struct{}, 1), own: make(chan struct{}, maxOwnConns)}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.log = s.log.With("mcp_server", cfg.Name)
	return s, nil
}

// Defaults fills in the consent and the risk that hold without a word of the configuration.
func Defaults(cfg Config) Config {
	if cfg.Consent == "" {
		cfg.Consent = tool.ConsentAlways
	}
	if cfg.Risk == "" {
		cfg.Risk = "high"
	}
	if cfg.StartTimeout <= 0 {
		cfg.StartTimeout = DefaultStartTimeout
	}
	return cfg
}

// Name is mcp__SERVER, which stands for all tools of the server.
func (s *Server) Name() string { return Prefix + s.cfg.Name }

// Tools are the server's tools as they are now, in its order. While it can't be reached, they are those that it had, and
// the error says why.
func (s *Server) Tools() ([]tool.Tool, error) {
	err := s.refresh(s.ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tools, err
}

// Tool is the tool of a name as it is now. The error says that the server has no such tool (ErrNoTool), or why that
// can't be known.
func (s *Server) Tool(name string) (tool.Tool, error) {
	err := s.refresh(s.ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tools {
		if t.Definition().Name == name {
			return t, nil // of a server that can't be reached: running it says so
		}
	}
	if err != nil && !s.listed {
		return nil, err
	}
	return nil, ErrNoTool
}

// ErrNoTool says that a server was asked and has no such tool.
var ErrNoTool = errors.New("the MCP server has no such tool")

// Close ends the connection and the program. The server can't be used any more.
func (s *Server) Close() error {
	s.stop()
	s.turn <- struct{}{} // whoever connects or lists ends with the context
	defer func() { <-s.turn }()
	s.mu.Lock()
	s.closed = true
	c := s.conn
	s.conn = nil
	s.mu.Unlock()
	if c == nil {
		return nil
	}
	return c.close()
}

// listNow connects if need be, and lists the tools unless that has just been done. The caller has the turn.
func (s *Server) listNow(ctx context.Context) error {
	c, err := s.connected(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	isFresh := s.listed && time.Since(s.listedAt) < fresh && !c.changed.Swap(false)
	s.mu.Unlock()
	if isFresh {
		return nil
	}
	listCtx, stop := context.WithTimeout(ctx, listPatience)
	defer stop()
	tools, err := s.list(listCtx, c)
	if err != nil {
		s.drop(c, err)
		return s.unreachable(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools, s.listed, s.listedAt, s.said = tools, true, time.Now(), ""
	return nil
}

// connected returns the live connection, or makes one. The caller has the turn.
func (s *Server) connected(ctx context.Context) (*connection, error) {
	s.mu.Lock()
	c, closed, notUntil, last := s.conn, s.closed, s.notUntil, s.lastErr
	s.mu.Unlock()
	if closed {
		return nil, s.unreachable(errors.New("this worker is stopping"))
	}
	if c != nil && !c.dead() {
		return c, nil
	}
	if c != nil {
		s.drop(c, errors.New("the server ended"))
		s.mu.Lock()
		notUntil, last = s.notUntil, s.lastErr
		s.mu.Unlock()
	}
	if wait := time.Until(notUntil); wait > waitForTurn {
		return nil, s.unreachable(fmt.Errorf("%w; it is tried again in %s", last, wait.Round(time.Second)))
	} else if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil, s.unreachable(last)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	c, err := s.connect(ctx, startPatience)
	if err != nil {
		s.failed(err)
		return nil, s.unreachable(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conn, s.listedAt = c, time.Time{}
	return c, nil
}

// drop lets go of a connection that is of no more use.
func (s *Server) drop(c *connection, why error) {
	s.mu.Lock()
	ours := s.conn == c
	if ours {
		s.conn = nil
	}
	s.mu.Unlock()
	if !ours {
		return
	}
	if err := c.close(); err != nil {
		s.log.Warn("an MCP server could not be ended", "error", err)
	}
	if time.Since(c.since) < young {
		s.failed(why)
		return
	}
	s.mu.Lock()
	s.failures, s.lastErr = 0, why
	s.mu.Unlock()
	s.log.Warn("the connection to an MCP server ended; the next call makes another", "error", why)
}

// failed puts off the next attempt: the first not at all, then from one second to a minute.
func (s *Server) failed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastErr = err
	if s.failures++; s.failures > 1 {
		s.notUntil = time.Now().Add(min(time.Second<<min(s.failures-2, 10), maxBackOff))
	}
	if said := err.Error(); said != s.said {
		s.said = said
		s.log.Error("an MCP server can't be used", "error", err)
	}
}

func (s *Server) unreachable(err error) error {
	if err == nil {
		err = errors.New("it did not answer")
	}
	return fmt.Errorf("the MCP server %s can't be reached: %s", s.cfg.Name, interaction.Visible(clip(err.Error(), maxErrorBytes)))
}

// settled notes that a connection has proved itself.
func (s *Server) settled() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures, s.notUntil = 0, time.Time{}
}

var implementation = &mcp.Implementation{Name: "holdpoint", Version: "1"}

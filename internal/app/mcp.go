package app

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"holdpoint/interaction"
	"holdpoint/internal/config"
	"holdpoint/tool"
	"holdpoint/tool/builtin"
	"holdpoint/tool/mcp"
)

// servers are the MCP servers of a configuration. Only a worker uses them: until they are on, nothing is started, and
// none of their tools is known.
type servers struct {
	all []*mcp.Server
}

// servers are made when a worker starts, and closed when it stops.
func newServers(cfg *config.Config, s *schemas, log *slog.Logger) (*servers, error) {
	out := &servers{}
	for _, t := range cfg.Tools {
		if t.Server == nil {
			continue
		}
		one, err := mcp.New(serverConfig(t, s, log))
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", t.Name, err)
		}
		out.all = append(out.all, one)
	}
	return out, nil
}

func serverConfig(t config.Tool, s *schemas, log *slog.Logger) mcp.Config {
	c := mcp.Config{Name: t.Name, URL: t.Server.URL, Headers: http.Header{}, Consent: t.Consent, Risk: string(t.Risk), Timeout: t.Timeout, StartTimeout: t.Server.StartTimeout, TaskQueue: t.TaskQueue, Log: log,
		Idempotent: t.Idempotent != nil && *t.Idempotent, Cacheable: t.Cacheable != nil && *t.Cacheable,
		Usable: func(def tool.Definition) error {
			_, err := s.schema(def)
			return err
		}}
	for name, value := range t.Server.Headers {
		c.Headers.Set(name, value.Reveal())
	}
	if t.Server.URL == "" {
		c.Start = func() (mcp.Process, error) { return startServer(*t.Server) }
	}
	return c
}

// startServer runs a server's program, which dies with the worker.
func startServer(s config.Server) (mcp.Process, error) {
	path, err := exec.LookPath(s.Command)
	if err != nil {
		return mcp.Process{}, err
	}
	if path, err = filepath.Abs(path); err != nil {
		return mcp.Process{}, err
	}
	var env []string
	for name, value := range s.Env {
		env = append(env, name+"="+value.Reveal())
	}
	slices.Sort(env)
	p, err := builtin.Serve(append([]string{path}, s.Args...), s.Dir, env)
	if err != nil {
		return mcp.Process{}, err
	}
	return mcp.Process{Stdin: p.Stdin, Stdout: p.Stdout, Stderr: p.Stderr, Close: p.Close}, nil
}

// warm reaches every server, so that one that is broken is in the log before a run needs it. Nobody waits for it.
func (s *servers) warm() {
	for _, one := range s.all {
		go func() { _, _ = one.Tools() }() // logged
	}
}

// close ends all servers, at once.
func (s *servers) close() error {
	errs := make(chan error)
	for _, one := range s.all {
		go func() { errs <- one.Close() }()
	}
	var all error
	for range s.all {
		all = errors.Join(all, <-errs)
	}
	return all
}

// of returns the server that a tool's name is of.
func (s *servers) of(name string) (*mcp.Server, bool) {
	if s == nil {
		return nil, false
	}
	for _, one := range s.all {
		if strings.HasPrefix(name, one.Name()+"__") {
			return one, true
		}
	}
	return nil, false
}

// startServers makes the tools of MCP servers known, for a worker.
func (a *App) startServers() error {
	s, err := newServers(a.defs.cfg, a.schemas, a.log)
	if err != nil {
		return err
	}
	a.defs.servers.Store(s)
	s.warm()
	return nil
}

// stopServers ends them.
func (a *App) stopServers() error {
	if s := a.defs.servers.Swap(nil); s != nil {
		return s.close()
	}
	return nil
}

// Tool returns a tool by name.
func (d *definitions) Tool(name string) (tool.Tool, bool) {
	if s, ok := d.servers.Load().of(name); ok {
		t, err := s.Tool(name)
		return t, err == nil
	}
	return d.tools.Get(name)
}

// Toolset returns the tools of an MCP server by its name, mcp__SERVER.
func (d *definitions) Toolset(name string) (tools []tool.Tool, known bool, err error) {
	if s := d.servers.Load(); s != nil {
		for _, one := range s.all {
			if one.Name() == name {
				tools, err = one.Tools()
				return tools, true, err
			}
		}
	}
	return nil, false, nil
}

// Missing says why a tool of an MCP server can't be had.
func (d *definitions) Missing(name string) string {
	s, ok := d.servers.Load().of(name)
	if !ok {
		return ""
	}
	switch _, err := s.Tool(name); {
	case err == nil:
		return ""
	case errors.Is(err, mcp.ErrNoTool):
		return fmt.Sprintf("The MCP server %s has no tool %s (any more).", strings.TrimPrefix(s.Name(), mcp.Prefix), interaction.Visible(name))
	default:
		return "The tool " + name + " can't be used now: " + err.Error() + "."
	}
}

// elsewhere reports whether a tool is of an MCP server that only workers ask, and this process has none.
func (d *definitions) elsewhere(name string) bool {
	return d.servers.Load() == nil && slices.ContainsFunc(d.cfg.Tools, func(t config.Tool) bool {
		return t.Server != nil && strings.HasPrefix(name, mcp.Prefix+t.Name+"__")
	})
}

func serverSummary(t config.Tool) string {
	def := mcp.Defaults(serverConfig(t, nil, nil))
	text := "MCP server, its tools are mcp__" + t.Name + "__…, risk " + def.Risk + ", " + consentText(def.Consent)
	if t.Denied {
		text = "MCP server, denied to every agent"
	}
	return text
}

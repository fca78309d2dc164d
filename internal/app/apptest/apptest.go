// Package apptest runs a whole Holdpoint for a test: a real Temporal server (one per test binary), a worker, a
// bridge on a free port, a store in a temporary directory. Only the model is played, by Go code or by a local
// server that speaks a provider's protocol.
//
// Start at Start.
package apptest

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/client"

	"holdpoint/internal/app"
	"holdpoint/internal/devserver"
	"holdpoint/llm"
)

// Temporal is the path of the Temporal CLI that `make build` leaves in bin, or of the one on the PATH.
func Temporal(t testing.TB) string {
	t.Helper()
	_, file, _, _ := runtime.Caller(0)
	path, err := devserver.Find(filepath.Join(filepath.Dir(file), "..", "..", "..", "bin"))
	if err != nil {
		t.Fatalf("these tests need a Temporal server: %v", err)
	}
	return path
}

var shared struct {
	once     sync.Once
	server   *devserver.Server
	operated *operated
	err      error
}

// Server is the address of the test binary's own Temporal server. It dies with the process.
func Server(t testing.TB) string {
	t.Helper()
	if Operated() {
		shared.once.Do(func() { shared.operated, shared.err = startOperated(t) })
		if shared.err != nil {
			t.Fatal(shared.err)
		}
		return shared.operated.address
	}
	binary := Temporal(t)
	shared.once.Do(func() {
		shared.server, shared.err = devserver.Start(context.Background(), devserver.Options{Binary: binary,
			DynamicConfig: DynamicConfig()})
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server.Address()
}

// ServerReport says what became of the test binary's own development server, for a run of tests that failed: a server that
// went wrong fails them all, each with a message about itself.
func ServerReport() string {
	s := shared.server
	if s == nil {
		return ""
	}
	state := "answers"
	select {
	case <-s.Done():
		state = "has ended by itself"
	default:
		if err := answers(s.Address()); err != nil {
			state = fmt.Sprintf("does not answer: %v", err)
		}
	}
	return fmt.Sprintf("The Temporal server of these tests %s. The end of its log:\n%s\n", state, s.Tail())
}

// answers asks for the one namespace, which a server whose database is broken can't describe.
func answers(address string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, err := client.NewNamespaceClient(client.Options{HostPort: address})
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Describe(ctx, client.DefaultNamespace)
	return err
}

// StopServer stops the test binary's own Temporal server, if there is one. Without it the server dies all the same,
// and leaves its log behind.
func StopServer() {
	if shared.server != nil {
		_ = shared.server.Stop() // it dies with the process
	}
	if shared.operated != nil {
		shared.operated.stop()
	}
}

// DynamicConfig lets tests send many messages without being slowed down.
func DynamicConfig() map[string]string {
	return map[string]string{"frontend.namespaceRPS": "20000", "frontend.rps": "20000"}
}

// Holdpoint is a running Holdpoint and how a test talks to it.
type Holdpoint struct {
	*app.App
	T       testing.TB
	Options app.Options
	Client  client.Client // to Temporal
	Dir     string        // the agents' workspace

	elsewhere *app.DevInfo // of a Holdpoint that another process runs; App is nil then
}

// Config is the configuration most tests use: one agent named "tester" that may use every tool, asks for bash
// and file changes, and works in Dir. Rules are added with Rules.
func Config(dir string, rules ...string) string {
	policy := ""
	for _, r := range rules {
		policy += "  - " + r + "\n"
	}
	if policy == "" {
		policy = "  - {match: \"bash(true)\", decision: allow}\n"
	}
	return fmt.Sprintf(`type: policy
name: main
rules:
%s---
type: model
name: played
provider: scripted
script: turns.yaml
---
type: agent
name: tester
model: played
policy: main
workspace: %s
user_id: requester
tools: [bash, file_read, file_write, file_edit, ask_human]
`, policy, dir)
}

// Setup changes the options before Start.
type Setup func(o *app.Options)

// WithModel plays the agent's model.
func WithModel(m llm.Model) Setup {
	return func(o *app.Options) { o.Models = map[string]llm.Model{"played": m} }
}

// WithRules replaces the policy: each rule is a YAML flow mapping, such as `{match: "bash(rm:*)", decision: deny}`.
func WithRules(rules ...string) Setup {
	return func(o *app.Options) { writeConfig(o.Config, filepath.Join(filepath.Dir(o.Config), "work"), rules...) }
}

// WithMaxSteps bounds the agent's model calls.
func WithMaxSteps(n int) Setup {
	return func(o *app.Options) {
		b, err := os.ReadFile(o.Config)
		if err == nil {
			err = os.WriteFile(o.Config, fmt.Appendf(b, "max_steps: %d\n", n), 0o644)
		}
		if err != nil {
			panic(err)
		}
	}
}

// Options prepares a data directory, a workspace and a configuration below dir, on the shared Temporal server.
func Options(t testing.TB, dir string) app.Options {
	t.Helper()
	work := filepath.Join(dir, "work")
	if err := os.MkdirAll(work, 0o755); err != nil {
		t.Fatal(err)
	}
	cfg := filepath.Join(dir, "holdpoint.yaml")
	writeConfig(cfg, work)
	return app.Options{Config: cfg, Data: filepath.Join(dir, "data"), Listen: "127.0.0.1:0", Token: "a-token-for-tests-only",
		TaskQueue: "queue-" + uuid.NewString(), UpdateTimeout: 15 * time.Second}
}

func writeConfig(path, work string, rules ...string) {
	if err := os.WriteFile(path, []byte(Config(work, rules...)), 0o644); err != nil {
		panic(err)
	}
	turns := filepath.Join(filepath.Dir(path), "turns.yaml")
	if err := os.WriteFile(turns, []byte("turns:\n  - say: done\n"), 0o644); err != nil {
		panic(err)
	}
}

// Start runs a Holdpoint until the test ends.
func Start(t testing.TB, setups ...Setup) *Holdpoint {
	t.Helper()
	o := Options(t, t.TempDir())
	o.Address = Server(t)
	for _, s := range setups {
		s(&o)
	}
	return Run(t, o)
}

// Run starts a Holdpoint with exactly these options, until the test ends or Close.
func Run(t testing.TB, o app.Options) *Holdpoint {
	t.Helper()
	a, err := app.Dev(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	h := &Holdpoint{App: a, T: t, Options: o, Client: a.Client(), Dir: filepath.Join(filepath.Dir(o.Config), "work")}
	t.Cleanup(func() { _ = a.Close() })
	return h
}

// FreePort returns a port that was free a moment ago.
func FreePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

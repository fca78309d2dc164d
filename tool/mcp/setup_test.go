package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"holdpoint/interaction"
	"holdpoint/tool"
	"holdpoint/tool/builtin"
	"holdpoint/tool/mcp"
)

// playVar makes this test binary an MCP server: one whose tools are those of the file that it names.
const playVar = "HOLDPOINT_TEST_MCP"

func TestMain(m *testing.M) {
	if file := os.Getenv(playVar); file != "" {
		if err := play(file); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// script is what the played server does. It is read at every list of tools.
type script struct {
	Tools []played `json:"tools"`
}

type played struct {
	Name   string `json:"name"`
	Schema any    `json:"schema"`
	Does   string `json:"does"` // "" answers, "die" ends the process in the middle of the call, "ask" asks, "hang" never ends
	Log    string `json:"log"`  // gets a line for each call
	Long   int    `json:"long"` // bytes of its answer
	Form   any    `json:"form"` // what "ask" asks
}

func play(file string) error {
	server := sdk.NewServer(&sdk.Implementation{Name: "played", Version: "1"}, nil)
	var had []string
	load := func() error {
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var s script
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		server.RemoveTools(had...)
		had = nil
		for _, p := range s.Tools {
			had = append(had, p.Name)
			server.AddTool(&sdk.Tool{Name: p.Name, Description: "Plays " + p.Name + ".", InputSchema: p.Schema}, p.run)
		}
		return nil
	}
	if err := load(); err != nil {
		return err
	}
	server.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			if method == "tools/list" {
				if err := load(); err != nil {
					return nil, err
				}
			}
			return next(ctx, method, r)
		}
	})
	return server.Run(context.Background(), &sdk.StdioTransport{})
}

func (p played) run(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	if p.Log != "" {
		f, err := os.OpenFile(p.Log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(f, "%s %s %v\n", p.Name, r.Params.Arguments, r.Params.Meta["holdpoint/idempotency-key"])
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
	text := "did " + string(r.Params.Arguments)
	switch p.Does {
	case "die":
		fmt.Fprintln(os.Stderr, "out of cheese")
		os.Exit(3)
	case "hang":
		<-ctx.Done()
	case "ask":
		answer, _ := r.Params.InputResponses["branch"].(*sdk.ElicitResult)
		if answer == nil {
			return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"branch": &sdk.ElicitParams{Message: "Which branch?",
				RequestedSchema: p.Form}}}, nil
		}
		content, err := json.Marshal(answer.Content)
		if err != nil {
			return nil, err
		}
		text = "the answer was " + answer.Action + " " + string(content)
	}
	if p.Long > 0 {
		text = "BEGIN" + strings.Repeat("ä", p.Long) + "END"
	}
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil
}

var anyObject = map[string]any{"type": "object"}

// server is a server under test with what it does to the world.
type server struct {
	*mcp.Server
	t      *testing.T
	script string
	log    *lines

	mu   sync.Mutex
	last mcp.Process // the program that was started last
	runs int
}

// lines keeps what was logged.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// run makes a server of a program.
func run(t *testing.T, cfg mcp.Config, dir string, env []string, argv ...string) *server {
	t.Helper()
	s := &server{t: t, log: &lines{}}
	cfg.Log = slog.New(slog.NewTextHandler(s.log, nil))
	cfg.Start = func() (mcp.Process, error) {
		p, err := builtin.Serve(argv, dir, env)
		if err != nil {
			return mcp.Process{}, err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.last = mcp.Process{Stdin: p.Stdin, Stdout: p.Stdout, Stderr: p.Stderr, Close: p.Close}
		s.runs++
		return s.last, nil
	}
	var err error
	if s.Server, err = mcp.New(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// playing makes a server that does as told.
func playing(t *testing.T, cfg mcp.Config, tools ...played) *server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "script.json")
	cfg.Name = "played"
	s := run(t, cfg, t.TempDir(), []string{playVar + "=" + file}, self)
	s.script = file
	s.plays(tools...)
	return s
}

func (s *server) plays(tools ...played) {
	s.t.Helper()
	b, err := json.Marshal(script{tools})
	if err == nil {
		err = os.WriteFile(s.script, b, 0o600)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// kill ends the server's program behind the client's back.
func (s *server) kill() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.last.Close(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *server) started() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runs
}

// names are the names of the tools now.
func (s *server) names() string {
	var out []string
	tools, _ := s.Tools()
	for _, t := range tools {
		out = append(out, t.Definition().Name)
	}
	return strings.Join(out, " ")
}

// call runs a tool by its whole name.
func (s *server) call(name, args string) tool.Result {
	s.t.Helper()
	return s.callWithin(context.Background(), name, args)
}

// askedOf calls a tool whose server asks, and answers as told.
func (s *server) askedOf(name, args string, answer func(interaction.Request) (interaction.Outcome, error)) tool.Result {
	s.t.Helper()
	found, err := s.Tool(name)
	if err != nil {
		s.t.Fatalf("%s: %v; the log has %s", name, err, s.log)
	}
	out, err := found.Run(context.Background(), tool.Call{Name: name, Args: json.RawMessage(args), Key: "key-1",
		Ask: func(_ context.Context, r interaction.Request) (interaction.Outcome, error) { return answer(r) }})
	if err != nil || out.Result == nil {
		s.t.Fatalf("%s: %+v, %v", name, out, err)
	}
	return *out.Result
}

// said is how a question ended that a response was given to, as a gate would have it.
func said(t *testing.T, r interaction.Request, resp interaction.Response) interaction.Outcome {
	t.Helper()
	r.ID = "q"
	it := interaction.Open(r, time.Now())
	if err := it.Request.Validate(); err != nil {
		t.Errorf("the question can't be put to people: %v", err)
	}
	resp.RequestID, resp.Reviewer = "q", interaction.Principal{ID: "alice"}
	out, err := it.Apply(resp, time.Now())
	if err != nil || out == nil {
		t.Errorf("the answer %+v was not taken: %v", resp, err)
		return interaction.Outcome{Status: interaction.StatusCancelled}
	}
	return *out
}

func (s *server) callWithin(ctx context.Context, name, args string) tool.Result {
	s.t.Helper()
	found, err := s.Tool(name)
	if err != nil {
		s.t.Fatalf("%s: %v; the log has %s", name, err, s.log)
	}
	out, err := found.Run(ctx, tool.Call{Name: name, Args: json.RawMessage(args), Key: "key-1"})
	if err != nil || out.Result == nil {
		s.t.Fatalf("%s: %+v, %v", name, out, err)
	}
	return *out.Result
}

func (s *server) says(got tool.Result, status tool.Status, parts ...string) {
	s.t.Helper()
	for _, p := range parts {
		if got.Status != status || !strings.Contains(got.Content, p) {
			s.t.Errorf("got %s %q, and not %s with %q", got.Status, got.Content, status, p)
		}
	}
}

// public is the program of a public server, which `make test` installs.
func public(t *testing.T, name string) []string {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("these tests need Node.js: install Debian's packages nodejs and npm, then run `make mcp`")
	}
	path, err := filepath.Abs(filepath.Join("..", "..", "bin", "mcp", "node_modules", "@modelcontextprotocol", name, "dist", "index.js"))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Fatalf("these tests need the public MCP servers: run `make mcp`: %v", err)
	}
	return []string{node, path}
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(b)
}

package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdpoint/tool"
)

// A secret that stands in the environment of the tests, as a worker's keys do in its own.
const secretName, secretValue = "HOLDPOINT_TEST_API_KEY", "sk-must-not-be-seen"

// workerVar makes this binary a worker that runs one bash call: its value is the JSON of the call.
const workerVar = "HOLDPOINT_TEST_WORKER"

// standVar makes such a worker stop its command once the file that it names is there.
const standVar = "HOLDPOINT_TEST_STAND"

// shieldVar makes such a worker shield itself.
const shieldVar = "HOLDPOINT_TEST_SHIELD"

func TestMain(m *testing.M) {
	if raw, ok := os.LookupEnv(workerVar); ok {
		os.Exit(work(raw))
	}
	if err := os.Setenv(secretName, secretValue); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func work(raw string) int {
	var call tool.Call
	if err := json.Unmarshal([]byte(raw), &call); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if _, ok := os.LookupEnv(shieldVar); ok {
		if err := Shield(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	if file, ok := os.LookupEnv(standVar); ok {
		call.Stoppable = func(s tool.Stopper) func() {
			go func() {
				for tick := time.Tick(10 * time.Millisecond); ; <-tick {
					if _, err := os.Stat(file); err == nil {
						fmt.Fprintln(os.Stderr, "stands:", s.Stop())
						return
					}
				}
			}()
			return func() {}
		}
	}
	out, err := newBash(Config{Timeout: time.Hour}.withDefaults()).Run(context.Background(), call)
	fmt.Fprintln(os.Stderr, out.Result, err)
	return 0
}

// bench is a workspace with the tools.
type bench struct {
	t         *testing.T
	cfg       Config
	workspace string
	outside   bool
}

func setup(t *testing.T) *bench {
	t.Helper()
	t.Parallel()
	return &bench{t: t, workspace: realTempDir(t)}
}

func realTempDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func (b *bench) path(name string) string { return filepath.Join(b.workspace, name) }

func (b *bench) file(name, content string) string {
	b.t.Helper()
	path := b.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
	return path
}

func (b *bench) content(name string) string {
	b.t.Helper()
	text, err := os.ReadFile(b.path(name))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

func (b *bench) call(name string, args any) tool.Call {
	b.t.Helper()
	raw, ok := args.(string)
	if !ok {
		text, err := json.Marshal(args)
		if err != nil {
			b.t.Fatal(err)
		}
		raw = string(text)
	}
	return tool.Call{Name: name, Args: json.RawMessage(raw), Workspace: b.workspace, Outside: b.outside}
}

func (b *bench) tool(name string) tool.Tool {
	b.t.Helper()
	t, ok := New(name, b.cfg)
	if !ok {
		b.t.Fatalf("there is no tool %s", name)
	}
	return t
}

type args map[string]any

// run runs a tool that must give a result.
func (b *bench) run(name string, a any) tool.Result {
	b.t.Helper()
	return b.runIn(context.Background(), name, a)
}

func (b *bench) runIn(ctx context.Context, name string, a any) tool.Result {
	b.t.Helper()
	out, err := b.tool(name).Run(ctx, b.call(name, a))
	if err != nil {
		b.t.Fatalf("%s: %v", name, err)
	}
	if out.Result == nil || out.Request != nil {
		b.t.Fatalf("%s gave no result: %+v", name, out)
	}
	if n := len(out.Result.Content); n > tool.MaxContentBytes {
		b.t.Fatalf("%s gave %d bytes", name, n)
	}
	return *out.Result
}

func (b *bench) bash(script string) tool.Result {
	b.t.Helper()
	return b.run(NameBash, args{"command": script})
}

func wantText(t *testing.T, r tool.Result, status tool.Status, content string) {
	t.Helper()
	if r.Status != status || r.Content != content {
		t.Errorf("got %s %q, want %s %q", r.Status, r.Content, status, content)
	}
}

func wantPart(t *testing.T, r tool.Result, status tool.Status, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if r.Status != status || !strings.Contains(r.Content, part) {
			t.Errorf("got %s %q, want %s with %q in it", r.Status, clip(r.Content, 2000), status, part)
		}
	}
}

// eventually waits for a condition and fails the test if it does not come true in time.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.After(30 * time.Second)
	for !condition() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("waited too long until %s", what)
		}
	}
}

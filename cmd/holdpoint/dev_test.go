package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdpoint/internal/devserver"
)

// machine is a directory with bin/holdpoint and bin/temporal, as `make build` leaves a clone.
type machine struct {
	dir string
	env []string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{dir: t.TempDir()}
	bin := filepath.Join(m.dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	temporal, err := devserver.Find(filepath.Join(repository, "bin"))
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable() // TestMain runs the CLI when it is called by its name
	if err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"holdpoint": self, "temporal": temporal} {
		if err := os.Symlink(target, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	m.env = append(os.Environ(), "HOME="+m.dir, "XDG_CONFIG_HOME=", "HOLDPOINT_PROFILE=", "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"),
		"OPENAI_API_KEY=", "OPENAI_BASE_URL=", "ANTHROPIC_API_KEY=", "ANTHROPIC_BASE_URL=", "HOLDPOINT_ADDR=", "HOLDPOINT_TOKEN=")
	return m
}

func (m *machine) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = m.dir, m.env
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// dev is a running `holdpoint dev`.
type dev struct {
	cmd    *exec.Cmd
	ended  chan struct{}
	output *terminal
	url    string
}

// dev starts `holdpoint dev` and returns when it says that it is ready.
func (m *machine) dev(t *testing.T, listen string) *dev {
	t.Helper()
	cmd := m.command(context.Background(), "bin/holdpoint", "dev", "--listen", listen)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var trouble bytes.Buffer
	cmd.Stderr = &trouble
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	d := &dev{cmd: cmd, ended: make(chan struct{}), output: newTerminal()}
	t.Cleanup(func() { d.stop(t) })
	ready := make(chan struct{})
	go func() {
		defer close(d.ended)
		in := bufio.NewScanner(out)
		for in.Scan() {
			_, _ = io.WriteString(d.output, in.Text()+"\n")
			if rest, ok := strings.CutPrefix(in.Text(), "Bridge "); ok {
				d.url = strings.TrimSpace(rest)
			}
			if strings.HasPrefix(in.Text(), "Ready.") {
				close(ready)
			}
		}
		_ = cmd.Wait()
	}()
	select {
	case <-ready:
	case <-d.ended:
		t.Fatalf("holdpoint dev ended at its start:\n%s%s", d.output, trouble.String())
	case <-time.After(3 * time.Minute):
		t.Fatalf("holdpoint dev did not become ready:\n%s", d.output)
	}
	return d
}

// stop ends it as Ctrl-C does.
func (d *dev) stop(t *testing.T) {
	_ = d.cmd.Process.Signal(syscall.SIGINT)
	select {
	case <-d.ended:
	case <-time.After(time.Minute):
		_ = d.cmd.Process.Kill()
		t.Error("holdpoint dev did not end when it was told to")
	}
}

// prelude makes a document's script robust where a person would look before typing on: what needs something that is
// not there yet is given again until it is. What was refused has changed nothing.
const prelude = `set -eu
eventually() {
  for _ in $(seq 240); do
    if "$@" 2>eventually.err; then return 0; fi
    sleep 0.25
  done
  cat eventually.err >&2
  return 1
}
`

// documents are those whose sh blocks are run, each in order and against a `holdpoint dev` of its own with its demo.
var documents = []struct {
	file   string // from the repository's root
	blocks int    // sh blocks at least
	// after checks what the commands left; nil where their success is enough.
	after func(t *testing.T, m *machine, d *dev)
}{
	{"README.md", 3, afterTheReadme},
	{"docs/cli.md docs/approvals.md", 11, nil}, // one after the other
	{"docs/agents.md", 2, nil},
	{"docs/identities.md", 2, nil},
	{"docs/signatures.md", 2, nil},
}

func TestTheDocumentsCommandsRun(t *testing.T) {
	t.Parallel()
	for _, doc := range documents {
		t.Run(doc.file, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			d := m.dev(t, "127.0.0.1:0")
			script, blocks := documentScript(t, doc.file, d.url)
			if blocks < doc.blocks {
				t.Fatalf("only %d sh blocks were found", blocks)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			out, err := m.command(ctx, "bash", "-c", script).CombinedOutput()
			if err != nil {
				t.Fatalf("the commands of %s failed: %v\n%s\nholdpoint dev said:\n%s", doc.file, err, out, d.output)
			}
			if doc.after != nil {
				doc.after(t, m, d)
			}
		})
	}
}

// waits are the commands that a person gives when what they need is there.
var waits = regexp.MustCompile(`^(bin/)?holdpoint (respond|control|message|runs|steps|inbox|watch) `)

// documentScript is a document's sh blocks as one script.
func documentScript(t *testing.T, file, url string) (script string, blocks int) {
	t.Helper()
	var parts []snippet
	for name := range strings.FieldsSeq(file) {
		data, err := os.ReadFile(filepath.Join(repository, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, fenced(name, string(data))...)
	}
	var b strings.Builder
	b.WriteString(prelude)
	for _, s := range parts {
		if s.language != "sh" {
			continue
		}
		blocks++
		fmt.Fprintf(&b, "echo '== %s'\n", s)
		for line := range strings.Lines(strings.ReplaceAll(s.text, "http://127.0.0.1:7400", url)) {
			if waits.MatchString(line) {
				line = "eventually " + line
			}
			b.WriteString(line)
		}
	}
	b.WriteString("wait\n") // for what was left in the background: it must end too
	return b.String(), blocks
}

func afterTheReadme(t *testing.T, m *machine, d *dev) {
	t.Run("the demo's project is really mended", func(t *testing.T) {
		test := m.command(t.Context(), "./test.sh")
		test.Dir = filepath.Join(m.dir, ".holdpoint", "demo", "project")
		m.eventually(t, "nothing waits any more", func() (string, bool) {
			out, err := m.command(t.Context(), "bin/holdpoint", "inbox").CombinedOutput()
			return string(out), err == nil && strings.Contains(string(out), "Nothing waits")
		})
		if out, err := m.command(t.Context(), "bin/holdpoint", "runs", "--agent", "demo", "--json").CombinedOutput(); err != nil || !strings.Contains(string(out), `"output": "Done.`) {
			t.Errorf("no run of the demo says that it is done: %v\n%s", err, out)
		}
		if out, err := test.CombinedOutput(); err != nil {
			t.Errorf("the test of the project fails: %v\n%s", err, out)
		}
	})
	t.Run("run and watch end with 4 when a person stops the run, and survive a restart", func(t *testing.T) {
		m.stoppedAcrossARestart(t, d)
	})
}

// stoppedAcrossARestart follows a run while holdpoint dev is stopped and started, and then stops the run.
func (m *machine) stoppedAcrossARestart(t *testing.T, d *dev) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	// In a session of its own: how far the run that README stops has come by then is not said.
	run := m.command(ctx, "bin/holdpoint", "run", "demo", "Again.", "--session", "fourth")
	screen := newTerminal()
	run.Stdout, run.Stderr = screen, screen
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	screen.await(t, "terminate\n", 1)
	watch := m.command(ctx, "bin/holdpoint", "watch", "fourth", "--json")
	watched := newTerminal()
	watch.Stdout, watch.Stderr = watched, watched
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	watched.await(t, `"type":"interaction_request"`, 1)
	d.stop(t)
	m.dev(t, strings.TrimPrefix(d.url, "http://"))
	line := ""
	for l := range strings.SplitSeq(screen.String(), "\n") {
		if strings.HasSuffix(l, " terminate") {
			line = strings.TrimSpace(l)
		}
	}
	if !strings.HasPrefix(line, "holdpoint respond ") {
		t.Fatalf("no line to stop the run with was printed:\n%s", screen)
	}
	m.eventually(t, "the printed line stops the run", func() (string, bool) {
		out, err := m.command(ctx, "bash", "-c", line).CombinedOutput()
		return string(out), err == nil
	})
	err := run.Wait()
	var exited *exec.ExitError
	if !errors.As(err, &exited) || exited.ExitCode() != exitAborted {
		t.Errorf("run ended with %v, want exit code %d\n%s", err, exitAborted, screen)
	}
	if err := watch.Wait(); !errors.As(err, &exited) || exited.ExitCode() != exitAborted {
		t.Errorf("watch ended with %v, want exit code %d\n%s", err, exitAborted, watched)
	}
	for _, once := range []string{`"type":"run_started"`, `"type":"interaction_request"`, `"type":"run_aborted_by_human"`} {
		if n := strings.Count(watched.String(), once); n != 1 {
			t.Errorf("watch shows %s %d times:\n%s", once, n, watched)
		}
	}
}

// eventually repeats a check until it holds.
func (m *machine) eventually(t *testing.T, what string, ok func() (string, bool)) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		said, done := ok()
		if done {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not in a minute; last:\n%s", what, said)
		}
	}
}

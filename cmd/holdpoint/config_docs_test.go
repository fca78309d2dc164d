package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// devLine is a line that starts Holdpoint in a terminal of its own.
var devLine = regexp.MustCompile(`(?m)^\$ bin/holdpoint dev (.*)$`)

// devWith starts `holdpoint dev` with the arguments of a document.
func (m *machine) devWith(t *testing.T, args string) *dev {
	t.Helper()
	cmd := m.command(context.Background(), "bash", "-c", "exec bin/holdpoint dev "+args+" --listen 127.0.0.1:0")
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
	ready := make(chan struct{})
	go func() {
		defer close(d.ended)
		in := bufio.NewScanner(out)
		for in.Scan() {
			_, _ = io.WriteString(d.output, in.Text()+"\n")
			if strings.HasPrefix(in.Text(), "Ready.") {
				close(ready)
			}
		}
		_ = cmd.Wait()
	}()
	select {
	case <-ready:
	case <-d.ended:
		t.Fatalf("holdpoint dev %s ended at its start:\n%s%s", args, d.output, trouble.String())
	case <-time.After(3 * time.Minute):
		t.Fatalf("holdpoint dev %s did not become ready:\n%s", args, d.output)
	}
	return d
}

// TestTheQuickstartsCommandsRun types what the document says, in its order: the sh blocks in one terminal, and each
// `holdpoint dev` in another, where the one before is stopped first.
func TestTheQuickstartsCommandsRun(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	data, err := os.ReadFile(filepath.Join(repository, "docs", "quickstart.md"))
	if err != nil {
		t.Fatal(err)
	}
	var running *dev
	t.Cleanup(func() {
		if running != nil {
			running.stop(t)
		}
	})
	starts, pending := 0, ""
	run := func() { // the blocks between two starts share a shell, which has the background jobs
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		if out, err := m.command(ctx, "bash", "-c", prelude+pending).CombinedOutput(); err != nil {
			t.Fatalf("the commands failed: %v\n%s\n%s", err, pending, out)
		}
		pending = ""
	}
	for _, s := range fenced("quickstart.md", string(data)) {
		switch s.language {
		case "sh":
			for line := range strings.Lines(s.text) {
				if strings.HasPrefix(line, "bin/holdpoint respond") {
					line = "eventually " + line
				}
				pending += line
			}
		case "console":
			if found := devLine.FindStringSubmatch(s.text); found != nil {
				run()
				if running != nil {
					running.stop(t)
				}
				running = m.devWith(t, found[1])
				starts++
			}
		}
	}
	run()
	if starts != 2 {
		t.Errorf("Holdpoint was started %d times, want 2", starts)
	}
	m.quickstartDone(t)
}

// quickstartDone checks what the commands left.
func (m *machine) quickstartDone(t *testing.T) {
	t.Helper()
	greeting, err := os.ReadFile(filepath.Join(m.dir, "greeter", "work", "greetings.txt"))
	if err != nil || string(greeting) != "Good morning, Ada!\n" {
		t.Errorf("greetings.txt has %q (%v)", greeting, err)
	}
	for session, asked := range map[string]bool{"first": true, "second": false} {
		out, err := m.command(t.Context(), "bin/holdpoint", "steps", session).CombinedOutput()
		text := string(out)
		if err != nil || !strings.Contains(text, ": completed") || !strings.Contains(text, "deny") || strings.Contains(text, "answered: approve") != asked {
			t.Errorf("the transcript of %s (%v):\n%s", session, err, text)
		}
	}
}

// TestTheExamplesCommandsRun runs the sh blocks of the examples' READMEs, and checks what the long-lived lines name.
func TestTheExamplesCommandsRun(t *testing.T) {
	t.Parallel()
	agents, err := filepath.Glob(filepath.Join(repository, "examples", "*", "agent.yaml"))
	if err != nil || len(agents) < 3 {
		t.Fatalf("the examples' agents are %v (%v)", agents, err)
	}
	for _, agent := range agents {
		name := filepath.Join(filepath.Dir(agent), "README.md")
		t.Run(filepath.Base(filepath.Dir(name)), func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			if err := os.CopyFS(filepath.Join(m.dir, "examples"), os.DirFS(filepath.Join(repository, "examples"))); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			script, blocks, starts := prelude, 0, 0
			for _, s := range fenced(name, string(data)) {
				switch s.language {
				case "sh":
					script += s.text
					blocks++
				case "console":
					for _, found := range devLine.FindAllStringSubmatch(s.text, -1) {
						script += "bin/holdpoint config check " + strings.TrimPrefix(found[1], "--config ") + "\n"
						starts++
					}
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			out, err := m.command(ctx, "bash", "-c", script).CombinedOutput()
			if err != nil || blocks != 1 || starts != 1 || strings.Count(string(out), "No mistakes in ") != 2 {
				t.Errorf("%d blocks, %d starts, %v:\n%s", blocks, starts, err, out)
			}
		})
	}
}

package builtin

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// keepVar makes this binary a worker that serves a program, and prints the ids of its processes.
const keepVar = "HOLDPOINT_TEST_KEEP"

// stubborn starts a child in a session of its own, hears no request to end, and says who is there.
const stubborn = `trap '' TERM HUP; setsid sh -c 'trap "" TERM HUP; echo $$; exec sleep 1000' & echo $$; wait`

func init() {
	if os.Getenv(keepVar) == "" {
		return
	}
	p, err := Serve([]string{"/bin/sh", "-c", stubborn}, "/", nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_, _ = io.Copy(os.Stdout, p.Stdout)
	os.Exit(0)
}

// twoIDs reads the ids that stubborn prints.
func twoIDs(t *testing.T, r io.Reader) (ids []string) {
	t.Helper()
	lines := bufio.NewScanner(r)
	for len(ids) < 2 && lines.Scan() {
		ids = append(ids, lines.Text())
	}
	if len(ids) < 2 {
		t.Fatalf("the ids are %v: %v", ids, lines.Err())
	}
	return ids
}

// keptAlive reports whether a process is there, and no corpse.
func keptAlive(id string) bool {
	stat, err := os.ReadFile("/proc/" + id + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func gone(t *testing.T, ids []string) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for _, id := range ids {
		for keptAlive(id) {
			select {
			case <-time.After(10 * time.Millisecond):
			case <-deadline:
				t.Fatalf("process %s is still there", id)
			}
		}
	}
}

func TestAProgramIsTalkedTo(t *testing.T) {
	t.Parallel()
	t.Run("and has the scrubbed environment with the extras", func(t *testing.T) {
		t.Parallel()
		p, err := Serve([]string{"/bin/sh", "-c", `read -r line; echo "got $line in $PWD"; echo oops >&2; env`}, "/", []string{"EXTRA=1"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(p.Stdin, "hello\n"); err != nil {
			t.Fatal(err)
		}
		out, err := io.ReadAll(p.Stdout)
		said, _ := io.ReadAll(p.Stderr)
		if err != nil || !strings.HasPrefix(string(out), "got hello in /\n") || !strings.Contains(string(out), "EXTRA=1\n") || string(said) != "oops\n" {
			t.Errorf("%q, %q, %v", out, said, err)
		}
		for _, line := range strings.Split(string(out), "\n") {
			if name, _, _ := strings.Cut(line, "="); strings.HasPrefix(name, "GO") || strings.HasPrefix(name, "HOLDPOINT_TEST") {
				t.Errorf("it has the worker's %s", line)
			}
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Run("and ends when its input does", func(t *testing.T) {
		t.Parallel()
		p, err := Serve([]string{"/bin/cat"}, "/", nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Stdin.Close(); err != nil {
			t.Fatal(err)
		}
		if out, err := io.ReadAll(p.Stdout); err != nil || len(out) > 0 {
			t.Errorf("%q, %v", out, err)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Run("and is ended with all that it started", func(t *testing.T) {
		t.Parallel()
		p, err := Serve([]string{"/bin/sh", "-c", stubborn}, "/", nil)
		if err != nil {
			t.Fatal(err)
		}
		ids := twoIDs(t, p.Stdout)
		began := time.Now()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("it took %s", took)
		}
		gone(t, ids)
	})
	t.Run("or can't be started", func(t *testing.T) {
		t.Parallel()
		p, err := Serve([]string{"/no/such/program"}, "/", nil)
		if err == nil {
			_, _ = io.ReadAll(p.Stdout)
			err = p.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "no such file") {
			t.Errorf("it is said: %v", err)
		}
	})
}

func TestNoProgramOutlivesAKilledWorker(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	worker := exec.Command(self)
	worker.Env = append(os.Environ(), keepVar+"=1")
	out, err := worker.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	ids := twoIDs(t, out)
	if err := worker.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = worker.Wait()
	gone(t, ids)
}

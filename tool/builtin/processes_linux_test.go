package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdpoint/tool"
)

// nap is a command line that no other process has: "sleep 1000.<something>".
func nap() string { return fmt.Sprintf("1000.%015d", rand.Int64N(1e15)) }

// alive are the processes whose command line satisfies match, zombies aside.
func alive(match func(line string) bool) (out []int) {
	for _, pid := range processes() {
		line, err := os.ReadFile(procFile(pid, "cmdline"))
		if err == nil && pid != os.Getpid() && match(strings.ReplaceAll(string(line), "\x00", " ")) {
			out = append(out, pid)
		}
	}
	return out
}

// sleeping counts the naps.
func sleeping(n string) int {
	return len(alive(func(line string) bool { return line == "sleep "+n+" " }))
}

// left counts everything that has to do with a nap: shells, supervisors and workers too.
func left(n string) int {
	return len(alive(func(line string) bool { return strings.Contains(line, n) }))
}

// nothingLeft is for when a command has returned: what it started is gone, and its supervisor about to go (the
// race detector holds every process for a second at its end).
func nothingLeft(t *testing.T, n string) {
	t.Helper()
	if naps := sleeping(n); naps > 0 {
		t.Errorf("%d processes are left", naps)
	}
	eventually(t, "the supervisor is gone", func() bool { return left(n) == 0 })
}

// tenacious leaves processes everywhere: in the group, in sessions of their own, orphaned, deaf to signals,
// without the environment they were given.
func tenacious(n string) string {
	return strings.ReplaceAll(`
		trap '' TERM HUP INT
		sleep NAP &
		(sleep NAP &) &
		setsid sleep NAP &
		setsid bash -c 'trap "" TERM HUP; (setsid sleep NAP &) ; sleep NAP; sleep 1' &
		nohup env -i setsid sleep NAP >/dev/null 2>&1 </dev/null &
		env -i bash -c '(setsid bash -c "(sleep NAP &)" &)'
		sleep NAP
	`, "NAP", n)
}

const tenaciousSleeps = 8

// within fails the test when f takes longer.
func within(t *testing.T, limit time.Duration, f func()) {
	t.Helper()
	start := time.Now()
	f()
	if took := time.Since(start); took > limit {
		t.Errorf("it took %s, want at most %s", took, limit)
	}
}

// worker starts this binary as a worker that runs the script, with more in its environment.
func (b *bench) worker(script string, environ ...string) *exec.Cmd {
	b.t.Helper()
	call, err := json.Marshal(b.call(NameBash, args{"command": script}))
	if err != nil {
		b.t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		b.t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(append(os.Environ(), workerVar+"="+string(call)), environ...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if b.t.Failed() {
			b.t.Log(out.String())
		}
	})
	return cmd
}

func TestNothingOutlivesAKilledWorker(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGSEGV} {
		t.Run(sig.String(), func(t *testing.T) {
			b := setup(t)
			n := nap()
			w := b.worker(tenacious(n))
			eventually(t, "everything sleeps", func() bool { return sleeping(n) == tenaciousSleeps })
			if err := w.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			eventually(t, "nothing is left", func() bool { return left(n) == 0 })
		})
	}
}

func TestNothingOutlivesAWorkerKilledWhileItsSupervisorIsStopped(t *testing.T) {
	b := setup(t)
	n := nap()
	w := b.worker("setsid sleep " + n + " & kill -STOP $PPID; sleep " + n)
	eventually(t, "everything sleeps", func() bool { return sleeping(n) == 2 })
	if err := w.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "nothing is left", func() bool { return left(n) == 0 })
}

func TestCancelEndsEverythingSoon(t *testing.T) {
	b := setup(t)
	n := nap()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan tool.Result, 1)
	go func() { done <- b.runIn(ctx, NameBash, args{"command": "echo begun;" + tenacious(n)}) }()
	eventually(t, "everything sleeps", func() bool { return sleeping(n) == tenaciousSleeps })
	cancel()
	within(t, 3*time.Second, func() {
		wantPart(t, <-done, tool.StatusError, "begun\n", "[ended: it was stopped from outside")
	})
	nothingLeft(t, n)
}

func TestCancelLetsACommandCleanUp(t *testing.T) {
	b := setup(t)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan tool.Result, 1)
	n := nap()
	go func() {
		done <- b.runIn(ctx, NameBash, args{"command": "trap 'echo cleaned; exit' TERM; sleep " + n + " & wait"})
	}()
	eventually(t, "it sleeps", func() bool { return sleeping(n) == 1 })
	cancel()
	wantPart(t, <-done, tool.StatusError, "cleaned\n")
}

func TestCancelOvertakesAForkChain(t *testing.T) {
	b := setup(t)
	n := nap()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan tool.Result, 1)
	go func() {
		// Each process starts the next one, in a session of its own now and then, and goes away.
		script := `echo begun > begun; exec bash -c 'trap "" TERM; chain() { (chain) & }; chain' ` + n
		done <- b.runIn(ctx, NameBash, args{"command": script})
	}()
	eventually(t, "the chain has begun", func() bool { _, err := os.Stat(b.path("begun")); return err == nil })
	cancel()
	within(t, 3*time.Second, func() { <-done })
	eventually(t, "nothing is left", func() bool { return left(n) == 0 })
}

func TestBackgroundProcessesEndWithTheCommand(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, script string }{
		{"in the group, with the output open", "sleep NAP & echo done"},
		{"in a session of its own", "setsid sleep NAP & echo done"},
		{"orphaned", "(sleep NAP &); echo done"},
		{"deaf", "(trap '' TERM; sleep NAP) & echo done"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := setup(t)
			n := nap()
			within(t, 5*time.Second, func() {
				wantPart(t, b.bash(strings.ReplaceAll(tt.script, "NAP", n)), tool.StatusSuccess,
					"done\n[1 process still running in the background and was ended with the command: ")
			})
			nothingLeft(t, n)
		})
	}
}

func TestWhatEndsByItselfIsNotCutOff(t *testing.T) {
	b := setup(t)
	wantText(t, b.bash("echo text > >(tr a-z A-Z; echo more)"), tool.StatusSuccess, "TEXT\nmore\n")
}

func TestAKilledSupervisorIsNoticed(t *testing.T) {
	b := setup(t)
	n := nap()
	within(t, 10*time.Second, func() {
		wantPart(t, b.bash("setsid sleep "+n+" & (sleep "+n+" &); kill -KILL $PPID; sleep "+n),
			tool.StatusError, "the process that watches over the command was killed")
	})
	eventually(t, "nothing is left", func() bool { return left(n) == 0 })
}

func TestAStoppedSupervisorIsOvercome(t *testing.T) {
	b := setup(t)
	n := nap()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan tool.Result, 1)
	go func() { done <- b.runIn(ctx, NameBash, args{"command": "kill -STOP $PPID; sleep " + n}) }()
	eventually(t, "it sleeps", func() bool { return sleeping(n) == 1 })
	cancel()
	within(t, 3*time.Second, func() { wantPart(t, <-done, tool.StatusError, "stopped from outside") })
	eventually(t, "nothing is left", func() bool { return left(n) == 0 })
}

func TestASupervisorIgnoresOtherSignals(t *testing.T) {
	b := setup(t)
	wantText(t, b.bash("for s in TERM INT HUP QUIT USR1 ABRT TSTP PIPE; do kill -$s $PPID; done; trap -p; echo still here"),
		tool.StatusSuccess, "still here\n")
}

func TestNoDescriptorReachesACommand(t *testing.T) {
	b := setup(t)
	fd, err := syscall.Open(b.file("db", "x"), syscall.O_RDWR, 0) // not close-on-exec
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(fd) }()
	// ls has one of its own for the listing.
	wantText(t, b.bash("ls /proc/self/fd"), tool.StatusSuccess, "0\n1\n2\n3\n")
}

func TestManyCommandsAtOnce(t *testing.T) {
	b := setup(t)
	results := make(chan tool.Result)
	for i := range 12 {
		go func() { results <- b.bash(fmt.Sprintf("sleep 1000 & echo %d", i)) }()
	}
	for range 12 {
		wantPart(t, <-results, tool.StatusSuccess, "[1 process still running")
	}
}

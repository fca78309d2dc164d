package builtin

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"holdpoint/tool"
)

// held runs a command that can be stopped: its stopper comes by the first channel, its result by the second.
func (b *bench) held(ctx context.Context, script string) (<-chan tool.Stopper, <-chan tool.Result) {
	b.t.Helper()
	begun, done := make(chan tool.Stopper, 1), make(chan tool.Result, 1)
	call := b.call(NameBash, args{"command": script})
	call.Stoppable = func(s tool.Stopper) func() {
		begun <- s
		return func() {}
	}
	go func() {
		out, err := b.tool(NameBash).Run(ctx, call)
		if err != nil {
			b.t.Error(err)
			out = tool.Failure("")
		}
		done <- *out.Result
	}()
	return begun, done
}

// moving counts the naps that are not stopped.
func moving(n string) (count int) {
	for _, pid := range alive(func(line string) bool { return line == "sleep "+n+" " }) {
		if state := stateOf(pid); state != 'T' && state != 0 {
			count++
		}
	}
	return count
}

func TestAStoppedCommandStandsAndGoesOn(t *testing.T) {
	b := setup(t)
	n := nap()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	begun, done := b.held(ctx, tenacious(n))
	eventually(t, "everything sleeps", func() bool { return sleeping(n) == tenaciousSleeps })
	s := <-begun
	for range 3 {
		if !s.Stop() || moving(n) > 0 || sleeping(n) != tenaciousSleeps {
			t.Fatalf("of %d processes %d move", sleeping(n), moving(n))
		}
		if !s.Stop() { // twice is once
			t.Fatal("what stands does not stand")
		}
		s.Continue()
		eventually(t, "everything goes on", func() bool { return moving(n) == tenaciousSleeps })
	}
	s.Stop()
	cancel()
	within(t, 3*time.Second, func() { wantPart(t, <-done, tool.StatusError, "stopped from outside") })
	nothingLeft(t, n)
}

func TestTheClockOfAStoppedCommandStands(t *testing.T) {
	b := setup(t)
	b.cfg.Timeout = 2 * time.Second
	begun, done := b.held(context.Background(), "echo $$ > pid; for i in 1 2 3 4 5; do sleep 0.1; done; echo finished")
	s := <-begun
	eventually(t, "the command runs", func() bool { return strings.HasSuffix(b.maybe("pid"), "\n") })
	if !s.Stop() {
		t.Fatal("it does not stand")
	}
	timer := time.NewTimer(b.cfg.Timeout + 500*time.Millisecond)
	select {
	case res := <-done:
		t.Fatalf("it ended while it stood: %+v", res)
	case <-timer.C:
	}
	s.Continue()
	wantText(t, <-done, tool.StatusSuccess, "finished\n")
}

func TestAForkingCommandIsStoppedToo(t *testing.T) {
	b := setup(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	begun, done := b.held(ctx, `while :; do /bin/echo x >> out; (/bin/true; setsid /bin/true) & done`)
	s := <-begun
	eventually(t, "it writes", func() bool { return len(b.maybe("out")) > 20 })
	if !s.Stop() {
		t.Log("it could not be brought to a stand, and said so")
	} else {
		before := b.maybe("out")
		timer := time.NewTimer(300 * time.Millisecond)
		<-timer.C
		if after := b.maybe("out"); after != before {
			t.Errorf("it wrote %d bytes while it stood", len(after)-len(before))
		}
		s.Continue()
		eventually(t, "it writes on", func() bool { return len(b.maybe("out")) > len(before) })
	}
	cancel()
	within(t, 3*time.Second, func() { <-done })
}

func TestAStoppedCommandDiesWithItsWorker(t *testing.T) {
	b := setup(t)
	n := nap()
	w := b.worker(tenacious(n), standVar+"="+b.path("stand"))
	eventually(t, "everything sleeps", func() bool { return sleeping(n) == tenaciousSleeps })
	b.file("stand", "")
	eventually(t, "everything stands", func() bool { return moving(n) == 0 })
	if sleeping(n) != tenaciousSleeps {
		t.Errorf("%d are left of %d", sleeping(n), tenaciousSleeps)
	}
	if err := w.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "nothing is left", func() bool { return left(n) == 0 })
}

// maybe is the content of a file that may not be there.
func (b *bench) maybe(name string) string {
	text, _ := os.ReadFile(b.path(name))
	return string(text)
}

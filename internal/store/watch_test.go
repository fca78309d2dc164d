package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"holdpoint/agent"
	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/internal/store"
)

func TestDeltas(t *testing.T) {
	conform(t, func(t *testing.T, s *store.Store) {
		run := addRun(t, s, "r1")
		piece := func(turn int, text string) event.StepDeltaData {
			return event.StepDeltaData{Turn: turn, Attempt: 2, Offset: 5, Text: text}
		}
		texts := func(after int64) (out string) {
			t.Helper()
			got, err := s.Deltas(t.Context(), "r1", after)
			no(t, err)
			for n, d := range got {
				out += d.Text + " "
				if d.Attempt != 2 || d.Offset != 5 || n > 0 && d.ID <= got[n-1].ID {
					t.Errorf("delta %+v", d)
				}
			}
			return out
		}
		no(t, s.Delta(t.Context(), "r1", piece(1, "a")))
		no(t, s.Delta(t.Context(), "r1", piece(1, "b\xff\x00")))
		no(t, s.Delta(t.Context(), "r1", piece(2, "c")))
		if got := texts(0); got != "a b\xff\x00 c " {
			t.Errorf("got %q", got)
		}
		first, err := s.Deltas(t.Context(), "r1", 0)
		no(t, err)
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.ClearDeltas(ctx, "r1", 1) })
		if got := texts(first[0].ID); got != "c " {
			t.Errorf("after turn 1 was cleared: %q", got)
		}
		// A turn that is stored takes no more, and an id is never used again.
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			no(t, tx.SaveTurn(ctx, "r1", 2, exact[0]))
			return tx.ClearDeltas(ctx, "r1", 2)
		})
		no(t, s.Delta(t.Context(), "r1", piece(2, "late")))
		no(t, s.Delta(t.Context(), "r1", piece(3, "d")))
		if got := texts(first[2].ID); got != "d " {
			t.Errorf("after turn 2 was stored: %q", got)
		}
		run.Status = agent.RunAborted
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.UpdateRun(ctx, run) })
		no(t, s.Delta(t.Context(), "r1", piece(4, "later")))
		if got := texts(0); got != "" {
			t.Errorf("after the run has ended: %q", got)
		}
		if err := s.Delta(t.Context(), "nobody", piece(1, "x")); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a delta of a run that is not there: %v", err)
		}
		code(t, s.Delta(t.Context(), "r1", piece(5, strings.Repeat("x", store.MaxValueBytes+1))), interaction.CodeTooLarge, "delta")
	})
}

// woken waits for a wake-up; the test's own time limit is the bound.
func woken(t *testing.T, w <-chan struct{}) {
	t.Helper()
	select {
	case _, open := <-w:
		if !open {
			t.Fatal("the watch has ended")
		}
	case <-t.Context().Done():
		t.Fatal("no wake-up")
	}
}

func appendOne(t *testing.T, s *store.Store, run interaction.RunID) {
	t.Helper()
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.AppendEvents(ctx, run, note(run, "x"))
		return err
	})
}

func TestWatchWakesForItsRun(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]store.Config{
		"file":   {DSN: t.TempDir() + "/x.db", PollInterval: time.Hour}, // what this store commits needs no poll
		"memory": {Driver: store.Memory},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, cfg)
			addRun(t, s, "r1")
			addRun(t, s, "r2")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			one, two, anyRun := s.Watch(ctx, "r1"), s.Watch(ctx, "r2"), s.Watch(ctx, "")
			appendOne(t, s, "r1")
			woken(t, one)
			woken(t, anyRun)
			appendOne(t, s, "r1")
			appendOne(t, s, "r1") // several may be one wake-up, and never block the writer
			woken(t, one)
			woken(t, anyRun)
			select {
			case <-two:
				t.Error("a watch was woken for another run")
			default:
			}
			no(t, s.Delta(t.Context(), "r2", event.StepDeltaData{Turn: 1, Text: "x"}))
			woken(t, two)
			// What is rolled back wakes nobody.
			boom := errors.New("boom")
			_ = s.Write(t.Context(), func(tx *store.Tx) error {
				_, err := tx.AppendEvents(t.Context(), "r1", note("r1", "x"))
				return errors.Join(err, boom)
			})
			select {
			case <-one:
				t.Error("a watch was woken for what was rolled back")
			default:
			}
			cancel()
			for range one { // ends with its context
			}
			for range anyRun {
			}
			closing := s.Watch(t.Context(), "r1")
			no(t, s.Close())
			for range closing { // and with the store
			}
		})
	}
}

func TestWatchSeesOtherProcesses(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/x.db"
	here := open(t, store.Config{DSN: path, PollInterval: 5 * time.Millisecond})
	there := openFile(t, path) // another set of connections, as another process has
	for range 2 {              // the second time after nobody watched for a while
		ctx, cancel := context.WithCancel(t.Context())
		run, anyRun := here.Watch(ctx, "late"), here.Watch(ctx, "")
		for range 3 {
			before := len(readAll(t, here, "late"))
			no(t, there.EnsureRun(t.Context(), newRun("late"))) // the run itself may come after its watch
			appendOne(t, there, "late")
			for len(readAll(t, here, "late")) == before {
				woken(t, run)
			}
			woken(t, anyRun)
		}
		no(t, there.Delta(t.Context(), "late", event.StepDeltaData{Turn: 1, Text: "x"}))
		for deltas := 0; deltas == 0; {
			woken(t, run)
			got, err := here.Deltas(t.Context(), "late", 0)
			no(t, err)
			deltas = len(got)
		}
		cancel()
		for range run {
		}
		for range anyRun {
		}
	}
}

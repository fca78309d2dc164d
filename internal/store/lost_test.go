package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdpoint/interaction"
	"holdpoint/internal/store"
	"holdpoint/internal/store/pgtest"
)

// onCommit does something at the next commit of a transaction that inserted an event, and once only.
func onCommit(what cut) func(sql string) cut {
	var written, done atomic.Bool
	return func(sql string) cut {
		if strings.Contains(sql, "INSERT INTO events") {
			written.Store(true)
		}
		if strings.HasPrefix(sql, "commit") && written.Load() && done.CompareAndSwap(false, true) {
			return what
		}
		return pass
	}
}

func TestACommitWhoseAnswerIsLostIsLookedUp(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		what cut
		runs int // of the function
	}{
		"the commit never arrived":                       {cutBefore, 2},
		"the server goes on with it, and has no commit":  {cutKeep, 2},
		"the commit was carried out, the answer is lost": {cutAfter, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, dsn := newWire(t, pgtest.Database(t))
			s := open(t, store.Config{Driver: store.Postgres, DSN: dsn, BusyTimeout: time.Minute})
			addRun(t, s, "r1")
			watch := s.Watch(t.Context(), "r1")
			cutting := onCommit(tc.what)
			w.at(func(sql string) cut {
				if strings.Contains(sql, "RETURNING token") && tc.what == cutKeep {
					select { // the server learns that its client is gone once it was asked about the transaction
					case c := <-w.parked:
						_ = c.Close()
					default:
					}
				}
				return cutting(sql)
			})
			runs := 0
			write(t, s, func(ctx context.Context, tx *store.Tx) error {
				runs++
				_, err := tx.AppendEvents(ctx, "r1", note("r1", "once"))
				return err
			})
			if runs != tc.runs {
				t.Errorf("the function ran %d times, want %d", runs, tc.runs)
			}
			woken(t, watch)
			wantNumbers(t, s, "r1", 1)
		})
	}
}

func TestAnUncertainCommitIsReported(t *testing.T) {
	t.Parallel()
	server, other := pgtest.New(t), pgtest.New(t)
	away, takenOver := server.Database(t), server.Database(t)
	other.Database(t)
	other.Database(t) // of the same name as takenOver
	for name, tc := range map[string]struct {
		dsn  string
		then func(w *wire)
		want error
	}{
		"the server stays away":     {away, func(*wire) {}, store.ErrUnavailable},
		"another server takes over": {takenOver, func(w *wire) { s := other.Socket(); w.target.Store(&s) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, dsn := newWire(t, tc.dsn)
			s := open(t, store.Config{Driver: store.Postgres, DSN: dsn, BusyTimeout: 2 * time.Second})
			addRun(t, s, "r1")
			cutting := onCommit(cutAfterAll)
			w.at(func(sql string) cut {
				what := cutting(sql)
				if what != pass {
					defer tc.then(w)
				}
				return what
			})
			key := note("r1", "x")
			key.Key = "k"
			add := func(s *store.Store) error {
				return s.Write(t.Context(), func(tx *store.Tx) error {
					_, err := tx.AppendEvents(t.Context(), "r1", key)
					return err
				})
			}
			err := add(s)
			if !errors.Is(err, store.ErrUncertain) || tc.want != nil && !errors.Is(err, tc.want) {
				t.Fatalf("got %v, want ErrUncertain", err)
			}
			// It had been committed, and doing it again is harmless.
			back := openPostgres(t, tc.dsn)
			no(t, add(back))
			wantNumbers(t, back, "r1", 1)
		})
	}
}

func TestALostConnectionBeforeTheCommitRunsItAgain(t *testing.T) {
	t.Parallel()
	w, dsn := newWire(t, pgtest.Database(t))
	s := open(t, store.Config{Driver: store.Postgres, DSN: dsn, BusyTimeout: time.Minute})
	addRun(t, s, "r1")
	var cuts atomic.Int64
	for _, at := range []string{"begin", "SELECT body, head_number", "INSERT INTO events", "UPDATE runs", "INSERT INTO commits"} {
		for _, what := range []cut{cutBefore, cutAfter} {
			var done atomic.Bool
			w.at(func(sql string) cut {
				if strings.Contains(sql, at) && done.CompareAndSwap(false, true) {
					cuts.Add(1)
					return what
				}
				return pass
			})
			appendOne(t, s, "r1")
		}
	}
	if cuts.Load() != 10 {
		t.Errorf("%d connections were cut, want 10", cuts.Load())
	}
	wantNumbers(t, s, "r1", 10)
}

func TestAServerThatStaysAwayIsReported(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t)
	s := open(t, store.Config{Driver: store.Postgres, DSN: server.Database(t), BusyTimeout: 300 * time.Millisecond})
	addRun(t, s, "r1")
	server.Stop(t)
	_, _, err := s.Run(t.Context(), "r1")
	for name, err := range map[string]error{
		"a read":     err,
		"a write":    s.EnsureRun(t.Context(), newRun("r2")),
		"VerifyRun":  s.VerifyRun(t.Context(), "r1"),
		"a response": second(s.SaveResponse(t.Context(), interaction.Response{ID: "p"})),
	} {
		if !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: got %v, want ErrUnavailable", name, err)
		}
	}
	if err := s.Ping(t.Context()); err == nil {
		t.Error("a server that is away answers")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.EnsureRun(ended, newRun("r2")); !errors.Is(err, context.Canceled) {
		t.Errorf("a write whose context has ended: %v", err)
	}
	server.Start(t)
	no(t, s.EnsureRun(t.Context(), newRun("r2")))
	no(t, s.Ping(t.Context()))
}

func second(_ interaction.Response, _ bool, err error) error { return err }

func TestTheServerIsRestartedInTheMiddle(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t)
	cfg := deaf(server.Database(t))
	cfg.BusyTimeout = 5 * time.Minute // so that a slow machine does not fail the test
	a, b, reader := open(t, cfg), open(t, cfg), open(t, cfg)
	addRun(t, a, "r1")
	const writers, each = 6, 40
	var written atomic.Int64
	var work sync.WaitGroup
	for w := range writers {
		s := []*store.Store{a, b}[w%2]
		work.Go(func() {
			for n := range each {
				err := s.Write(t.Context(), func(tx *store.Tx) error {
					_, err := tx.AppendEvents(t.Context(), "r1", note("r1", fmt.Sprint(w, n)))
					return err
				})
				if err != nil {
					t.Error(err)
				}
				written.Add(1)
			}
		})
	}
	// A watcher reads as the events come, by notifications alone.
	seen := make(chan int64, 1)
	go func() {
		changes, n := reader.Watch(t.Context(), "r1"), int64(0)
		for n < writers*each {
			events, err := reader.Events(t.Context(), "r1", n, 0)
			if err != nil {
				t.Error(err)
				break
			}
			for _, e := range events {
				if n++; e.Number != n {
					t.Errorf("event %d came after %d", e.Number, n-1)
				}
			}
			if len(events) == 0 {
				<-changes
			}
		}
		seen <- n
	}()
	for i, end := range []func(testing.TB){server.Kill, server.Stop, server.Kill} {
		for written.Load() < int64(writers*each*(i+1)/5) {
			<-time.After(time.Millisecond)
		}
		end(t)
		server.Start(t)
	}
	work.Wait()
	if n := <-seen; n != writers*each {
		t.Errorf("the watcher saw %d events, want %d", n, writers*each)
	}
	wantNumbers(t, reader, "r1", writers*each) // each once: none is lost, and none is there twice
}

func TestACrashOfOneBackendEndsNoWrite(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t)
	s := open(t, store.Config{Driver: store.Postgres, DSN: server.Database(t), BusyTimeout: 5 * time.Minute})
	addRun(t, s, "r1")
	look := connect(t, server.Database(t))
	runs := 0
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.AppendEvents(ctx, "r1", note("r1", "x")); err != nil {
			return err
		}
		if runs++; runs > 1 {
			return nil
		}
		var pid int
		no(t, look.QueryRow(ctx, `SELECT pid FROM pg_stat_activity WHERE state = 'idle in transaction'`).Scan(&pid))
		server.Crash(t, pid) // the server ends every session, and starts anew
		return nil
	})
	if runs != 2 {
		t.Errorf("the function ran %d times, want 2", runs)
	}
	wantNumbers(t, s, "r1", 1)
}

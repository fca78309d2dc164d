package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/internal/store"
	"holdpoint/internal/store/pgtest"
	"holdpoint/permission"
	"holdpoint/tool"
)

// admin is a connection of the test's own, beside the stores'.
type admin struct {
	t testing.TB
	*pgx.Conn
}

func connect(t testing.TB, dsn string) admin {
	t.Helper()
	c, err := pgx.Connect(t.Context(), dsn)
	no(t, err)
	t.Cleanup(func() { _ = c.Close(context.WithoutCancel(t.Context())) })
	return admin{t, c}
}

func (a admin) exec(sql string, args ...any) {
	a.t.Helper()
	if _, err := a.Exec(a.t.Context(), sql, args...); err != nil {
		a.t.Fatalf("%s: %v", sql, err)
	}
}

// until waits until a query returns true.
func (a admin) until(sql string) {
	a.t.Helper()
	for ok := false; !ok; {
		if err := a.QueryRow(a.t.Context(), sql).Scan(&ok); err != nil {
			a.t.Fatalf("%s: %v", sql, err)
		}
	}
}

// blocked is true once a connection of this database waits for a lock.
const blocked = `SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`

// deaf is a configuration under which only a notification can wake a watcher.
func deaf(dsn string) store.Config {
	return store.Config{Driver: store.Postgres, DSN: dsn, PollInterval: time.Hour}
}

func TestNotificationsWakeOtherStores(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	here, there := open(t, deaf(dsn)), open(t, deaf(dsn))
	addRun(t, there, "r1")
	addRun(t, there, "r2")
	run, anyRun := here.Watch(t.Context(), "r1"), here.Watch(t.Context(), "")
	see := func(want int) {
		t.Helper()
		for len(readAll(t, here, "r1")) < want {
			woken(t, run)
		}
		woken(t, anyRun)
	}
	for n := range 5 {
		appendOne(t, there, "r1")
		see(n + 1)
	}
	no(t, there.Delta(t.Context(), "r1", event.StepDeltaData{Turn: 1, Text: "x"}))
	for deltas := 0; deltas == 0; {
		woken(t, run)
		got, err := here.Deltas(t.Context(), "r1", 0)
		no(t, err)
		deltas = len(got)
	}
	// What is left to say when a store is closed is said.
	appendOne(t, there, "r1")
	no(t, there.Close())
	see(6)
}

func TestAListenerThatIsCutOffComesBack(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	here, there := open(t, deaf(dsn)), open(t, deaf(dsn))
	addRun(t, there, "r1")
	run := here.Watch(t.Context(), "r1")
	a := connect(t, dsn)
	const listening = `FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%' AND state = 'idle'`
	for n := range 3 {
		a.until(`SELECT count(*) = 1 ` + listening)
		a.exec(`SELECT pg_terminate_backend(pid) ` + listening)
		appendOne(t, there, "r1")
		for len(readAll(t, here, "r1")) < n+1 {
			woken(t, run)
		}
	}
	// Notes that make no sense wake, and do no harm.
	a.until(`SELECT count(*) = 1 ` + listening)
	for _, payload := range []string{"", "x", "{}", `{"runs":["r1",""]}`, `{"runs":null}`} {
		a.exec(`SELECT pg_notify('holdpoint_runs', $1)`, payload)
	}
	appendOne(t, there, "r1")
	for len(readAll(t, here, "r1")) < 4 {
		woken(t, run)
	}
}

func TestPollingFindsWhatNoNotificationTold(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	s := open(t, store.Config{Driver: store.Postgres, DSN: dsn, PollInterval: 10 * time.Millisecond})
	addRun(t, s, "r1")
	run := s.Watch(t.Context(), "r1")
	connect(t, dsn).exec(`UPDATE runs SET head_number = 1`) // by someone who does not notify
	for {
		p, err := s.Progress(t.Context(), "r1")
		no(t, err)
		if p.LastEvent == 1 {
			return
		}
		woken(t, run)
	}
}

// meet lets two transactions go on only when both have come to the same point, each the first time only: after a
// conflict one of them runs again.
func meet() func() {
	var both sync.WaitGroup
	both.Add(2)
	return func() { both.Done(); both.Wait() }
}

// race runs two transactions at once. Each calls met at the point where both must be; how often they ran in all is
// returned.
func race(t *testing.T, a, b *store.Store, fa, fb func(tx *store.Tx, met func()) error) (runs int) {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	point := meet()
	for _, x := range []struct {
		s  *store.Store
		fn func(tx *store.Tx, met func()) error
	}{{a, fa}, {b, fb}} {
		wg.Go(func() {
			var once sync.Once
			err := x.s.Write(t.Context(), func(tx *store.Tx) error {
				mu.Lock()
				runs++
				mu.Unlock()
				return x.fn(tx, func() { once.Do(point) })
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	return runs
}

func TestConflictsAreRunAgain(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	a, b := openPostgres(t, dsn), openPostgres(t, dsn)
	addRun(t, a, "r1")
	addRun(t, a, "r2")
	lock := func(tx *store.Tx, run interaction.RunID) error {
		_, _, _, err := tx.LockRun(t.Context(), run)
		return err
	}
	next := func(tx *store.Tx, session interaction.SessionID, met func()) (int64, error) {
		seq, err := tx.NextSequence(t.Context(), session)
		met()
		return seq, err
	}
	insertStep := func(session interaction.SessionID, name interaction.RunID) func(*store.Tx, func()) error {
		return func(tx *store.Tx, met func()) error {
			seq, err := next(tx, session, met)
			if err != nil {
				return err
			}
			return tx.InsertStep(t.Context(), step(name, session, seq))
		}
	}
	insertCall := func(tx *store.Tx, met func()) error {
		seq, err := next(tx, "skew", met)
		if err != nil {
			return err
		}
		return tx.InsertCall(t.Context(), record("skew", "skew", seq, nil))
	}
	for name, fns := range map[string][2]func(*store.Tx, func()) error{
		// Neither writes what the other writes: only a serialisable transaction sees that both can't be right.
		"write skew": {insertStep("skew", "skewed"), insertCall},
		// The same place: not ErrExists, as neither could have seen it taken.
		"one place for two": {insertStep("place", "p1"), insertStep("place", "p2")},
		"deadlock": {
			func(tx *store.Tx, met func()) error {
				err := lock(tx, "r1")
				met()
				return errors.Join(err, lock(tx, "r2"))
			},
			func(tx *store.Tx, met func()) error {
				err := lock(tx, "r2")
				met()
				return errors.Join(err, lock(tx, "r1"))
			},
		},
		// An error that hides what the database said.
		"a disguised failure": {
			func(tx *store.Tx, met func()) error { return disguised(insertStep("veiled", "v1")(tx, met)) },
			func(tx *store.Tx, met func()) error { return disguised(insertStep("veiled", "v2")(tx, met)) },
		},
		"one new run": {
			func(tx *store.Tx, met func()) error { return insertedOnce(t, tx, met) },
			func(tx *store.Tx, met func()) error { return insertedOnce(t, tx, met) },
		},
	} {
		if runs := race(t, a, b, fns[0], fns[1]); runs < 3 {
			t.Errorf("%s: the transactions ran %d times: there was no conflict", name, runs)
		}
	}
	for session, want := range map[interaction.SessionID]int64{"skew": 3, "place": 3, "veiled": 3} {
		write(t, a, func(ctx context.Context, tx *store.Tx) error {
			got, err := tx.NextSequence(ctx, session)
			if got != want {
				t.Errorf("session %s: the next sequence is %d, want %d", session, got, want)
			}
			return err
		})
	}
}

func disguised(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("it did not work: %v", err) //nolint:errorlint // the point
}

// insertedOnce looks for a run, and inserts it if it is not there.
func insertedOnce(t *testing.T, tx *store.Tx, met func()) error {
	_, _, found, err := tx.LockRun(t.Context(), "new")
	met()
	if err != nil || found {
		return err
	}
	inserted, err := tx.InsertRun(t.Context(), newRun("new"))
	if err == nil && !inserted {
		return errors.New("the run was neither there nor inserted")
	}
	return err
}

// claim decides by the rules and claims an execution, as RunTool does.
func claim(t *testing.T, s *store.Store, call interaction.CallID, decided func(rules int)) {
	t.Helper()
	err := s.Write(t.Context(), func(tx *store.Tx) error {
		rules, err := tx.Rules(t.Context(), "ann", "s")
		if err != nil {
			return err
		}
		decided(len(rules))
		return tx.SaveExecution(t.Context(), tool.Execution{CallID: call, RunID: "r1", State: tool.StateStarted})
	})
	if err != nil {
		t.Error(err)
	}
}

func TestRulesDoNotChangeWhileACallIsClaimed(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, s *store.Store) error{
		"a first rule of the user's": func(t *testing.T, s *store.Store) error {
			return s.SaveRule(t.Context(), permission.Rule{ID: "d", UserID: "ann", Effect: permission.Deny, Pattern: "bash"})
		},
		"a first rule for all": func(t *testing.T, s *store.Store) error {
			return s.SaveRule(t.Context(), permission.Rule{ID: "d", Effect: permission.Deny, Pattern: "bash"})
		},
		"a revocation": func(t *testing.T, s *store.Store) error { return s.RevokeRule(t.Context(), "a", "root", start) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := pgtest.Database(t)
			a, b := openPostgres(t, dsn), openPostgres(t, dsn)
			if name == "a revocation" {
				no(t, a.SaveRule(t.Context(), permission.Rule{ID: "a", UserID: "ann", Effect: permission.Allow, Pattern: "bash"}))
			}
			changed := make(chan error, 1)
			look := connect(t, dsn)
			claim(t, a, "c1", func(int) {
				go func() { changed <- change(t, b) }()
				look.until(blocked)
				select {
				case err := <-changed:
					t.Errorf("the rules were changed while they were held: %v", err)
				default:
				}
			})
			no(t, <-changed)
		})
	}
}

func TestAClaimSeesEveryRuleThatWasSavedBefore(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	s := openPostgres(t, dsn)
	claim(t, s, "c0", func(int) {})
	// Another process is in the middle of saving a rule.
	other, look := connect(t, dsn), connect(t, dsn)
	other.exec(`BEGIN`)
	other.exec(`UPDATE rule_versions SET version = version + 1 WHERE user_id = 'ann'`)
	other.exec(`INSERT INTO rules (id, user_id, session_id, created_at, body) VALUES ('d', 'ann', '', 0, '{"effect":"deny"}')`)
	var claimed sync.WaitGroup
	seen := -1
	claimed.Go(func() { claim(t, s, "c1", func(rules int) { seen = rules }) })
	look.until(blocked)
	other.exec(`COMMIT`)
	claimed.Wait()
	if seen != 1 {
		t.Errorf("the call was decided by %d rules, want the one that was being saved", seen)
	}
}

func TestAStuckProcessMakesOthersBusyAndNoMore(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	s := open(t, store.Config{Driver: store.Postgres, DSN: dsn, BusyTimeout: 300 * time.Millisecond})
	addRun(t, s, "r1")
	addRun(t, s, "r2")
	stuck := connect(t, dsn)
	stuck.exec(`BEGIN`)
	stuck.exec(`SELECT 1 FROM runs WHERE id = 'r1' FOR UPDATE`)
	began := time.Now()
	err := s.Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.AppendEvents(t.Context(), "r1", note("r1", "x"))
		return err
	})
	if !errors.Is(err, store.ErrBusy) {
		t.Fatalf("got %v, want ErrBusy", err)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s to say so", took)
	}
	appendOne(t, s, "r2") // another run is not held up
	stuck.exec(`ROLLBACK`)
	appendOne(t, s, "r1")
}

package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"holdpoint/activities"
	"holdpoint/agent"
	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/internal/store"
	"holdpoint/internal/store/pgtest"
)

// What the activities need is what a transaction has, no more and no less.
var _ activities.Tx = (*store.Tx)(nil)

// adapter is what the composition root puts between the two packages.
type adapter struct{ *store.Store }

func (a adapter) Write(ctx context.Context, fn func(activities.Tx) error) error {
	return a.Store.Write(ctx, func(tx *store.Tx) error { return fn(tx) })
}

var _ activities.Store = adapter{}

func TestTxHasNoMethodBeyondTheInterface(t *testing.T) {
	t.Parallel()
	got := reflect.TypeFor[*store.Tx]()
	want := reflect.TypeFor[activities.Tx]()
	if got.NumMethod() != want.NumMethod() {
		t.Errorf("*store.Tx has %d methods, activities.Tx %d", got.NumMethod(), want.NumMethod())
	}
}

// backend opens an empty database of one kind. A new dialect joins the suite by one line in backends.
type backend func(t testing.TB) *store.Store

var backends = map[string]backend{
	"file":     func(t testing.TB) *store.Store { return openFile(t, filepath.Join(t.TempDir(), "holdpoint.db")) },
	"memory":   func(t testing.TB) *store.Store { return open(t, store.Config{Driver: store.Memory}) },
	"postgres": func(t testing.TB) *store.Store { return openPostgres(t, pgtest.Database(t)) },

	"sealed file": func(t testing.TB) *store.Store {
		return open(t, sealed(store.Config{DSN: filepath.Join(t.TempDir(), "holdpoint.db")}, firstKey))
	},
	"sealed memory": func(t testing.TB) *store.Store { return open(t, sealed(store.Config{Driver: store.Memory}, firstKey)) },
	"sealed postgres": func(t testing.TB) *store.Store {
		return open(t, sealed(store.Config{Driver: store.Postgres, DSN: pgtest.Database(t)}, firstKey))
	},
}

// conform runs a test against every kind of database.
func conform(t *testing.T, test func(t *testing.T, s *store.Store)) {
	t.Helper()
	t.Parallel()
	for name, open := range backends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

func open(t testing.TB, cfg store.Config) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func openFile(t testing.TB, path string) *store.Store {
	t.Helper()
	return open(t, store.Config{DSN: path})
}

func openPostgres(t testing.TB, dsn string) *store.Store {
	t.Helper()
	return open(t, store.Config{Driver: store.Postgres, DSN: dsn})
}

// write runs fn in a transaction and fails the test on an error.
func write(t testing.TB, s *store.Store, fn func(ctx context.Context, tx *store.Tx) error) {
	t.Helper()
	ctx := t.Context()
	if err := s.Write(ctx, func(tx *store.Tx) error { return fn(ctx, tx) }); err != nil {
		t.Fatal(err)
	}
}

// no fails the test on an error.
func no(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// code fails the test unless err is an interaction.Error of that code and field.
func code(t testing.TB, err error, want interaction.Code, field string) {
	t.Helper()
	var e *interaction.Error
	if !errors.As(err, &e) || e.Code != want || e.Field != field {
		t.Fatalf("got error %v, want %s at %q", err, want, field)
	}
}

// start is when the records of these tests begin.
var start = time.Date(2026, 3, 1, 9, 30, 0, 123456000, time.UTC)

func newRun(id interaction.RunID) agent.Run {
	return agent.Run{ID: id, SessionID: "s-" + interaction.SessionID(id), WorkflowID: "session-s-" + string(id), Agent: "coder",
		AgentDigest: "d1", UserID: "ann", Requester: "ann", Input: "fix <the> build & go", Metadata: map[string]string{"k": "v"},
		Status: agent.RunRunning, StartedAt: start}
}

func addRun(t testing.TB, s *store.Store, id interaction.RunID) agent.Run {
	t.Helper()
	r := newRun(id)
	no(t, s.EnsureRun(t.Context(), r))
	return r
}

func note(run interaction.RunID, text string) event.Event {
	return event.New(run, event.Error, start, event.ErrorData{Code: "note", Message: text})
}

func TestOpenRefusesAWrongConfiguration(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	notDB := filepath.Join(dir, "notes.txt")
	no(t, os.WriteFile(notDB, []byte(strings.Repeat("these are notes, and no database\n", 200)), 0o600))
	for name, tc := range map[string]struct {
		cfg  store.Config
		want string
	}{
		"unknown driver":        {store.Config{Driver: "oracle"}, `"oracle" is unknown`},
		"postgres without DSN":  {store.Config{Driver: store.Postgres}, "connection string of the PostgreSQL database is missing"},
		"negative writers":      {store.Config{DSN: "x", Writers: -1}, "Writers"},
		"no path":               {store.Config{}, "path of the SQLite file is missing"},
		"memory with a path":    {store.Config{Driver: store.Memory, DSN: "x"}, "has none"},
		"negative timeout":      {store.Config{DSN: "x", BusyTimeout: -1}, "BusyTimeout"},
		"negative readers":      {store.Config{DSN: "x", Readers: -1}, "Readers"},
		"negative poll":         {store.Config{DSN: "x", PollInterval: -1}, "PollInterval"},
		"a directory":           {store.Config{DSN: dir}, dir},
		"a file of other kind":  {store.Config{DSN: notDB}, notDB},
		"below what is no dir":  {store.Config{DSN: filepath.Join(notDB, "x.db")}, "directory of the database"},
		"a wrong kind of value": {store.Config{Driver: store.Memory, DSN: "file:x"}, "has none"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := store.Open(t.Context(), tc.cfg)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("got %v, want an error with %q", err, tc.want)
			}
		})
	}
}

func TestReopeningKeepsEverything(t *testing.T) {
	t.Parallel()
	// A path with characters that mean something in a data source name.
	path := filepath.Join(t.TempDir(), "new dir", "100%?mode=memory#x.db")
	for range 3 {
		s, err := store.Open(t.Context(), store.Config{DSN: path})
		no(t, err)
		no(t, s.Ping(t.Context()))
		no(t, s.EnsureRun(t.Context(), newRun("r1")))
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.AppendEvents(ctx, "r1", note("r1", "again"))
			return err
		})
		no(t, s.Close())
	}
	s := openFile(t, path)
	events, err := s.Events(t.Context(), "r1", 0, 0)
	no(t, err)
	if len(events) != 3 {
		t.Errorf("%d events after three openings, want 3", len(events))
	}
	info, err := os.Stat(path)
	no(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %s: others could read transcripts", info.Mode())
	}
}

func TestOpenRefusesANewerSchema(t *testing.T) {
	onShared(t, func(t *testing.T, d shared) {
		no(t, open(t, d.cfg).Close())
		d.raw(t, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, `+map[store.Driver]string{store.SQLite: "1", store.Postgres: "true"}[d.cfg.Driver]+`)`)
		_, err := store.Open(t.Context(), d.cfg)
		if !errors.Is(err, store.ErrNewerSchema) {
			t.Fatalf("got %v, want ErrNewerSchema", err)
		}
	})
}

func TestWriteRollsBack(t *testing.T) {
	conform(t, func(t *testing.T, s *store.Store) {
		boom := errors.New("boom")
		insert := func(tx *store.Tx) error {
			if _, err := tx.InsertRun(t.Context(), newRun("r1")); err != nil {
				return err
			}
			_, err := tx.AppendEvents(t.Context(), "r1", note("r1", "x"))
			return err
		}
		err := s.Write(t.Context(), func(tx *store.Tx) error { return errors.Join(insert(tx), boom) })
		if !errors.Is(err, boom) {
			t.Fatalf("got %v, want the function's own error", err)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Error("a panic was swallowed")
				}
			}()
			no(t, s.Write(t.Context(), func(tx *store.Tx) error { no(t, insert(tx)); panic("boom") }))
		}()
		ctx, cancel := context.WithCancel(t.Context())
		err = s.Write(ctx, func(tx *store.Tx) error { cancel(); return insert(tx) })
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v, want context.Canceled", err)
		}
		_, found, err := s.Run(t.Context(), "r1")
		no(t, err)
		if found {
			t.Error("the run of a transaction that was rolled back is there")
		}
		write(t, s, func(_ context.Context, tx *store.Tx) error { return insert(tx) }) // and the store still works
	})
}

func TestCancelledContextsEndCalls(t *testing.T) {
	conform(t, func(t *testing.T, s *store.Store) {
		addRun(t, s, "r1")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		calls := map[string]func() error{
			"Write":      func() error { return s.Write(ctx, func(*store.Tx) error { return nil }) },
			"Run":        func() error { _, _, err := s.Run(ctx, "r1"); return err },
			"Transcript": func() error { _, err := s.Transcript(ctx, "s"); return err },
			"Events":     func() error { _, err := s.Events(ctx, "r1", 0, 0); return err },
			"VerifyRun":  func() error { return s.VerifyRun(ctx, "r1") },
		}
		for name, call := range calls {
			if err := call(); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: got %v, want context.Canceled", name, err)
			}
		}
		// A writer that waits for its turn gives up with its context.
		ctx, cancel = context.WithCancel(t.Context())
		write(t, s, func(_ context.Context, tx *store.Tx) error {
			_, err := tx.InsertRun(t.Context(), newRun("r2"))
			no(t, err)
			done := make(chan error, 1)
			go func() { done <- s.EnsureRun(ctx, newRun("r2")) }()
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("waiting writer: got %v, want context.Canceled", err)
			}
			return nil
		})
		_, found, err := s.Run(t.Context(), "r1")
		no(t, err)
		if !found {
			t.Error("a run was lost with a cancelled call")
		}
	})
}

func TestAnErrorThatIsKeptQuietFailsTheWrite(t *testing.T) {
	conform(t, func(t *testing.T, s *store.Store) {
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		err := s.Write(t.Context(), func(tx *store.Tx) error {
			if _, err := tx.InsertRun(t.Context(), newRun("r1")); err != nil {
				return err
			}
			_, _, err := tx.Turn(ended, "r1", 1)
			if err == nil {
				t.Error("a read with an ended context succeeded")
			}
			return nil
		})
		if err == nil {
			t.Error("the write succeeded although a statement of it had failed")
		}
		if _, found, err := s.Run(t.Context(), "r1"); err != nil || found {
			t.Errorf("found %v, %v", found, err)
		}
	})
}

func TestMemoryDatabasesAreApart(t *testing.T) {
	t.Parallel()
	a, b := open(t, store.Config{Driver: store.Memory}), open(t, store.Config{Driver: store.Memory})
	addRun(t, a, "r1")
	_, found, err := b.Run(t.Context(), "r1")
	no(t, err)
	if found {
		t.Error("two databases in memory share their data")
	}
}

func TestClosedStoreFails(t *testing.T) {
	t.Parallel()
	s := open(t, store.Config{Driver: store.Memory})
	no(t, s.Close())
	if err := s.EnsureRun(t.Context(), newRun("r1")); err == nil {
		t.Error("a closed store took a run")
	}
	if _, open := <-s.Watch(t.Context(), ""); open {
		t.Error("a watch of a closed store is open")
	}
}

package store_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/internal/store"
	"holdpoint/internal/store/compress/compresstest"
	"holdpoint/internal/store/pgtest"
)

// The variables that make this test binary a process that writes to a store: the database, the run, and how many
// events ("" for without end).
const (
	envDriver = "HOLDPOINT_STORE_TEST_DRIVER"
	envDSN    = "HOLDPOINT_STORE_TEST_DSN"
	envRun    = "HOLDPOINT_STORE_TEST_RUN"
	envCount  = "HOLDPOINT_STORE_TEST_COUNT"
)

func TestMain(m *testing.M) {
	if dsn := os.Getenv(envDSN); dsn != "" {
		cfg := store.Config{Driver: store.Driver(os.Getenv(envDriver)), DSN: dsn}
		if err := writerProcess(cfg, interaction.RunID(os.Getenv(envRun)), os.Getenv(envCount)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// writerProcess appends events, two in each transaction, and prints the number of each that was reported written.
func writerProcess(cfg store.Config, run interaction.RunID, count string) error {
	ctx := context.Background()
	s, err := store.Open(ctx, cfg)
	if err != nil {
		return err
	}
	var limit int
	if count != "" {
		if _, err := fmt.Sscan(count, &limit); err != nil {
			return err
		}
	}
	if err := s.EnsureRun(ctx, newRun(run)); err != nil {
		return err
	}
	for n := 0; limit == 0 || n < limit; n += 2 {
		var head event.Head
		err := s.Write(ctx, func(tx *store.Tx) (err error) {
			head, err = tx.AppendEvents(ctx, run, note(run, strings.Repeat("x", n%5000)), note(run, "y"))
			return err
		})
		if err != nil {
			return err
		}
		fmt.Println(head.Number)
	}
	return s.Close()
}

// spawn starts this test binary as a writer.
func spawn(t *testing.T, cfg store.Config, run interaction.RunID, count string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	exe, err := os.Executable()
	no(t, err)
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), envDriver+"="+string(cfg.Driver), envDSN+"="+cfg.DSN, envRun+"="+string(run), envCount+"="+count)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	no(t, err)
	no(t, cmd.Start())
	return cmd, bufio.NewScanner(out)
}

func TestTwoProcessesWriteToOneDatabase(t *testing.T) {
	onShared(t, func(t *testing.T, d shared) {
		const each = 40
		// Both start on an empty database, so they also race to create the schema, and here a third joins.
		a, outA := spawn(t, d.cfg, "shared", fmt.Sprint(each))
		b, outB := spawn(t, d.cfg, "shared", fmt.Sprint(each))
		s := open(t, d.cfg)
		no(t, s.EnsureRun(t.Context(), newRun("shared")))
		changes := s.Watch(t.Context(), "shared")
		for range each / 2 {
			write(t, s, func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.AppendEvents(ctx, "shared", note("shared", "mine"), note("shared", "mine too"))
				return err
			})
		}
		for len(readAll(t, s, "shared")) < 3*each {
			woken(t, changes)
		}
		for outA.Scan() {
		}
		for outB.Scan() {
		}
		no(t, a.Wait())
		no(t, b.Wait())
		wantNumbers(t, s, "shared", 3*each)
	})
}

func TestKilledWriterLeavesAConsistentChain(t *testing.T) {
	onShared(t, func(t *testing.T, d shared) {
		for round := range 4 {
			cmd, out := spawn(t, d.cfg, "r1", "")
			last := int64(0)
			for n := 0; n < 5+7*round && out.Scan(); n++ {
				_, err := fmt.Sscan(out.Text(), &last)
				no(t, err)
			}
			no(t, cmd.Process.Kill())
			for out.Scan() { // what was reported before the signal arrived counts too
				_, err := fmt.Sscan(out.Text(), &last)
				no(t, err)
			}
			if err := cmd.Wait(); err == nil {
				t.Fatal("the writer ended by itself")
			}
			s := open(t, d.cfg)
			no(t, s.VerifyRun(t.Context(), "r1"))
			events := readAll(t, s, "r1")
			if int64(len(events)) < last {
				t.Fatalf("round %d: %d events are left of %d that were reported written", round, len(events), last)
			}
			if len(events)%2 != 0 {
				t.Fatalf("round %d: %d events: half a transaction is left", round, len(events))
			}
			no(t, s.Close())
		}
	})
}

func TestBusyIsReportedWithinItsBound(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/x.db"
	s := open(t, store.Config{DSN: path, BusyTimeout: 200 * time.Millisecond})
	addRun(t, s, "r1")
	db := rawDB(t, path)
	conn, err := db.Conn(t.Context())
	no(t, err)
	_, err = conn.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	no(t, err)
	began := time.Now()
	ran := false
	err = s.Write(t.Context(), func(*store.Tx) error { ran = true; return nil })
	if !errors.Is(err, store.ErrBusy) || ran {
		t.Fatalf("got %v (ran: %v), want ErrBusy without a run", err, ran)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %s to say so", took)
	}
	if _, found, err := s.Run(t.Context(), "r1"); err != nil || !found {
		t.Errorf("reading while another process writes: %v, %v", found, err)
	}
	// A writer that waits gets its turn when the other is done.
	patient := openFile(t, path)
	done := make(chan error, 1)
	go func() { done <- patient.EnsureRun(t.Context(), newRun("r2")) }()
	_, err = conn.ExecContext(t.Context(), "COMMIT")
	no(t, err)
	no(t, <-done)
}

// shared is a database that several processes may open.
type shared struct {
	cfg store.Config
	// raw changes it behind the store's back.
	raw func(t testing.TB, statements ...string)
}

// dump is all that the tables have, as text.
func (d shared) dump(t testing.TB) string {
	t.Helper()
	driver, tables, row := "sqlite", `SELECT name FROM sqlite_master WHERE type = 'table'`, "*"
	if d.cfg.Driver == store.Postgres {
		driver, tables, row = "pgx", `SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'`, "row_to_json(x)::text"
	}
	db, err := sql.Open(driver, d.cfg.DSN)
	no(t, err)
	defer db.Close()
	var out strings.Builder
	for _, table := range texts(t, db, tables) {
		for _, line := range texts(t, db, `SELECT `+row+` FROM "`+table[0]+`" AS x`) {
			fmt.Fprintln(&out, table[0], line)
		}
	}
	return out.String()
}

func texts(t testing.TB, db *sql.DB, query string) (out [][]string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	no(t, err)
	defer rows.Close()
	columns, err := rows.Columns()
	no(t, err)
	for rows.Next() {
		cells, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for n := range cells {
			into[n] = &cells[n]
		}
		no(t, rows.Scan(into...))
		line := make([]string, len(cells))
		for n, c := range cells {
			line[n] = compresstest.Expand(t, c.String)
		}
		out = append(out, line)
	}
	no(t, rows.Err())
	return out
}

// onShared runs a test against every kind of shared database.
func onShared(t *testing.T, test func(t *testing.T, d shared)) {
	t.Helper()
	t.Parallel()
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		path := t.TempDir() + "/x.db"
		test(t, shared{cfg: store.Config{Driver: store.SQLite, DSN: path}, raw: func(t testing.TB, statements ...string) {
			t.Helper()
			raw(t, path, statements...)
		}})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		dsn := pgtest.Database(t)
		test(t, shared{cfg: store.Config{Driver: store.Postgres, DSN: dsn}, raw: func(t testing.TB, statements ...string) {
			t.Helper()
			admin := connect(t, dsn)
			for _, st := range statements {
				admin.exec(st)
			}
		}})
	})
}

// raw changes the file behind the store's back.
func raw(t testing.TB, path string, statements ...string) {
	t.Helper()
	db := rawDB(t, path)
	for _, st := range statements {
		if _, err := db.ExecContext(t.Context(), st); err != nil {
			t.Fatalf("%s: %v", st, err)
		}
	}
	no(t, db.Close())
}

func rawDB(t testing.TB, path string) *sql.DB {
	t.Helper()
	u := url.URL{Scheme: "file", Path: path, RawQuery: "_busy_timeout=10000"}
	db, err := sql.Open("sqlite", u.String())
	no(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

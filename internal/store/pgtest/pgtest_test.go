package pgtest_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"holdpoint/internal/store/pgtest"
)

// envHold makes this test binary a process that starts a server, prints its socket, and waits.
const envHold = "HOLDPOINT_PGTEST_HOLD"

// query runs a query that returns one number.
func query(t *testing.T, dsn, sql string) (n int64, err error) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	return n, conn.QueryRow(t.Context(), sql).Scan(&n)
}

func TestDatabasesAreApart(t *testing.T) {
	t.Parallel()
	a, b := pgtest.Database(t), pgtest.Database(t)
	conn, err := pgx.Connect(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	if _, err := conn.Exec(t.Context(), "CREATE TABLE t (x int)"); err != nil {
		t.Fatal(err)
	}
	if n, err := query(t, b, "SELECT count(*) FROM pg_tables WHERE tablename = 't'"); err != nil || n != 0 {
		t.Errorf("%d tables of another database are seen (%v)", n, err)
	}
}

func TestAServerCanBeKilledAndStarted(t *testing.T) {
	t.Parallel()
	s := pgtest.New(t)
	dsn := s.Database(t)
	for _, end := range []func(testing.TB){s.Kill, s.Stop, s.Kill} {
		if _, err := query(t, dsn, "SELECT 1"); err != nil {
			t.Fatal(err)
		}
		end(t)
		if _, err := query(t, dsn, "SELECT 1"); err == nil {
			t.Error("a server that was ended answers")
		}
		s.Start(t)
	}
	if _, err := query(t, dsn, "SELECT 1"); err != nil {
		t.Fatal(err)
	}
}

// TestHold is the process of the next test.
func TestHold(t *testing.T) {
	if os.Getenv(envHold) == "" {
		return
	}
	fmt.Println("\nsocket", pgtest.New(t).Socket())
	<-t.Context().Done()
}

func TestAServerEndsWithItsProcess(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, "-test.run=^TestHold$")
	cmd.Env = append(os.Environ(), envHold+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	socket := ""
	for lines := bufio.NewScanner(out); socket == "" && lines.Scan(); {
		_, _ = fmt.Sscanf(lines.Text(), "socket %s", &socket) // other lines are the test's own talk
	}
	if _, err := os.Stat(socket); err != nil {
		t.Fatalf("the process started no server: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for _, err := os.Stat(filepath.Dir(socket)); err == nil; _, err = os.Stat(filepath.Dir(socket)) {
		select {
		case <-t.Context().Done():
			t.Fatal("the server's directory is still there")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

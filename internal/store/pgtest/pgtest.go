// Package pgtest gives tests a real PostgreSQL.
//
// Database returns the connection string of a fresh, empty database on a server that all tests of one test binary
// share; New starts a server of the test's own, to be stopped and killed at will. The servers run from the installed
// programs (initdb, postgres), in a directory of their own, and listen on a socket in it and nowhere else.
//
// A server ends with the test process, however that ends, and its directory is removed: a small shell waits for the
// end of a pipe that the test process holds open, and nothing but the kernel is needed to close that.
package pgtest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// patience bounds each thing that a server is waited for.
const patience = time.Minute

// shared is the test binary's own server; it ends with the process.
var shared = sync.OnceValues(func() (*Server, error) {
	s, err := create()
	if err != nil {
		return nil, err
	}
	return s, s.start()
})

// Database returns the connection string of a fresh database, which is dropped when the test ends.
func Database(t testing.TB) string {
	t.Helper()
	s, err := shared()
	if err != nil {
		t.Fatalf("no PostgreSQL for the tests: %v", err)
	}
	return s.Database(t)
}

// Lasting makes a database of that name that lasts as long as this process, and returns its connection string.
func Lasting(name string) (string, error) {
	s, err := shared()
	if err != nil {
		return "", fmt.Errorf("no PostgreSQL for the tests: %w", err)
	}
	return s.dsn(name), s.exec("CREATE DATABASE " + name + " TEMPLATE template0")
}

// Transactions is how many the shared server has ended in one database. A connection tells of its own once it has been idle
// for ten seconds, so that is waited for.
func Transactions(database string) (n int64, err error) {
	s, err := shared()
	if err != nil {
		return 0, err
	}
	<-time.After(11 * time.Second)
	conn, err := pgx.Connect(context.Background(), s.dsn("postgres"))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, conn.Close(context.Background())) }()
	err = conn.QueryRow(context.Background(), "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = $1", database).Scan(&n)
	return n, err
}

// Server is one PostgreSQL server. Its methods are for one goroutine at a time.
type Server struct {
	dir   string
	tools tools
	stdin io.WriteCloser
	reply *bufio.Reader
	shell *exec.Cmd
	dbs   atomic.Int64
}

// New starts a server for this test alone.
func New(t testing.TB) *Server {
	t.Helper()
	s, err := create()
	if err == nil {
		t.Cleanup(s.end)
		err = s.start()
	}
	if err != nil {
		t.Fatalf("no PostgreSQL for this test: %v", err)
	}
	return s
}

// Database returns the connection string of a fresh database, which is dropped when the test ends if the server
// runs then.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("test_%d", s.dbs.Add(1))
	if err := s.exec("CREATE DATABASE " + name + " TEMPLATE template0"); err != nil {
		t.Fatalf("no database for this test: %v", err)
	}
	t.Cleanup(func() {
		// A server that the test has stopped takes the database with it.
		_ = s.exec("DROP DATABASE " + name + " WITH (FORCE)")
	})
	return s.dsn(name)
}

// Kill kills the server by SIGKILL, with no chance to say goodbye or to write anything down.
func (s *Server) Kill(t testing.TB) { t.Helper(); s.tell(t, "KILL") }

// Stop shuts the server down as an operator would: transactions are rolled back, clients told.
func (s *Server) Stop(t testing.TB) { t.Helper(); s.tell(t, "INT") }

// Start starts the server again after Kill or Stop, and waits until it answers.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
}

func (s *Server) tell(t testing.TB, signal string) {
	t.Helper()
	if err := s.order(signal); err != nil {
		t.Fatalf("the PostgreSQL server can't be sent %s: %v", signal, err)
	}
}

// Socket is the path of the socket that the server listens on.
func (s *Server) Socket() string { return filepath.Join(s.dir, ".s.PGSQL.5432") }

func (s *Server) dsn(database string) string {
	u := url.URL{Scheme: "postgres", User: url.User("postgres"), Path: "/" + database,
		RawQuery: "sslmode=disable&host=" + url.PathEscape(s.dir)}
	return u.String()
}

// exec runs one statement.
func (s *Server) exec(sql string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.dsn("postgres"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	_, err = conn.Exec(ctx, sql)
	return err
}

// create makes a data directory and the shell that keeps the server.
func create() (*Server, error) {
	tools, err := findTools()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "holdpoint-postgres-")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, tools: tools}
	if err := s.initialise(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

func (s *Server) initialise() error {
	if err := s.tools.own(s.dir); err != nil {
		return err
	}
	init := exec.Command(s.tools.initdb, "-D", s.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	init.Dir, init.SysProcAttr = s.dir, s.tools.attr()
	if out, err := init.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return s.keep()
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }
func (s *Server) log() string  { return filepath.Join(s.dir, "server.log") }

// keeper starts and signals the server as it is told on its standard input, and answers each order with a line. At
// the end of its input it ends the server and removes the directory. The server is its child, so that a signal
// never reaches another process that has got its number.
const keeper = `
dir=$1 log=$2 server=
shift 2
while read -r order; do
  case $order in
    START) [ -z "$server" ] || wait "$server"; "$@" >>"$log" 2>&1 & server=$! ;;
    *) kill -"$order" "$server"; wait "$server" ;;
  esac
  echo done
done
[ -z "$server" ] || { kill -QUIT "$server"; wait "$server"; }
cd / && rm -rf "$dir"
`

// keep starts the keeper. What is left undone for speed (fsync) only a crash of the whole machine could tell.
func (s *Server) keep() (err error) {
	s.shell = exec.Command("sh", "-c", keeper, "sh", s.dir, s.log(), s.tools.postgres, "-D", s.data(), "-k", s.dir,
		"-c", "listen_addresses=", "-c", "fsync=off", "-c", "full_page_writes=off", "-c", "max_connections=300",
		"-c", "shared_buffers=32MB", "-c", "log_min_messages=warning", "-c", "autovacuum_naptime=10min")
	s.shell.Dir, s.shell.SysProcAttr = s.dir, s.tools.attr()
	s.shell.SysProcAttr.Setpgid = true // a Ctrl-C is for the tests
	if s.stdin, err = s.shell.StdinPipe(); err != nil {
		return err
	}
	out, err := s.shell.StdoutPipe()
	if err != nil {
		return err
	}
	s.reply = bufio.NewReader(out)
	return s.shell.Start()
}

func (s *Server) order(what string) error {
	if _, err := io.WriteString(s.stdin, what+"\n"); err != nil {
		return err
	}
	_, err := s.reply.ReadString('\n')
	return err
}

// start starts the server until it answers. After a kill the first attempts may fail: processes of the killed
// server still hold its shared memory for a moment.
func (s *Server) start() error {
	if err := s.order("START"); err != nil {
		return fmt.Errorf("the PostgreSQL server was not started: %w", err)
	}
	read := len(s.logged())
	for began := time.Now(); ; {
		err := s.exec("SELECT 1")
		if err == nil {
			return nil
		}
		if time.Since(began) > patience {
			return fmt.Errorf("the PostgreSQL server does not answer: %w\n%s", err, s.logged())
		}
		log := s.logged()
		if bytes.Contains(log[min(read, len(log)):], []byte("FATAL:  pre-existing shared memory block")) {
			read = len(log)
			if err := s.order("START"); err != nil {
				return err
			}
		}
		<-time.After(20 * time.Millisecond)
	}
}

func (s *Server) logged() []byte {
	b, err := os.ReadFile(s.log())
	if err != nil {
		return nil // not written yet
	}
	return b
}

// end stops the server and removes what it left.
func (s *Server) end() {
	// What goes wrong here leaves files in a temporary directory and harms no test.
	_ = s.stdin.Close()
	_ = s.shell.Wait()
}

// Crash kills one process of the server by SIGKILL. The server then ends every session, recovers, and goes on.
func (s *Server) Crash(t testing.TB, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatalf("process %d of the PostgreSQL server can't be killed: %v", pid, err)
	}
}

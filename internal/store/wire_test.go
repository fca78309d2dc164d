package store_test

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// wire stands between a store and its server, and cuts connections where a test wants it.
type wire struct {
	listener net.Listener
	target   atomic.Pointer[string] // the socket to connect to; nil refuses every connection
	// onQuery is called for each statement before it is passed on; what it returns happens to the connection.
	onQuery atomic.Pointer[func(sql string) cut]
	parked  chan net.Conn // the server's ends of connections that were cut by cutKeep
}

// cut is what happens to a connection at a statement.
type cut int

const (
	pass        cut = iota
	cutBefore       // the statement never arrives, and the server sees the connection end
	cutKeep         // the statement never arrives, and the server does not notice yet
	cutAfter        // the statement is carried out, and its answer never arrives
	cutAfterAll     // the same, and nobody can connect again
)

// newWire returns a wire to a database, and the connection string through it.
func newWire(t *testing.T, dsn string) (*wire, string) {
	t.Helper()
	before, host, _ := strings.Cut(dsn, "host=")
	host, err := url.PathUnescape(host)
	no(t, err)
	socket, dir := host+"/.s.PGSQL.5432", t.TempDir()
	w := &wire{parked: make(chan net.Conn, 100)}
	w.target.Store(&socket)
	l, err := net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432"))
	no(t, err)
	w.listener = l
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go w.serve(c)
		}
	}()
	return w, before + "host=" + dir
}

// at has f decide about each statement.
func (w *wire) at(f func(sql string) cut) { w.onQuery.Store(&f) }

func (w *wire) serve(client net.Conn) {
	defer func() { _ = client.Close() }()
	target := w.target.Load()
	if target == nil {
		return
	}
	server, err := net.Dial("unix", *target)
	if err != nil {
		return
	}
	keep := false
	defer func() {
		if !keep {
			_ = server.Close()
		}
	}()
	var muted atomic.Bool
	answered := make(chan struct{}, 1)
	go func() {
		defer func() { _ = client.Close() }()
		for buf := make([]byte, 64<<10); ; {
			n, err := server.Read(buf)
			if n > 0 && muted.Load() {
				select {
				case answered <- struct{}{}:
				default:
				}
				continue
			}
			if n > 0 {
				if _, err := client.Write(buf[:n]); err != nil {
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	in := &messages{r: bufio.NewReader(client), prepared: map[string]string{}}
	for {
		message, sql, err := in.next()
		if err != nil {
			return
		}
		what := pass
		if f := w.onQuery.Load(); f != nil && sql != "" {
			what = (*f)(sql)
		}
		switch what {
		case cutBefore:
			return
		case cutKeep:
			keep = true
			w.parked <- server
			return
		case cutAfterAll:
			w.target.Store(nil)
		case pass, cutAfter:
		}
		muted.Store(what != pass)
		if _, err := server.Write(message); err != nil {
			return
		}
		if what != pass {
			<-answered
			return
		}
	}
}

// messages reads what a client of PostgreSQL's protocol sends.
type messages struct {
	r        *bufio.Reader
	started  bool
	prepared map[string]string // statements by name
}

// next returns what is sent next: one message or, for the execution of a prepared statement, all of it. sql is the
// statement that is carried out, if one is.
func (m *messages) next() (message []byte, sql string, err error) {
	message, body, err := m.read()
	if err != nil || len(message) == len(body) {
		return message, "", err
	}
	switch fields := strings.Split(string(body), "\x00"); message[0] {
	case 'Q':
		sql = fields[0]
	case 'P': // name, statement
		m.prepared[fields[0]] = fields[1]
	case 'B': // portal, name
		sql = m.prepared[fields[1]]
		for kind := byte('B'); kind != 'S'; {
			more, _, err := m.read()
			if err != nil {
				return nil, "", err
			}
			kind = more[0]
			message = append(message, more...)
		}
	}
	return message, sql, nil
}

// read reads one message: a letter, the length without the letter, and the body. The first has no letter.
func (m *messages) read() (message, body []byte, err error) {
	head := 5
	if !m.started {
		head = 4
	}
	m.started = true
	message = make([]byte, head)
	if _, err := io.ReadFull(m.r, message); err != nil {
		return nil, nil, err
	}
	body = make([]byte, binary.BigEndian.Uint32(message[head-4:])-4)
	if _, err := io.ReadFull(m.r, body); err != nil {
		return nil, nil, err
	}
	if head == 4 {
		return append(message, body...), append(message, body...), nil
	}
	return append(message, body...), body, nil
}

// Package wiretest has what the test servers of model providers share: a local server that keeps what it was
// asked, and streams of events that are cut or held on purpose. It needs no testing.TB, so that such servers
// also run under a binary that is tested from outside.
//
// Start at Server and Stream.
package wiretest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// MaxRequestBytes is how much of a request's body a server reads.
const MaxRequestBytes = 32 << 20

// Server is a running server that keeps requests, which are R.
type Server[R any] struct {
	http  *httptest.Server
	done  chan struct{}
	close sync.Once

	mu       sync.Mutex
	requests []R
}

// New returns a server that is to be started.
func New[R any]() *Server[R] {
	return &Server[R]{done: make(chan struct{})}
}

// Start starts the server on a free port of the loopback interface.
func (s *Server[R]) Start(handler http.HandlerFunc) {
	s.http = httptest.NewUnstartedServer(handler)
	s.http.Start()
}

// Address is the server's URL without a path.
func (s *Server[R]) Address() string { return s.http.URL }

// Requests are all requests that were kept, in the order they came.
func (s *Server[R]) Requests() []R {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Keep keeps a request, made with its number, which counts from 0.
func (s *Server[R]) Keep(numbered func(n int) R) R {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := numbered(len(s.requests))
	s.requests = append(s.requests, r)
	return r
}

// Done is closed when the server is.
func (s *Server[R]) Done() <-chan struct{} { return s.done }

// Close ends the server, replies that are held included. It may be called more than once.
func (s *Server[R]) Close() {
	s.close.Do(func() {
		close(s.done)
		s.http.CloseClientConnections()
		s.http.Close()
	})
}

// Cut ends a stream after so many events, or after so many bytes of it, whichever is set. The connection breaks
// unless Clean is set: then the stream ends as if it were whole.
type Cut struct {
	Events int
	Bytes  int
	Clean  bool
}

// Stream is an event stream to play.
type Stream struct {
	Events []string // each whole, with the empty line that ends it
	Cut    *Cut
	// Hold stops the stream after HoldAfter events (0: before the answer's head) until the channel is closed,
	// the client goes or Done is closed.
	Hold      <-chan struct{}
	HoldAfter int
	Done      <-chan struct{}
}

// Wait holds an answer before its head, where that is asked for, and reports whether to go on.
func (s Stream) Wait(r *http.Request) bool { return s.HoldAfter != 0 || s.wait(r) }

// Play sends the stream. A type that the answer has already is kept.
func (s Stream) Play(w http.ResponseWriter, r *http.Request) {
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "text/event-stream")
	}
	w.WriteHeader(http.StatusOK)
	flush(w)
	sent := 0
	for i, event := range s.Events {
		if i > 0 && i == s.HoldAfter && !s.wait(r) {
			return
		}
		left, cut := s.Cut.left(i, sent, event)
		if !write(w, left) {
			return
		}
		if cut {
			s.Cut.end()
			return
		}
		sent += len(event)
	}
}

// left is what a cut leaves of the event with that number, after so many bytes.
func (c *Cut) left(number, sent int, event string) (string, bool) {
	switch {
	case c == nil:
		return event, false
	case c.Events > 0 && number == c.Events:
		return "", true
	case c.Bytes > 0 && sent+len(event) > c.Bytes:
		return event[:c.Bytes-sent], true
	}
	return event, false
}

// end breaks the connection, unless the cut is a clean one.
func (c *Cut) end() {
	if !c.Clean {
		panic(http.ErrAbortHandler) // net/http's own way of saying so; it does not reach the test
	}
}

func (s Stream) wait(r *http.Request) bool {
	if s.Hold == nil {
		return true
	}
	select {
	case <-s.Hold:
		return true
	case <-r.Context().Done():
	case <-s.Done:
	}
	return false
}

func write(w http.ResponseWriter, data string) bool {
	_, err := w.Write([]byte(data))
	flush(w)
	return err == nil
}

func flush(w http.ResponseWriter) {
	// A writer that can't flush, or a client that has gone: the next write shows it.
	_ = http.NewResponseController(w).Flush()
}

// pieceLen is how long the pieces of a stream are, in characters. It is short so that tests see several.
const pieceLen = 5

// Pieces cuts text into the pieces that a stream sends.
func Pieces(s string) []string {
	var out []string
	for s != "" {
		n := 0
		for i := 0; i < pieceLen && n < len(s); i++ {
			_, width := utf8.DecodeRuneInString(s[n:])
			n += width
		}
		out, s = append(out, s[:n]), s[n:]
	}
	return out
}

// WriteJSON answers with JSON.
func WriteJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A client that has gone needs no answer.
	_ = json.NewEncoder(w).Encode(value)
}

// Encode returns a value as JSON on one line.
func Encode(value any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil { // maps of text and numbers always encode
		return "{}"
	}
	return strings.TrimSpace(b.String())
}

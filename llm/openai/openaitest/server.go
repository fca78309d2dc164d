// Package openaitest is a server that speaks OpenAI's chat completions on a local port, for tests of an adapter
// or of a whole application. A handler scripts the replies: text, tool calls, errors, streams that are cut or
// held. It needs no testing.TB, so it also runs under a binary that is tested from outside.
//
// Like the real endpoint it answers 400 to a request that breaks the rules of pairing tool calls and tool
// messages, without asking the handler; Violations lists such requests, so that a test of an application can
// end by checking that there were none.
//
// Start at Start.
package openaitest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
)

const maxRequestBytes = 32 << 20

// Server is a running server.
type Server struct {
	http    *httptest.Server
	handler func(Request) Reply
	done    chan struct{}
	close   sync.Once

	mu       sync.Mutex
	requests []Request
}

// Start starts a server on a free port of the loopback interface. The handler is called for every request in
// order, and concurrently where requests are.
func Start(handler func(Request) Reply) *Server {
	s := &Server{handler: handler, done: make(chan struct{})}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

// URL is the base URL to configure: the address with /v1.
func (s *Server) URL() string { return s.http.URL + "/v1" }

// Requests are all requests that could be decoded, in the order they came, refused ones included.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Violations are what was wrong with requests that broke the rules, in order.
func (s *Server) Violations() []string {
	var out []string
	for _, r := range s.Requests() {
		if r.Violation != "" {
			out = append(out, r.Violation)
		}
	}
	return out
}

// Close ends the server, replies that are held included. It may be called more than once.
func (s *Server) Close() {
	s.close.Do(func() {
		close(s.done)
		s.http.CloseClientConnections()
		s.http.Close()
	})
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/chat/completions" {
		refuse(w, http.StatusNotFound, "Invalid URL ("+r.Method+" "+r.URL.Path+")", "")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBytes))
	if err != nil {
		refuse(w, http.StatusBadRequest, "The body could not be read: "+err.Error(), "")
		return
	}
	req, err := decode(body)
	if err != nil {
		refuse(w, http.StatusBadRequest, "We could not parse the JSON body of your request: "+err.Error(), "")
		return
	}
	req.Header = r.Header.Clone()
	violation := check(req)
	if violation != nil {
		req.Violation = violation.message
	}
	req = s.record(req)
	if violation != nil {
		refuse(w, http.StatusBadRequest, violation.message, violation.param)
		return
	}
	player{w: w, r: r, done: s.done, stream: req.Stream, model: req.Model}.play(s.handler(req))
}

// record keeps the request and gives it its number.
func (s *Server) record(req Request) Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	req.Number = len(s.requests)
	s.requests = append(s.requests, req)
	return req
}

// refuse answers as the real endpoint does to a request it does not take.
func refuse(w http.ResponseWriter, status int, message, param string) {
	body := map[string]any{"message": message, "type": "invalid_request_error", "param": nil, "code": nil}
	if param != "" {
		body["param"] = param
	}
	writeJSON(w, status, map[string]any{"error": body})
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A client that has gone needs no answer.
	_ = json.NewEncoder(w).Encode(value)
}

// Text is a handler for tests that need nothing but an answer.
func Text(text string) func(Request) Reply {
	return func(Request) Reply { return Reply{Text: text} }
}

// Script is a handler that gives the replies in order and goes on with a text that says it has run out.
func Script(replies ...Reply) func(Request) Reply {
	return func(r Request) Reply {
		if r.Number < len(replies) {
			return replies[r.Number]
		}
		return Reply{Text: "the script of this test server has no reply left"}
	}
}

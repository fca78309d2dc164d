// Package anthropictest is a server that speaks Anthropic's Messages API on a local port, for tests of an
// adapter or of a whole application. A handler scripts the replies: text, tool calls, refusals, errors, streams
// that are cut or held. It needs no testing.TB, so it also runs under a binary that is tested from outside.
//
// Like the real endpoint it answers 400 to a request that breaks the rules of pairing tool_use and tool_result
// blocks, or any other rule that check.go has, without asking the handler; Violations lists such requests, so
// that a test of an application can end by checking that there were none.
//
// Start at Start.
package anthropictest

import (
	"io"
	"net/http"

	"holdpoint/llm/wire/wiretest"
)

// Server is a running server.
type Server struct {
	kept    *wiretest.Server[Request]
	handler func(Request) Reply
}

// Start starts a server on a free port of the loopback interface. The handler is called for every request in
// order, and concurrently where requests are.
func Start(handler func(Request) Reply) *Server {
	s := &Server{kept: wiretest.New[Request](), handler: handler}
	s.kept.Start(s.serve)
	return s
}

// URL is the base URL to configure: the address, to which clients add /v1/messages.
func (s *Server) URL() string { return s.kept.Address() }

// Requests are all requests that could be decoded, in the order they came, refused ones included.
func (s *Server) Requests() []Request { return s.kept.Requests() }

// Close ends the server, replies that are held included. It may be called more than once.
func (s *Server) Close() { s.kept.Close() }

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

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/messages" {
		refuse(w, http.StatusNotFound, "", "Not found: "+r.Method+" "+r.URL.Path)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, wiretest.MaxRequestBytes))
	if err != nil {
		refuse(w, http.StatusRequestEntityTooLarge, "", "Request exceeds the maximum size")
		return
	}
	req, err := decode(body)
	if err != nil {
		refuse(w, http.StatusBadRequest, "", "The request body is not valid: "+err.Error())
		return
	}
	req.Header = r.Header.Clone()
	req.Violation = check(req)
	req = s.kept.Keep(func(n int) Request {
		req.Number = n
		return req
	})
	if req.Violation != "" {
		refuse(w, http.StatusBadRequest, "", req.Violation)
		return
	}
	s.play(w, r, req, s.handler(req))
}

// play gives the reply to one request.
func (s *Server) play(w http.ResponseWriter, r *http.Request, req Request, reply Reply) {
	stream := wiretest.Stream{Events: reply.events(req.Model), Cut: reply.Cut, Hold: reply.Hold, HoldAfter: reply.HoldAfter, Done: s.kept.Done()}
	if !stream.Wait(r) {
		return
	}
	for key, values := range reply.Header {
		w.Header()[http.CanonicalHeaderKey(key)] = values
	}
	switch {
	case reply.Status >= 400:
		refuse(w, reply.Status, reply.ErrorType, reply.Message)
	case !req.Stream:
		wiretest.WriteJSON(w, http.StatusOK, reply.whole(req.Model))
	default:
		stream.Play(w, r)
	}
}

// errorTypes are what the API calls its errors.
var errorTypes = map[int]string{
	400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error",
	404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error", 500: "api_error",
	504: "timeout_error", 529: "overloaded_error",
}

// refuse answers with an error; its type is the status's where none is given.
func refuse(w http.ResponseWriter, status int, errorType, message string) {
	if errorType == "" {
		errorType = errorTypes[status]
	}
	if errorType == "" {
		errorType = "api_error"
	}
	wiretest.WriteJSON(w, status, failure(errorType, message))
}

func failure(errorType, message string) object {
	return object{"type": "error", "error": object{"type": errorType, "message": message, "details": nil}, "request_id": "req_test"}
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

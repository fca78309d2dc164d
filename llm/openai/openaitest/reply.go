package openaitest

import (
	"encoding/json"
	"net/http"
	"strings"
	"unicode/utf8"
)

// Reply scripts one answer. The zero value is an empty text that ends well.
type Reply struct {
	// Text is streamed in pieces; so is Refusal, in the field that OpenAI has for it.
	Text, Refusal string
	// Calls are streamed with their arguments in pieces: one after the other, or, with Interleave, a piece of
	// each in turn.
	Calls      []Call
	Interleave bool
	// Finish is the finish reason. Defaults to tool_calls where there are calls, else stop. "none" leaves it out.
	Finish string
	// Usage is reported where it is not zero.
	Usage Usage

	// Status, when 400 or above, makes the reply an error with that status and Message. Header is set in any case.
	Status  int
	Message string
	Header  http.Header

	// EmptyChoices makes every chunk one without choices.
	EmptyChoices bool
	// Raw, when set, is sent in place of all chunks: each element as the data of one event.
	Raw []string
	// NoDone leaves out the closing [DONE].
	NoDone bool
	// Cut ends the stream early.
	Cut *Cut
	// Hold stops the stream after HoldAfter chunks (0: before the answer's head) until the channel is closed, the
	// client goes or the server is closed.
	Hold      <-chan struct{}
	HoldAfter int
}

// Usage counts tokens.
type Usage struct{ Input, Output int64 }

// Cut ends a stream after so many events, or after so many bytes of it, whichever is set. The connection breaks
// unless Clean is set: then the stream ends as if it were whole.
type Cut struct {
	Events int
	Bytes  int
	Clean  bool
}

// pieceLen is how long the pieces of a stream are, in characters. It is short so that tests see several.
const pieceLen = 5

func pieces(s string) []string {
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

type object = map[string]any

// events are the data of the reply's events, [DONE] included.
func (r Reply) events(model string) []string {
	if r.Raw != nil {
		return r.Raw
	}
	out := []string{r.chunk(model, object{"role": "assistant", "content": ""}, nil)}
	for _, p := range pieces(r.Text) {
		out = append(out, r.chunk(model, object{"content": p}, nil))
	}
	for _, p := range pieces(r.Refusal) {
		out = append(out, r.chunk(model, object{"refusal": p}, nil))
	}
	for _, p := range r.callPieces() {
		out = append(out, r.chunk(model, object{"tool_calls": []object{p}}, nil))
	}
	if finish := r.finish(); finish != "" {
		out = append(out, r.chunk(model, object{}, finish))
	}
	if r.Usage != (Usage{}) {
		usage := r.base(model, "chat.completion.chunk")
		usage["choices"], usage["usage"] = []any{}, r.usage()
		out = append(out, encode(usage))
	}
	if !r.NoDone {
		out = append(out, "[DONE]")
	}
	return out
}

// callPieces are the pieces of the calls in the order they are sent.
func (r Reply) callPieces() []object {
	perCall := make([][]object, len(r.Calls))
	rounds := 0
	for i, c := range r.Calls {
		perCall[i] = []object{{"index": i, "id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": ""}}}
		for _, p := range pieces(c.Args) {
			perCall[i] = append(perCall[i], object{"index": i, "function": object{"arguments": p}})
		}
		rounds = max(rounds, len(perCall[i]))
	}
	var out []object
	if !r.Interleave {
		for _, p := range perCall {
			out = append(out, p...)
		}
		return out
	}
	for round := range rounds {
		for _, p := range perCall {
			if round < len(p) {
				out = append(out, p[round])
			}
		}
	}
	return out
}

func (r Reply) finish() string {
	switch {
	case r.Finish == "none":
		return ""
	case r.Finish != "":
		return r.Finish
	case len(r.Calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

func (r Reply) base(model, kind string) object {
	return object{"id": "chatcmpl-test", "object": kind, "created": 1700000000, "model": model}
}

func (r Reply) chunk(model string, delta object, finish any) string {
	c := r.base(model, "chat.completion.chunk")
	c["choices"] = []object{{"index": 0, "delta": delta, "finish_reason": finish}}
	if r.EmptyChoices {
		c["choices"] = []object{}
	}
	return encode(c)
}

func (r Reply) usage() object {
	return object{"prompt_tokens": r.Usage.Input, "completion_tokens": r.Usage.Output, "total_tokens": r.Usage.Input + r.Usage.Output}
}

// completion is the reply to a request that did not ask for a stream.
func (r Reply) completion(model string) object {
	message := object{"role": "assistant", "content": r.Text}
	if r.Refusal != "" {
		message["refusal"] = r.Refusal
	}
	var calls []object
	for _, c := range r.Calls {
		calls = append(calls, object{"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": c.Args}})
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	out := r.base(model, "chat.completion")
	out["choices"] = []object{{"index": 0, "message": message, "finish_reason": r.finish()}}
	if r.EmptyChoices {
		out["choices"] = []object{}
	}
	out["usage"] = r.usage()
	return out
}

func encode(value any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil { // maps of text and numbers always encode
		return "{}"
	}
	return strings.TrimSpace(b.String())
}

// player plays a reply to one request.
type player struct {
	w      http.ResponseWriter
	r      *http.Request
	done   <-chan struct{}
	stream bool
	model  string
	sent   int // bytes of the stream
}

func (p player) play(reply Reply) {
	if reply.HoldAfter == 0 && !p.wait(reply.Hold) {
		return
	}
	for key, values := range reply.Header {
		p.w.Header()[http.CanonicalHeaderKey(key)] = values
	}
	switch {
	case reply.Status >= 400:
		writeJSON(p.w, reply.Status, object{"error": object{"message": reply.Message, "type": "test_error", "param": nil, "code": nil}})
	case !p.stream:
		writeJSON(p.w, http.StatusOK, reply.completion(p.model))
	default:
		p.events(reply)
	}
}

func (p player) events(reply Reply) {
	if p.w.Header().Get("Content-Type") == "" {
		p.w.Header().Set("Content-Type", "text/event-stream")
	}
	p.w.WriteHeader(http.StatusOK)
	p.flush()
	for i, event := range reply.events(p.model) {
		if i > 0 && i == reply.HoldAfter && !p.wait(reply.Hold) {
			return
		}
		data := "data: " + event + "\n\n"
		if cut := reply.Cut; cut != nil {
			if cut.Events > 0 && i == cut.Events {
				p.end(cut)
				return
			}
			if cut.Bytes > 0 && p.sent+len(data) > cut.Bytes {
				p.write(data[:cut.Bytes-p.sent])
				p.end(cut)
				return
			}
		}
		if !p.write(data) {
			return
		}
		p.sent += len(data)
	}
}

// end breaks the connection, unless the cut is a clean one.
func (p player) end(cut *Cut) {
	if !cut.Clean {
		panic(http.ErrAbortHandler) // net/http's own way of saying so; it does not reach the test
	}
}

func (p player) write(data string) bool {
	_, err := p.w.Write([]byte(data))
	p.flush()
	return err == nil
}

func (p player) flush() {
	// A writer that can't flush, or a client that has gone: the next write shows it.
	_ = http.NewResponseController(p.w).Flush()
}

// wait reports whether the reply is to go on.
func (p player) wait(hold <-chan struct{}) bool {
	if hold == nil {
		return true
	}
	select {
	case <-hold:
		return true
	case <-p.r.Context().Done():
	case <-p.done:
	}
	return false
}

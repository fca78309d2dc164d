package openaitest

import (
	"net/http"

	"holdpoint/llm/wire/wiretest"
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
type Cut = wiretest.Cut

type object = map[string]any

// events are the reply's events as they go over the wire, [DONE] included.
func (r Reply) events(model string) []string {
	var out []string
	for _, data := range r.data(model) {
		out = append(out, "data: "+data+"\n\n")
	}
	return out
}

func (r Reply) data(model string) []string {
	if r.Raw != nil {
		return r.Raw
	}
	out := []string{r.chunk(model, object{"role": "assistant", "content": ""}, nil)}
	for _, p := range wiretest.Pieces(r.Text) {
		out = append(out, r.chunk(model, object{"content": p}, nil))
	}
	for _, p := range wiretest.Pieces(r.Refusal) {
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
		out = append(out, wiretest.Encode(usage))
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
		for _, p := range wiretest.Pieces(c.Args) {
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
	return wiretest.Encode(c)
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

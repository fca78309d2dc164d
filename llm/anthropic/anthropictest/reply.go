package anthropictest

import (
	"encoding/json"
	"net/http"

	"holdpoint/llm/wire/wiretest"
)

// Reply scripts one answer. The zero value is an answer without content that ends well.
type Reply struct {
	// Thinking is streamed before the text, and Text before the calls, all in pieces and each as a block.
	Thinking, Text string
	// Calls are streamed with their arguments in pieces.
	Calls []Call
	// InputAtOnce sends the arguments of the calls, which must be JSON, with the start of their blocks, as some
	// gateways do.
	InputAtOnce bool
	// Stop is the stop reason. Defaults to tool_use where there are calls, else end_turn. "none" leaves it out.
	Stop string
	// Explanation is what is said of a refusal, beside the content.
	Explanation string
	// Usage is reported as the API does: what was read at the start, what was written at the end.
	Usage Usage

	// Status, when 400 or above, makes the reply an error with that status and Message, of ErrorType where that
	// is set. Header is set in any case.
	Status             int
	ErrorType, Message string
	Header             http.Header

	// Failure breaks the stream off with an error event of that type, in place of the end of the message.
	Failure string
	// Pings sends a ping after every event.
	Pings bool
	// Raw, when set, is sent in place of all events: each element as the data of one event, which is named for
	// its type.
	Raw []string
	// NoEnd leaves out the closing message_stop.
	NoEnd bool
	// Cut ends the stream early.
	Cut *Cut
	// Hold stops the stream after HoldAfter events (0: before the answer's head) until the channel is closed, the
	// client goes or the server is closed.
	Hold      <-chan struct{}
	HoldAfter int
}

// Call is a tool call, in a request or in a Reply.
type Call struct {
	ID   string
	Name string
	Args string // as text; it need not be JSON
}

// Usage counts tokens. Input does not include what the prompt cache has to do with.
type Usage struct{ Input, CacheRead, CacheWrite, Output int64 }

// Cut ends a stream after so many events, or after so many bytes of it, whichever is set. The connection breaks
// unless Clean is set: then the stream ends as if it were whole.
type Cut = wiretest.Cut

type object = map[string]any

// events are the reply's events as they go over the wire.
func (r Reply) events(model string) []string {
	raw := r.Raw
	if raw == nil {
		for _, event := range r.objects(model) {
			raw = append(raw, wiretest.Encode(event))
			if r.Pings {
				raw = append(raw, `{"type":"ping"}`)
			}
		}
	}
	var out []string
	for _, data := range raw {
		var named struct{ Type string }
		name := "message"
		if json.Unmarshal([]byte(data), &named) == nil && named.Type != "" {
			name = named.Type
		}
		out = append(out, "event: "+name+"\ndata: "+data+"\n\n")
	}
	return out
}

func (r Reply) objects(model string) []object {
	head := r.message(model)
	head["content"], head["stop_reason"], head["stop_details"] = []object{}, nil, nil
	head["usage"].(object)["output_tokens"] = min(r.Usage.Output, 1)
	out := []object{{"type": "message_start", "message": head}}
	for i, b := range r.blocks() {
		out = append(out, b.events(i)...)
	}
	if r.Failure != "" {
		return append(out, failure(r.Failure, "it broke"))
	}
	if stop := r.stop(); stop != "" {
		delta := object{"stop_reason": stop, "stop_sequence": nil, "stop_details": r.details()}
		out = append(out, object{"type": "message_delta", "delta": delta, "usage": object{"output_tokens": r.Usage.Output}})
	}
	if !r.NoEnd {
		out = append(out, object{"type": "message_stop"})
	}
	return out
}

// block is a content block: as it starts, as it is in the end, and the pieces in between.
type block struct {
	start, whole object
	deltas       []object
}

func (b block) events(index int) []object {
	out := []object{{"type": "content_block_start", "index": index, "content_block": b.start}}
	for _, d := range b.deltas {
		out = append(out, object{"type": "content_block_delta", "index": index, "delta": d})
	}
	return append(out, object{"type": "content_block_stop", "index": index})
}

func (r Reply) blocks() []block {
	var out []block
	if r.Thinking != "" {
		b := block{start: object{"type": "thinking", "thinking": "", "signature": ""}, whole: object{"type": "thinking", "thinking": r.Thinking, "signature": "s"}}
		for _, p := range wiretest.Pieces(r.Thinking) {
			b.deltas = append(b.deltas, object{"type": "thinking_delta", "thinking": p})
		}
		b.deltas = append(b.deltas, object{"type": "signature_delta", "signature": "s"})
		out = append(out, b)
	}
	if r.Text != "" {
		b := block{start: object{"type": "text", "text": ""}, whole: object{"type": "text", "text": r.Text}}
		for _, p := range wiretest.Pieces(r.Text) {
			b.deltas = append(b.deltas, object{"type": "text_delta", "text": p})
		}
		out = append(out, b)
	}
	for _, c := range r.Calls {
		out = append(out, r.call(c))
	}
	return out
}

func (r Reply) call(c Call) block {
	b := block{start: object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": object{}}, whole: object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": object{}}}
	if json.Valid([]byte(c.Args)) {
		b.whole["input"] = json.RawMessage(c.Args)
	}
	if r.InputAtOnce {
		b.start = b.whole
		return b
	}
	b.deltas = []object{{"type": "input_json_delta", "partial_json": ""}} // the API begins with an empty piece
	for _, p := range wiretest.Pieces(c.Args) {
		b.deltas = append(b.deltas, object{"type": "input_json_delta", "partial_json": p})
	}
	return b
}

func (r Reply) stop() string {
	switch {
	case r.Stop == "none":
		return ""
	case r.Stop != "":
		return r.Stop
	case len(r.Calls) > 0:
		return "tool_use"
	}
	return "end_turn"
}

func (r Reply) details() any {
	if r.Explanation == "" {
		return nil
	}
	return object{"type": "refusal", "category": nil, "explanation": r.Explanation}
}

func (r Reply) message(model string) object {
	return object{
		"id": "msg_test", "type": "message", "role": "assistant", "model": model,
		"stop_reason": r.stop(), "stop_sequence": nil, "stop_details": r.details(),
		"usage": object{
			"input_tokens": r.Usage.Input, "cache_read_input_tokens": r.Usage.CacheRead,
			"cache_creation_input_tokens": r.Usage.CacheWrite, "output_tokens": r.Usage.Output,
		},
	}
}

// whole is the reply to a request that did not ask for a stream.
func (r Reply) whole(model string) object {
	out := r.message(model)
	content := []object{}
	for _, b := range r.blocks() {
		content = append(content, b.whole)
	}
	out["content"] = content
	return out
}

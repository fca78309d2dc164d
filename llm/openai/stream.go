package openai

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/openai/openai-go/v3"

	"holdpoint/llm"
)

// accumulator puts a reply together from its chunks. It follows the first choice only; the adapter asks for one.
type accumulator struct {
	delta   func(string)
	text    strings.Builder
	refusal bool
	calls   []*partialCall
	current map[int64]*partialCall // by the provider's index: which call a piece belongs to
	usage   llm.Usage
	chosen  bool   // a choice came
	finish  string // why the model stopped; "" until it did
	size    int
}

type partialCall struct {
	index    int64
	id, name string
	args     strings.Builder
}

func newAccumulator(delta func(string)) *accumulator {
	if delta == nil {
		delta = func(string) {}
	}
	return &accumulator{delta: delta, current: map[int64]*partialCall{}}
}

// add takes a chunk in.
func (a *accumulator) add(chunk sdk.ChatCompletionChunk) error {
	if chunk.JSON.Usage.Valid() {
		// Some endpoints count on from chunk to chunk; the last word stands.
		a.usage = llm.Usage{Input: max(chunk.Usage.PromptTokens, 0), Output: max(chunk.Usage.CompletionTokens, 0)}
	}
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			continue
		}
		a.chosen = true
		if choice.FinishReason != "" {
			a.finish = choice.FinishReason
		}
		if err := a.addDelta(choice.Delta); err != nil {
			return err
		}
	}
	return nil
}

func (a *accumulator) addDelta(delta sdk.ChatCompletionChunkChoiceDelta) error {
	a.refusal = a.refusal || delta.Refusal != ""
	for _, text := range []string{delta.Content, delta.Refusal} {
		if text == "" {
			continue
		}
		if err := a.grow(len(text)); err != nil {
			return err
		}
		a.text.WriteString(text)
		a.delta(text)
	}
	for _, piece := range delta.ToolCalls {
		if err := a.addPiece(piece); err != nil {
			return err
		}
	}
	return nil
}

// addPiece takes in a piece of a call. Calls are told apart by index.
func (a *accumulator) addPiece(piece sdk.ChatCompletionChunkChoiceDeltaToolCall) error {
	name := piece.Function.Name
	if err := a.grow(len(piece.ID) + len(name) + len(piece.Function.Arguments)); err != nil {
		return err
	}
	call := a.current[piece.Index]
	if call == nil || begins(call, piece) {
		if len(a.calls) == MaxCalls {
			return fmt.Errorf("the reply has more than %d tool calls", MaxCalls)
		}
		call = &partialCall{index: piece.Index}
		a.calls = append(a.calls, call)
		a.current[piece.Index] = call
	}
	if call.id == "" {
		call.id = piece.ID
	}
	// Some endpoints repeat the name with every piece, others send it in pieces.
	if name != call.name {
		call.name += name
	}
	call.args.WriteString(piece.Function.Arguments)
	return nil
}

// begins reports whether a piece with the index of a known call is a new call all the same: there are endpoints
// that number every call 0, or don't number them.
func begins(call *partialCall, piece sdk.ChatCompletionChunkChoiceDeltaToolCall) bool {
	if piece.Function.Name == "" {
		return false
	}
	if piece.ID != "" && call.id != "" {
		return piece.ID != call.id
	}
	return !piece.JSON.Index.Valid()
}

func (a *accumulator) grow(n int) error {
	if a.size += n; a.size > MaxReplyBytes {
		return fmt.Errorf("the reply is larger than %d MiB", MaxReplyBytes>>20)
	}
	return nil
}

// reply returns the whole, or says why the stream ended without one. A stream that ends without [DONE] is whole
// once the model has said why it stopped, which it does last.
func (a *accumulator) reply() (llm.Reply, error) {
	if !a.chosen {
		return llm.Reply{}, errors.New("the reply has no choices")
	}
	reply := llm.Reply{Usage: a.usage, Message: llm.Message{
		Role:      llm.RoleAssistant,
		Content:   valid(a.text.String()),
		ToolCalls: a.toolCalls(),
		Refusal:   a.refusal,
	}}
	switch strings.ToLower(a.finish) {
	case "":
		return llm.Reply{}, errors.New("the stream ended before the model had finished")
	case "error":
		return llm.Reply{}, errors.New("the provider broke off its answer without saying why")
	case "function_call":
		return llm.Reply{}, errors.New("the endpoint answered with a function_call, which tool calls replaced in 2023")
	case "length", "max_tokens", "model_length":
		reply.Truncated = true
	case "content_filter", "refusal", "safety":
		reply.Message.Refusal = true
	}
	if reply.Truncated || reply.Message.Refusal {
		spoilEmpty(reply.Message.ToolCalls)
	}
	return reply, nil
}

// spoilEmpty keeps a call that was cut before its arguments began from counting as a call without arguments.
func spoilEmpty(calls []llm.ToolCall) {
	for i := range calls {
		if calls[i].Args == "" {
			calls[i].Args = "{"
		}
	}
}

func (a *accumulator) toolCalls() []llm.ToolCall {
	slices.SortStableFunc(a.calls, func(x, y *partialCall) int { return cmp.Compare(x.index, y.index) })
	taken := map[string]bool{}
	for _, call := range a.calls {
		taken[call.id] = true
	}
	var calls []llm.ToolCall
	for n, call := range a.calls {
		id := call.id
		for i := n + 1; id == ""; i++ {
			if next := fmt.Sprintf("call_%d", i); !taken[next] {
				id, taken[next] = next, true
			}
		}
		calls = append(calls, llm.ToolCall{ProviderID: valid(id), Name: valid(call.name), Args: valid(call.args.String())})
	}
	return calls
}

// valid makes text survive being stored as JSON unchanged, on which digests of it depend.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

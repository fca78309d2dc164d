package openai

import (
	"errors"
	"strings"

	sdk "github.com/openai/openai-go/v3"

	"holdpoint/llm"
	"holdpoint/llm/wire"
)

// accumulator puts a reply together from its chunks. It follows the first choice only; the adapter asks for one.
type accumulator struct {
	draft   *wire.Draft
	refusal bool
	current map[int64]*wire.Call // by the provider's index: which call a piece belongs to
	usage   llm.Usage
	chosen  bool   // a choice came
	finish  string // why the model stopped; "" until it did
}

func newAccumulator(delta func(string)) *accumulator {
	return &accumulator{draft: wire.NewDraft(delta), current: map[int64]*wire.Call{}}
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
		if err := a.draft.AddText(text); err != nil {
			return err
		}
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
	if err := a.draft.Grow(len(piece.ID) + len(name)); err != nil {
		return err
	}
	call := a.current[piece.Index]
	if call == nil || begins(call, piece) {
		var err error
		if call, err = a.draft.Begin(piece.Index); err != nil {
			return err
		}
		a.current[piece.Index] = call
	}
	if call.ID == "" {
		call.ID = piece.ID
	}
	// Some endpoints repeat the name with every piece, others send it in pieces.
	if name != call.Name {
		call.Name += name
	}
	return a.draft.AddArgs(call, piece.Function.Arguments)
}

// begins reports whether a piece with the index of a known call is a new call all the same: there are endpoints
// that number every call 0, or don't number them.
func begins(call *wire.Call, piece sdk.ChatCompletionChunkChoiceDeltaToolCall) bool {
	if piece.Function.Name == "" {
		return false
	}
	if piece.ID != "" && call.ID != "" {
		return piece.ID != call.ID
	}
	return !piece.JSON.Index.Valid()
}

// reply returns the whole, or says why the stream ended without one. A stream that ends without [DONE] is whole
// once the model has said why it stopped, which it does last.
func (a *accumulator) reply() (llm.Reply, error) {
	if !a.chosen {
		return llm.Reply{}, errors.New("the reply has no choices")
	}
	reply := llm.Reply{Usage: a.usage}
	refusal := a.refusal
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
		refusal = true
	}
	reply.Message = a.draft.Message(reply.Truncated || refusal)
	reply.Message.Refusal = refusal
	return reply, nil
}

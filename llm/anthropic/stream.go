package anthropic

import (
	"errors"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"

	"holdpoint/llm"
	"holdpoint/llm/wire"
)

// accumulator puts a reply together from its events. It knows text and tool calls; what else the API has, such
// as thinking, passes by.
type accumulator struct {
	draft       *wire.Draft
	calls       []*openCall
	current     map[int64]*openCall // by the index of their blocks
	usage       llm.Usage
	started     bool   // the head of the message came
	stop        string // why the model stopped; "" until it did
	explanation string // what the provider says of a refusal
}

// openCall is a call with the arguments that its first event had, which count where no others follow.
type openCall struct {
	call  *wire.Call
	input string
}

func newAccumulator(delta func(string)) *accumulator {
	return &accumulator{draft: wire.NewDraft(delta), current: map[int64]*openCall{}}
}

// add takes an event in. Types that are not known are the API's right to add.
func (a *accumulator) add(event sdk.MessageStreamEventUnion) error {
	switch event.Type {
	case "message_start":
		a.started = true
		u := event.Message.Usage
		a.count(u.InputTokens+u.CacheCreationInputTokens+u.CacheReadInputTokens, u.OutputTokens)
	case "content_block_start":
		return a.begin(event.Index, event.ContentBlock)
	case "content_block_delta":
		return a.addDelta(event.Index, event.Delta)
	case "message_delta":
		if event.Delta.StopReason != "" {
			a.stop, a.explanation = string(event.Delta.StopReason), event.Delta.StopDetails.Explanation
		}
		u := event.Usage
		a.count(u.InputTokens+u.CacheCreationInputTokens+u.CacheReadInputTokens, u.OutputTokens)
	}
	return nil
}

// count takes in counts, which are of the whole reply so far. An event may leave some of them out.
func (a *accumulator) count(input, output int64) {
	a.usage = llm.Usage{Input: max(a.usage.Input, input), Output: max(a.usage.Output, output)}
}

func (a *accumulator) begin(index int64, block sdk.ContentBlockStartEventContentBlockUnion) error {
	switch block.Type {
	case "text":
		return a.draft.AddText(block.Text)
	case "tool_use":
	default:
		delete(a.current, index) // what follows is not a call's
		return nil
	}
	open := &openCall{}
	if raw := block.JSON.Input.Raw(); raw != "{}" && raw != "null" {
		open.input = raw
	}
	if err := a.draft.Grow(len(block.ID) + len(block.Name) + len(open.input)); err != nil {
		return err
	}
	var err error
	if open.call, err = a.draft.Begin(index); err != nil {
		return err
	}
	open.call.ID, open.call.Name = block.ID, block.Name
	a.calls = append(a.calls, open)
	a.current[index] = open
	return nil
}

func (a *accumulator) addDelta(index int64, delta sdk.MessageStreamEventUnionDelta) error {
	switch delta.Type {
	case "text_delta":
		return a.draft.AddText(delta.Text)
	case "input_json_delta":
		if open := a.current[index]; open != nil {
			return a.draft.AddArgs(open.call, delta.PartialJSON)
		}
	}
	return nil
}

// reply returns the whole, or says why the stream ended without one. A stream that ends without message_stop is
// whole once the model has said why it stopped, which it does last.
func (a *accumulator) reply() (llm.Reply, error) {
	if !a.started && a.stop == "" {
		return llm.Reply{}, errors.New("the stream has no message")
	}
	reply := llm.Reply{Usage: a.usage}
	refusal := false
	switch sdk.StopReason(a.stop) {
	case "":
		return llm.Reply{}, errors.New("the stream ended before the model had finished")
	case sdk.StopReasonToolUse:
		if len(a.calls) == 0 {
			return llm.Reply{}, errors.New("the model stopped for a tool call, and none came")
		}
	case sdk.StopReasonEndTurn, sdk.StopReasonStopSequence:
	case sdk.StopReasonRefusal:
		refusal = true
	case sdk.StopReasonPauseTurn:
		reply.Truncated, reply.Paused = true, true
	case sdk.StopReasonMaxTokens, sdk.StopReasonModelContextWindowExceeded:
		reply.Truncated = true
	default: // the API may add reasons: what is there may be less than the model meant to say
		reply.Truncated = true
	}
	if err := a.settle(refusal); err != nil {
		return llm.Reply{}, err
	}
	reply.Message = a.draft.Message(reply.Truncated || refusal)
	reply.Message.Refusal = refusal
	return reply, nil
}

// settle adds what stands in for something that did not come.
func (a *accumulator) settle(refusal bool) error {
	for _, open := range a.calls {
		if open.input == "" || open.call.HasArgs() {
			continue
		}
		if err := a.draft.AddArgs(open.call, open.input); err != nil {
			return err
		}
	}
	if refusal && a.draft.Empty() {
		return a.draft.AddText(a.explanation)
	}
	return nil
}

package wire

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"holdpoint/llm"
)

// Limits of one reply. Past them the reply is refused as malformed.
const (
	MaxReplyBytes = 4 << 20 // text, and names, ids and arguments of calls, together
	MaxCalls      = 256
)

// Draft is a reply as it comes in, within its limits. Its zero value is not ready: use NewDraft.
type Draft struct {
	delta func(string)
	text  strings.Builder
	calls []*Call
	size  int
}

// Call is a tool call as it comes in. Index orders the calls of a reply.
type Call struct {
	Index    int64
	ID, Name string
	args     strings.Builder
}

// HasArgs reports whether anything of the arguments has come.
func (c *Call) HasArgs() bool { return c.args.Len() > 0 }

// NewDraft returns an empty reply that hands on its text to delta, which may be nil.
func NewDraft(delta func(string)) *Draft {
	if delta == nil {
		delta = func(string) {}
	}
	return &Draft{delta: delta}
}

// AddText takes in a piece of text.
func (d *Draft) AddText(piece string) error {
	if piece == "" {
		return nil
	}
	if err := d.Grow(len(piece)); err != nil {
		return err
	}
	d.text.WriteString(piece)
	d.delta(piece)
	return nil
}

// Begin starts a call.
func (d *Draft) Begin(index int64) (*Call, error) {
	if len(d.calls) == MaxCalls {
		return nil, fmt.Errorf("the reply has more than %d tool calls", MaxCalls)
	}
	call := &Call{Index: index}
	d.calls = append(d.calls, call)
	return call, nil
}

// AddArgs takes in a piece of a call's arguments.
func (d *Draft) AddArgs(call *Call, piece string) error {
	if err := d.Grow(len(piece)); err != nil {
		return err
	}
	call.args.WriteString(piece)
	return nil
}

// Grow counts bytes that are kept elsewhere than in the text and the arguments: ids and names.
func (d *Draft) Grow(n int) error {
	if d.size += n; d.size > MaxReplyBytes {
		return fmt.Errorf("the reply is larger than %d MiB", MaxReplyBytes>>20)
	}
	return nil
}

// Empty reports whether there is neither text nor a call.
func (d *Draft) Empty() bool { return d.text.Len() == 0 && len(d.calls) == 0 }

// Message returns the whole. Arguments are as the model wrote them; a call without an id gets one. In a reply
// that was cut, a call whose arguments had not begun gets some that are no JSON, so that it can't count as a
// call without arguments.
func (d *Draft) Message(cut bool) llm.Message {
	return llm.Message{Role: llm.RoleAssistant, Content: valid(d.text.String()), ToolCalls: d.toolCalls(cut)}
}

func (d *Draft) toolCalls(cut bool) []llm.ToolCall {
	slices.SortStableFunc(d.calls, func(x, y *Call) int { return cmp.Compare(x.Index, y.Index) })
	taken := map[string]bool{}
	for _, call := range d.calls {
		taken[call.ID] = true
	}
	var calls []llm.ToolCall
	for n, call := range d.calls {
		id := call.ID
		for i := n + 1; id == ""; i++ {
			if next := fmt.Sprintf("call_%d", i); !taken[next] {
				id, taken[next] = next, true
			}
		}
		args := valid(call.args.String())
		if cut && args == "" {
			args = "{"
		}
		calls = append(calls, llm.ToolCall{ProviderID: valid(id), Name: valid(call.Name), Args: args})
	}
	return calls
}

// valid makes text survive being stored as JSON unchanged, on which digests of it depend.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

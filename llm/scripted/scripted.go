// Package scripted implements llm.Model by a script: a YAML file of turns. It is for demonstrations without a
// key and for testing agents: a script says what the model says and calls, so a test decides what happens.
//
//	loop: false                      # true: after the last turn, the first ones may be played again
//	turns:
//	  - when:                        # optional; every condition that is given must hold
//	      user: "run the tests"      # the newest user message: part of it, or, with *, a pattern of all of it
//	      tool_result:               # a result that came since the model's last message
//	        name: bash               # the tool, exactly, or a pattern with *
//	        status: [success, error] # one status or a list of them
//	        contains: "passed"       # part of the result's text
//	    say: "Here is what it said: {{result}}"
//	    calls:
//	      - {name: bash, args: {command: "npm test"}}
//
// Upper and lower case count as the same in user and contains. The statuses are those of tool results: success
// and error for a call that ran (it was allowed or approved), rejected, retry, skipped, denied, expired,
// aborted, unknown. A turn has say, calls, or both. A turn whose only condition is user is played directly after
// a user message, not after results; a turn without conditions is played anywhere. In say, {{result}} stands for
// the result that the turn's condition found (without one, the newest result since the model's last message), and
// {{user}} for the newest user message. Arguments keep their JSON types and the file's order. Anchors, aliases and
// tags are not supported.
//
// Turns are played in order, each at most once: of those after the turn played last, the first whose conditions
// hold. The others before it are passed over, which is how a script branches:
//
//	turns:
//	  - say: "I run the tests."
//	    calls: [{name: bash, args: {command: npm test}}]
//	  - when: {tool_result: {status: retry}}
//	    say: "Then another way."
//	    calls: [{name: bash, args: {command: npm run test:unit}}]
//	  - when: {tool_result: {status: rejected}}
//	    say: "I leave it: {{result}}"
//	  - when: {tool_result: {status: success}}
//	    say: "They pass."
//
// The model keeps no state. What was played is read off the transcript: an assistant message is recognised as the
// turn that says and calls the same. So a restart or a retry gives the same answer, messages by another model
// don't count, and a transcript of which the beginning is gone still finds its place.
//
// Start at Load and New.
package scripted

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"holdpoint/llm"
)

// maxResult bounds what {{result}} and {{user}} put into a text, in bytes.
const maxResult = 4 << 10

// Model plays a script. It is safe for concurrent use.
type Model struct{ script *Script }

// New returns a model that plays the script. A nil script has no turns.
func New(script *Script) *Model {
	if script == nil {
		script = &Script{name: "(none)"}
	}
	return &Model{script: script}
}

// String names the script.
func (m *Model) String() string { return fmt.Sprintf("scripted model %s", m.script.name) }

// Generate plays the turn that the transcript is at. Where there is none it says so in a message without calls, so
// that a run ends. A transcript that breaks llm.CheckPairing is a bad request, as it is at a real provider.
func (m *Model) Generate(ctx context.Context, req llm.Request) (llm.Reply, error) {
	if err := ctx.Err(); err != nil {
		return llm.Reply{}, stopped(err)
	}
	if err := llm.CheckPairing(req.Messages); err != nil {
		return llm.Reply{}, &llm.Error{Kind: llm.ErrBadRequest, Message: err.Error(), Err: err}
	}
	message := m.next(req.Messages)
	for _, piece := range pieces(message.Content) {
		if err := ctx.Err(); err != nil {
			return llm.Reply{}, stopped(err)
		}
		if req.Delta != nil {
			req.Delta(piece)
		}
	}
	return llm.Reply{Message: message}, nil
}

func stopped(err error) *llm.Error {
	return &llm.Error{Kind: llm.ErrUnavailable, Message: "the call was stopped: " + err.Error(), Err: err}
}

func (m *Model) next(transcript []llm.Message) llm.Message {
	place := newPlace(transcript)
	index, ok := m.script.pick(m.script.cursor(transcript), place)
	if !ok {
		return llm.Message{Role: llm.RoleAssistant, Content: m.exhausted()}
	}
	return m.script.turns[index].message(place)
}

func (m *Model) exhausted() string {
	return fmt.Sprintf("The script %s has no turn for this point of the conversation: the turns that are left of its %d, if any, have conditions that do not hold.",
		m.script.name, len(m.script.turns))
}

// cursor is the index of the first turn that has not been played or passed over.
func (s *Script) cursor(transcript []llm.Message) int {
	cursor := 0
	for i, message := range transcript {
		if message.Role != llm.RoleAssistant {
			continue
		}
		if index, ok := s.played(cursor, message, newPlace(transcript[:i])); ok {
			cursor = index + 1
		}
	}
	return cursor
}

// played finds the turn that a message is. Where none is exactly it, arguments and what placeholders stood for
// may differ: either may have been changed or removed in the stored transcript since.
func (s *Script) played(cursor int, message llm.Message, p place) (int, bool) {
	loose, found := 0, false
	for _, index := range s.order(cursor) {
		t := s.turns[index]
		if !t.resembles(message) || !t.when.holds(p) {
			continue
		}
		if t.said(message, p) {
			return index, true
		}
		if !found {
			loose, found = index, true
		}
	}
	return loose, found
}

// pick is the turn to play at a place.
func (s *Script) pick(cursor int, p place) (int, bool) {
	for _, index := range s.order(cursor) {
		if s.turns[index].when.holds(p) {
			return index, true
		}
	}
	return 0, false
}

// order is the turns to consider: those from the cursor on, and in a loop those before it too.
func (s *Script) order(cursor int) []int {
	n := len(s.turns) - cursor
	if s.loop {
		n = len(s.turns)
	}
	order := make([]int, n)
	for i := range order {
		order[i] = (cursor + i) % len(s.turns)
	}
	return order
}

// message is what the turn says at a place. The ids of its calls differ from turn to turn.
func (t turn) message(p place) llm.Message {
	out := llm.Message{Role: llm.RoleAssistant, Content: t.text(p)}
	for i, c := range t.calls {
		out.ToolCalls = append(out.ToolCalls, llm.ToolCall{
			ProviderID: fmt.Sprintf("call_%d_%d", p.replies+1, i+1),
			Name:       c.name,
			Args:       c.args,
		})
	}
	return out
}

// said reports whether a message that resembles the turn is exactly it, played at that place.
func (t turn) said(message llm.Message, p place) bool {
	for i, c := range message.ToolCalls {
		if c.Args != t.calls[i].args {
			return false
		}
	}
	return message.Content == t.text(p)
}

// resembles reports whether a message says the same but for placeholders, and calls the same tools.
func (t turn) resembles(message llm.Message) bool {
	if !t.hasPlaceholder() && message.Content != t.say {
		return false
	}
	return slices.EqualFunc(message.ToolCalls, t.calls, func(c llm.ToolCall, own call) bool { return c.Name == own.name })
}

func (t turn) hasPlaceholder() bool {
	return strings.Contains(t.say, "{{result}}") || strings.Contains(t.say, "{{user}}")
}

func (t turn) text(p place) string {
	if !t.hasPlaceholder() {
		return t.say
	}
	result, _ := t.when.result(p)
	return strings.NewReplacer("{{result}}", bounded(result.Content), "{{user}}", bounded(p.user)).Replace(t.say)
}

func bounded(s string) string {
	if len(s) <= maxResult {
		return s
	}
	return strings.ToValidUTF8(s[:maxResult], "") + "…"
}

// pieces cuts a text in about four, at the borders of characters.
func pieces(text string) []string {
	size := max(len(text)/4, 8)
	var out []string
	for text != "" {
		n := min(size, len(text))
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n++
		}
		out, text = append(out, text[:n]), text[n:]
	}
	return out
}

package llm_test

import (
	"errors"
	"strings"
	"testing"

	"holdpoint/llm"
)

func user(text string) llm.Message { return llm.Message{Role: llm.RoleUser, Content: text} }

func calls(ids ...string) llm.Message {
	m := llm.Message{Role: llm.RoleAssistant}
	for _, id := range ids {
		m.ToolCalls = append(m.ToolCalls, llm.ToolCall{ProviderID: id, Name: "bash", Args: "{}"})
	}
	return m
}

func answer(id string) llm.Message {
	return llm.Message{Role: llm.RoleTool, ProviderID: id, Content: "ok"}
}

func TestCheckPairing(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		messages []llm.Message
		index    int
		want     string // part of the reason; "" means that the transcript is in order
	}{
		{"an empty transcript", nil, 0, ""},
		{"text only", []llm.Message{user("hi"), {Role: llm.RoleAssistant, Content: "ho"}}, 0, ""},
		{"a call and its answer", []llm.Message{user("hi"), calls("a"), answer("a")}, 0, ""},
		{"parallel calls in order", []llm.Message{calls("a", "b"), answer("a"), answer("b"), user("go on")}, 0, ""},
		{"the same id in two turns", []llm.Message{calls("a"), answer("a"), calls("a"), answer("a")}, 0, ""},
		{"the same id twice in one turn", []llm.Message{calls("a", "a"), answer("a"), answer("a")}, 0, ""},
		{"empty ids", []llm.Message{calls("", ""), answer(""), answer("")}, 0, ""},
		{"answers out of order", []llm.Message{calls("a", "b"), answer("b"), answer("a")}, 1, `answers "b"`},
		{"no answer at the end", []llm.Message{user("hi"), calls("a")}, 1, "no tool message"},
		{"one answer missing", []llm.Message{calls("a", "b"), answer("a")}, 0, `tool call 2 ("b"`},
		{"a user message in between", []llm.Message{calls("a"), user("wait"), answer("a")}, 0, "no tool message"},
		{"an assistant message in between", []llm.Message{calls("a"), calls("b"), answer("b"), answer("a")}, 0, "no tool message"},
		{"answered twice", []llm.Message{calls("a"), answer("a"), answer("a")}, 2, "no tool call awaits"},
		{"an orphan", []llm.Message{user("hi"), answer("a")}, 1, "no tool call awaits"},
		{"an answer to an earlier turn", []llm.Message{calls("a"), answer("a"), calls("b"), answer("a")}, 3, `answers "a"`},
		{"calls of a user", []llm.Message{{Role: llm.RoleUser, ToolCalls: calls("a").ToolCalls}, answer("a")}, 0, "only an assistant"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			err := llm.CheckPairing(tc.messages)
			if tc.want == "" {
				if err != nil {
					t.Fatalf("refused a transcript in order: %v", err)
				}
				return
			}
			var pairing *llm.PairingError
			if !errors.As(err, &pairing) {
				t.Fatalf("got %v, want a PairingError", err)
			}
			if pairing.Index != tc.index || !strings.Contains(pairing.Error(), tc.want) {
				t.Errorf("got index %d, %q; want index %d, with %q", pairing.Index, pairing, tc.index, tc.want)
			}
		})
	}
}

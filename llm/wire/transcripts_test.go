package wire_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdpoint/llm"
	"holdpoint/llm/anthropic"
	"holdpoint/llm/anthropic/anthropictest"
	"holdpoint/llm/openai"
	"holdpoint/llm/openai/openaitest"
	"holdpoint/tool"
)

// transcript draws a conversation that llm.CheckPairing accepts, with all that models and people get wrong in it.
// Each text and result is numbered, so that one in the wrong place shows.
func transcript(t *rapid.T) []llm.Message {
	var out []llm.Message
	text := func(label string) string {
		if rapid.IntRange(0, 4).Draw(t, label) == 0 {
			return rapid.SampledFrom([]string{"", " ", "\n\t", "\u00a0"}).Draw(t, "blank")
		}
		return fmt.Sprintf("%s %d", label, len(out))
	}
	for range rapid.IntRange(1, 80).Draw(t, "messages") {
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0, 1, 2:
			out = append(out, llm.Message{Role: llm.RoleUser, Content: text("user")})
		case 3:
			out = append(out, llm.Message{Role: llm.RoleSystem, Content: text("system")})
		case 4:
			out = append(out, llm.Message{Role: llm.RoleAssistant, Content: text("assistant"), Refusal: rapid.Bool().Draw(t, "refusal")})
		default:
			m := llm.Message{Role: llm.RoleAssistant, Content: text("assistant"), ToolCalls: rapid.SliceOfN(rapid.Custom(anyCall), 1, 8).Draw(t, "calls")}
			out = append(out, m)
			for i, c := range m.ToolCalls {
				status := rapid.SampledFrom([]tool.Status{tool.StatusSuccess, tool.StatusDenied, tool.StatusSkipped, ""}).Draw(t, "status")
				out = append(out, llm.Message{Role: llm.RoleTool, ProviderID: c.ProviderID, ToolName: c.Name, ToolStatus: string(status), Content: text(fmt.Sprint("result ", i))})
			}
		}
	}
	return out
}

func anyCall(t *rapid.T) llm.ToolCall {
	return llm.ToolCall{
		ProviderID: rapid.SampledFrom([]string{"", "a", "a_2", "b", "call_1", "call:1", "func/é", "_", strings.Repeat("i", 80), "toolu_01X"}).Draw(t, "id"),
		Name:       rapid.SampledFrom([]string{"bash", "read", "", "rm -rf /", "naïve", strings.Repeat("n", 300)}).Draw(t, "name"),
		Args:       rapid.SampledFrom([]string{"", "{}", `{"a":{"b":[1]}}`, `{"a":`, "null", "[]", `"x"`, "rm", "{", `{"a":1,"a":2}`}).Draw(t, "args"),
	}
}

var offered = []tool.Definition{{Name: "bash"}, {Name: "read"}}

// TestTranscriptsAreTakenByBothFamilies sends long mixed conversations to endpoints that apply each family's rules
// of pairing, and looks whether every result still answers its call.
func TestTranscriptsAreTakenByBothFamilies(t *testing.T) {
	t.Parallel()
	o := openaitest.Start(openaitest.Text("fine"))
	t.Cleanup(o.Close)
	a := anthropictest.Start(anthropictest.Text("fine"))
	t.Cleanup(a.Close)
	om, err := openai.New(openai.Config{BaseURL: o.URL(), Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	am, err := anthropic.New(anthropic.Config{BaseURL: a.URL(), Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	rapid.Check(t, func(t *rapid.T) {
		messages := transcript(t)
		if err := llm.CheckPairing(messages); err != nil {
			t.Fatal("the test is wrong: ", err)
		}
		if said(t, ctx, om, messages) {
			last := o.Requests()[len(o.Requests())-1]
			check(t, messages, fromOpenAI(last), func(text string) string { return text })
		}
		if said(t, ctx, am, messages) {
			last := a.Requests()[len(a.Requests())-1]
			check(t, messages, fromAnthropic(last), func(text string) string {
				if strings.TrimSpace(text) == "" {
					return "" // blank texts are left out
				}
				return text
			})
		}
	})
	if broken := append(o.Violations(), a.Violations()...); len(broken) > 0 {
		t.Errorf("rules were broken: %q", broken)
	}
}

// said asks a model, which must answer unless there is nobody to answer.
func said(t *rapid.T, ctx context.Context, m llm.Model, messages []llm.Message) bool {
	_, err := m.Generate(ctx, llm.Request{Messages: messages, Tools: offered})
	if err == nil {
		return true
	}
	for _, message := range messages {
		if message.Role != llm.RoleSystem && (message.Role != llm.RoleAssistant || strings.TrimSpace(message.Content) != "" || len(message.ToolCalls) > 0) {
			t.Fatalf("%v refused a transcript: %v", m, err)
		}
	}
	return false
}

// exchange is a call and what answers it.
type exchange struct{ call, answer, result string }

func fromOpenAI(r openaitest.Request) []exchange {
	var out []exchange
	for i, m := range r.Messages {
		for n, c := range m.ToolCalls {
			answer := r.Messages[i+1+n]
			out = append(out, exchange{call: c.ID, answer: answer.ToolCallID, result: answer.Content})
		}
	}
	return out
}

func fromAnthropic(r anthropictest.Request) []exchange {
	var out []exchange
	for i, m := range r.Messages {
		for n, c := range m.Calls() {
			answer := r.Messages[i+1].Blocks[n] // a result, first in its message and in the order of the calls
			out = append(out, exchange{call: c.ID, answer: answer.ToolUseID, result: answer.Text})
		}
	}
	return out
}

func check(t *rapid.T, messages []llm.Message, got []exchange, sent func(string) string) {
	var want []string
	for _, m := range messages {
		if m.Role == llm.RoleTool {
			want = append(want, sent(m.Content))
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d exchanges were sent, want %d", len(got), len(want))
	}
	for i, e := range got {
		if e.call != e.answer || e.result != want[i] {
			t.Fatalf("exchange %d: call %q is answered by %q with %q, want %q", i, e.call, e.answer, e.result, want[i])
		}
	}
}

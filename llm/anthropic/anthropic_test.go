package anthropic_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"holdpoint/llm"
	"holdpoint/llm/anthropic"
	"holdpoint/llm/anthropic/anthropictest"
	"holdpoint/tool"
)

const key = "sk-ant-test-4f9a/secret+key"

func start(t *testing.T, handler func(anthropictest.Request) anthropictest.Reply) *anthropictest.Server {
	t.Helper()
	s := anthropictest.Start(handler)
	t.Cleanup(s.Close)
	return s
}

func model(t *testing.T, s *anthropictest.Server, edit ...func(*anthropic.Config)) *anthropic.Model {
	t.Helper()
	cfg := anthropic.Config{BaseURL: s.URL(), APIKey: key, Model: "claude-test"}
	for _, e := range edit {
		e(&cfg)
	}
	m, err := anthropic.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func ask(text string) llm.Request {
	return llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Content: text}}}
}

// generate asks a server that gives the reply once.
func generate(t *testing.T, reply anthropictest.Reply) (llm.Reply, error) {
	t.Helper()
	return model(t, start(t, anthropictest.Script(reply))).Generate(t.Context(), ask("hello"))
}

// ignoring compares blocks without what tests can't see.
var ignoring = cmpopts.IgnoreUnexported(anthropictest.Block{}, anthropictest.Request{})

func TestTextIsStreamedAndCounted(t *testing.T) {
	t.Parallel()
	s := start(t, anthropictest.Script(anthropictest.Reply{
		Thinking: "They greet me.", Text: "Grüße from the model", Pings: true,
		Usage: anthropictest.Usage{Input: 12, CacheRead: 100, CacheWrite: 1000, Output: 5},
	}))
	var deltas []string
	req := ask("hello")
	req.System = "Be kind."
	req.Delta = func(text string) { deltas = append(deltas, text) }
	got, err := model(t, s).Generate(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	want := llm.Reply{
		Message: llm.Message{Role: llm.RoleAssistant, Content: "Grüße from the model"},
		Usage:   llm.Usage{Input: 1112, Output: 5},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(deltas) < 2 || strings.Join(deltas, "") != want.Message.Content {
		t.Errorf("deltas: %q", deltas)
	}
	sent := s.Requests()[0]
	if sent.System != "Be kind." || sent.Messages[0].Text() != "hello" || !sent.Stream {
		t.Errorf("sent: %s", sent.Raw)
	}
	if got := sent.Header.Get("X-Api-Key"); got != key || sent.Header.Get("Authorization") != "" {
		t.Errorf("key header: %q", got)
	}
}

func TestParallelCallsAreToldApart(t *testing.T) {
	t.Parallel()
	calls := []anthropictest.Call{
		{ID: "toolu_a", Name: "bash", Args: `{"command":"npm test -- --watch=false"}`},
		{ID: "toolu_b", Name: "read", Args: `{"path":"go.mod"}`},
		{ID: "toolu_c", Name: "noop", Args: `{}`},
	}
	for _, atOnce := range []bool{false, true} {
		t.Run(fmt.Sprintf("at once=%v", atOnce), func(t *testing.T) {
			t.Parallel()
			got, err := generate(t, anthropictest.Reply{Text: "Working.", Calls: calls, InputAtOnce: atOnce})
			if err != nil {
				t.Fatal(err)
			}
			want := []llm.ToolCall{
				{ProviderID: "toolu_a", Name: "bash", Args: calls[0].Args},
				{ProviderID: "toolu_b", Name: "read", Args: calls[1].Args},
				{ProviderID: "toolu_c", Name: "noop", Args: `{}`},
			}
			if atOnce {
				want[2].Args = "" // which counts as the empty object
			}
			if diff := cmp.Diff(want, got.Message.ToolCalls); diff != "" || got.Message.Content != "Working." {
				t.Error(got.Message.Content, diff)
			}
		})
	}
}

func TestStrangeCallsArePassedOn(t *testing.T) {
	t.Parallel()
	got, err := generate(t, anthropictest.Reply{Calls: []anthropictest.Call{
		{ID: "x", Name: "bash", Args: `{"command": "rm`},
		{ID: "x", Name: "", Args: `not json`},
		{ID: "", Name: "bash", Args: `{}`},
		{ID: "call_4", Name: "bash", Args: `[1]`},
		{ID: "", Name: "bash", Args: ``},
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := []llm.ToolCall{
		{ProviderID: "x", Name: "bash", Args: `{"command": "rm`},
		{ProviderID: "x", Name: "", Args: `not json`},
		{ProviderID: "call_3", Name: "bash", Args: `{}`},
		{ProviderID: "call_4", Name: "bash", Args: `[1]`},
		{ProviderID: "call_5", Name: "bash", Args: ``},
	}
	if diff := cmp.Diff(want, got.Message.ToolCalls); diff != "" {
		t.Error(diff)
	}
}

func TestWhyAModelStopped(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name               string
		reply              anthropictest.Reply
		content            string
		truncated, refused bool
	}{
		{"it was done", anthropictest.Reply{Text: "Done."}, "Done.", false, false},
		{"it had nothing to say", anthropictest.Reply{}, "", false, false},
		{"it came to a stop sequence", anthropictest.Reply{Text: "One", Stop: "stop_sequence"}, "One", false, false},
		{"it came to its token limit", anthropictest.Reply{Text: "One, tw", Stop: "max_tokens"}, "One, tw", true, false},
		{"its context was full", anthropictest.Reply{Text: "One, tw", Stop: "model_context_window_exceeded"}, "One, tw", true, false},
		{"the provider paused its turn", anthropictest.Reply{Text: "Let me see", Stop: "pause_turn"}, "Let me see", true, false},
		{"for a reason of tomorrow", anthropictest.Reply{Text: "Hm", Stop: "bored"}, "Hm", true, false},
		{"the provider refused", anthropictest.Reply{Stop: "refusal", Explanation: "I can't help with that."}, "I can't help with that.", false, true},
		{"the provider refused midway", anthropictest.Reply{Text: "First, take", Stop: "refusal", Explanation: "No."}, "First, take", false, true},
		{"the stream ends without message_stop", anthropictest.Reply{Text: "Done.", NoEnd: true}, "Done.", false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := generate(t, tc.reply)
			if err != nil {
				t.Fatal(err)
			}
			if got.Message.Content != tc.content || got.Truncated != tc.truncated || got.Message.Refusal != tc.refused || len(got.Message.ToolCalls) != 0 {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestTheCallsOfACutReplyCannotRun(t *testing.T) {
	t.Parallel()
	for _, stop := range []string{"max_tokens", "refusal", "pause_turn"} {
		for _, args := range []string{`{"command":"rm -rf bu`, ``} {
			got, err := generate(t, anthropictest.Reply{Stop: stop, Calls: []anthropictest.Call{{ID: "a", Name: "bash", Args: args}}})
			if err != nil {
				t.Fatal(err)
			}
			if raw, err := got.Message.ToolCalls[0].JSON(); err == nil {
				t.Errorf("%s: the arguments %q of a cut call came out as %s", stop, args, raw)
			}
		}
	}
}

func TestCancellationReturnsAtOnce(t *testing.T) {
	t.Parallel()
	for _, after := range []int{0, 3} {
		t.Run(fmt.Sprintf("after %d events", after), func(t *testing.T) {
			t.Parallel()
			arrived := make(chan struct{}, 1)
			s := start(t, func(anthropictest.Request) anthropictest.Reply {
				arrived <- struct{}{}
				return anthropictest.Reply{Text: "a long story", Hold: make(chan struct{}), HoldAfter: after}
			})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan error, 1)
			go func() {
				_, err := model(t, s).Generate(ctx, ask("hello"))
				done <- err
			}()
			<-arrived
			cancel()
			select {
			case err := <-done:
				if !errors.Is(err, context.Canceled) {
					t.Errorf("got %v, want one that wraps context.Canceled", err)
				}
			case <-time.After(10 * time.Second):
				t.Fatal("Generate goes on although its context has ended")
			}
		})
	}
}

func TestOneTurnOfAnAgent(t *testing.T) {
	t.Parallel()
	s := start(t, anthropictest.Script(
		anthropictest.Reply{Text: "I look.", Calls: []anthropictest.Call{{ID: "c1", Name: "bash", Args: `{"command":"ls"}`}, {ID: "c2", Name: "bash", Args: `{"command":"id"}`}}},
		anthropictest.Reply{Text: "Two files."},
	))
	m := model(t, s)
	req := ask("what is here?")
	req.Tools = []tool.Definition{{Name: "bash", Description: "Runs a command.", Schema: json.RawMessage(`{"properties":{"command":{"type":"string"}},"required":["command"],"additionalProperties":false}`)}}
	first, err := m.Generate(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	req.Messages = append(req.Messages, first.Message,
		llm.Message{Role: llm.RoleTool, ProviderID: "c1", ToolName: "bash", ToolStatus: "success", Content: "a b"},
		llm.Message{Role: llm.RoleTool, ProviderID: "c2", ToolName: "bash", ToolStatus: "rejected", Content: "Not now."},
		llm.Message{Role: llm.RoleUser, Content: "Be quick."})
	second, err := m.Generate(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if second.Message.Content != "Two files." {
		t.Errorf("answer: %q", second.Message.Content)
	}
	last := s.Requests()[1]
	want := []anthropictest.Message{
		{Role: "user", Blocks: []anthropictest.Block{{Type: "text", Text: "what is here?"}}},
		{Role: "assistant", Blocks: []anthropictest.Block{
			{Type: "text", Text: "I look."},
			{Type: "tool_use", ID: "c1", Name: "bash", Input: json.RawMessage(`{"command":"ls"}`)},
			{Type: "tool_use", ID: "c2", Name: "bash", Input: json.RawMessage(`{"command":"id"}`)},
		}},
		{Role: "user", Blocks: []anthropictest.Block{
			{Type: "tool_result", ToolUseID: "c1", Text: "a b"},
			{Type: "tool_result", ToolUseID: "c2", Text: "Not now.", IsError: true},
			{Type: "text", Text: "Be quick."},
		}},
	}
	if diff := cmp.Diff(want, last.Messages, ignoring); diff != "" {
		t.Error(diff)
	}
	if got, want := string(last.Tools[0].InputSchema), `{"additionalProperties":false,"properties":{"command":{"type":"string"}},"required":["command"],"type":"object"}`; got != want || last.Tools[0].Description != "Runs a command." {
		t.Errorf("tool: %+v", last.Tools[0])
	}
}

func TestParametersReachTheEndpoint(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		params  map[string]any
		tools   bool
		want    map[string]string // of the body; "" means that it is not there
		version string
	}{
		{"none", nil, true, map[string]string{"max_tokens": "32000", "temperature": "", "stream": "true"}, "2026-10-21"},
		{"ours is replaced", map[string]any{"max_tokens": 900, "stop_sequences": []string{"END"}}, false, map[string]string{"max_tokens": "900", "stop_sequences": `["END"]`}, "2026-10-21"},
		{"a temperature", map[string]any{"temperature": 0.25}, false, map[string]string{"temperature": "0.25", "max_tokens": "32000"}, "2023-06-01"},
		{"a choice of tools", map[string]any{"tool_choice": map[string]any{"type": "any"}}, true, map[string]string{"tool_choice": `{"type":"any"}`}, "2026-10-21"},
		{"a choice where there is none", map[string]any{"tool_choice": map[string]any{"type": "any"}}, false, map[string]string{"tool_choice": ""}, "2026-10-21"},
		{"thinking", map[string]any{"thinking": map[string]any{"type": "adaptive"}}, false, map[string]string{"thinking": `{"type":"adaptive"}`}, "2026-10-21"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, anthropictest.Text("hi"))
			req := ask("hello")
			if tc.tools {
				req.Tools = []tool.Definition{{Name: "noop"}}
			}
			if _, err := model(t, s, func(c *anthropic.Config) { c.Params = tc.params }).Generate(t.Context(), req); err != nil {
				t.Fatal(err)
			}
			sent := s.Requests()[0]
			var body map[string]json.RawMessage
			if err := json.Unmarshal(sent.Raw, &body); err != nil {
				t.Fatal(err)
			}
			for name, want := range tc.want {
				if got := string(body[name]); got != want {
					t.Errorf("%s: %s was sent, want %s", name, got, want)
				}
			}
			if got := sent.Header.Get("Anthropic-Version"); got != tc.version {
				t.Errorf("version %s, want %s", got, tc.version)
			}
		})
	}
}

func TestABaseURLMayEndInTheVersion(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"", "/", "/v1", "/v1/"} {
		s := start(t, anthropictest.Text("hi"))
		got, err := model(t, s, func(c *anthropic.Config) { c.BaseURL += end }).Generate(t.Context(), ask("hello"))
		if err != nil || got.Message.Content != "hi" {
			t.Errorf("%q at the end: got %+v, %v", end, got, err)
		}
	}
}

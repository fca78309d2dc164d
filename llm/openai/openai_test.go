package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdpoint/llm"
	"holdpoint/llm/openai"
	"holdpoint/llm/openai/openaitest"
	"holdpoint/tool"
)

const key = "sk-test-4f9a/secret+key"

func start(t *testing.T, handler func(openaitest.Request) openaitest.Reply) *openaitest.Server {
	t.Helper()
	s := openaitest.Start(handler)
	t.Cleanup(s.Close)
	return s
}

func model(t *testing.T, s *openaitest.Server, edit ...func(*openai.Config)) *openai.Model {
	t.Helper()
	cfg := openai.Config{BaseURL: s.URL(), APIKey: key, Model: "gpt-test"}
	for _, e := range edit {
		e(&cfg)
	}
	m, err := openai.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func ask(text string) llm.Request {
	return llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Content: text}}}
}

// generate asks a server that gives the reply once.
func generate(t *testing.T, reply openaitest.Reply) (llm.Reply, error) {
	t.Helper()
	return model(t, start(t, openaitest.Script(reply))).Generate(t.Context(), ask("hello"))
}

func TestTextIsStreamedAndCounted(t *testing.T) {
	t.Parallel()
	s := start(t, openaitest.Script(openaitest.Reply{Text: "Grüße from the model", Usage: openaitest.Usage{Input: 12, Output: 5}}))
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
		Usage:   llm.Usage{Input: 12, Output: 5},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(deltas) < 2 || strings.Join(deltas, "") != want.Message.Content {
		t.Errorf("deltas: %q", deltas)
	}
	sent := s.Requests()[0]
	if sent.Messages[0].Role != "system" || sent.Messages[0].Content != "Be kind." || sent.Messages[1].Content != "hello" {
		t.Errorf("sent messages: %+v", sent.Messages)
	}
	if got := sent.Header.Get("Authorization"); got != "Bearer "+key {
		t.Errorf("authorization header: %q", got)
	}
}

func TestParallelCallsAreToldApart(t *testing.T) {
	t.Parallel()
	calls := []openaitest.Call{
		{ID: "call_a", Name: "bash", Args: `{"command":"npm test -- --watch=false"}`},
		{ID: "call_b", Name: "read", Args: `{"path":"go.mod"}`},
		{ID: "call_c", Name: "noop", Args: ``},
	}
	for _, interleave := range []bool{false, true} {
		t.Run(fmt.Sprintf("interleave=%v", interleave), func(t *testing.T) {
			t.Parallel()
			got, err := generate(t, openaitest.Reply{Text: "Working.", Calls: calls, Interleave: interleave})
			if err != nil {
				t.Fatal(err)
			}
			want := []llm.ToolCall{
				{ProviderID: "call_a", Name: "bash", Args: calls[0].Args},
				{ProviderID: "call_b", Name: "read", Args: calls[1].Args},
				{ProviderID: "call_c", Name: "noop"},
			}
			if diff := cmp.Diff(want, got.Message.ToolCalls); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestStrangeCallsArePassedOn(t *testing.T) {
	t.Parallel()
	got, err := generate(t, openaitest.Reply{Calls: []openaitest.Call{
		{ID: "x", Name: "bash", Args: `{"command": "rm`},
		{ID: "x", Name: "", Args: `not json`},
		{ID: "", Name: "bash", Args: `{}`},
		{ID: "call_4", Name: "bash", Args: `[1]`},
		{ID: "", Name: "bash", Args: `null`},
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := []llm.ToolCall{
		{ProviderID: "x", Name: "bash", Args: `{"command": "rm`},
		{ProviderID: "x", Name: "", Args: `not json`},
		{ProviderID: "call_3", Name: "bash", Args: `{}`},
		{ProviderID: "call_4", Name: "bash", Args: `[1]`},
		{ProviderID: "call_5", Name: "bash", Args: `null`},
	}
	if diff := cmp.Diff(want, got.Message.ToolCalls); diff != "" {
		t.Error(diff)
	}
}

// chunks are events whose choice has these deltas; the last has the finish reason.
func chunks(finish string, deltas ...string) []string {
	var out []string
	for _, d := range deltas {
		out = append(out, `{"choices":[{"index":0,"delta":`+d+`,"finish_reason":null}]}`)
	}
	return append(out, `{"choices":[{"index":0,"delta":{},"finish_reason":"`+finish+`"}]}`, "[DONE]")
}

func TestDialectsOfCompatibleEndpoints(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		events []string
		want   []llm.ToolCall
	}{
		{"every call has index 0", chunks("tool_calls",
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"n\":1}"}}]}`,
			`{"tool_calls":[{"index":0,"id":"b","function":{"name":"f","arguments":"{\"n\":2}"}}]}`),
			[]llm.ToolCall{{ProviderID: "a", Name: "f", Args: `{"n":1}`}, {ProviderID: "b", Name: "f", Args: `{"n":2}`}}},
		{"no call has an index", chunks("stop",
			`{"tool_calls":[{"function":{"name":"f","arguments":"{\"n\":1}"}},{"function":{"name":"f","arguments":"{\"n\":2}"}}]}`),
			[]llm.ToolCall{{ProviderID: "call_1", Name: "f", Args: `{"n":1}`}, {ProviderID: "call_2", Name: "f", Args: `{"n":2}`}}},
		{"id and name come with every piece", chunks("tool_calls",
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"n\""}}]}`,
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":":1}"}}]}`),
			[]llm.ToolCall{{ProviderID: "a", Name: "f", Args: `{"n":1}`}}},
		{"the second call comes first", chunks("tool_calls",
			`{"tool_calls":[{"index":1,"id":"b","function":{"name":"g","arguments":"{}"}}]}`,
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}`),
			[]llm.ToolCall{{ProviderID: "a", Name: "f", Args: `{}`}, {ProviderID: "b", Name: "g", Args: `{}`}}},
		{"indexes beyond reason", chunks("tool_calls",
			`{"tool_calls":[{"index":-7,"id":"a","function":{"name":"f","arguments":"{}"}}]}`,
			`{"tool_calls":[{"index":9000000000,"id":"b","function":{"name":"f","arguments":"{}"}}]}`),
			[]llm.ToolCall{{ProviderID: "a", Name: "f", Args: `{}`}, {ProviderID: "b", Name: "f", Args: `{}`}}},
		{"the end has no [DONE]", slices.DeleteFunc(chunks("tool_calls",
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}`), func(e string) bool { return e == "[DONE]" }),
			[]llm.ToolCall{{ProviderID: "a", Name: "f", Args: `{}`}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := generate(t, openaitest.Reply{Raw: tc.events})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got.Message.ToolCalls); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFinishReasons(t *testing.T) {
	t.Parallel()
	t.Run("a reply cut at the token limit is marked, its call can't run", func(t *testing.T) {
		t.Parallel()
		for _, args := range []string{`{"command":"rm -rf bu`, ``} {
			got, err := generate(t, openaitest.Reply{Finish: "length", Calls: []openaitest.Call{{ID: "a", Name: "bash", Args: args}}})
			if err != nil {
				t.Fatal(err)
			}
			if !got.Truncated {
				t.Error("not marked as truncated")
			}
			if raw, err := got.Message.ToolCalls[0].JSON(); err == nil {
				t.Errorf("the arguments %q of a cut call came out as %s", args, raw)
			}
		}
	})
	t.Run("a content filter counts as a refusal", func(t *testing.T) {
		t.Parallel()
		got, err := generate(t, openaitest.Reply{Text: "I", Finish: "content_filter"})
		if err != nil || !got.Message.Refusal || got.Message.Content != "I" {
			t.Errorf("got %+v, %v", got, err)
		}
	})
	t.Run("a refusal's words are the content", func(t *testing.T) {
		t.Parallel()
		got, err := generate(t, openaitest.Reply{Refusal: "I can't help with that."})
		if err != nil || !got.Message.Refusal || got.Message.Content != "I can't help with that." {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

func TestCancellationReturnsAtOnce(t *testing.T) {
	t.Parallel()
	for _, after := range []int{0, 2} {
		t.Run(fmt.Sprintf("after %d chunks", after), func(t *testing.T) {
			t.Parallel()
			arrived := make(chan struct{}, 1)
			s := start(t, func(openaitest.Request) openaitest.Reply {
				arrived <- struct{}{}
				return openaitest.Reply{Text: "a long story", Hold: make(chan struct{}), HoldAfter: after}
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
	s := start(t, openaitest.Script(
		openaitest.Reply{Calls: []openaitest.Call{{ID: "c1", Name: "bash", Args: `{"command":"ls"}`}}},
		openaitest.Reply{Text: "Two files."},
	))
	m := model(t, s, func(c *openai.Config) {
		c.Params = map[string]any{"temperature": 0.25, "max_tokens": 900, "stop": []string{"END"}}
	})
	req := ask("what is here?")
	req.Tools = []tool.Definition{{Name: "bash", Description: "Runs a command.", Schema: json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}`)}}
	first, err := m.Generate(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	req.Messages = append(req.Messages, first.Message, llm.Message{Role: llm.RoleTool, ProviderID: "c1", ToolName: "bash", ToolStatus: "success", Content: "a b"})
	second, err := m.Generate(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if second.Message.Content != "Two files." {
		t.Errorf("answer: %q", second.Message.Content)
	}
	last := s.Requests()[1]
	want := []openaitest.Message{
		{Role: "user", Content: "what is here?"},
		{Role: "assistant", ToolCalls: []openaitest.Call{{ID: "c1", Name: "bash", Args: `{"command":"ls"}`}}},
		{Role: "tool", Content: "a b", ToolCallID: "c1"},
	}
	if diff := cmp.Diff(want, last.Messages); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(req.Tools[0].Schema, last.Tools[0].Parameters, cmp.Transformer("json", func(r json.RawMessage) (v any) {
		_ = json.Unmarshal(r, &v)
		return v
	})); diff != "" {
		t.Error(diff)
	}
	var body struct {
		Temperature   float64  `json:"temperature"`
		MaxTokens     int      `json:"max_tokens"`
		Stop          []string `json:"stop"`
		Stream        bool     `json:"stream"`
		StreamOptions struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	if err := json.Unmarshal(last.Raw, &body); err != nil {
		t.Fatal(err)
	}
	if body.Temperature != 0.25 || body.MaxTokens != 900 || !slices.Equal(body.Stop, []string{"END"}) || !body.Stream || !body.StreamOptions.IncludeUsage {
		t.Errorf("body: %s", last.Raw)
	}
}

package anthropic_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdpoint/llm"
	"holdpoint/llm/anthropic"
	"holdpoint/llm/anthropic/anthropictest"
	"holdpoint/tool"
)

// TestWhatAModelOnceWroteIsTakenBack sends a transcript with all that a model may have got wrong to an endpoint
// that applies Anthropic's rules.
func TestWhatAModelOnceWroteIsTakenBack(t *testing.T) {
	t.Parallel()
	s := start(t, anthropictest.Text("done"))
	req := ask("go")
	req.Tools = []tool.Definition{{Name: "bash"}}
	turn := llm.Message{Role: llm.RoleAssistant, ToolCalls: []llm.ToolCall{
		{ProviderID: "x", Name: "bash", Args: `{"command":"ls"}`},
		{ProviderID: "x", Name: "bash", Args: `{"command": "ls`},
		{ProviderID: "", Name: "", Args: ``},
		{ProviderID: "func:1/é", Name: "rm -rf /\n", Args: `[1,2]`},
		{ProviderID: "x_2", Name: strings.Repeat("n", 200), Args: `"text"`},
	}}
	for range 2 { // the same ids in two turns are not legal
		req.Messages = append(req.Messages, turn)
		for i, call := range turn.ToolCalls {
			req.Messages = append(req.Messages, llm.Message{Role: llm.RoleTool, ProviderID: call.ProviderID, Content: fmt.Sprint("result ", i)})
		}
	}
	if _, err := model(t, s).Generate(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	sent := s.Requests()[0].Messages
	ids := [][]string{{"x", "x_3", "call_3", "func_1__", "x_2"}, {"x_4", "x_5", "call_4", "func_1___4", "x_2_5"}}
	for i, at := range []int{1, 3} {
		want := []anthropictest.Call{
			{ID: ids[i][0], Name: "bash", Args: `{"command":"ls"}`},
			{ID: ids[i][1], Name: "bash", Args: `{"invalid_arguments":"{\"command\": \"ls"}`},
			{ID: ids[i][2], Name: "unnamed", Args: `{}`},
			{ID: ids[i][3], Name: "rm_-rf___", Args: `{"invalid_arguments":"[1,2]"}`},
			{ID: ids[i][4], Name: strings.Repeat("n", 64), Args: `{"invalid_arguments":"\"text\""}`},
		}
		if diff := cmp.Diff(want, sent[at].Calls()); diff != "" {
			t.Error(diff)
		}
		for n, b := range sent[at+1].Results() {
			if b.ToolUseID != ids[i][n] || b.Text != fmt.Sprint("result ", n) {
				t.Errorf("result %d: %+v", n, b)
			}
		}
	}
}

func TestConversationsThatTheAPIHasNoFormFor(t *testing.T) {
	t.Parallel()
	say := func(role llm.Role, text string) llm.Message { return llm.Message{Role: role, Content: text} }
	call := llm.Message{Role: llm.RoleAssistant, Content: " \n", ToolCalls: []llm.ToolCall{{ProviderID: "a", Name: "t"}}}
	for _, tc := range []struct {
		name     string
		messages []llm.Message
		system   string
		want     []string // each message of the wire: its role and its texts
	}{
		{"users in a row", []llm.Message{say(llm.RoleUser, "a"), say(llm.RoleUser, "b")}, "Be kind.", []string{"user: a | b"}},
		{"assistants in a row", []llm.Message{say(llm.RoleUser, "a"), say(llm.RoleAssistant, "b"), say(llm.RoleAssistant, "c"), say(llm.RoleUser, "d")}, "Be kind.",
			[]string{"user: a", "assistant: b | c", "user: d"}},
		{"nothing said", []llm.Message{say(llm.RoleUser, ""), say(llm.RoleAssistant, ""), say(llm.RoleUser, "\t")}, "Be kind.", []string{"user: (an empty message)"}},
		{"an empty message between answers", []llm.Message{say(llm.RoleUser, "a"), say(llm.RoleAssistant, "b"), say(llm.RoleUser, ""), say(llm.RoleAssistant, "c"), say(llm.RoleUser, "d")}, "Be kind.",
			[]string{"user: a", "assistant: b", "user: (an empty message)", "assistant: c", "user: d"}},
		{"an assistant at both ends", []llm.Message{say(llm.RoleAssistant, "a")}, "Be kind.",
			[]string{"user: (The conversation begins with your answer.)", "assistant: a", "user: Go on."}},
		{"instructions first", []llm.Message{say(llm.RoleSystem, "Be brief."), say(llm.RoleSystem, " "), say(llm.RoleUser, "a")}, "Be kind.\n\nBe brief.", []string{"user: a"}},
		{"instructions midway", []llm.Message{say(llm.RoleUser, "a"), say(llm.RoleAssistant, "b"), say(llm.RoleSystem, "Be brief."), say(llm.RoleSystem, "")}, "Be kind.",
			[]string{"user: a", "assistant: b", "user: System: Be brief."}},
		{"a call and its result without a word", []llm.Message{say(llm.RoleUser, "a"), call, {Role: llm.RoleTool, ProviderID: "a"}, say(llm.RoleUser, "")}, "Be kind.",
			[]string{"user: a", "assistant: t()", "user: =a()"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, anthropictest.Text("fine"))
			if _, err := model(t, s).Generate(t.Context(), llm.Request{System: "Be kind.", Messages: tc.messages}); err != nil {
				t.Fatal(err)
			}
			sent := s.Requests()[0]
			if diff := cmp.Diff(tc.want, spoken(sent.Messages)); diff != "" || sent.System != tc.system {
				t.Error(sent.System, diff)
			}
		})
	}
}

func spoken(messages []anthropictest.Message) []string {
	var out []string
	for _, m := range messages {
		var parts []string
		for _, b := range m.Blocks {
			switch b.Type {
			case "tool_use":
				parts = append(parts, b.Name+"()")
			case "tool_result":
				parts = append(parts, "="+b.ToolUseID+"("+b.Text+")")
			default:
				parts = append(parts, b.Text)
			}
		}
		out = append(out, m.Role+": "+strings.Join(parts, " | "))
	}
	return out
}

func TestRequestsThatAreNotSent(t *testing.T) {
	t.Parallel()
	s := start(t, anthropictest.Text("hi"))
	m := model(t, s)
	call := llm.Message{Role: llm.RoleAssistant, ToolCalls: []llm.ToolCall{{ProviderID: "a", Name: "bash"}}}
	for _, tc := range []struct {
		name  string
		req   llm.Request
		words string
	}{
		{"an unanswered call", llm.Request{Messages: []llm.Message{call}}, "has no tool message"},
		{"an orphan", llm.Request{Messages: []llm.Message{{Role: llm.RoleTool, ProviderID: "a"}}}, "no tool call awaits"},
		{"an empty transcript", llm.Request{System: "be kind"}, "empty"},
		{"nothing but instructions", llm.Request{Messages: []llm.Message{{Role: llm.RoleSystem, Content: "be kind"}}}, "empty"},
		{"an unknown role", llm.Request{Messages: []llm.Message{{Role: "oracle"}}}, `unknown role "oracle"`},
		{"a schema that is no object", llm.Request{Messages: ask("hi").Messages, Tools: []tool.Definition{{Name: "t", Schema: json.RawMessage(`[]`)}}}, `tool "t"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := m.Generate(t.Context(), tc.req)
			wantError(t, err, llm.ErrBadRequest, tc.words)
		})
	}
	if n := len(s.Requests()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestConfigurationIsChecked(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		cfg   anthropic.Config
		words string // "" means that it is right
	}{
		{"the least", anthropic.Config{Model: "m"}, ""},
		{"no model", anthropic.Config{}, "model:"},
		{"not http", anthropic.Config{Model: "m", BaseURL: "localhost:11434/v1"}, "base_url:"},
		{"no URL", anthropic.Config{Model: "m", BaseURL: "http://a b/:" + key}, "base_url:"},
		{"a password", anthropic.Config{Model: "m", BaseURL: "https://u:" + "sk-pw" + "@h/v1"}, "use api_key"},
		{"a query", anthropic.Config{Model: "m", BaseURL: "https://h/v1?k=v"}, "query"},
		{"a key with a line break", anthropic.Config{Model: "m", APIKey: key + "\n"}, "api_key:"},
		{"a negative timeout", anthropic.Config{Model: "m", Timeout: -time.Second}, "timeout:"},
		{"a reserved parameter", anthropic.Config{Model: "m", Params: map[string]any{"system": "x"}}, "params.system"},
		{"a parameter that is not JSON", anthropic.Config{Model: "m", Params: map[string]any{"f": func() {}}}, "params.f"},
		{"thinking that must be sent back", anthropic.Config{Model: "m", Params: map[string]any{"thinking": map[string]any{"type": "enabled", "budget_tokens": 1024}}}, "{type: adaptive}"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := anthropic.New(tc.cfg)
			if tc.words == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.words) {
				t.Fatalf("got %v, want one with %q", err, tc.words)
			}
			if strings.Contains(err.Error(), key) || strings.Contains(err.Error(), "sk-pw") {
				t.Errorf("a secret shows in %q", err)
			}
		})
	}
}

func TestTheKeyIsNeverPrinted(t *testing.T) {
	t.Parallel()
	cfg := anthropic.Config{Model: "m", APIKey: key, BaseURL: "https://example.com"}
	m, err := anthropic.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	logged, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	wrapped := struct{ Cfg anthropic.Config }{cfg}
	for _, printed := range []string{
		fmt.Sprint(m), fmt.Sprintf("%+v", m), fmt.Sprintf("%#v", m), fmt.Sprintf("%+v", *m), fmt.Sprintf("%#v", *m),
		fmt.Sprint(cfg), fmt.Sprintf("%+v", cfg), fmt.Sprintf("%#v", cfg), fmt.Sprintf("%+v", &cfg), string(logged), fmt.Sprintf("%+v", wrapped),
	} {
		if strings.Contains(printed, key) {
			t.Errorf("the key shows in %q", printed)
		}
	}
}

// TestTheEnvironmentIsNotRead guards against the SDK's client, which takes settings from the environment. It sets
// variables, so it is not parallel.
func TestTheEnvironmentIsNotRead(t *testing.T) {
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1/elsewhere")
	t.Setenv("ANTHROPIC_API_KEY", "sk-from-the-environment")
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "token-from-the-environment")
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Leak: yes")
	s := start(t, anthropictest.Text("hi"))
	if _, err := model(t, s, func(c *anthropic.Config) { c.APIKey = "" }).Generate(t.Context(), ask("hello")); err != nil {
		t.Fatal(err)
	}
	header := s.Requests()[0].Header
	for _, name := range []string{"Authorization", "X-Api-Key", "X-Leak"} {
		if got := header.Get(name); got != "" {
			t.Errorf("%s: %q was sent", name, got)
		}
	}
}

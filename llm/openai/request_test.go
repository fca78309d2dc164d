package openai_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdpoint/llm"
	"holdpoint/llm/openai"
	"holdpoint/llm/openai/openaitest"
	"holdpoint/tool"
)

func redirecting(t *testing.T, to string) string {
	t.Helper()
	s := httptest.NewServer(http.RedirectHandler(to, http.StatusTemporaryRedirect))
	t.Cleanup(s.Close)
	return s.URL
}

// TestWhatAModelOnceWroteIsTakenBack sends a transcript with all that a model may have got wrong to an endpoint
// that applies OpenAI's rules.
func TestWhatAModelOnceWroteIsTakenBack(t *testing.T) {
	t.Parallel()
	s := start(t, openaitest.Text("done"))
	req := ask("go")
	req.Tools = []tool.Definition{{Name: "bash"}}
	turn := llm.Message{Role: llm.RoleAssistant, ToolCalls: []llm.ToolCall{
		{ProviderID: "x", Name: "bash", Args: `{"command":"ls"}`},
		{ProviderID: "x", Name: "bash", Args: `{"command": "ls`},
		{ProviderID: "", Name: "", Args: ``},
		{ProviderID: "", Name: "rm -rf /\n", Args: `[1,2]`},
		{ProviderID: "x_2", Name: strings.Repeat("n", 100), Args: `"text"`},
	}}
	for range 2 { // the same ids in two turns are legal
		req.Messages = append(req.Messages, turn)
		for i, call := range turn.ToolCalls {
			req.Messages = append(req.Messages, llm.Message{Role: llm.RoleTool, ProviderID: call.ProviderID, Content: fmt.Sprint("result ", i)})
		}
	}
	req.Messages = append(req.Messages, llm.Message{Role: llm.RoleAssistant}, llm.Message{Role: llm.RoleSystem, Content: "hurry"})
	if _, err := model(t, s).Generate(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	sent := s.Requests()[0].Messages
	want := []openaitest.Call{
		{ID: "x", Name: "bash", Args: `{"command":"ls"}`},
		{ID: "x_3", Name: "bash", Args: `{"invalid_arguments":"{\"command\": \"ls"}`},
		{ID: "call_3", Name: "unnamed", Args: `{}`},
		{ID: "call_4", Name: "rm_-rf___", Args: `{"invalid_arguments":"[1,2]"}`},
		{ID: "x_2", Name: strings.Repeat("n", 64), Args: `{"invalid_arguments":"\"text\""}`},
	}
	for _, at := range []int{1, 7} {
		if diff := cmp.Diff(want, sent[at].ToolCalls); diff != "" {
			t.Error(diff)
		}
		for i := range want {
			if got := sent[at+1+i]; got.ToolCallID != want[i].ID || got.Content != fmt.Sprint("result ", i) {
				t.Errorf("answer %d: %+v", i, got)
			}
		}
	}
}

func TestRequestsThatAreNotSent(t *testing.T) {
	t.Parallel()
	s := start(t, openaitest.Text("hi"))
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
		cfg   openai.Config
		words string // "" means that it is right
	}{
		{"the least", openai.Config{Model: "m"}, ""},
		{"no model", openai.Config{}, "model:"},
		{"not http", openai.Config{Model: "m", BaseURL: "localhost:11434/v1"}, "base_url:"},
		{"no URL", openai.Config{Model: "m", BaseURL: "http://a b/:" + key}, "base_url:"},
		{"a password", openai.Config{Model: "m", BaseURL: "https://u:" + "sk-pw" + "@h/v1"}, "use api_key"},
		{"a query", openai.Config{Model: "m", BaseURL: "https://h/v1?k=v"}, "query"},
		{"a key with a line break", openai.Config{Model: "m", APIKey: key + "\n"}, "api_key:"},
		{"a negative timeout", openai.Config{Model: "m", Timeout: -time.Second}, "timeout:"},
		{"a reserved parameter", openai.Config{Model: "m", Params: map[string]any{"messages": nil}}, "params.messages"},
		{"a parameter that is not JSON", openai.Config{Model: "m", Params: map[string]any{"f": func() {}}}, "params.f"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := openai.New(tc.cfg)
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
	cfg := openai.Config{Model: "m", APIKey: key, BaseURL: "https://example.com/v1"}
	m, err := openai.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	logged, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	wrapped := struct{ Cfg openai.Config }{cfg}
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
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/elsewhere")
	t.Setenv("OPENAI_API_KEY", "sk-from-the-environment")
	t.Setenv("OPENAI_ORG_ID", "org-from-the-environment")
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Leak: yes")
	s := start(t, openaitest.Text("hi"))
	if _, err := model(t, s, func(c *openai.Config) { c.APIKey = "" }).Generate(t.Context(), ask("hello")); err != nil {
		t.Fatal(err)
	}
	header := s.Requests()[0].Header
	for _, name := range []string{"Authorization", "OpenAI-Organization", "X-Leak"} {
		if got := header.Get(name); got != "" {
			t.Errorf("%s: %q was sent", name, got)
		}
	}
}

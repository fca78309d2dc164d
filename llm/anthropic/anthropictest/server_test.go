package anthropictest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"holdpoint/llm/anthropic/anthropictest"
)

func post(t *testing.T, s *anthropictest.Server, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/v1/messages", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Anthropic-Version", "2026-10-21")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close() //nolint:errcheck // read below
	got, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(got)
}

// rules are conversations and what the endpoint says of them; "" means that it takes them.
var rules = []struct {
	name     string
	messages []string
	want     string
}{
	{"a user message", []string{user}, ""},
	{"results in order", []string{user, calls, results(result("a"), result("b"))}, ""},
	{"results in another order", []string{user, calls, results(result("b"), result("a"), more)}, ""},
	{"no result", []string{user, calls, user}, "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: a, b. Each"},
	{"calls at the end", []string{user, calls}, "prefill"},
	{"a result missing", []string{user, calls, results(result("a"))}, "immediately after: b."},
	{"a result after other content", []string{user, calls, results(result("a"), more, result("b"))}, "immediately after: b."},
	{"a result two messages on", []string{user, calls, results(result("a")), said, results(result("b"))}, "immediately after: b."},
	{"a result twice", []string{user, calls, results(result("a"), result("a"), result("b"))}, "messages.2.content.1: each tool_use must have a single result"},
	{"a result of nothing", []string{user, said, results(result("a"))}, "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: a."},
	{"a result in an answer", []string{user, `{"role":"assistant","content":[` + result("a") + `]}`, user}, "can only be in `user` messages"},
	{"a call of a user", []string{strings.Replace(calls, "assistant", "user", 1)}, "can only be in `assistant` messages"},
	{"an id twice in a turn", []string{user, strings.Replace(calls, `"id":"b"`, `"id":"a"`, 1), results(result("a"))}, "ids must be unique"},
	{"an id twice in a conversation", []string{user, calls, results(result("a"), result("b")), calls, results(result("a"), result("b"))}, "messages.3.content.0: `tool_use` ids must be unique"},
	{"an odd id", []string{user, strings.Replace(calls, `"id":"b"`, `"id":"b:1"`, 1), user}, "tool_use.id: String should match pattern"},
	{"a nameless call", []string{user, strings.Replace(calls, `"name":"f"`, `"name":""`, 1), user}, "tool_use.name"},
	{"arguments that are no object", []string{user, strings.Replace(calls, `"input":{}`, `"input":"{}"`, 1), user}, "valid dictionary"},
	{"an assistant first", []string{said, user}, "first message"},
	{"two users", []string{user, user}, `multiple "user" roles in a row`},
	{"an unknown role", []string{`{"role":"oracle","content":"hm"}`}, "messages.0.role"},
	{"an empty text", []string{`{"role":"user","content":""}`}, "must be non-empty"},
	{"a blank text", []string{`{"role":"user","content":[{"type":"text","text":" \n"}]}`}, "non-whitespace"},
	{"no content", []string{`{"role":"user","content":[]}`}, "non-empty content"},
	{"no messages", nil, "at least one message"},
}

const (
	user  = `{"role":"user","content":[{"type":"text","text":"hello"}]}`
	said  = `{"role":"assistant","content":"hm"}`
	more  = `{"type":"text","text":"and?"}`
	calls = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"tool_use","id":"b","name":"f","input":{}}]}`
)

func result(id string) string {
	return `{"type":"tool_result","tool_use_id":"` + id + `","content":"ok"}`
}

func results(blocks ...string) string {
	return `{"role":"user","content":[` + strings.Join(blocks, ",") + `]}`
}

func TestRulesOfTheRealEndpoint(t *testing.T) {
	t.Parallel()
	for _, tc := range rules {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			wantAnswer(t, `{"model":"m","max_tokens":9,"messages":[`+strings.Join(tc.messages, ",")+`]}`, tc.want)
		})
	}
}

func TestRulesOfARequest(t *testing.T) {
	t.Parallel()
	const rest = `"messages":[` + user + `]}`
	tool := func(name, schema string) string { return `{"name":"` + name + `","input_schema":` + schema + `}` }
	for name, tc := range map[string]struct{ body, want string }{
		"the least":             {`{"model":"m","max_tokens":9,` + rest, ""},
		"no model":              {`{"max_tokens":9,` + rest, "model: Field required"},
		"no limit":              {`{"model":"m",` + rest, "max_tokens: Field required"},
		"a temperature":         {`{"model":"m","max_tokens":9,"temperature":1,` + rest, "temperature:"},
		"a blank system prompt": {`{"model":"m","max_tokens":9,"system":" ",` + rest, "system: text"},
		"a choice of nothing":   {`{"model":"m","max_tokens":9,"tool_choice":{"type":"any"},` + rest, "tool_choice:"},
		"a tool":                {`{"model":"m","max_tokens":9,"tools":[` + tool("t", `{"type":"object"}`) + `],` + rest, ""},
		"a tool without a type": {`{"model":"m","max_tokens":9,"tools":[` + tool("t", `{}`) + `],` + rest, "input_schema.type"},
		"an odd tool":           {`{"model":"m","max_tokens":9,"tools":[` + tool("a.b", `{}`) + `],` + rest, "tools.0.custom.name"},
		"a tool twice":          {`{"model":"m","max_tokens":9,"tools":[` + tool("t", `{"type":"object"}`) + `,` + tool("t", `{"type":"object"}`) + `],` + rest, "must be unique"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantAnswer(t, tc.body, tc.want)
		})
	}
}

func wantAnswer(t *testing.T, body, refused string) {
	t.Helper()
	s := anthropictest.Start(anthropictest.Text("fine"))
	t.Cleanup(s.Close)
	status, answer := post(t, s, body)
	if refused == "" {
		if status != 200 || !strings.Contains(answer, `"text":"fine"`) || len(s.Violations()) != 0 {
			t.Errorf("refused: %d %s", status, answer)
		}
		return
	}
	var refusal struct {
		Type  string
		Error struct{ Message, Type string }
	}
	if err := json.Unmarshal([]byte(answer), &refusal); err != nil {
		t.Fatal(err)
	}
	if status != 400 || refusal.Type != "error" || refusal.Error.Type != "invalid_request_error" || !strings.Contains(refusal.Error.Message, refused) {
		t.Errorf("got %d %s, want 400 with %q", status, answer, refused)
	}
	if got := s.Violations(); len(got) != 1 || got[0] != refusal.Error.Message {
		t.Errorf("violations: %q", got)
	}
}

func TestHeldRepliesGoOnWhenReleased(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	arrived := make(chan struct{})
	s := anthropictest.Start(func(anthropictest.Request) anthropictest.Reply {
		close(arrived)
		return anthropictest.Reply{Text: "at last", Hold: hold, HoldAfter: 1}
	})
	t.Cleanup(s.Close)
	go func() {
		<-arrived
		close(hold)
	}()
	status, body := post(t, s, `{"model":"m","max_tokens":9,"stream":true,"messages":[`+user+`]}`)
	if status != 200 || !strings.HasPrefix(body, "event: message_start\n") || !strings.HasSuffix(body, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n") {
		t.Errorf("got %d %s", status, body)
	}
}

func TestCloseEndsHeldReplies(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{})
	s := anthropictest.Start(func(anthropictest.Request) anthropictest.Reply {
		close(arrived)
		return anthropictest.Reply{Hold: make(chan struct{})}
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		req, err := http.NewRequest(http.MethodPost, s.URL()+"/v1/messages", strings.NewReader(`{"model":"m","max_tokens":9,"messages":[`+user+`]}`))
		if err != nil {
			return
		}
		req.Header.Set("Anthropic-Version", "2026-10-21")
		if res, err := http.DefaultClient.Do(req); err == nil {
			_ = res.Body.Close()
		}
	}()
	<-arrived
	s.Close()
	s.Close()
	<-done
}

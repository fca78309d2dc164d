package openaitest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"holdpoint/llm/openai/openaitest"
)

func post(t *testing.T, s *openaitest.Server, body string) (int, string) {
	t.Helper()
	res, err := http.Post(s.URL()+"/chat/completions", "application/json", strings.NewReader(body))
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

func TestRulesOfTheRealEndpoint(t *testing.T) {
	t.Parallel()
	const user = `{"role":"user","content":[{"type":"text","text":"hel"},{"type":"text","text":"lo"}]}`
	const calls = `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	answer := func(id string) string { return `{"role":"tool","tool_call_id":"` + id + `","content":"ok"}` }
	for _, tc := range []struct {
		name     string
		messages []string
		want     string // part of the refusal; "" means taken
	}{
		{"a user message", []string{user}, ""},
		{"answers in order", []string{user, calls, answer("a"), answer("b")}, ""},
		{"answers in another order", []string{user, calls, answer("b"), answer("a")}, ""},
		{"no answer", []string{user, calls}, "must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: a, b"},
		{"one answer missing", []string{user, calls, answer("a"), user}, "did not have response messages: b"},
		{"an answer twice", []string{user, calls, answer("a"), answer("a"), answer("b")}, "Duplicate value"},
		{"an answer too many", []string{user, calls, answer("a"), answer("b"), answer("b")}, "Duplicate value"},
		{"an answer to nothing", []string{user, answer("a")}, "must be a response to a preceeding message"},
		{"an answer to another call", []string{user, calls, answer("a"), answer("z")}, "not found"},
		{"an id twice in a turn", []string{user, strings.ReplaceAll(calls, `"id":"b"`, `"id":"a"`), answer("a")}, "Duplicate or empty"},
		{"a nameless call", []string{user, strings.ReplaceAll(calls, `"name":"f"`, `"name":""`), answer("a"), answer("b")}, "function.name"},
		{"an unknown role", []string{`{"role":"oracle","content":"hm"}`}, "Invalid value: 'oracle'"},
		{"no messages", nil, "empty array"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := openaitest.Start(openaitest.Text("fine"))
			t.Cleanup(s.Close)
			status, body := post(t, s, `{"model":"m","messages":[`+strings.Join(tc.messages, ",")+`]}`)
			if tc.want == "" {
				if status != 200 || !strings.Contains(body, `"content":"fine"`) || len(s.Violations()) != 0 {
					t.Errorf("refused: %d %s", status, body)
				}
				if got := s.Requests()[0].Messages[0].Content; got != "hello" {
					t.Errorf("decoded content: %q", got)
				}
				return
			}
			var refusal struct {
				Error struct{ Message, Type string }
			}
			if err := json.Unmarshal([]byte(body), &refusal); err != nil {
				t.Fatal(err)
			}
			if status != 400 || refusal.Error.Type != "invalid_request_error" || !strings.Contains(refusal.Error.Message, tc.want) {
				t.Errorf("got %d %s, want 400 with %q", status, body, tc.want)
			}
			if got := s.Violations(); len(got) != 1 || got[0] != refusal.Error.Message {
				t.Errorf("violations: %q", got)
			}
		})
	}
}

func TestHeldRepliesGoOnWhenReleased(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	arrived := make(chan struct{})
	s := openaitest.Start(func(openaitest.Request) openaitest.Reply {
		close(arrived)
		return openaitest.Reply{Text: "at last", Hold: hold, HoldAfter: 1}
	})
	t.Cleanup(s.Close)
	go func() {
		<-arrived
		close(hold)
	}()
	status, body := post(t, s, `{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`)
	if status != 200 || !strings.HasSuffix(body, "data: [DONE]\n\n") {
		t.Errorf("got %d %s", status, body)
	}
}

func TestCloseEndsHeldReplies(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{})
	s := openaitest.Start(func(openaitest.Request) openaitest.Reply {
		close(arrived)
		return openaitest.Reply{Hold: make(chan struct{})}
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		if res, err := http.Post(s.URL()+"/chat/completions", "application/json", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`)); err == nil {
			_ = res.Body.Close()
		}
	}()
	<-arrived
	s.Close()
	s.Close()
	<-done
}

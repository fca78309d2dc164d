package openai_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdpoint/llm"
	"holdpoint/llm/openai"
	"holdpoint/llm/openai/openaitest"
)

// wantError asserts kind and words, and that neither has the key.
func wantError(t *testing.T, err error, kind llm.ErrorKind, words string) *llm.Error {
	t.Helper()
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an *llm.Error", err)
	}
	if e.Kind != kind || !strings.Contains(e.Error(), words) {
		t.Errorf("got %q, want kind %s with %q", e, kind, words)
	}
	for _, form := range []string{e.Error(), fmt.Sprintf("%+v", e), fmt.Sprintf("%#v", e), fmt.Sprintf("%+v", errors.Unwrap(e))} {
		if strings.Contains(form, key) {
			t.Errorf("the key shows in %q", form)
		}
	}
	return e
}

func TestStatusesBecomeKinds(t *testing.T) {
	t.Parallel()
	for status, kind := range map[int]llm.ErrorKind{
		400: llm.ErrBadRequest, 401: llm.ErrAuth, 402: llm.ErrBadRequest, 403: llm.ErrAuth, 404: llm.ErrBadRequest,
		408: llm.ErrUnavailable, 413: llm.ErrBadRequest, 422: llm.ErrBadRequest, 429: llm.ErrRateLimited,
		500: llm.ErrUnavailable, 502: llm.ErrUnavailable, 503: llm.ErrUnavailable, 529: llm.ErrUnavailable,
	} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			s := start(t, func(openaitest.Request) openaitest.Reply {
				return openaitest.Reply{Status: status, Message: "you sent " + key + ", sorry"}
			})
			_, err := model(t, s).Generate(t.Context(), ask("hello"))
			e := wantError(t, err, kind, "you sent [api key], sorry")
			if e.Retryable() == (kind == llm.ErrBadRequest || kind == llm.ErrAuth) {
				t.Errorf("%s: retryable is %v", kind, e.Retryable())
			}
			if n := len(s.Requests()); n != 1 {
				t.Errorf("%d requests, want one: trying again is the caller's business", n)
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, header, value string
		atLeast, atMost     time.Duration
	}{
		{"seconds", "Retry-After", "7", 7 * time.Second, 7 * time.Second},
		{"fractions", "Retry-After", "1.5", 1500 * time.Millisecond, 1500 * time.Millisecond},
		{"milliseconds", "Retry-After-Ms", "250", 250 * time.Millisecond, 250 * time.Millisecond},
		{"a date", "Retry-After", time.Now().Add(90 * time.Second).UTC().Format(http.TimeFormat), 30 * time.Second, 90 * time.Second},
		{"a date that has passed", "Retry-After", "Mon, 02 Jan 2006 15:04:05 GMT", 0, 0},
		{"longer than a day", "Retry-After", "1e300", 24 * time.Hour, 24 * time.Hour},
		{"out of range", "Retry-After", "1e999", 24 * time.Hour, 24 * time.Hour},
		{"negative", "Retry-After", "-5", 0, 0},
		{"not a number", "Retry-After", "NaN", 0, 0},
		{"nonsense", "Retry-After", "soon", 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := generate(t, openaitest.Reply{Status: 429, Message: "slow down", Header: http.Header{tc.header: {tc.value}}})
			e := wantError(t, err, llm.ErrRateLimited, "slow down")
			if e.RetryAfter < tc.atLeast || e.RetryAfter > tc.atMost {
				t.Errorf("retry after %s, want %s to %s", e.RetryAfter, tc.atLeast, tc.atMost)
			}
		})
	}
}

func TestBrokenStreamsAreMalformed(t *testing.T) {
	t.Parallel()
	call := []openaitest.Call{{ID: "a", Name: "bash", Args: `{"command":"echo this is cut somewhere"}`}}
	many := make([]openaitest.Call, openai.MaxCalls+1)
	for i := range many {
		many[i] = openaitest.Call{ID: fmt.Sprint("c", i), Name: "bash"}
	}
	big := `{"choices":[{"index":0,"delta":{"content":"` + strings.Repeat("x", 1<<20) + `"}}]}`
	for _, tc := range []struct {
		name  string
		reply openaitest.Reply
		words string
	}{
		{"the connection breaks in a tool call", openaitest.Reply{Calls: call, Cut: &openaitest.Cut{Events: 5}}, "cut before its end"},
		{"the connection breaks in an event", openaitest.Reply{Calls: call, Cut: &openaitest.Cut{Bytes: 700}}, "cut before its end"},
		{"the connection breaks at once", openaitest.Reply{Text: "hello", Cut: &openaitest.Cut{Bytes: 1}}, "cut before its end"},
		{"the stream ends cleanly in a tool call", openaitest.Reply{Calls: call, Cut: &openaitest.Cut{Events: 5, Clean: true}}, "before the model had finished"},
		{"done without a finish reason", openaitest.Reply{Text: "hello", Finish: "none"}, "before the model had finished"},
		{"no choices", openaitest.Reply{Text: "hello", EmptyChoices: true}, "no choices"},
		{"nothing at all", openaitest.Reply{Raw: []string{}}, "no choices"},
		{"a chunk that is not JSON", openaitest.Reply{Raw: []string{`{"choices":[{"index":0,"delta":{"content":"hi"`, "[DONE]"}}, "can't be read"},
		{"a chunk that is a number", openaitest.Reply{Raw: []string{`42`, "[DONE]"}}, "can't be read"},
		{"another format altogether", openaitest.Reply{Raw: []string{`{"type":"message_start"}`}}, "no choices"},
		{"a finish reason that says error", openaitest.Reply{Text: "hello", Finish: "error"}, "broke off"},
		{"functions of old", openaitest.Reply{Finish: "function_call"}, "function_call"},
		{"too many calls", openaitest.Reply{Calls: many}, "more than 256 tool calls"},
		{"too much text", openaitest.Reply{Raw: []string{big, big, big, big, big}}, "larger than 4 MiB"},
		{"JSON in place of a stream", openaitest.Reply{Header: http.Header{"Content-Type": {"application/json"}}, Raw: []string{key}}, "instead of an event stream"},
		{"a web page", openaitest.Reply{Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}}, Raw: []string{"<html>"}}, "check base_url"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := generate(t, tc.reply)
			wantError(t, err, llm.ErrMalformed, tc.words)
		})
	}
}

func TestErrorsInsideAStream(t *testing.T) {
	t.Parallel()
	for event, kind := range map[string]llm.ErrorKind{
		`{"error":{"message":"overloaded","type":"server_error"}}`:                        llm.ErrUnavailable,
		`{"error":{"message":"slow","code":"rate_limit_exceeded"}}`:                       llm.ErrRateLimited,
		`{"error":{"message":"slow","code":429}}`:                                         llm.ErrRateLimited,
		`{"error":{"message":"no","type":"invalid_request_error"}}`:                       llm.ErrBadRequest,
		`{"error":{"message":"who are you, ` + key + `?","type":"authentication_error"}}`: llm.ErrAuth,
		`{"error":"` + key + ` broke"}`:                                                   llm.ErrUnavailable,
	} {
		t.Run(event, func(t *testing.T) {
			t.Parallel()
			_, err := generate(t, openaitest.Reply{Raw: []string{`{"choices":[{"index":0,"delta":{"content":"hi"}}]}`, event}})
			wantError(t, err, kind, "broke off")
		})
	}
}

func TestUnreachableEndpoints(t *testing.T) {
	t.Parallel()
	t.Run("nobody listens", func(t *testing.T) {
		t.Parallel()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		url := "http://" + l.Addr().String() + "/v1"
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		m, err := openai.New(openai.Config{BaseURL: url, APIKey: key, Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Generate(t.Context(), ask("hello"))
		wantError(t, err, llm.ErrUnavailable, "can't be reached")
	})
	for _, after := range []int{0, 2} {
		t.Run(fmt.Sprintf("no answer in time, after %d chunks", after), func(t *testing.T) {
			t.Parallel()
			s := start(t, openaitest.Script(openaitest.Reply{Text: "a long story", Hold: make(chan struct{}), HoldAfter: after}))
			m := model(t, s, func(c *openai.Config) { c.Timeout = 50 * time.Millisecond })
			_, err := m.Generate(t.Context(), ask("hello"))
			wantError(t, err, llm.ErrUnavailable, "within 50ms")
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v does not wrap the deadline", err)
			}
		})
	}
	t.Run("a redirect is not followed", func(t *testing.T) {
		t.Parallel()
		elsewhere := start(t, openaitest.Text("stolen"))
		// A reply can't redirect, so a mux stands in for the endpoint.
		s := redirecting(t, elsewhere.URL()+"/chat/completions")
		m, err := openai.New(openai.Config{BaseURL: s, APIKey: key, Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Generate(t.Context(), ask("hello"))
		wantError(t, err, llm.ErrBadRequest, "redirect")
		if n := len(elsewhere.Requests()); n != 0 {
			t.Errorf("%d requests went where the redirect pointed", n)
		}
	})
	t.Run("a path that the endpoint does not have", func(t *testing.T) {
		t.Parallel()
		s := start(t, openaitest.Text("hi"))
		_, err := model(t, s, func(c *openai.Config) { c.BaseURL += "/nowhere" }).Generate(t.Context(), ask("hello"))
		wantError(t, err, llm.ErrBadRequest, "404")
	})
}

package anthropic_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"holdpoint/llm"
	"holdpoint/llm/anthropic"
	"holdpoint/llm/anthropic/anthropictest"
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
		500: llm.ErrUnavailable, 502: llm.ErrUnavailable, 503: llm.ErrUnavailable, 504: llm.ErrUnavailable, 529: llm.ErrUnavailable,
	} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			s := start(t, func(anthropictest.Request) anthropictest.Reply {
				return anthropictest.Reply{
					Status: status, Message: "you sent " + key + ", sorry",
					Header: http.Header{"Retry-After": {"7"}, "X-Should-Retry": {"true"}},
				}
			})
			_, err := model(t, s).Generate(t.Context(), ask("hello"))
			e := wantError(t, err, kind, "you sent [api key], sorry")
			final := kind == llm.ErrBadRequest || kind == llm.ErrAuth
			if e.Retryable() == final || (e.RetryAfter == 7*time.Second) == final {
				t.Errorf("%s: retryable is %v, after %s", kind, e.Retryable(), e.RetryAfter)
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
		{"milliseconds", "Retry-After-Ms", "250", 250 * time.Millisecond, 250 * time.Millisecond},
		{"a date", "Retry-After", time.Now().Add(90 * time.Second).UTC().Format(http.TimeFormat), 30 * time.Second, 90 * time.Second},
		{"longer than a day", "Retry-After", "1e300", 24 * time.Hour, 24 * time.Hour},
		{"nonsense", "Retry-After", "soon", 0, 0},
		{"nothing", "X-Other", "7", 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := generate(t, anthropictest.Reply{Status: 429, Message: "slow down", Header: http.Header{tc.header: {tc.value}}})
			e := wantError(t, err, llm.ErrRateLimited, "slow down")
			if e.RetryAfter < tc.atLeast || e.RetryAfter > tc.atMost {
				t.Errorf("retry after %s, want %s to %s", e.RetryAfter, tc.atLeast, tc.atMost)
			}
		})
	}
}

func TestBrokenStreamsAreMalformed(t *testing.T) {
	t.Parallel()
	call := []anthropictest.Call{{ID: "a", Name: "bash", Args: `{"command":"echo this is cut somewhere"}`}}
	many := make([]anthropictest.Call, anthropic.MaxCalls+1)
	for i := range many {
		many[i] = anthropictest.Call{ID: fmt.Sprint("c", i), Name: "bash"}
	}
	const head = `{"type":"message_start","message":{"type":"message","role":"assistant","content":[]}}`
	big := `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + strings.Repeat("x", 1<<20) + `"}}`
	for _, tc := range []struct {
		name  string
		reply anthropictest.Reply
		words string
	}{
		{"the connection breaks in a tool call", anthropictest.Reply{Calls: call, Cut: &anthropictest.Cut{Events: 5}}, "cut before its end"},
		{"the connection breaks in an event", anthropictest.Reply{Calls: call, Cut: &anthropictest.Cut{Bytes: 700}}, "cut before its end"},
		{"the connection breaks at once", anthropictest.Reply{Text: "hello", Cut: &anthropictest.Cut{Bytes: 1}}, "cut before its end"},
		{"the stream ends cleanly in a tool call", anthropictest.Reply{Calls: call, Cut: &anthropictest.Cut{Events: 5, Clean: true}}, "before the model had finished"},
		{"the end has no stop reason", anthropictest.Reply{Text: "hello", Stop: "none"}, "before the model had finished"},
		{"a tool call that does not come", anthropictest.Reply{Text: "hello", Stop: "tool_use"}, "none came"},
		{"nothing at all", anthropictest.Reply{Raw: []string{}}, "no message"},
		{"an event that is not JSON", anthropictest.Reply{Raw: []string{head, `{"type":"content_block_delta","index":0`}}, "can't be read"},
		{"an event that is a number", anthropictest.Reply{Raw: []string{`42`}}, "no message"},
		{"another format altogether", anthropictest.Reply{Raw: []string{`{"choices":[]}`}}, "no message"},
		{"too many calls", anthropictest.Reply{Calls: many}, "more than 256 tool calls"},
		{"too much text", anthropictest.Reply{Raw: []string{head, big, big, big, big, big}}, "larger than 4 MiB"},
		{"JSON in place of a stream", anthropictest.Reply{Header: http.Header{"Content-Type": {"application/json"}}, Raw: []string{key}}, "instead of an event stream"},
		{"a web page", anthropictest.Reply{Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}}, Raw: []string{"<html>"}}, "check base_url"},
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
	for failure, kind := range map[string]llm.ErrorKind{
		"overloaded_error": llm.ErrUnavailable, "api_error": llm.ErrUnavailable, "timeout_error": llm.ErrUnavailable,
		"rate_limit_error": llm.ErrRateLimited, "invalid_request_error": llm.ErrBadRequest, "not_found_error": llm.ErrBadRequest,
		"request_too_large": llm.ErrBadRequest, "billing_error": llm.ErrBadRequest,
		"authentication_error": llm.ErrAuth, "permission_error": llm.ErrAuth,
	} {
		t.Run(failure, func(t *testing.T) {
			t.Parallel()
			_, err := generate(t, anthropictest.Reply{Text: "hello", Calls: []anthropictest.Call{{ID: "a", Name: "bash", Args: "{}"}}, Failure: failure})
			wantError(t, err, kind, "the provider broke off its answer: it broke")
		})
	}
	for _, event := range []string{`{"type":"error","error":{"type":"api_error","message":"` + key + ` broke"}}`, `{"type":"error"}`} {
		t.Run(event, func(t *testing.T) {
			t.Parallel()
			_, err := generate(t, anthropictest.Reply{Raw: []string{event}})
			wantError(t, err, llm.ErrUnavailable, "broke off")
		})
	}
}

func TestUnreachableEndpoints(t *testing.T) {
	t.Parallel()
	at := func(t *testing.T, url string) *anthropic.Model {
		t.Helper()
		m, err := anthropic.New(anthropic.Config{BaseURL: url, APIKey: key, Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	t.Run("nobody listens", func(t *testing.T) {
		t.Parallel()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		url := "http://" + l.Addr().String()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		_, err = at(t, url).Generate(t.Context(), ask("hello"))
		wantError(t, err, llm.ErrUnavailable, "can't be reached")
	})
	for _, after := range []int{0, 3} {
		t.Run(fmt.Sprintf("no answer in time, after %d events", after), func(t *testing.T) {
			t.Parallel()
			s := start(t, anthropictest.Script(anthropictest.Reply{Text: "a long story", Hold: make(chan struct{}), HoldAfter: after}))
			m := model(t, s, func(c *anthropic.Config) { c.Timeout = 50 * time.Millisecond })
			_, err := m.Generate(t.Context(), ask("hello"))
			wantError(t, err, llm.ErrUnavailable, "within 50ms")
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v does not wrap the deadline", err)
			}
		})
	}
	t.Run("a redirect is not followed", func(t *testing.T) {
		t.Parallel()
		elsewhere := start(t, anthropictest.Text("stolen"))
		s := httptest.NewServer(http.RedirectHandler(elsewhere.URL()+"/v1/messages", http.StatusTemporaryRedirect))
		t.Cleanup(s.Close)
		_, err := at(t, s.URL).Generate(t.Context(), ask("hello"))
		wantError(t, err, llm.ErrBadRequest, "redirect")
		if n := len(elsewhere.Requests()); n != 0 {
			t.Errorf("%d requests went where the redirect pointed", n)
		}
	})
	t.Run("a path that the endpoint does not have", func(t *testing.T) {
		t.Parallel()
		s := start(t, anthropictest.Text("hi"))
		_, err := at(t, s.URL()+"/nowhere").Generate(t.Context(), ask("hello"))
		wantError(t, err, llm.ErrBadRequest, "404")
	})
}

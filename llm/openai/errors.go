package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"holdpoint/llm"
)

// guard stands between the SDK and the wire: it turns every answer that is no stream into an error of ours, read
// to a bound (the SDK reads error bodies to their end), and bounds the stream.
func (m *Model) guard(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	res, err := next(req)
	if err != nil {
		return res, err
	}
	mediaType, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if res.StatusCode/100 == 2 && mediaType != "application/json" && mediaType != "text/html" {
		res.Body = &boundedBody{ReadCloser: res.Body, left: maxWireBytes}
		return res, nil
	}
	defer res.Body.Close() //nolint:errcheck // its content is read or given up by then
	body, err := io.ReadAll(io.LimitReader(res.Body, maxErrorBytes))
	if err != nil && len(body) == 0 && res.StatusCode/100 == 2 {
		return nil, err
	}
	return nil, m.answered(res, mediaType, body)
}

// answered is the error for an answer that is not a stream.
func (m *Model) answered(res *http.Response, mediaType string, body []byte) *llm.Error {
	words := providerWords(body).text()
	if res.StatusCode/100 == 2 {
		return m.fail(llm.ErrMalformed, "the endpoint answered with %s instead of an event stream; check base_url: %s", mediaType, words)
	}
	if res.StatusCode/100 == 3 {
		return m.fail(llm.ErrBadRequest, "the endpoint answered with a redirect (%d), which is not followed; check base_url", res.StatusCode)
	}
	e := m.fail(statusKind(res.StatusCode), "the provider answered %d %s: %s", res.StatusCode, http.StatusText(res.StatusCode), words)
	if e.Retryable() {
		e.RetryAfter = retryAfter(res.Header, time.Now())
	}
	return e
}

func statusKind(status int) llm.ErrorKind {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return llm.ErrAuth
	case status == http.StatusTooManyRequests:
		return llm.ErrRateLimited
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly, status >= 500:
		return llm.ErrUnavailable
	}
	return llm.ErrBadRequest
}

// requestFailed classifies an error that came before the stream began.
func (m *Model) requestFailed(ctx, bounded context.Context, err error) *llm.Error {
	if e := m.ended(ctx, bounded); e != nil {
		return e
	}
	var ours *llm.Error
	if errors.As(err, &ours) {
		return ours
	}
	var transport *url.Error
	if errors.As(err, &transport) {
		return m.fail(llm.ErrUnavailable, "%s can't be reached: %v", m.baseURL, transport.Err)
	}
	return m.fail(llm.ErrBadRequest, "the request could not be sent: %v", err)
}

// streamFailed classifies an error in the middle of the stream.
func (m *Model) streamFailed(ctx, bounded context.Context, err error) *llm.Error {
	if e := m.ended(ctx, bounded); e != nil {
		return e
	}
	var event *ssestream.StreamError
	if errors.As(err, &event) {
		words := providerWords(event.Event.Data)
		return m.fail(words.kind(), "the provider broke off its answer: %s", words.text())
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return m.fail(llm.ErrMalformed, "the stream was cut before its end")
	}
	return m.fail(llm.ErrMalformed, "the stream can't be read: %v", err)
}

// ended is the error for a call that was stopped or took too long, nil where neither is the case.
func (m *Model) ended(ctx, bounded context.Context) *llm.Error {
	if err := ctx.Err(); err != nil {
		e := m.fail(llm.ErrUnavailable, "the call was stopped: %v", err)
		e.Err = err
		return e
	}
	if err := bounded.Err(); err != nil {
		e := m.fail(llm.ErrUnavailable, "no complete answer within %s", m.timeout)
		e.Err = err
		return e
	}
	return nil
}

// fail makes an error whose message is free of the key and bounded. Causes are not wrapped: they may quote
// headers or URLs.
func (m *Model) fail(kind llm.ErrorKind, format string, args ...any) *llm.Error {
	return &llm.Error{Kind: kind, Message: shorten(m.redact(fmt.Sprintf(format, args...)))}
}

func redactor(key string) func(string) string {
	if key == "" {
		return func(s string) string { return s }
	}
	return strings.NewReplacer(key, "[api key]", url.QueryEscape(key), "[api key]").Replace
}

func shorten(s string) string {
	s = strings.TrimSpace(strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) <= maxErrorText {
		return s
	}
	return strings.ToValidUTF8(s[:maxErrorText], "") + "…"
}

// words is what a provider said about an error.
type words struct {
	message string
	code    string
	typ     string
	raw     string // where there is no message
}

// providerWords reads the shapes in use: {"error": {message, type, code}}, {"error": "…"}, {"message": "…"},
// {"detail": "…"}; anything else is taken as text.
func providerWords(body []byte) words {
	w := words{raw: strings.TrimSpace(string(body))}
	var outer struct{ Error, Message, Detail json.RawMessage }
	if json.Unmarshal(body, &outer) != nil {
		return w
	}
	var inner struct {
		Message, Type, Code json.RawMessage
	}
	if json.Unmarshal(outer.Error, &inner) == nil {
		w.message, w.typ, w.code = asText(inner.Message), asText(inner.Type), asText(inner.Code)
	} else {
		w.message = asText(outer.Error)
	}
	for _, other := range []json.RawMessage{outer.Message, outer.Detail} {
		if w.message == "" {
			w.message = asText(other)
		}
	}
	return w
}

// asText is a JSON string's text, or any other value but null as it stands.
func asText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

func (w words) text() string {
	switch {
	case w.message != "" && w.code != "":
		return fmt.Sprintf("%s (%s)", w.message, w.code)
	case w.message != "":
		return w.message
	case w.raw != "":
		return w.raw
	}
	return "without saying why"
}

// kind classifies an error that came inside a stream, where the status was 200 already.
func (w words) kind() llm.ErrorKind {
	if status, err := strconv.Atoi(w.code); err == nil && status >= 400 && status < 600 {
		return statusKind(status)
	}
	said := w.code + " " + w.typ
	switch {
	case strings.Contains(said, "rate_limit"):
		return llm.ErrRateLimited
	case strings.Contains(said, "invalid_api_key"), strings.Contains(said, "authentication"), strings.Contains(said, "permission"):
		return llm.ErrAuth
	case strings.Contains(said, "invalid_request"), strings.Contains(said, "context_length"):
		return llm.ErrBadRequest
	}
	return llm.ErrUnavailable
}

// retryAfter reads how long to wait: milliseconds, seconds or an HTTP date. What can't be read counts as not
// said; what is longer than a day counts as a day.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if d, ok := scaled(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d
	}
	value := h.Get("Retry-After")
	if d, ok := scaled(value, time.Second); ok {
		return d
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}

func scaled(value string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || math.IsNaN(n) || n < 0 {
		return 0, false
	}
	if n >= float64(maxRetryAfter)/float64(unit) {
		return maxRetryAfter, true
	}
	return time.Duration(n * float64(unit)), true
}

// boundedBody fails once more than left bytes were read.
type boundedBody struct {
	io.ReadCloser
	left int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, fmt.Errorf("it is larger than %d MiB", maxWireBytes>>20)
	}
	return n, err
}

package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"holdpoint/llm"
)

const (
	maxWireBytes  = 128 << 20 // a stream as it comes over the wire
	maxErrorBytes = 64 << 10  // an error's body
	maxErrorText  = 500       // what of a provider's words goes into an error
)

// Endpoint is the place that an adapter talks to. It guards the way there and makes the errors, none of which
// has the key in it. It is safe for concurrent use.
type Endpoint struct {
	url     string
	timeout time.Duration
	redact  func(string) string // a closure, so that no way of printing an Endpoint shows the key
}

// NewEndpoint returns the endpoint of valid settings.
func NewEndpoint(s Settings) *Endpoint {
	return &Endpoint{url: safeURL(s.BaseURL), timeout: s.Timeout, redact: redactor(s.APIKey)}
}

// String is the endpoint's URL.
func (e *Endpoint) String() string { return e.url }

// Bound returns a context that ends when a call has had its time.
func (e *Endpoint) Bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, e.timeout)
}

// Guard stands between an SDK and the wire, as a middleware: it turns every answer that is no stream into an
// *llm.Error, read to a bound (SDKs read error bodies to their end), and bounds the stream.
func (e *Endpoint) Guard(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
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
	return nil, e.answered(res, mediaType, body)
}

// answered is the error for an answer that is not a stream.
func (e *Endpoint) answered(res *http.Response, mediaType string, body []byte) *llm.Error {
	words := readWords(body).text()
	if res.StatusCode/100 == 2 {
		return e.Fail(llm.ErrMalformed, "the endpoint answered with %s instead of an event stream; check base_url: %s", mediaType, words)
	}
	if res.StatusCode/100 == 3 {
		return e.Fail(llm.ErrBadRequest, "the endpoint answered with a redirect (%d), which is not followed; check base_url", res.StatusCode)
	}
	failed := e.Fail(statusKind(res.StatusCode), "the provider answered %s: %s", statusText(res.StatusCode), words)
	if failed.Retryable() {
		failed.RetryAfter = retryAfter(res.Header, time.Now())
	}
	return failed
}

// statusText knows the statuses that providers made up, too.
func statusText(status int) string {
	text := http.StatusText(status)
	if status == 529 {
		text = "Overloaded"
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s", status, text))
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

// RequestFailed classifies an error that came before the stream began. ctx is the caller's context and bounded
// the one that Bound made of it.
func (e *Endpoint) RequestFailed(ctx, bounded context.Context, err error) *llm.Error {
	if failed := e.ended(ctx, bounded); failed != nil {
		return failed
	}
	var ours *llm.Error
	if errors.As(err, &ours) {
		return ours
	}
	var transport *url.Error
	if errors.As(err, &transport) {
		return e.Fail(llm.ErrUnavailable, "%s can't be reached: %v", e.url, transport.Err)
	}
	return e.Fail(llm.ErrBadRequest, "the request could not be sent: %v", err)
}

// StreamFailed classifies an error in the middle of the stream. event is the provider's own word on it, nil
// where the stream itself broke.
func (e *Endpoint) StreamFailed(ctx, bounded context.Context, err error, event []byte) *llm.Error {
	if failed := e.ended(ctx, bounded); failed != nil {
		return failed
	}
	if event != nil {
		words := readWords(event)
		return e.Fail(words.kind(), "the provider broke off its answer: %s", words.text())
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return e.Fail(llm.ErrMalformed, "the stream was cut before its end")
	}
	return e.Fail(llm.ErrMalformed, "the stream can't be read: %v", err)
}

// ended is the error for a call that was stopped or took too long, nil where neither is the case.
func (e *Endpoint) ended(ctx, bounded context.Context) *llm.Error {
	if err := ctx.Err(); err != nil {
		failed := e.Fail(llm.ErrUnavailable, "the call was stopped: %v", err)
		failed.Err = err
		return failed
	}
	if err := bounded.Err(); err != nil {
		failed := e.Fail(llm.ErrUnavailable, "no complete answer within %s", e.timeout)
		failed.Err = err
		return failed
	}
	return nil
}

// Fail makes an error whose message is free of the key and bounded. Causes are not wrapped: they may quote
// headers or URLs.
func (e *Endpoint) Fail(kind llm.ErrorKind, format string, args ...any) *llm.Error {
	return &llm.Error{Kind: kind, Message: shorten(e.redact(fmt.Sprintf(format, args...)))}
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

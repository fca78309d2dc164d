// Package openai implements llm.Model over any endpoint that speaks OpenAI's chat completions: OpenAI itself,
// or a server or gateway compatible with it. Replies are always streamed; the SDK's retries are off, because
// whoever calls Generate decides about trying again.
//
// A reply that hit the token limit comes back with Truncated set. Its text and calls are kept as they came, so
// the last call's arguments are cut: they are not valid JSON and must not run. Arguments that had not begun are
// returned as "{", since empty arguments count as the empty object. A reply that a content filter cut has
// Refusal set, and its calls are to be treated the same.
//
// Errors are *llm.Error. Where the caller's context ended it is an ErrUnavailable that wraps the context's
// error. The API key is in no error and no String.
//
// Start at New. The package openaitest beside it has a server for tests.
package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"holdpoint/llm"
)

// Limits of one reply. Past them the reply is refused as malformed.
const (
	MaxReplyBytes = 4 << 20 // text, and names, ids and arguments of calls, together
	MaxCalls      = 256

	maxWireBytes   = 128 << 20 // a stream as it comes over the wire
	maxErrorBytes  = 64 << 10  // an error's body
	maxErrorText   = 500       // what of a provider's words goes into an error
	maxRetryAfter  = 24 * time.Hour
	defaultURL     = "https://api.openai.com/v1"
	defaultTimeout = 10 * time.Minute
)

// Config says which model to talk to.
type Config struct {
	// BaseURL is the endpoint without "/chat/completions". Defaults to OpenAI's. The environment is not read.
	BaseURL string
	// APIKey is sent as a bearer token; none is sent when empty.
	APIKey string
	// Model is the provider's name of the model. Required.
	Model string
	// Params go into every request as they are: temperature, max_tokens, tool_choice and so on. The keys that
	// the adapter sets itself (model, messages, tools, stream, n) are refused. A stream_options here replaces
	// the adapter's own, which asks for the token usage.
	Params map[string]any
	// HTTPClient carries the requests. Defaults to a client that does not follow redirects.
	HTTPClient *http.Client
	// Timeout bounds one call from request to the end of the stream. Defaults to 10 minutes.
	Timeout time.Duration
}

// String describes the configuration without its key.
func (c Config) String() string {
	key := "without a key"
	if c.APIKey != "" {
		key = "with a key"
	}
	return fmt.Sprintf("openai model %q at %s, %s", c.Model, safeURL(c.BaseURL), key)
}

// GoString keeps the key out of %#v.
func (c Config) GoString() string { return c.String() }

// MarshalJSON keeps the key out of structured logs.
func (c Config) MarshalJSON() ([]byte, error) { return json.Marshal(c.String()) }

// Model is one model of one endpoint. It is safe for concurrent use.
type Model struct {
	chat    sdk.ChatCompletionService
	name    string
	baseURL string
	params  map[string]any
	timeout time.Duration
	redact  func(string) string // a closure, so that no way of printing a Model shows the key
}

// New returns a model, or says which field of the configuration is wrong. It does not connect.
func New(cfg Config) (*Model, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	params, err := freezeParams(cfg.Params)
	if err != nil {
		return nil, err
	}
	m := &Model{
		name:    cfg.Model,
		baseURL: cfg.BaseURL,
		params:  params,
		timeout: cfg.Timeout,
		redact:  redactor(cfg.APIKey),
	}
	opts := []option.RequestOption{
		option.WithBaseURL(cfg.BaseURL),
		option.WithHTTPClient(cfg.HTTPClient),
		option.WithMaxRetries(0),
		option.WithMiddleware(m.guard),
	}
	if cfg.APIKey != "" {
		opts = append(opts, option.WithAPIKey(cfg.APIKey))
	}
	// The service rather than the SDK's client: that one takes keys, URLs and headers from the environment.
	m.chat = sdk.NewChatCompletionService(opts...)
	return m, nil
}

// String names the model and its endpoint.
func (m *Model) String() string { return fmt.Sprintf("openai model %q at %s", m.name, m.baseURL) }

// GoString is String, to keep %#v short and free of secrets.
func (m *Model) GoString() string { return m.String() }

// Generate asks the model once. The transcript must pass llm.CheckPairing; one that doesn't is refused as a bad
// request before anything is sent.
func (m *Model) Generate(ctx context.Context, req llm.Request) (llm.Reply, error) {
	params, err := m.wireRequest(req)
	if err != nil {
		return llm.Reply{}, m.fail(llm.ErrBadRequest, "the request was not sent: %v", err)
	}
	bounded, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	stream := m.chat.NewStreaming(bounded, params)
	defer stream.Close() //nolint:errcheck // the reply is read or given up by then
	if err := stream.Err(); err != nil {
		return llm.Reply{}, m.requestFailed(ctx, bounded, err)
	}
	acc := newAccumulator(req.Delta)
	for stream.Next() {
		if err := acc.add(stream.Current()); err != nil {
			return llm.Reply{}, m.fail(llm.ErrMalformed, "%v", err)
		}
	}
	if err := stream.Err(); err != nil {
		return llm.Reply{}, m.streamFailed(ctx, bounded, err)
	}
	reply, err := acc.reply()
	if err != nil {
		return llm.Reply{}, m.fail(llm.ErrMalformed, "%v", err)
	}
	return reply, nil
}

func (c Config) withDefaults() Config {
	if c.BaseURL == "" {
		c.BaseURL = defaultURL
	}
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	if c.HTTPClient == nil {
		// A redirect would send the transcript to a place that nobody configured.
		c.HTTPClient = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}}
	}
	return c
}

func (c Config) validate() error {
	if strings.TrimSpace(c.Model) == "" {
		return errors.New("model: a model needs the provider's name of it, such as gpt-4o-mini")
	}
	if c.Timeout < 0 {
		return fmt.Errorf("timeout: %s is negative", c.Timeout)
	}
	if strings.ContainsFunc(c.APIKey, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("api_key: the key has a space, a line break or another character that no key has")
	}
	return validateURL(c.BaseURL)
}

func validateURL(base string) error {
	u, err := url.Parse(base)
	switch {
	case err != nil:
		// The parser's error quotes the URL, which may have a password in it.
		return errors.New("base_url: not a URL")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("base_url: %q is not an http or https URL with a host", safeURL(base))
	case u.User != nil:
		return errors.New("base_url: a user or password in the URL is not supported; use api_key")
	case u.RawQuery != "" || u.Fragment != "":
		return errors.New("base_url: a query or fragment in the URL would not be sent; remove it")
	}
	return nil
}

// safeURL is a URL fit for messages: without user, password and query.
func safeURL(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return "an unreadable URL"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// freezeParams encodes the parameters once, so that what can't be sent is found at start and a later change of
// the map has no effect.
func freezeParams(params map[string]any) (map[string]any, error) {
	reserved := []string{"model", "messages", "tools", "stream", "n"}
	frozen := make(map[string]any, len(params))
	for key, value := range params {
		if slices.Contains(reserved, key) {
			return nil, fmt.Errorf("params.%s: the adapter sets %s itself", key, key)
		}
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("params.%s: can't be sent as JSON: %w", key, err)
		}
		frozen[key] = json.RawMessage(raw)
	}
	return frozen, nil
}

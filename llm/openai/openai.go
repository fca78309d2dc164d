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
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"holdpoint/llm"
	"holdpoint/llm/wire"
)

// Limits of one reply. Past them the reply is refused as malformed.
const (
	MaxReplyBytes = wire.MaxReplyBytes // text, and names, ids and arguments of calls, together
	MaxCalls      = wire.MaxCalls

	defaultURL = "https://api.openai.com/v1"
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
func (c Config) String() string { return c.settings().String() }

// GoString keeps the key out of %#v.
func (c Config) GoString() string { return c.String() }

// MarshalJSON keeps the key out of structured logs.
func (c Config) MarshalJSON() ([]byte, error) { return json.Marshal(c.String()) }

// Model is one model of one endpoint. It is safe for concurrent use.
type Model struct {
	chat     sdk.ChatCompletionService
	name     string
	endpoint *wire.Endpoint
	params   map[string]any
}

// New returns a model, or says which field of the configuration is wrong. It does not connect.
func New(cfg Config) (*Model, error) {
	cfg = cfg.withDefaults()
	if err := cfg.settings().Validate(); err != nil {
		return nil, err
	}
	params, err := wire.FreezeParams(cfg.Params, "model", "messages", "tools", "stream", "n")
	if err != nil {
		return nil, err
	}
	m := &Model{name: cfg.Model, endpoint: wire.NewEndpoint(cfg.settings()), params: params}
	opts := []option.RequestOption{
		option.WithBaseURL(cfg.BaseURL),
		option.WithHTTPClient(cfg.HTTPClient),
		option.WithMaxRetries(0),
		option.WithMiddleware(m.endpoint.Guard),
	}
	if cfg.APIKey != "" {
		opts = append(opts, option.WithAPIKey(cfg.APIKey))
	}
	// The service rather than the SDK's client: that one takes keys, URLs and headers from the environment.
	m.chat = sdk.NewChatCompletionService(opts...)
	return m, nil
}

// String names the model and its endpoint.
func (m *Model) String() string { return fmt.Sprintf("openai model %q at %s", m.name, m.endpoint) }

// GoString is String, to keep %#v short and free of secrets.
func (m *Model) GoString() string { return m.String() }

// Generate asks the model once. The transcript must pass llm.CheckPairing; one that doesn't is refused as a bad
// request before anything is sent.
func (m *Model) Generate(ctx context.Context, req llm.Request) (llm.Reply, error) {
	params, err := m.wireRequest(req)
	if err != nil {
		return llm.Reply{}, m.endpoint.Fail(llm.ErrBadRequest, "the request was not sent: %v", err)
	}
	bounded, cancel := m.endpoint.Bound(ctx)
	defer cancel()
	stream := m.chat.NewStreaming(bounded, params)
	defer stream.Close() //nolint:errcheck // the reply is read or given up by then
	if err := stream.Err(); err != nil {
		return llm.Reply{}, m.endpoint.RequestFailed(ctx, bounded, err)
	}
	acc := newAccumulator(req.Delta)
	for stream.Next() {
		if err := acc.add(stream.Current()); err != nil {
			return llm.Reply{}, m.endpoint.Fail(llm.ErrMalformed, "%v", err)
		}
	}
	if err := stream.Err(); err != nil {
		return llm.Reply{}, m.endpoint.StreamFailed(ctx, bounded, err, errorEvent(err))
	}
	reply, err := acc.reply()
	if err != nil {
		return llm.Reply{}, m.endpoint.Fail(llm.ErrMalformed, "%v", err)
	}
	return reply, nil
}

// errorEvent is what the provider said inside the stream, nil where the stream itself broke.
func errorEvent(err error) []byte {
	var event *ssestream.StreamError
	if errors.As(err, &event) {
		return event.Event.Data
	}
	return nil
}

func (c Config) withDefaults() Config {
	if c.BaseURL == "" {
		c.BaseURL = defaultURL
	}
	if c.Timeout == 0 {
		c.Timeout = wire.DefaultTimeout
	}
	if c.HTTPClient == nil {
		c.HTTPClient = wire.NewClient()
	}
	return c
}

func (c Config) settings() wire.Settings {
	return wire.Settings{Provider: "openai", Model: c.Model, Example: "gpt-4o-mini", BaseURL: c.BaseURL, APIKey: c.APIKey, Timeout: c.Timeout}
}

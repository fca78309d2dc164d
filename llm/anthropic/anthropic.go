// Package anthropic implements llm.Model over Anthropic's Messages API, or over a gateway that speaks it.
// Replies are always streamed; the SDK's retries are off, because whoever calls Generate decides about trying
// again.
//
// A reply that hit a token limit, or that ended for any other reason than the model's own, comes back with
// Truncated set. Its text and calls are kept as they came, so the last call's arguments are cut: they are not
// valid JSON and must not run. Arguments that had not begun are returned as "{", since empty arguments count as
// the empty object. A reply that the provider's classifiers stopped has Refusal set, and its calls are to be
// treated the same; where they left no text, the provider's explanation is the text.
//
// What a model thinks before it answers is not part of a transcript, so it is neither kept nor sent back.
// Adaptive thinking works without; thinking of type enabled insists on it and is refused at start.
//
// Errors are *llm.Error. Where the caller's context ended it is an ErrUnavailable that wraps the context's
// error. The API key is in no error and no String.
//
// Start at New. The package anthropictest beside it has a server for tests.
package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"holdpoint/llm"
	"holdpoint/llm/wire"
)

// Limits of one reply. Past them the reply is refused as malformed.
const (
	MaxReplyBytes = wire.MaxReplyBytes // text, and names, ids and arguments of calls, together
	MaxCalls      = wire.MaxCalls
)

// DefaultMaxTokens is how long a reply may be where Params has no max_tokens, which the API insists on. It is
// what every model in service can write. Thinking counts.
const DefaultMaxTokens = 32000

const (
	defaultURL = "https://api.anthropic.com"
	// samplingVersion is the last version of the API that has temperature, top_p and top_k.
	samplingVersion = "2023-06-01"
)

// Config says which model to talk to.
type Config struct {
	// BaseURL is the endpoint without "/v1/messages"; a "/v1" at its end does no harm. Defaults to Anthropic's.
	// The environment is not read.
	BaseURL string
	// APIKey is sent as x-api-key; none is sent when empty.
	APIKey string
	// Model is the provider's name of the model. Required.
	Model string
	// Params go into every request as they are: max_tokens, tool_choice, stop_sequences, cache_control and so
	// on. max_tokens defaults to DefaultMaxTokens. The keys that the adapter sets itself (model, messages,
	// system, tools, stream) are refused. The API dropped temperature, top_p and top_k in its version of
	// 2026-10-21: with one of them here, requests are made in the version before, which models take that still
	// know these parameters.
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
	messages sdk.MessageService
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
	params, err := freezeParams(cfg.Params)
	if err != nil {
		return nil, err
	}
	m := &Model{name: cfg.Model, endpoint: wire.NewEndpoint(cfg.settings()), params: params}
	opts := []option.RequestOption{
		option.WithBaseURL(cfg.BaseURL),
		option.WithHTTPClient(cfg.HTTPClient),
		option.WithMaxRetries(0),
		option.WithMiddleware(m.endpoint.Guard),
		// Its spans could be made to carry whole transcripts by an environment variable.
		option.WithoutOpenTelemetry(),
	}
	if cfg.APIKey != "" {
		// Not option.WithAPIKey, which sends a bearer token: gateways and older endpoints know only this one.
		opts = append(opts, option.WithHeader("X-Api-Key", cfg.APIKey))
	}
	for _, dropped := range []string{"temperature", "top_p", "top_k"} {
		if _, ok := params[dropped]; ok {
			opts = append(opts, option.WithHeader("Anthropic-Version", samplingVersion))
			break
		}
	}
	// The service rather than the SDK's client: that one takes keys, URLs and headers from the environment.
	m.messages = sdk.NewMessageService(opts...)
	return m, nil
}

// String names the model and its endpoint.
func (m *Model) String() string { return fmt.Sprintf("anthropic model %q at %s", m.name, m.endpoint) }

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
	stream := m.messages.NewStreaming(bounded, params)
	if err := stream.Err(); err != nil { // there is nothing to close then
		return llm.Reply{}, m.endpoint.RequestFailed(ctx, bounded, err)
	}
	defer stream.Close() //nolint:errcheck // the reply is read or given up by then
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
	var event *sdk.Error
	if errors.As(err, &event) {
		return []byte(event.RawJSON())
	}
	return nil
}

func (c Config) withDefaults() Config {
	if c.BaseURL == "" {
		c.BaseURL = defaultURL
	}
	c.BaseURL = strings.TrimSuffix(strings.TrimRight(c.BaseURL, "/"), "/v1")
	if c.Timeout == 0 {
		c.Timeout = wire.DefaultTimeout
	}
	if c.HTTPClient == nil {
		c.HTTPClient = wire.NewClient()
	}
	return c
}

func (c Config) settings() wire.Settings {
	return wire.Settings{Provider: "anthropic", Model: c.Model, Example: "claude-haiku-5-5", BaseURL: c.BaseURL, APIKey: c.APIKey, Timeout: c.Timeout}
}

func freezeParams(params map[string]any) (map[string]any, error) {
	frozen, err := wire.FreezeParams(params, "model", "messages", "system", "tools", "stream")
	if err != nil {
		return nil, err
	}
	var thinking struct {
		Type string `json:"type"`
	}
	raw, ok := frozen["thinking"].(json.RawMessage)
	if ok && json.Unmarshal(raw, &thinking) == nil && thinking.Type == "enabled" {
		return nil, errors.New("params.thinking: type enabled needs a transcript that keeps what a model thinks, and ours don't; write {type: adaptive}")
	}
	return frozen, nil
}

// Package wire has what the adapters of model providers share: the guard that stands between an SDK and the
// network, the words and kinds of errors, a reply as it comes in, and the mending of what a model once wrote and
// no provider takes back. It knows no provider's format.
//
// Start at Endpoint, which an adapter makes from its Settings.
package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// DefaultTimeout bounds a call where the configuration says nothing.
const DefaultTimeout = 10 * time.Minute

// Settings are what the configurations of all adapters have in common.
type Settings struct {
	Provider string // for messages
	Model    string // the provider's name of the model
	Example  string // such a name, for messages
	BaseURL  string
	APIKey   string
	Timeout  time.Duration
}

// String describes the settings without the key.
func (s Settings) String() string {
	key := "without a key"
	if s.APIKey != "" {
		key = "with a key"
	}
	return fmt.Sprintf("%s model %q at %s, %s", s.Provider, s.Model, safeURL(s.BaseURL), key)
}

// GoString keeps the key out of %#v.
func (s Settings) GoString() string { return s.String() }

// Validate says which setting is wrong. What it says has no secret in it.
func (s Settings) Validate() error {
	if strings.TrimSpace(s.Model) == "" {
		return fmt.Errorf("model: a model needs the provider's name of it, such as %s", s.Example)
	}
	if s.Timeout < 0 {
		return fmt.Errorf("timeout: %s is negative", s.Timeout)
	}
	if strings.ContainsFunc(s.APIKey, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("api_key: the key has a space, a line break or another character that no key has")
	}
	return validateURL(s.BaseURL)
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

// FreezeParams encodes parameters once, so that what can't be sent is found at start and a later change of the
// map has no effect. The reserved ones are refused.
func FreezeParams(params map[string]any, reserved ...string) (map[string]any, error) {
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

// NewClient returns a client that does not follow redirects: one would send the transcript to a place that
// nobody configured.
func NewClient() *http.Client {
	return &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

package config

import (
	"fmt"
	"io"
	"log/slog"
)

// masked is what a secret looks like wherever it is printed.
const masked = "********"

// Secret is a text that no log, error, JSON or YAML shows. Reveal is the only way to its value.
type Secret struct{ value string }

// NewSecret wraps a value.
func NewSecret(value string) Secret { return Secret{value: value} }

// Reveal returns the value, for the client that needs it.
func (s Secret) Reveal() string { return s.value }

// IsZero reports whether there is no value.
func (s Secret) IsZero() bool { return s.value == "" }

// String masks a value; an empty secret is "".
func (s Secret) String() string {
	if s.IsZero() {
		return ""
	}
	return masked
}

// GoString masks under %#v.
func (s Secret) GoString() string { return "config.Secret(" + s.String() + ")" }

// Format masks under every verb: without it %d would print the field.
func (s Secret) Format(f fmt.State, verb rune) {
	text := s.String()
	if verb == 'v' && f.Flag('#') {
		text = s.GoString()
	}
	// A formatter has nowhere to report a failed write; fmt reports it to its own caller.
	_, _ = io.WriteString(f, text)
}

// LogValue masks in structured logs.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText masks in JSON, in YAML and in everything else that encodes text.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalJSON masks.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + s.String() + `"`), nil }

// MarshalYAML masks.
func (s Secret) MarshalYAML() (any, error) { return s.String(), nil }

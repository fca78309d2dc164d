package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"holdpoint/llm"
)

// words is what a provider said about an error.
type words struct {
	message string
	code    string
	typ     string
	raw     string // where there is no message
}

// readWords reads the shapes in use: {"error": {message, type, code}}, {"error": "…"}, {"message": "…"},
// {"detail": "…"}; anything else is taken as text.
func readWords(body []byte) words {
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

// kinds are what providers call their errors, in part, in the order of looking.
var kinds = []struct {
	part string
	kind llm.ErrorKind
}{
	{"rate_limit", llm.ErrRateLimited},
	{"invalid_api_key", llm.ErrAuth},
	{"authentication", llm.ErrAuth},
	{"permission", llm.ErrAuth},
	{"invalid_request", llm.ErrBadRequest},
	{"context_length", llm.ErrBadRequest},
	{"not_found", llm.ErrBadRequest},
	{"too_large", llm.ErrBadRequest},
	{"billing", llm.ErrBadRequest},
}

// kind classifies an error that came inside a stream, where the status was 200 already.
func (w words) kind() llm.ErrorKind {
	if status, err := strconv.Atoi(w.code); err == nil && status >= 400 && status < 600 {
		return statusKind(status)
	}
	for _, k := range kinds {
		if strings.Contains(w.code+" "+w.typ, k.part) {
			return k.kind
		}
	}
	return llm.ErrUnavailable
}

const maxRetryAfter = 24 * time.Hour

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

package llm_test

import (
	"errors"
	"fmt"
	"testing"

	"holdpoint/llm"
)

func TestOnlyFaultsThatMayPassAreRetryable(t *testing.T) {
	t.Parallel()
	for kind, want := range map[llm.ErrorKind]bool{
		llm.ErrAuth: false, llm.ErrBadRequest: false, "unheard of": false,
		llm.ErrRateLimited: true, llm.ErrUnavailable: true, llm.ErrMalformed: true,
	} {
		cause := errors.New("cause")
		err := fmt.Errorf("turn 3: %w", &llm.Error{Kind: kind, Message: "said no", Err: cause})
		var e *llm.Error
		if !errors.As(err, &e) || e.Retryable() != want || !errors.Is(err, cause) {
			t.Errorf("%v: retryable is %v, want %v", err, e.Retryable(), want)
		}
	}
}

func TestArgumentsAsJSON(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{"": "{}", `{"a": 1}`: `{"a": 1}`, `{"a": 1`: "", "{": ""} {
		got, err := llm.ToolCall{Name: "bash", Args: args}.JSON()
		if string(got) != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v; want %q", args, got, err, want)
		}
	}
}

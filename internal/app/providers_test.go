package app_test

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
	"holdpoint/internal/app/demo"
	"holdpoint/llm"
	"holdpoint/llm/anthropic/anthropictest"
	"holdpoint/llm/openai/openaitest"
)

// endpoint is a server that speaks a provider's format and is asked three times: it is busy at first, then wants
// to run a command, then is done.
type endpoint struct {
	env        map[string]string // what points the demo to it
	violations func() []string
	keys       func() []string // as they came with the requests

	mu    sync.Mutex
	asked []time.Time
}

func (e *endpoint) turn() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked = append(e.asked, time.Now())
	return len(e.asked)
}

var busy = http.Header{"Retry-After": {"2"}}

const runTest = `{"command":"./test.sh"}`

func fakeOpenAI(t *testing.T) *endpoint {
	e := &endpoint{}
	s := openaitest.Start(func(openaitest.Request) openaitest.Reply {
		switch e.turn() {
		case 1:
			return openaitest.Reply{Status: 429, Message: "busy", Header: busy}
		case 2:
			return openaitest.Reply{Text: "I run it.", Calls: []openaitest.Call{{ID: "c1", Name: "bash", Args: runTest}}, Usage: openaitest.Usage{Input: 100, Output: 10}}
		}
		return openaitest.Reply{Text: "It fails.", Usage: openaitest.Usage{Input: 200, Output: 20}}
	})
	t.Cleanup(s.Close)
	e.env = map[string]string{"OPENAI_API_KEY": "sk-fake", "OPENAI_BASE_URL": s.URL()}
	e.violations = s.Violations
	e.keys = func() (out []string) {
		for _, r := range s.Requests() {
			out = append(out, r.Header.Get("Authorization"))
		}
		return out
	}
	return e
}

func fakeAnthropic(t *testing.T) *endpoint {
	e := &endpoint{}
	s := anthropictest.Start(func(anthropictest.Request) anthropictest.Reply {
		switch e.turn() {
		case 1:
			return anthropictest.Reply{Status: 529, Message: "Overloaded", Header: busy}
		case 2:
			return anthropictest.Reply{Text: "I run it.", Calls: []anthropictest.Call{{ID: "c1", Name: "bash", Args: runTest}}, Usage: anthropictest.Usage{Input: 100, Output: 10}}
		}
		return anthropictest.Reply{Text: "It fails.", Usage: anthropictest.Usage{Input: 150, CacheRead: 50, Output: 20}}
	})
	t.Cleanup(s.Close)
	e.env = map[string]string{"ANTHROPIC_API_KEY": "sk-fake", "ANTHROPIC_BASE_URL": s.URL()}
	e.violations = s.Violations
	e.keys = func() (out []string) {
		for _, r := range s.Requests() {
			out = append(out, "Bearer "+r.Header.Get("X-Api-Key"))
		}
		return out
	}
	return e
}

// TestTheDemoTakesTheProviderOfItsEnvironment runs the demo with a real provider's adapter, through an answer of
// "too busy" that says when to come again, a gate, and the end.
func TestTheDemoTakesTheProviderOfItsEnvironment(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T) *endpoint{"openai": fakeOpenAI, "anthropic": fakeAnthropic} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := start(t)
			h := apptest.Start(t, func(o *app.Options) {
				o.Config = ""
				o.Data = filepath.Join(t.TempDir(), "data")
				o.Getenv = func(name string) (string, bool) { v, ok := e.env[name]; return v, ok }
			})
			code, body := h.HTTP("POST", "/v1/runs", map[string]string{"agent": demo.Agent, "input": demo.Input})
			var run apptest.RunView
			if err := json.Unmarshal(body, &run); err != nil || code != http.StatusCreated {
				t.Fatalf("start: %d %s", code, body)
			}
			h.Answer(h.Waits(run.RunID, 1)[0].ID, map[string]any{"action": "approve"})
			if end := h.Ended(run.RunID); end.Status != "completed" || end.Output != "It fails." {
				t.Errorf("the run ended as %+v", end)
			}
			if len(e.asked) != 3 || e.asked[1].Sub(e.asked[0]) < 2*time.Second {
				t.Errorf("asked at %v, want three times and two seconds after the first", e.asked)
			}
			if broken := e.violations(); len(broken) != 0 {
				t.Errorf("rules were broken: %q", broken)
			}
			for _, key := range e.keys() {
				if key != "Bearer sk-fake" {
					t.Errorf("the key came as %q", key)
				}
			}
			var usages []llm.Usage
			for _, s := range steps(h, run.RunID) {
				if s.Message.Role == llm.RoleAssistant {
					usages = append(usages, s.Usage)
				}
			}
			if want := []llm.Usage{{Input: 100, Output: 10}, {Input: 200, Output: 20}}; !slices.Equal(usages, want) {
				t.Errorf("the record has %+v, want %+v", usages, want)
			}
		})
	}
}

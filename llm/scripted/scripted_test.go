package scripted_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdpoint/llm"
	"holdpoint/llm/scripted"
)

const branching = `
turns:
  - say: I run the tests.
    calls: [{name: bash, args: {command: npm test}}]
  - when: {tool_result: {name: bash, status: retry}}
    say: Then another way.
    calls: [{name: bash, args: {command: npm run unit}}]
  - when: {tool_result: {status: rejected}}
    say: "I leave it: {{result}}"
  - when: {tool_result: {status: [success, error], contains: FAIL}}
    say: They fail.
  - when: {tool_result: {status: success}}
    say: They pass.
  - when: {user: "*thank*"}
    say: You are welcome.
`

func parse(t *testing.T, text string) *scripted.Model {
	t.Helper()
	script, err := scripted.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return scripted.New(script)
}

// talk is a conversation that a test goes through.
type talk struct {
	t        *testing.T
	model    *scripted.Model
	messages []llm.Message
}

func (c *talk) user(text string) {
	c.messages = append(c.messages, llm.Message{Role: llm.RoleUser, Content: text})
}

// next asks the model, twice: it must give the same answer to the same transcript.
func (c *talk) next() llm.Message {
	c.t.Helper()
	var replies [2]llm.Reply
	for i := range replies {
		var err error
		if replies[i], err = c.model.Generate(c.t.Context(), llm.Request{Messages: c.messages}); err != nil {
			c.t.Fatal(err)
		}
	}
	if diff := cmp.Diff(replies[0], replies[1]); diff != "" {
		c.t.Fatalf("two answers to one transcript: %s", diff)
	}
	c.messages = append(c.messages, replies[0].Message)
	return replies[0].Message
}

// result answers the last message's calls.
func (c *talk) result(status, content string) {
	for _, call := range c.messages[len(c.messages)-1].ToolCalls {
		c.messages = append(c.messages, llm.Message{Role: llm.RoleTool, ProviderID: call.ProviderID, ToolName: call.Name, ToolStatus: status, Content: content})
	}
}

func (c *talk) wantSay(want string) {
	c.t.Helper()
	if got := c.next().Content; got != want {
		c.t.Errorf("it says %q, want %q", got, want)
	}
}

func TestBranchesOnAResultsStatus(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]string{
		"success 12 ok":        "They pass.",
		"error 3 fail":         "They fail.",
		"success 1 Fail":       "They fail.",
		"rejected by Operator": "I leave it: by Operator",
		"retry smaller":        "Then another way.",
	} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			c := &talk{t: t, model: parse(t, branching)}
			c.user("please test")
			first := c.next()
			if first.Content != "I run the tests." || first.ToolCalls[0].Args != `{"command":"npm test"}` {
				t.Fatalf("first turn: %+v", first)
			}
			status, content, _ := strings.Cut(status, " ")
			c.result(status, content)
			c.wantSay(want)
		})
	}
}

func TestATalkGoesOnAfterABranch(t *testing.T) {
	t.Parallel()
	c := &talk{t: t, model: parse(t, branching)}
	c.user("please test")
	c.next()
	c.result("retry", "smaller")
	second := c.next()
	if second.ToolCalls[0].Args != `{"command":"npm run unit"}` || second.ToolCalls[0].ProviderID == c.messages[1].ToolCalls[0].ProviderID {
		t.Errorf("second turn: %+v", second)
	}
	c.result("success", "ok")
	c.wantSay("They pass.")
	c.user("Many THANKS to you")
	c.wantSay("You are welcome.")
	c.user("more")
	last := c.next()
	if !strings.Contains(last.Content, "test.yaml has no turn") || len(last.ToolCalls) != 0 {
		t.Errorf("after the script: %+v", last)
	}
	c.user("and more") // what it said when it ran out is no turn and moves nothing
	c.next()
}

func TestThePlaceIsFoundAgain(t *testing.T) {
	t.Parallel()
	full := func(t *testing.T) *talk {
		c := &talk{t: t, model: parse(t, branching)}
		c.user("please test")
		c.next()
		c.result("rejected", "not today")
		c.next()
		c.user("thank you")
		return c
	}
	t.Run("after messages of another model", func(t *testing.T) {
		t.Parallel()
		c := full(t)
		c.messages = append([]llm.Message{{Role: llm.RoleUser, Content: "hi"}, {Role: llm.RoleAssistant, Content: "I am somebody else."}}, c.messages...)
		c.wantSay("You are welcome.")
	})
	t.Run("without the beginning of the transcript", func(t *testing.T) {
		t.Parallel()
		c := full(t)
		c.messages = c.messages[1:]
		c.wantSay("You are welcome.")
	})
	t.Run("with arguments and results that were removed", func(t *testing.T) {
		t.Parallel()
		c := full(t)
		c.messages[1].ToolCalls[0].Args = `{"command":"(removed)"}`
		c.messages[2].Content = "(removed)"
		c.wantSay("You are welcome.")
	})
}

func TestALoopPlaysTurnsAgain(t *testing.T) {
	t.Parallel()
	c := &talk{t: t, model: parse(t, `
loop: true
turns:
  - when: {user: tests}
    calls: [{name: bash}, {name: bash}]
  - when: {user: weather}
    say: "Nobody knows, {{user}}"
  - when: {user: tests, tool_result: {}}
    say: Done.
`)}
	for range 3 {
		c.user("weather?")
		c.wantSay("Nobody knows, weather?")
		c.user("run tests")
		if n := len(c.next().ToolCalls); n != 2 {
			t.Fatalf("%d calls", n)
		}
		c.result("success", "ok")
		c.wantSay("Done.")
	}
}

func TestArgumentsKeepTheirTypes(t *testing.T) {
	t.Parallel()
	c := &talk{t: t, model: parse(t, `
turns:
  - calls:
      - name: f
        args:
          z: "1"
          text: 'a <b> & "c"'
          int: 42
          big: 123456789012345678901234567890
          float: 1.50
          exp: 1e3
          hex: 0x1F
          under: 1_000
          yes: yes
          flag: true
          none: null
          tilde: ~
          date: 2024-01-31
          list: [1, two, {three: 3}]
          lines: |
            one
            two
          empty: {}
      - name: g
`)}
	c.user("go")
	got := c.next().ToolCalls
	want := `{"z":"1","text":"a <b> & \"c\"","int":42,"big":123456789012345678901234567890,"float":1.50,"exp":1e3,"hex":31,` +
		`"under":1000,"yes":"yes","flag":true,"none":null,"tilde":null,"date":"2024-01-31","list":[1,"two",{"three":3}],"lines":"one\ntwo\n","empty":{}}`
	if got[0].Args != want || got[1].Args != "{}" {
		t.Errorf("got  %s and %s\nwant %s", got[0].Args, got[1].Args, want)
	}
	if !json.Valid([]byte(got[0].Args)) {
		t.Error("the arguments are not JSON")
	}
}

func TestTextComesInPieces(t *testing.T) {
	t.Parallel()
	const text = "Grüße, this is a text of some length — with odd characters."
	var pieces []string
	reply, err := parse(t, "turns: [{say: '"+text+"'}]").Generate(t.Context(), llm.Request{Delta: func(s string) { pieces = append(pieces, s) }})
	if err != nil {
		t.Fatal(err)
	}
	if len(pieces) < 2 || strings.Join(pieces, "") != text || reply.Message.Content != text {
		t.Errorf("pieces: %q", pieces)
	}
}

func TestGenerateRefuses(t *testing.T) {
	t.Parallel()
	m := parse(t, "turns: [{say: hi}]")
	t.Run("a transcript with an unanswered call", func(t *testing.T) {
		t.Parallel()
		_, err := m.Generate(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.RoleAssistant, ToolCalls: []llm.ToolCall{{Name: "bash"}}}}})
		var e *llm.Error
		if !errors.As(err, &e) || e.Kind != llm.ErrBadRequest {
			t.Errorf("got %v, want a bad request", err)
		}
	})
	t.Run("a context that has ended", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := m.Generate(ctx, llm.Request{}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want one that wraps context.Canceled", err)
		}
	})
	t.Run("nothing without a script, but says that there is none", func(t *testing.T) {
		t.Parallel()
		reply, err := scripted.New(nil).Generate(t.Context(), llm.Request{})
		if err != nil || !strings.Contains(reply.Message.Content, "no turn") {
			t.Errorf("got %+v, %v", reply, err)
		}
	})
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		pattern, text string
		want          bool
	}{
		{"deploy", "please DEPLOY it", true},
		{"deploy", "please", false},
		{"deploy*", "please deploy", false},
		{"*deploy", "please deploy", true},
		{"p*se*oy", "please deploy", true},
		{"a*a", "a", false},
		{"*a*b*", "xbxa", false},
		{"really? [yes]", "really? [yes]", true},
		{"*", "", true},
	} {
		t.Run(tc.pattern+" on "+tc.text, func(t *testing.T) {
			t.Parallel()
			m := parse(t, fmt.Sprintf("turns: [{when: {user: %q}, say: matched}]", tc.pattern))
			reply, err := m.Generate(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Content: tc.text}}})
			if err != nil || (reply.Message.Content == "matched") != tc.want {
				t.Errorf("got %+v, %v", reply, err)
			}
		})
	}
}

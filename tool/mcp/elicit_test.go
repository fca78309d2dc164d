package mcp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"holdpoint/interaction"
	"holdpoint/tool"
	"holdpoint/tool/mcp"
)

func object(required string, properties string) any {
	var out any
	if err := json.Unmarshal(fmt.Appendf(nil, `{"type":"object","required":[%s],"properties":{%s}}`, required, properties), &out); err != nil {
		panic(err)
	}
	return out
}

// TestWhatAServerAsksBecomesAQuestionOfItsKind has a server ask by forms of every kind, and people answer.
func TestWhatAServerAsksBecomesAQuestionOfItsKind(t *testing.T) {
	t.Parallel()
	answer := func(text string) interaction.Response {
		return interaction.Response{Action: interaction.ActionAnswer, Text: text}
	}
	yes, no := true, false
	for name, tc := range map[string]struct {
		form   any
		kind   interaction.Type
		says   []interaction.Response // one after the other, for as long as it is asked
		server string                 // what the server got
		model  string
	}{
		"words":              {object(`"x"`, `"x":{"type":"string"}`), interaction.TypeInput, []interaction.Response{answer("main")}, `accept {"x":"main"}`, "alice answered it"},
		"words, left open":   {object(``, `"x":{"type":"string"}`), interaction.TypeInput, []interaction.Response{answer("")}, `accept null`, ""},
		"a whole number":     {object(`"x"`, `"x":{"type":"integer","minimum":3}`), interaction.TypeInput, []interaction.Response{answer("many"), answer("4.5"), answer("2"), answer(" 4 ")}, `accept {"x":4}`, ""},
		"a number":           {object(`"x"`, `"x":{"type":"number"}`), interaction.TypeInput, []interaction.Response{answer("NaN"), answer("4.5")}, `accept {"x":4.5}`, ""},
		"an address":         {object(`"x"`, `"x":{"type":"string","format":"email"}`), interaction.TypeInput, []interaction.Response{answer("nowhere"), answer("a@b.example")}, `accept {"x":"a@b.example"}`, ""},
		"yes or no":          {object(`"x"`, `"x":{"type":"boolean"}`), interaction.TypeConfirm, []interaction.Response{{Action: interaction.ActionAnswer, Confirmed: &no}}, `accept {"x":false}`, ""},
		"nothing but assent": {nil, interaction.TypeConfirm, []interaction.Response{{Action: interaction.ActionAnswer, Confirmed: &yes}}, `accept null`, ""},
		"no assent":          {nil, interaction.TypeConfirm, []interaction.Response{{Action: interaction.ActionAnswer, Confirmed: &no}}, `decline null`, "alice declined it"},
		"one of several":     {object(`"x"`, `"x":{"type":"string","enum":["a","b"]}`), interaction.TypeSelect, []interaction.Response{{Action: interaction.ActionAnswer, Selected: []string{"option_2"}}}, `accept {"x":"b"}`, ""},
		"some of several": {object(`"x"`, `"x":{"type":"array","maxItems":1,"items":{"anyOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}]}}`), interaction.TypeSelect,
			[]interaction.Response{{Action: interaction.ActionAnswer, Selected: []string{"option_1", "option_2"}}, {Action: interaction.ActionAnswer, Selected: []string{"option_2"}}}, `accept {"x":["b"]}`, ""},
		"several things": {object(`"z"`, `"a":{"type":"string"},"z":{"type":"boolean"}`), interaction.TypeCombined,
			[]interaction.Response{{Action: interaction.ActionAnswer, Responses: []interaction.Response{{Confirmed: &yes}, {Text: "both"}}}}, `accept {"a":"both","z":true}`, ""},
		"refused":   {object(``, `"x":{"type":"string"}`), interaction.TypeInput, []interaction.Response{{Action: interaction.ActionReject, Feedback: "not ours"}}, `decline null`, "alice declined it: not ours"},
		"dismissed": {object(``, `"x":{"type":"string"}`), interaction.TypeInput, []interaction.Response{{Action: interaction.ActionSkip}}, `cancel null`, "alice dismissed it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := playing(t, mcp.Config{}, played{Name: "asks", Schema: anyObject, Does: "ask", Form: tc.form})
			n := 0
			got := s.askedOf("mcp__played__asks", `{}`, func(r interaction.Request) (interaction.Outcome, error) {
				if r.Type != tc.kind || !strings.HasPrefix(r.Message, "Which branch?") || !strings.Contains(r.Title, "MCP server played asks") || n >= len(tc.says) || n > 0 && !strings.Contains(r.Message, "asked again: ") {
					t.Errorf("question %d is %+v", n+1, r)
					return interaction.Outcome{}, errors.New("not that")
				}
				n++
				return said(t, r, tc.says[n-1]), nil
			})
			s.says(got, tool.StatusSuccess, "the answer was "+tc.server, "its MCP server asked: Which branch? ", tc.model)
			if n != len(tc.says) {
				t.Errorf("it was asked %d times", n)
			}
		})
	}
}

func TestAServerWhoseQuestionNobodyAnswers(t *testing.T) {
	t.Parallel()
	s := playing(t, mcp.Config{}, played{Name: "asks", Schema: anyObject, Does: "ask"},
		played{Name: "wants_much", Schema: anyObject, Does: "ask", Form: many(30)})
	s.says(s.call("mcp__played__asks", `{}`), tool.StatusSuccess, "the answer was decline", "Which branch? Nobody can be asked here")
	s.says(s.askedOf("mcp__played__asks", `{}`, func(interaction.Request) (interaction.Outcome, error) {
		return interaction.Outcome{Status: interaction.StatusExpired}, nil
	}), tool.StatusExpired, "Nobody answered in time", "Whether it took effect is unknown")
	s.says(s.askedOf("mcp__played__asks", `{}`, func(interaction.Request) (interaction.Outcome, error) {
		return interaction.Outcome{}, errors.New("this agent runs without people")
	}), tool.StatusSuccess, "the answer was decline", "It was declined: this agent runs without people")
	s.says(s.askedOf("mcp__played__wants_much", `{}`, func(interaction.Request) (interaction.Outcome, error) {
		t.Error("30 things were asked at once")
		return interaction.Outcome{}, errors.New("no")
	}), tool.StatusSuccess, "the answer was decline", "its form has 30 fields")
}

func many(n int) any {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`"f%d":{"type":"string"}`, i))
	}
	return object("", strings.Join(all, ","))
}

// TestTheEverythingServerAsks answers what a server asks by a request of its own, beside the call.
func TestTheEverythingServerAsks(t *testing.T) {
	t.Parallel()
	s := run(t, mcp.Config{Name: "all"}, t.TempDir(), nil, append(public(t, "server-everything"), "stdio")...)
	const asks = "mcp__all__trigger-elicitation-request"
	filled := func(name string) func(r interaction.Request) (interaction.Outcome, error) {
		return func(r interaction.Request) (interaction.Outcome, error) {
			if r.Type != interaction.TypeCombined || len(r.Interactions) < 10 || r.Interactions[0].Message != "Your full, legal name" || !r.Interactions[0].Required {
				t.Errorf("it asks %+v", r)
			}
			resp := interaction.Response{Action: interaction.ActionAnswer}
			for n, part := range r.Interactions {
				one := interaction.Response{Action: interaction.ActionSkip}
				if n == 0 {
					one = interaction.Response{Text: name}
				} else if part.Type == interaction.TypeSelect {
					one = interaction.Response{Selected: []string{part.Options[1].ID}}
				}
				resp.Responses = append(resp.Responses, one)
			}
			return said(t, r, resp), nil
		}
	}
	s.says(s.askedOf(asks, `{}`, filled("Ada")), tool.StatusSuccess, "User provided the requested information", "- Name: Ada", `"hero-2"`, `"Rachel"`, `"fish-2"`)
	var both sync.WaitGroup // each question goes to its own call
	for _, name := range []string{"Alice", "Bob"} {
		both.Add(1)
		go func() {
			defer both.Done()
			s.says(s.askedOf(asks, `{}`, filled(name)), tool.StatusSuccess, "- Name: "+name)
		}()
	}
	both.Wait()
	const opens = "mcp__all__trigger-url-elicitation"
	yes := true
	for args, pages := range map[string][]string{
		`{"url":"https://a.example/x","message":"Sign in."}`:                 {"https://a.example/x"},
		`{"url":"https://b.example/","message":"Sign in.","errorPath":true}`: {"https://modelcontextprotocol.io", "https://b.example/"},
	} {
		var seen []string
		got := s.askedOf(opens, args, func(r interaction.Request) (interaction.Outcome, error) {
			seen = append(seen, r.Details[strings.LastIndex(r.Details, "\n")+1:])
			return said(t, r, interaction.Response{Action: interaction.ActionAnswer, Confirmed: &yes}), nil
		})
		s.says(got, tool.StatusSuccess, "User completed the URL elicitation flow")
		if fmt.Sprint(seen) != fmt.Sprint(pages) {
			t.Errorf("what was to be opened is %v, not %v", seen, pages)
		}
	}
}

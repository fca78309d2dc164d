package builtin_test

import (
	"encoding/json"
	"strings"
	"testing"

	"holdpoint/interaction"
	"holdpoint/tool"
	"holdpoint/tool/builtin"
)

func TestBashAsksForWhatACommandNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b, _ := builtin.New(builtin.NameBash, builtin.Config{Env: []string{"SET=already"}, Needs: []builtin.Need{
		{Name: "TOKEN", Prompt: "From the portal.", Secret: true}, {Name: "REGION"}, {Name: "SET", Secret: true}}})
	run := func(command string, answer *interaction.Response) tool.Outcome {
		t.Helper()
		args, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			t.Fatal(err)
		}
		out, err := b.Run(t.Context(), tool.Call{Args: args, Workspace: dir, Answer: answer})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, command := range []string{`echo hello`, `echo MY_TOKEN TOKENS $SET`} {
		if out := run(command, nil); out.Request != nil {
			t.Errorf("%s asks %+v", command, out.Request)
		}
	}
	one := run(`curl -H "token: $TOKEN"`, nil).Request
	if one == nil || one.Type != interaction.TypeMissingInfo || !one.Secret || one.Title != "bash needs TOKEN" || !strings.HasPrefix(one.Message, "From the portal. ") {
		t.Fatalf("it asks %+v", one)
	}
	two := run(`echo $TOKEN${REGION}`, nil).Request
	if two == nil || two.Type != interaction.TypeCombined || len(two.Interactions) != 2 || !two.Interactions[0].Secret || two.Interactions[1].Secret {
		t.Fatalf("it asks %+v", two)
	}
	if err := interaction.Open(*two, one.CreatedAt).Request.Validate(); err != nil {
		t.Error(err)
	}
	both := &interaction.Response{Responses: []interaction.Response{{Text: "abc"}, {Data: json.RawMessage(`"eu"`)}}}
	for command, tt := range map[string]struct {
		answer *interaction.Response
		want   string
	}{
		`echo "$TOKEN"`:        {&interaction.Response{Text: "a b"}, "a b\n"},
		`echo "${TOKEN}!"`:     {&interaction.Response{Data: json.RawMessage(`{"TOKEN":"abc"}`)}, "abc!\n"},
		`echo $TOKEN $REGION`:  {both, "abc eu\n"},
		`echo $TOKEN # nobody`: {&interaction.Response{Data: json.RawMessage(`7`)}, "TOKEN was not given"},
		`echo $REGION$TOKEN`:   {&interaction.Response{Text: "abc"}, "TOKEN was not given"},
	} {
		if out := run(command, tt.answer); out.Result == nil || !strings.Contains(out.Result.Content, tt.want) {
			t.Errorf("%s gave %+v, want %q", command, out.Result, tt.want)
		}
	}
}

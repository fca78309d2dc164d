package tool_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"holdpoint/interaction"
	"holdpoint/tool"
)

// named is a tool that only has a name.
type named string

func (n named) Definition() tool.Definition                        { return tool.Definition{Name: string(n)} }
func (named) Run(context.Context, tool.Call) (tool.Outcome, error) { return tool.Text("ran"), nil }

func TestSetKeepsOrderAndFindsByExactName(t *testing.T) {
	t.Parallel()
	s, err := tool.NewSet(named("write"), named("bash"), named("ask"))
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Names(); !slices.Equal(got, []string{"write", "bash", "ask"}) {
		t.Errorf("names %v", got)
	}
	if got := s.Definitions(); len(got) != 3 || got[1].Name != "bash" {
		t.Errorf("definitions %v", got)
	}
	if found, ok := s.Get("bash"); !ok || found != named("bash") {
		t.Errorf("Get(bash) = %v, %v", found, ok)
	}
	for _, name := range []string{"Bash", "bash ", "", "edit"} {
		if found, ok := s.Get(name); ok || found != nil {
			t.Errorf("Get(%q) found %v", name, found)
		}
	}
}

func TestSetRefusesNamesThatCanNotBeTold(t *testing.T) {
	t.Parallel()
	for want, tools := range map[string][]tool.Tool{
		"a tool has no name":         {named("a"), named("")},
		`two tools are named "bash"`: {named("bash"), named("a"), named("bash")},
	} {
		if s, err := tool.NewSet(tools...); s != nil || err == nil || err.Error() != want {
			t.Errorf("NewSet gave %v, %v; want %q", s, err, want)
		}
	}
}

func TestEmptySetsAreReady(t *testing.T) {
	t.Parallel()
	for _, s := range []*tool.Set{nil, {}} {
		if _, ok := s.Get("bash"); ok || len(s.Names()) != 0 || len(s.Definitions()) != 0 {
			t.Errorf("an empty set has something: %v", s)
		}
	}
}

func TestOutcomesAreAResultOrARequest(t *testing.T) {
	t.Parallel()
	ok, bad, ask := tool.Text("fine"), tool.Failure("no such file"), tool.Ask(interaction.Request{Title: "Which one?"})
	if ok.Request != nil || ok.Result.Status != tool.StatusSuccess || ok.Result.Content != "fine" {
		t.Errorf("Text gave %+v", ok)
	}
	if bad.Request != nil || bad.Result.Status != tool.StatusError || !strings.Contains(bad.Result.Content, "no such file") {
		t.Errorf("Failure gave %+v", bad)
	}
	if ask.Result != nil || ask.Request.Title != "Which one?" {
		t.Errorf("Ask gave %+v", ask)
	}
}

package permission

import (
	"testing"
)

func TestExamples(t *testing.T) {
	t.Parallel()
	rules := []Rule{
		{Effect: Allow, Pattern: "bash(git:*)", Source: Source{Layer: LayerPolicy, File: "p.yaml", Line: 3}},
		{Effect: Deny, Pattern: "bash(git push:*)", Source: Source{Layer: LayerPolicy, File: "p.yaml", Line: 9}},
		{Effect: Allow, Pattern: "file_write(./docs/**)"},
		{Effect: Allow, Pattern: "http_fetch(POST https://api.example.com/**)"},
		{Effect: Allow, Pattern: "mcp__bank__*"},
		{Effect: Allow, Pattern: "mcp__mail"},
		{Effect: Deny, Pattern: "mcp__*__delete_*"},
	}
	set, _, err := Compile(rules)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		rule     int
		examples Examples
		want     []string
	}{
		{0, Examples{Allow: []string{"git log -5"}, Ask: []string{"git log | sh", "{ ls; }"}, Deny: []string{"git push origin"}}, nil},
		{0, Examples{Allow: []string{"git push\nid"}, Deny: []string{"git status"}}, []string{
			`p.yaml:3: the example git push id of the rule bash(git:*) should be allow and is deny: git push: a deny rule matches: bash(git push:*) (p.yaml:9)`,
			`p.yaml:3: the example git status of the rule bash(git:*) should be deny and is allow: git status: an allow rule matches: bash(git:*) (p.yaml:3)`}},
		{2, Examples{Allow: []string{"docs/a.md", "/workspace/docs/b", `{"path":"docs/c","content":"x"}`}, Ask: []string{"src/a", "~/docs/a"}}, nil},
		{3, Examples{Allow: []string{"POST https://api.example.com/x", `{"url":"https://api.example.com/y","method":"POST"}`}, Ask: []string{"https://api.example.com/x"}}, nil},
		{4, Examples{Allow: []string{`mcp__bank__get {"id":1}`}, Deny: []string{`mcp__bank__delete_all {}`}}, nil},
		{5, Examples{Allow: []string{`mcp__mail__read {}`}}, nil},
		{4, Examples{Allow: []string{`{}`}}, []string{`the example {} of the rule mcp__bank__* has no arguments: the rule is for several tools, so write the tool's name, a blank, and the arguments`}},
		{4, Examples{Allow: []string{`mcp__bank__get 1`}}, []string{`the example mcp__bank__get 1 of the rule mcp__bank__* is no JSON object: write the arguments, such as {"id": 7}`}},
	} {
		var got []string
		for _, e := range set.CheckExamples(rules[c.rule], c.examples, Setting{}) {
			got = append(got, e.Error())
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: got %q, want %q", rules[c.rule].Pattern, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("got  %s\nwant %s", got[i], c.want[i])
			}
		}
	}
	if e := set.CheckExamples(Rule{Pattern: "bash("}, Examples{Ask: []string{"ls"}}, Setting{}); len(e) != 1 || e[0].Problem == "" {
		t.Errorf("a rule that can't be read: %v", e)
	}
}

func TestExamplesOfToolsFromElsewhere(t *testing.T) {
	t.Parallel()
	r := Rule{Effect: Allow, Pattern: "run(ls:*)"}
	set, _, err := Compile([]Rule{r})
	if err != nil {
		t.Fatal(err)
	}
	in := Setting{Workspace: "/w", Home: "/h", Tool: func(name string) Tool {
		return Tool{Name: name, Kind: KindCommand, Field: "script"}
	}}
	if e := set.CheckExamples(r, Examples{Allow: []string{"ls -l"}, Ask: []string{"id"}}, in); e != nil {
		t.Error(e)
	}
}

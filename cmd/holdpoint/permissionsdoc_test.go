package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"holdpoint/permission"
)

// exampleRule and exampleCall are the lines of a block of rules: "allow bash(ls)", then "allow bash: ls -l".
var (
	exampleRule = regexp.MustCompile(`^(allow|deny|ask) +([a-z_*]+(?:\(.*\))?)(?: where (.*))?$`)
	exampleCall = regexp.MustCompile(`^(allow|deny|ask) +([a-z_]+): (.*)$`)
	bound       = regexp.MustCompile(`^([a-z.]+) (<=|>=|=) (.*)$`)
)

// TestTheExamplesOfRulesAreDecidedAsWritten holds every block of rules in the documents against the engine.
func TestTheExamplesOfRulesAreDecidedAsWritten(t *testing.T) {
	t.Parallel()
	blocks, calls := 0, 0
	for _, s := range snippets(t) {
		if s.language != "rules" {
			continue
		}
		blocks++
		written, cases, ok := strings.Cut(s.text, "\n\n")
		if !ok {
			t.Errorf("%s has no calls under its rules", s)
			continue
		}
		set := exampleSet(t, s, written)
		for line := range strings.Lines(cases) {
			calls++
			m := exampleCall.FindStringSubmatch(strings.TrimSpace(line))
			if m == nil {
				t.Errorf("%s: %q is no call", s, line)
				continue
			}
			args, err := callArgs([]string{m[2], m[3]}, "")
			if err != nil {
				t.Errorf("%s: %q: %v", s, line, err)
				continue
			}
			call := permission.Call{Tool: permission.BuiltinTool(m[2]), Args: []byte(args), Workspace: "/workspace", Home: "/home/agent", Now: time.Unix(0, 0)}
			if d := set.Decide(call); d.Effect.String() != m[1] {
				t.Errorf("%s: %s\n%s", s, strings.TrimSpace(line), permission.Explain(call, d))
			}
		}
	}
	if blocks < 6 || calls < 40 {
		t.Errorf("only %d blocks with %d calls were found in %s", blocks, calls, filepath.Join(repository, "docs"))
	}
}

func exampleSet(t *testing.T, s snippet, written string) *permission.Set {
	t.Helper()
	var rules []permission.Rule
	for n, line := range strings.Split(written, "\n") {
		m := exampleRule.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("%s: %q is no rule", s, line)
		}
		r := permission.Rule{ID: fmt.Sprint(n), Pattern: m[2], Source: permission.Source{Layer: permission.LayerPolicy}}
		if err := r.Effect.UnmarshalText([]byte(m[1])); err != nil {
			t.Fatal(err)
		}
		for text := range strings.SplitSeq(m[3], " and ") {
			c := bound.FindStringSubmatch(text)
			switch {
			case text == "":
			case c == nil:
				t.Fatalf("%s: %q is no condition", s, text)
			case c[2] == "<=":
				r.Where = append(r.Where, permission.Condition{Name: c[1], Max: json.Number(c[3])})
			case c[2] == ">=":
				r.Where = append(r.Where, permission.Condition{Name: c[1], Min: json.Number(c[3])})
			default:
				r.Where = append(r.Where, permission.Condition{Name: c[1], Equals: json.RawMessage(c[3])})
			}
		}
		rules = append(rules, r)
	}
	set, problems, err := permission.Compile(rules)
	if err != nil || len(problems) > 0 {
		t.Fatalf("%s: %v %v", s, problems, err)
	}
	return set
}

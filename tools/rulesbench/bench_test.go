package rulesbench

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/casbin/casbin/v2"
	"github.com/casbin/casbin/v2/model"
	"github.com/casbin/casbin/v2/util"
	"github.com/cedar-policy/cedar-go"

	"holdpoint/permission"
)

// engine decides a call: allow, deny or ask.
type engine func(tb testing.TB, rules []rule) func(tb testing.TB, c call) string

var engines = []struct {
	name string
	make engine
}{{"holdpoint", holdpoint}, {"cedar", cedarEngine}, {"casbin", casbinEngine}}

// holdpoint decides from the raw arguments, with reasons and suggestions.
func holdpoint(tb testing.TB, rules []rule) func(testing.TB, call) string {
	var compiled []permission.Rule
	for _, r := range rules {
		pattern := map[kind]string{exact: "%s", prefix: "%s:*", suffix: "* %s", under: "./%s/**"}[r.kind]
		p := permission.Rule{Pattern: r.tool + "(" + fmt.Sprintf(pattern, strings.TrimSpace(r.text)) + ")", Effect: permission.Allow}
		if r.deny {
			p.Effect = permission.Deny
		}
		compiled = append(compiled, p)
	}
	set, problems, err := permission.Compile(compiled)
	if err != nil || len(problems) > 0 {
		tb.Fatal(err, problems)
	}
	return func(tb testing.TB, c call) string {
		t := permission.BuiltinTool(c.tool)
		if strings.HasPrefix(c.tool, "shell") {
			t.Kind, t.Field = permission.KindCommand, "command"
		}
		if c.tool == "view" {
			t.Kind, t.Field = permission.KindRead, "path"
		}
		args, err := json.Marshal(map[string]string{t.Field: c.text})
		if err != nil {
			tb.Fatal(err)
		}
		return set.Decide(permission.Call{Tool: t, Args: args, Workspace: "/w", Home: "/h"}).Effect.String()
	}
}

// cedarEngine has one policy for each rule.
func cedarEngine(tb testing.TB, rules []rule) func(testing.TB, call) string {
	var b strings.Builder
	for _, r := range rules {
		effect := "permit"
		if r.deny {
			effect = "forbid"
		}
		test := map[kind]string{exact: `context.text == "%s"`, prefix: `context.text like "%s*"`, suffix: `context.text like "*%s"`, under: `context.text like "%s/*"`}[r.kind]
		fmt.Fprintf(&b, "%s (principal == User::\"alice\", action == Action::\"%s\", resource) when { %s };\n", effect, r.tool, fmt.Sprintf(test, r.text))
	}
	policies, err := cedar.NewPolicySetFromBytes("rules.cedar", []byte(b.String()))
	if err != nil {
		tb.Fatal(err)
	}
	return func(tb testing.TB, c call) string {
		decision, diagnostic := cedar.Authorize(policies, cedar.EntityMap{}, cedar.Request{
			Principal: cedar.NewEntityUID("User", "alice"), Action: cedar.NewEntityUID("Action", cedar.String(c.tool)),
			Resource: cedar.NewEntityUID("Call", "1"), Context: cedar.NewRecord(cedar.RecordMap{"text": cedar.String(c.text)})})
		switch {
		case len(diagnostic.Errors) > 0:
			tb.Fatal(diagnostic.Errors)
			return ""
		case decision == cedar.Allow:
			return "allow"
		case len(diagnostic.Reasons) > 0:
			return "deny"
		default:
			return "ask"
		}
	}
}

const casbinModel = `
[request_definition]
r = sub, tool, text
[policy_definition]
p = sub, tool, kind, text, eft
[policy_effect]
e = some(where (p.eft == allow)) && !some(where (p.eft == deny))
[matchers]
m = r.tool == p.tool && r.sub == p.sub && matches(r.text, p.kind, p.text)
`

// casbinEngine says only whether a call is allowed; what is not is asked here.
func casbinEngine(tb testing.TB, rules []rule) func(testing.TB, call) string {
	m, err := model.NewModelFromString(casbinModel)
	if err != nil {
		tb.Fatal(err)
	}
	e, err := casbin.NewEnforcer(m)
	if err != nil {
		tb.Fatal(err)
	}
	e.AddFunction("matches", func(args ...any) (any, error) {
		text, pattern := args[0].(string), args[2].(string)
		switch args[1] {
		case "prefix":
			return strings.HasPrefix(text, pattern), nil
		case "suffix":
			return strings.HasSuffix(text, pattern), nil
		case "under":
			return util.KeyMatch(text, pattern+"/*"), nil
		default:
			return text == pattern, nil
		}
	})
	var policies [][]string
	for _, r := range rules {
		effect := "allow"
		if r.deny {
			effect = "deny"
		}
		policies = append(policies, []string{"alice", r.tool, [...]string{"exact", "prefix", "suffix", "under"}[r.kind], r.text, effect})
	}
	if _, err := e.AddPolicies(policies); err != nil {
		tb.Fatal(err)
	}
	return func(tb testing.TB, c call) string {
		ok, err := e.Enforce("alice", c.tool, c.text)
		if err != nil {
			tb.Fatal(err)
		}
		if ok {
			return "allow"
		}
		return "ask"
	}
}

func TestTheEnginesAgree(t *testing.T) {
	t.Parallel()
	for _, n := range []int{10, 1000} {
		rules, calls := workload(n)
		for _, e := range engines {
			decide := e.make(t, rules)
			for _, c := range calls {
				want := c.effect
				if e.name == "casbin" && want == "deny" {
					want = "ask" // it does not tell the two apart
				}
				if got := decide(t, c); got != want {
					t.Fatalf("%s, %d rules: %s %q is %s, want %s", e.name, n, c.tool, c.text, got, want)
				}
			}
		}
	}
}

func BenchmarkEngines(b *testing.B) {
	for _, n := range []int{10, 1000, 10_000} {
		rules, calls := workload(n)
		for _, e := range engines {
			decide := e.make(b, rules)
			b.Run(fmt.Sprintf("%d/%s", n, e.name), func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					decide(b, calls[i%len(calls)])
				}
			})
		}
	}
}

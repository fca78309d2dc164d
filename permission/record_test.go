package permission

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestARuleIsGivenBackAsItWas packs rules with every field drawn, and reads them out of the set.
func TestARuleIsGivenBackAsItWas(t *testing.T) {
	t.Parallel()
	some := func(of ...string) *rapid.Generator[string] { return rapid.SampledFrom(append(of, "")) }
	times := rapid.SampledFrom([]time.Time{{}, time.Unix(1_767_225_600, 0).UTC(), time.Unix(1_000_000_000, 123).UTC(), time.Unix(4e9, 999_999_999).UTC(),
		time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("x", 3600))})
	rapid.Check(t, func(t *rapid.T) {
		var rules []Rule
		for range rapid.IntRange(1, 8).Draw(t, "rules") {
			r := Rule{Effect: rapid.SampledFrom([]Effect{Allow, Deny, Ask}).Draw(t, "effect"), Pattern: drawPattern(t),
				ID: some("x", "0b6b7c9e-3c7e-4b5a-9d2f-0123456789ab", "0B6B7C9E-3C7E-4B5A-9D2F-0123456789AB", "0b6b7c9ez3c7e-4b5a-9d2f-0123456789ab",
					"zzzzzzzz-3c7e-4b5a-9d2f-0123456789ab", strings.Repeat("i", 300)).Draw(t, "id"),
				UserID: some("alice").Draw(t, "user"), SessionID: some("s1", "s2").Draw(t, "session"), Note: some("because").Draw(t, "note"),
				InteractionID: some("i-1").Draw(t, "interaction"), GrantedBy: some("bob").Draw(t, "by"), CreatedAt: times.Draw(t, "created"),
				ExpiresAt: times.Draw(t, "expires"), Risk: rapid.SampledFrom([]Risk{"", RiskHigh}).Draw(t, "risk")}
			r.Source = Source{Layer: rapid.SampledFrom([]Layer{LayerPolicy, LayerUser}).Draw(t, "layer"), File: some("p.yaml").Draw(t, "file"),
				Line: rapid.SampledFrom([]int{0, 7, 5000, -1}).Draw(t, "line"), Name: some("p").Draw(t, "name")}
			r.Approval.MaxGrant = rapid.SampledFrom([]GrantScope{GrantUnset, GrantUser}).Draw(t, "grant")
			if rapid.Bool().Draw(t, "reviewed") {
				r.Approval.Reviewers, r.Approval.Timeout = []string{"bob"}, time.Hour
			}
			if rapid.Bool().Draw(t, "given") {
				r.Givers = []Giver{{ID: "bob", Groups: []string{"g"}}}
			}
			if rapid.Bool().Draw(t, "where") {
				r.Where = []Condition{{Name: "a", Glob: "x*"}}
			}
			if r.Effect == Allow {
				r.MaxUses, r.Uses = rapid.IntRange(0, 300).Draw(t, "bound"), rapid.IntRange(0, 300).Draw(t, "uses")
			}
			if ParsePattern(r.Effect, r.Pattern) == nil {
				rules = append(rules, r)
			}
		}
		set, problems, err := Compile(rules)
		if err != nil || len(problems) > 0 {
			t.Fatal(err, problems)
		}
		next := map[Effect][]compiled{Allow: set.allows, Deny: set.restricts[:set.denies], Ask: set.restricts[set.denies:]}
		for _, want := range rules {
			got := next[want.Effect][0].rule()
			next[want.Effect] = next[want.Effect][1:]
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("packed\n%+v\nand unpacked\n%+v", want, got)
			}
		}
	})
}

// TestALongPatternIsKeptAsItIs has patterns that are longer than a record says, and rules without a key.
func TestALongPatternIsKeptAsItIs(t *testing.T) {
	t.Parallel()
	long := "bash(echo " + strings.Repeat("x", 70_000) + ")"
	set, _, err := Compile(rulesOf(nil, []string{long}, nil))
	if err != nil {
		t.Fatal(err)
	}
	if got := set.restricts[0].rule(); got.Pattern != long || got.Effect != Deny {
		t.Errorf("a long pattern became %.40s", got.Pattern)
	}
}

// TestABlankInAWordIsNotTheEndOfIt has words with blanks, some of them only known when the shell expands them.
func TestABlankInAWordIsNotTheEndOfIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		deny, command string
		want          Effect
	}{
		{`bash(rm "a b")`, `rm 'a b'`, Deny},
		{`bash(rm "a b")`, `rm a b`, Allow},
		{`bash(rm a b)`, `rm 'a b'`, Allow},
		{`bash(rm a b)`, `"rm a" b`, Allow},
		{`bash("rm a" b)`, `"rm a" b`, Deny},
		{`bash(rm "a bc")`, `rm "a b"*`, Ask},
		{`bash(rm a bc)`, `rm "a b"*`, Allow},
		{`bash(rm " b")`, `rm [" a"]b`, Ask},
		{`bash(rm "x y")`, `rm [a-c]" y"`, Allow},
	} {
		set, _, err := Compile(rulesOf(a("bash"), a(c.deny), nil))
		if err != nil {
			t.Fatal(err)
		}
		call := Call{Tool: BuiltinTool("bash"), Args: []byte(arg("command", c.command)), Workspace: "/w", Home: "/h"}
		if d := set.Decide(call); d.Effect != c.want {
			t.Errorf("deny %s: want %s\n%s", c.deny, c.want, Explain(call, d))
		}
	}
}

func TestARuleNamesItsTools(t *testing.T) {
	t.Parallel()
	bash := BuiltinTool("bash")
	for pattern, want := range map[string]bool{"bash": true, "bash(ls)": true, "*": true, "file_read": false, "b?sh": true, "mcp__x": false,
		"bash(ls": true /* it can't be read */} {
		if got := (Rule{Effect: Deny, Pattern: pattern}).Names(bash); got != want {
			t.Errorf("%s names bash: %v", pattern, got)
		}
	}
	for _, c := range []struct {
		effect  Effect
		pattern string
		want    bool
	}{{Deny, "BASH", true}, {Deny, "*", true}, {Deny, "bash(", false}, {Allow, "bash(ls)", true}, {Allow, "Bash(ls)", false}} {
		if got := (Rule{Effect: c.effect, Pattern: c.pattern}).IsAbout(bash); got != c.want {
			t.Errorf("%s %s is about bash: %v", c.effect, c.pattern, got)
		}
	}
}

package permission

import (
	"strings"
	"testing"

	"github.com/gobwas/glob"
	"pgregory.net/rapid"
)

var (
	someCommands = rapid.SampledFrom([]string{"ls", "ls -la a", "git push", "git push origin main", "git status", "rm -rf x", "npm run test:unit", "npm test", "echo 'a b'", "cat a.txt", "cat .env", "grep -r x .",
		"sudo rm x", "timeout 5 ls", "A=1 git push", "echo $(ls)", "echo $X", "find . -delete", "sed -i s/a/b/ f", "bash -c 'rm x'", "echo a > out/x", "cat < .env", "cd src", "(ls)", "git -C x push", "mywrapper rm x", "ls *.go", "{rm,x}", "printf x", "export A=1", "echo \"open"})
	someAllows = rapid.SampledFrom([]string{"bash", "bash(ls:*)", "bash(git:*)", "bash(git push:*)", "bash(echo:*)", "bash(npm run test:*)", "bash(*)", "bash(cat *)", "bash(sudo:*)", "bash(find:*)", "bash(rm -rf x)", "file_write(./out/**)", "file_read(./**)", "bash(cd:*)"})
	someDenies = rapid.SampledFrom([]string{"bash(rm:*)", "bash(git push:*)", "bash(* x)", "bash(npm:*)", "file_read(**/.env)", "file_write(./out/**)", "bash(sudo:*)", "*", "bash(ls)", "bash(find * -delete)"})
	someAsks   = rapid.SampledFrom([]string{"bash(git:*)", "bash(ls:*)", "file_read(**/.env)", "bash(* -la *)"})
	lists      = func(g *rapid.Generator[string], t *rapid.T, label string) []string {
		return rapid.SliceOfN(g, 0, 4).Draw(t, label)
	}
)

func decideWith(t *rapid.T, command string, allow, deny, ask []string) Decision {
	set, problems, err := Compile(rulesOf(allow, deny, ask))
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	return set.Decide(Call{Tool: BuiltinTool("bash"), Args: []byte(arg("command", command)), Workspace: "/w", Home: "/h"})
}

func TestAnAddedDenyNeverWeakens(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := strings.Join(rapid.SliceOfN(someCommands, 1, 4).Draw(t, "commands"), rapid.SampledFrom([]string{"; ", " && ", " | ", "\n"}).Draw(t, "join"))
		allow, deny, ask := lists(someAllows, t, "allow"), lists(someDenies, t, "deny"), lists(someAsks, t, "ask")
		before := decideWith(t, c, allow, deny, ask)
		after := decideWith(t, c, allow, append(deny, someDenies.Draw(t, "added")), ask)
		if before.Effect.Stricter(after.Effect) {
			t.Fatalf("%s: %s became %s", c, before.Effect, after.Effect)
		}
	})
}

func TestAnAddedAllowNeverOverridesADenyOrAnAsk(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := strings.Join(rapid.SliceOfN(someCommands, 1, 4).Draw(t, "commands"), "; ")
		allow, deny, ask := lists(someAllows, t, "allow"), lists(someDenies, t, "deny"), lists(someAsks, t, "ask")
		before := decideWith(t, c, allow, deny, ask)
		after := decideWith(t, c, append(allow, someAllows.Draw(t, "added")), deny, ask)
		if (before.Effect == Deny) != (after.Effect == Deny) {
			t.Fatalf("%s: %s became %s", c, before.Effect, after.Effect)
		}
		if before.Effect == Allow && after.Effect != Allow {
			t.Fatalf("%s: an allow took one away", c)
		}
	})
}

func TestACompoundIsItsStrictestPart(t *testing.T) {
	t.Parallel()
	independent := someCommands.Filter(func(s string) bool { return s != "cd src" && !strings.Contains(s, "open") })
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(independent, 1, 5).Draw(t, "parts")
		allow, deny, ask := lists(someAllows, t, "allow"), lists(someDenies, t, "deny"), lists(someAsks, t, "ask")
		want := Allow
		for _, p := range parts {
			if d := decideWith(t, p, allow, deny, ask); d.Effect.Stricter(want) {
				want = d.Effect
			}
		}
		if got := decideWith(t, strings.Join(parts, "; "), allow, deny, ask); got.Effect != want {
			t.Fatalf("%q: whole %s, parts %s", parts, got.Effect, want)
		}
	})
}

func TestASuggestionCoversItsCallAndNothingDenied(t *testing.T) {
	t.Parallel()
	arbitrary := rapid.StringMatching(`(git|ls|npm run|echo|cat) [ -~]{0,20}`)
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.OneOf(someCommands, arbitrary).Draw(t, "command")
		if rapid.Bool().Draw(t, "compound") {
			c += "; " + someCommands.Draw(t, "second")
		}
		allow, deny, ask := lists(someAllows, t, "allow"), lists(someDenies, t, "deny"), lists(someAsks, t, "ask")
		d := decideWith(t, c, allow, deny, ask)
		if d.Effect != Ask && len(d.SuggestedPatterns) > 0 {
			t.Fatalf("%s: suggestions for %s", c, d.Effect)
		}
		for _, s := range d.SuggestedPatterns {
			added := append(append([]string{}, allow...), s)
			if d.SuggestTogether {
				added = append(append([]string{}, allow...), d.SuggestedPatterns...)
			}
			if after := decideWith(t, c, added, deny, ask); after.Effect != Allow {
				t.Fatalf("%s: with %s still %s", c, added, Explain(Call{}, after))
			}
		}
	})
}

func TestTheGlobAgreesWithItself(t *testing.T) {
	t.Parallel()
	patterns := rapid.StringMatching(`[ab/*?]{0,8}`)
	rapid.Check(t, func(t *rapid.T) {
		p := patterns.Draw(t, "pattern")
		s := rapid.StringMatching(`[ab/]{0,8}`).Draw(t, "text")
		q, err := parseSegment(p, true)
		if err != nil {
			return // no pattern
		}
		if got := q.match([]rune(s), '/'); got != q.meets(literal(s), '/') || got != literal(s).meets(q, '/') {
			t.Fatalf("%q and %q: match %v, meets %v", p, s, got, !got)
		}
	})
}

func TestTheGlobAgreesWithAnIndependentOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.StringMatching(`[abc/*?]{0,8}`).Draw(t, "pattern")
		text := rapid.StringMatching(`[abc/]{0,8}`).Draw(t, "text")
		mine, err := parseSegment(p, true)
		if err != nil {
			t.Fatal(err)
		}
		other, err := glob.Compile(p, '/')
		if err != nil {
			t.Fatal(err)
		}
		if mine.match([]rune(text), '/') != other.Match(text) {
			t.Fatalf("%q against %q: %v here", p, text, mine.match([]rune(text), '/'))
		}
	})
}

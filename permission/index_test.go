package permission

import (
	"fmt"
	"slices"
	"testing"

	"github.com/gobwas/glob"
)

// TestTheIndexLeavesOutOnlyWhatCouldNotMatch holds what the index picks for a call against every rule of every vector.
func TestTheIndexLeavesOutOnlyWhatCouldNotMatch(t *testing.T) {
	t.Parallel()
	vectors := loadVectors(t)
	var allow, deny []string
	for _, v := range vectors {
		for _, p := range slices.Concat(v.Rules.Allow, v.Rules.Ask, v.Rules.Deny) {
			if ParsePattern(Allow, p) == nil {
				allow = append(allow, p)
			}
			if ParsePattern(Deny, p) == nil {
				deny = append(deny, p)
			}
		}
	}
	set, problems, err := Compile(rulesOf(allow, deny, nil))
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	matched := 0
	for _, v := range vectors {
		e := set.evaluate(v.call())
		for _, o := range e.results {
			if o.subject == nil {
				continue
			}
			picked := map[*compiled]bool{}
			view := set.about(o.subject.by())
			for _, r := range view.restricts {
				picked[r] = true
			}
			last := -1
			view.allows(o.subject, func(r *compiled) bool {
				if r.order < last {
					t.Fatalf("%s: the rules come out of order", v.ID)
				}
				picked[r], last = true, r.order
				return true
			})
			for _, r := range slices.Concat(set.allows, set.denies) {
				hit := r.rule.Effect == Allow && o.subject.permits(r) || r.rule.Effect == Deny && o.subject.forbids(r) != no
				if hit && !picked[r] {
					t.Errorf("%s: the %s rule %s is about %q, and was left out", v.ID, r.rule.Effect, r.rule.Pattern, o.text)
				}
				if hit {
					matched++
				}
			}
		}
	}
	if matched < 1000 {
		t.Errorf("only %d rules matched anything, which shows nothing", matched)
	}
}

func TestViewsOfHostileNamesAreNotKept(t *testing.T) {
	t.Parallel()
	set, _, err := Compile(rulesOf([]string{"bash(ls)"}, nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 * maxViews {
		set.Decide(Call{Tool: Tool{Name: fmt.Sprintf("tool%d", i)}, Args: []byte(`{}`), UserID: "u"})
	}
	if n := len(set.index.views); n != maxViews {
		t.Errorf("%d views are kept", n)
	}
}

// workload is a set of n rules over 20 tools (60 % exact, 30 % prefix or suffix, 10 % path globs), and calls of which
// half are allowed, a tenth is denied and the rest matches nothing.
func workload(tb testing.TB, n int) (set *Set, calls []Call, patterns []string) {
	tb.Helper()
	var rules []Rule
	name := func(i int) string { return fmt.Sprintf("tool%02d", i%18) }
	for i := range n {
		r := Rule{Effect: Allow, Source: Source{Layer: LayerUser}, UserID: "u"}
		switch {
		case i%10 < 6:
			r.Pattern = fmt.Sprintf("%s(cmd%d run task)", name(i), i)
		case i%10 < 8:
			r.Pattern = fmt.Sprintf("%s(cmd%d test:*)", name(i), i)
		case i%10 < 9:
			r.Pattern = fmt.Sprintf("%s(* --only=%d)", name(i), i)
		default:
			r.Pattern = fmt.Sprintf("file_read(/w/src/m%d/**)", i)
		}
		if i%10 == 5 {
			r.Effect = Deny
		}
		rules, patterns = append(rules, r), append(patterns, r.Pattern)
	}
	set, _, err := Compile(rules)
	if err != nil {
		tb.Fatal(err)
	}
	for k := range 200 {
		i := k * max(n/200, 1) % n / 10 * 10
		command := fmt.Sprintf("cmd%d run task", i) // exact, allowed
		switch {
		case k%10 >= 6:
			command = fmt.Sprintf("other%d run", k)
		case k%10 == 5:
			i += 5
			command = fmt.Sprintf("cmd%d run task", i)
		case k%10 >= 3:
			i += 6
			command = fmt.Sprintf("cmd%d test --fast", i)
		}
		calls = append(calls, Call{Tool: Tool{Name: name(i), Kind: KindCommand, Field: "command"}, UserID: "u",
			Args: fmt.Appendf(nil, `{"command":%q}`, command), Workspace: "/w", Home: "/h"})
	}
	return set, calls, patterns
}

func TestTheWorkloadIsWhatItSays(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1000, 10_000} {
		set, calls, _ := workload(t, n)
		counts := map[Effect]int{}
		for _, c := range calls {
			counts[set.Decide(c).Effect]++
		}
		if counts[Allow] != 100 || counts[Deny] != 20 || counts[Ask] != 80 {
			t.Errorf("%d rules: %v", n, counts)
		}
	}
}

// BenchmarkRules compares, for users with few and many rules, one decision from the raw arguments (decide) and the
// matching alone once they are parsed (match) with a single lookup of the full key in a map (map) and a scan over
// compiled globs (scan).
func BenchmarkRules(b *testing.B) {
	for _, n := range []int{10, 1000, 10_000} {
		set, calls, patterns := workload(b, n)
		keys, lookup := make([]string, len(calls)), map[string]bool{}
		for _, p := range patterns {
			lookup[p] = true
		}
		evaluations := make([]*evaluation, len(calls))
		globs := make([]*glob.Pattern, len(patterns))
		for i, p := range patterns {
			globs[i] = glob.MustCompile(p)
		}
		for i, c := range calls {
			evaluations[i] = set.evaluate(c)
			keys[i] = c.Tool.Name + "(" + evaluations[i].results[0].text + ")"
		}
		b.Run(fmt.Sprintf("%d/map", n), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				_ = lookup[keys[i%len(keys)]]
			}
		})
		b.Run(fmt.Sprintf("%d/match", n), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				e := evaluations[i%len(evaluations)]
				s, p := e.results[0].subject, e.results[0].part
				e.results = e.results[:0]
				e.judge(s, p, "", "")
			}
		})
		b.Run(fmt.Sprintf("%d/decide", n), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				set.Decide(calls[i%len(calls)])
			}
		})
		b.Run(fmt.Sprintf("%d/scan", n), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				for _, g := range globs {
					if g.Match(keys[i%len(keys)]) {
						break
					}
				}
			}
		})
	}
}

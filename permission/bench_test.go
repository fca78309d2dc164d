package permission

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/gobwas/glob"
)

// workTools are 20 tools: 16 that run commands, 4 for files.
func workTool(i int) Tool {
	switch i % 20 {
	case 0:
		return BuiltinTool("bash")
	case 16, 17:
		return BuiltinTool([]string{"file_read", "file_write"}[i%20-16])
	case 18:
		return Tool{Name: "view", Kind: KindRead, Field: "path"}
	case 19:
		return BuiltinTool("file_edit")
	default:
		return Tool{Name: fmt.Sprintf("shell%02d", i%20), Kind: KindCommand, Field: "command"}
	}
}

// workRule is rule i of a workload and a call that it matches: of ten rules six are exact, three are a prefix or a
// suffix, one is a path glob. Every tenth of each kind is a deny.
func workRule(i int) (r Rule, t Tool, value string) {
	day := time.Date(2026, 1, 1, 0, 0, i, 0, time.UTC)
	r = Rule{Effect: Allow, Source: Source{Layer: LayerUser}, UserID: "alice", GrantedBy: "bob", CreatedAt: day,
		ID: fmt.Sprintf("%08x-3c7e-4b5a-9d2f-0123456789ab", i*2654435761%(1<<32))}
	if i/10%10 == i%10 {
		r.Effect = Deny
	}
	t = workTool((i/10*7 + i) % 16)
	switch kind := i % 10; {
	case kind < 6:
		value = fmt.Sprintf("npm run task%d --if-present", i)
		r.Pattern = t.Name + "(" + value + ")"
	case kind < 8:
		value = fmt.Sprintf("git commit -m note%d --amend", i)
		r.Pattern = t.Name + fmt.Sprintf("(git commit -m note%d:*)", i)
	case kind == 8:
		value = fmt.Sprintf("go test ./... -run=Case%d", i)
		r.Pattern = t.Name + fmt.Sprintf("(* -run=Case%d)", i)
	default:
		t = workTool(16 + i/10%4)
		value = fmt.Sprintf("src/module%d/internal/file.go", i)
		r.Pattern = t.Name + fmt.Sprintf("(./src/module%d/**)", i)
	}
	return r, t, value
}

// workload is n rules, and 200 calls on rules of every kind: half are allowed, a tenth is denied, and the rest would
// match a rule that is not there.
func workload(n int) (rules []Rule, calls []Call) {
	var allowed, denied [10][]int
	for i := range n {
		r, _, _ := workRule(i)
		rules = append(rules, r)
		if r.Effect == Allow {
			allowed[i%10] = append(allowed[i%10], i)
		} else {
			denied[i%10] = append(denied[i%10], i)
		}
	}
	for k := range 200 {
		kind, i := k/10%10, 0
		some := allowed[kind]
		switch {
		case k%10 >= 6:
			some = nil
		case k%10 == 5:
			some = denied[kind]
		}
		switch {
		case len(some) > 0:
			i = some[k*7919%len(some)]
		case k%10 == 5:
			i = denied[0][k%len(denied[0])]
		case k%10 < 5:
			i = allowed[1][0]
		default:
			i = n + k*10 + kind
		}
		_, t, value := workRule(i)
		calls = append(calls, Call{Tool: t, UserID: "alice", SessionID: "s1", Workspace: "/w", Home: "/h",
			Args: fmt.Appendf(nil, `{%q:%q}`, t.Field, value)})
	}
	return rules, calls
}

func compileWork(tb testing.TB, rules []Rule) *Set {
	tb.Helper()
	set, problems, err := Compile(rules)
	if err != nil || len(problems) > 0 {
		tb.Fatal(err, problems)
	}
	return set
}

func TestTheWorkloadIsWhatItSays(t *testing.T) {
	t.Parallel()
	for _, n := range []int{10, 1000, 10_000} {
		rules, calls := workload(n)
		set, counts := compileWork(t, rules), map[Effect]int{}
		for _, c := range calls {
			counts[set.Decide(c).Effect]++
		}
		if counts[Allow] != 100 || counts[Deny] != 20 || counts[Ask] != 80 {
			t.Errorf("%d rules: %v", n, counts)
		}
	}
}

// fullKey is what decisions are remembered by at least: nothing in it is shortened.
type fullKey struct{ user, session, tool, args string }

// prepared is a call, taken apart and ready for matching.
func prepared(set *Set, c Call) (e *evaluation, match func()) {
	e = set.evaluate(c)
	s, p := e.results[0].subject, e.results[0].part
	return e, func() {
		e.results, e.hits, e.viewOf = e.results[:0], e.hits[:0], nil
		e.judge(s, p, "", "")
	}
}

func TestMatchingAllocatesNothing(t *testing.T) { // counts allocations, so it runs alone
	rules, calls := workload(1000)
	set := compileWork(t, rules)
	for _, c := range calls {
		_, match := prepared(set, c)
		if n := testing.AllocsPerRun(5, match); n != 0 {
			t.Errorf("%s %s: %v allocations", c.Tool.Name, c.Args, n)
		}
	}
}

// BenchmarkRules compares, for users with few and many rules, one decision from the raw arguments (decide) and the
// matching alone once they are parsed (match) with a single lookup of the full key, which is the user, the session,
// the tool and the canonical arguments, in a map (map) and a scan over compiled globs (scan).
func BenchmarkRules(b *testing.B) {
	for _, n := range []int{10, 1000, 10_000} {
		rules, calls := workload(n)
		set := compileWork(b, rules)
		lookup := map[fullKey]Effect{}
		for i := range n {
			r, t, value := workRule(i)
			args, _ := CanonicalArgs(fmt.Appendf(nil, `{%q:%q}`, t.Field, value))
			lookup[fullKey{"alice", "s1", t.Name, args}] = r.Effect
		}
		keys, matches := make([]fullKey, len(calls)), make([]func(), len(calls))
		for i, c := range calls {
			args, _ := CanonicalArgs(c.Args)
			keys[i] = fullKey{c.UserID, c.SessionID, c.Tool.Name, args}
			_, matches[i] = prepared(set, c)
		}
		b.Run(fmt.Sprintf("%d/map", n), func(b *testing.B) {
			b.ReportAllocs()
			found := 0
			for i := 0; b.Loop(); i++ {
				if _, ok := lookup[keys[i%len(keys)]]; ok {
					found++
				}
			}
			if b.N > 1000 && found == 0 {
				b.Fatal("nothing found")
			}
		})
		b.Run(fmt.Sprintf("%d/match", n), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				matches[i%len(matches)]()
			}
		})
		b.Run(fmt.Sprintf("%d/decide", n), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				set.Decide(calls[i%len(calls)])
			}
		})
		benchScan(b, n, rules, keys)
	}
}

func benchScan(b *testing.B, n int, rules []Rule, keys []fullKey) {
	globs, texts := make([]*glob.Pattern, len(rules)), make([]string, len(keys))
	for i, r := range rules {
		globs[i] = glob.MustCompile(r.Pattern)
	}
	for i, k := range keys {
		texts[i] = k.tool + "(" + k.args + ")"
	}
	b.Run(fmt.Sprintf("%d/scan", n), func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			for _, g := range globs {
				if g.Match(texts[i%len(texts)]) {
					break
				}
			}
		}
	})
}

// BenchmarkKept is the memory that the compiled rules of a user keep, once calls were decided by them.
func BenchmarkKept(b *testing.B) {
	_, calls := workload(1000)
	for b.Loop() {
		var before, after runtime.MemStats
		sets := make([]*Set, 20)
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range sets {
			rules, _ := workload(1000)
			sets[i] = compileWork(b, rules)
			for _, c := range calls {
				sets[i].Decide(c)
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(len(sets))/1024, "KiB/user")
		runtime.KeepAlive(sets)
	}
}

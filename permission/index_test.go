package permission

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// unindexed is the set without its index, for the tools that are named, and with every pattern in full: every rule is
// tried on every call.
func unindexed(s *Set, tools ...Tool) *Set {
	out := &Set{allows: inFull(s.allows), restricts: inFull(s.restricts), denies: s.denies, tools: s.tools, broken: s.broken,
		watchesFiles: s.watchesFiles}
	var all views
	for n, t := range append(tools, readTool, writeTool) {
		v := &view{server: t.Server, kind: t.Kind, own: s.owned(&t), name: t.Name, hash: nameHash(t.Name)}
		var rest, allows []int32
		files := t.Kind == KindCommand || t.Kind == KindRead || t.Kind == KindWrite
		for i, r := range s.restricts {
			if r.kin.tool.forbids(&t) || files && (r.kin.tool.forbids(&readTool) || r.kin.tool.forbids(&writeTool)) {
				rest = append(rest, int32(i))
			}
		}
		v.every, v.restricts, v.files = rest, &keys{rest: rest}, rest
		for i, r := range s.allows {
			if r.kin.tool.permits(&t) {
				allows = append(allows, int32(i))
			}
		}
		v.allows = &keys{rest: allows}
		all = all.with(v, n+1)
	}
	out.index.views.Store(&all)
	return out
}

// inFull compiles rules again and packs nothing.
func inFull(rules []compiled) (out []compiled) {
	for i := range rules {
		c, err := compile(rules[i].rule())
		if err != nil {
			panic(err)
		}
		c.kin.tool.number = rules[i].kin.tool.number
		c.flags |= standing(c.kin.scope)
		out = append(out, *c)
	}
	return out
}

// TestTheIndexLeavesOutOnlyWhatCouldNotMatch decides every vector by the rules of all of them, with the index and
// without.
func TestTheIndexLeavesOutOnlyWhatCouldNotMatch(t *testing.T) {
	t.Parallel()
	vectors := loadVectors(t, "vectors.jsonl")
	var rules []Rule
	for _, v := range vectors {
		for effect, patterns := range map[Effect][]string{Allow: v.Rules.Allow, Ask: v.Rules.Ask, Deny: v.Rules.Deny} {
			for _, p := range patterns {
				if r := (Rule{Effect: effect, Pattern: p}); ParsePattern(effect, p) == nil && p != "*" && p != "bash" {
					rules = append(rules, r)
				}
			}
		}
	}
	effects := map[Effect]int{}
	for from := 0; from < len(rules); from += 40 {
		set, problems, err := Compile(rules[from:min(from+40, len(rules))])
		if err != nil || len(problems) > 0 {
			t.Fatal(err, problems)
		}
		for _, v := range vectors {
			c := v.call()
			got, want := set.Decide(c), unindexed(set, c.Tool).Decide(c)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s: with the index\n%s\nwithout\n%s", v.ID, Explain(c, got), Explain(c, want))
			}
			effects[got.Effect]++
		}
	}
	if effects[Deny] < 100 || effects[Allow] < 100 {
		t.Errorf("%v: too few matched anything to show something", effects)
	}
}

// TestRulesWithoutAKeyAreTried has denies that no beginning and no end of a text leads to.
func TestRulesWithoutAKeyAreTried(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		deny, tool, field, value string
		want                     Effect
	}{
		"a program's name with a slash behind it":   {"bash(*b/)", "bash", "command", "b/", Deny},
		"a star on both sides":                      {"bash(*push*)", "bash", "command", "git push origin", Deny},
		"an assignment":                             {"bash(A=1 make)", "bash", "command", "A=1 make", Deny},
		"a star in the program's directory":         {"bash(*/make x)", "bash", "command", "make a/make x", Deny},
		"a program that is not known":               {"bash(rm:*)", "bash", "command", "r? x", Ask},
		"a path above the workspace":                {"file_read(../x)", "file_read", "path", "../x", Deny},
		"no path, and a rule above the workspace":   {"file_read(../x)", "file_read", "path", "", Ask},
		"a prefix that ends in a wildcard":          {"bash(git p*:*)", "bash", "command", "git push x", Deny},
		"the whole command before a colon":          {"bash(a:*)", "bash", "command", "a:b", Deny},
		"letters that are written with a capital":   {"bash(git PUSH:*)", "bash", "command", "GIT PUSH x", Deny},
		"but not where they are of another meaning": {"bash(git PUSH:*)", "bash", "command", "git push x", Ask},
	} {
		set, _, err := Compile(rulesOf(a("bash", "file_read"), a(c.deny), nil))
		if err != nil {
			t.Fatal(name, err)
		}
		if c.want == Ask {
			set, _, _ = Compile(rulesOf(nil, a(c.deny), nil))
		}
		call := Call{Tool: BuiltinTool(c.tool), Args: []byte(arg(c.field, c.value)), Workspace: "/w", Home: "/h"}
		if d := set.Decide(call); d.Effect != c.want {
			t.Errorf("%s: %s", name, Explain(call, d))
		}
	}
}

// drawPattern draws a rule of a few words, so that rules and calls often meet.
func drawPattern(t *rapid.T) string {
	word := rapid.SampledFrom([]string{"git", "a", "ab", "a:b", "*", "a*", "*b", "/bin/a", "b/*", "*/a", "x=1", "GIT", "--o=a/b", "\"a b\"", "a?", "{a,b}", "K", "é", "./a", "a/b", "**", "[ab]"})
	words := strings.Join(rapid.SliceOfN(word, 1, 4).Draw(t, "words"), " ") + rapid.SampledFrom([]string{"", "", ":*", " *"}).Draw(t, "end")
	return rapid.OneOf(
		rapid.Just("bash("+words+")"),
		rapid.Just("other("+words+")"),
		rapid.Just(rapid.SampledFrom([]string{"bash", "*", "file_read", "file_*", "mcp__s", "mcp__s__*"}).Draw(t, "bare")),
		rapid.Just(rapid.SampledFrom([]string{"file_read", "file_write", "file_edit", "file_*"}).Draw(t, "tool")+"("+
			rapid.SampledFrom([]string{"", "./", "/w/", "~/", "../", "**/", "/"}).Draw(t, "root")+strings.Join(strings.Fields(words), "/")+")"),
		rapid.Just("http_fetch("+rapid.SampledFrom([]string{"https://a.b/**", "https://*.b/**", "POST https://a.b/a/*", "http://a.b:8080/", "https://*/a", "https://1.2.3.4/**"}).Draw(t, "url")+")"),
		rapid.Just("mcp__s__t("+rapid.SampledFrom([]string{"*", "{*", "*}", "a:1", `{"a":1}`, `{"a":*}`, "a<=2", `*"b"*`}).Draw(t, "args")+")"),
	).Draw(t, "pattern")
}

func drawCall(t *rapid.T) Call {
	word := rapid.SampledFrom([]string{"git", "a", "ab", "a:b", "b", "aab", "/bin/a", "b/a", "x=1", "Git", "--o=a/b", "'a b'", "\u212a", "é", "./a", "$X", "*b", "sudo", "timeout 5", "cat", "env", "git -c x=y", "; a", "> a", "a/", "$(a)", "{a,b}", "find . -exec"})
	words := strings.Join(rapid.SliceOfN(word, 1, 5).Draw(t, "words"), " ")
	c := Call{Workspace: "/w", Home: "/h", UserID: "u"}
	args := map[string]any{}
	switch rapid.IntRange(0, 7).Draw(t, "tool") {
	case 0, 1, 2, 3:
		c.Tool, args["command"] = BuiltinTool("bash"), words
	case 4:
		c.Tool = Tool{Name: "other", Kind: rapid.SampledFrom([]Kind{KindOther, KindCommand, KindRead, KindURL, 9}).Draw(t, "kind"), Field: "x"}
		args["x"] = words
	case 5:
		c.Tool = BuiltinTool(rapid.SampledFrom([]string{"file_read", "file_write", "file_edit"}).Draw(t, "file"))
		args["path"] = rapid.SampledFrom([]string{"", "/w/", "~/", "../", "/", "l/"}).Draw(t, "root") + strings.Join(strings.Fields(words), "/")
	case 6:
		c.Tool = BuiltinTool("http_fetch")
		args["url"] = rapid.SampledFrom([]string{"https://a.b/a", "https://A.b./a/b", "https://x.a.b/a", "http://a.b:8080", "https://16909060/", "https://b/a"}).Draw(t, "url")
		args["method"] = rapid.SampledFrom([]string{"GET", "POST"}).Draw(t, "method")
	default:
		c.Tool = BuiltinTool("mcp__s__t")
		args["a"] = rapid.SampledFrom([]any{1, 2, "b", "1", []int{1}}).Draw(t, "value")
	}
	c.Args, _ = json.Marshal(args)
	if rapid.Bool().Draw(t, "links") {
		c.Resolve = func(p string) (string, error) {
			rest, ok := strings.CutPrefix(p, "/w/l")
			if ok {
				return "/w/a" + rest, nil
			}
			return p, nil
		}
	}
	return c
}

func TestTheIndexDecidesAsAScanWould(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var rules []Rule
		for range rapid.IntRange(1, 12).Draw(t, "rules") {
			r := Rule{Effect: rapid.SampledFrom([]Effect{Allow, Allow, Deny, Ask}).Draw(t, "effect"), Pattern: drawPattern(t)}
			if rapid.Bool().Draw(t, "stored") {
				r.Source.Layer, r.UserID, r.ID = LayerUser, "u", "id"
			}
			r.Approval.MaxGrant = rapid.SampledFrom([]GrantScope{GrantNone, GrantUser}).Draw(t, "grant")
			if ParsePattern(r.Effect, r.Pattern) == nil {
				rules = append(rules, r)
			}
		}
		set, _, err := Compile(rules)
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			c := drawCall(t)
			got, want := set.Decide(c), unindexed(set, c.Tool).Decide(c)
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%s %s with the index\n%s\nwithout\n%s", c.Tool.Name, c.Args, Explain(c, got), Explain(c, want))
			}
		}
	})
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
	if n := len(*set.index.views.Load()); set.index.kept != maxViews || n > 4*maxViews {
		t.Errorf("%d views are kept in %d places", set.index.kept, n)
	}
}

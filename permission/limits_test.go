package permission

import (
	"strings"
	"testing"
)

// hostileUnits are repeated to exhaust the parser or the walk.
var hostileUnits = []string{"(", "$(", "$((", "`", "${", "{", "[[ ", "((", "\"$(", "<(", "if ", "case ", "a=(", "!", "f() ", "<<E ", "$[",
	"\\`", "\\", "{a,", "{a,b}", "a;", "a|", "a&&", "timeout 1 ", "sudo ", "eval ", "xyz ", "bash -c '", "$'\\x", "*", "[", "?(", "\"", "'",
	"while ", "a[", "${a:-", "$\"", "rm|", ">x ", "env -S ", "echo $(", "coproc ", "time ", "function f ", "- ", "~ ", "{1..9}", "a{", "elif ",
	"<<-E\n", "a=$(", "find -exec ", "xargs ", "git -c a=!"}

func TestHostileInputEndsSoonAndNeverAllows(t *testing.T) {
	t.Parallel()
	rules := rulesOf(a("bash(echo:*)", "bash(a*)", "bash(timeout:*)"), a("bash(zzz:*)", "bash(*secret*)", "file_read(**/.env)", "file_write(./.git/**)"), a("bash(git push:*)"))
	set, _, err := Compile(rules)
	if err != nil {
		t.Fatal(err)
	}
	for _, unit := range hostileUnits {
		t.Run(unit, func(t *testing.T) {
			t.Parallel()
			for _, n := range []int{300, 9_000, 29_000, 40_000} {
				text := strings.Repeat(unit, n/len(unit)) + " zzz"
				d := set.Decide(Call{Tool: BuiltinTool("bash"), Args: []byte(arg("command", text)), Workspace: "/w", Home: "/h"})
				if d.Effect == Allow {
					t.Errorf("%d bytes of %q: %s", n, unit, d.Reason)
				}
			}
		})
	}
}

func TestDenyIsTriedBeyondEveryLimit(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("( ", 60) + "rm x" + strings.Repeat(" )", 60)
	long := "echo " + strings.Repeat("a", 12_000)
	longer := "echo " + strings.Repeat("a", 200_000)
	nested := "rm x"
	for range 3 {
		nested = "bash -c " + ruleQuote(nested)
	}
	runShell(t, denyRm(deep, long+"; rm x", longer+"; rm x", longer+"\nsudo -u root rm x", longer+"; echo $(rm x)", strings.Repeat("true;", 400)+"rm x", nested,
		strings.Repeat("timeout 1 ", 100)+"rm x", strings.Repeat("sudo ", 100)+"rm x"))
	asks := []string{strings.Repeat("( ", 60) + "ls" + strings.Repeat(" )", 60), long, longer, strings.Repeat("true;", 400) + "true", strings.Repeat("timeout 1 ", 100) + "ls"}
	for _, c := range asks {
		if d := decideBash(t, shellCase{command: c, allow: a("bash", "bash(true)")}); d.Effect != Ask {
			t.Errorf("%.40q…: want ask, got %s", c, d.Effect)
		}
	}
	if d := decideBash(t, shellCase{command: "echo " + strings.Repeat("a", 9_900), allow: a("bash(echo:*)")}); d.Effect != Allow {
		t.Errorf("just below the limit: %s", d.Reason)
	}
}

func ruleQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func TestHarmlessSed(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"p", "1p", "$d", "1,5p", "/a/p", "/a/,/b/d", "/a/!d", "\\,a,p", "s/a/b/", "s,a,b,g", "s/a/b/2p;p", "s/\\//x/", "y/ab/cd/", "y/ab/cd/;p", "1~2p", "$!N", "n;d", "# note\np", "#n", "b", "ba", ":a", "a text", "i\\ text", "c text", "1q", "q5", "l", "=", "{p;d}",
		"/[ab]/p", "2{h;d}", " p ", "", "/a/I,+3p", "x;G;1!h", "s/a/b/;s/c/d/", "ta\np"} {
		if !harmlessSed(s) {
			t.Errorf("%q is not accepted", s)
		}
	}
	for _, s := range []string{"w x", "1w x", "r x", "R x", "W x", "e", "e id", "s/a/b/w x", "s/a/b/e", "s/a/b/ge", "p;w x", "/a/w x", "/[/]w/p", "s", "s/a", "s/a/b", "s\\a\\b\\", "/a", "\\,a", "y/a", "y/a/b", "F", "z", "a x\nw y", "s/a\n/b/", "p\ne", "{w x\n}", "1,5w x", "ba;w x", "v", "b}w x", "s/[/]/x/e", "/\\", "1\\"} {
		if harmlessSed(s) {
			t.Errorf("%q is accepted", s)
		}
	}
}

func TestWhereCdLeads(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"": "/h", "a": "a", "-L a": "a", "-- a": "a", "~": "/h", "~/a": "/h/a", "~bob": "", "-": "", "-P a": "", "a b": "", "/a": "/a"} {
		var words []word
		for _, f := range strings.Fields(in) {
			words = append(words, word{text: f, tilde: f[0] == '~'})
		}
		if got, ok := cdTarget(words, "/h"); got != want && ok || ok != (want != "") {
			t.Errorf("cd %s: %q %v", in, got, ok)
		}
	}
}

func TestTheDecoderKeepsWhatItReads(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{`{"a":1.50,"b":[true,false,null,{"c":"d\"\\<"}],"a":2}`: `{"a":1.5,"a":2,"b":[true,false,null,{"c":"d\"\\<"}]}`, `{"a":[1,`: `{"a":[1]}`, `{"a":`: `{}`, `{"a":1e500}`: `{"a":1e500}`, `{"a":{"b":1}`: `{"a":{"b":1}}`,
		`{"x":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1`: `{"x":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}`} {
		if got := decodeArgs([]byte(raw)); canonical(got.members) != want || got.fault == "" && strings.Count(raw, "{") != strings.Count(raw, "}") {
			t.Errorf("%s: %s (%s)", raw, canonical(got.members), got.fault)
		}
	}
	if a := decodeArgs([]byte(`{"a":"` + strings.Repeat("x", maxArgBytes) + `"}`)); a.fault == "" {
		t.Error("large arguments are accepted")
	}
	for raw, want := range map[string]bool{`"\ud83d\ude00"`: false, `"\ud83d"`: true, `"\ude00"`: true, `"\ud83d\u0041"`: true, `"\\ud83d"`: false, `"\uZZZZ"`: false, `"\u00`: false, `\`: false} {
		if loneSurrogate([]byte(raw)) != want {
			t.Errorf("%s", raw)
		}
	}
}

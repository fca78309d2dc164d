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
		for _, n := range []int{300, 9_000, 29_000, 40_000} {
			text := strings.Repeat(unit, n/len(unit)) + " zzz"
			d := set.Decide(Call{Tool: BuiltinTool("bash"), Args: []byte(arg("command", text)), Workspace: "/w", Home: "/h"})
			if d.Effect == Allow {
				t.Errorf("%d bytes of %q: %s", n, unit, d.Reason)
			}
		}
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

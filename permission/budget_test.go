package permission

import (
	"strings"
	"testing"
)

// heavyRules are denies of every sort, so that each sort of work is done.
func heavyRules(t testing.TB) *Set {
	t.Helper()
	set, _, err := Compile(rulesOf([]string{"bash", "file_read(./**)"}, []string{"bash(rm:*)", "bash(rm -rf /)", "bash(git push:*)",
		"bash(* --force)", "bash(curl *evil*)", "file_read(**/.env)", "file_read(./secrets/**)", "file_write(./.git/**)",
		"file_read(~/.ssh/**)", "file_read(**/*.pem)", "file_read(**/id_*)"}, nil))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// heavyCommands fill the greatest allowed length with what multiplies.
func heavyCommands() map[string]string {
	fill := func(pre, unit, post string) string {
		return pre + strings.Repeat(unit, (9900-len(pre)-len(post))/len(unit)) + post
	}
	braces := strings.Repeat("{a,b}", 8) + " "
	dirs := "cd a||cd b||cd c||cd d||cd e||cd f||cd g;"
	return map[string]string{
		"globs of an unknown program":   fill("x ", "a*b ", ""),
		"globs in one word":             fill("x ", "a*", ""),
		"classes in one word":           fill("cat ", "[a-z]*", ""),
		"braces":                        fill("cat ", braces, ""),
		"braces in eight directories":   fill(dirs+"cp ", braces, "z"),
		"stars":                         fill("cat ", "*", ""),
		"star words":                    fill("cat ", "* ", ""),
		"xargs":                         fill("xargs cat ", "a* ", ""),
		"here-documents":                fill("", "cat <<a\na\n", ""),
		"here-documents of one command": "cat" + strings.Repeat(" <<a", 1600) + strings.Repeat("\na", 1600),
		"a here-document's long line":   fill("cat <<aa\n", "a\\\n", "b\naa"),
		"parentheses":                   fill("", "(", ""),
		"double parentheses":            fill("", "((", ""),
		"sixty double parentheses":      strings.Repeat("((", 29) + strings.Repeat("))", 29),
		"redirections":                  fill("", "> a ", ""),
		"redirections of commands":      fill(dirs, "a>b;", "a"),
		"cd chain":                      fill("", "cd a||", "true"),
		"cp in eight directories":       fill(dirs+"cp ", "h ", "z"),
		"wrappers":                      fill("", "docker exec ", ""),
		"wrappers of an unknown one":    fill("", "sudo --x ", "y"),
		"words of an unknown program":   fill("x ", "rm ", ""),
		"quoted words of an unknown":    fill("x ", "'rm b' ", ""),
		"substitutions":                 fill("x ", "$(a) ", ""),
		"evals":                         fill("", "eval ", "a"),
		"letters in one word":           fill("nl -", "x", ""),
		"letters that are not known":    fill("foo -", "x", ""),
		"options":                       fill("git log ", "-x y ", ""),
		"values of options":             fill("curl ", "-d @a ", ""),
		"a path that goes up":           fill("cat ", "a/../", ""),
		"text that cannot be parsed":    fill("'", "rm a;", ""),
		"words that cannot be parsed":   fill("'", "x a ", ""),
		"wrappers that can't be parsed": fill("'", "sudo ", ""),
	}
}

func TestTheWorkOfADecisionIsBounded(t *testing.T) {
	t.Parallel()
	set := heavyRules(t)
	for name, command := range heavyCommands() {
		e := set.evaluate(Call{Tool: BuiltinTool("bash"), Args: []byte(arg("command", command)), Workspace: "/work/repo", Home: "/home/dev"})
		// A step under way may end, and denies are tried to the end.
		if used := e.places.work.used; used > 2*maxWork {
			t.Errorf("%s: %d steps, more than twice the budget of %d", name, used, maxWork)
		}
		if e.places.work.over() && e.decision().Effect == Allow {
			t.Errorf("%s: allowed beyond the budget", name)
		}
		denied := command + "\nrm x"
		if d := set.Decide(Call{Tool: BuiltinTool("bash"), Args: []byte(arg("command", denied)), Workspace: "/work/repo", Home: "/home/dev"}); d.Effect != Deny && !strings.HasSuffix(denied, "'\nrm x") {
			t.Errorf("%s: the denied command after it is answered with %s", name, d.Effect)
		}
	}
}

func BenchmarkHostileCommands(b *testing.B) {
	set := heavyRules(b)
	for name, command := range heavyCommands() {
		call := Call{Tool: BuiltinTool("bash"), Args: []byte(arg("command", command)), Workspace: "/work/repo", Home: "/home/dev"}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				set.Decide(call)
			}
		})
	}
}

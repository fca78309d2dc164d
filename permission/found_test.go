package permission

import "testing"

// Kinds of spelling that got past an earlier version of the analysis.
func TestSpellingsThatOnceSlippedThrough(t *testing.T) {
	t.Parallel()
	runShell(t, denyRm("coproc rm <<< x", "coproc rm x", "cat <<'E' | bash\nrm x\nE", "bash /dev/stdin <<E\nrm x\nE", "source /dev/stdin <<E\nrm x\nE",
		"git config alias.x '!rm y'", "docker run --entrypoint rm alpine x", "eval -- rm x", "env - rm x", "ls | time rm x", "export 'a=$(rm x)'",
		"declare 'a[`rm x`]=1'", "echo $[ 'a[$(rm x)]' ]", "bash --command 'rm x'", "echo -e 'rm x' | sh", "cat <<E | sh -s\nrm x\nE", "echo a | sh -c 'rm x'",
		"find . -okdir rm {} \\;", "sg g -c 'rm x'", "mise x -c 'rm y'", "flock -c'rm x' /l", "rtx exec -- rm x", "trap -p; trap 'rm x' 0",
		"xterm & rm x", "git filter-branch --tree-filter 'rm x'", "start-stop-daemon --exec=rm x",
		// A comment that ends in a backslash does not go on in bash.
		"ls #\\\nrm x", "ls # a\\\nrm x", "#\\\nrm x", "ls;#\\\nrm x"))
	var cases []shellCase
	for _, c := range []string{`perl -e 'system("rm x")'`, `awk 'BEGIN{system("rm x")}'`, "vim -c '!rm x'", "hash -p /bin/rm ls", "git -c core.pager='rm x' log",
		"tar cf a b --checkpoint-action=exec='rm x'", "ls #\\\nid", "\\x=[ ls", "..=[[ ls", "echo a['b']", "echo {a,b", "echo {a..b", "echo a['b'", "printf %s ls | sh", "ls | time", "env -S \"$X\"", "alias a=$X",
		"echo $\"a\"", "echo $'\\x{41}'", "ls | bash /dev/fd/0", "source /dev/stdin", "git submodule foreach $X", "${a}x", "!(a)"} {
		want := Ask
		if c == "ls | time" {
			want = Allow
		}
		cases = append(cases, shellCase{command: c, want: want, allow: a("bash"), deny: a("bash(rm:*)")})
	}
	runShell(t, cases)
	runShell(t, []shellCase{
		{"git clone 'ext::sh -c x'", Ask, a("bash(git:*)"), nil, nil}, {"git shell -c x", Ask, a("bash(git:*)"), nil, nil}, {"git config core.pager x", Ask, a("bash(git:*)"), nil, nil},
		{"git config --global a.b c", Ask, a("bash(git:*)"), nil, nil}, {"git config user.name x", Allow, a("bash(git:*)"), nil, nil}, {"git fetch ssh://-oX/", Ask, a("bash(git:*)"), nil, nil},
		{"git commit -m 'std::x'", Allow, a("bash(git:*)"), nil, nil}, {"cd $X && git log", Ask, a("bash(git:*)", "bash(cd:*)"), nil, nil}, {"cd x && git log", Allow, a("bash(git:*)", "bash(cd:*)"), nil, nil},
		{"cd x && git log", Ask, a("bash(cd:*)"), nil, nil}, {"echo [a-z", Allow, a("bash(echo:*)"), nil, nil}, {"echo {1..3..2}", Allow, a("bash(echo:*)"), nil, nil}, {"echo {+1..03}", Allow, a("bash(echo:*)"), nil, nil},
		{"echo {-1..1}", Allow, a("bash(echo:*)"), nil, nil}, {"echo {a..c}", Allow, a("bash(echo a b c)"), nil, nil}, {"(ls", Ask, a("bash"), nil, nil}, {"mkdir a; ln -s /etc b; echo > b/x", Ask, a("bash", "file_write(./**)"), nil, nil},
	})
}

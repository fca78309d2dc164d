package permission

import "testing"

// Bash reads a here-document by lines before it looks into it; the parser did not, and what one of them took for text the other ran.
func TestAHereDocumentHidesNothing(t *testing.T) {
	t.Parallel()
	hidden := []string{
		"cat <<E\nE\\\n\nrm x\nE\n", "cat <<EOF\nE\\\nOF\nrm x\nEOF\n", "cat <<-EOF\n\tE\\\nOF\nrm x\nEOF\n", "cat <<E\n\\\nE\nrm x\nE\n", "cat <<E\nE\\\\\\\n\nrm x\nE\n",
		"cat <<E\n$(: '\nE\nrm x\n')\nE\n", "cat <<E\n`: '\nE\nrm x\n'`\nE\n", "cat <<E\n${x:-'\nE\nrm x\n'}\nE\n", "cat <<E\n\"${x:-\"\nE\nrm x\n\"}\"\nE\n",
		"cat <<E\n${x}E\necho '\nE\nrm x\n#'\n", "cat <<E\na`ls`E\necho '\nE\nrm x\n#'\n",
		"cat <<E\n${x:-'$(rm x)'}\nE\n", "cat <<E\n${x:-'`rm x`'}\nE\n", "cat <<E\n\"${x:+'$(rm x)'}\"\nE\n", "cat <<E\n${x:-$'$(rm x)'}\nE\n", "cat <<E\n${x:-'${y:-$(rm x)}'}\nE\n",
		"bash -c 'cat <<E\nE\\\n\nrm x\nE\n'", "x=$(cat <<E\nE\\\n\nrm x\nE\n)",
	}
	finding{want: "ask deny", allow: a("bash"), deny: a("bash(rm:*)"), commands: hidden}.run(t)
	finding{want: "ask", allow: a("bash(cat:*)", "bash(echo:*)", "bash(ls)"), commands: hidden}.run(t)
	finding{want: "allow", allow: a("bash(cat:*)", "bash(ls)"), commands: []string{
		"cat <<E\na\nE\n", "cat <<E\na \\\n  b\nE\n", "cat <<'E'\nE\\\n$(rm x)\nE\n", "cat <<\"E\"\n'\nE\nls", "cat <<-E\n\ta\n\tE\nls", "cat <<E\nE\nls", "cat <<E\n$x it's ${y:-z}\nE\nls", "cat <<\\E\na\nE\nls",
		"cat <<A <<B\na\nA\nb\nB\nls", "cat <<E\n$(ls)\nE\n", "cat <<E\n'$x'\nE\n", "cat <<E_1.x\na\nE_1.x\n", "cat <<E\nE2\n E\nE\nls", "(cat <<E\na\nE\n)", "cat <<E | cat\na\nE\n",
	}}.run(t)
}

// The parser knows functions without a name; bash runs what stands in them all the same, or nothing.
func TestAFunctionWithoutANameAsks(t *testing.T) {
	t.Parallel()
	finding{want: "deny", allow: a("bash"), deny: a("bash(rm:*)"), commands: []string{"() rm x", "ls; () (rm x)", "coproc aa () rm x", "() for i in a; do rm x; done"}}.run(t)
	finding{want: "ask", allow: a("bash"), commands: []string{"() ls"}}.run(t)
}

// In each of these bash takes for a command, or a file to write, what the parser takes for arithmetic, a value or a name.
func TestStatementsThatBashReadsDifferently(t *testing.T) {
	t.Parallel()
	finding{want: "deny", allow: a("bash"), deny: a("bash(rm:*)"), commands: []string{"let a=1|rm x", "let a=1&rm x", "let a=1 b=2|rm x", "let a=1&&rm x", "declare -a 'a=($(rm x))'"}}.run(t)
	finding{want: "ask deny", allow: a("bash", "file_write(./docs/**)"), deny: a("bash(rm:*)"), commands: []string{"let a=1>x", "let a=1>>x", "coproc a=b rm x", "coproc a=b c=d rm x"}}.run(t)
	finding{want: "ask", allow: a("bash(declare:*)", "bash(export:*)", "bash(typeset:*)", "bash(readonly:*)", "bash(local:*)"), commands: []string{
		"declare -a 'a=($(id))'", "declare -A 'a=([x]=`id`)'", "typeset -a 'a=([0]=$(id))'", "export 'a=($(id))'", "readonly -a 'a=(`id`)'"}}.run(t)
	finding{want: "allow", allow: a("bash", "bash(declare:*)"), commands: []string{"let a=1", "let a=1+2 b=a*3", "let 'a = 1'", "declare -a 'a=(b)'", "coproc ls", "coproc A { ls; }"}}.run(t)
}

// What env -S is given is split by rules of its own, and goes on in the words behind it.
func TestEnvSplitsWhatItIsGiven(t *testing.T) {
	t.Parallel()
	finding{want: "ask deny", allow: a("bash"), deny: a("bash(rm:*)", "bash(git push:*)"), commands: []string{
		"env -S git push origin", "env -S 'git' push", "env -iS git push", "/usr/bin/env -S git push", "env -S 'git\npush'", "env -S 'A=1' git push", "env --split-string=git push", "env --split=git push", "env -S '-i git' push", "env -S 'A=1 git' -- push; git push",
		`env -S 'A=1\_rm\_x'`, `env -S 'rm\_x'`, `env -S 'rm\cx'`, `env -S 'git\_push'`, `env -S 'git\tpush'`, "env -S 'nice #' rm x", `env -S "A='\\' rm x"`, "env -S 'git -c' '#=x' push", "env -S '${A}rm x'", "env -S \"git $X\"", "env -S git $X",
	}}.run(t)
	finding{want: "allow", allow: a("bash"), deny: a("bash(rm:*)", "bash(git push:*)"), commands: []string{"env -S 'git status'", "env -S git status", "env -S 'A=1 ls' -l 'a b'", "env A=1 ls"}}.run(t)
}

// What a later word means is not what it says once these have run.
func TestWordsThatComeToMeanSomethingElse(t *testing.T) {
	t.Parallel()
	finding{want: "ask deny", allow: a("bash", "file_read", "file_write"), deny: a("bash(rm:*)", "bash(git push:*)", "file_read(./secrets/**)", "file_write(./.git/**)"), commands: []string{
		"shopt -s expand_aliases\nalias echo=command\necho rm x", "shopt -s expand_aliases\nalias g=git\ng push", "alias git='git '\nalias p=push\ngit p", "set -o posix; alias echo=nice;\necho rm x",
		"history -s rm x; fc -s", "history -s 'rm x'", "history -s xm y; fc -s x=r", "fc -e - rm", "set -H -o history\nhistory -s xm y\n!!:s/x/r/", "set -o histexpand", "set -xH", "set -o $X", "shopt -s -o histexpand",
		"read 'BASH_CMDS[cat]' <<< /bin/rm; cat x", "declare -n r=BASH_CMDS; r[cat]=/bin/ls; cat x", "BASH_ALIASES[echo]=command", "printf -v 'BASH_ALIASES[ls]' nice",
		"shopt -s lastpipe; true | cd secrets; cat x", "true | cd .git; tee x", "cd() { :; }; cd docs && echo > ../.git/x; cd ../.git && tee y",
		"git-push origin", "/usr/lib/git-core/git-push origin", "git config alias.p push", "kubectl debug p -- rm x", "cmake -E env rm x", "cmake -E chdir d rm x", "gh alias set a '!rm x'",
		"ed f <<< '!rm x'", "echo '!rm x' | ed f", "sftp h <<< '!rm x'", "tclsh <<< 'exec rm x'",
	}}.run(t)
	finding{want: "ask", allow: a("bash", "file_write(./docs/**)"), commands: []string{"cd() { :; }; cd docs && echo > x", "function cd { :; }; cd docs && echo > x"}}.run(t)
	finding{want: "allow", allow: a("bash", "file_read", "file_write"), deny: a("bash(rm:*)", "bash(git push:*)", "file_read(./secrets/**)"), commands: []string{
		"alias ls='ls --color'", "alias", "history", "history 5", "fc -l", "set -e", "set -euo pipefail", "set -x; ls", "set -- -H", "shopt -s nullglob", "ls | cat; cat a", "ls | (cd x && cat b); cat a", "git config alias.st status", "gh alias list", "cmake --build .", "cmake -E echo x",
	}}.run(t)
}

// git finds files by more than their names.
func TestGitFindsFilesByMoreThanTheirNames(t *testing.T) {
	t.Parallel()
	finding{want: "ask deny", allow: a("bash", "file_read"), deny: a("file_read(./secrets/**)", "file_read(~/.ssh/**)"), commands: []string{
		"git show :0:secrets/x", "git show HEAD:secrets/x", "git diff -- ':(top)secrets/x'", "git diff -- ':/secrets/x'", "git diff -- ':(icase)SECRETS/x'", "git diff -- ':(top,icase)secrets/x'", "git log -p -- 'secre*'", "git log -p -- 'secre*/x'", "git grep -h x 'sec*'", "git diff -- 's[e]crets/x'", "git diff -- '*/x'", "git log -p -- '*.go'",
		"dd if=~/.ssh/id", "dd bs=1 if=~/.ssh/id of=x",
	}}.run(t)
	finding{want: "allow", allow: a("bash", "file_read"), deny: a("file_read(./secrets/**)"), commands: []string{
		"git show :0:docs/x", "git diff -- ':(top)docs/x'", "git diff -- ':!secrets/x'", "git diff -- ':(exclude)secrets'", "git show HEAD", "git show HEAD:docs/x", "git log a..b -- docs", "dd if=a of=b", "git show ':/fix'",
	}}.run(t)
}

package permission

import (
	"encoding/json"
	"testing"
)

// shellCase is one command line under some rules.
type shellCase struct {
	command     string
	want        Effect
	allow, deny []string
	ask         []string
}

func decideBash(t testing.TB, c shellCase) Decision {
	t.Helper()
	set, _, err := Compile(rulesOf(c.allow, c.deny, c.ask))
	if err != nil {
		t.Fatal(err)
	}
	args, err := json.Marshal(map[string]string{"command": c.command})
	if err != nil {
		t.Fatal(err)
	}
	return set.Decide(Call{Tool: BuiltinTool("bash"), Args: args, Workspace: "/work/repo", Home: "/home/dev", Resolve: links(nil)})
}

func runShell(t *testing.T, cases []shellCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.command, func(t *testing.T) {
			t.Parallel()
			if d := decideBash(t, c); d.Effect != c.want {
				t.Errorf("allow %v deny %v ask %v\n%s\nwant %s, got %s", c.allow, c.deny, c.ask, c.command, c.want, Explain(Call{}, d))
			}
		})
	}
}

func a(s ...string) []string { return s }

var bareNoRm = shellCase{allow: a("bash"), deny: a("bash(rm:*)")}

func denyRm(commands ...string) []shellCase {
	var out []shellCase
	for _, c := range commands {
		out = append(out, shellCase{command: c, want: Deny, allow: bareNoRm.allow, deny: bareNoRm.deny})
	}
	return out
}

func TestADeniedCommandIsFoundWhereverItHides(t *testing.T) {
	t.Parallel()
	runShell(t, denyRm(
		"ls; rm x", "ls && rm x", "ls || rm x", "ls | rm x", "ls & rm x", "ls\nrm x", "{ rm x; }", "(rm x)", "! rm x",
		"if true; then rm x; fi", "if rm x; then true; fi", "while rm x; do true; done", "until true; do rm x; done",
		"for ((i=0;i<2;i++)); do rm x; done", "case a in a) rm x;; esac", "case $(rm x) in *) ;; esac", "f() { rm x; }",
		"function f { rm x; }", "coproc { rm x; }", "select a in b; do rm x; done", "time rm x", "echo $(rm x)", "echo `rm x`",
		"echo \"$(rm x)\"", "cat <(rm x)", "tee >(rm x)", "cat <<EOF\n$(rm x)\nEOF", "cat <<-EOF\n\t`rm x`\n\tEOF", "cat <<< $(rm x)",
		"A=$(rm x)", "A=$(rm x) ls", "export A=$(rm x)", "declare A=`rm x`", "a[$(rm x)]=1", "echo ${a[$(rm x)]}", "echo ${a:-$(rm x)}",
		"echo $((1+$(rm x)))", "((a=$(rm x)))", "let a=$(rm x)", "[[ -n $(rm x) ]]", "ls > $(rm x)", "ls 2> \"`rm x`\"", "a=($(rm x))",
		"echo {a,$(rm x)}", "for i in $(rm x); do true; done", "ls |& rm x", "true && { false || (rm x); }", "echo $(echo $(echo $(rm x)))",
		`r\m x`, `"rm" x`, `'r'm x`, `r""m x`, `$'rm' x`, `$'\162m' x`, `$'\562m' x`, `$'\u0072m' x`, "r\\\nm x", "{rm,x}", "{rm,} x", "{,rm} x",
		"/bin/rm x", "../../bin/rm x", "RM x", "Rm x", "A=1 rm x", "A=1 B=2 rm x", "2>/dev/null rm x", "</dev/null rm x",
		"sudo rm x", "sudo -u root rm x", "sudo -n -E A=1 rm x", "sudo -- rm x", "doas rm x", "env rm x", "env -u A rm x", "env A=1 B=2 rm x", "env -S 'rm x'",
		"env --split-string='rm x'", "env -i -- rm x", "timeout 5 rm x", "timeout -s KILL 5 rm x", "timeout --signal=KILL 5s rm x", "nice rm x", "nice -n 5 rm x",
		"nice -5 rm x", "ionice -c 3 rm x", "nohup rm x", "stdbuf -oL rm x", "stdbuf -o L rm x", "setsid rm x", "setsid -w rm x", "flock /tmp/l rm x", "flock /tmp/l -c 'rm x'",
		"watch rm x", "watch -n 1 'rm x'", "xargs rm", "echo x | xargs rm", "echo x | xargs -n 1 -I {} rm {}", "xargs -0 -P4 rm -f", "command rm x", "command -p rm x",
		"builtin rm x", "exec rm x", "exec -a ls rm x", "chroot /x rm x", "busybox rm x", "toybox rm x", "parallel rm ::: x", "parallel -j 4 'rm {}' ::: x",
		"find . -exec rm {} +", "find . -type f -execdir rm {} \\;", "find . -ok rm {} \\;", "fd -x rm", "bash -c 'rm x'", "bash -lc 'rm x'", "bash -e -o pipefail -c 'rm x'",
		"sh -c \"rm x\"", "zsh -c 'rm x'", "/bin/sh -c 'rm x'", "bash -c 'bash -c \"rm x\"'", "bash --norc -c 'rm x'", "bash <<< 'rm x'", "bash <<EOF\nrm x\nEOF",
		"sh -s <<'EOF'\nrm x\nEOF", "echo 'rm x' | sh", "echo rm x | bash", "printf 'rm x\\n' | sh", "printf '%s\\n' 'rm x' | bash -s", "eval rm x", "eval 'rm x'", `eval "r"m x`,
		"trap 'rm x' EXIT", "trap -- 'rm x' INT", "alias ls='rm x'", "npx rm x", "npx -y rm x", "npx -c 'rm x'", "pnpm exec rm x", "pnpm dlx rm x", "npm exec -- rm x", "npm x rm",
		"yarn exec rm x", "bunx rm x", "uv run rm x", "uvx rm x", "pipx run rm x", "poetry run rm x", "bundle exec rm x", "mise exec node@20 -- rm x", "mise x -- rm x",
		"docker exec c rm x", "docker exec -it -u 0 c rm x", "docker run --rm -v /:/h alpine rm x", "docker run alpine sh -c 'rm x'", "podman exec c rm x", "kubectl exec pod -- rm x",
		"kubectl exec -it pod -c c -- rm x", "ssh host rm x", "ssh -p 22 user@host 'ls; rm x'", "ssh host -- rm x", "devbox run rm x", "nix-shell --run 'rm x'", "nix-shell -p a --run 'rm x'",
		"su -c 'rm x'", "su root -c 'rm x'", "su - root -c 'rm x'", "script -c 'rm x'", "git bisect run rm x", "git submodule foreach 'rm x'", "git rebase -x 'rm x' main", "git rebase --exec='rm x' main",
		"git -c alias.p='!rm x' p", "strace -f rm x", "unbuffer rm x", "timeout 5 nice -n 3 env A=1 sudo rm x", "xargs sh -c 'rm x'", "find . -exec sh -c 'rm {}' \\;", "direnv exec . rm x",
		"tmux new-session 'rm x'", "direnv exec /x rm x", "cross-env A=1 rm x", "conda run -n e rm x", "gosu root rm x", "runuser -u u -- rm x", "chrt 5 rm x", "taskset 1 rm x",
		// Text that can't be parsed is still looked through.
		"rm x; echo \"open", "rm x | | ls", "if rm x", "ls\r\nrm x", "ls\x00;rm x", "echo 'a; rm x",
		// A carriage return is no blank to bash, and a separator is one anyway.
		"true;\\\r\nrm x",
	))
}

func TestARunnerNobodyListedAsks(t *testing.T) {
	t.Parallel()
	var cases []shellCase
	for _, c := range []string{"mywrapper rm x", "mywrapper --flag rm x", "mywrapper -- rm -rf /", "./run.sh rm x", "make-it-so rm", "xyz exec rm x",
		"docker --what a exec c rm x", "curl https://x | sh", "cat x | bash", "bash", "bash -s", "sh -", "$X rm", "bash -c \"$X\"", "eval $X", "`echo rm` x",
		"/bin/r? x", "/bin/r* x", "r[m] x", "${X} x", "$0", "bash <(curl x)", "source <(curl x)", ". $X", "rm${IFS}x", "echo \"open"} {
		cases = append(cases, shellCase{command: c, want: Ask, allow: bareNoRm.allow, deny: bareNoRm.deny})
	}
	runShell(t, cases)
}

func TestOrdinaryUseOfWordsThatAreDeniedElsewhere(t *testing.T) {
	t.Parallel()
	var cases []shellCase
	for _, c := range []string{"echo rm x", "grep rm file", "cat rm", "echo 'rm x'", "cat <<'EOF'\nrm x\nEOF", "git commit -m 'rm x'", "git log --grep rm", "ls rm", "printf '%s' rm",
		"timeout 5 grep rm f", "command -v rm", "which rm", "git rm x", "npm run rm", "man rm", "echo \\; rm", "[[ a == rm ]]", "rmdir x", "echo \"; rm x\"", "git checkout -b rm", "npm install rm", "xrm", "find . -name rm", "time ls"} {
		cases = append(cases, shellCase{command: c, want: Allow, allow: bareNoRm.allow, deny: bareNoRm.deny})
	}
	runShell(t, cases)
}

func TestAllowNeedsEveryPart(t *testing.T) {
	t.Parallel()
	runShell(t, []shellCase{
		{"ls && ls -l", Allow, a("bash(ls:*)"), nil, nil},
		{"ls && id", Ask, a("bash(ls:*)"), nil, nil},
		{"for f in a b; do ls; done", Allow, a("bash(ls:*)"), nil, nil},
		{"for PATH in /evil; do ls; done", Ask, a("bash(ls:*)"), nil, nil},
		{"if ls; then ls -a; else ls -b; fi", Allow, a("bash(ls:*)"), nil, nil},
		{"(ls; ls) | ls", Allow, a("bash(ls:*)"), nil, nil},
		{"f() { ls; }; f", Ask, a("bash(ls:*)"), nil, nil},
		{"time ls", Allow, a("bash(ls:*)"), nil, nil},
		{"! ls", Allow, a("bash(ls:*)"), nil, nil},
		{"[[ -f x ]] && ls", Ask, a("bash(ls:*)"), nil, nil},
		{"[[ -f x ]] && ls", Allow, a("bash"), nil, nil},
		{"A=1", Ask, a("bash(ls:*)", "bash(*)"), nil, nil},
		{"A=1", Allow, a("bash"), nil, nil},
		{"export A=1", Allow, a("bash(export A=1)"), nil, nil},
		{"export A=1", Allow, a("bash(export:*)"), nil, nil},
		{"export A=$B", Ask, a("bash(export:*)"), nil, nil},
		{"unset A", Allow, a("bash(unset:*)"), nil, nil},
		{"let a=1", Ask, a("bash(ls:*)"), nil, nil},
		{"export A=1", Ask, a("bash(*)"), nil, nil},
		{"((1))", Ask, a("bash(*)"), nil, nil},
		{"A=1 ls", Ask, a("bash(ls:*)"), nil, nil},
		{"A=1 ls -l", Allow, a("bash(A=1 ls:*)"), nil, nil},
		{"A=2 ls", Ask, a("bash(A=1 ls:*)"), nil, nil},
		{"A=1 B=2 ls", Ask, a("bash(A=1 ls:*)", "bash(A=1 *)"), nil, nil},
		{"PATH=/x node --version", Ask, a("bash(* --version)"), nil, nil},
		{"ls $HOME", Ask, a("bash(ls:*)"), nil, nil},
		{"ls $HOME", Ask, a("bash"), nil, nil},
		{"ls ~", Allow, a("bash(ls:*)"), nil, nil},
		{"ls $(pwd)", Allow, a("bash(ls:*)", "bash(pwd)"), nil, nil},
		{"ls $(pwd)", Ask, a("bash(ls -l:*)", "bash(pwd)"), nil, nil},
		{"git $(echo push)", Ask, a("bash(git:*)", "bash(echo:*)"), a("bash(git push:*)"), nil},
		{"git pus*", Ask, a("bash(git:*)"), a("bash(git push:*)"), nil},
		{"git commit -m \"$(cat m)\"", Allow, a("bash(git commit:*)", "bash(cat:*)"), nil, nil},
		{"find $(echo -delete)", Ask, a("bash(find:*)", "bash(echo:*)"), nil, nil},
		{"sort *", Ask, a("bash(sort:*)"), nil, nil},
		{"sort -- *", Allow, a("bash(sort:*)"), nil, nil},
		{"sort ./*", Allow, a("bash(sort:*)"), nil, nil},
		{"grep x *.go", Allow, a("bash(grep:*)"), nil, nil},
		{"ls !(a)", Ask, a("bash(ls:*)"), nil, nil},
		{"ls {a,b}", Allow, a("bash(ls a b)"), nil, nil},
		{"ls {1..3}", Allow, a("bash(ls 1 2 3)"), nil, nil},
		{"ls {1..99999999}", Ask, a("bash(ls:*)"), nil, nil},
		{"ls {1..9}{1..9}{1..9}{1..9}", Ask, a("bash(ls:*)"), nil, nil},
		{"ls \"{a,b}\"", Allow, a(`bash(ls "{a,b}")`), nil, nil},
		{"npm run 'lint fix'", Ask, a("bash(npm run lint fix)"), nil, nil},
		{"npm 'run lint'", Ask, a("bash(npm run lint)", "bash(npm run:*)"), nil, nil},
		{"./ls", Ask, a("bash(ls:*)"), nil, nil},
		{"/bin/ls", Ask, a("bash(ls:*)"), nil, nil},
		{"/bin/ls -l", Allow, a("bash(/bin/ls:*)"), nil, nil},
		{"LS", Ask, a("bash(ls:*)"), nil, nil},
	})
}

func TestPrefixRules(t *testing.T) {
	t.Parallel()
	rule := a("bash(npm run test:*)")
	runShell(t, []shellCase{
		{"npm run test", Allow, rule, nil, nil},
		{"npm run test -- --watch", Allow, rule, nil, nil},
		{"npm run test:unit --watch", Allow, rule, nil, nil},
		{"npm run test:a:b", Allow, rule, nil, nil},
		{"npm run testevil", Ask, rule, nil, nil},
		{"npm run test-x", Ask, rule, nil, nil},
		{"npm run test:$(evil)", Ask, rule, nil, nil},
		{"npm run 'test:unit; rm'", Allow, rule, nil, nil},
		{"npm run", Ask, rule, nil, nil},
		{"npm  run   test", Allow, rule, nil, nil},
		{"npm run test;id", Ask, rule, nil, nil},
		{"git push", Deny, a("bash"), a("bash(git push *)"), nil},
		{"git push", Ask, a("bash(git push *)"), nil, nil},
		{"git branch -d x", Allow, a("bash"), a("bash(git branch -D:*)"), nil},
		{"git branch -D x", Deny, a("bash"), a("bash(git branch -D:*)"), nil},
		{"git reset --hard", Deny, a("bash"), a("bash(git {push,reset}:*)"), nil},
		{"npm test", Allow, a("bash(npm {test,lint})"), nil, nil},
		{"npm publish", Ask, a("bash(npm {test,lint})"), nil, nil},
		{"rm x", Deny, a("bash"), a("bash(/bin/rm:*)"), nil},
		{"rm x", Deny, a("bash"), a("bash(r?:*)"), nil},
		{"rm x", Deny, a("bash"), a("bash(RM:*)"), nil},
		{"ls --force", Deny, a("bash"), a("bash(* --force)"), nil},
		{"ls --force x", Allow, a("bash"), a("bash(* --force)"), nil},
		{"ls a", Allow, a(`bash(ls "a")`), nil, nil},
		{"ls ''", Allow, a(`bash(ls "")`), nil, nil},
		{"ls", Ask, a(`bash(ls "")`), nil, nil},
		{"ls a*b", Allow, a(`bash(ls a\*b)`), nil, nil},
		{"ls axb", Ask, a(`bash(ls a\*b)`), nil, nil},
		{"ls a[b", Allow, a(`bash(ls a[b)`), nil, nil},
		{"npm run test:x", Ask, a(`bash(npm run test:\*)`), nil, nil},
	})
}

func TestWrappersForAllow(t *testing.T) {
	t.Parallel()
	ls := a("bash(ls:*)")
	runShell(t, []shellCase{
		{"timeout 5 ls", Allow, ls, nil, nil}, {"nice -n 5 ls", Allow, ls, nil, nil}, {"nohup ls", Allow, ls, nil, nil},
		{"stdbuf -oL ls", Allow, ls, nil, nil}, {"command ls", Allow, ls, nil, nil}, {"builtin ls", Allow, ls, nil, nil},
		{"timeout 5 nice ls -l", Allow, ls, nil, nil}, {"timeout 5 id", Ask, ls, nil, nil}, {"timeout", Ask, ls, nil, nil},
		{"timeout 5 A=1 ls", Ask, ls, nil, nil}, {"/tmp/timeout 5 ls", Ask, ls, nil, nil}, {"A=1 timeout 5 ls", Ask, ls, nil, nil},
		{"/usr/bin/time -o /etc/x ls", Ask, ls, nil, nil}, {"\\time -o /etc/x ls", Ask, ls, nil, nil}, {"timeout $X ls", Ask, ls, nil, nil},
		{"sudo ls", Ask, ls, nil, nil}, {"env ls", Ask, ls, nil, nil}, {"xargs ls", Ask, ls, nil, nil}, {"exec ls", Ask, ls, nil, nil},
		{"setsid ls", Ask, ls, nil, nil}, {"npx ls", Ask, ls, nil, nil}, {"ssh h ls", Ask, ls, nil, nil}, {"eval ls", Ask, ls, nil, nil},
		{"sudo ls", Allow, a("bash(sudo:*)", "bash(ls:*)"), nil, nil}, {"sudo id", Ask, a("bash(sudo:*)", "bash(ls:*)"), nil, nil},
		{"sudo id", Ask, a("bash(sudo:*)"), nil, nil}, {"sudo id", Allow, a("bash(sudo id)"), nil, nil},
		{"env PATH=/x ls", Ask, a("bash(env:*)", "bash(ls:*)"), nil, nil}, {"env -i ls", Allow, a("bash(env:*)", "bash(ls:*)"), nil, nil},
		{"xargs ls", Ask, a("bash(xargs:*)", "bash(ls:*)"), nil, nil}, {"bash -c ls", Allow, a("bash(bash:*)", "bash(ls:*)"), nil, nil},
		{"bash -c 'ls; id'", Ask, a("bash(bash:*)", "bash(ls:*)"), nil, nil}, {"bash -c 'ls > x'", Ask, a("bash"), nil, nil},
		{"bash x.sh", Allow, a("bash(bash:*)"), nil, nil}, {"bash < x.sh", Ask, a("bash(bash:*)"), nil, nil}, {"eval ls", Allow, a("bash(eval:*)", "bash(ls:*)"), nil, nil},
		{"find . -exec ls {} +", Allow, a("bash(find . -exec ls {} +)"), nil, nil}, {"bash -c 'ls'", Allow, a(`bash(bash -c "ls")`), nil, nil},
		{"timeout 5 curl x", Allow, a("bash(timeout 5 curl x)"), nil, nil}, {"command -v ls", Ask, ls, nil, nil}, {"command", Ask, ls, nil, nil},
		{"command -v ls", Allow, a("bash(command -v:*)"), nil, nil},
		{"sudo ls", Ask, a("bash"), nil, a("bash(ls:*)")}, {"timeout 5 ls", Ask, a("bash"), nil, a("bash(ls:*)")}, {"timeout 5 ls", Ask, ls, nil, a("bash(timeout:*)")},
	})
}

func TestFlagsThatExecuteOrWrite(t *testing.T) {
	t.Parallel()
	var cases []shellCase
	for program, commands := range map[string][2][]string{
		"find": {a("find . -delete", "find . -fprint x", "find . -fls x", "find . -okdir a \\;", "find -exec a \\;"), a("find . -type f", "find . -name 'x' -print0", "find . -newer x")},
		"rg":   {a("rg --pre=x y", "rg --pre x y", "rg -z y", "rg -nz y", "rg --search-zip y", "rg --hostname-bin x y"), a("rg -n y", "rg -C 3 y", "rg --hidden y")},
		"sed": {a("sed -i s/a/b/ f", "sed -ni p f", "sed --in-place s/a/b/ f", "sed -i.bak s/a/b/ f", "sed -n '1w x' f", "sed 's/a/b/w x' f", "sed 'r x' f", "sed 's/a/b/ge' f", "sed -e p -e 'e id' f",
			"sed --expression='e id' f", "sed -f x f", "sed 'e' f", "sed \"s/a/$X/\" f", "sed '1e id' f", "sed '/a/w x' f", "sed 'W x' f", "sed 's/[/]/b/e' f", "sed $'p\\ne id' f", "sed --in-pl s/a/b/ f"),
			a("sed -n 1,5p f", "sed s/a/b/ f", "sed 's/a/b/g; s/c/d/' f", "sed -e 's,a,b,' -e '$d' f", "sed '/a/,/b/d' f", "sed -E 's/(a)/\\1/gI' f", "sed -n '/a/{p;q}' f", "sed 's/w/e/' f", "sed y/abc/xyz/ f", "sed '2,3!d' f")},
		"sort": {a("sort -o x y", "sort -uo x y", "sort --output=x y", "sort --outp x y", "sort --compress-prog=x y"), a("sort -u x", "sort -k2 x", "sort -t o x", "sort -k 1o x")},
		"tar":  {a("tar xf a --to-command=x", "tar xIf x a", "tar -I x -xf a", "tar xf a --use-compress-program x", "tar cf a --checkpoint-action=exec=x b", "tar -xFx a", "tar xf a --to-comm=x"), a("tar xf a", "tar -czf a b", "tar tvf a")},
		"go":   {a("go test -exec x ./...", "go build -toolexec=x", "go vet -vettool=x", "go test --exec x"), a("go test ./...", "go build -o x .", "go test -run X")},
		"git": {a("git log --output=x", "git diff --output x", "git grep -O x", "git grep -Ox y", "git fetch --upload-pack=x", "git push --receive-pack x", "git diff --ext-diff", "git -c a=b log", "git -C x status", "git --git-dir=x log", "git --exec-path=x log",
			"git --work-tree x log", "git clone ext::x", "git fetch --upload-p x", "git clone -u x y", "git rebase -x a b", "git bisect run x", "git submodule foreach x", "git archive -o x HEAD", "git push --exec=x", "git ls-remote ext::sh", "git log $(id)", "git --paginate log", "git difftool -x a", "git -p log", "git rebase --exec x"),
			a("git status", "git log --oneline -5", "git diff HEAD~1", "git --no-pager log", "git -P log", "git push -u origin main", "git commit -m x", "git show HEAD:a", "git log --text", "git add *.go", "git log -SFOO", "git checkout -b O")},
		"printf": {a("printf -v a x", "printf -va x", "printf \"$(id)\""), a("printf '%s' x", "printf -- -v")},
		"test":   {a("test -v x", "test -v 'a[$(id)]'"), a("test -f x", "test a = b")},
		"man":    {a("man -H ls", "man -Hx ls", "man -P x ls", "man --pager=x ls", "man --html ls"), a("man ls", "man 3 printf")},
		"awk":    {a("awk '{print}' f", "awk -f x f"), nil},
		"gawk":   {a("gawk '{print}' f"), nil},
		"xargs":  {a("xargs", "xargs -n1 ls"), nil},
		"curl":   {a("curl -o x y", "curl -O y", "curl -K x", "curl -T x y", "curl -sSo x y", "curl -sLO y", "curl --output x y", "curl --config x", "curl --upload-file x y", "curl -D x y", "curl -fsSLo x y"), a("curl https://x", "curl -s -H 'Origin: O' x", "curl -X POST x", "curl -sSfL x", "curl -uTOKEN x")},
		"wget":   {a("wget -O x y", "wget -qO- y", "wget --output-document=x y"), a("wget -q y")},
		"base64": {a("base64 -o x y", "base64 --output=x y"), a("base64 -d x", "base64 x")},
		"read":   {a("read 'a[$(id)]'"), a("read a")},
	} {
		for i, want := range []Effect{Ask, Allow} {
			for _, c := range commands[i] {
				cases = append(cases, shellCase{c, want, a("bash("+program+":*)", "bash(id)"), nil, nil}, shellCase{command: c + " ", want: want, allow: a("bash("+program+" *)", "bash("+program+":*)", "bash(id)")})
			}
		}
	}
	cases = append(cases,
		shellCase{"find . -delete", Allow, a("bash(find . -delete)"), nil, nil},
		shellCase{"find . -delete", Allow, a("bash"), nil, nil},
		shellCase{"sed -i s/a/b/ f", Allow, a("bash(sed -i s/a/b/ f)"), nil, nil},
		shellCase{"git -C x status", Allow, a("bash(git -C x status)"), nil, nil},
		shellCase{"awk '{print $1}' f", Allow, a(`bash(awk "{print $1}" f)`), nil, nil},
		shellCase{"git -C /x push", Deny, a("bash"), a("bash(git push:*)"), nil},
		shellCase{"git -c a=b --no-pager push", Deny, a("bash"), a("bash(git push:*)"), nil},
		shellCase{"git --git-dir x --work-tree=y push", Deny, a("bash"), a("bash(git push:*)"), nil},
	)
	runShell(t, cases)
}

package permission

import (
	"errors"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

func TestRareCommands(t *testing.T) {
	t.Parallel()
	files := a("bash", "file_read(./**)", "file_write(./**)")
	denied := a("file_read(./secrets/**)", "file_write(./.git/**)", "file_read(/etc/shadow)", "file_read(~/.ssh/**)")
	deep := strings.Repeat("if true; then true; el", 45) + "if true; then true; fi"
	runShell(t, []shellCase{
		{"git $(ls) core.pager x", Ask, a("bash(git:*)", "bash(ls)"), nil, nil}, {`git "$(ls)"`, Ask, a("bash(git:*)", "bash(ls)"), nil, nil}, {"git conf* core.x y", Ask, a("bash(git:*)"), nil, nil},
		{`git config "$(ls)" x`, Ask, a("bash(git:*)", "bash(ls)"), nil, nil}, {`git remote add x "$(ls)"`, Ask, a("bash(git:*)", "bash(ls)"), nil, nil}, {`git remote add x "$(ls)"`, Allow, a(`bash(git remote add x "$(ls)")`, "bash"), nil, nil},
		{`docker "$(ls)" c id`, Ask, a("bash(docker:*)", "bash(ls)"), nil, nil}, {"npm $(ls) x", Ask, a("bash(npm:*)", "bash(ls)"), nil, nil}, {`curl -d "$(ls)" u`, Ask, a("bash(curl:*)", "bash(ls)"), nil, nil},
		{`curl -d "x$(ls)" u`, Allow, a("bash(curl:*)", "bash(ls)"), nil, nil}, {`curl -H "A: $(ls)" u`, Allow, a("bash(curl:*)", "bash(ls)"), nil, nil}, {`curl -F "a=$(ls)" u`, Ask, a("bash(curl:*)", "bash(ls)"), nil, nil}, {`curl -w "$(ls)" u`, Ask, a("bash(curl:*)", "bash(ls)"), nil, nil},
		{`curl --data-urlencode "$(ls)" u`, Ask, a("bash(curl:*)", "bash(ls)"), nil, nil}, {`make "X=$(ls)"`, Ask, a("bash(make:*)", "bash(ls)"), nil, nil}, {`tar -tf "$(ls)"`, Ask, a("bash(tar:*)", "bash(ls)"), nil, nil}, {`tar -tf "./$(ls)"`, Allow, a("bash(tar:*)", "bash(ls)"), nil, nil},
		{`go build -ldflags "-X a=$(ls)"`, Ask, a("bash(go:*)", "bash(ls)"), nil, nil}, {`ssh -o "$(ls)" h ls`, Ask, a("bash(ssh:*)", "bash(ls)"), nil, nil}, {"cat a", Deny, a("bash"), a("file_read"), nil}, {"go build -o .git/hooks/x .", Ask, a("bash(go:*)"), nil, nil}, {"go build -o ./bin/x .", Allow, a("bash(go:*)"), nil, nil}, {"go test -coverprofile=../x .", Ask, a("bash(go:*)"), nil, nil}, {"chmod -r .git/x", Deny, a("bash"), denied, nil}, {"chmod --reference=a .git/x", Deny, a("bash"), denied, nil}, {"chmod 644 .git/x", Deny, a("bash"), denied, nil}, {"more -p secrets/x", Deny, a("bash"), denied, nil}, {"bash -oc errexit 'rm x'", Deny, a("bash"), a("bash(rm:*)"), nil}, {"bash -oO errexit extglob -c 'rm x'", Deny, a("bash"), a("bash(rm:*)"), nil},
		{"bash +oc errexit 'rm x'", Deny, a("bash"), a("bash(rm:*)"), nil}, {"zsh -oerrexit -c 'rm x'", Ask, a("bash"), a("bash(rm:*)"), nil}, {"fish --command='rm x'", Deny, a("bash"), a("bash(rm:*)"), nil}, {"pwsh -Command 'rm x'", Deny, a("bash"), a("bash(rm:*)"), nil},
		{"pwsh -enc cm0=", Ask, a("bash"), nil, nil}, {"bash --rcfile x y", Allow, a("bash"), a("bash(rm:*)"), nil}, {"bash --login --norc y", Allow, a("bash"), a("bash(rm:*)"), nil}, {"bash -s a <<< 'rm x'", Deny, a("bash"), a("bash(rm:*)"), nil}, {"bash -c ls 'rm x'", Allow, a("bash"), a("bash(rm:*)"), nil},
		{"make -f - <<< 'x:;rm y'", Ask, a("bash"), a("bash(rm:*)"), nil}, {"make -f - <<< 'x:;ls'", Allow, a("bash"), a("bash(rm:*)"), nil},

		{`[ -n "$(ls)" ]`, Allow, a("bash([:*)", "bash(ls)"), nil, nil}, {`[ "$(ls)" = x ]`, Allow, a("bash([:*)", "bash(ls)"), nil, nil}, {`[ "$(ls)" "$(ls)" ]`, Ask, a("bash([:*)", "bash(ls)"), nil, nil},
		{`[ -n $(ls) ]`, Ask, a("bash([:*)", "bash(ls)"), nil, nil}, {`test "$(ls)" 'a[1]'`, Ask, a("bash(test:*)", "bash(ls)"), nil, nil}, {`read "$(ls)"`, Ask, a("bash(read:*)", "bash(ls)"), nil, nil},
		{`read -p "$(ls)" x`, Allow, a("bash(read:*)", "bash(ls)"), nil, nil}, {`export "A=$(ls)"`, Allow, a("bash(export:*)", "bash(ls)"), nil, nil}, {`export "$(ls)=1"`, Ask, a("bash(export:*)", "bash(ls)"), nil, nil}, {`unset $(ls)`, Ask, a("bash(unset:*)", "bash(ls)"), nil, nil},
		{"foo a", Allow, a("bash"), a("file_read"), nil}, {"A=1", Allow, a("bash(A=1)"), nil, nil}, {"A=1 B=2", Allow, a("bash(A=1 B=2)"), nil, nil}, {"A=2", Ask, a("bash(A=1)"), nil, nil},
		{`sort -t"$(ls)" f`, Allow, a("bash(sort:*)", "bash(ls)"), nil, nil}, {`sort --"$(ls)" f`, Ask, a("bash(sort:*)", "bash(ls)"), nil, nil},
		{`sort -"$(ls)" f`, Ask, a("bash(sort:*)", "bash(ls)"), nil, nil}, {`sort -t$(ls) f`, Ask, a("bash(sort:*)", "bash(ls)"), nil, nil}, {"sort -[o]x f", Ask, a("bash(sort:*)"), nil, nil},
		{"sort -t * f", Ask, a("bash(sort:*)"), nil, nil}, {"sort -t", Allow, a("bash(sort:*)"), nil, nil}, {"sort -n* f", Ask, a("bash(sort:*)"), nil, nil}, {"sort --out* f", Ask, a("bash(sort:*)"), nil, nil},
		{`tar "$(ls)" f`, Ask, a("bash(tar:*)", "bash(ls)"), nil, nil}, {"tar xyf a", Ask, a("bash(tar:*)"), nil, nil}, {"go", Allow, a("bash(go:*)"), nil, nil},
		{"go -C", Allow, a("bash(go:*)"), nil, nil}, {"pypy3.9 -c x", Ask, a("bash(pypy3.9:*)"), nil, nil}, {"pypy3.9 x -c y", Allow, a("bash(pypy3.9:*)"), nil, nil},
		{"jq --slurpfile a", Allow, a("bash(jq:*)"), nil, nil}, {"jq --arg a b .", Allow, a("bash(jq:*)"), nil, nil}, {"git bisect run", Ask, a("bash(git:*)"), nil, nil},
		{"ssh h git pull", Ask, a("bash(ssh:*)", "bash(git pull:*)"), nil, nil}, {"cd $(ls); git status", Ask, a("bash(cd:*)", "bash(ls)", "bash(git status)"), nil, nil},
		{"popd; git status", Ask, a("bash"), nil, nil}, {"pushd a; git status", Allow, a("bash"), nil, nil}, {"sed 5 f", Allow, a("bash(sed:*)"), nil, nil},
		{"cat {1..2000000}", Ask, a("bash(cat:*)"), nil, nil}, {"cat {a..c}", Allow, a("bash(cat:*)"), nil, nil}, {"cat a}", Allow, a("bash(cat:*)"), nil, nil}, {"cat {", Allow, a("bash(cat:*)"), nil, nil}, {`cat a\`, Allow, a("bash(cat:*)"), nil, nil},
		{"cat {0..3}", Allow, a("bash(cat:*)"), nil, nil}, {"cat {1..99999999999999999999}", Ask, a("bash(cat:*)"), nil, nil}, {"git log @{u}..", Allow, a("bash(git log:*)"), nil, nil},
		{"cat {a},b}", Ask, a("bash(cat:*)"), nil, nil}, {deep, Ask, a("bash"), nil, nil}, {"coproc X { ls; }", Allow, a("bash(ls)"), nil, nil}, {"coproc ls >/dev/null", Allow, a("bash(ls)"), nil, nil},
		{"curl -w '%output{x}' u", Ask, a("bash(curl:*)"), nil, nil}, {"ssh -o Port=2 h ls", Allow, a("bash(ssh:*)", "bash(ls)"), nil, nil}, {"scp -o ProxyCommand=x a h:", Ask, a("bash(scp:*)"), nil, nil},
		{"make 'X=$(shell id)'", Ask, a("bash(make:*)"), nil, nil}, {"make SHELL=/bin/x", Ask, a("bash(make:*)"), nil, nil}, {"make X!=id", Ask, a("bash(make:*)"), nil, nil}, {"make X=1", Allow, a("bash(make:*)"), nil, nil},
		{"go build -ldflags='-X a=b -s' .", Allow, a("bash(go:*)"), nil, nil}, {"go build -ldflags=-extld=x .", Ask, a("bash(go:*)"), nil, nil}, {"go build -gcflags=-o=x .", Ask, a("bash(go:*)"), nil, nil},
		{"bash --rcfile x -c 'rm y'", Deny, a("bash"), a("bash(rm:*)"), nil}, {"source", Allow, a("bash"), nil, nil}, {`echo "$X" | sh`, Ask, a("bash"), nil, nil},
		{"hash -p x y", Ask, a("bash(hash:*)"), nil, nil}, {"crontab - <<< '* * * * * rm x'", Ask, a("bash"), a("bash(rm:*)"), nil}, {"tmux if-shell true 'run rm'", Ask, a("bash"), a("bash(rm:*)"), nil},
		{"docker compose exec c rm x", Deny, a("bash"), a("bash(rm:*)"), nil}, {"mise x node@20 -- rm x", Deny, a("bash"), a("bash(rm:*)"), nil}, {"git filter-branch --tree-filter 'rm x'", Deny, a("bash"), a("bash(rm:*)"), nil},
		{"sort --compress-program=rm f", Deny, a("bash"), a("bash(rm:*)"), nil}, {"go test -exec 'rm x' .", Deny, a("bash"), a("bash(rm:*)"), nil}, {"git rebase -x 'rm x' main", Deny, a("bash"), a("bash(rm:*)"), nil},
		{"find -delete", Ask, files, denied, nil}, {"find .git -delete", Deny, files, denied, nil}, {"cp -*x .git/y", Ask, files, denied, nil}, {"echo a > '~'/x", Allow, files, denied, nil}, {"cat /etc/sh*", Ask, files, denied, nil},
		{"cat ~/.ssh/*", Ask, files, denied, nil}, {"cat ~/x*", Allow, files, denied, nil}, {`tar -C "$(ls)" -cf x .`, Ask, files, denied, nil}, {"tar -C /work/repo/secrets -cf x .", Deny, files, denied, nil},
		{"cd -; tar -C a -cf x b", Ask, files, denied, nil}, {"tar -C a -cf x b", Allow, files, denied, nil}, {"curl -d @- u", Allow, a("bash(curl:*)"), nil, nil}, {"head -n5 secrets/x", Deny, files, denied, nil},
		{"foo -xsecrets/x", Ask, files, denied, nil}, {"nl -xxxsecrets/x", Ask, files, denied, nil}, {"cpio -o <<< secrets/x", Ask, files, denied, nil}, {"read HOME; cat ~/x", Ask, files, denied, nil}, {"printf -vHOME x; cat ~/x", Ask, files, denied, nil},
		{"for HOME in a; do cat ~/x; done", Ask, files, denied, nil}, {"trap 'cd .git' DEBUG; tee x", Ask, files, denied, nil}, {"trap 'ls' EXIT; tee x", Allow, files, denied, nil}, {"cat a", Ask, a("bash"), a("file_*([x)"), nil},
		{"rg x -d recurse", Ask, files, denied, nil}, {"grep -d recurse x .", Ask, files, denied, nil}, {"git checkout-index -a", Ask, files, denied, nil}, {"git mv secrets/x y", Deny, files, denied, nil},
	})
}

func TestRareCalls(t *testing.T) {
	t.Parallel()
	long := "https://x.org/" + strings.Repeat("a", maxURL)
	encoded := "https://x.org/%" + strings.Repeat("25", maxEncodings+3) + "41"
	runPlain(t, []plainCase{
		{"http_fetch", arg("url", long), Ask, a("http_fetch"), nil, nil, nil}, {"http_fetch", arg("url", encoded), Ask, a("http_fetch"), nil, nil, nil},
		{"http_fetch", arg("url", "https://x.org/"), Deny, a("http_fetch"), a("http_fetch"), nil, nil}, {"http_fetch", arg("url", "https://x.org../"), Ask, a("http_fetch"), nil, nil, nil},
		{"run", `{"n":1}`, Ask, a("run"), a("run(n<=x)"), nil, nil}, {"mcp__a__b", `{"a":[{"b":"x"}]}`, Ask, a("mcp__a__b"), a("mcp__a__b(a.b:x)"), nil, nil},
		{"mcp__a__b", `{"p":"/safe/x"}`, Allow, a(`mcp__a__b({"p":"/safe/*"})`), nil, nil, nil}, {"mcp__a__b", `{"p":"/safe/x","z":"y"}`, Ask, a(`mcp__a__b({"p":"/safe/*"})`), nil, nil, nil},
		{"mcp__a__b", `{"p":"/safe/x","z":"y"}`, Allow, a(`mcp__a__b({"p":"/safe/x"*})`), nil, nil, nil}, {"mcp__a__b", `{"p":"/safe/../x"}`, Ask, a("mcp__a__b(p:/safe/*)"), nil, nil, nil},
		{"mcp__a__b", `{"p":"/safe/x"}`, Allow, a("mcp__a__b(p:/safe/*)"), nil, nil, nil}, {"mcp__a__b", `{"p":".."}`, Allow, a(`mcp__a__b(p:"..")`), nil, nil, nil},
		{"file_read", arg("path", "\u4e00"), Deny, a("file_read"), a("file_read([\u4e00-\u9fff])"), nil, nil}, {"file_read", arg("path", "/proc/self/status"), Allow, a("file_read(/proc/self/status)"), nil, nil, nil},
	})
}

func TestRareSettings(t *testing.T) {
	t.Parallel()
	fails := func(bad string) func(string) (string, error) {
		return func(p string) (string, error) {
			if p == bad {
				return "", errors.New("no")
			}
			return p, nil
		}
	}
	read := func(path, workspace, home string, resolve func(string) (string, error)) Call {
		return Call{Tool: BuiltinTool("file_read"), Args: []byte(arg("path", path)), Workspace: workspace, Home: home, Resolve: resolve}
	}
	for name, c := range map[string]struct {
		call  Call
		rules []Rule
		want  Effect
	}{
		"a home that is not known":                {read("~/x", "/w", "", nil), rulesOf(a("file_read"), nil, nil), Ask},
		"a rule about a workspace without one":    {read("/x", "", "", nil), rulesOf(a("file_read"), a("file_read(./x)"), nil), Allow},
		"a link on the way that can't be read":    {read("a/../b", "/w", "", fails("/w/a")), rulesOf(a("file_read(./**)"), nil, nil), Ask},
		"a file whose links can't be read":        {read("a/../b", "/w", "", fails("/w/b")), rulesOf(a("file_read(./**)"), nil, nil), Ask},
		"a command that is a number":              {Call{Tool: Tool{Name: "run", Kind: KindCommand, Field: "script"}, Args: []byte(`{"script":1}`)}, rulesOf(a("run"), nil, nil), Ask},
		"an accepted risk and a dangerous option": {Call{Tool: Tool{Name: "bash", Kind: KindCommand, Field: "command", Consent: ConsentAccepted}, Args: []byte(`{"command":"sed -i p x"}`)}, nil, Ask},
	} {
		set, _, err := Compile(c.rules)
		if err != nil {
			t.Fatal(err)
		}
		if d := set.Decide(c.call); d.Effect != c.want {
			t.Errorf("%s: want %s, got %s", name, c.want, Explain(c.call, d))
		}
	}
	set, _, _ := Compile(nil)
	if d := set.Decide(read("/a/b", "/", "", nil)); len(d.SuggestedPatterns) == 0 || d.SuggestedPatterns[0] != "file_read(/a/b)" {
		t.Errorf("a workspace that is the root suggests %q", d.SuggestedPatterns)
	}
}

func TestRulesThatMultiplyTooFarAreRefused(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("{a,b}", 12)
	for _, pattern := range []string{"bash(" + many + ")", "bash({a,b,c,d,e,f,g,h}{a,b,c,d,e,f,g,h}{a,b,c,d,e,f,g,h}:*)", "file_read({" + many + ",c})", "file_read({a,b}})", "file_read(" + many + ")",
		"http_fetch(https://x.org/a[b)", "file_read(./[x/**)"} {
		if ParsePattern(Deny, pattern) == nil {
			t.Errorf("%s is taken", pattern)
		}
	}
}

func TestAStepThatFailsLeavesAFaultAndTheDenies(t *testing.T) {
	t.Parallel()
	e := &evaluation{}
	if e.safely(func() { panic("no") }) || len(e.faults) != 1 {
		t.Errorf("a panic left the faults %q", e.faults)
	}
	s := &script{places: newPlaces(Call{})}
	s.suspectUnless(false, "ls; rm x")
	if len(s.suspects) != 2 || s.suspects[1].name() != "rm" {
		t.Errorf("what follows a failure is not looked at: %v", s.suspects)
	}
	if _, err := guarded(func() (*syntax.File, error) { panic("no") }); err == nil {
		t.Error("a parser that panics parses")
	}
	unsure := target{clean: "/w/a", fault: "x"}
	every, _ := parsePathPattern(Allow, "/**")
	if (&compiled{kin: &kin{form: &form{path: every}}}).permitsPath(&unsure, newPlaces(Call{})) {
		t.Error("a path with a fault is permitted")
	}
}

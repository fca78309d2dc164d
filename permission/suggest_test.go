package permission

import (
	"reflect"
	"testing"
)

func TestSuggestions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tool, args string
		rules      []Rule
		want       []string
		together   bool
	}{
		{"bash", arg("command", "git commit -m 'a b'"), nil, a(`bash(git commit -m "a b")`, "bash(git commit:*)"), false},
		{"bash", arg("command", "npm run test:unit"), nil, a("bash(npm run test:unit)", "bash(npm run test:unit:*)"), false},
		{"bash", arg("command", "npm run"), nil, a("bash(npm run)"), false},
		{"bash", arg("command", "git status"), rulesOf(nil, a("bash(git status --porcelain:*)"), nil), a("bash(git status)"), false},
		{"bash", arg("command", "git log --output=x"), nil, a("bash(git log --output=x)"), false},
		{"bash", arg("command", "grep -n 'onclick.*foo[a]' a.js"), nil, a(`bash(grep -n "onclick.\*foo[a]" a.js)`), false},
		{"bash", arg("command", `echo 'a"b\c' ''`), nil, a(`bash(echo "a\"b\\c" "")`), false},
		{"bash", arg("command", "timeout 5 npm test"), nil, a("bash(npm test)", "bash(npm test:*)"), false},
		{"bash", arg("command", "ls && id; pwd"), rulesOf(a("bash(id)"), nil, nil), a("bash(ls)", "bash(pwd)"), true},
		{"bash", arg("command", "ls && python3 x.py"), nil, nil, false},
		{"bash", arg("command", "ls"), []Rule{askRule(GrantNone)}, nil, false},
		{"bash", arg("command", "ls"), []Rule{askRule(GrantUser)}, a("bash(ls)"), false},
		{"bash", arg("command", "go run x.go"), nil, a("bash(go run x.go)"), false},
		{"bash", arg("command", "npm run a:*"), nil, a(`bash(npm run a:\*)`), false},
		{"file_write", `{"path":"src/a.ts","content":""}`, nil, a("file_write(./src/a.ts)", "file_write(./src/**)"), false},
		{"file_write", `{"path":"a[1].ts","content":""}`, nil, a(`file_write(./a\[1\].ts)`), false},
		{"file_write", `{"path":"src/.env","content":""}`, nil, a("file_write(./src/.env)"), false},
		{"file_write", `{"path":"src/a","content":""}`, rulesOf(nil, a("file_write(./src/b)"), nil), a("file_write(./src/a)"), false},
		{"file_read", arg("path", "~/x/y"), nil, a("file_read(~/x/y)", "file_read(~/x/**)"), false},
		{"file_read", arg("path", "/etc/hosts"), nil, a("file_read(/etc/hosts)"), false},
		{"file_read", arg("path", "/opt/a/b/c"), nil, a("file_read(/opt/a/b/c)", "file_read(/opt/a/b/**)"), false},
		{"file_read", arg("path", "a\u200b"), nil, nil, false},
		{"http_fetch", arg("url", "https://x.org/a*b?q=1"), nil, a("http_fetch(https://x.org/a%2Ab)", "http_fetch(https://x.org/**)"), false},
		{"http_fetch", `{"url":"https://x.org:8443/a","method":"POST"}`, nil, a("http_fetch(POST https://x.org:8443/a)", "http_fetch(POST https://x.org:8443/**)"), false},
		{"http_fetch", arg("url", "https://[2001:db8::1]/"), nil, a("http_fetch(https://[2001:db8::1]/)", "http_fetch(https://[2001:db8::1]/**)"), false},
		{"http_fetch", arg("url", "https://x.org/a"), rulesOf(nil, a("http_fetch(https://x.org/admin/**)"), nil), a("http_fetch(https://x.org/a)"), false},
		{"http_fetch", arg("url", "https://u@x.org/a"), nil, nil, false},
		{"mcp__a__b", `{"x":"a*"}`, nil, a(`mcp__a__b({"x":"a\*"})`, "mcp__a__b"), false},
		{"mcp__a__b", `{"x":1}`, rulesOf(nil, a("mcp__a__b(x:2)"), nil), a(`mcp__a__b({"x":1})`), false},
	} {
		set, _, err := Compile(c.rules)
		if err != nil {
			t.Fatal(err)
		}
		d := set.Decide(Call{Tool: BuiltinTool(c.tool), Args: []byte(c.args), Workspace: "/work/repo", Home: "/home/dev", UserID: "u1", SessionID: "s1"})
		if !reflect.DeepEqual(d.SuggestedPatterns, c.want) || d.SuggestTogether != c.together {
			t.Errorf("%s %s: got %q %v, want %q", c.tool, c.args, d.SuggestedPatterns, d.SuggestTogether, c.want)
		}
	}
}

func TestWhatIsNeverSuggested(t *testing.T) {
	t.Parallel()
	for _, c := range []string{"python3 x.py", "python3.12 -c 1", "node x", "bash x.sh", "sh", "env", "env ls", "sudo ls", "xargs ls", "find . -name x", "ssh h ls", "docker exec c ls", "docker run i ls", "npx x", "pnpm dlx x", "git", "ls $X", "ls $(id)", "ls > x", "ls < x", "A=1 ls", "ls \u200b",
		"A=1", "export A=1; [[ a ]]", "echo 'a\u200b'", "f() { ls; }", "eval ls", "source x", "ls (", "\u0441at", "ls; $X", "awk 1 f", "perl -e 1", "nohup python x", "bash -c 'ls'", "trap 'ls' EXIT"} {
		d := decideBash(t, shellCase{command: c})
		if d.Effect != Ask || len(d.SuggestedPatterns) > 0 {
			t.Errorf("%s: %s, suggested %q", c, d.Effect, d.SuggestedPatterns)
		}
	}
}

package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdpoint/internal/config"
	"holdpoint/permission"
	"holdpoint/tool"
)

// mistakesOfServers are those in documents that declare MCP servers.
var mistakesOfServers = []mistake{
	{"names of servers", "type: tool\nname: a__b\ncommand: x\n---\ntype: tool\nname: a_\ncommand: x\n---\ntype: tool\nname: a.b\ncommand: x\n---\ntype: tool\nname: " + long(33) + "\nurl: http://h\n",
		`:2: name: must be at most 32 letters, digits, dashes or single underscores for an MCP server, the last no underscore
:6: name: must be at most 32 letters, digits, dashes or single underscores for an MCP server, the last no underscore
:10: name: must be at most 32 letters, digits, dashes or single underscores for an MCP server, the last no underscore
:14: name: must be at most 32 letters, digits, dashes or single underscores for an MCP server, the last no underscore`},
	{"a server in two places", "type: tool\nname: files\ncommand: x\nurl: http://h\n", `:4: url: an MCP server has a command or a url, not both: remove one`},
	{"a server's keys without the one that they belong to", "type: tool\nname: a\ncommand: x\nheaders: {A: b}\n---\ntype: tool\nname: b\nurl: http://h\nargs: [x]\nenv: {A: b}\n",
		`:4: headers: has no effect without url: add one or remove it
:9: args: has no effect without command: add one or remove it
:10: env: has no effect without command: add one or remove it`},
	{"what a server is given", "type: tool\nname: a\ncommand: x\nargs: x\nenv: [A=b]\nparams: {env: [A]}\n---\ntype: tool\nname: b\ncommand: x\nargs: [1, true, \"\", ~, [c]]\nenv: {1A: b, B: 1, C: \"${MISSING}\", D: d, D: e}\n",
		`:4: args: must be a list, such as [a, b], not a single value
:5: env: must be a mapping of names to texts, not a list
:6: params: are for built-in tools: an MCP server takes args, env or headers
:11: args[3]: has no value: give it one or remove it
:11: args[4]: must be text, not a list
:12: env.D: the key is here twice, first on line 12: keep one
:12: env.1A: is no name of a variable: letters, digits and _
:12: env.B: must be text: put it in quotes
:12: env.C: the environment variable MISSING is not set: set it, or write the value here`},
	{"addresses of servers", "type: tool\nname: a\nurl: ws://h\n---\ntype: tool\nname: b\nurl: http://u:p@h\n---\ntype: tool\nname: c\nurl: http://h\nheaders: {\"a b\": c, D: \"e\\nf\"}\n",
		`:3: url: must be a URL such as https://api.example.com/v1
:7: url: must not have credentials in it: use headers
:12: headers.D: has characters in its value that no header may have: remove them
:12: headers.a b: is no name of a header, such as Authorization`},
	{"references to servers", "type: tool\nname: files\ncommand: x\n---\ntype: agent\nname: a\nmodel: m\ntools: [files, mcp__file, mcp__files__, mcp__files_x]" + model,
		`:8: tools: no tool is named "files" (known: ask_human, bash, file_edit, file_read, file_write, http_fetch, mcp__files)
:8: tools: no tool is named "mcp__file" (did you mean "mcp__files"?)
:8: tools: no tool is named "mcp__files__" (did you mean "mcp__files"?)
:8: tools: no tool is named "mcp__files_x" (did you mean "mcp__files"?)`},
}

const servers = `type: tool
name: files
command: ./bin/server
args: [--root, ".", --token, hunter2, --root, 7]
env: {API_TOKEN: s3cret, MODE: "${MODE}"}
risk: low
idempotent: true
timeout: 3m
---
type: tool
name: tracker
url: https://tracker.example.com/mcp
headers: {authorization: Bearer s3cret}
default_policy: deny
---
type: model
name: m
provider: openai
model: x
base_url: http://h
---
type: agent
name: a
model: m
tools: [bash, mcp__files, mcp__tracker__list_issues]
`

func TestServersAreRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(path, []byte(servers), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(path, func(name string) (string, bool) { return "fast", name == "MODE" })
	if err != nil {
		t.Fatal(err)
	}
	files, _ := cfg.Tool("files")
	s := files.Server
	if s == nil || s.Command != filepath.Join(filepath.Dir(path), "bin", "server") || s.Dir != filepath.Dir(path) ||
		!slices.Equal(s.Args, []string{"--root", ".", "--token", "hunter2", "--root", "7"}) ||
		s.Env["API_TOKEN"].Reveal() != "s3cret" || s.Env["MODE"].Reveal() != "fast" {
		t.Errorf("files is %+v", s)
	}
	if files.Consent != "" || files.Risk != permission.RiskLow || files.Idempotent == nil || !*files.Idempotent {
		t.Errorf("files is %+v", files)
	}
	tracker, _ := cfg.Tool("tracker")
	if s := tracker.Server; s == nil || s.URL != "https://tracker.example.com/mcp" || s.Headers["Authorization"].Reveal() != "Bearer s3cret" {
		t.Errorf("tracker is %+v", s)
	}
	if tracker.Consent != tool.ConsentAlways {
		t.Errorf("tracker's consent is %q", tracker.Consent)
	}
	if rules := cfg.Policy(""); len(rules) != 1 || rules[0].Pattern != "mcp__tracker" || rules[0].Effect != permission.Deny {
		t.Errorf("the rules are %+v", rules)
	}
	shown, err := cfg.Show().YAML()
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"s3cret", "hunter2", "fast"} {
		if strings.Contains(string(shown), secret) {
			t.Errorf("%q is shown:\n%s", secret, shown)
		}
	}
	if !strings.Contains(string(shown), "--root") {
		t.Errorf("the arguments are not shown:\n%s", shown)
	}
}

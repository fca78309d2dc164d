package config_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdpoint/internal/config"
	"holdpoint/permission"
)

// mistakes are configurations with everything that is wrong in them, one line per mistake and each after the
// name of the file.
var mistakes = slices.Concat(mistakesOfComponents, mistakesOfRules, mistakesOfValues, mistakesOfServers)

type mistake struct{ name, yaml, want string }

var mistakesOfComponents = []mistake{
	{"nothing in it", "# soon\n", `:1: there is no component here: a document starts with "type: agent" and "name: …"`},
	{"not YAML", "type: agent\nname: [a\n", `:2: is not YAML: did not find expected ',' or ']'`},
	{"not a mapping", "- type: agent\n", `:1: must be a mapping of keys to values, such as "type: agent"`},
	{"no component", "say: hello\n",
		`:1: this is no component: it needs a type and a name (a script or other data belongs in a sub-directory)`},
	{"no type", "name: a\n", `:1: type: is missing`},
	{"no name", "type: policy\nrules: []\n", `:1: name: is missing`},
	{"unknown type", "type: agnet\nname: a\n",
		`:1: type: "agnet" is none of model, tool, permission_store, session_store, policy, policy_template, agent, auth, bridge, secrets, redaction, adapter, workflow, notifier (did you mean "agent"?)`},
	{"a notifier without a kind", "type: notifier\nname: a\n", ":1: kind: is missing"},
	{"a notifier with another's keys", "type: notifier\nname: a\nkind: slack\nurl: https://example.com\nsecret: whsec_eA==\n",
		":1: token: is missing\n:1: signing_secret: is missing\n:1: channel: is missing\n:4: url: is read by kind webhook only: remove it\n:5: secret: is not read by kind slack: remove it"},
	{"anchors", "type: policy\nname: p\nrules: &r\n  - *r\n",
		`:3: anchors, aliases and values nested deeper than 40 levels are not read: write the value out`},
	{"merge keys and keys that are not text", "type: policy\nname: p\n<<: {}\n[a]: b\nrules: []\n",
		":3: keys must be plain text\n:4: keys must be plain text"},
	{"bad names", "type: policy\nname: a b\nrules: []\n---\ntype: policy\nname: ${WHO}\nrules: []\n---\ntype: policy\nname: 7\nrules: []\n",
		`:2: name: must be at most 64 letters, digits, dots, dashes or underscores, the first a letter or digit (in quotes if it is a number)
:6: name: must be written out, without a variable
:10: name: must be at most 64 letters, digits, dots, dashes or underscores, the first a letter or digit (in quotes if it is a number)`},
	{"duplicate name", "type: policy\nname: p\nrules: []\n---\ntype: policy\nname: p\nrules: []\n",
		`:6: name: policy "p" is defined already, at FILE:1: rename one`},
	{"duplicate key", "type: policy\nname: p\nrules: []\nrules: []\n", `:4: rules: the key is here twice, first on line 3: keep one`},
	{"variables", "type: model\nname: m\nprovider: openai\nmodel: ${MISSING}\napi_key: ${BAD NAME}\nbase_url: ${WHO\n", `:4: model: the environment variable MISSING is not set: set it, or write the value here
:5: api_key: ${ starts a variable such as ${NAME} (letters, digits and _); write $${ for the characters themselves
:6: base_url: ${ starts a variable such as ${NAME} (letters, digits and _); write $${ for the characters themselves`},
	{"a secret of the wrong type is not quoted", "type: model\nname: m\nprovider: openai\nmodel: x\napi_key: 123456\ntimeout: ${SECRET}\n",
		":5: api_key: must be text: put it in quotes\n" +
			`:6: timeout: "${SECRET}" is no time: write a number and a unit, such as 30s, 15m, 72h or 30d`},
	{"openai without what it needs", "type: model\nname: m\nprovider: openai\nscript: x.yaml\n",
		`:1: model: is missing
:1: api_key: is missing: write "api_key: ${OPENAI_API_KEY}", or name another endpoint by base_url
:4: script: is read by provider scripted only: remove it`},
	{"endpoints", "type: model\nname: a\nprovider: openai\nmodel: x\nbase_url: ftp://h\n---\ntype: model\nname: b\nprovider: openai\nmodel: x\nbase_url: http://u:p@h\n---\ntype: model\nname: c\nprovider: openai\nmodel: x\nbase_url: http://h/?key=1\n",
		`:5: base_url: must be a URL such as https://api.example.com/v1
:11: base_url: must not have credentials in it: use api_key
:17: base_url: must not have a query or a fragment`},
	{"scripted", "type: model\nname: m\nprovider: scripted\napi_key: k\nscript: no/such.yaml\n---\ntype: model\nname: n\nprovider: scripted\nscript: .\n---\ntype: model\nname: o\nprovider: scripted\n",
		`:4: api_key: is not read by provider scripted: remove it
:5: script: there is no such file, seen from the directory of this one
:10: script: is not a file
:12: script: is missing`},
	{"anthropic without what it needs", "type: model\nname: m\nprovider: anthropic\nbase_url: api.anthropic.com\n---\ntype: model\nname: n\nprovider: anthropic\nmodel: x\nscript: x.yaml\n",
		`:1: model: is missing
:4: base_url: must be a URL such as https://api.example.com/v1
:6: api_key: is missing: write "api_key: ${ANTHROPIC_API_KEY}", or name another endpoint by base_url
:10: script: is read by provider scripted only: remove it`},
	{"providers", "type: model\nname: m\nprovider: antropic\nmodel: x\napi_key: k\n---\ntype: model\nname: n\nprovider: opnai\n",
		`:3: provider: "antropic" is none of anthropic, openai, scripted (did you mean "anthropic"?)
:9: provider: "opnai" is none of anthropic, openai, scripted (did you mean "openai"?)`},
	{"params", "type: model\nname: m\nprovider: openai\nmodel: x\nbase_url: http://h\nparams: {a: .inf, b: {c: \"${MISSING}\", c: 1}}\n---\ntype: tool\nname: bash\nparams: [a]\n",
		`:6: params.a: must be a finite number
:6: params.b.c: the key is here twice, first on line 6: keep one
:6: params.b.c: the environment variable MISSING is not set: set it, or write the value here
:10: params: must be a mapping of keys to values, not a list`},
	{"tools", "type: tool\nname: bahs\nrequires_consent: yes\ndefault_policy: never\nrisk: hihg\ntimeout: 30\nidempotent: 1\nserver: x\nidempotnt: true\n",
		`:2: name: no tool is named "bahs" (did you mean "bash"?); an MCP server has a command or a url
:3: requires_consent: must be true or false, not "yes"
:4: default_policy: "never" is none of allow, ask, deny
:5: risk: "hihg" is none of low, medium, high, critical (did you mean "high"?)
:6: timeout: "30" is no time: write a number and a unit, such as 30s, 15m, 72h or 30d
:7: idempotent: must be true or false, not "1"
:8: server: is not available in this version: remove it
:9: idempotnt: unknown key (did you mean "idempotent"?)`},
	{"consent that contradicts itself", "type: tool\nname: bash\nrequires_consent: true\ndefault_policy: allow\n",
		`:4: default_policy: contradicts requires_consent: keep one of them`},
	{"results that can't be kept", "type: tool\nname: bash\ncacheable: often\n---\ntype: tool\nname: file_write\ncacheable: true\n---\ntype: tool\nname: file_edit\ncacheable: false\n",
		`:3: cacheable: must be true or false, not "often"
:7: cacheable: is not possible for file_write: each of its calls counts`},
	{"times", "type: tool\nname: bash\ntimeout: -1s\n---\ntype: tool\nname: file_read\ntimeout: 31d\n---\ntype: tool\nname: file_edit\ntimeout: xd\n",
		`:3: timeout: must be more than 0 and at most 30d, not "-1s"
:7: timeout: must be more than 0 and at most 30d, not "31d"
:11: timeout: "xd" is no time: write a number and a unit, such as 30s, 15m, 72h or 30d`},
	{"stores", "type: permission_store\nname: a\nstore_type: mongodb\nmongo_uri: x\n---\ntype: session_store\nname: a\nstore_type: mongodb\ndsn: x\n---\ntype: session_store\nname: b\nstore_type: sqlite\n---\ntype: session_store\nname: c\nstore_type: inmemory\ndsn: x\n---\ntype: permission_store\nname: d\nstore_type: sqlite\ndsn: file:x?mode=ro\n---\ntype: permission_store\nname: e\n",
		`:1: mongo_db_name: is missing
:4: mongo_uri: must be a connection string, such as mongodb://holdpoint:${DB_PASSWORD}@db.example.com:27017
:8: store_type: "mongodb" is none of inmemory, sqlite, postgres
:11: dsn: is missing
:18: dsn: store_type inmemory has no database file: remove it
:23: dsn: must be the path of a file, without file: or options (for a database in memory: store_type: inmemory)
:25: store_type: is missing`},
	{"postgres", pgStore("a", "dsn: holdpoint") + pgStore("b", "") + pgStore("c", "dsn: postgres://u:hush/h@db:5432/x") + pgStore("d", "dsn: 'postgres://u:hush#@db/x'") +
		pgStore("e", "dsn: postgresql://u:hush@db:5432/") + pgStore("f", "dsn: ''") + pgStore("g", "dsn: [x]"),
		`:4: dsn: must be a connection string, such as postgres://holdpoint:${DB_PASSWORD}@db.example.com:5432/holdpoint
:6: dsn: is missing
:14: dsn: can't be read as postgres://user:password@host:5432/database: write special characters of the password as %xx, or give the password by the environment variable PGPASSWORD
:19: dsn: can't be read as postgres://user:password@host:5432/database: write special characters of the password as %xx, or give the password by the environment variable PGPASSWORD
:24: dsn: names no database: end it with the database's name, such as postgres://db.example.com:5432/holdpoint
:29: dsn: is empty: give it a value or remove the key
:34: dsn: must be text, not a list`},
	{"agents", `type: agent
name: a
model: gtp
tools: [bash, flie_read, bash]
policy: house
permission_store: none
session_store: [x]
system_prompt: ""
max_steps: 0
enable_hitl: on
user_id: a b
tags: x
workspace:
auto_approve_risk: critical
descripton: x
---
type: model
name: gpt
provider: openai
model: x
base_url: http://h
---
type: agent
name: b
`, `:3: model: no model is named "gtp" (did you mean "gpt"?)
:4: tools[2]: "bash" is here twice: keep one
:4: tools: no tool is named "flie_read" (did you mean "file_read"?)
:5: policy: no policy is named "house"
:6: permission_store: no permission_store is named "none"
:7: session_store: must be the name of a session_store, not a list
:8: system_prompt: is empty: give it a value or remove the key
:9: max_steps: must be a whole number from 1 to 10000, not "0"
:10: enable_hitl: must be true or false, not "on"
:11: user_id: "a b" must not have blanks or invisible characters in it
:12: tags: must be a list, such as [a, b], not a single value
:13: workspace: has no value: give it one or remove the key
:14: auto_approve_risk: "critical" is none of low, medium, high
:15: descripton: unknown key (did you mean "description"?)
:23: model: is missing`},
	{"a reference that is a secret by mistake", "type: agent\nname: a\nmodel: ${SECRET}\n", `:3: model: no model is named "${SECRET}"`},
}

// pgStore is a document of a PostgreSQL store, five lines long.
func pgStore(name, line string) string {
	return "type: session_store\nname: " + name + "\nstore_type: postgres\n" + line + "\n---\n"
}

func TestLoadReportsEveryMistake(t *testing.T) {
	t.Parallel()
	for _, tt := range mistakes {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			file := write(t, "c.yaml", tt.yaml)
			_, err := config.Load(file, env(map[string]string{"WHO": "me", "SECRET": "sk-very-secret", "EMPTY": ""}))
			if err == nil {
				t.Fatal("the configuration was accepted")
			}
			want := ""
			for line := range strings.Lines(tt.want) {
				want += file + strings.ReplaceAll(line, "FILE", file)
			}
			if got := err.Error(); got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

func TestTheTableOfMistakesIsLong(t *testing.T) {
	t.Parallel()
	messages := map[string]bool{}
	for _, m := range mistakes {
		for line := range strings.Lines(m.want) {
			_, text, _ := strings.Cut(strings.TrimPrefix(line, ":"), ": ")
			messages[text] = true
		}
	}
	if len(mistakes) < 40 || len(messages) < 100 {
		t.Errorf("%d mistakes with %d messages", len(mistakes), len(messages))
	}
}

func TestLoadReportsAPatternAsTheEngineDoes(t *testing.T) {
	t.Parallel()
	file := write(t, "c.yaml", "type: policy\nname: p\nrules:\n  - {match: bash, decision: ask}\n  - decision: deny\n    match: \"\"\n")
	_, err := config.Load(file, env(nil))
	want := fmt.Sprintf("%s:6: rules[1].match: %v", file, permission.ParsePattern(permission.Deny, ""))
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestLoadReportsAcrossFilesInOrder(t *testing.T) {
	t.Parallel()
	file := write(t, "b.yaml", "type: agent\nname: a\nmodel: x\n")
	dir := filepath.Dir(file)
	writeIn(t, dir, "a.yml", "type: agent\nname: z\nmodel: y\n")
	writeIn(t, dir, "ignored.txt", "nonsense: [")
	_, err := config.Load(dir, env(nil))
	want := fmt.Sprintf("%s:3: model: no model is named \"y\"\n%s:3: model: no model is named \"x\"", filepath.Join(dir, "a.yml"), file)
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	var wrong *config.Error
	if !errors.As(err, &wrong) || len(wrong.Problems) != 2 || wrong.Problems[0].Key != "model" {
		t.Errorf("the error has no problems to look at: %#v", err)
	}
}

func TestErrorIsBounded(t *testing.T) {
	t.Parallel()
	file := write(t, "c.yaml", "type: policy\nname: p\nrules: []\n"+strings.Repeat("x: 1\n", 200))
	_, err := config.Load(file, env(nil))
	if err == nil || strings.Count(err.Error(), "\n") != 50 || !strings.HasSuffix(err.Error(), " more") {
		t.Errorf("the error is not bounded: %v", err)
	}
}

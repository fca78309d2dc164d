package config_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"holdpoint/internal/config"
)

func shownYAML(t *testing.T, c *config.Config) string {
	t.Helper()
	out, err := c.Show().YAML()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestShowFillsInDefaultsAndCanBeReadAgain(t *testing.T) {
	t.Parallel()
	c := loadGood(t)
	text := shownYAML(t, c)
	for _, want := range []string{"max_steps: 50 # default\n", "enable_hitl: true # default\n", "max_steps: 20\n", "api_key: '********'\n",
		"digest " + c.Specs[0].Agent.Digest(), abs(t, "testdata", "work"), "base_url: http://127.0.0.1:11434/v1\n", "max_tokens: 512\n", "match: bash(echo $HOME)\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	again, err := config.Load(write(t, "shown.yaml", text), env(nil))
	if err != nil {
		t.Fatalf("%v\nin\n%s", err, text)
	}
	positions := cmpopts.IgnoreTypes(config.Pos{})
	if diff := cmp.Diff(c.Specs, again.Specs, positions); diff != "" {
		t.Errorf("the agents differ when they are read again:\n%s", diff)
	}
	rulesAlone := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Source" }, cmp.Ignore())
	defaults := cmp.FilterPath(func(p cmp.Path) bool { s := p.Last().String(); return s == ".Quorum" || s == ".MaxGrant" }, cmp.Ignore())
	if diff := cmp.Diff(c.Policies, again.Policies, positions, rulesAlone, defaults); diff != "" {
		t.Errorf("the policies differ when they are read again:\n%s", diff)
	}
	if twice := shownYAML(t, again); strings.Count(twice, "\n") != strings.Count(text, "\n") {
		t.Errorf("shown twice it differs:\n%s", twice)
	}
}

// secretive has a secret in every place that may have one.
const secretive = `type: model
name: m
provider: openai
model: x
base_url: https://api.example.com/v1
api_key: ${MODEL_KEY}
params:
  extra_headers: {Authorization: Bearer hush-1, X-Trace: on}
  user_token: hush-2
  api-keys: [hush-3, hush-4]
  max_tokens: 512
  password: 123456
  note: "the url is https://bob:hush-5@example.com/path"
  plain: ${PLAIN}
  odd: "x ${DEPLOY_TOKEN} y"
  known: sk-hush-12345678
  accessKey: hush-6
---
type: tool
name: bash
params: {env: [GOPATH, "CI=1", "GITHUB_TOKEN=hush 7 and more", "NPM_AUTH=${PLAIN}", "LEVEL=${DEPLOY_TOKEN}"]}
---
type: tool
name: http_fetch
params: {proxy: "http://bob:hush-8@proxy.example:3128"}
---
type: session_store
name: a
store_type: postgres
dsn: postgres://bob:hush-9@db.example.com:5432/holdpoint?sslmode=require&sslpassword=hush-10
---
type: session_store
name: b
store_type: postgres
dsn: host=db.example.com password = 'hush 11 \' and more' dbname=holdpoint passfile=hush-12
---
type: session_store
name: c
store_type: postgres
dsn: host=db.example.com password=hush\ 13 "and=more
---
type: session_store
name: d
store_type: postgres
dsn: ${DSN}
---
type: agent
name: a
model: m
system_prompt: "Use the password hush-free and token=hush-15 or ${DEPLOY_TOKEN}."
---
type: agent
name: b
model: m
system_prompt: "Say token=hush-16 aloud, with Basic hush-17 and curl https://hush-18@example.com."
`

func TestShowHasNoSecrets(t *testing.T) {
	t.Parallel()
	c, err := config.Load(write(t, "c.yaml", secretive), env(map[string]string{
		"MODEL_KEY": "hush-0", "PLAIN": "shown", "DEPLOY_TOKEN": "hush-19", "DSN": "postgresql://db/x?user=bob&password=hush-20",
	}))
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err := json.Marshal(c.Show())
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{"YAML": shownYAML(t, c), "JSON": string(asJSON)} {
		for rest := text; ; {
			_, after, found := strings.Cut(rest, "hush")
			if !found {
				break
			}
			t.Errorf("%s shows hush%s", what, after[:min(len(after), 20)])
			rest = after
		}
		for _, want := range []string{"512", "shown", "X-Trace", "CI=1", "GOPATH", "db.example.com", "sslmode=require", "dbname=holdpoint", "https://api.example.com/v1", "bob"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s hides %s:\n%s", what, want, text)
			}
		}
	}
}

func TestShownJSONKeepsTypesAndOrder(t *testing.T) {
	t.Parallel()
	c := loadGood(t)
	raw, err := json.Marshal(c.Show())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`{"type":"model","name":"local","file":"testdata/good/10-models.yaml","line":2,"settings":{"provider":"openai","model":"qwen3"`,
		`"max_tokens":512`, `"temperature":0.2`, `"enable_hitl":true`, `"digest":"`, `"quorum":2`, `"tools":["bash","file_read","ask_human"]`} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("there is no %s in %s", want, raw)
		}
	}
}

package config_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"holdpoint/agent"
	"holdpoint/internal/config"
	"holdpoint/permission"
	"holdpoint/tool"
)

func env(values map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := values[name]
		return v, ok
	}
}

func loadGood(t *testing.T) *config.Config {
	t.Helper()
	c, err := config.Load(filepath.Join("testdata", "good"), env(map[string]string{
		"MODEL_KEY": "sk-very-secret", "STOP": "$END", "MAX_TOKENS": "512",
	}))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func abs(t *testing.T, elem ...string) string {
	t.Helper()
	p, err := filepath.Abs(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestLoadReadsADirectory(t *testing.T) {
	t.Parallel()
	c := loadGood(t)
	models, agents := filepath.Join("testdata", "good", "10-models.yaml"), filepath.Join("testdata", "good", "20-agents.yml")
	no := false
	want := &config.Config{
		Models: []config.Model{
			{
				Name: "local", Provider: config.ProviderOpenAI, Model: "qwen3", BaseURL: "http://127.0.0.1:11434/v1",
				APIKey: config.NewSecret("sk-very-secret"), Timeout: 2 * time.Minute,
				Params: map[string]any{"temperature": 0.2, "stop": []any{"END", "$END"}, "max_tokens": 512},
				Pos:    config.Pos{File: models, Line: 2},
			},
			{
				Name: "rehearsal", Provider: config.ProviderScripted, Script: abs(t, "testdata", "good", "scripts", "turns.yaml"),
				Pos: config.Pos{File: models, Line: 14},
			},
			{
				Name: "claude", Provider: config.ProviderAnthropic, Model: "claude-haiku-5-5", APIKey: config.NewSecret("sk-very-secret"),
				Params: map[string]any{"max_tokens": 4096}, Pos: config.Pos{File: models, Line: 28},
			},
		},
		PermissionStores: []config.Store{{
			Name: "rules", Type: config.StoreSQLite, DSN: abs(t, "testdata", "good", "data", "rules.db"),
			Pos: config.Pos{File: models, Line: 19},
		}},
		SessionStores: []config.Store{{Name: "sessions", Type: config.StoreInMemory, Pos: config.Pos{File: models, Line: 24}}},
		Tools: []config.Tool{
			{
				Name: "bash", Consent: tool.ConsentAlways, Risk: permission.RiskHigh, Timeout: 10 * time.Minute,
				Idempotent: &no, Params: map[string]any{"env": []any{"GOPATH", "CI=1"}}, Pos: config.Pos{File: agents, Line: 1},
			},
			{Name: "file_write", Consent: tool.ConsentAlways, Denied: true, Pos: config.Pos{File: agents, Line: 9}},
		},
		Policies: []config.Policy{{Name: "house", Rules: c.Policies[0].Rules, Pos: config.Pos{File: agents, Line: 13}}},
		Specs: []config.AgentSpec{
			{
				Agent: agent.Agent{
					Name: "coder", Model: "local", Tools: []string{"bash", "file_read", "ask_human"}, Policy: "house",
					SystemPrompt: "You write code.\n", MaxSteps: 20, EnableHITL: true, EnablePermissions: true,
					UserID: "alice", Tags: []string{"demo", "2026"}, Workspace: abs(t, "testdata", "work"),
				},
				PermissionStore: "rules", SessionStore: "sessions", Pos: config.Pos{File: agents, Line: 28},
			},
			{
				Agent: agent.Agent{
					Name: "plain", Model: "rehearsal", MaxSteps: agent.DefaultMaxSteps, EnableHITL: true, EnablePermissions: true,
				},
				Pos: config.Pos{File: agents, Line: 44},
			},
		},
	}
	if diff := cmp.Diff(want, c, cmpopts.IgnoreFields(config.Config{}, "Components"), cmp.Comparer(func(a, b config.Secret) bool { return a.Reveal() == b.Reveal() })); diff != "" {
		t.Errorf("the configuration differs (-want +got):\n%s", diff)
	}
}

func TestPolicyCarriesRulesWithTheirSource(t *testing.T) {
	t.Parallel()
	c := loadGood(t)
	file := filepath.Join("testdata", "good", "20-agents.yml")
	source := func(name string, line int) permission.Source {
		return permission.Source{Layer: permission.LayerPolicy, Name: name, File: file, Line: line}
	}
	denied := permission.Rule{
		Effect: permission.Deny, Pattern: "file_write", Source: source("file_write", 9), Note: "default_policy: deny",
	}
	want := []permission.Rule{
		{Effect: permission.Deny, Pattern: "bash(rm:*)", Risk: permission.RiskCritical, Source: source("house", 16)},
		{
			Effect: permission.Ask, Pattern: "bash(git push:*)", Source: source("house", 17),
			Approval: permission.Approval{
				Reviewers: []string{"alice", "group:release"}, Quorum: 2, ExcludeRequester: true,
				Timeout: 30 * 24 * time.Hour, OnTimeout: "skip", MaxGrant: permission.GrantSession,
			},
		},
		{Effect: permission.Allow, Pattern: "bash(echo $HOME)", Source: source("house", 25)},
		denied,
	}
	if diff := cmp.Diff(want, c.Policy("house")); diff != "" {
		t.Errorf("policy house differs (-want +got):\n%s", diff)
	}
	for _, name := range []string{"", "unknown"} {
		if diff := cmp.Diff([]permission.Rule{denied}, c.Policy(name)); diff != "" {
			t.Errorf("policy %q must keep the denied tools (-want +got):\n%s", name, diff)
		}
	}
}

func TestLookups(t *testing.T) {
	t.Parallel()
	c := loadGood(t)
	if got := len(c.Agents()); got != 2 || c.Agents()[0].Name != "coder" {
		t.Errorf("Agents() = %d agents, first %q", got, c.Agents()[0].Name)
	}
	found := map[string]bool{}
	_, found["agent coder"] = c.Agent("coder")
	_, found["model local"] = c.Model("local")
	_, found["tool bash"] = c.Tool("bash")
	_, found["permission store rules"] = c.PermissionStore("rules")
	_, found["session store sessions"] = c.SessionStore("sessions")
	for what, ok := range found {
		if !ok {
			t.Errorf("%s was not found", what)
		}
	}
	if _, ok := c.Agent("nobody"); ok {
		t.Error("an agent that is not configured was found")
	}
}

func TestLoadReadsOneFile(t *testing.T) {
	t.Parallel()
	file := write(t, "one.conf", "type: agent\nname: a\nmodel: m\n---\n---\ntype: model\nname: m\nprovider: openai\nmodel: x\nbase_url: http://localhost/v1\n")
	c, err := config.Load(file, env(nil))
	if err != nil {
		t.Fatal(err)
	}
	if a, ok := c.Agent("a"); !ok || a.Model != "m" {
		t.Errorf("agent a = %+v, %v", a, ok)
	}
}

func TestLoadSaysWhyItCannotRead(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	big := write(t, "big.yaml", string(make([]byte, 1<<20+1)))
	pipe := t.TempDir()
	if err := os.Symlink("/dev/zero", filepath.Join(pipe, "endless.yaml")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(empty, "none"): "the configuration can't be read: stat " + filepath.Join(empty, "none") + ": no such file or directory",
		empty:                        "the configuration directory " + empty + " has no *.yaml or *.yml file",
		big:                          "the configuration file " + big + " is larger than 1048576 bytes",
		pipe:                         "the configuration file " + filepath.Join(pipe, "endless.yaml") + " is not a regular file",
	} {
		if _, err := config.Load(path, env(nil)); err == nil || err.Error() != want {
			t.Errorf("Load(%s) = %v, want %s", path, err, want)
		}
	}
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func writeIn(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

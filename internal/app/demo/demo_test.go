package demo_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"holdpoint/internal/app/demo"
	"holdpoint/internal/config"
	"holdpoint/llm/scripted"
)

func env(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := vars[name]
		return v, ok
	}
}

func write(t *testing.T, data string, vars map[string]string) *config.Config {
	t.Helper()
	path, err := demo.Write(data, env(vars))
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(path, env(vars))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func TestTheDemosConfigurationLoads(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	cfg := write(t, data, nil)
	a, ok := cfg.Agent(demo.Agent)
	if !ok {
		t.Fatal("there is no demo agent")
	}
	if want := filepath.Join(data, "demo", "project"); a.Workspace != want {
		t.Errorf("the agent works in %s, want %s", a.Workspace, want)
	}
	if m, _ := cfg.Model(a.Model); m.Provider != config.ProviderScripted {
		t.Errorf("without a key the model is %s, want the scripted one", m.Provider)
	}
	if _, err := scripted.Load(filepath.Join(data, "demo", "config", "scripts", "demo.yaml")); err != nil {
		t.Error(err)
	}
	if len(cfg.Policy(a.Policy)) == 0 {
		t.Error("the agent has no rules")
	}
}

func TestAKeyPutsARealModelInPlace(t *testing.T) {
	t.Parallel()
	const url = "http://127.0.0.1:1/v1"
	for name, c := range map[string]struct {
		vars       map[string]string
		provider   config.Provider
		model, url string
	}{
		"OpenAI, a key alone":          {map[string]string{"OPENAI_API_KEY": "k-1"}, config.ProviderOpenAI, demo.DefaultOpenAI, ""},
		"OpenAI, an endpoint alone":    {map[string]string{"OPENAI_BASE_URL": url}, config.ProviderOpenAI, demo.DefaultOpenAI, url},
		"OpenAI, all three":            {map[string]string{"OPENAI_API_KEY": "k-1", "OPENAI_BASE_URL": url, "OPENAI_MODEL": "m"}, config.ProviderOpenAI, "m", url},
		"Anthropic, a key alone":       {map[string]string{"ANTHROPIC_API_KEY": "k-1"}, config.ProviderAnthropic, demo.DefaultAnthropic, ""},
		"Anthropic, an endpoint alone": {map[string]string{"ANTHROPIC_BASE_URL": url}, config.ProviderAnthropic, demo.DefaultAnthropic, url},
		"Anthropic, all three":         {map[string]string{"ANTHROPIC_API_KEY": "k-1", "ANTHROPIC_BASE_URL": url, "ANTHROPIC_MODEL": "m"}, config.ProviderAnthropic, "m", url},
		"both":                         {map[string]string{"ANTHROPIC_API_KEY": "k-2", "OPENAI_API_KEY": "k-1"}, config.ProviderOpenAI, demo.DefaultOpenAI, ""},
		"empty ones are none":          {map[string]string{"OPENAI_API_KEY": "", "ANTHROPIC_API_KEY": "k-1", "ANTHROPIC_BASE_URL": "", "ANTHROPIC_MODEL": ""}, config.ProviderAnthropic, demo.DefaultAnthropic, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := t.TempDir()
			m, _ := write(t, data, c.vars).Model("demo")
			if m.Provider != c.provider || m.Model != c.model || m.BaseURL != c.url {
				t.Errorf("the model is %s %q at %q, want %s %q at %q", m.Provider, m.Model, m.BaseURL, c.provider, c.model, c.url)
			}
			want := c.vars["OPENAI_API_KEY"]
			if c.provider == config.ProviderAnthropic {
				want = c.vars["ANTHROPIC_API_KEY"]
			}
			if m.APIKey.Reveal() != want {
				t.Error("the key did not reach the model")
			}
			text, err := os.ReadFile(filepath.Join(data, "demo", "config", "model.yaml"))
			if err != nil || strings.Contains(string(text), "k-1") {
				t.Errorf("the key was written to disk (%v)", err)
			}
		})
	}
}

func TestTheProjectFailsAndCanBeMended(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	write(t, data, nil)
	project := filepath.Join(data, "demo", "project")
	run := func() (string, error) {
		cmd := exec.Command("./test.sh")
		cmd.Dir = project
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run(); err == nil || !strings.Contains(out, "FAIL") {
		t.Fatalf("the test of the project does not fail: %v\n%s", err, out)
	}
	file := filepath.Join(project, "price.sh")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	mended := strings.Replace(string(text), "net * (100 + vat) / 100", "(net * (100 + vat) + 50) / 100", 1)
	if err := os.WriteFile(file, []byte(mended), 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := run(); err != nil {
		t.Fatalf("the mended project still fails: %v\n%s", err, out)
	}

	write(t, data, nil)
	if after, err := os.ReadFile(file); err != nil || string(after) != mended {
		t.Errorf("a second start undid what was mended (%v)", err)
	}
}

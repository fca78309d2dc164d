package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"testing"

	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
	"holdpoint/llm"
)

// definition is the configuration of an agent that can be edited.
func definition(model, prompt, tools string) string {
	return fmt.Sprintf(`type: model
name: first
provider: scripted
script: turns.yaml
---
type: model
name: second
provider: scripted
script: turns.yaml
---
type: agent
name: tester
model: %s
system_prompt: %s
tools: [%s]
`, model, prompt, tools)
}

// playing is a model that asks once and then says who it is.
func playing(name string) *apptest.Model {
	return &apptest.Model{Turn: func(n int, _ llm.Request) llm.Message {
		if n == 1 {
			return apptest.Calls("ask_human", `{"question":"go on?"}`)
		}
		return llm.Message{Content: name}
	}}
}

// agentDigest is what GET /v1/agents shows of the one agent.
func agentDigest(h *apptest.Holdpoint) string {
	h.T.Helper()
	var list struct {
		Items []struct {
			Name   string `json:"name"`
			Digest string `json:"digest"`
		} `json:"items"`
	}
	h.Get("/v1/agents", &list)
	if len(list.Items) != 1 || list.Items[0].Name != "tester" {
		h.T.Fatalf("the agents are %+v", list.Items)
	}
	return list.Items[0].Digest
}

// runDigest is the definition that a run is pinned to.
func runDigest(h *apptest.Holdpoint, run apptest.RunView) string {
	h.T.Helper()
	var v struct {
		Digest string `json:"agent_digest"`
	}
	code, body := h.HTTP("GET", "/v1/runs/"+string(run.RunID), nil)
	if code != http.StatusOK || json.Unmarshal(body, &v) != nil {
		h.T.Fatalf("%d %s", code, body)
	}
	return v.Digest
}

// lastRequest is what a model was asked last.
func lastRequest(t *testing.T, m *apptest.Model) llm.Request {
	t.Helper()
	all := m.Requests()
	if len(all) == 0 {
		t.Fatal("the model was not asked")
	}
	return all[len(all)-1]
}

// describes reports whether a request is that of a definition.
func describes(r llm.Request, prompt string, tools ...string) error {
	if r.System != prompt {
		return fmt.Errorf("the prompt is %q, want %q", r.System, prompt)
	}
	if len(r.Tools) != len(tools) {
		return fmt.Errorf("%d tools are offered, want %v", len(r.Tools), tools)
	}
	for i, tool := range r.Tools {
		if tool.Name != tools[i] {
			return fmt.Errorf("tool %d is %s, want %s", i, tool.Name, tools[i])
		}
	}
	return nil
}

// TestARunKeepsTheDefinitionItWasStartedWith edits an agent's file while a run waits, and starts everything again: the
// run goes on with the prompt, the model and the tools that it had, and a new run gets the new ones.
func TestARunKeepsTheDefinitionItWasStartedWith(t *testing.T) {
	t.Parallel()
	o := apptest.Options(t, t.TempDir())
	o.Address = apptest.Server(t)
	edit := func(text string) {
		if err := os.WriteFile(o.Config, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	edit(definition("first", "You were first.", "ask_human, file_read"))
	start := func() (h *apptest.Holdpoint, first, second *apptest.Model) {
		first, second = playing("first"), playing("second")
		o.Models = map[string]llm.Model{"first": first, "second": second}
		return apptest.Run(t, o), first, second
	}

	h, _, _ := start()
	old := h.Begin("go")
	h.Waits(old.RunID, 1)
	before := agentDigest(h)
	if got := runDigest(h, old); got != before || len(got) != 64 {
		t.Fatalf("the run is pinned to %q, and the agent is %q", got, before)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}

	edit(definition("second", "You came later.", "ask_human"))
	h, first, second := start()
	after := agentDigest(h)
	if after == before {
		t.Error("the edited agent has the digest of the old one")
	}
	h.Answer(h.Waits(old.RunID, 1)[0].ID, map[string]any{"action": "answer", "text": "yes"})
	if v := h.Ended(old.RunID); v.Status != "completed" || v.Output != "first" {
		t.Errorf("the old run ended %s with %q", v.Status, v.Output)
	}
	if err := describes(lastRequest(t, first), "You were first.", "ask_human", "file_read"); err != nil {
		t.Errorf("the old run: %v", err)
	}
	fresh := h.Begin("go")
	h.Answer(h.Waits(fresh.RunID, 1)[0].ID, map[string]any{"action": "answer", "text": "yes"})
	if v := h.Ended(fresh.RunID); v.Status != "completed" || v.Output != "second" {
		t.Errorf("the new run ended %s with %q", v.Status, v.Output)
	}
	if err := describes(lastRequest(t, second), "You came later.", "ask_human"); err != nil {
		t.Errorf("the new run: %v", err)
	}
	if got := []string{runDigest(h, old), runDigest(h, fresh)}; got[0] != before || got[1] != after {
		t.Errorf("the runs are pinned to %q, want %q and %q", got, before, after)
	}
	checked, err := app.CheckConfig(o.Config, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range checked.Summaries() {
		if s.Type == "agent" && s.Digest != after {
			t.Errorf("config check shows digest %s, want %s", s.Digest, after)
		}
	}
}

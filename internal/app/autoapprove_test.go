package app_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdpoint/event"
	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
	"holdpoint/llm"
)

// accepting gives the agent auto_approve_risk.
func accepting(risk string) apptest.Setup {
	return func(o *app.Options) { addToConfig(o, "auto_approve_risk: "+risk+"\n") }
}

func addToConfig(o *app.Options, text string) {
	b, err := os.ReadFile(o.Config)
	if err == nil {
		err = os.WriteFile(o.Config, append(b, text...), 0o644)
	}
	if err != nil {
		panic(err)
	}
}

// TestAutoApproveRiskChangesDefaultsOnly has one turn ask for everything at once: what no rule speaks about and is of
// a risk that the agent accepts runs; rules, other risks, secrets and files elsewhere stay with a person.
func TestAutoApproveRiskChangesDefaultsOnly(t *testing.T) {
	t.Parallel()
	elsewhere := filepath.Join(t.TempDir(), "elsewhere.txt")
	write := func(path string) string { return fmt.Sprintf(`{"path":%q,"content":"written"}`, path) }
	model := &apptest.Model{Turn: func(n int, _ llm.Request) llm.Message {
		if n > 1 {
			return llm.Message{Content: "done"}
		}
		return apptest.Calls(
			"file_write", write("plain.txt"), // accepted: medium
			"file_write", write("asked.txt"), // an ask rule
			"file_write", write("denied.txt"), // a deny rule
			"file_write", write(".env"), // a secret
			"file_write", write(elsewhere), // outside the workspace
			"file_read", `{"path":"id_rsa"}`, // a secret
			"bash", apptest.Bash("echo ran > ran.txt"), // high
		)
	}}
	h := apptest.Start(t, apptest.WithModel(model), apptest.WithRules(
		`{match: "file_write(./asked.txt)", decision: ask}`,
		`{match: "file_write(./denied.txt)", decision: deny}`), accepting("medium"))
	if err := os.WriteFile(filepath.Join(h.Dir, "id_rsa"), []byte("private"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := h.Begin("go")
	asked := h.Waits(run.RunID, 5)
	var waiting []string
	for _, r := range asked {
		waiting = append(waiting, string(r.ToolArgs))
	}
	for _, part := range []string{"asked.txt", ".env", "elsewhere.txt", "id_rsa", "ran.txt"} {
		if !strings.Contains(strings.Join(waiting, "\n"), part) {
			t.Errorf("nobody was asked about %s, only about %q", part, waiting)
		}
	}
	h.Eventually("the accepted write", func() bool {
		b, err := os.ReadFile(filepath.Join(h.Dir, "plain.txt"))
		return err == nil && string(b) == "written"
	})
	for _, r := range asked {
		h.Answer(r.ID, map[string]any{"action": "reject"})
	}
	completes(h, run.RunID)
	for _, path := range []string{"asked.txt", "denied.txt", ".env", elsewhere, "ran.txt"} {
		if !filepath.IsAbs(path) {
			path = filepath.Join(h.Dir, path)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s was written", path)
		}
	}
	got := model.ToolResults()
	if len(got) != 7 || got[0].ToolStatus != "success" || got[2].ToolStatus != "denied" || strings.Contains(got[5].Content, "private") {
		t.Errorf("the model got %+v", got)
	}
	if denied := eventsOf[event.ToolAuthDeniedData](h, run.RunID, event.ToolAuthDenied); len(denied) != 1 {
		t.Errorf("%d denials are recorded, want 1", len(denied))
	}
}

func TestWithoutAutoApproveRiskTheSameCallAsks(t *testing.T) {
	t.Parallel()
	h := apptest.Start(t, apptest.WithModel(apptest.Turns(apptest.Calls("file_write", `{"path":"plain.txt","content":"x"}`))), accepting("low"))
	run := h.Begin("go")
	h.Answer(h.Waits(run.RunID, 1)[0].ID, map[string]any{"action": "reject"})
	completes(h, run.RunID)
}

func TestWithoutPermissionsOnlyADenyHolds(t *testing.T) {
	t.Parallel()
	model := apptest.Turns(apptest.Calls("bash", apptest.Bash("echo ran > ran.txt"), "bash", apptest.Bash("rm ran.txt"), "file_write", `{"path":"asked.txt","content":"x"}`))
	h := apptest.Start(t, apptest.WithModel(model), apptest.WithRules(
		`{match: "bash(rm:*)", decision: deny}`, `{match: file_write, decision: ask}`),
		func(o *app.Options) { addToConfig(o, "enable_permissions: false\n") })
	run := h.Begin("go")
	completes(h, run.RunID)
	for _, name := range []string{"ran.txt", "asked.txt"} {
		if _, err := os.Stat(filepath.Join(h.Dir, name)); err != nil {
			t.Errorf("what no deny forbids did not run: %v", err)
		}
	}
	if got := model.ToolResults(); len(got) != 3 || got[1].ToolStatus != "denied" {
		t.Errorf("the model got %+v", got)
	}
}

package app_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"holdpoint/interaction"
	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
	"holdpoint/internal/config"
)

const examplesDir = "../../examples"

// exampleNames are the directories of the agents among the examples.
func exampleNames(t *testing.T) []string {
	t.Helper()
	agents, err := filepath.Glob(filepath.Join(examplesDir, "*", "agent.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, a := range agents {
		out = append(out, filepath.Base(filepath.Dir(a)))
	}
	if len(out) < 3 {
		t.Fatalf("the examples are %v", out)
	}
	return out
}

// prepared runs an example's prepare.sh and returns the directory that the agent works in.
func prepared(t *testing.T, name string) string {
	t.Helper()
	project := filepath.Join(t.TempDir(), "project")
	cmd := exec.Command("sh", filepath.Join(examplesDir, name, "prepare.sh"), project)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil || strings.TrimSpace(string(out)) != project {
		t.Fatalf("prepare.sh printed %q: %v", out, err)
	}
	return project
}

func projectEnv(project string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		if name == "PROJECT" {
			return project, true
		}
		return os.LookupEnv(name)
	}
}

// startExample runs Holdpoint on a copy of an example's configuration. edit changes each of its files.
func startExample(t *testing.T, name, project string, edit func(text string) string) *apptest.Holdpoint {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "config")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(examplesDir, name))); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"agent.yaml", "workflow.yaml", "model.yaml", "scripts"} {
		path := filepath.Join(dir, file)
		if file == "scripts" {
			matches, err := filepath.Glob(filepath.Join(path, "*.yaml"))
			if err != nil || len(matches) != 1 {
				t.Fatalf("the scripts are %v (%v)", matches, err)
			}
			path = matches[0]
		}
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) { // it has one of an agent and a workflow
			continue
		}
		if err == nil && edit != nil {
			err = os.WriteFile(path, []byte(edit(string(text))), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	o := apptest.Options(t, t.TempDir())
	o.Address, o.Config, o.Getenv = apptest.Server(t), dir, projectEnv(project)
	return apptest.Run(t, o)
}

// beginExample starts a run of the example's agent.
func beginExample(h *apptest.Holdpoint, agent, input string) apptest.RunView {
	h.T.Helper()
	code, body := h.HTTP("POST", "/v1/runs", map[string]string{"agent": agent, "input": input, "session_id": agent})
	if code != http.StatusCreated {
		h.T.Fatalf("start: %d %s", code, body)
	}
	var v apptest.RunView
	if err := json.Unmarshal(body, &v); err != nil {
		h.T.Fatal(err)
	}
	return v
}

// next waits for the one question of a run that is not the one before.
func next(h *apptest.Holdpoint, run apptest.RunView, before interaction.ID) interaction.Request {
	h.T.Helper()
	if before == "" {
		return h.Waits(run.RunID, 1)[0]
	}
	return following(h, run, before)
}

func contentOf(t *testing.T, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestTheExamplesAreConfigurations checks each as `holdpoint config check` does, and the models of their READMEs.
func TestTheExamplesAreConfigurations(t *testing.T) {
	t.Parallel()
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```")
	for _, name := range exampleNames(t) {
		cfg, err := app.CheckConfig(filepath.Join(examplesDir, name), projectEnv("/srv/project"))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		summaries := cfg.Summaries()
		if !strings.HasPrefix(summaries[0].Text, "model ") || summaries[0].Name != name {
			t.Errorf("%s begins with %+v, want the agent of the directory's name", name, summaries[0])
		}
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(filepath.Join(examplesDir, name))); err != nil {
			t.Fatal(err)
		}
		models := block.FindStringSubmatch(contentOf(t, dir, "README.md"))
		if models == nil {
			t.Errorf("%s: the README shows no real model", name)
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, "model.yaml"), []byte(models[1]), 0o644); err != nil {
			t.Fatal(err)
		}
		real, err := config.Load(dir, func(string) (string, bool) { return "/srv/project", true })
		if err != nil {
			t.Errorf("%s with the README's model: %v", name, err)
			continue
		}
		if m := real.Models[0]; m.Provider == config.ProviderScripted || m.APIKey.IsZero() {
			t.Errorf("%s: the README's model is %s", name, m.Provider)
		}
	}
}

func TestReleaseNotesAreWrittenOnceApproved(t *testing.T) {
	t.Parallel()
	project := prepared(t, "release-notes")
	h := startExample(t, "release-notes", project, nil)
	before := contentOf(t, project, "CHANGES.md")
	run := beginExample(h, "release-notes", "Draft the notes of the next release.")
	draft := next(h, run, "")
	if draft.ToolName != "file_write" || !strings.Contains(draft.Details, "Swiss francs") || contentOf(t, project, "CHANGES.md") != before {
		t.Fatalf("asked is %s with %q", draft.ToolName, draft.Details)
	}
	h.Answer(draft.ID, map[string]any{"action": "retry", "feedback": "Shorter, please."})
	shorter := next(h, run, draft.ID)
	h.Answer(shorter.ID, map[string]any{"action": "approve"})
	if v := h.Ended(run.RunID); v.Status != "completed" || !strings.Contains(v.Output, "draft") {
		t.Fatalf("ended %s: %s %s", v.Status, v.Output, v.Error)
	}
	if got := contentOf(t, project, "CHANGES.md"); !strings.Contains(got, "Swiss francs, `--json`") || !strings.Contains(got, "## 1.0.0") {
		t.Errorf("CHANGES.md has\n%s", got)
	}
}

func TestDependenciesAreUpdatedAndTakenBack(t *testing.T) {
	t.Parallel()
	project := prepared(t, "dependency-update")
	h := startExample(t, "dependency-update", project, nil)
	run := beginExample(h, "dependency-update", "Update what is outdated.")
	last := interaction.ID("")
	for _, want := range []string{"parser 1.2.0", "renderer 3.0.0", "renderer 2.4.1"} {
		q := next(h, run, last)
		if q.ToolName != "file_edit" || !strings.Contains(q.Details, "+"+want) {
			t.Fatalf("asked is %s with %q, want %s", q.ToolName, q.Details, want)
		}
		h.Answer(q.ID, map[string]any{"action": "approve"})
		last = q.ID
	}
	if v := h.Ended(run.RunID); v.Status != "completed" || !strings.Contains(v.Output, "Left: renderer at 2.4.1") {
		t.Fatalf("ended %s: %s %s", v.Status, v.Output, v.Error)
	}
	if got := contentOf(t, project, "deps.txt"); got != "parser 1.2.0\nrenderer 2.4.1\nstore 0.9.3\n" {
		t.Errorf("deps.txt has\n%s", got)
	}
}

func TestAChangedPageIsReported(t *testing.T) {
	t.Parallel()
	project := prepared(t, "page-watch")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	site := &http.Server{Handler: http.FileServer(http.Dir(filepath.Join(examplesDir, "page-watch", "site")))}
	go func() { _ = site.Serve(l) }() // ends with Close
	t.Cleanup(func() { _ = site.Close() })
	h := startExample(t, "page-watch", project, func(text string) string {
		return strings.ReplaceAll(text, "127.0.0.1:8123", l.Addr().String())
	})
	run := beginExample(h, "page-watch", "Has the page changed?")
	question := next(h, run, "")
	if question.ToolName != "ask_human" {
		t.Fatalf("asked is %s", question.ToolName)
	}
	h.Answer(question.ID, map[string]any{"action": "answer", "selected": []string{question.Options[0].ID}})
	report := next(h, run, question.ID)
	if _, err := os.Stat(filepath.Join(project, "report.md")); report.ToolName != "file_write" || err == nil {
		t.Fatalf("asked is %s, and the report is there already: %v", report.ToolName, err == nil)
	}
	h.Answer(report.ID, map[string]any{"action": "approve"})
	if v := h.Ended(run.RunID); v.Status != "completed" || v.Output != "The report is written." {
		t.Fatalf("ended %s: %s %s", v.Status, v.Output, v.Error)
	}
	if !strings.Contains(contentOf(t, project, "report.md"), "Mail is delayed since 09:40") || !strings.Contains(contentOf(t, project, "seen.txt"), "Mail is delayed") {
		t.Error("the report or what was seen is not on disk")
	}
}

func TestAnAnnouncementIsPublishedOnceSigned(t *testing.T) {
	t.Parallel()
	project := t.TempDir()
	h := startExample(t, "announcement", project, nil)
	run := beginExample(h, "announcement", "Version 2")
	signed := next(h, run, "")
	if signed.Title != "Publish this announcement?" || signed.Details != "Version 2 prints the basket for programs." {
		t.Fatalf("the gate asks %q about %q", signed.Title, signed.Details)
	}
	h.Answer(signed.ID, map[string]any{"action": "approve"})
	written := row(h, openBelow(h, run.RunID, 1)[0]).Request
	if _, err := os.Stat(filepath.Join(project, "announcement.md")); written.ToolName != "file_write" || err == nil {
		t.Fatalf("asked is %s, and the file is there already: %v", written.ToolName, err == nil)
	}
	h.Answer(written.ID, map[string]any{"action": "approve"})
	if v := h.Ended(run.RunID); v.Status != "completed" || v.Output != "The announcement is published." {
		t.Fatalf("ended %s: %s %s", v.Status, v.Output, v.Error)
	}
	if got := contentOf(t, project, "announcement.md"); got != "Version 2 prints the basket for programs.\n" {
		t.Errorf("announcement.md has %q", got)
	}
}

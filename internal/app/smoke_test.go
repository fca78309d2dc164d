package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdpoint/internal/app/apptest"
)

func TestAGatedCallRunsOnceItIsApproved(t *testing.T) {
	t.Parallel()
	model := apptest.Turns(apptest.Calls("bash", apptest.Bash("echo ran >> out.txt; echo hello")))
	h := apptest.Start(t, apptest.WithModel(model))
	run := h.Begin("go")
	asked := h.Waits(run.RunID, 1)
	if got := asked[0].Title; !strings.Contains(got, "echo ran >> out.txt") {
		t.Errorf("the title %q does not say what will run", got)
	}
	if _, err := os.Stat(filepath.Join(h.Dir, "out.txt")); err == nil {
		t.Fatal("it ran before it was approved")
	}
	h.Answer(asked[0].ID, map[string]any{"action": "approve"})
	end := h.Ended(run.RunID)
	if end.Status != "completed" || end.Output != "done" {
		t.Errorf("the run ended as %+v", end)
	}
	if b, _ := os.ReadFile(filepath.Join(h.Dir, "out.txt")); string(b) != "ran\n" {
		t.Errorf("the command ran so: %q", b)
	}
	if res := model.ToolResults(); len(res) != 1 || !strings.Contains(res[0].Content, "hello") {
		t.Errorf("the model got %+v", res)
	}
}

func TestAQuestionAboutACompoundExplainsEachPart(t *testing.T) {
	t.Parallel()
	h := apptest.Start(t, apptest.WithModel(apptest.Turns(apptest.Calls("bash", apptest.Bash("go version && touch new")))),
		apptest.WithRules(`{match: "bash(go version)", decision: allow}`))
	run := h.Begin("go")
	q := h.Waits(run.RunID, 1)[0]
	for _, want := range []string{"go version", "touch new", "an allow rule matches"} {
		if !strings.Contains(q.Explanation, want) {
			t.Errorf("the explanation lacks %q:\n%s", want, q.Explanation)
		}
	}
	h.Answer(q.ID, map[string]any{"action": "skip"})
	h.Ended(run.RunID)
}

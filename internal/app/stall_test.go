package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdpoint/internal/app/apptest"
	"holdpoint/llm"
)

// TestNothingThatAModelWritesStallsARun gives the worker what takes long to look at: a command that expands to
// very much, a file of terabytes that holds nothing. Each is asked about, and other runs go on meanwhile.
func TestNothingThatAModelWritesStallsARun(t *testing.T) {
	t.Parallel()
	brace := strings.Repeat("{a,b}", 8) + " "
	expands := "cd a||cd b||cd c||cd d||cd e||cd f||cd g;cp " + strings.Repeat(brace, (9900-60)/len(brace)) + "z"
	model := &apptest.Model{Turn: func(_ int, req llm.Request) llm.Message {
		switch req.Messages[0].Content {
		case "expand":
			return apptest.Calls("bash", apptest.Bash(expands))
		case "sparse":
			return apptest.Calls("file_write", `{"path":"big","content":"x"}`)
		}
		return llm.Message{Content: "done"}
	}}
	h := apptest.Start(t, apptest.WithModel(model), apptest.WithRules(`{match: "bash(true:*)", decision: allow}`,
		`{match: "file_read(**/.env)", decision: deny}`, `{match: "file_write(./.git/**)", decision: deny}`))
	f, err := os.Create(filepath.Join(h.Dir, "big"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(4 << 40); err != nil {
		t.Fatal(err)
	}
	expand, sparse := h.Begin("expand"), h.Begin("sparse")
	if end := h.Ended(h.Begin("other").RunID); end.Status != "completed" {
		t.Errorf("another run ended %s", end.Status)
	}
	h.Waits(expand.RunID, 1)
	h.Waits(sparse.RunID, 1)
}

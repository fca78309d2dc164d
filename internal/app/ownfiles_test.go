package app_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdpoint/event"
	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
	"holdpoint/internal/seal"
	"holdpoint/internal/signing"
	"holdpoint/llm"
)

// An agent that may do everything reads nothing of Holdpoint's own, and changes none of the rules that it is held to.
func TestHoldpointsOwnFilesAreDeniedToEveryTool(t *testing.T) {
	t.Parallel()
	var turn llm.Message
	h := apptest.Start(t, apptest.WithRules(`{match: bash, decision: allow}`, `{match: file_read, decision: allow}`, `{match: "file_read(/**)", decision: allow}`, `{match: file_write, decision: allow}`, `{match: "file_write(/**)", decision: allow}`, `{match: file_edit, decision: allow}`),
		apptest.WithModel(&apptest.Model{Turn: func(n int, _ llm.Request) llm.Message {
			if n == 1 {
				return turn
			}
			return llm.Message{Content: "done"}
		}}), withKeyFiles(t), func(o *app.Options) { // its data is reached by a link, and its store is elsewhere
			dir := filepath.Dir(o.Config)
			withConfig("---\ntype: session_store\nname: kept\nstore_type: sqlite\ndsn: " + filepath.Join(dir, "kept.db") + "\n")(o)
			o.Data = filepath.Join(dir, "linked")
			if err := errors.Join(os.Mkdir(filepath.Join(dir, "data"), 0o700), os.Symlink("data", o.Data)); err != nil {
				t.Fatal(err)
			}
		})
	token, policy := filepath.Join(h.Options.Data, "private", "dev.json"), h.Options.Config
	if err := os.Symlink(h.Options.Data, filepath.Join(h.Dir, "link")); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(policy)
	if err != nil {
		t.Fatal(err)
	}
	write := func(path string) string {
		b, err := json.Marshal(map[string]string{"path": path, "content": "x"})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	read := func(path string) string { return `{"path":` + string(mustJSON(t, path)) + `}` }
	calls := []string{"file_read", read(token), "file_read", read("link/private/dev.json"), "file_read", read("../data/private/dev.json"), "file_read", read("/proc/self/cwd/../data/private/dev.json"),
		"file_read", read("../linked/private/dev.json"), "file_read", read("../kept.db"), "file_read", read("../kept.db-wal"), "file_write", write("../kept.db"),
		"file_read", read("../sealing.keys"), "file_write", write("../sealing.keys"), "file_read", read("../bridge.key"), "bash", apptest.Bash("cat ../sealing.keys"), "bash", apptest.Bash("cp ../bridge.key x"),
		"file_write", write(token), "file_write", write(policy), "file_write", write("link/private/x"), "file_write", write("../holdpoint.yaml"), "file_edit", `{"path":"../holdpoint.yaml","old":"allow","new":"deny"}`}
	for _, command := range []string{"cat " + token, "cat ../data/private/dev.json", "cat link/private/dev.json", "cd ../data/private && cat dev.json", "head -c 9 < " + token, "cp " + token + " x", "base64 ../data/*/dev.json",
		"echo x > " + policy, "echo x >> ../holdpoint.yaml", "sed -i s/allow/deny/ ../holdpoint.yaml", "mv ../holdpoint.yaml x", "rm -r ../data", "tee ../data/private/x", "grep -r token ..", "tar -cf x ../data", "cat ../kept.db", "sqlite3 ../kept.db 'select 1'",
		"cp x ../kept.db-wal"} {
		calls = append(calls, "bash", apptest.Bash(command))
	}
	turn = apptest.Calls(calls...)
	run := h.Begin("go")
	h.Eventually("every call to be denied, or to ask", func() bool {
		denied := eventsOf[event.ToolAuthDeniedData](h, run.RunID, event.ToolAuthDenied)
		return len(denied)+len(h.Pending(run.RunID)) == len(calls)/2
	})
	for _, q := range h.Pending(run.RunID) { // what only may lead there
		if !slices.ContainsFunc([]string{"/proc/self/cwd", "../data/*", "rm -r", "grep -r", "tar -cf", "sqlite3"}, func(s string) bool { return strings.Contains(string(q.ToolArgs), s) }) {
			t.Errorf("it asks about %s %s", q.ToolName, q.ToolArgs)
		}
	}
	if after, err := os.ReadFile(policy); err != nil || string(after) != string(before) {
		t.Errorf("the policy was changed: %v", err)
	}
}

// withKeyFiles seals by keys in a file that is named from where the process stands, and signs by a key.
func withKeyFiles(t *testing.T) apptest.Setup {
	return func(o *app.Options) {
		dir := filepath.Dir(o.Config)
		keys := filepath.Join(dir, "sealing.keys")
		here, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		named, err := filepath.Rel(here, keys)
		if err != nil {
			t.Fatal(err)
		}
		root, err := signing.CreateRoot(filepath.Join(dir, "root.key"))
		if err = errors.Join(err, os.WriteFile(keys, []byte(seal.NewKey("k1")), 0o600)); err != nil {
			t.Fatal(err)
		}
		signer := filepath.Join(dir, "bridge.key")
		issue(t, root, signer)
		withSigning(t, signer, "none")(o)
		o.Getenv = func(name string) (string, bool) { return named, name == seal.EnvFile }
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

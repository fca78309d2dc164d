package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"holdpoint/interaction"
	"holdpoint/internal/app/apptest"
)

// The connection comes from the environment, so this test can't run beside others that set it.
func TestARunIsStartedAndAnsweredByTheSDKAlone(t *testing.T) {
	h := apptest.Start(t, apptest.WithModel(apptest.Turns(apptest.Calls("bash", apptest.Bash("echo ran")))))
	t.Setenv("TEMPORAL_ADDRESS", apptest.Server(t))
	o := options{agent: "tester", input: "go", session: "from-the-starter", user: "ada", queue: h.Options.TaskQueue}
	var said bytes.Buffer
	if err := run(t.Context(), &said, o); err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^Run +(\S+)$`).FindStringSubmatch(said.String())
	if m == nil || !strings.Contains(said.String(), "--workflow-id session-from-the-starter --name respond") {
		t.Fatalf("it does not say how to answer:\n%s", said.String())
	}
	asked := h.Waits(interaction.RunID(m[1]), 1)

	busy := o
	if err := run(t.Context(), &said, busy); err == nil || !strings.Contains(err.Error(), "has a live run") {
		t.Errorf("a second start of the session gave %v", err)
	}
	h.Answer(asked[0].ID, map[string]any{"action": "approve"})
	if end := h.Ended(interaction.RunID(m[1])); end.Status != "completed" {
		t.Errorf("the run ended as %+v", end)
	}

	said.Reset()
	o.session, o.wait, o.agent = "", true, "tester"
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, &said, o); err == nil {
		t.Error("a start without a connection succeeded")
	}
}

func TestWhatIsWrongIsRefusedBeforeTemporalIsAsked(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]options{
		"no input":         {agent: "a"},
		"too long":         {agent: "a", input: strings.Repeat("x", interaction.MaxMessageBytes+1)},
		"an odd session":   {agent: "a", input: "x", session: "a b"},
		"a session's path": {agent: "a", input: "x", session: "../x"},
	} {
		if err := run(t.Context(), &bytes.Buffer{}, o); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

// Not parallel: the settings of Temporal are those of the process.
func TestAMisspeltKeyOfTheProfileFileIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "temporal.toml")
	if err := os.WriteFile(file, []byte("[profile.default]\nnamespce = \"agents\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TEMPORAL_CONFIG_FILE", file)
	if err := run(t.Context(), &bytes.Buffer{}, options{agent: "a", input: "x"}); err == nil || !strings.Contains(err.Error(), "namespce") {
		t.Error(err)
	}
}

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.temporal.io/api/workflowservice/v1"

	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
)

// realConfig has one agent per story; their models play scripts.
const realConfig = `type: policy
name: ask
rules:
  - {match: "bash(rm:*)", decision: deny}
---
type: policy_template
name: reading
description: Looking around
rules:
  - {match: "bash(ls:*)", decision: allow}
  - {match: "bash(head:*)", decision: allow}
---
`

// stories are the scripts of the agents' models, by agent.
var stories = map[string]string{
	"maker": `
  - say: I make it.
    calls: [{name: bash, args: {command: "echo made | tee made.txt"}}, {name: bash, args: {command: "rm made.txt"}}]
  - when: {tool_result: {name: bash, status: success, contains: made}}
    say: Made.
  - say: "I leave it. {{result}}"`,
	"twice": `
  - calls: [{name: bash, args: {command: "echo one"}}, {name: bash, args: {command: "echo two"}}]
  - say: Both.`,
	"editor": `
  - say: I edit it.
    calls: [{name: file_edit, args: {path: text.txt, old: one, new: two}}]
  - say: "{{result}}"`,
	"endless": `
  - calls: [{name: file_read, args: {path: text.txt}}]`,
}

// withStories replaces the configuration by that of the stories.
func withStories(t *testing.T) apptest.Setup {
	return func(o *app.Options) {
		dir := filepath.Dir(o.Config)
		work := filepath.Join(dir, "work")
		text := realConfig
		for name, script := range stories {
			write(t, filepath.Join(dir, name+".script.yaml"), "loop: true\nturns:"+script+"\n")
			text += fmt.Sprintf("type: model\nname: %[1]s\nprovider: scripted\nscript: %[1]s.script.yaml\n---\n"+
				"type: agent\nname: %[1]s\nmodel: %[1]s\npolicy: ask\nworkspace: %[2]s\nmax_steps: 3\ntools: [bash, file_read, file_edit]\n---\n", name, work)
		}
		write(t, o.Config, strings.TrimSuffix(text, "---\n"))
		write(t, filepath.Join(work, "text.txt"), "zero\none\n")
	}
}

func write(t *testing.T, path, text string) {
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestRealScripts runs scripts against a whole Holdpoint; each has sessions of its own.
func TestRealScripts(t *testing.T) {
	t.Parallel()
	t.Cleanup(apptest.StopServer) // nothing else here needs it
	h := apptest.Start(t, withStories(t))
	t.Run("what erase prints deletes every history of a session", func(t *testing.T) {
		t.Parallel()
		for range 2 {
			h.Ended(h.StartIn("erased", "endless", "go").RunID)
		}
		var out strings.Builder
		c := &cli{name: "holdpoint", out: &out, err: &out, in: strings.NewReader(""), getenv: os.LookupEnv, now: time.Now}
		if code := execute(t.Context(), c, []string{"erase", "--data", h.Options.Data, "--session", "erased", "--sure"}); code != exitOK {
			t.Fatalf("erase ended with %d: %s", code, out.String())
		}
		said, commands, _ := strings.Cut(out.String(), "\n")
		if !strings.Contains(said, "2 runs") || strings.Count(commands, "\n") != 1 {
			t.Fatalf("erase said %s", out.String())
		}
		known := func(want int64) {
			h.Eventually(fmt.Sprintf("Temporal to list %d runs", want), func() bool {
				n, err := h.Client.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Query: `WorkflowId = "session-erased"`})
				return err == nil && n.GetCount() == want
			})
		}
		known(2)
		h.Shell(filepath.Dir(apptest.Temporal(t)), commands)
		known(0)
	})
	t.Run("scripts", func(t *testing.T) {
		testscript.Run(t, testscript.Params{
			Dir:           filepath.Join("testdata", "real"),
			UpdateScripts: os.Getenv("UPDATE_GOLDENS") != "",
			Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"code": wantCode,
				"eventually": eventually, "tidy": tidy, "inboxid": inboxID, "setfrom": setFrom, "idfrom": idFrom},
			Setup: func(env *testscript.Env) error {
				env.Setenv("HOLDPOINT_ADDR", h.URL())
				env.Setenv("HOLDPOINT_TOKEN", h.Token())
				return nil
			},
		})
	})
}

// eventually repeats a command until it succeeds and its output matches: eventually PATTERN command args…
func eventually(ts *testscript.TestScript, _ bool, args []string) {
	want := regexp.MustCompile(args[0])
	deadline := time.Now().Add(apptest.Patience)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ts.Exec(args[1], args[2:]...)
		if err == nil && want.MatchString(ts.ReadFile("stdout")) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("not in %s: %v; last: %v\n%s", apptest.Patience, args, err, ts.ReadFile("stdout"))
		}
		<-tick.C
	}
}

var (
	madeID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	tidied = []struct {
		pattern *regexp.Regexp
		by      string
	}{
		{regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`), "TIME"},
		{regexp.MustCompile(`\d+[smh] ago`), "AGO"},
		{regexp.MustCompile(`after \d+[smh]`), "after A WHILE"},
		{regexp.MustCompile(`sha256:[0-9a-f]{64}|[0-9a-f]{64}`), "DIGEST"},
	}
)

// tidy replaces what differs each time (ids, times, digests) in the last output, into a file: tidy FILE
func tidy(ts *testscript.TestScript, _ bool, args []string) {
	text := ts.ReadFile("stdout")
	known := map[string]string{}
	for _, id := range madeID.FindAllString(text, -1) {
		if known[id] == "" {
			known[id] = fmt.Sprintf("ID%d", len(known)+1)
		}
	}
	for id, name := range known {
		text = strings.ReplaceAll(text, id, name)
	}
	for id, name := range known {
		text = strings.ReplaceAll(text, id[:8], name)
	}
	for _, r := range tidied {
		text = r.pattern.ReplaceAllString(text, r.by)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o644))
}

// setFrom sets a variable to what a file has in one line: setfrom NAME FILE
func setFrom(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile(args[1])))
}

// idFrom sets a variable to the first made id in a file: idfrom NAME FILE
func idFrom(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv(args[0], madeID.FindString(ts.ReadFile(args[1])))
}

// inboxID sets ID to the first interaction's id in a file.
func inboxID(ts *testscript.TestScript, _ bool, args []string) {
	id := regexp.MustCompile(`[0-9a-f]{8}-\d+-\d+-\d+`).FindString(ts.ReadFile(args[0]))
	if id == "" {
		ts.Fatalf("%s names no interaction", args[0])
	}
	ts.Setenv("ID", id)
}

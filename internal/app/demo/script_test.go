package demo_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdpoint/internal/app/demo"
	"holdpoint/llm"
	"holdpoint/llm/scripted"
	"holdpoint/tool"
)

// play lets the script run to its end, each gated call ending as the next of ends says, and returns the commands and
// edits it asked for and its last words.
func play(t *testing.T, ends ...tool.Result) (asked []string, last string) {
	t.Helper()
	data := t.TempDir()
	if _, err := demo.Write(data, func(string) (string, bool) { return "", false }); err != nil {
		t.Fatal(err)
	}
	script, err := scripted.Load(filepath.Join(data, "demo", "config", "scripts", "demo.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	model := scripted.New(script)
	transcript := []llm.Message{{Role: llm.RoleUser, Content: demo.Input}}
	for {
		reply, err := model.Generate(context.Background(), llm.Request{Messages: transcript})
		if err != nil {
			t.Fatal(err)
		}
		transcript = append(transcript, reply.Message)
		if len(reply.Message.ToolCalls) == 0 {
			return asked, reply.Message.Content
		}
		for _, c := range reply.Message.ToolCalls {
			result := tool.Result{Status: tool.StatusSuccess}
			if c.Name == "file_read" {
				result.Content = readFile(t, filepath.Join(data, "demo", "project"), c.Args)
			} else {
				asked = append(asked, c.Name)
				if len(ends) == 0 {
					t.Fatalf("one call too many: %s %s", c.Name, c.Args)
				}
				result, ends = ends[0], ends[1:]
			}
			transcript = append(transcript, llm.Message{Role: llm.RoleTool, Content: result.Content, ProviderID: c.ProviderID,
				ToolName: c.Name, ToolStatus: string(result.Status)})
		}
	}
}

// readFile checks that what the script reads is there.
func readFile(t *testing.T, project, args string) string {
	t.Helper()
	for _, name := range []string{"README.md", "price.sh", "test.sh"} {
		if strings.Contains(args, name) {
			b, err := os.ReadFile(filepath.Join(project, name))
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
	}
	t.Fatalf("the script reads %s, which is not in the project", args)
	return ""
}

func TestTheScriptFollowsWhatThePersonSays(t *testing.T) {
	t.Parallel()
	fails := tool.Result{Status: tool.StatusError, Content: "FAIL  999 …\n2 of 4 failed\n[exit status 2]"}
	passes := tool.Result{Status: tool.StatusSuccess, Content: "ok    999 cents at 19 % is 1189\n0 of 4 failed\n"}
	edited := tool.Result{Status: tool.StatusSuccess, Content: "Edited"}
	rejected := tool.Result{Status: tool.StatusRejected, Content: "A person said no."}
	retry := tool.Result{Status: tool.StatusRetry, Content: "Think again."}
	told := tool.Result{Status: tool.StatusSuccess, Content: "I ran it myself."}
	skipped := tool.Result{Status: tool.StatusSkipped, Content: "Skipped."}
	for name, c := range map[string]struct {
		ends  []tool.Result
		asked []string
		last  string
	}{
		"all approved":              {[]tool.Result{fails, edited, passes}, []string{"bash", "file_edit", "bash"}, "Done."},
		"the test rejected":         {[]tool.Result{rejected}, []string{"bash"}, "changed nothing: I may not run the test. A person said no."},
		"the test skipped":          {[]tool.Result{skipped}, []string{"bash"}, "I stop here"},
		"another test wanted":       {[]tool.Result{retry, fails, edited, passes}, []string{"bash", "bash", "file_edit", "bash"}, "Done."},
		"no test at all, twice":     {[]tool.Result{retry, rejected}, []string{"bash", "bash"}, "I stop here"},
		"the edit rejected":         {[]tool.Result{fails, rejected}, []string{"bash", "file_edit"}, "price.sh stays as it is. A person said no."},
		"another edit wanted":       {[]tool.Result{fails, retry, edited, passes}, []string{"bash", "file_edit", "file_edit", "bash"}, "Done."},
		"the last test rejected":    {[]tool.Result{fails, edited, rejected}, []string{"bash", "file_edit", "bash"}, "could not run the test again"},
		"the last test other":       {[]tool.Result{fails, edited, retry, passes}, []string{"bash", "file_edit", "bash", "bash"}, "Done."},
		"a person ran it":           {[]tool.Result{fails, edited, told}, []string{"bash", "file_edit", "bash"}, "I ran it myself."},
		"it still fails":            {[]tool.Result{fails, edited, fails}, []string{"bash", "file_edit", "bash"}, "still fails"},
		"it was mended before":      {[]tool.Result{passes}, []string{"bash"}, "passes already"},
		"the file is not as it was": {[]tool.Result{fails, {Status: tool.StatusError, Content: "old does not occur"}}, []string{"bash", "file_edit"}, "not as I read it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked, last := play(t, c.ends...)
			if !slices.Equal(asked, c.asked) || !strings.Contains(last, c.last) {
				t.Errorf("it asked for %v and said %q; want %v and %q", asked, last, c.asked, c.last)
			}
		})
	}
}

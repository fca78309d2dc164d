package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"holdpoint/internal/app/apptest"
	"holdpoint/tool"
)

// asks sends a call about rules and reads the answer.
func asks(h *apptest.Holdpoint, want int, method, path string, body any) (out map[string]any) {
	h.T.Helper()
	code, raw := h.HTTP(method, path, body)
	if code != want {
		h.T.Fatalf("%s %s: %d %s, want %d", method, path, code, raw, want)
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		h.T.Fatalf("%s %s: %s", method, path, raw)
	}
	return out
}

func TestRulesOverHTTPDecideWhatRuns(t *testing.T) {
	t.Parallel()
	model := apptest.Turns(apptest.Calls("bash", apptest.Bash("echo one")), apptest.Calls("bash", apptest.Bash("echo one")),
		apptest.Calls("bash", apptest.Bash("echo one")))
	h := apptest.Start(t, apptest.WithModel(model), withConfig("---\ntype: policy_template\nname: listing\nrules:\n"+
		"  - {match: \"bash(ls:*)\", decision: allow}\n  - {match: \"bash(pwd)\", decision: allow, max_uses: 2}\n"))
	run := h.Begin("go")
	h.Waits(run.RunID, 1)

	// What would be decided is what was decided, with the rule's place.
	check := func(command string) map[string]any {
		return asks(h, http.StatusOK, "POST", "/v1/permissions/check", map[string]any{"user_id": "requester", "agent": "tester", "tool": "bash",
			"args": map[string]any{"command": command}})
	}
	if got := check("echo one"); got["effect"] != "ask" || !strings.Contains(fmt.Sprint(got["suggested_patterns"]), "bash(echo one)") {
		t.Errorf("the call that waits is checked as %v", got)
	}
	if got := check("true"); got["effect"] != "allow" || got["matched"].(map[string]any)["source"].(map[string]any)["line"] == nil {
		t.Errorf("what the policy allows is checked as %v", got)
	}

	// A grant for two more calls releases the one that waits, covers the next, and no third.
	saved := asks(h, http.StatusCreated, "POST", "/v1/permissions/requester/allow", map[string]any{"id": "two", "pattern": "bash(echo one)", "max_uses": 2})
	if saved["granted_by"] != "dev" {
		t.Errorf("saved: %v", saved)
	}
	h.Eventually("the model has two results", func() bool { return len(model.ToolResults()) == 2 })
	h.Answer(h.Waits(run.RunID, 1)[0].ID, map[string]any{"action": "reject"})
	h.Ended(run.RunID)
	told := model.ToolResults()
	if len(told) != 3 || told[0].Content != "one\n" || told[1].Content != "one\n" || told[2].ToolStatus != string(tool.StatusRejected) {
		t.Errorf("the model got %+v", told)
	}
	list := asks(h, http.StatusOK, "GET", "/v1/permissions/requester?state=all&agent=tester", nil)
	one := list["items"].([]any)[0].(map[string]any)
	if one["uses"] != 2.0 || one["in_force"] != false || len(list["policy"].([]any)) < 2 {
		t.Errorf("after its uses the grant is %v", one)
	}

	// What was called tells what a rule would have matched.
	seen := asks(h, http.StatusOK, "POST", "/v1/permissions/requester/preview", map[string]any{"pattern": "bash(echo:*)"})
	if len(seen["items"].([]any)) != 3 || seen["looked_at"] != 3.0 {
		t.Errorf("the preview shows %v", seen)
	}

	// A template is one step there and back.
	granted := asks(h, http.StatusCreated, "POST", "/v1/permissions/requester/templates/listing", map[string]any{})
	if got := check("ls -l && pwd"); got["effect"] != "allow" || len(got["grants"].([]any)) != 2 {
		t.Errorf("under the template: %v", got)
	}
	asks(h, http.StatusOK, "DELETE", "/v1/permissions/requester/"+granted["id"].(string), nil)
	if got := check("ls -l"); got["effect"] != "ask" {
		t.Errorf("after the template was revoked: %v", got)
	}

	// The earlier protocol speaks of the same rules.
	asks(h, http.StatusOK, "POST", "/permissions/requester/deny", map[string]any{"resource": "bash(whoami)"})
	if got := check("ls; whoami"); got["effect"] != "deny" {
		t.Errorf("a pattern denied by the earlier protocol: %v", got)
	}
	if got := asks(h, http.StatusOK, "GET", "/permissions/requester", nil); fmt.Sprint(got["deny"]) != "[bash(whoami)]" || fmt.Sprint(got["allow"]) != "[]" {
		t.Errorf("the earlier protocol shows %v", got)
	}
}

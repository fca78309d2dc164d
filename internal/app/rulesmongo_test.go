package app_test

import (
	"net/http"
	"testing"

	"holdpoint/internal/app/apptest"
	"holdpoint/internal/store/mongorules/mongotest"
	"holdpoint/tool"
)

func TestRulesInMongoDBDecideWhatRuns(t *testing.T) {
	t.Parallel()
	uri, name := mongotest.Database(t)
	model := apptest.Turns(apptest.Calls("bash", apptest.Bash("echo one")), apptest.Calls("bash", apptest.Bash("echo one")),
		apptest.Calls("bash", apptest.Bash("echo two")), apptest.Calls("bash", apptest.Bash("echo two")))
	h := apptest.Start(t, apptest.WithModel(model), withConfig("---\ntype: permission_store\nname: rules\nstore_type: mongodb\nmongo_uri: "+uri+
		"\nmongo_db_name: "+name+"\n"))
	asks(h, http.StatusCreated, "POST", "/v1/permissions/requester/allow", map[string]any{"id": "once", "pattern": "bash(echo one)", "max_uses": 1})
	asks(h, http.StatusCreated, "POST", "/v1/permissions/requester/allow", map[string]any{"id": "two", "pattern": "bash(echo two)"})
	run := h.Begin("go")
	asked := h.Waits(run.RunID, 1)[0] // the second call: the grant is used up
	if got := model.ToolResults(); len(got) != 1 || got[0].Content != "one\n" {
		t.Fatalf("before the question the model got %+v", got)
	}
	// A grant that an answer leaves behind is kept there too.
	h.Answer(asked.ID, map[string]any{"action": "approve", "grant": map[string]any{"scope": "user"}})
	h.Ended(run.RunID)
	told := model.ToolResults()
	if len(told) != 4 || told[1].Content != "one\n" || told[2].Content != "two\n" || told[3].ToolStatus != string(tool.StatusSuccess) {
		t.Errorf("the model got %+v", told)
	}
	list := asks(h, http.StatusOK, "GET", "/v1/permissions/requester", nil)
	if n := len(list["items"].([]any)); n != 2 { // the new grant took the place of the one that was used up
		t.Errorf("%d rules are in force: %v", n, list)
	}
	asks(h, http.StatusOK, "DELETE", "/v1/permissions/requester/two", nil)
	if got := asks(h, http.StatusOK, "POST", "/v1/permissions/check", map[string]any{"user_id": "requester", "agent": "tester", "tool": "bash",
		"args": map[string]any{"command": "echo two"}}); got["effect"] != "ask" {
		t.Errorf("after the revocation: %v", got)
	}
	stored, err := h.Store().Rules(t.Context(), "requester", "")
	if err != nil || len(stored) != 0 {
		t.Errorf("the SQL store has %d rules, %v", len(stored), err)
	}
}

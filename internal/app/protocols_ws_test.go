package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"holdpoint/internal/app/apptest"
	"holdpoint/llm"
)

func TestAWebSocketClientOfAnotherLanguage(t *testing.T) {
	t.Parallel()
	both := llm.Message{}
	for _, file := range []string{"one", "two"} {
		m := apptest.Calls("bash", apptest.Bash("touch "+file))
		m.ToolCalls[0].ProviderID = "call_" + file
		both.ToolCalls = append(both.ToolCalls, m.ToolCalls...)
	}
	h := apptest.Start(t, apptest.WithModel(apptest.Turns(both)))
	session := newSession()
	run := h.BeginIn(session, "go")
	h.Waits(run.RunID, 2)
	ctx, cancel := context.WithTimeout(t.Context(), apptest.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "--experimental-websocket", "testdata/socket.mjs",
		strings.Replace(h.URL(), "http", "ws", 1)+"/agent_backend/ws/"+session, `{"touch one":true,"touch two":false}`)
	var out, wrong bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &wrong
	if err := cmd.Run(); err != nil {
		t.Fatalf("node: %v\n%s\n%s", err, out.String(), wrong.String())
	}
	got := map[string]int{}
	for line := range strings.Lines(out.String()) {
		var m struct {
			Type string
			Data map[string]any
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		got[m.Type]++
		if d := m.Data; m.Type == "agent_tool_permission_request" && (d["session_id"] != session || d["tool_name"] != "bash" || d["risk_level"] == nil || d["message"] == "" || d["parameters"] == nil) {
			t.Errorf("a request is %v", d)
		}
		if d := m.Data; m.Type == "agent_run_result" && (d["status"] != "completed" || d["result"] != "done") {
			t.Errorf("the run's result is %v", d)
		}
		if d := m.Data; m.Type == "agent_status" && (d["status"] != "awaiting_human" || len(d["pending_tools"].([]any)) != 2) {
			t.Errorf("the status is %v", d)
		}
	}
	if got["agent_tool_permission_request"] != 4 || got["agent_tool_permission_rejected"] != 1 || got["agent_tool_execution_result"] != 2 || got["agent_run_result"] != 1 || got["error"] != 7 {
		t.Errorf("it got %v:\n%s", got, out.String())
	}
	if !ran(h, "one") || ran(h, "two") {
		t.Error("not what was approved ran")
	}
}

func TestAWebSocketRefusesStrangersAndFloods(t *testing.T) {
	t.Parallel()
	h := apptest.Start(t, apptest.WithModel(apptest.Turns()))
	url := strings.Replace(h.URL(), "http", "ws", 1) + "/agent_backend/ws/" + newSession()
	ctx, cancel := context.WithTimeout(t.Context(), apptest.Patience)
	defer cancel()
	if _, resp, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPHeader: map[string][]string{"Origin": {"https://elsewhere.example"}}}); err == nil || resp.StatusCode != 403 {
		t.Errorf("a page of another site: %v", err)
	}
	if _, resp, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPHeader: map[string][]string{"Authorization": {"Bearer of nothing"}}}); err == nil || resp.StatusCode != 401 {
		t.Errorf("a wrong token: %v", err)
	}
	c, _, err := websocket.Dial(ctx, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if err := c.Write(ctx, websocket.MessageText, bytes.Repeat([]byte("x"), 1<<20)); err != nil {
		t.Logf("cut off while it was sent: %v", err)
	}
	if _, _, err = c.Read(ctx); err == nil || time.Since(begun) > apptest.Patience/2 {
		t.Errorf("a megabyte was taken: %v", err)
	}
}

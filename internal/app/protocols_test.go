package app_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdpoint/interaction"
	"holdpoint/internal/app/apptest"
)

// plain sends a request as a client of an earlier protocol does: without a token.
func plain(h *apptest.Holdpoint, method, path, body string) (int, map[string]any) {
	h.T.Helper()
	resp := plainStream(h, method, path, body)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		h.T.Fatal(err)
	}
	h.Described(resp.Request, resp, raw)
	var out map[string]any
	if err := json.Unmarshal(raw, &out); err != nil {
		h.T.Fatalf("%s %s: %d %s", method, path, resp.StatusCode, raw)
	}
	return resp.StatusCode, out
}

func plainStream(h *apptest.Holdpoint, method, path, body string) *http.Response {
	h.T.Helper()
	req, err := http.NewRequestWithContext(h.T.Context(), method, h.URL()+path, strings.NewReader(body))
	if err != nil {
		h.T.Fatal(err)
	}
	if body == "" {
		req.Body = http.NoBody
	} else {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		h.T.Fatal(err)
	}
	return resp
}

// sse is one event as a browser's EventSource would hand it out.
type sse struct {
	name string
	data map[string]any
}

// readEvents hands a stream's events to each until that is false or the stream ends, and returns all of them.
func readEvents(h *apptest.Holdpoint, resp *http.Response, each func(e sse) bool) (out []sse) {
	h.T.Helper()
	defer resp.Body.Close()
	if got := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || got != "text/event-stream" {
		raw, _ := io.ReadAll(resp.Body)
		h.T.Fatalf("no stream: %d %s %s", resp.StatusCode, got, raw)
	}
	var e sse
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		line := lines.Text()
		if v, ok := strings.CutPrefix(line, "event: "); ok {
			e.name = v
		}
		if v, ok := strings.CutPrefix(line, "data: "); ok {
			if err := json.Unmarshal([]byte(v), &e.data); err != nil {
				h.T.Fatalf("%s: %v", v, err)
			}
		}
		if line == "" && e.name != "" {
			out = append(out, e)
			if each != nil && !each(e) {
				return out
			}
			e = sse{}
		}
	}
	return out
}

func sseNames(list []sse) string {
	var out []string
	for _, e := range list {
		out = append(out, e.name)
	}
	return strings.Join(out, " ")
}

func firstOf(list []sse, name string) map[string]any {
	for _, e := range list {
		if e.name == name {
			return e.data
		}
	}
	return nil
}

func ran(h *apptest.Holdpoint, file string) bool {
	_, err := os.Stat(filepath.Join(h.Dir, file))
	return err == nil
}

func TestToolConsentAsItsClientsGiveIt(t *testing.T) {
	t.Parallel()
	h := apptest.Start(t, apptest.WithModel(apptest.Turns(apptest.Calls("bash", apptest.Bash("touch one")),
		apptest.Calls("bash", apptest.Bash("touch one")), apptest.Calls("bash", apptest.Bash("touch two")))))
	run := h.Begin("go")
	q := h.Waits(run.RunID, 1)[0]
	for _, bad := range []string{`{}`, `null`, `[]`, `{"tool_call_id":"` + string(q.ToolCallID) + `"}`,
		`{"tool_call_id":"` + string(q.ToolCallID) + `","approved":"no"}`, `{"tool_call_id":"` + string(q.ToolCallID) + `","decision":"maybe"}`} {
		if code, out := plain(h, "POST", "/agio/tool-consent", bad); code < 400 || code >= 500 || out["success"] != false || out["message"] == "" {
			t.Errorf("%s: %d %v", bad, code, out)
		}
	}
	if code, _ := plain(h, "POST", "/agio/tool-consent", `{"tool_call_id":"nothing","decision":"allow"}`); code != http.StatusNotFound {
		t.Errorf("an unknown call: %d", code)
	}
	stillAsks(h, run, q.ID)

	// What the stream asks is what the client answers: by our id of the call, and to be kept.
	var asked map[string]any
	readEvents(h, plainStream(h, "GET", "/agio/runs/"+string(run.RunID)+"/events", ""), func(e sse) bool {
		asked = e.data
		return e.name != "tool_auth_required"
	})
	data := asked["data"].(map[string]any)
	for _, key := range []string{"tool_call_id", "tool_name", "args_preview", "suggested_patterns", "reason", "expires_at_hint"} {
		if _, there := data[key]; !there {
			t.Errorf("tool_auth_required lacks %s: %v", key, asked)
		}
	}
	if data["args_preview"] != "touch one" || asked["run_id"] != string(run.RunID) || asked["timestamp"] == nil || asked["type"] != "tool_auth_required" {
		t.Errorf("tool_auth_required is %v", asked)
	}
	code, out := plain(h, "POST", "/agio/tool-consent", fmt.Sprintf(`{"tool_call_id":%q,"decision":"allow","patterns":["bash(touch one)"],
		"expires_at":"2099-12-31T00:00:00Z","user_id":"requester"}`, data["tool_call_id"]))
	if code != http.StatusOK || out["success"] != true || out["tool_call_id"] != data["tool_call_id"] || !strings.Contains(fmt.Sprint(out["message"]), "saved") {
		t.Fatalf("consent: %d %v", code, out)
	}

	// The second call is covered; the third is named by its provider's id, and denied.
	next := following(h, run, q.ID)
	if next.ToolArgs == nil || !strings.Contains(string(next.ToolArgs), "two") {
		t.Fatalf("the next question is %+v", next)
	}
	provider := ""
	for _, s := range steps(h, run.RunID) {
		for _, c := range s.Message.ToolCalls {
			if c.ID == next.ToolCallID {
				provider = c.ProviderID
			}
		}
	}
	if code, out = plain(h, "POST", "/agio/tool-consent", fmt.Sprintf(`{"tool_call_id":%q,"decision":"deny"}`, provider)); code != http.StatusOK || out["success"] != true {
		t.Fatalf("by the provider's id %q: %d %v", provider, code, out)
	}
	h.Ended(run.RunID)
	all := readEvents(h, plainStream(h, "GET", "/agio/runs/"+string(run.RunID)+"/events", ""), nil)
	denied := firstOf(all, "tool_auth_denied")
	if denied == nil || denied["data"].(map[string]any)["reason"] != "User denied" || denied["data"].(map[string]any)["tool_name"] != "bash" {
		t.Errorf("tool_auth_denied is %v in %s", denied, sseNames(all))
	}
	if !ran(h, "one") || ran(h, "two") {
		t.Error("what was allowed did not run, or what was denied did")
	}
	if got := recordOf(h, q.ID); got.Responses[0].Reviewer.ID != "requester" || got.Responses[0].Grant == nil {
		t.Errorf("the record says %+v", got.Responses)
	}
	if code, out = plain(h, "POST", "/agio/tool-consent", fmt.Sprintf(`{"tool_call_id":%q,"decision":"allow"}`, q.ID)); code != http.StatusConflict {
		t.Errorf("a decided call: %d %v", code, out)
	}
}

func TestInteractionsAsTheirClientsAnswerThem(t *testing.T) {
	t.Parallel()
	h := apptest.Start(t, apptest.WithModel(apptest.Turns(apptest.Calls("bash", apptest.Bash("touch one")),
		apptest.Calls("ask_human", `{"question":"Which?"}`))))
	run := h.Begin("go")
	q := h.Waits(run.RunID, 1)[0]
	at := "/interactions/" + string(q.ID)
	code, shown := plain(h, "GET", at, "")
	req, _ := shown["interaction_request"].(map[string]any)
	if code != http.StatusOK || shown["run_id"] != string(run.RunID) || req["id"] != string(q.ID) || req["type"] != "confirm" ||
		req["tool_args"].(map[string]any)["command"] != "touch one" || req["metadata"].(map[string]any)["resource"] != "bash(touch one)" {
		t.Fatalf("it is shown as %d %v", code, shown)
	}
	id := string(q.ID)
	for body, want := range map[string]int{
		`{}`: 400, `null`: 422, `{"request_id":"other","type":"confirm","confirmed":true}`: 400, `{"request_id":"` + id + `","type":"confirm"}`: 422,
		`{"request_id":"` + id + `","type":"confirm","confirmed":"yes"}`: 422, `{"request_id":"` + id + `","type":"input","text":"yes"}`: 422,
		`{"request_id":"` + id + `","type":"confirm","confirmed":true,"text":"no!"}`: 422,
	} {
		if code, out := plain(h, "POST", at+"/respond", body); code != want || out["detail"] == "" {
			t.Errorf("%s: %d %v, want %d", body, code, out, want)
		}
	}
	for _, missing := range []string{"/interactions/none", "/interactions/none-1"} {
		if code, _ := plain(h, "GET", missing, ""); code != 404 {
			t.Errorf("GET %s: %d", missing, code)
		}
		if code, _ := plain(h, "POST", missing+"/respond", `{"request_id":"none","type":"confirm","confirmed":true}`); code != 404 {
			t.Errorf("POST %s: %d", missing, code)
		}
	}
	stillAsks(h, run, q.ID)

	// The stream is the resumed run's, and ends where that waits again.
	got := readEvents(h, plainStream(h, "POST", at+"/respond", `{"request_id":"`+id+`","type":"confirm","confirmed":true,"responded_at":"2026-01-01T00:00:00Z","user_id":null}`), nil)
	if text := sseNames(got); !strings.Contains(text, "execution_resumed") || !strings.HasSuffix(text, "interaction_request execution_suspended") {
		t.Fatalf("the stream is %s", text)
	}
	if e := firstOf(got, "execution_resumed"); e["data"].(map[string]any)["interaction_request_id"] != id {
		t.Errorf("execution_resumed is %v", e)
	}
	if code, out := plain(h, "GET", "/permissions/requester", ""); code != 200 || fmt.Sprint(out["allow"]) != "[bash(touch one)]" {
		t.Errorf("what was confirmed is kept as %v", out)
	}
	next := firstOf(got, "interaction_request")["data"].(map[string]any)["interaction_request"].(map[string]any)
	if next["type"] != "input" || next["title"] != "Which?" {
		t.Fatalf("the question is %v", next)
	}
	got = readEvents(h, plainStream(h, "POST", fmt.Sprintf("/interactions/%s/respond", next["id"]), fmt.Sprintf(`{"request_id":%q,"type":"input","text":"b"}`, next["id"])), nil)
	if end := firstOf(got, "run_completed"); end == nil || end["data"].(map[string]any)["response"] != "done" {
		t.Errorf("the stream ends so: %s", sseNames(got))
	}
	if code, _ := plain(h, "POST", at+"/respond", `{"request_id":"`+id+`","type":"confirm","confirmed":false}`); code != http.StatusConflict {
		t.Errorf("answered twice: %d", code)
	}
	if !ran(h, "one") {
		t.Error("what was confirmed did not run")
	}
}

func TestApprovalsAndControlAsTheirClientsSendThem(t *testing.T) {
	t.Parallel()
	h := apptest.Start(t, apptest.WithModel(apptest.Turns(apptest.Calls("bash", apptest.Bash("touch one")), apptest.Calls("bash", apptest.Bash("touch two")))))
	run := h.Begin("go")
	q := h.Waits(run.RunID, 1)[0]
	_, list := plain(h, "GET", "/hitl/approvals?runId="+string(run.RunID), "")
	first := list["approvals"].([]any)[0].(map[string]any)
	call := fmt.Sprint(first["toolCallId"])
	if first["toolName"] != "bash" || first["riskLevel"] == nil || first["sessionId"] != string(run.SessionID) {
		t.Fatalf("the request is %v", first)
	}
	decide := func(want int, body string) {
		t.Helper()
		if code, out := plain(h, "POST", "/hitl/decisions", body); code != want {
			t.Errorf("%s: %d %v, want %d", body, code, out, want)
		}
	}
	decide(422, `{}`)
	decide(422, `{"toolCallId":"`+call+`","action":"yes"}`)
	decide(422, `{"toolCallId":"`+call+`","action":"approve","modifiedArgs":{"command":"true"}}`)
	decide(422, `{"toolCallId":"`+call+`","action":"modify_args"}`)
	decide(404, `{"toolCallId":"none","action":"approve"}`)
	stillAsks(h, run, q.ID)
	decide(200, `{"toolCallId":"`+call+`","action":"pause","note":"wait"}`)
	decide(200, `{"toolCallId":"`+call+`","action":"resume"}`)
	decide(200, `{"toolCallId":"`+call+`","action":"modify_args","modifiedArgs":{"command":"touch other"},"note":"not that one","reviewerId":"ada"}`)
	following(h, run, q.ID)
	if code, out := plain(h, "POST", "/hitl/control", `{"runId":"`+string(run.RunID)+`","action":"abort_run","payload":{"note":"enough"}}`); code != 200 {
		t.Errorf("control: %d %v", code, out)
	}
	if code, _ := plain(h, "POST", "/hitl/control", `{"runId":"`+string(run.RunID)+`","action":"stop"}`); code != 422 {
		t.Errorf("an unknown signal: %d", code)
	}
	h.Ended(run.RunID)
	if !ran(h, "other") || ran(h, "one") || ran(h, "two") {
		t.Error("not what was decided ran")
	}
	_, rec := plain(h, "GET", "/hitl/runs/"+string(run.RunID)+"/record", "")
	var order []string
	last := 0.0
	for _, e := range rec["entries"].([]any) {
		entry := e.(map[string]any)
		order = append(order, fmt.Sprint(entry["type"]))
		if n := entry["number"].(float64); n <= last {
			t.Errorf("entry %v follows %v", n, last)
		} else {
			last = n
		}
		if d := entry["data"].(map[string]any); entry["type"] == "approval_decision" && d["action"] == "modify_args" && (d["reviewerId"] != "ada" ||
			d["argumentsBefore"].(map[string]any)["command"] != "touch one" || d["argumentsAfter"].(map[string]any)["command"] != "touch other") {
			t.Errorf("the decision is %v", d)
		}
	}
	if got := strings.Join(order, " "); got != "approval_required tool_paused tool_resumed approval_decision approval_required approval_decision run_aborted_by_human" &&
		got != "approval_required tool_paused tool_resumed approval_decision approval_required run_aborted_by_human" {
		t.Errorf("the record is %s", got)
	}
}

func TestReactChatAsItsClientsHoldIt(t *testing.T) {
	t.Parallel()
	h := apptest.Start(t, apptest.WithModel(apptest.Turns(apptest.Calls("bash", apptest.Bash("touch one")), apptest.Calls("bash", apptest.Bash("touch two")))))
	session := newSession()
	resp := plainStream(h, "POST", "/api/agent/chat/react/stream", `{"message":"go","sessionId":"`+session+`","userId":"user-456"}`)
	const answerAt = "/api/agent/chat/react/interaction_response"
	asked := 0
	got := readEvents(h, resp, func(e sse) bool {
		if e.name != "INTERACTION" {
			return true
		}
		asked++
		q := e.data["data"].(map[string]any)
		id := fmt.Sprint(q["requestId"])
		var options []string
		for _, o := range q["options"].([]any) {
			options = append(options, fmt.Sprint(o.(map[string]any)["action"]))
		}
		if q["type"] != "TOOL_APPROVAL" || q["sessionId"] != session || strings.Join(options, " ") != "APPROVE_AND_EXECUTE RETRY_WITH_FEEDBACK REJECT_WITH_REASON TERMINATE" {
			t.Errorf("the question is %v", q)
		}
		for _, key := range []string{"title", "message", "details", "context", "required", "timeoutSeconds", "defaultOptionId"} {
			if _, there := q[key]; !there {
				t.Errorf("the question lacks %s", key)
			}
		}
		if asked == 2 {
			if code, out := plain(h, "POST", answerAt, `{"sessionId":"`+session+`","requestId":"`+id+`","selectedOptionId":"terminate","feedback":null,"data":{}}`); code != 200 {
				t.Errorf("terminate: %d %v", code, out)
			}
			return true
		}
		for body, want := range map[string]int{`{}`: 422, `null`: 422, `{"sessionId":"` + session + `","requestId":"` + id + `","selectedOptionId":"sure"}`: 422,
			`{"sessionId":"` + session + `","requestId":"` + id + `","approved":"no"}`:                                               422,
			`{"sessionId":"other","requestId":"` + id + `","selectedOptionId":"approve"}`:                                            404,
			`{"sessionId":"` + session + `","requestId":"none","selectedOptionId":"approve"}`:                                        404,
			`{"sessionId":"` + session + `","requestId":"` + id + `","selectedOptionId":"approve","data":{"args":{"command":"ls"}}}`: 422,
		} {
			if code, out := plain(h, "POST", answerAt, body); code != want || out["success"] != false {
				t.Errorf("%s: %d %v, want %d", body, code, out, want)
			}
		}
		// Words approve nothing: they are told to the run, and what it asks is shown again.
		words := plainStream(h, "POST", "/api/agent/chat/react/stream", `{"message":"sure, but first tell me the price","sessionId":"`+session+`","userId":"user-456"}`)
		readEvents(h, words, func(e sse) bool { return e.name != "INTERACTION" })
		if i := recordOf(h, interaction.ID(id)); i.Status != interaction.StatusPending || ran(h, "one") {
			t.Errorf("after words it is %s", i.Status)
		}
		code, out := plain(h, "POST", answerAt, `{"sessionId":"`+session+`","requestId":"`+id+`","selectedOptionId":"approve","feedback":"","data":{"key":"value"}}`)
		if code != 200 || out["success"] != true || out["sessionId"] != session || out["timestamp"] == "" || out["message"] == "" {
			t.Errorf("approve: %d %v", code, out)
		}
		return true
	})
	if text := sseNames(got); asked != 2 || !strings.HasSuffix(text, "TERMINATED") || !strings.Contains(text, "OBSERVATION") {
		t.Errorf("the stream is %s", text)
	}
	if !ran(h, "one") || ran(h, "two") {
		t.Error("not what was approved ran")
	}
}

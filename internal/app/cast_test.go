package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"holdpoint/api"
	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
	"holdpoint/llm"
	"holdpoint/tool"
)

// cast is a model that plays a part in each run: the run's input names it. So one Holdpoint serves many runs.
type cast struct {
	mu    sync.Mutex
	parts map[string][]llm.Message
	asked map[string][]llm.Request
	wrong []error
}

// plays says what the model answers in a run that begins with this input: these messages in turn, then "done".
func (c *cast) plays(input string, turns ...llm.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.parts == nil {
		c.parts = map[string][]llm.Message{}
	}
	c.parts[input] = turns
}

// Generate implements llm.Model. It refuses a transcript that a provider would refuse.
func (c *cast) Generate(_ context.Context, req llm.Request) (llm.Reply, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := llm.CheckPairing(req.Messages); err != nil {
		c.wrong = append(c.wrong, err)
		return llm.Reply{}, &llm.Error{Kind: llm.ErrBadRequest, Message: err.Error()}
	}
	input, n := "", 0
	for _, m := range req.Messages {
		switch _, known := c.parts[m.Content]; {
		case m.Role == llm.RoleUser && known:
			input, n = m.Content, 0
		case m.Role == llm.RoleAssistant:
			n++
		}
	}
	if c.asked == nil {
		c.asked = map[string][]llm.Request{}
	}
	c.asked[input] = append(c.asked[input], req)
	if turns := c.parts[input]; n < len(turns) {
		return llm.Reply{Message: turns[n]}, nil
	}
	return llm.Reply{Message: llm.Message{Content: "done"}}, nil
}

// requests are what the model was asked in the run of an input.
func (c *cast) requests(input string) []llm.Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]llm.Request(nil), c.asked[input]...)
}

// effectCall is one call of the effect tool.
func effectCall(n int) llm.Message { return apptest.Calls("effect", fmt.Sprintf(`{"n":%d}`, n)) }

// executions notes every execution of a tool, as it happened.
type executions struct {
	mu    sync.Mutex
	calls []tool.Call
}

func (e *executions) log(c tool.Call) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls = append(e.calls, c)
}

// of are the executions of one run.
func (e *executions) of(run interaction.RunID) (out []tool.Call) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.calls {
		if c.RunID == run {
			out = append(out, c)
		}
	}
	return out
}

// newSession is a conversation that no other test has: they share Temporal's namespace.
func newSession() string { return uuid.NewString() }

// withConfig appends to the configuration: more of the agent "tester", or, after "---", more components.
func withConfig(text string) apptest.Setup {
	return func(o *app.Options) { appendTo(o.Config, text) }
}

// as lets a subtest, or a case of a test, use a Holdpoint that others use as well.
func as(t testing.TB, h *apptest.Holdpoint) *apptest.Holdpoint {
	mine := *h
	mine.T = t
	return &mine
}

// refusedWith answers by the bridge and expects a refusal of that status.
func refusedWith(h *apptest.Holdpoint, id interaction.ID, body any, status int) (p api.Problem) {
	h.T.Helper()
	code, out := h.Respond(id, body)
	if code != status {
		h.T.Fatalf("%v was answered %d, want %d: %s", body, code, status, out)
	}
	return problemOf(h, out)
}

func problemOf(h *apptest.Holdpoint, body []byte) (p api.Problem) {
	h.T.Helper()
	if err := json.Unmarshal(body, &p); err != nil || p.Detail == "" || p.Code == "" {
		h.T.Fatalf("a refusal that does not say why: %s (%v)", body, err)
	}
	return p
}

// record reads an interaction as the bridge shows it.
func recordOf(h *apptest.Holdpoint, id interaction.ID) (i api.Interaction) {
	h.T.Helper()
	h.Get("/v1/interactions/"+string(id), &i)
	return i
}

// following waits until a run waits for exactly one interaction, another than these.
func following(h *apptest.Holdpoint, run apptest.RunView, before ...interaction.ID) (next interaction.Request) {
	h.T.Helper()
	h.Eventually("the next interaction of run "+string(run.RunID), func() bool {
		list := h.Pending(run.RunID)
		for _, id := range before {
			if len(list) == 1 && list[0].ID == id {
				return false
			}
		}
		return len(list) == 1
	})
	return h.Waits(run.RunID, 1)[0]
}

// stillAsks checks that nothing moved: an interaction is pending in the record and in the workflow.
func stillAsks(h *apptest.Holdpoint, run apptest.RunView, id interaction.ID) {
	h.T.Helper()
	if got := recordOf(h, id); got.Status != interaction.StatusPending || len(got.Responses) != 0 {
		h.T.Errorf("interaction %s is %s with responses %+v; want pending with none", id, got.Status, got.Responses)
	}
	s, err := h.State(run.Workflow)
	if err != nil {
		h.T.Fatal(err)
	}
	for _, p := range s.Pending {
		if p.ID == id && p.Approvals == 0 {
			return
		}
	}
	h.T.Errorf("the workflow does not wait for %s as before: %+v", id, s.Pending)
}

// stored reads a run's events, also of one that goes on.
func stored(h *apptest.Holdpoint, run interaction.RunID) []event.Event {
	h.T.Helper()
	events, err := h.Store().Events(context.Background(), run, 0, 1000)
	if err != nil {
		h.T.Fatal(err)
	}
	return events
}

// eventsOf decodes a run's stored events of one type.
func eventsOf[T any](h *apptest.Holdpoint, run interaction.RunID, typ event.Type) (out []T) {
	h.T.Helper()
	for _, e := range stored(h, run) {
		if e.Type != typ {
			continue
		}
		var v T
		if err := json.Unmarshal(e.Payload, &v); err != nil {
			h.T.Fatal(err)
		}
		out = append(out, v)
	}
	return out
}

// refusals waits until a run's record has n messages that could not be applied.
func refusals(h *apptest.Holdpoint, run interaction.RunID, n int) (out []event.ErrorData) {
	h.T.Helper()
	h.Eventually(fmt.Sprintf("%d refused messages in the record of run %s", n, run), func() bool {
		out = eventsOf[event.ErrorData](h, run, event.Error)
		return len(out) >= n
	})
	return out
}

// steps reads a run's transcript.
func steps(h *apptest.Holdpoint, run interaction.RunID) (out []llm.Step) {
	h.T.Helper()
	for token := "first"; token != ""; {
		var page struct {
			Items         []llm.Step `json:"items"`
			NextPageToken string     `json:"next_page_token"`
		}
		path := "/v1/runs/" + string(run) + "/steps?page_size=200"
		if token != "first" {
			path += "&page_token=" + url.QueryEscape(token)
		}
		h.Get(path, &page)
		out, token = append(out, page.Items...), page.NextPageToken
	}
	return out
}

// resultOf is a call's result in the transcript; nil as long as there is none.
func resultOf(h *apptest.Holdpoint, run interaction.RunID, call interaction.CallID) *llm.Message {
	h.T.Helper()
	for _, s := range steps(h, run) {
		if s.CallID == call {
			return &s.Message
		}
	}
	return nil
}

// controlRun sends a control message by the bridge.
func controlRun(h *apptest.Holdpoint, run interaction.RunID, note string) {
	h.T.Helper()
	code, out := h.HTTP("POST", "/v1/runs/"+string(run)+"/control", map[string]string{"action": "abort_run", "note": note})
	if code != http.StatusOK && code != http.StatusAccepted {
		h.T.Fatalf("control: %d %s", code, out)
	}
}

// completes waits for a run to complete.
func completes(h *apptest.Holdpoint, run interaction.RunID) {
	h.T.Helper()
	if end := h.Ended(run); end.Status != "completed" {
		h.T.Fatalf("run %s ended %s: %s %s", run, end.Status, end.ErrorCode, end.Error)
	}
}

// contains reports whether a message has all these words.
func contains(m llm.Message, words ...string) bool {
	for _, w := range words {
		if !strings.Contains(m.Content, w) {
			return false
		}
	}
	return true
}

// atOnce runs n cases side by side, at most width of them at a time. A Fatal in one ends that one; the test has
// failed all the same.
func atOnce(n, width int, one func(i int)) {
	var wg sync.WaitGroup
	places := make(chan struct{}, width)
	for i := range n {
		wg.Add(1)
		places <- struct{}{}
		go func() {
			defer func() { <-places; wg.Done() }()
			one(i)
		}()
	}
	wg.Wait()
}

func appendTo(path, text string) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		panic(err)
	}
}

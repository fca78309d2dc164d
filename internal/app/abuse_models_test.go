package app_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"go.temporal.io/sdk/client"

	"holdpoint/agent"
	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
	"holdpoint/llm"
	"holdpoint/tool"
	"holdpoint/workflows"
)

// moody is a model whose first calls fail, one with each error.
type moody struct {
	mu     sync.Mutex
	errors []error
	calls  int
}

// Generate implements llm.Model.
func (m *moody) Generate(context.Context, llm.Request) (llm.Reply, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	if m.calls <= len(m.errors) {
		return llm.Reply{}, m.errors[m.calls-1]
	}
	return llm.Reply{Message: llm.Message{Content: "done"}}, nil
}

func (m *moody) asked() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls
}

func TestAProvidersErrors(t *testing.T) {
	t.Parallel()
	for kind, lasting := range map[llm.ErrorKind]bool{llm.ErrAuth: true, llm.ErrBadRequest: true, llm.ErrUnavailable: false, llm.ErrMalformed: false} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			model := &moody{errors: []error{&llm.Error{Kind: kind, Message: "said the provider"}}}
			h := apptest.Start(t, apptest.WithModel(model))
			run := h.Begin("go")
			end := h.Ended(run.RunID)
			if !lasting {
				if end.Status != "completed" || end.Output != "done" || model.asked() != 2 {
					t.Errorf("asked %d times, the run ended as %+v", model.asked(), end)
				}
				return
			}
			failed := eventsOf[event.RunFailedData](h, run.RunID, event.RunFailed)
			if end.Status != "failed" || end.ErrorCode != string(kind) || model.asked() != 1 || len(failed) != 1 ||
				failed[0].Code != string(kind) || !strings.Contains(failed[0].Message, "said the provider") {
				t.Errorf("asked %d times, the run ended as %+v, recorded as %+v", model.asked(), end, failed)
			}
		})
	}
}

func TestARunThatComesToNoAnswerEnds(t *testing.T) {
	t.Parallel()
	c := &counter{}
	model := &apptest.Model{Turn: func(n int, _ llm.Request) llm.Message { return effectCall(n) }}
	h := startEffect(t, model, c, apptest.WithRules(`{match: "effect", decision: allow}`), apptest.WithMaxSteps(3))
	run := h.Begin("go")
	end := h.Ended(run.RunID)
	if end.Status != "failed" || end.ErrorCode != "max_steps" || c.count() != 3 || len(model.Requests()) != 3 {
		t.Errorf("%d executions, %d model calls, the run ended as %+v", c.count(), len(model.Requests()), end)
	}
}

// TestAnUnknownAgentStartedNatively starts past the bridge, which would have refused it.
func TestAnUnknownAgentStartedNatively(t *testing.T) {
	t.Parallel()
	h := apptest.Start(t, apptest.WithModel(effectOnce(1)))
	in := workflows.RunInput{RunID: interaction.RunID(uuid.NewString()), SessionID: interaction.SessionID(uuid.NewString()), Agent: "nobody", Input: "go", UserID: "requester"}
	started, err := h.Client.ExecuteWorkflow(context.Background(), client.StartWorkflowOptions{ID: workflows.SessionWorkflowID(in.SessionID),
		TaskQueue: h.Options.TaskQueue}, workflows.AgentRunName, in)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), apptest.Patience)
	defer cancel()
	var res workflows.RunResult
	if err := started.Get(ctx, &res); err != nil {
		t.Fatal(err)
	}
	if res.Status != agent.RunFailed || res.ErrorCode != "unknown_agent" || !strings.Contains(res.Error, "nobody") {
		t.Errorf("the workflow returned %+v", res)
	}
	failed := eventsOf[event.RunFailedData](h, in.RunID, event.RunFailed)
	if end := h.Show(in.RunID); end.Status != "failed" || end.ErrorCode != "unknown_agent" || len(failed) != 1 {
		t.Errorf("the record shows %+v and %+v", end, failed)
	}
	code, out := h.HTTP("POST", "/v1/runs", map[string]string{"agent": "nobody", "input": "go"})
	if p := problemOf(h, out); code != http.StatusUnprocessableEntity || len(p.Agents) == 0 {
		t.Errorf("the bridge answered %d %s", code, out)
	}
}

func TestCallsThatCannotBeMadeAreToldToTheModel(t *testing.T) {
	t.Parallel()
	bad := []struct{ name, args, told string }{
		{"rm_everything", `{}`, "There is no tool named"},
		{"effect", `{"n":`, "not valid JSON"},
		{"effect", `[]`, "not accepted"},
		{"effect", `{"n":"six"}`, "args.n"},
		{"effect", `{"n":1,"n":2}`, "args.n"},
		{"bash", `{}`, "command"},
		{"bash", `{"command":"true","Command":"rm -rf x"}`, "Command"},
		{"bash", `{"command":["true"]}`, "args.command"},
	}
	var pairs []string
	for _, b := range bad {
		pairs = append(pairs, b.name, b.args)
	}
	c := &counter{}
	model := apptest.Turns(apptest.Calls(pairs...))
	h := startEffect(t, model, c)
	run := h.Begin("go")
	completes(h, run.RunID)
	results := model.ToolResults()
	if len(results) != len(bad) || c.count() != 0 {
		t.Fatalf("%d results and %d executions", len(results), c.count())
	}
	for i, b := range bad {
		if results[i].ToolStatus != string(tool.StatusError) || !contains(results[i], b.told) {
			t.Errorf("%s %s: the model got %s: %s", b.name, b.args, results[i].ToolStatus, results[i].Content)
		}
	}
}

func TestSeventyCallsInOneTurn(t *testing.T) {
	t.Parallel()
	const many, most = 70, 64
	c := &counter{}
	model := apptest.Turns(parallel(many)...)
	h := startEffect(t, model, c, apptest.WithRules(`{match: "effect", decision: allow}`))
	run := h.Begin("go")
	completes(h, run.RunID)
	results := model.ToolResults()
	if len(results) != many || c.count() != most {
		t.Fatalf("%d results and %d executions", len(results), c.count())
	}
	for i, res := range results {
		want, words := tool.StatusSuccess, fmt.Sprintf(`did {"n":%d}`, i)
		if i >= most {
			want, words = tool.StatusError, "at most 64"
		}
		if res.ToolStatus != string(want) || !contains(res, words) {
			t.Errorf("call %d: the model got %s: %s", i, res.ToolStatus, res.Content)
		}
	}
}

func TestAnAgentWithoutPeopleAsksNobody(t *testing.T) {
	t.Parallel()
	c := &counter{}
	model := apptest.Turns(apptest.Calls("effect", `{"n":1}`, "effect", `{"n":2}`, "ask_human", `{"question":"Which?"}`))
	h := startEffect(t, model, c, apptest.WithRules(`{match: "effect(n:2)", decision: allow}`), withConfig("enable_hitl: false\n"))
	run := h.Begin("go")
	completes(h, run.RunID)
	results := model.ToolResults()
	if len(results) != 3 || !unreached(results[0]) || results[1].ToolStatus != string(tool.StatusSuccess) || !unreached(results[2]) || c.count() != 1 {
		t.Errorf("%d executions, and the model got %+v", c.count(), results)
	}
	if asked := eventsOf[interaction.Request](h, run.RunID, event.InteractionRequest); len(asked) != 0 {
		t.Errorf("someone was asked: %+v", asked)
	}
}

// unreached reports whether a result says that nobody was asked, which is not that somebody said no.
func unreached(result llm.Message) bool {
	return result.ToolStatus == string(tool.StatusUnreachable) && contains(result, "runs without people", "nobody was asked")
}

// TestAnAgentWithoutPeopleIsToldOfAnUnknownOutcome resets the workflow while its tool runs. Nobody is asked, and nothing is tried
// again.
func TestAnAgentWithoutPeopleIsToldOfAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	c := &counter{}
	body := newStubborn(c)
	model := effectOnce(1)
	h := apptest.Start(t, apptest.WithModel(model), apptest.WithRules(`{match: effect, decision: allow}`), withConfig("enable_hitl: false\n"),
		func(o *app.Options) { o.Tools = append(o.Tools, body) })
	run := h.Begin("go")
	<-body.running
	h.Reset(run.Workflow)
	completes(h, run.RunID)
	if got := model.ToolResults(); len(got) != 1 || got[0].ToolStatus != string(tool.StatusUnknown) || !contains(got[0], "not run again") {
		t.Errorf("the model got %+v", got)
	}
	<-body.stopped
	close(body.release)
	if asked := eventsOf[interaction.Request](h, run.RunID, event.InteractionRequest); len(asked) != 0 {
		t.Errorf("someone was asked: %+v", asked)
	}
}

package app_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
	"holdpoint/internal/store/compress/compresstest"
	"holdpoint/llm"
	"holdpoint/tool"
)

// gatedResult lets the effect tool run, and asks before its output goes on.
var gatedResult = []string{`{match: effect, decision: allow}`, `{match: "effect(n:*)", decision: ask, stage: result}`}

// confidential is what the teller says, once per call.
const confidential = "C0NF1DENT1AL"

// teller is a tool whose output must not get about.
type teller struct {
	counter *counter
	def     tool.Definition
}

func newTeller() teller {
	return teller{&counter{}, tool.Definition{Name: "teller", Description: "tells", Resource: tool.ResourceArgs, Consent: tool.ConsentNever,
		Cacheable: true, Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"number"}}}`)}}
}

func (l teller) Definition() tool.Definition { return l.def }

func (l teller) Run(_ context.Context, c tool.Call) (tool.Outcome, error) {
	l.counter.log(c)
	return tool.Text("it is " + confidential), nil
}

// leaks names where a text stands that should be nowhere: in the database's tables, in Temporal's history, in what the bridge
// tells of a run.
func leaks(h *apptest.Holdpoint, run apptest.RunView, texts ...string) (where []string) {
	h.T.Helper()
	found := func(place, in string) {
		if slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(in, t) }) {
			where = append(where, place)
		}
	}
	for table, rows := range tables(h) {
		found("table "+table, rows)
	}
	for _, e := range h.History(run.Workflow, "") {
		found("history", e.String())
	}
	for _, path := range []string{"/v1/runs/" + string(run.RunID), "/v1/runs/" + string(run.RunID) + "/steps", "/v1/runs/" + string(run.RunID) + "/events?follow=false"} {
		_, body := h.HTTP("GET", path, nil)
		found(path, string(body))
	}
	slices.Sort(where)
	return slices.Compact(where)
}

// tables reads the whole database.
func tables(h *apptest.Holdpoint) map[string]string {
	h.T.Helper()
	return tablesIn(h, filepath.Join(h.Options.Data, "private", "holdpoint.db"))
}

func tablesIn(h *apptest.Holdpoint, file string) map[string]string {
	h.T.Helper()
	db, err := sql.Open("sqlite", "file:"+file+"?mode=ro")
	if err != nil {
		h.T.Fatal(err)
	}
	defer db.Close()
	out := map[string]string{}
	for _, table := range column(h, db, "SELECT name FROM sqlite_master WHERE type = 'table'") {
		out[table] = strings.Join(column(h, db, "SELECT * FROM "+table), "\n")
	}
	return out
}

// column reads rows, each as one text.
func column(h *apptest.Holdpoint, db *sql.DB, query string) (out []string) {
	h.T.Helper()
	rows, err := db.Query(query)
	if err != nil {
		h.T.Fatal(err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		h.T.Fatal(err)
	}
	for rows.Next() {
		cells, to := make([]sql.NullString, len(names)), make([]any, len(names))
		for n := range cells {
			to[n] = &cells[n]
		}
		if err := rows.Scan(to...); err != nil {
			h.T.Fatal(err)
		}
		var line []string
		for _, c := range cells {
			line = append(line, compresstest.Expand(h.T, c.String))
		}
		out = append(out, strings.Join(line, " "))
	}
	if err := rows.Err(); err != nil {
		h.T.Fatal(err)
	}
	return out
}

func TestAnOutputWaitsInTheLedgerUntilItIsReleased(t *testing.T) {
	t.Parallel()
	l := newTeller()
	cases := []struct {
		action  string
		text    string
		status  tool.Status
		content string
		where   []string // the output is, in the end
	}{
		{"approve", "", tool.StatusSuccess, "it is " + confidential, nil},
		{"redact", "it is a number", tool.StatusSuccess, "A reviewer (dev) replaced the output of this call. What follows is theirs:\n\nit is a number", []string{"table interactions"}},
		{"withhold", "", tool.StatusWithheld, "The call was made. A reviewer (dev) withheld its output. Go on without it.", []string{"table interactions"}},
	}
	for _, tt := range cases {
		t.Run(tt.action, func(t *testing.T) {
			t.Parallel()
			l := teller{&counter{}, l.def}
			h := apptest.Start(t, func(o *app.Options) { o.Tools = []tool.Tool{l} }, apptest.WithModel(apptest.Turns(apptest.Calls("teller", `{"n":1}`))),
				apptest.WithRules(`{match: teller, decision: ask, stage: result}`))
			run := h.Begin("go")
			asked := h.Waits(run.RunID, 1)[0]
			if asked.Kind != interaction.KindResult || asked.Details != "it is "+confidential || string(asked.ToolArgs) != `{"n":1}` || l.counter.count() != 1 {
				t.Fatalf("after %d executions it asks %+v", l.counter.count(), asked)
			}
			if got := leaks(h, run, confidential); !slices.Equal(got, []string{"table executions", "table interactions"}) {
				t.Errorf("before it is released it stands in %v", got)
			}
			body := map[string]any{"action": tt.action, "digest": asked.Digest}
			if tt.text != "" {
				body["text"] = tt.text
			}
			h.Answer(asked.ID, body)
			completes(h, run.RunID)
			if got := lastResult(t, h.Events(run.RunID)); got.Status != tt.status || got.Content != tt.content || l.counter.count() != 1 {
				t.Errorf("the model got %+v after %d executions", got, l.counter.count())
			}
			if got := leaks(h, run, confidential); tt.where != nil && !slices.Equal(got, tt.where) {
				t.Errorf("in the end it stands in %v, want %v", got, tt.where)
			}
			answered := eventsOf[event.InteractionResponseData](h, run.RunID, event.InteractionResponse)
			if len(answered) != 1 || string(answered[0].Action) != tt.action || len(answered[0].Responses) != 1 || answered[0].Responses[0].Text != "" {
				t.Errorf("the record has the answers %+v", answered)
			}
		})
	}
}

func TestAReleasedOutputIsGatedAgainForTheNextCall(t *testing.T) {
	t.Parallel()
	l := newTeller()
	h := apptest.Start(t, func(o *app.Options) { o.Tools = []tool.Tool{l} },
		apptest.WithModel(apptest.Turns(apptest.Calls("teller", `{}`), apptest.Calls("teller", `{}`), apptest.Calls("teller", `{}`))),
		apptest.WithRules(`{match: teller, decision: ask, stage: result}`))
	run := h.Begin("go")
	first := h.Waits(run.RunID, 1)[0]
	h.Answer(first.ID, map[string]any{"action": "withhold"})
	second := following(h, run, first.ID)
	if l.counter.count() != 2 {
		t.Errorf("what was withheld was kept for the next call: %d executions", l.counter.count())
	}
	h.Answer(second.ID, map[string]any{"action": "approve"})
	third := following(h, run, second.ID)
	if l.counter.count() != 2 || !strings.Contains(third.Message, "kept result of an equal call") {
		t.Errorf("after %d executions: %s", l.counter.count(), third.Message)
	}
	h.Answer(third.ID, map[string]any{"action": "redact", "text": "nothing"})
	completes(h, run.RunID)
	if got := lastResult(t, h.Events(run.RunID)); strings.Contains(got.Content, confidential) {
		t.Errorf("the model got %+v", got)
	}
}

func TestAnOutputThatNobodyReleasesInTimeIsWithheld(t *testing.T) {
	t.Parallel()
	h := apptest.Start(t, func(o *app.Options) { o.Tools = []tool.Tool{newTeller()} }, apptest.WithModel(apptest.Turns(apptest.Calls("teller", `{}`))),
		apptest.WithRules(`{match: "tell*", decision: ask, stage: result, timeout: 1s}`))
	run := h.Begin("go")
	completes(h, run.RunID)
	got := lastResult(t, h.Events(run.RunID))
	if got.Status != tool.StatusWithheld || !strings.Contains(got.Content, "before the deadline") {
		t.Errorf("the model got %+v", got)
	}
	if got := leaks(h, run, confidential); !slices.Equal(got, []string{"table interactions"}) {
		t.Errorf("it stands in %v", got)
	}
}

func TestAnAgentWithoutPeopleGetsNoOutputThatNeedsThem(t *testing.T) {
	t.Parallel()
	h := apptest.Start(t, func(o *app.Options) { o.Tools = []tool.Tool{newTeller()} }, apptest.WithModel(apptest.Turns(apptest.Calls("teller", `{}`))),
		apptest.WithRules(`{match: teller, decision: ask, stage: result}`), withConfig("enable_hitl: false\n"))
	run := h.Begin("go")
	completes(h, run.RunID)
	if got := lastResult(t, h.Events(run.RunID)); got.Status != tool.StatusWithheld || len(leaks(h, run, confidential)) > 0 {
		t.Errorf("the model got %+v, and it stands in %v", got, leaks(h, run, confidential))
	}
}

func TestAReleaseNeedsItsQuorumAndNoGrantIsOne(t *testing.T) {
	t.Parallel()
	h := apptest.Start(t, func(o *app.Options) { o.Tools = []tool.Tool{newTeller()} }, apptest.WithModel(apptest.Turns(apptest.Calls("teller", `{}`))),
		apptest.WithRules(`{match: teller, decision: ask, max_grant: user}`, `{match: teller, decision: ask, stage: result, reviewers: [ada, bob], quorum: 2}`))
	run := h.Begin("go")
	call := h.Waits(run.RunID, 1)[0]
	h.Answer(call.ID, map[string]any{"action": "approve", "grant": map[string]any{"scope": "user", "patterns": []string{"teller"}}})
	output := following(h, run, call.ID)
	by := func(who, action, text string) map[string]any {
		return map[string]any{"action": action, "text": text, "reviewer": map[string]any{"id": who}}
	}
	refusedWith(h, output.ID, by("eve", "approve", ""), 403)
	refusedWith(h, output.ID, map[string]any{"action": "approve", "reviewer": map[string]any{"id": "ada"}, "grant": map[string]any{"scope": "user"}}, 400)
	h.Answer(output.ID, by("ada", "redact", "a number"))
	h.Answer(output.ID, by("bob", "redact", "no number"))
	if got := h.Pending(run.RunID); len(got) != 1 {
		t.Fatalf("two who differ released it: %+v", got)
	}
	h.Answer(output.ID, by("bob", "redact", "a number"))
	completes(h, run.RunID)
	if got := lastResult(t, h.Events(run.RunID)); !strings.HasSuffix(got.Content, "\n\na number") {
		t.Errorf("the model got %+v", got)
	}
}

func TestACalledAgentsAnswerCanBeGated(t *testing.T) {
	t.Parallel()
	h := apptest.Start(t, apptest.WithModel(teamwork()), func(o *app.Options) { o.Tools = []tool.Tool{apptest.Effect{}} },
		apptest.WithRules(`{match: effect, decision: allow}`, `{match: agent_manager, decision: ask, stage: result}`), withConfig(team))
	run := startTeam(h)
	asked := h.Waits(run.RunID, 1)[0]
	if asked.Kind != interaction.KindResult || !strings.Contains(asked.Details, "manager heard") {
		t.Fatalf("it asks %+v", asked)
	}
	h.Answer(asked.ID, map[string]any{"action": "redact", "text": "all is well"})
	if end := h.Ended(run.RunID); end.Status != "completed" || !strings.HasSuffix(end.Output, "all is well") {
		t.Errorf("it ended %s with %q", end.Status, end.Output)
	}
	replay(t, h.Closed(run.Workflow))
}

func TestIdenticalCallsShareOneRelease(t *testing.T) {
	t.Parallel()
	l := newTeller()
	h := apptest.Start(t, func(o *app.Options) { o.Tools = []tool.Tool{l} },
		apptest.WithModel(apptest.Turns(apptest.Calls("teller", `{"n":1}`, "teller", `{"n":1}`))),
		apptest.WithRules(`{match: teller, decision: ask}`, `{match: teller, decision: ask, stage: result}`))
	run := h.Begin("go")
	call := h.Waits(run.RunID, 1)[0]
	h.Answer(call.ID, map[string]any{"action": "approve"})
	output := following(h, run, call.ID)
	if len(output.SharedCallIDs) != 1 {
		t.Errorf("it is about one call alone: %+v", output)
	}
	h.Answer(output.ID, map[string]any{"action": "withhold"})
	completes(h, run.RunID)
	results := slices.DeleteFunc(steps(h, run.RunID), func(s llm.Step) bool { return s.Message.Role != llm.RoleTool })
	if len(results) != 2 || results[0].Message.ToolStatus != string(tool.StatusWithheld) || results[1].Message.ToolStatus != string(tool.StatusWithheld) || l.counter.count() != 1 {
		t.Errorf("the results after %d executions: %s", l.counter.count(), fmt.Sprint(results))
	}
}

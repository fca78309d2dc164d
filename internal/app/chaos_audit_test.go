package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"holdpoint/agent"
	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/internal/app/apptest"
	"holdpoint/internal/store"
	"holdpoint/tool"
)

// audit holds what the tools wrote down, outside the product, against what people decided: every answer applied exactly
// once, every approved effect exactly once or asked about, no effect that nobody approved, no question left behind, no
// run stuck.
func (c *chaos) audit(t *testing.T, h *apptest.Holdpoint, db *store.Store) {
	t.Helper()
	did := c.effects()
	ends := map[agent.RunStatus]int{}
	for _, run := range c.runs {
		ends[c.auditRun(t, db, run, did)]++
	}
	for call, effects := range did {
		t.Errorf("call %s had effects %s, and it belongs to no run that was asked for", call, effects)
	}
	c.nothingElse(t, h, db)
	t.Logf("runs ended: %v", ends)
}

// auditRun checks one run, and takes its effects out of did.
func (c *chaos) auditRun(t *testing.T, db *store.Store, run interaction.RunID, did map[interaction.CallID][]string) agent.RunStatus {
	t.Helper()
	r, _, err := db.Run(context.Background(), run)
	if err != nil || r.Status != agent.RunCompleted && (r.Status != agent.RunAborted || !c.stops[run]) {
		t.Errorf("run %s is %s (%s), %v", run, r.Status, r.Error, err)
	}
	if err := db.VerifyRun(context.Background(), run); err != nil {
		t.Error(err)
	}
	asked, _, err := db.Interactions(context.Background(), store.InteractionFilter{RunID: run, PageSize: 200})
	if err != nil {
		t.Error(err)
	}
	events, err := db.Events(context.Background(), run, 0, 1000)
	if last := len(events) - 1; err != nil || last < 0 || events[last].Type != map[agent.RunStatus]event.Type{agent.RunCompleted: event.RunCompleted, agent.RunAborted: event.RunAbortedByHuman}[r.Status] {
		t.Errorf("run %s: its record does not end with its end (%v)", run, err)
	}
	for _, call := range c.calls {
		id := interaction.CallID(fmt.Sprintf("%s-%s", run, call))
		c.judge(t, db, id, r, asked, did[id])
		delete(did, id)
	}
	c.applied(t, asked)
	ended(t, run, asked, events)
	return r.Status
}

// judge checks one call. The effect tool's must happen once; the safe one's, which may be repeated, at least once.
func (c *chaos) judge(t *testing.T, db *store.Store, call interaction.CallID, run agent.Run, asked []interaction.Interaction, did []string) {
	t.Helper()
	var rec tool.Record
	var found bool
	err := db.Write(context.Background(), func(tx *store.Tx) (err error) {
		rec, found, err = tx.Call(context.Background(), call)
		return err
	})
	if err != nil || !found && run.Status != agent.RunAborted || found && rec.Result == nil {
		t.Errorf("call %s has no result (%v)", call, err)
	}
	if rec.Call.Name == "safe" {
		if len(did) == 0 && run.Status == agent.RunCompleted {
			t.Errorf("call %s, which needs nobody, had no effect", call)
		}
		return
	}
	var approved []string // the arguments that people approved
	again, unknown := 0, 0
	for _, i := range asked {
		switch {
		case i.Request.ToolCallID != call || i.Status != interaction.StatusAnswered && i.Request.Kind != interaction.KindOutcomeUnknown:
		case i.Request.Kind == interaction.KindOutcomeUnknown:
			unknown++
			if i.Action == interaction.ActionApprove {
				again++
			}
		case i.Action == interaction.ActionApprove:
			approved = append(approved, string(i.Request.ToolArgs))
		case i.Action == interaction.ActionModifyArgs:
			approved = append(approved, fmt.Sprintf(`{"n":%d}`, editedN))
		}
	}
	for _, args := range did {
		if !slices.Contains(approved, args) {
			t.Errorf("call %s ran with %s, and approved was %v", call, args, approved)
		}
	}
	n, success := len(did), rec.Result != nil && rec.Result.Status == tool.StatusSuccess
	switch {
	case n > 1+again:
		t.Errorf("call %s: %d effects, and people said again %d times", call, n, again)
	case n == 0 && success:
		t.Errorf("call %s is told as done, and its effect did not happen", call)
	case len(approved) > 0 && unknown == 0 && n != 1 && run.Status == agent.RunCompleted:
		t.Errorf("call %s: it was approved, nobody was asked about its outcome, and its effect happened %d times", call, n)
	case n > 0 && !success && unknown == 0 && run.Status == agent.RunCompleted:
		t.Errorf("call %s had its effect, and its result is %v", call, rec.Result)
	}
}

// applied checks that every answer that counts was sent, counts once, and stands in the record, and that whoever was told
// that an answer counts finds it there.
func (c *chaos) applied(t *testing.T, asked []interaction.Interaction) {
	t.Helper()
	for _, i := range asked {
		id, kept := i.Request.ID, map[interaction.ResponseID]int{}
		for _, r := range i.Responses {
			if kept[r.ID]++; kept[r.ID] > 1 || c.sent[id][r.ID] != r.Action {
				t.Errorf("interaction %s: answer %s (%s) is there %d times; sent were %v", id, r.ID, r.Action, kept[r.ID], c.sent[id])
			}
		}
		if i.Status == interaction.StatusAnswered && (len(i.Responses) == 0 || i.Responses[len(i.Responses)-1].Action != i.Action) {
			t.Errorf("interaction %s is decided as %s by the answers %v", id, i.Action, i.Responses)
		}
		for as, a := range c.told[id] {
			if kept[as] != 1 {
				t.Errorf("interaction %s: %s was told that it counts, and the record has it %d times", id, as, kept[as])
			}
			if a != i.Action && i.Status == interaction.StatusAnswered && (a != interaction.ActionApprove || i.Request.Quorum <= 1) {
				t.Errorf("interaction %s: %s was told that it counts, and the record says %s", id, a, i.Action)
			}
		}
	}
}

// ended checks that every interaction has ended, and that its end stands in the record once.
func ended(t *testing.T, run interaction.RunID, asked []interaction.Interaction, events []event.Event) {
	t.Helper()
	ends := map[interaction.ID]int{}
	for _, e := range events {
		var d event.InteractionResponseData
		if e.Type == event.InteractionResponse && json.Unmarshal(e.Payload, &d) == nil && d.Status.Final() {
			ends[d.InteractionID]++
		}
	}
	for _, i := range asked {
		if !i.Status.Final() || ends[i.Request.ID] != 1 {
			t.Errorf("run %s: interaction %s is %s, and the record has its end %d times", run, i.Request.ID, i.Status, ends[i.Request.ID])
		}
	}
}

// nothingElse checks that there is no other run, that nothing waits, and that Temporal has no workflow open.
func (c *chaos) nothingElse(t *testing.T, h *apptest.Holdpoint, db *store.Store) {
	t.Helper()
	token, stored := "", 0
	for {
		page, next, err := db.Runs(context.Background(), store.RunFilter{PageSize: 200, PageToken: token})
		if err != nil {
			t.Fatal(err)
		}
		stored += len(page)
		for _, r := range page {
			if !slices.Contains(c.runs, r.ID) {
				t.Errorf("run %s (%s) was asked for, and nobody was told of it", r.ID, r.Status)
			}
		}
		if token = next; token == "" {
			break
		}
	}
	if stored != len(c.runs) {
		t.Errorf("%d runs are stored, and %d were started", stored, len(c.runs))
	}
	waiting, _, err := db.Interactions(context.Background(), store.InteractionFilter{Status: []interaction.Status{interaction.StatusPending, interaction.StatusHeld}, PageSize: 10})
	if err != nil || len(waiting) > 0 {
		t.Errorf("%d interactions wait for nothing (%v)", len(waiting), err)
	}
	cl, err := client.Dial(client.Options{HostPort: c.server.Address()})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	h.Eventually("Temporal to have no workflow open", func() bool {
		open, err := cl.CountWorkflow(context.Background(), &workflowservice.CountWorkflowExecutionsRequest{Query: "ExecutionStatus = 'Running'"})
		return err == nil && open.Count == 0
	})
}

// effects has, by call, the arguments of each effect, as the tools wrote them into files of their own.
func (c *chaos) effects() map[interaction.CallID][]string {
	did := map[interaction.CallID][]string{}
	notes, err := filepath.Glob(filepath.Join(filepath.Dir(c.o.Config), "worker*", noteEffects))
	c.must(err)
	for _, path := range notes {
		text, err := os.ReadFile(path)
		c.must(err)
		for line := range strings.Lines(string(text)) {
			var call tool.Call
			c.must(json.Unmarshal([]byte(line), &call))
			did[call.ID] = append(did[call.ID], string(call.Args))
		}
	}
	return did
}

package app_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"holdpoint/activities"
	"holdpoint/interaction"
	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
)

// A policy rule opened the gate; the worker restarts with that rule gone; the person rejects.
func TestARejectionHoldsWhenTheRuleThatAskedIsGone(t *testing.T) {
	t.Parallel()
	c := newCrash(t, workerAlone, crashScript, noThirteen, `{match: effect, decision: ask}`)
	c.victim.Unasked = true // no rule, no question
	c.start()
	run := c.begin("effect")
	asked := c.Waits(run.RunID, 1)[0]
	c.kill()
	c.policy(noThirteen)
	c.restart()
	c.says(interaction.ActionReject, asked.ID, reviewer1)
	c.completes(run.RunID, "A reviewer (reviewer-1) rejected this call; it was not run.", 0)
	c.completes(c.begin("effect").RunID, did, 1) // the rule is gone indeed
	c.audit()
}

// A tool's implementation ignores permission entirely: every answer but an approval keeps its body from being
// entered, also one that is given while the worker is dead.
func TestABodyIsNotEnteredWhenTheAnswerComesWhileTheWorkerIsDead(t *testing.T) {
	t.Parallel()
	c := newCrash(t, workerAlone, crashScript, noThirteen)
	c.start()
	answers := []struct {
		action     interaction.Action
		ends, told string
	}{
		{interaction.ActionReject, "completed", "A reviewer (reviewer-1) rejected this call; it was not run."},
		{interaction.ActionRetry, "completed", "asks you to think again; the call was not run."},
		{interaction.ActionSkip, "completed", "This call was skipped; it was not run."},
		{interaction.ActionTerminate, "aborted", ""},
	}
	for range answers {
		c.begin("safe")
	}
	asked := make([]interaction.Request, len(answers))
	for i, run := range c.runs {
		asked[i] = c.Waits(run, 1)[0]
	}
	c.kill()
	for i, a := range answers {
		c.Signal(c.Show(c.runs[i]).Workflow, interaction.Response{ID: interaction.ResponseID(fmt.Sprint("while-dead-", i)),
			RequestID: asked[i].ID, Action: a.action, Reviewer: interaction.Principal{ID: reviewer1}})
	}
	c.restart()
	for i, a := range answers {
		end := c.Ended(c.runs[i])
		if end.Status != a.ends || !strings.Contains(end.Output, a.told) {
			t.Errorf("%s: it ended %s with %q; want %s with %q", a.action, end.Status, end.Output, a.ends, a.told)
		}
	}
	if n := len(c.effects("")); n != 0 {
		t.Errorf("bodies were entered %d times", n)
	}
	c.audit()
}

// A counting tool runs, then three review rounds, with restarts between: the counter stands at 1.
func TestACountStandsAtOneAfterThreeReviewRoundsWithRestarts(t *testing.T) {
	t.Parallel()
	const rounds = 3
	script := "turns:\n  - calls: [{name: effect, args: {n: 2}}]\n"
	for i := range rounds {
		script += fmt.Sprintf("  - calls: [{name: bash, args: {command: \"echo %d >> rounds\"}}]\n", i+1)
	}
	c := newCrash(t, workerAlone, script+"  - say: \"The last round: {{result}}\"\n", `{match: effect, decision: allow}`)
	c.start()
	run := c.begin("go")
	for range rounds {
		asked := c.Waits(run.RunID, 1)[0]
		c.kill()
		c.restart()
		c.says(interaction.ActionApprove, asked.ID, reviewer1)
		c.Eventually("the round to be over", func() bool {
			open := c.Pending(run.RunID)
			return c.Show(run.RunID).Status == "completed" || len(open) == 1 && open[0].ID != asked.ID
		})
	}
	c.completes(run.RunID, "The last round: [no output]", 1)
	if got := c.lines(filepath.Join(c.Dir, "rounds")); len(got) != rounds {
		t.Errorf("the rounds that ran: %v", got)
	}
	c.audit()
}

// The process dies after a tool's question, or the question about an unknown outcome, was stored, and before the
// run heard of it: the person is asked once.
func TestAQuestionIsAskedOnceWhenTheWorkerDiesAfterItWasStored(t *testing.T) {
	t.Parallel()
	const script = `turns:
  - when: {user: question}
    calls: [{name: ask_human, args: {question: "Which colour?"}}]
  - when: {user: unknown}
    calls: [{name: effect, args: {n: 1}}]
  - say: "It said: {{result}}"
`
	sideBySide(t,
		subtest{"of a tool", func(t *testing.T) {
			c := newCrash(t, workerAlone, script)
			c.victim.Points, c.victim.Dies = []activities.Point{activities.PointResultStored}, true
			c.start()
			run := c.begin("question")
			c.gone()
			stored := c.Pending(run.RunID)
			c.restart()
			asked := c.Waits(run.RunID, 1)[0]
			if len(stored) != 1 || stored[0].ID != asked.ID {
				t.Errorf("stored was %v, and asked is %s", stored, asked.ID)
			}
			c.Answer(asked.ID, map[string]any{"action": "answer", "text": "blue"})
			c.completes(run.RunID, "blue", 0)
			c.audit()
		}},
		subtest{"about an unknown outcome", func(t *testing.T) {
			c := newCrash(t, workerAlone, script)
			c.victim.Points, c.victim.Dies = []activities.Point{pointEffectBegun}, true
			c.start()
			run := c.begin("unknown")
			c.says(interaction.ActionApprove, c.Waits(run.RunID, 1)[0].ID, reviewer1)
			c.gone()
			c.victim.Points = []activities.Point{activities.PointResultStored}
			c.start() // it dies as soon as the question is stored
			c.gone()
			stored := c.Pending(run.RunID)
			c.restart()
			asked := c.Waits(run.RunID, 1)[0]
			if len(stored) != 1 || stored[0].ID != asked.ID {
				t.Errorf("stored was %v, and asked is %s", stored, asked.ID)
			}
			c.says(interaction.ActionSkip, asked.ID, reviewer1)
			c.completes(run.RunID, notKnown, 1)
			c.audit()
		}})
}

// An activity that has written and whose answer is lost is executed again, by Temporal's retry or by a reset of the
// run: the record is the one of a run to which nothing happened, and nothing has run twice.
func TestEveryActivityMayBeExecutedAgain(t *testing.T) {
	t.Parallel()
	want, _ := playedThrough(t, nil)
	again := map[activities.Point]bool{}
	got, h := playedThrough(t, func(p activities.Point) {
		switch p {
		case activities.PointTurnStored: // a repeated turn does not come here
			panic("lost after " + p)
		case activities.PointRunStored, activities.PointResultStored, activities.PointAnswerStored, activities.PointEndStored:
			if again[p] = !again[p]; again[p] {
				panic("lost after " + p)
			}
		default: // nothing has been written
		}
	})
	if got.record != want.record || got.count() != 1 || want.count() != 1 {
		t.Errorf("with answers lost, %d executions:\n%s\nwithout, %d:\n%s", got.count(), got.record, want.count(), want.record)
	}
	h.Reset(got.run.Workflow)
	h.Closed(got.run.Workflow)
	// Temporal delivers the answers again, and the record says that they were for nothing.
	rest, kept := strings.CutPrefix(h.EventTypes(got.run.RunID), want.record)
	if !kept || strings.ReplaceAll(rest, "error ", "") != "" || got.count() != 1 {
		t.Errorf("after a reset, with %d executions:\n%s\nbefore:\n%s", got.count(), h.EventTypes(got.run.RunID), want.record)
	}
}

// played is what is left of a run.
type played struct {
	*counter
	run    apptest.RunView
	record string // the types of its events
}

// playedThrough has a run with every kind of end of a call: run, no such tool, rejected, asked by a tool and
// answered. The activities of a run come one after the other, so faults needs no lock.
func playedThrough(t *testing.T, faults func(activities.Point)) (played, *apptest.Holdpoint) {
	t.Helper()
	c := &counter{}
	h := startEffect(t, apptest.Turns(apptest.Calls("no_such_tool", `{}`, "effect", `{"n":1}`), apptest.Calls("effect", `{"n":2}`),
		apptest.Calls("ask_human", `{"question":"Which colour?"}`)), c, func(o *app.Options) { o.Faults = faults })
	run := h.Begin("go")
	var last interaction.ID
	for _, says := range []map[string]any{{"action": "approve"}, {"action": "reject"}, {"action": "answer", "text": "blue"}} {
		h.Eventually("the next question", func() bool {
			open := h.Pending(run.RunID)
			return len(open) == 1 && open[0].ID != last
		})
		last = h.Waits(run.RunID, 1)[0].ID
		h.Answer(last, says)
	}
	if end := h.Ended(run.RunID); end.Status != "completed" {
		t.Errorf("it ended %s: %s", end.Status, end.Error)
	}
	h.Closed(run.Workflow)
	return played{c, run, h.EventTypes(run.RunID)}, h
}

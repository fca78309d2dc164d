package app_test

import (
	"fmt"
	"slices"
	"testing"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"

	"holdpoint/activities"
	"holdpoint/interaction"
	"holdpoint/internal/app/apptest"
)

// The script of most crash tests: the user names the tool. The first call is denied by the policy.
const crashScript = `turns:
  - when: {user: "effect*"}
    calls:
      - {name: effect, args: {n: 13}}
      - {name: effect, args: {n: 1, tags: ["<a>", "b & c"]}}
  - when: {user: "safe*"}
    calls:
      - {name: effect, args: {n: 13}}
      - {name: safe, args: {n: 2}}
  - say: "It said: {{result}}"
`

// noThirteen denies the first call of the script.
const noThirteen = `{match: "effect(n:13)", decision: deny}`

// crashRules make every approval one of two, by two others than the requester.
var crashRules = []string{
	noThirteen,
	`{match: effect, decision: ask, reviewers: [reviewer-1, reviewer-2], quorum: 2, exclude_requester: true}`,
	`{match: safe, decision: ask, reviewers: [reviewer-1, reviewer-2], quorum: 2, exclude_requester: true}`,
}

// writePoint is a moment at which a process is killed while a call is carried out, and what is right after it.
type writePoint struct {
	name    string
	point   activities.Point
	tool    string
	rejects bool // a person rejects the call; else two approve it
	// unknown: a person is asked about the outcome, and answers so.
	unknown interaction.Action
	told    string
	times   int // that the effect happened, in the end
}

const (
	did      = `did {"n":1,"tags":["<a>","b & c"]}`
	notKnown = "Whether it had its effect is not known, and it was not run again"
)

// writePoints are all of them, in the order in which a call passes them. What is not known to have happened is
// asked; what a person doesn't have repeated happens at most once.
var writePoints = []writePoint{
	{name: "run stored", point: activities.PointRunStored, tool: "effect", told: did, times: 1},
	{name: "turn stored", point: activities.PointTurnStored, tool: "effect", told: did, times: 1},
	{name: "before the claim", point: activities.PointBeforeClaim, tool: "effect", told: did, times: 1},
	{name: "claimed", point: activities.PointClaimed, tool: "effect", unknown: interaction.ActionApprove, told: did, times: 1},
	{name: "effect begun", point: pointEffectBegun, tool: "effect", unknown: interaction.ActionSkip, told: notKnown, times: 1},
	{name: "effect done", point: activities.PointEffectDone, tool: "effect", unknown: interaction.ActionSkip, told: notKnown, times: 1},
	{name: "result stored", point: activities.PointResultStored, tool: "effect", told: did, times: 1},
	{name: "result reported", point: pointResultReported, tool: "effect", told: did, times: 1},
	{name: "answer stored", point: activities.PointAnswerStored, tool: "effect", rejects: true, told: "(reviewer-1) rejected this call", times: 0},
	{name: "end stored", point: activities.PointEndStored, tool: "effect", told: did, times: 1},
	{name: "effect begun, idempotent", point: pointSafeBegun, tool: "safe", told: `did {"n":2}`, times: 2},
}

// crashing is a run on its way to a write point.
type crashing struct {
	writePoint
	*crash
	input string
	run   apptest.RunView
}

// approach begins a run and approves its call, as far as the point lets one.
func (p writePoint) approach(c *crash) crashing {
	c.t.Helper()
	x := crashing{writePoint: p, crash: c, input: p.tool + " at " + p.name}
	x.run = c.begin(x.input)
	if p.beforeAsking() {
		c.reaches(p.point)
		return x
	}
	x.answer()
	c.reaches(p.point)
	if n := c.reported(x.run.Workflow); (n == 2) != (p.point == pointResultReported) {
		c.t.Errorf("at %s, Temporal has the results of %d activities", p.name, n)
	}
	return x
}

// beforeAsking reports whether nobody can have answered when the point is reached.
func (p writePoint) beforeAsking() bool {
	return p.point == activities.PointRunStored || p.point == activities.PointTurnStored
}

// answer answers the first question.
func (x crashing) answer() {
	x.t.Helper()
	asked := x.Waits(x.run.RunID, 1)[0]
	if x.rejects {
		x.says(interaction.ActionReject, asked.ID, reviewer1)
		return
	}
	x.says(interaction.ActionApprove, asked.ID, reviewer1, reviewer2)
}

// reported counts the activities whose result is in a workflow's history.
func (c *crash) reported(workflowID string) int {
	c.t.Helper()
	return len(slices.DeleteFunc(c.History(workflowID, ""), func(e *history.HistoryEvent) bool {
		return e.GetEventType() != enums.EVENT_TYPE_ACTIVITY_TASK_COMPLETED
	}))
}

// after checks what becomes of the run once its process is back.
func (x crashing) after() {
	x.t.Helper()
	kinds := []interaction.Kind{interaction.KindPermission}
	if x.beforeAsking() {
		x.answer()
	}
	if x.unknown != "" {
		kinds = append(kinds, interaction.KindOutcomeUnknown)
		before := len(x.effects(x.run.RunID))
		asked := x.Waits(x.run.RunID, 1)
		if asked[0].Kind != interaction.KindOutcomeUnknown || len(x.effects(x.run.RunID)) != before {
			x.t.Errorf("after %s: %d effects and a question of kind %s", x.name, before, asked[0].Kind)
		}
		if x.unknown == interaction.ActionApprove {
			x.says(x.unknown, asked[0].ID, reviewer1, reviewer2)
		} else {
			x.says(x.unknown, asked[0].ID, reviewer1)
		}
	}
	x.completes(x.run.RunID, x.told, x.times)
	x.Closed(x.run.Workflow) // in Temporal too
	if n := x.modelCalls(x.input + "/1"); n != 1 {
		x.t.Errorf("after %s: the model was asked %d times for its first turn", x.name, n)
	}
	if got := x.asked(x.run.RunID); !slices.Equal(got, kinds) {
		x.t.Errorf("after %s: asked %v, want %v", x.name, got, kinds)
	}
}

func TestAWorkerKilledAtAWritePoint(t *testing.T) {
	t.Parallel()
	var tests []subtest
	for _, p := range writePoints {
		tests = append(tests, subtest{p.name, func(t *testing.T) {
			c := newCrash(t, workerAlone, crashScript, crashRules...)
			c.victim.Points, c.victim.Dies = []activities.Point{p.point}, true
			c.start()
			x := p.approach(c)
			c.gone()
			c.restart()
			x.after()
			c.audit()
		}})
	}
	tests = append(tests, subtest{"parked", func(t *testing.T) { killedWhileParked(t, workerAlone) }})
	sideBySide(t, tests...)
}

func TestAWholeProcessKilledWithARunAtEachWritePoint(t *testing.T) {
	t.Parallel()
	c := newCrash(t, wholeDev, crashScript, crashRules...)
	for _, p := range writePoints {
		c.victim.Points = append(c.victim.Points, p.point)
	}
	c.start()
	var all []crashing
	for _, p := range writePoints {
		all = append(all, p.approach(c))
	}
	c.kill()
	c.restart()
	for _, x := range all {
		x.after()
	}
	c.audit()
}

func TestAWholeProcessKilledWhileRunsAreParked(t *testing.T) {
	t.Parallel()
	killedWhileParked(t, wholeDev)
}

// killedWhileParked has one run of which nobody has answered and one with the first of two approvals.
func killedWhileParked(t *testing.T, r role) {
	c := newCrash(t, r, crashScript, crashRules...)
	c.start()
	open, half := c.begin("effect"), c.begin("effect")
	asked := c.Waits(open.RunID, 1)[0]
	c.says(interaction.ActionApprove, c.Waits(half.RunID, 1)[0].ID, reviewer1)
	c.kill()
	c.restart()
	if again := c.Waits(open.RunID, 1)[0]; again.ID != asked.ID || again.Digest != asked.Digest {
		t.Errorf("asked as %s (%s), and after the restart as %s (%s)", asked.ID, asked.Digest, again.ID, again.Digest)
	}
	c.says(interaction.ActionApprove, asked.ID, reviewer1, reviewer2)
	c.completes(open.RunID, did, 1)

	still := c.Waits(half.RunID, 1)[0]
	c.says(interaction.ActionApprove, still.ID, reviewer1) // sent again, by either road, it is the same approval
	c.Signal(half.Workflow, map[string]any{"request_id": still.ID, "id": answerOf("", still.ID, reviewer1)["id"],
		"action": interaction.ActionApprove, "reviewer": interaction.Principal{ID: reviewer1}})
	if n := len(c.effects(half.RunID)); n != 0 || len(c.Pending(half.RunID)) != 1 {
		t.Errorf("%d effects with one approval of two", n)
	}
	c.says(interaction.ActionApprove, still.ID, reviewer2)
	c.completes(half.RunID, did, 1)
	c.audit()
}

func TestManyParkedRunsSurviveAKill(t *testing.T) {
	t.Parallel()
	const n = 20
	c := newCrash(t, wholeDev, crashScript, noThirteen)
	c.start()
	for i := range n {
		c.begin(fmt.Sprintf("safe %d", i))
	}
	for _, run := range c.runs {
		c.Waits(run, 1)
	}
	c.kill()
	c.restart()
	asked := c.Pending("")
	if len(asked) != n {
		t.Fatalf("%d of %d are listed after the restart", len(asked), n)
	}
	c.approveAll(asked).wg.Wait()
	for _, run := range c.runs {
		c.completes(run, `did {"n":2}`, 1)
	}
	if all := len(c.effects("")); all != n {
		t.Errorf("%d executions, want %d", all, n)
	}
	c.audit()
}

package app_test

import (
	"testing"

	"holdpoint/activities"
	"holdpoint/interaction"
)

// A worker is killed while an output is on its way to be released. The tool runs once, people are asked once, and the model
// gets once what they released.
func TestAnOutputIsHeldAndReleasedOnceWhenTheWorkerIsKilled(t *testing.T) {
	t.Parallel()
	rules := []string{noThirteen, `{match: effect, decision: allow}`, `{match: safe, decision: allow}`, `{match: "*", decision: ask, stage: result}`}
	killed := func(t *testing.T, tool string, runs int, points ...activities.Point) {
		c := newCrash(t, workerAlone, crashScript, rules...)
		c.victim.Points = points[:1]
		c.start()
		run := c.begin(tool)
		c.reaches(points[0])
		c.kill()
		c.restart()
		asked := c.Waits(run.RunID, 1)[0]
		if asked.Kind != interaction.KindResult {
			t.Fatalf("it asks %+v", asked)
		}
		c.says(interaction.ActionApprove, asked.ID, reviewer1)
		c.completes(run.RunID, "It said: did", runs)
		c.answeredOnce(run.RunID)
	}
	released := func(t *testing.T, point activities.Point) {
		c := newCrash(t, workerAlone, crashScript, rules...)
		c.start()
		run := c.begin("effect")
		asked := c.Waits(run.RunID, 1)[0]
		c.kill()
		c.victim.Points = []activities.Point{point}
		c.start()
		c.says(interaction.ActionApprove, asked.ID, reviewer1)
		c.reaches(point)
		c.kill()
		c.restart()
		c.completes(run.RunID, did, 1)
		c.answeredOnce(run.RunID)
	}
	sideBySide(t,
		subtest{"before it is held, a tool that may run again", func(t *testing.T) { killed(t, "safe", 2, activities.PointEffectDone) }},
		subtest{"held, and not reported", func(t *testing.T) { killed(t, "effect", 1, activities.PointResultStored) }},
		subtest{"answered, and not released", func(t *testing.T) { released(t, activities.PointBeforeClaim) }},
		subtest{"released, and not reported", func(t *testing.T) { released(t, activities.PointResultStored) }},
	)
}

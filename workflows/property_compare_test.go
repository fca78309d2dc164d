package workflows_test

import (
	"fmt"
	"maps"
	"slices"

	"holdpoint/agent"
	"holdpoint/interaction"
)

// compare holds the runs against the model.
func (d *drive) compare() (wrong []string) {
	runs := map[interaction.RunID]bool{modelRun: true}
	for _, q := range d.questions {
		if q.open() && !d.over[q.run] && !d.stopped {
			runs[q.run] = true
		}
	}
	for _, run := range slices.Sorted(maps.Keys(runs)) {
		wrong = append(wrong, d.compareRun(run)...)
	}
	return wrong
}

func (d *drive) compareRun(run interaction.RunID) (wrong []string) {
	s, err := d.State(run)
	if err != nil {
		return []string{err.Error()}
	}
	want, open := map[interaction.ID]string{}, agent.RunRunning
	for _, q := range d.questions {
		if q.open() && q.run == run {
			want[q.id], open = fmt.Sprint(q.status, q.approvals()), agent.RunAwaitingHuman
		}
	}
	if d.paused {
		open = agent.RunPaused
	}
	if s.Status != open {
		wrong = append(wrong, fmt.Sprintf("run %s is %s, and should be %s", run, s.Status, open))
	}
	for _, p := range s.Pending {
		if got := fmt.Sprint(p.Status, p.Approvals); got != want[p.ID] {
			wrong = append(wrong, fmt.Sprintf("%s is %s, and should be %q", p.ID, got, want[p.ID]))
		}
		delete(want, p.ID)
	}
	if len(want) > 0 {
		wrong = append(wrong, fmt.Sprintf("%v should be open", want))
	}
	return wrong
}

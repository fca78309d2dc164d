package workflows_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"holdpoint/activities"
	"holdpoint/agent"
	"holdpoint/interaction"
	"holdpoint/tool"
	"holdpoint/workflows"
)

// settle holds what became of the run, and what its activities were told, against the model.
func (d *drive) settle(end time.Time, status agent.RunStatus) (wrong []string) {
	d.follow(end)
	want := agent.RunCompleted
	if d.stopped {
		want = agent.RunAborted
	} else if d.failed {
		want = agent.RunFailed
	}
	ends := slices.DeleteFunc(slices.Clone(d.w.ends), func(e activities.FinishRunInput) bool { return e.RunID != modelRun })
	if d.seen[string(status)]++; status != want || len(ends) != 1 || ends[0].Status != want {
		d.complain("the run ended %s (%+v), and should have %s", status, d.w.ends, want)
	}
	for _, q := range d.questions {
		d.settleQuestion(q)
	}
	for id, c := range d.w.calls {
		d.settleCall(id, c)
	}
	d.settleRecord()
	return append(d.wrong, d.w.wrong...)
}

// settleQuestion checks that how a question ended was carried out once, with the answers that counted.
func (d *drive) settleQuestion(q *question) {
	if q.open() {
		if !d.stopped && !d.over[q.run] {
			d.complain("%s is still %s", q.id, q.status)
		}
		q.status, q.action = interaction.StatusCancelled, ""
	}
	d.seen[string(q.status)]++
	if q.kind == interaction.KindResult {
		d.seen[map[interaction.Action]string{interaction.ActionApprove: "released", interaction.ActionRedact: "released", interaction.ActionWithhold: "withheld"}[q.action]]++
	}
	told := d.w.told[q.id]
	if len(told) != 1 || told[0].Status != q.status || told[0].Action != q.action {
		d.complain("%s ended %s %s, and the activities were told %+v", q.id, q.status, q.action, told)
		return
	}
	var got, want []string
	for _, r := range told[0].Responses {
		got = append(got, fmt.Sprint(r.ID, r.Action, r.Reviewer.ID))
	}
	for _, r := range q.answers {
		want = append(want, fmt.Sprint(r.ID, r.Action, r.Reviewer.ID))
	}
	if !slices.Equal(got, want) {
		d.complain("%s was carried out with the answers %v; those that counted are %v", q.id, got, want)
	}
}

// settleCall checks what a call did.
func (d *drive) settleCall(id interaction.CallID, c *callState) {
	var last *question
	for _, q := range d.questions {
		if callOf(q.id) == id {
			last = q
		}
	}
	if c.effects > 1+c.again || c.result == tool.StatusSuccess && c.effects == 0 || c.result == tool.StatusDenied && c.effects > 0 {
		d.complain("call %s ended %q with %d effects, and people said again %d times", id, c.result, c.effects, c.again)
	}
	for _, at := range c.runs {
		d.seen["ran"]++
		if slices.ContainsFunc(d.pauses, func(p span) bool {
			return at.After(p.from.Add(time.Second)) && (p.to.IsZero() || at.Before(p.to.Add(-time.Second)))
		}) {
			d.complain("call %s began while the run was paused", id)
		}
	}
	if d.stopped || d.failed || last == nil || d.over[last.run] {
		return
	}
	if c.Fate == fateLive && last.live { // it goes on whatever becomes of its question
		if c.result != tool.StatusSuccess {
			d.complain("call %s asked while it ran, and ended %s", id, c.result)
		}
		return
	}
	runs := last.status == interaction.StatusCancelled && c.law == "allow"
	if last.status == interaction.StatusAnswered {
		switch last.action {
		case interaction.ActionApprove, interaction.ActionModifyArgs, interaction.ActionRedact:
			runs = true
		case interaction.ActionAnswer:
			runs = last.kind == interaction.KindTool
		}
	}
	switch {
	case c.result == "":
		d.complain("call %s has no result", id)
	case runs != (c.result == tool.StatusSuccess):
		d.complain("call %s ended %s, and its last question %s %s", id, c.result, last.status, last.action)
	}
}

// settleRecord checks that what could not be applied stands in the record, each once, and what happened to questions that
// went on.
func (d *drive) settleRecord() {
	refused := map[interaction.ResponseID]int{}
	changes := map[interaction.ID][]interaction.ChangeKind{}
	for _, in := range d.w.record {
		for _, r := range in.Refused {
			if refused[r.ResponseID]++; strings.HasPrefix(r.Reason, workflows.MessageText+":") {
				d.texts[string(r.ResponseID)]--
			}
		}
		for _, c := range in.Changes {
			changes[c.Interaction] = append(changes[c.Interaction], c.Kind)
		}
	}
	for _, texts := range d.w.texts {
		for _, text := range texts {
			d.texts[text]--
		}
	}
	for text, left := range d.texts {
		if left != 0 {
			d.complain("the message %s was taken in and refused %d times", text, 1-left)
		}
	}
	for _, r := range d.early { // what was kept for a question that never came
		d.refused[r.ID]++
	}
	for id, n := range d.refused {
		if refused[id] != n {
			d.complain("the signal %s was refused, and the record says so %d times, not %d", id, refused[id], n)
		}
	}
	for id, n := range refused {
		if _, text := d.texts[string(id)]; !text && d.refused[id] != n && !strings.HasPrefix(string(id), "payload-") {
			d.complain("the record says %d times that %s was refused, and it was %d times", n, id, d.refused[id])
		}
	}
	for _, q := range d.questions {
		did := slices.DeleteFunc(slices.Clone(changes[q.id]), func(k interaction.ChangeKind) bool {
			return k == interaction.ChangeReminded || k == interaction.ChangeEscalated || k == interaction.ChangeUndelegated
		})
		if !slices.Equal(did, q.changes) {
			d.complain("%s went through %v, and the record has %v", q.id, q.changes, did)
		}
	}
}

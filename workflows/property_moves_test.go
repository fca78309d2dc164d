package workflows_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"holdpoint/interaction"
	"holdpoint/workflows"
)

// move does what comes next.
func (d *drive) move(m move) {
	now := d.place.Now()
	switch m.What {
	case moveAnswer:
		d.answer(d.response(m, interaction.ResponseID(fmt.Sprintf("a%d", d.next)), now), m)
	case moveReuse:
		if len(d.sent) > 0 {
			d.answer(d.response(m, d.sent[m.Old%len(d.sent)].ID, now), m)
		}
	case moveResend:
		if len(d.sent) > 0 {
			d.answer(d.sent[m.Old%len(d.sent)], m)
		}
	case movePause, moveResume, moveAbort:
		d.control(workflows.ControlMessage{ID: interaction.ResponseID(fmt.Sprintf("c%d", d.next)), RunID: modelRun, Action: workflows.ControlAction(m.What)}, m.Signal, now)
	case moveAllow, moveDeny:
		d.rule(d.target(move{Call: m.Call}), m.What)
	case moveText:
		text := fmt.Sprintf("t%d", d.next-m.Old%2) // what came twice with one id is said once
		d.deliver(workflows.MessageText, workflows.TextMessage{ID: interaction.ResponseID(text), RunID: modelRun, Text: text}, m.Signal, func(got interaction.Code) {
			if got == "" && !d.stopped {
				d.texts[text] = 1
			}
		})
	case moveJunk:
		d.deliver(workflows.MessageRespond, []string{"junk"}, m.Signal, func(got interaction.Code) {
			if got == "" && !m.Signal {
				d.complain("junk was taken")
			}
		})
	}
}

// response is the answer that a move gives.
func (d *drive) response(m move, id interaction.ResponseID, now time.Time) interaction.Response {
	r := interaction.Response{ID: id, RequestID: d.target(m), Action: m.Action, To: m.To,
		Reviewer: interaction.Principal{ID: interaction.PrincipalID(m.Who), Groups: groups[m.Who]}}
	if m.Until > 0 {
		r.Until = later(now, m.Until)
	}
	if (r.Action == interaction.ActionModifyArgs) != m.Odd {
		r.Args = json.RawMessage(`{"n":7}`)
	}
	if r.Action == interaction.ActionAnswer {
		if r.Args = nil; !m.Odd {
			r.Text = "words"
		}
	}
	if (r.Action == interaction.ActionRedact) != m.Odd && (r.Action == interaction.ActionRedact || r.Action == interaction.ActionWithhold) {
		r.Text = []string{"less", "nothing"}[m.Old%2]
	}
	if m.Stale {
		r.Digest = "sha256:other"
	} else if q := d.find(r.RequestID); q != nil && m.Timed {
		r.Digest = q.digest
	}
	if m.Timed {
		r.RespondedAt = now
	}
	return d.Trust.sealed(r, m.Seal)
}

// deliver sends a message by one of the roads, and tells what it was refused with. A signal is never refused.
func (d *drive) deliver(name string, message any, signal bool, then func(interaction.Code)) {
	if signal {
		d.place.Signal(modelRun, name, message)
		then("")
		return
	}
	d.place.Update(modelRun, name, fmt.Sprintf("u%d-%d-%d", d.minute, d.next, d.updates), func(_ any, err error) { then(code(err)) }, message)
	d.updates++
}

// answer sends a response, and holds what becomes of it against the model.
func (d *drive) answer(r interaction.Response, m move) {
	if q := d.find(r.RequestID); d.of(r) != modelRun && (q == nil || !q.open() || d.over[q.run] || d.stopped) || len(d.Stages) > 0 && (q == nil || !q.open()) {
		return // its run may have ended, or be about to
	}
	d.sent = append(d.sent, r)
	if m.Signal {
		d.place.Signal(d.of(r), workflows.MessageRespond, r)
		if got := d.expect(r, ""); got != "" {
			d.refused[r.ID]++
		}
		return
	}
	d.place.Update(d.of(r), workflows.MessageRespond, fmt.Sprintf("u%d-%d-%d", d.minute, d.next, d.updates), func(result any, err error) {
		got := code(err)
		if res, ok := result.(workflows.RespondResult); ok && err == nil {
			got = interaction.Code(res.Items[0].Code)
		}
		if m.Tie {
			d.settleTie(r, got)
			return
		}
		if want := d.expect(r, got); (want == "") != (got == "") || got != "" && want != got {
			d.complain("the answer %+v was met with %q, and should be with %q", r, got, want)
		}
	}, r)
	d.updates++
}

// of is the run that an answer is for.
func (d *drive) of(r interaction.Response) interaction.RunID {
	if q := d.find(r.RequestID); q != nil {
		return q.run
	}
	return modelRun
}

// expect applies a response to the model, and returns what it should be refused with. Of several objections, got may be
// any.
func (d *drive) expect(r interaction.Response, got interaction.Code) interaction.Code {
	now := d.place.Now()
	if q := d.find(r.RequestID); q != nil {
		for _, c := range d.objections(q, r) {
			if c == got {
				d.seen["refused"]++
				if d.Trust.objection(r, true) == c {
					d.seen["not trusted"]++
				}
				return got
			}
		}
		_, before := d.counted[d.about(r)]
		c := d.foresee(q, r, now)
		switch {
		case c != "":
			d.seen["refused"]++
		case before:
			d.seen["duplicate"]++
		default:
			d.seen["applied"]++
		}
		return c
	}
	if done, ok := d.counted[d.about(r)]; ok && done != r.RequestID {
		return interaction.CodeInvalid
	}
	if d.toCome(r.RequestID) {
		if code := d.Trust.objection(r, false); code != "" {
			d.seen["not trusted"]++
			return code
		}
		d.seen["kept"]++
		if !slices.ContainsFunc(d.early, func(e interaction.Response) bool { return e.ID == r.ID && e.RequestID == r.RequestID }) {
			d.early = append(d.early, r)
		}
		return ""
	}
	d.seen["refused"]++
	return interaction.CodeUnknown
}

func (d *drive) objections(q *question, r interaction.Response) []interaction.Code {
	if _, ok := d.counted[d.about(r)]; ok {
		return nil
	}
	return q.objections(r)
}

// toCome reports whether a question may still be asked: one of a turn that the model has not taken.
func (d *drive) toCome(id interaction.ID) bool {
	for turn := d.turn() + 1; turn <= 5; turn++ {
		for n := 1; n <= 9; n++ {
			if id == interaction.ID(callID(turn, n))+"-1" {
				return true
			}
		}
	}
	return false
}

// settleTie has the model follow the run where an answer comes at the very moment at which time does something: either
// may win, but not both.
func (d *drive) settleTie(r interaction.Response, got interaction.Code) {
	now := d.place.Now()
	q := d.find(r.RequestID)
	if (got == interaction.CodeAlreadyDecided || got == interaction.CodeUnknown) && d.endsAt(now) {
		return
	}
	if q == nil || d.counted[d.about(r)] != "" {
		if want := d.expect(r, got); want != got {
			d.complain("the answer %+v was met with %q, and should be with %q", r, got, want)
		}
		return
	}
	for _, at := range []time.Time{now.Add(-2 * time.Second), now.Add(2 * time.Second)} {
		as := *q
		as.pass(at)
		codes := as.objections(r)
		fits := got == "" && len(codes) == 0
		for _, c := range codes {
			fits = fits || c == got
		}
		if fits {
			if got == "" {
				d.seen["applied"]++
				*q = as
				d.foresee(q, r, now)
			}
			return
		}
	}
	d.complain("the answer %+v, at a moment at which time does something too, was met with %q", r, got)
}

// endsAt reports whether a deadline ends the run about now.
func (d *drive) endsAt(now time.Time) bool {
	return slices.ContainsFunc(d.questions, func(q *question) bool {
		as := *q
		as.pass(now.Add(2 * time.Second))
		return as.status == interaction.StatusExpired && as.action == interaction.ActionTerminate
	})
}

func (d *drive) control(m workflows.ControlMessage, signal bool, now time.Time) {
	d.deliver(workflows.MessageControl, m, signal, func(got interaction.Code) {
		switch {
		case got != "":
			d.complain("%s was met with %q", m.Action, got)
		case m.Action == workflows.AbortRun:
			d.stopped = true
		case m.Action == workflows.PauseRun && !d.paused:
			d.paused = true
			d.pauses = append(d.pauses, span{from: now})
		case m.Action == workflows.ResumeRun && d.paused:
			d.paused = false
			d.pauses[len(d.pauses)-1].to = now
		}
	})
}

// rule has a rule appear that decides a call, and the run be told so.
func (d *drive) rule(id interaction.ID, law string) {
	q := d.find(id)
	if q == nil || !q.open() || q.kind != interaction.KindPermission {
		return
	}
	d.w.mu.Lock()
	c := d.w.calls[callOf(id)]
	if c.law != "deny" {
		c.law = law
	}
	law = c.law
	d.w.mu.Unlock()
	q.decide(law == "allow")
	d.place.Signal(q.run, workflows.MessageRecheck, struct{}{})
}

// windUp leads the run to its end, once the moves are done.
func (d *drive) windUp() {
	now := d.place.Now()
	if d.rounds++; d.rounds > 20 {
		d.control(workflows.ControlMessage{ID: interaction.ResponseID(fmt.Sprintf("z%d", d.rounds)), RunID: modelRun, Action: workflows.AbortRun}, false, now)
		return
	}
	if d.paused {
		d.control(workflows.ControlMessage{ID: interaction.ResponseID(fmt.Sprintf("z%d", d.rounds)), RunID: modelRun, Action: workflows.ResumeRun}, false, now)
	}
	for _, q := range d.questions {
		if !q.open() || d.over[q.run] || d.stopped || d.failed {
			continue
		}
		for n, who := range people {
			if !q.open() || d.stopped { // and with it, perhaps, the run has ended
				break
			}
			r := interaction.Response{ID: interaction.ResponseID(fmt.Sprintf("z%d-%s-%d", d.rounds, q.id, n)), RequestID: q.id, Action: interaction.ActionApprove,
				Reviewer: interaction.Principal{ID: interaction.PrincipalID(who), Groups: groups[who]}, RespondedAt: now}
			if q.status == interaction.StatusHeld {
				r.Action = interaction.ActionResume
				if n != d.rounds%len(people) { // one at a time, for what was held may go on by itself
					continue
				}
			} else if q.passed {
				continue
			} else if q.kind == interaction.KindTool {
				r.Action, r.Text = interaction.ActionAnswer, "words"
			}
			d.answer(d.Trust.sealed(r, sealGood), move{})
		}
	}
}

package workflows_test

import (
	"slices"
	"strings"
	"time"

	"holdpoint/interaction"
)

// This is the reference model of a question: who may answer it, what an answer does, what time does. It is written from
// the design, without a line of the code that it judges, and knows nothing of Temporal.

// rule is how people are asked. Times are in minutes, to each of which half a minute is added, so that nothing that people
// do on the minute comes together with what time does.
type rule struct {
	Reviewers  []string
	Quorum     int
	FourEyes   bool
	Timeout    int // 0: never
	OnTimeout  interaction.Action
	Remind     int // 0: never
	Escalate   int // 0: never
	EscalateTo string
}

// requester is for whom the run works.
const requester = "req"

// groups has who belongs to what.
var groups = map[string][]string{"cy": {"ops"}}

func later(from time.Time, minutes int) time.Time {
	return from.Truncate(time.Minute).Add(time.Duration(minutes)*time.Minute + 30*time.Second)
}

// question is what is asked, with what became of it.
type question struct {
	rule
	trust     trust
	id        interaction.ID
	kind      interaction.Kind
	digest    string
	opened    time.Time
	status    interaction.Status
	action    interaction.Action
	escalated bool
	handed    []handing
	heldAt    time.Time
	heldFor   time.Duration
	answers   []interaction.Response // accepted, in order
	changes   []interaction.ChangeKind
	passed    bool // while it was held, a rule came that allows the call
	run       interaction.RunID
	live      bool      // the call asks while it runs
	givesUp   time.Time // when the call waits for it no longer, zero: never
}

// handing is a seat that was handed on.
type handing struct {
	by    string
	to    []string
	until time.Time
}

func (q *question) open() bool {
	return q.status == interaction.StatusPending || q.status == interaction.StatusHeld
}

// seats are the reviewers whose word counts; none: anybody's does.
func (q *question) seats() []string {
	if q.escalated && len(q.Reviewers) > 0 && !slices.Contains(q.Reviewers, q.EscalateTo) {
		return append(slices.Clone(q.Reviewers), q.EscalateTo)
	}
	return q.Reviewers
}

func names(list []string, who string) bool {
	return who != "" && (slices.Contains(list, who) || slices.ContainsFunc(groups[who], func(g string) bool { return slices.Contains(list, "group:"+g) }))
}

// pass lets time pass. What is held does not notice.
func (q *question) pass(now time.Time) {
	if q.open() && !q.givesUp.IsZero() && !now.Before(q.givesUp) && (q.Timeout == 0 || q.status == interaction.StatusHeld || q.givesUp.Before(q.deadline())) {
		q.tick(q.givesUp)
		q.status = interaction.StatusCancelled
		return
	}
	if q.status != interaction.StatusPending {
		return
	}
	if q.Timeout > 0 && !now.Before(q.deadline()) {
		q.tick(q.deadline())
		q.status, q.action = interaction.StatusExpired, interaction.ActionReject
		if q.OnTimeout != "" {
			q.action = q.OnTimeout
		}
		if q.kind == interaction.KindResult && q.action != interaction.ActionTerminate { // silence releases nothing
			q.action = interaction.ActionWithhold
		}
		return
	}
	q.tick(now)
}

func (q *question) deadline() time.Time { return later(q.opened, q.Timeout).Add(q.heldFor) }

func (q *question) tick(now time.Time) {
	over := func(h handing) bool { return !h.until.IsZero() && !now.Before(h.until) }
	if slices.ContainsFunc(q.handed, over) {
		q.handed = slices.DeleteFunc(slices.Clone(q.handed), over)
	}
	if q.Escalate > 0 && !now.Before(later(q.opened, q.Escalate).Add(q.heldFor)) {
		q.escalated = true
	}
}

// offered are the actions that each kind of question takes.
var offered = map[interaction.Kind][]interaction.Action{
	interaction.KindPermission: {interaction.ActionApprove, interaction.ActionModifyArgs, interaction.ActionReject, interaction.ActionRetry,
		interaction.ActionSkip, interaction.ActionAnswer, interaction.ActionTerminate},
	interaction.KindOutcomeUnknown: {interaction.ActionApprove, interaction.ActionSkip, interaction.ActionTerminate},
	interaction.KindTool:           {interaction.ActionAnswer, interaction.ActionSkip, interaction.ActionTerminate},
	interaction.KindStage:          {interaction.ActionApprove, interaction.ActionRedact, interaction.ActionReject, interaction.ActionTerminate},
	interaction.KindResult:         {interaction.ActionApprove, interaction.ActionRedact, interaction.ActionWithhold, interaction.ActionTerminate},
}

// objections are all that can be said against an answer; none: it is accepted.
func (q *question) objections(r interaction.Response) (codes []interaction.Code) {
	object := func(when bool, code interaction.Code) {
		if when {
			codes = append(codes, code)
		}
	}
	who := string(r.Reviewer.ID)
	if code := q.trust.objection(r, true); code != "" && q.open() {
		return []interaction.Code{code}
	}
	object(q.status == interaction.StatusAnswered || q.status == interaction.StatusCancelled, interaction.CodeAlreadyDecided)
	object(q.status == interaction.StatusExpired, interaction.CodeExpired)
	object(r.Digest != "" && r.Digest != q.digest, interaction.CodeDigestMismatch)
	object(!q.entitled(who), interaction.CodeNotEntitled)
	stands := []interaction.Action{interaction.ActionPause, interaction.ActionResume, interaction.ActionDelegate}
	object(!slices.Contains(offered[q.kind], r.Action) && !slices.Contains(stands, r.Action), interaction.CodeInvalid)
	object(q.status == interaction.StatusHeld && r.Action != interaction.ActionResume && r.Action != interaction.ActionTerminate, interaction.CodeInvalid)
	object(q.status != interaction.StatusHeld && r.Action == interaction.ActionResume, interaction.CodeInvalid)
	object((len(r.Args) > 0) != (r.Action == interaction.ActionModifyArgs), interaction.CodeInvalid)
	object((r.Text != "") != (r.Action == interaction.ActionAnswer || r.Action == interaction.ActionRedact), interaction.CodeInvalid)
	object(q.Quorum > 1 && r.Action == interaction.ActionModifyArgs, interaction.CodeInvalid)
	object(q.Quorum > 1 && votes(r) && q.hasVoted(r), interaction.CodeAlreadyDecided)
	if r.Action == interaction.ActionDelegate {
		object(len(r.To) == 0 || slices.Contains(r.To, who), interaction.CodeInvalid)
		object(q.FourEyes && len(r.To) == 1 && r.To[0] == requester, interaction.CodeInvalid)
		object(len(q.seats()) == 0 && q.Quorum > 1, interaction.CodeInvalid)
		object(q.strands(who, r.To), interaction.CodeInvalid)
		object(who == "" || len(q.handed) > 0 && len(q.seats()) > 0 && !names(q.seats(), who), interaction.CodeNotEntitled)
	} else {
		object(len(r.To) > 0, interaction.CodeInvalid)
	}
	return codes
}

// entitled reports whether somebody may answer now.
func (q *question) entitled(who string) bool {
	if who == "" && (len(q.seats()) > 0 || q.Quorum > 1 || q.FourEyes || len(q.handed) > 0) || q.FourEyes && who == requester {
		return false
	}
	if slices.ContainsFunc(q.handed, func(h handing) bool { return h.by == who }) {
		return false
	}
	if slices.ContainsFunc(q.handed, func(h handing) bool { return names(h.to, who) }) {
		return true
	}
	own := slices.DeleteFunc(slices.Clone(q.seats()), func(s string) bool {
		return slices.ContainsFunc(q.handed, func(h handing) bool { return h.by == s })
	})
	return len(q.seats()) == 0 && len(q.handed) == 0 || names(own, who)
}

// strands reports whether too few could decide once somebody has handed on their seat. Who is in a group is not looked at.
func (q *question) strands(who string, to []string) bool {
	after := *q
	after.handed = append(slices.Clone(q.handed), handing{by: who, to: to})
	asked := slices.Clone(q.seats())
	for _, h := range after.handed {
		asked = append(slices.DeleteFunc(asked, func(s string) bool { return s == h.by }), h.to...)
	}
	for _, h := range after.handed { // one who was asked again, and handed it on before, is asked in vain
		asked = slices.DeleteFunc(asked, func(s string) bool { return s == h.by })
	}
	if slices.ContainsFunc(asked, func(s string) bool { return strings.HasPrefix(s, "group:") }) {
		return false
	}
	able := map[string]bool{}
	for _, s := range asked {
		able[s] = !(q.FourEyes && s == requester)
	}
	people, seats := 0, 0
	for _, yes := range able {
		if yes {
			people++
		}
	}
	for _, seat := range q.seats() {
		held := able[seat] || slices.ContainsFunc(after.handed, func(h handing) bool {
			return h.by == seat && slices.ContainsFunc(h.to, func(s string) bool { return able[s] })
		})
		if held {
			seats++
		}
	}
	if len(q.seats()) > 0 {
		people = min(people, seats)
	}
	return people < max(q.Quorum, 1)
}

// votes reports whether an answer releases something, the call or its output: for that a quorum is needed.
func votes(r interaction.Response) bool {
	return r.Action == interaction.ActionApprove || r.Action == interaction.ActionRedact
}

// alike reports whether two answers release the same.
func alike(a, b interaction.Response) bool { return a.Action == b.Action && a.Text == b.Text }

// last is somebody's last vote.
func (q *question) last(who interaction.PrincipalID) (last interaction.Response) {
	for _, r := range q.answers {
		if r.Reviewer.ID == who && votes(r) {
			last = r
		}
	}
	return last
}

// hasVoted reports whether a vote is its sender's last once more.
func (q *question) hasVoted(r interaction.Response) bool {
	return votes(q.last(r.Reviewer.ID)) && alike(q.last(r.Reviewer.ID), r)
}

// approvals counts the votes for what has most of them.
func (q *question) approvals() (most int) {
	for _, r := range q.answers {
		if votes(r) {
			most = max(most, q.votesFor(r))
		}
	}
	return most
}

// votesFor counts the reviewers who last voted so, by themselves or by one to whom they handed their seat.
func (q *question) votesFor(like interaction.Response) int {
	var seats []string
	for n, r := range q.answers {
		if !votes(r) || !alike(r, like) || !alike(q.last(r.Reviewer.ID), like) {
			continue
		}
		seat := string(r.Reviewer.ID)
		if len(q.seats()) > 0 && !names(q.seats(), seat) {
			for _, d := range slices.Backward(q.answers[:n]) {
				if d.Action == interaction.ActionDelegate && names(d.To, seat) {
					seat = string(d.Reviewer.ID)
					break
				}
			}
		}
		if !slices.Contains(seats, seat) {
			seats = append(seats, seat)
		}
	}
	return len(seats)
}

// take applies an answer against which there is nothing to say.
func (q *question) take(r interaction.Response, now time.Time) {
	q.answers = append(q.answers, r)
	switch r.Action {
	case interaction.ActionPause:
		q.status, q.heldAt = interaction.StatusHeld, now
		q.changes = append(q.changes, interaction.ChangePaused)
	case interaction.ActionResume:
		q.status, q.heldFor = interaction.StatusPending, q.heldFor+now.Sub(q.heldAt)
		q.changes = append(q.changes, interaction.ChangeResumed)
		if q.passed {
			q.status = interaction.StatusCancelled
		}
	case interaction.ActionDelegate:
		q.handed = append(q.handed, handing{by: string(r.Reviewer.ID), to: r.To, until: r.Until})
		q.changes = append(q.changes, interaction.ChangeDelegated)
	case interaction.ActionApprove, interaction.ActionRedact:
		if q.votesFor(r) >= max(q.Quorum, 1) {
			q.status, q.action = interaction.StatusAnswered, r.Action
		}
	default:
		q.status, q.action = interaction.StatusAnswered, r.Action
	}
}

// decide has a rule decide the call, so that nobody needs to answer.
func (q *question) decide(allowed bool) {
	switch {
	case !q.open() || q.kind != interaction.KindPermission:
	case allowed && q.status == interaction.StatusHeld:
		q.passed = true
	default:
		q.status = interaction.StatusCancelled
	}
}

// runOf is the run whose call or stage an interaction is about.
func runOf(id interaction.ID) interaction.RunID {
	run := string(id)
	for range 3 {
		run = run[:max(strings.LastIndex(run, "-"), 0)]
	}
	return interaction.RunID(run)
}

// callOf is the call that an interaction is about.
func callOf(id interaction.ID) interaction.CallID {
	return interaction.CallID(id[:strings.LastIndex(string(id), "-")])
}

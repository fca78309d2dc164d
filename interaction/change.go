package interaction

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// ChangeKind says what happened to an interaction that goes on. The set is closed.
type ChangeKind string

const (
	ChangePaused      ChangeKind = "paused"      // held: its clocks stand
	ChangeResumed     ChangeKind = "resumed"     // its clocks go on
	ChangeDelegated   ChangeKind = "delegated"   // others are asked instead
	ChangeUndelegated ChangeKind = "undelegated" // the time of a delegation is over
	ChangeEscalated   ChangeKind = "escalated"   // more people are asked
	ChangeReminded    ChangeKind = "reminded"    // it still waits
)

// Delegation says who are asked instead of one reviewer, and until when; a zero Until has no end. It hands on that
// reviewer's seat and no other's: who else was asked still is, and for a quorum it counts once.
type Delegation struct {
	By    PrincipalID `json:"by"`
	To    []string    `json:"to"`
	Until time.Time   `json:"until,omitzero"`
}

// Standing is what changes of an interaction that goes on: what a projection of it must follow.
type Standing struct {
	Status      Status        `json:"status"`
	Reviewers   []string      `json:"reviewers,omitempty"`
	Named       []string      `json:"named,omitempty"`
	ExpiresAt   time.Time     `json:"expires_at,omitzero"`
	HeldAt      time.Time     `json:"held_at,omitzero"`
	HeldFor     time.Duration `json:"held_for,omitempty"`
	Delegations []Delegation  `json:"delegations,omitempty"`
	Reminder    int           `json:"reminder,omitempty"`
	Escalation  int           `json:"escalation,omitempty"`
}

// Standing returns how i stands.
func (i Interaction) Standing() Standing {
	r := i.Request
	return Standing{Status: i.Status, Reviewers: r.Reviewers, ExpiresAt: r.ExpiresAt, HeldAt: i.HeldAt, HeldFor: i.HeldFor,
		Named: i.Named, Delegations: i.Delegations, Reminder: r.Reminder, Escalation: r.Escalation}
}

// Stand makes i stand so, unless it has ended, and adds the response that brought it about, if one did and i lacks it.
func (i *Interaction) Stand(s Standing, r *Response) {
	if i.Status.Final() {
		return
	}
	i.Status, i.HeldAt, i.HeldFor, i.Named, i.Delegations = s.Status, s.HeldAt, s.HeldFor, s.Named, s.Delegations
	i.Request.Reviewers, i.Request.ExpiresAt = s.Reviewers, s.ExpiresAt
	i.Request.Reminder, i.Request.Escalation = s.Reminder, s.Escalation
	if r != nil && !slices.ContainsFunc(i.Responses, func(o Response) bool { return o.ID == r.ID }) {
		i.Responses = append(slices.Clone(i.Responses), *r)
	}
}

// Bounds of what an interaction asks of time and people.
const (
	MaxReminders   = 50
	MaxEscalations = 20
	MaxReviewers   = 100 // of one list
	reminderRound  = 10  // after as many reminders the time between two doubles
)

// standing are the actions that every interaction takes, whatever its options are.
var standing = []Action{ActionPause, ActionResume, ActionDelegate}

// change applies an action that does not end the interaction.
func (i *Interaction) change(r Response, now time.Time) {
	switch r.Action {
	case ActionPause:
		i.Status, i.HeldAt = StatusHeld, now.UTC()
	case ActionResume:
		held := now.Sub(i.HeldAt)
		i.HeldFor += held
		if !i.Request.ExpiresAt.IsZero() {
			i.Request.ExpiresAt = i.Request.ExpiresAt.Add(held)
		}
		i.Status, i.HeldAt = StatusPending, time.Time{}
	case ActionDelegate:
		if len(i.Delegations) == 0 {
			i.Named = i.Request.Reviewers
		}
		i.Delegations = append(slices.Clone(i.Delegations), Delegation{By: r.Reviewer.ID, To: slices.Clone(r.To), Until: r.Until.UTC()})
		i.seat()
	}
}

// seat works out who may answer now: those who are named, but for those who delegated, and those to whom they did.
func (i *Interaction) seat() {
	i.Request.Reviewers = i.Named
	if len(i.Delegations) == 0 {
		i.Named = nil
		return
	}
	seated := slices.Clone(i.Named)
	for _, d := range i.Delegations {
		seated = slices.DeleteFunc(seated, func(who string) bool { return who == string(d.By) })
	}
	for _, d := range i.Delegations {
		for _, who := range d.To {
			if !slices.Contains(seated, who) {
				seated = append(seated, who)
			}
		}
	}
	i.Request.Reviewers = seated
}

// delegated reports whether someone has handed on their seat, and so may not answer.
func (i Interaction) delegated(who PrincipalID) bool {
	return who != "" && slices.ContainsFunc(i.Delegations, func(d Delegation) bool { return d.By == who })
}

// Changes reports whether the action keeps the interaction going, and what it does to it.
func (a Action) Changes() (ChangeKind, bool) {
	switch a {
	case ActionPause:
		return ChangePaused, true
	case ActionResume:
		return ChangeResumed, true
	case ActionDelegate:
		return ChangeDelegated, true
	default:
		return "", false
	}
}

// NextAt is when time alone does something to the interaction next. It is zero when nothing is to come, and while the
// interaction is held.
func (i *Interaction) NextAt() time.Time {
	at, _ := i.Next()
	return at
}

// Next is when time alone does something to the interaction next, and what, in a few words for people: its deadline, the
// end of a delegation, an escalation, a reminder.
func (i *Interaction) Next() (next time.Time, what string) {
	if i.Status != StatusPending {
		return next, ""
	}
	for _, due := range []struct {
		at   time.Time
		what string
	}{{i.Request.ExpiresAt, "deadline"}, {i.delegationEnds(), "end of a delegation"}, {i.escalatesAt(), "escalation"}, {i.remindsAt(), "reminder"}} {
		if !due.at.IsZero() && (next.IsZero() || due.at.Before(next)) {
			next, what = due.at, due.what
		}
	}
	return next, what
}

// Tick does what is due by now, but for the deadline, which is Expire's. Each kind of change happens at most once a
// call, however late it is.
func (i *Interaction) Tick(now time.Time) []ChangeKind {
	var done []ChangeKind
	due := func(at time.Time) bool { return i.Status == StatusPending && !at.IsZero() && !now.Before(at) }
	if due(i.delegationEnds()) {
		i.Delegations = slices.DeleteFunc(slices.Clone(i.Delegations), func(d Delegation) bool { return due(d.Until) })
		i.seat()
		done = append(done, ChangeUndelegated)
	}
	escalated := false
	for due(i.escalatesAt()) {
		i.escalate(i.Request.Escalate[i.Request.Escalation].To)
		i.Request.Escalation++
		escalated = true
	}
	if escalated {
		done = append(done, ChangeEscalated)
	}
	reminded := false
	for due(i.remindsAt()) {
		i.Request.Reminder++
		reminded = true
	}
	if reminded {
		done = append(done, ChangeReminded)
	}
	return done
}

// delegationEnds is when the first of the delegations ends.
func (i *Interaction) delegationEnds() (first time.Time) {
	for _, d := range i.Delegations {
		if !d.Until.IsZero() && (first.IsZero() || d.Until.Before(first)) {
			first = d.Until
		}
	}
	return first
}

func (i *Interaction) escalatesAt() time.Time {
	n := i.Request.Escalation
	if n >= len(i.Request.Escalate) {
		return time.Time{}
	}
	return i.Request.CreatedAt.Add(i.Request.Escalate[n].After + i.HeldFor)
}

// escalate asks more people. Where anybody may answer already, naming some would narrow it.
func (i *Interaction) escalate(to []string) {
	named := &i.Request.Reviewers
	if len(i.Delegations) > 0 {
		named = &i.Named
	}
	if len(*named) == 0 {
		return
	}
	all := slices.Clone(*named)
	for _, who := range to {
		if !slices.Contains(all, who) {
			all = append(all, who)
		}
	}
	*named = all
	if len(i.Delegations) > 0 {
		i.seat()
	}
}

// remindsAt is when the next reminder is due: the first ten come RemindEvery apart, the next ten twice as far, and so
// on, fifty in all.
func (i *Interaction) remindsAt() time.Time {
	every, n := i.Request.RemindEvery, i.Request.Reminder
	if every <= 0 || n >= MaxReminders {
		return time.Time{}
	}
	after := i.HeldFor
	for k := 0; k <= n; k++ {
		after += every << (k / reminderRound)
	}
	return i.Request.CreatedAt.Add(after)
}

// SeatOf tells for whom the n-th of the responses speaks under these reviewers: for its sender, who is among them, or for
// one of them who delegated to its sender before. ok is false for a stranger.
func SeatOf(reviewers []string, responses []Response, n int) (seat PrincipalID, ok bool) {
	r := responses[n]
	if Entitled(reviewers, r.Reviewer) {
		return r.Reviewer.ID, true
	}
	for k := n - 1; k >= 0; k-- {
		d := responses[k]
		over := !d.Until.IsZero() && !r.RespondedAt.IsZero() && !r.RespondedAt.Before(d.Until)
		if d.Action == ActionDelegate && !over && len(d.To) > 0 && Entitled(d.To, r.Reviewer) && Entitled(reviewers, d.Reviewer) {
			return d.Reviewer.ID, true
		}
	}
	return "", false
}

// named are the reviewers whose seats there are.
func (i Interaction) named() []string {
	if len(i.Delegations) > 0 {
		return i.Named
	}
	return i.Request.Reviewers
}

// checkStanding checks an action that every interaction takes.
func (i Interaction) checkStanding(r Response) error {
	switch r.Action {
	case ActionResume:
		if i.Status != StatusHeld {
			return refuse(CodeInvalid, "action", "resume goes on with a call that is held, and this one is not")
		}
	case ActionDelegate:
		return i.checkDelegate(r)
	}
	return nil
}

func (i Interaction) checkDelegate(resp Response) error {
	if err := CheckReviewers("to", resp.To); err != nil {
		return err
	}
	r := i.Request
	switch {
	case len(resp.To) == 0:
		return refuse(CodeInvalid, "to", "is missing: name who is asked instead, people or group:NAME")
	case slices.Contains(resp.To, string(resp.Reviewer.ID)):
		return refuse(CodeInvalid, "to", "names you; name others")
	case len(i.Delegations) > 0 && !Entitled(i.Named, resp.Reviewer):
		return refuse(CodeNotEntitled, "reviewer", "you are asked instead of another, who alone may ask somebody else")
	case len(i.named()) == 0 && r.QuorumNeeded() > 1:
		return refuse(CodeInvalid, "action", "anybody may answer this, so there is no seat to hand on")
	case len(i.Delegations) >= MaxReviewers:
		return refuse(CodeTooLarge, "action", "it was delegated %d times, which is all that is taken", MaxReviewers)
	case r.ExcludeRequester && len(resp.To) == 1 && resp.To[0] == string(r.Requester):
		return refuse(CodeInvalid, "to", "%s requested this, and someone else must answer it", quote(resp.To[0]))
	case resp.Reviewer.ID == "":
		return refuse(CodeNotEntitled, "reviewer.id", "is missing: say who delegates")
	case !resp.Until.IsZero() && !resp.RespondedAt.IsZero() && !resp.Until.After(resp.RespondedAt):
		return refuse(CodeInvalid, "until", "is %s, which is over", stamp(resp.Until))
	}
	return nil
}

// CheckReviewers checks a list of people and groups. Field is what an error names.
func CheckReviewers(field string, list []string) error {
	if len(list) > MaxReviewers {
		return refuse(CodeInvalid, field, "has %d entries; at most %d are taken", len(list), MaxReviewers)
	}
	for n, who := range list {
		at := fmt.Sprintf("%s[%d]", field, n)
		switch {
		case who == "" || who == groupPrefix || len(who) > MaxIDBytes || Visible(who) != who || strings.ContainsAny(who, " \t\n"):
			return refuse(CodeInvalid, at, "%s names nobody: write an id or group:NAME, without blanks", quote(who))
		case slices.Contains(list[:n], who):
			return refuse(CodeInvalid, at, "%s comes twice", quote(who))
		}
	}
	return nil
}

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

// Delegation says who are asked instead of an interaction's reviewers, and until when; a zero Until has no end.
type Delegation struct {
	By    PrincipalID `json:"by"`
	To    []string    `json:"to"`
	Until time.Time   `json:"until,omitzero"`
	From  []string    `json:"from,omitempty"` // the reviewers before
}

// Standing is what changes of an interaction that goes on: what a projection of it must follow.
type Standing struct {
	Status     Status        `json:"status"`
	Reviewers  []string      `json:"reviewers,omitempty"`
	ExpiresAt  time.Time     `json:"expires_at,omitzero"`
	HeldAt     time.Time     `json:"held_at,omitzero"`
	HeldFor    time.Duration `json:"held_for,omitempty"`
	Delegation *Delegation   `json:"delegation,omitempty"`
	Reminder   int           `json:"reminder,omitempty"`
	Escalation int           `json:"escalation,omitempty"`
}

// Standing returns how i stands.
func (i Interaction) Standing() Standing {
	r := i.Request
	return Standing{Status: i.Status, Reviewers: r.Reviewers, ExpiresAt: r.ExpiresAt, HeldAt: i.HeldAt, HeldFor: i.HeldFor,
		Delegation: i.Delegation, Reminder: r.Reminder, Escalation: r.Escalation}
}

// Stand makes i stand so, unless it has ended, and adds the response that brought it about, if one did and i lacks it.
func (i *Interaction) Stand(s Standing, r *Response) {
	if i.Status.Final() {
		return
	}
	i.Status, i.HeldAt, i.HeldFor, i.Delegation = s.Status, s.HeldAt, s.HeldFor, s.Delegation
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
		from := i.Request.Reviewers
		if i.Delegation != nil {
			from = i.Delegation.From
		}
		i.Delegation = &Delegation{By: r.Reviewer.ID, To: slices.Clone(r.To), Until: r.Until.UTC(), From: from}
		i.Request.Reviewers = slices.Clone(r.To)
	}
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

// NextAt is when time alone does something to the interaction next: its deadline, the end of a delegation, an
// escalation, a reminder. It is zero when nothing is to come, and while the interaction is held.
func (i Interaction) NextAt() time.Time {
	if i.Status != StatusPending {
		return time.Time{}
	}
	next := i.Request.ExpiresAt
	for _, at := range []time.Time{i.delegationEnds(), i.escalatesAt(), i.remindsAt()} {
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}

// Tick does what is due by now, but for the deadline, which is Expire's. Each kind of change happens at most once a
// call, however late it is.
func (i *Interaction) Tick(now time.Time) []ChangeKind {
	var done []ChangeKind
	due := func(at time.Time) bool { return i.Status == StatusPending && !at.IsZero() && !now.Before(at) }
	if due(i.delegationEnds()) {
		i.Request.Reviewers, i.Delegation = i.Delegation.From, nil
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

func (i Interaction) delegationEnds() time.Time {
	if i.Delegation == nil {
		return time.Time{}
	}
	return i.Delegation.Until
}

func (i Interaction) escalatesAt() time.Time {
	n := i.Request.Escalation
	if n >= len(i.Request.Escalate) {
		return time.Time{}
	}
	return i.Request.CreatedAt.Add(i.Request.Escalate[n].After + i.HeldFor)
}

// escalate asks more people. Where anybody may answer already, naming some would narrow it.
func (i *Interaction) escalate(to []string) {
	lists := []*[]string{&i.Request.Reviewers}
	if i.Delegation != nil {
		lists = append(lists, &i.Delegation.From)
	}
	for _, list := range lists {
		if len(*list) == 0 {
			continue
		}
		all := slices.Clone(*list)
		for _, who := range to {
			if !slices.Contains(all, who) {
				all = append(all, who)
			}
		}
		*list = all
	}
}

// remindsAt is when the next reminder is due: the first ten come RemindEvery apart, the next ten twice as far, and so
// on, fifty in all.
func (i Interaction) remindsAt() time.Time {
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

// EntitledBy reports whether the n-th of the responses came from someone who is among the reviewers, or to whom one of
// them delegated before.
func EntitledBy(reviewers []string, responses []Response, n int) bool {
	if Entitled(reviewers, responses[n].Reviewer) {
		return true
	}
	for k := n - 1; k >= 0; k-- {
		d := responses[k]
		if d.Action != ActionDelegate || !d.Until.IsZero() && !responses[n].RespondedAt.IsZero() && !responses[n].RespondedAt.Before(d.Until) {
			continue
		}
		if len(d.To) > 0 && Entitled(d.To, responses[n].Reviewer) && EntitledBy(reviewers, responses, k) {
			return true
		}
	}
	return false
}

// checkStanding checks an action that every interaction takes.
func (i Interaction) checkStanding(r Response) error {
	switch r.Action {
	case ActionResume:
		if i.Status != StatusHeld {
			return refuse(CodeInvalid, "action", "resume goes on with a call that is held, and this one is not")
		}
	case ActionDelegate:
		return i.Request.checkDelegate(r)
	}
	return nil
}

func (r Request) checkDelegate(resp Response) error {
	if err := CheckReviewers("to", resp.To); err != nil {
		return err
	}
	group := slices.ContainsFunc(resp.To, func(s string) bool { return strings.HasPrefix(s, groupPrefix) })
	switch {
	case len(resp.To) == 0:
		return refuse(CodeInvalid, "to", "is missing: name who is asked instead, people or group:NAME")
	case !group && len(resp.To) < r.QuorumNeeded():
		return refuse(CodeInvalid, "to", "names %d, and %d approvals are needed", len(resp.To), r.QuorumNeeded())
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

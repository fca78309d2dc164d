package interaction_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"holdpoint/interaction"
)

func delegates(who string, to ...string) interaction.Response {
	r := says(who, interaction.ActionDelegate)
	r.To = to
	return r
}

func TestAHeldCallsClocksStand(t *testing.T) {
	t.Parallel()
	i := approval(func(r *interaction.Request) {
		r.ExpiresAt, r.RemindEvery = t0.Add(time.Hour), 20*time.Minute
		r.Reviewers = []string{"ada"}
		r.Escalate = []interaction.Escalation{{After: 30 * time.Minute, To: []string{"bo"}}}
	})
	mustApply(t, &i, says("ada", interaction.ActionPause), t0.Add(10*time.Minute))
	if i.Status != interaction.StatusHeld || !i.NextAt().IsZero() {
		t.Fatalf("held: %s, next at %s", i.Status, i.NextAt())
	}
	if done := i.Tick(t0.Add(24 * time.Hour)); len(done) > 0 {
		t.Errorf("while it is held: %v", done)
	}
	if _, ok := i.Expire(t0.Add(24 * time.Hour)); ok {
		t.Error("it expired while it was held")
	}
	mustApply(t, &i, says("ada", interaction.ActionResume), t0.Add(70*time.Minute))
	if want := t0.Add(2 * time.Hour); i.Status != interaction.StatusPending || !i.Request.ExpiresAt.Equal(want) {
		t.Errorf("resumed: %s until %s, want until %s", i.Status, i.Request.ExpiresAt, want)
	}
	if want := t0.Add(80 * time.Minute); !i.NextAt().Equal(want) {
		t.Errorf("the first reminder comes at %s, want %s", i.NextAt(), want)
	}
	wantError(t, i.Check(says("ada", interaction.ActionResume), t0), interaction.CodeInvalid, "action", "this one is not")
}

func TestDelegation(t *testing.T) {
	t.Parallel()
	i := approval(func(r *interaction.Request) { r.Reviewers = []string{"ada", "group:ops"} })
	d := delegates("ada", "bo")
	d.Until = t0.Add(time.Hour)
	mustApply(t, &i, d, t0)
	wantError(t, i.Check(says("ada", interaction.ActionApprove), t0), interaction.CodeNotEntitled, "reviewer", "asked are \"group:ops, bo\"")
	wantError(t, i.Check(delegates("bo", "cy"), t0), interaction.CodeNotEntitled, "reviewer", "asked instead of another")
	wantError(t, i.Check(says("bo", interaction.ActionApprove), t0), "", "", "")
	eve := says("eve", interaction.ActionReject)
	eve.Reviewer = person("eve", "ops")
	wantError(t, i.Check(eve, t0), "", "", "")
	hand := delegates("eve", "dan")
	hand.Reviewer, hand.Until = eve.Reviewer, t0.Add(2*time.Hour)
	mustApply(t, &i, hand, t0)
	wantError(t, i.Check(eve, t0), interaction.CodeNotEntitled, "reviewer", "delegated this")
	if at := i.NextAt(); !at.Equal(d.Until) {
		t.Errorf("next at %s", at)
	}
	if done := i.Tick(t0.Add(time.Hour)); !slices.Equal(done, []interaction.ChangeKind{interaction.ChangeUndelegated}) ||
		!slices.Equal(i.Request.Reviewers, []string{"ada", "group:ops", "dan"}) {
		t.Errorf("after the first's end: %v, asked are %v", done, i.Request.Reviewers)
	}
	i.Tick(t0.Add(2 * time.Hour))
	if !slices.Equal(i.Request.Reviewers, []string{"ada", "group:ops"}) || len(i.Delegations) > 0 || i.Named != nil {
		t.Errorf("after the last's end: %v, %v, %v", i.Request.Reviewers, i.Delegations, i.Named)
	}
	mustApply(t, &i, says("ada", interaction.ActionApprove), t0)
}

func TestADelegationHandsOnOneSeat(t *testing.T) {
	t.Parallel()
	two := func(r *interaction.Request) { r.Reviewers, r.Quorum = []string{"ada", "bo"}, 2 }
	i := approval(two)
	mustApply(t, &i, delegates("ada", "cy", "dan"), t0)
	mustApply(t, &i, says("cy", interaction.ActionApprove), t0)
	if out := mustApply(t, &i, says("dan", interaction.ActionApprove), t0); out != nil || i.Approvals() != 1 {
		t.Fatalf("two who speak for one count as %d", i.Approvals())
	}
	for who, spent := range map[string]bool{"cy": false, "dan": true, "bo": false} {
		if i.SpentVote(says(who, interaction.ActionApprove)) != spent {
			t.Errorf("that %s has approved already and does not count: want %v", who, spent)
		}
	}
	if out := mustApply(t, &i, says("bo", interaction.ActionApprove), t0); out == nil {
		t.Error("one seat's delegate and the other reviewer are not two")
	}
	veto := approval(two)
	mustApply(t, &veto, delegates("ada", "cy"), t0)
	if out := mustApply(t, &veto, says("bo", interaction.ActionReject), t0); out == nil {
		t.Error("the other reviewer has no veto any more")
	}
	over := approval(two)
	d := delegates("ada", "cy")
	d.Until = t0.Add(time.Hour)
	mustApply(t, &over, d, t0)
	said := says("cy", interaction.ActionApprove)
	said.RespondedAt = t0
	mustApply(t, &over, said, t0)
	over.Tick(t0.Add(time.Hour))
	if over.Approvals() != 1 {
		t.Errorf("what a delegate said in time counts %d times", over.Approvals())
	}
}

func TestDelegationsThatAreRefused(t *testing.T) {
	t.Parallel()
	two := func(r *interaction.Request) { r.Quorum = 2 }
	fourEyes := func(r *interaction.Request) { r.ExcludeRequester, r.Requester = true, "ada" }
	past := delegates("bo", "cy")
	past.Until, past.RespondedAt = t0, t0
	stray := says("bo", interaction.ActionApprove)
	stray.To = []string{"cy"}
	late := says("bo", interaction.ActionPause)
	late.Until = t0
	for name, tt := range map[string]struct {
		change func(*interaction.Request)
		r      interaction.Response
		code   interaction.Code
		field  string
		text   string
	}{
		"nobody":              {nil, delegates("bo"), interaction.CodeInvalid, "to", "is missing"},
		"an empty name":       {nil, delegates("bo", "cy", ""), interaction.CodeInvalid, "to[1]", "names nobody"},
		"an empty group":      {nil, delegates("bo", "group:"), interaction.CodeInvalid, "to[0]", "names nobody"},
		"a hidden character":  {nil, delegates("bo", "c\u200by"), interaction.CodeInvalid, "to[0]", "names nobody"},
		"twice the same":      {nil, delegates("bo", "cy", "cy"), interaction.CodeInvalid, "to[1]", "comes twice"},
		"too many":            {nil, delegates("bo", make([]string, interaction.MaxReviewers+1)...), interaction.CodeInvalid, "to", "at most"},
		"no seat":             {two, delegates("bo", "cy"), interaction.CodeInvalid, "action", "no seat to hand on"},
		"oneself":             {nil, delegates("bo", "cy", "bo"), interaction.CodeInvalid, "to", "names you"},
		"the requester":       {fourEyes, delegates("bo", "ada"), interaction.CodeInvalid, "to", "someone else must answer"},
		"by nobody":           {nil, delegates("", "cy"), interaction.CodeNotEntitled, "reviewer.id", "say who delegates"},
		"until yesterday":     {nil, past, interaction.CodeInvalid, "until", "is over"},
		"to with an approval": {nil, stray, interaction.CodeInvalid, "to", "does not go with approve"},
		"until with a pause":  {nil, late, interaction.CodeInvalid, "until", "does not go with pause"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantError(t, approval(tt.change).Check(tt.r, t0), tt.code, tt.field, tt.text)
		})
	}
	many := approval(func(r *interaction.Request) { r.Reviewers = []string{"group:ops"} })
	for n := range interaction.MaxReviewers {
		d := delegates("", "cy")
		d.Reviewer = person(fmt.Sprint("r", n), "ops")
		mustApply(t, &many, d, t0)
	}
	last := delegates("", "cy")
	last.Reviewer = person("bo", "ops")
	wantError(t, many.Check(last, t0), interaction.CodeTooLarge, "action", "which is all that is taken")
}

func TestEscalationAsksMorePeople(t *testing.T) {
	t.Parallel()
	ladder := []interaction.Escalation{{After: time.Hour, To: []string{"bo", "ada"}}, {After: 2 * time.Hour, To: []string{"group:ops"}}}
	i := approval(func(r *interaction.Request) { r.Reviewers, r.Escalate = []string{"ada"}, ladder })
	wantError(t, i.Check(says("bo", interaction.ActionApprove), t0), interaction.CodeNotEntitled, "reviewer", "may not answer")
	mustApply(t, &i, delegates("ada", "cy"), t0)
	if done := i.Tick(t0.Add(time.Hour)); !slices.Equal(done, []interaction.ChangeKind{interaction.ChangeEscalated}) {
		t.Errorf("after an hour: %v", done)
	}
	if !slices.Equal(i.Request.Reviewers, []string{"bo", "cy"}) {
		t.Errorf("asked are %v", i.Request.Reviewers)
	}
	if at := i.NextAt(); !at.Equal(t0.Add(2 * time.Hour)) {
		t.Errorf("the next rung is at %s", at)
	}
	i.Tick(t0.Add(3 * time.Hour))
	if !slices.Equal(i.Named, []string{"ada", "bo", "group:ops"}) {
		t.Errorf("behind the delegation stand %v", i.Named)
	}
	open := approval(func(r *interaction.Request) { r.Escalate = ladder })
	if open.Tick(t0.Add(5 * time.Hour)); len(open.Request.Reviewers) > 0 || open.Request.Escalation != 2 {
		t.Errorf("where anybody may answer, an escalation left only %v", open.Request.Reviewers)
	}
}

func TestRemindersBackOffAndEnd(t *testing.T) {
	t.Parallel()
	i := approval(func(r *interaction.Request) { r.RemindEvery = time.Hour })
	var gaps []time.Duration
	last := t0
	for !i.NextAt().IsZero() {
		at := i.NextAt()
		gaps, last = append(gaps, at.Sub(last)), at
		if done := i.Tick(at); !slices.Equal(done, []interaction.ChangeKind{interaction.ChangeReminded}) {
			t.Fatalf("reminder %d: %v", len(gaps), done)
		}
	}
	if len(gaps) != interaction.MaxReminders || gaps[0] != time.Hour || gaps[9] != time.Hour || gaps[10] != 2*time.Hour || gaps[49] != 16*time.Hour {
		t.Errorf("%d reminders: %v", len(gaps), gaps)
	}
	late := approval(func(r *interaction.Request) { r.RemindEvery = time.Hour })
	if done := late.Tick(t0.Add(1000 * time.Hour)); len(done) != 1 || late.Request.Reminder != interaction.MaxReminders {
		t.Errorf("after a long time without a worker: %v, %d counted", done, late.Request.Reminder)
	}
}

func TestForWhomSomeoneSpeaks(t *testing.T) {
	t.Parallel()
	until := delegates("ada", "dan")
	until.Until = t0.Add(time.Hour)
	at := func(r interaction.Response, when time.Time) interaction.Response { r.RespondedAt = when; return r }
	for name, tt := range map[string]struct {
		responses []interaction.Response
		seat      interaction.PrincipalID
	}{
		"named":                       {[]interaction.Response{says("ada", "approve")}, "ada"},
		"a stranger":                  {[]interaction.Response{says("bo", "approve")}, ""},
		"a delegate":                  {[]interaction.Response{delegates("ada", "bo"), says("bo", "approve")}, "ada"},
		"a delegate's delegate":       {[]interaction.Response{delegates("ada", "bo"), delegates("bo", "cy"), says("cy", "approve")}, ""},
		"a delegate who asks himself": {[]interaction.Response{until, delegates("dan", "dan"), at(says("dan", "approve"), t0.Add(time.Hour))}, ""},
		"delegated by a stranger":     {[]interaction.Response{delegates("bo", "cy"), says("cy", "approve")}, ""},
		"to another":                  {[]interaction.Response{delegates("ada", "bo"), says("cy", "approve")}, ""},
		"in time":                     {[]interaction.Response{until, at(says("dan", "approve"), t0)}, "ada"},
		"too late":                    {[]interaction.Response{until, at(says("dan", "approve"), t0.Add(time.Hour))}, ""},
	} {
		seat, ok := interaction.SeatOf([]string{"ada"}, tt.responses, len(tt.responses)-1)
		if seat != tt.seat || ok != (tt.seat != "") {
			t.Errorf("%s: %q, %t", name, seat, ok)
		}
	}
}

func TestAProjectionFollows(t *testing.T) {
	t.Parallel()
	truth := approval(func(r *interaction.Request) { r.Reviewers = []string{"ada"} })
	row := truth
	for _, r := range []interaction.Response{delegates("ada", "bo"), says("bo", interaction.ActionPause)} {
		r.ID = interaction.ResponseID(r.Action)
		mustApply(t, &truth, r, t0)
		for range 2 { // a change may come twice
			row.Stand(truth.Standing(), &r)
		}
	}
	if d := cmp.Diff(truth, row); d != "" {
		t.Errorf("the projection differs (-truth +row):\n%s", d)
	}
	mustApply(t, &truth, says("bo", interaction.ActionResume), t0)
	truth.Tick(t0)
	ended := row
	ended.Cancel("over", t0)
	before := ended
	ended.Stand(truth.Standing(), nil)
	if d := cmp.Diff(before, ended); d != "" {
		t.Errorf("what has ended changed:\n%s", d)
	}
}

// TestTimeNeverApproves holds whatever happens to an interaction against what may never happen to one.
func TestTimeNeverApproves(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		i := approval(func(r *interaction.Request) {
			r.RemindEvery = time.Duration(rapid.IntRange(0, 90).Draw(t, "remind")) * time.Minute
			r.Reviewers = []string{"ada"}
			r.Escalate = []interaction.Escalation{{After: time.Hour, To: []string{"bo"}}}
			r.ExpiresAt = t0.Add(5 * time.Hour)
		})
		now := t0
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 120).Draw(t, "minutes")) * time.Minute)
			who := rapid.SampledFrom([]string{"ada", "bo", "cy"}).Draw(t, "who")
			switch rapid.SampledFrom([]string{"pause", "resume", "delegate", "tick", "expire"}).Draw(t, "what") {
			case "pause":
				_, _ = i.Apply(says(who, interaction.ActionPause), now)
			case "resume":
				_, _ = i.Apply(says(who, interaction.ActionResume), now)
			case "delegate":
				_, _ = i.Apply(delegates(who, "cy"), now)
			case "tick":
				i.Tick(now)
			case "expire":
				i.Expire(now)
			}
			if next := i.NextAt(); i.Status == interaction.StatusHeld && !next.IsZero() {
				t.Fatalf("held, and something is due at %s", next)
			}
		}
		if i.Action == interaction.ActionApprove || i.Status == interaction.StatusAnswered || i.Approvals() > 0 {
			t.Fatalf("nobody approved, and it is %s by %s", i.Status, i.Action)
		}
		if i.Status == interaction.StatusExpired && i.ClosedAt.Before(i.Request.ExpiresAt) {
			t.Fatalf("expired at %s, before %s", i.ClosedAt, i.Request.ExpiresAt)
		}
	})
}

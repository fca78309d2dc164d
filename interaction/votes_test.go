package interaction_test

import (
	"testing"
	"time"

	"holdpoint/interaction"
)

// output is a pending question about the output of a call.
func output(change func(*interaction.Request)) interaction.Interaction {
	return approval(func(r *interaction.Request) {
		r.Kind = interaction.KindResult
		if change != nil {
			change(r)
		}
	})
}

func redacts(who, text string) interaction.Response {
	r := says(who, interaction.ActionRedact)
	r.Text = text
	return r
}

func TestOutputShapes(t *testing.T) {
	t.Parallel()
	runShapes(t, output(nil), []shapeCase{
		{"release", `{"action":"approve"}`, "", ""},
		{"withhold", `{"option_id":"withhold","note":"has names"}`, "", ""},
		{"replace", `{"action":"redact","text":"three rows"}`, "", ""},
		{"replace by nothing", `{"action":"redact"}`, "text", "is missing: write"},
		{"replace by blanks", `{"action":"redact","text":" \n"}`, "text", "is missing: write"},
		{"release with text", `{"action":"approve","text":"x"}`, "text", "put remarks in feedback or note"},
		{"withhold with text", `{"action":"withhold","text":"x"}`, "text", "put remarks in feedback or note"},
		{"a call that has run can't be rejected", `{"action":"reject"}`, "action", "reject is not offered; offered are approve, redact, withhold, terminate"},
		{"nor changed", `{"action":"modify_args","args":{}}`, "action", "modify_args is not offered"},
		{"nor skipped", `{"action":"skip"}`, "action", "skip is not offered"},
		{"nor answered", `{"action":"answer","text":"x"}`, "action", "answer is not offered"},
		{"hold", `{"action":"pause"}`, "", ""},
	})
	runShapes(t, approval(func(r *interaction.Request) {
		r.Options = []interaction.Option{{ID: "approve", Action: interaction.ActionApprove}, {ID: "withhold", Action: interaction.ActionWithhold}}
	}), []shapeCase{{"a call that has not run has no output to withhold", `{"action":"withhold"}`, "action", "withhold is not offered"}})
	grant := says("ada", interaction.ActionApprove)
	grant.Grant = &interaction.Grant{Scope: interaction.GrantSession}
	wantError(t, output(nil).Check(grant, t0), interaction.CodeInvalid, "grant", "belongs to the approval of a call")
}

func TestReplacementsCountOnlyWhereTheyAgree(t *testing.T) {
	t.Parallel()
	i := output(func(r *interaction.Request) { r.Quorum = 2 })
	for n, r := range []interaction.Response{redacts("ada", "three rows"), redacts("bob", "four rows"), says("eve", interaction.ActionApprove)} {
		if out := mustApply(t, &i, r, t0); out != nil || i.Approvals() != 1 {
			t.Fatalf("vote %d of three that differ: %+v, %d agree", n, out, i.Approvals())
		}
	}
	wantError(t, i.Check(redacts("ada", "three rows"), t0), interaction.CodeAlreadyDecided, "", "approved already")
	if out := mustApply(t, &i, redacts("bob", "three rows"), t0); out == nil || out.Action != interaction.ActionRedact || out.Status != interaction.StatusAnswered {
		t.Fatalf("two that agree: %+v", out)
	}
	wantError(t, i.Check(says("eve", interaction.ActionApprove), t0), interaction.CodeAlreadyDecided, "", "already decided: redact by ada, bob at")
}

func TestALaterVoteTakesThePlaceOfAnEarlierOne(t *testing.T) {
	t.Parallel()
	i := output(func(r *interaction.Request) { r.Quorum = 2 })
	mustApply(t, &i, says("ada", interaction.ActionApprove), t0)
	mustApply(t, &i, redacts("ada", "three rows"), t0)
	if out := mustApply(t, &i, says("bob", interaction.ActionApprove), t0); out != nil || i.Approvals() != 1 {
		t.Fatalf("who changed their mind still counts: %+v", out)
	}
	if out := mustApply(t, &i, says("ada", interaction.ActionApprove), t0); out == nil || out.Action != interaction.ActionApprove {
		t.Fatalf("both release: %+v", out)
	}
}

func TestOneIsEnoughToWithhold(t *testing.T) {
	t.Parallel()
	i := output(func(r *interaction.Request) { r.Quorum = 3 })
	mustApply(t, &i, says("ada", interaction.ActionApprove), t0)
	if out := mustApply(t, &i, says("bob", interaction.ActionWithhold), t0); out == nil || out.Action != interaction.ActionWithhold {
		t.Fatalf("withheld: %+v", out)
	}
}

func TestAnOutputThatNobodyReleasesIsWithheld(t *testing.T) {
	t.Parallel()
	for named, want := range map[interaction.Action]interaction.Action{"": interaction.ActionWithhold, interaction.ActionApprove: interaction.ActionWithhold,
		interaction.ActionSkip: interaction.ActionWithhold, interaction.ActionRedact: interaction.ActionWithhold, interaction.ActionTerminate: interaction.ActionTerminate} {
		i := output(func(r *interaction.Request) { r.OnTimeout, r.ExpiresAt = named, t0.Add(time.Hour) })
		if out, ok := i.Expire(t0.Add(time.Hour)); !ok || out.Action != want || out.Status != interaction.StatusExpired {
			t.Errorf("on_timeout %q: %+v, want %s", named, out, want)
		}
	}
}

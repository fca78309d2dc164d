package interaction_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"holdpoint/interaction"
)

var t0 = time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)

// approval is a pending tool approval with whatever change makes of it.
func approval(change func(*interaction.Request)) interaction.Interaction {
	r := interaction.Request{ID: "run-1-0-1", Title: "Run bash: make release", ToolName: "bash", Digest: "sha256:ab"}
	if change != nil {
		change(&r)
	}
	return interaction.Open(r, t0)
}

// says answers that interaction as a person would.
func says(who string, a interaction.Action) interaction.Response {
	return interaction.Response{RequestID: "run-1-0-1", Action: a, Reviewer: person(who)}
}

func person(id string, groups ...string) interaction.Principal {
	return interaction.Principal{ID: interaction.PrincipalID(id), Groups: groups}
}

func mustApply(t *testing.T, i *interaction.Interaction, r interaction.Response, at time.Time) *interaction.Outcome {
	t.Helper()
	out, err := i.Apply(r, at)
	if err != nil {
		t.Fatalf("Apply(%s by %s): %v", r.Action, r.Reviewer.ID, err)
	}
	return out
}

func TestOpenFillsWhatAMakerMayLeaveOut(t *testing.T) {
	t.Parallel()
	i := approval(nil)
	if i.Status != interaction.StatusPending || !i.Request.CreatedAt.Equal(t0) ||
		i.Request.Type != interaction.TypeToolApproval || i.Request.Kind != interaction.KindPermission {
		t.Errorf("opened as %+v", i)
	}
	if got := len(i.Request.Options); got != 7 {
		t.Errorf("%d options, want the seven of a tool approval", got)
	}
	if err := i.Request.Validate(); err != nil {
		t.Errorf("an opened request is not valid: %v", err)
	}
}

func TestOpenKeepsWhatIsGivenAndOwnsItsMemory(t *testing.T) {
	t.Parallel()
	choices := []interaction.Option{{ID: "red"}, {ID: "none", Action: interaction.ActionSkip}}
	parts := []interaction.Request{{Type: interaction.TypeSelect, Options: choices}}
	created := t0.Add(-time.Hour)
	i := interaction.Open(interaction.Request{Type: interaction.TypeSelect, Options: choices, Interactions: parts, CreatedAt: created}, t0)
	if !i.Request.CreatedAt.Equal(created) || i.Request.Kind != "" {
		t.Errorf("creation or kind was changed: %+v", i.Request)
	}
	if got := i.Request.Options[0].Action; got != interaction.ActionAnswer {
		t.Errorf("a choice has the action %q, want answer", got)
	}
	if got := i.Request.Interactions[0].Options[0].Action; got != interaction.ActionAnswer {
		t.Errorf("a part's choice has the action %q, want answer", got)
	}
	if choices[0].Action != "" || choices[1].Action != interaction.ActionSkip {
		t.Errorf("the caller's options were changed: %+v", choices)
	}
}

func TestOneAnswerDecides(t *testing.T) {
	t.Parallel()
	for _, action := range []interaction.Action{interaction.ActionApprove, interaction.ActionReject, interaction.ActionRetry,
		interaction.ActionSkip, interaction.ActionTerminate} {
		t.Run(string(action), func(t *testing.T) {
			t.Parallel()
			i := approval(nil)
			out := mustApply(t, &i, says("ada", action), t0.Add(time.Minute))
			if out == nil || out.Status != interaction.StatusAnswered || out.Action != action || out.InteractionID != "run-1-0-1" ||
				len(out.Responses) != 1 || !out.At.Equal(t0.Add(time.Minute)) {
				t.Fatalf("outcome %+v", out)
			}
			if i.Status != interaction.StatusAnswered || i.Action != action || !i.ClosedAt.Equal(out.At) {
				t.Errorf("interaction %+v", i)
			}
			out.Responses[0].Action = "changed"
			if i.Responses[0].Action != action {
				t.Error("the outcome shares memory with the interaction")
			}
		})
	}
}

func TestAResponseIsKeptWithItsOptionsAction(t *testing.T) {
	t.Parallel()
	i := approval(func(r *interaction.Request) { r.Kind = interaction.KindOutcomeUnknown })
	r := says("ada", "")
	r.OptionID = "run_again"
	r.Data = json.RawMessage(" null ")
	out := mustApply(t, &i, r, t0)
	if out.Action != interaction.ActionApprove || i.Responses[0].Action != interaction.ActionApprove || i.Responses[0].Data != nil {
		t.Errorf("kept as %+v", i.Responses[0])
	}
}

func TestQuorumOpensOnlyForDistinctApprovers(t *testing.T) {
	t.Parallel()
	i := approval(func(r *interaction.Request) { r.Quorum = 2 })
	if out := mustApply(t, &i, says("ada", interaction.ActionApprove), t0); out != nil {
		t.Fatalf("one approval of two decided: %+v", out)
	}
	_, err := i.Apply(says("ada", interaction.ActionApprove), t0)
	wantError(t, err, interaction.CodeAlreadyDecided, "", "you have approved already; 1 of 2 approvals")
	if i.Approvals() != 1 || i.Status != interaction.StatusPending {
		t.Fatalf("%d approvals, %s", i.Approvals(), i.Status)
	}
	out := mustApply(t, &i, says("bo", interaction.ActionApprove), t0.Add(time.Hour))
	if out == nil || out.Action != interaction.ActionApprove || len(out.Responses) != 2 || i.Approvals() != 2 {
		t.Fatalf("outcome %+v", out)
	}
	wantError(t, i.Check(says("cy", interaction.ActionReject), t0), interaction.CodeAlreadyDecided, "",
		"already decided: approve by ada, bo at 2026-05-04T10:00:00Z")
}

func TestOneRejectionDecidesWhateverTheQuorum(t *testing.T) {
	t.Parallel()
	i := approval(func(r *interaction.Request) { r.Quorum = 3 })
	mustApply(t, &i, says("ada", interaction.ActionApprove), t0)
	out := mustApply(t, &i, says("ada", interaction.ActionReject), t0)
	if out == nil || out.Action != interaction.ActionReject {
		t.Fatalf("outcome %+v", out)
	}
	wantError(t, i.Check(says("bo", interaction.ActionApprove), t0), interaction.CodeAlreadyDecided, "", "already decided: reject by ada at")
}

func TestARefusedResponseChangesNothing(t *testing.T) {
	t.Parallel()
	i := approval(nil)
	before, _ := json.Marshal(i)
	if out, err := i.Apply(says("ada", "redact"), t0); out != nil || err == nil {
		t.Fatalf("redact gave %+v, %v", out, err)
	}
	if after, _ := json.Marshal(i); string(after) != string(before) {
		t.Errorf("changed from %s to %s", before, after)
	}
}

func TestExpire(t *testing.T) {
	t.Parallel()
	deadline := t0.Add(24 * time.Hour)
	for _, tt := range []struct {
		name      string
		onTimeout interaction.Action
		want      interaction.Action
	}{
		{"rejects unless told otherwise", "", interaction.ActionReject},
		{"skips when told", interaction.ActionSkip, interaction.ActionSkip},
		{"asks to think again when told", interaction.ActionRetry, interaction.ActionRetry},
		{"ends the run when told", interaction.ActionTerminate, interaction.ActionTerminate},
		{"never approves: silence is no consent", interaction.ActionApprove, interaction.ActionReject},
		{"rejects when told what needs a person", interaction.ActionModifyArgs, interaction.ActionReject},
		{"rejects when told nonsense", "explode", interaction.ActionReject},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			i := approval(func(r *interaction.Request) { r.ExpiresAt, r.OnTimeout = deadline, tt.onTimeout })
			if out, ok := i.Expire(deadline.Add(-time.Nanosecond)); ok || out != nil {
				t.Fatal("expired before its deadline")
			}
			out, ok := i.Expire(deadline)
			if !ok || out.Status != interaction.StatusExpired || out.Action != tt.want || i.Action != tt.want {
				t.Fatalf("outcome %+v, %v", out, ok)
			}
			if again, ok := i.Expire(deadline.Add(time.Hour)); ok || again != nil {
				t.Error("expired twice")
			}
			wantError(t, i.Check(says("ada", interaction.ActionApprove), deadline), interaction.CodeExpired, "",
				"expired at 2026-05-05T09:00:00Z: nobody decided by 2026-05-05T09:00:00Z")
		})
	}
}

func TestExpireLeavesAloneWhatHasNoDeadlineOrDoesNotWait(t *testing.T) {
	t.Parallel()
	never := approval(nil)
	if _, ok := never.Expire(t0.AddDate(100, 0, 0)); ok {
		t.Error("expired without a deadline")
	}
	held := approval(func(r *interaction.Request) { r.ExpiresAt = t0 })
	held.Status = interaction.StatusHeld
	if _, ok := held.Expire(t0.Add(time.Hour)); ok {
		t.Error("a held interaction's clock does not run")
	}
}

func TestAnAnswerThatIsAppliedBeforeExpireWinsAtTheDeadline(t *testing.T) {
	t.Parallel()
	i := approval(func(r *interaction.Request) { r.ExpiresAt = t0.Add(time.Hour) })
	late := t0.Add(2 * time.Hour) // the worker was down across the deadline
	if out := mustApply(t, &i, says("ada", interaction.ActionApprove), late); out.Action != interaction.ActionApprove {
		t.Fatalf("outcome %+v", out)
	}
	if _, ok := i.Expire(late); ok {
		t.Error("expired after it was answered")
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	i := approval(nil)
	out, ok := i.Cancel("the run was aborted "+strings.Repeat("é", interaction.MaxNoteBytes), t0)
	if !ok || out.Status != interaction.StatusCancelled || out.Action != "" || len(out.Reason) > interaction.MaxNoteBytes {
		t.Fatalf("outcome %+v, %v", out, ok)
	}
	if _, ok := i.Cancel("again", t0); ok {
		t.Error("cancelled twice")
	}
	wantError(t, i.Check(says("ada", interaction.ActionApprove), t0), interaction.CodeAlreadyDecided, "",
		"already cancelled at 2026-05-04T09:00:00Z: the run was aborted")
}

func TestClosedSets(t *testing.T) {
	t.Parallel()
	for _, s := range []interaction.Status{interaction.StatusAnswered, interaction.StatusExpired, interaction.StatusCancelled} {
		if !s.Final() {
			t.Errorf("%s is not final", s)
		}
	}
	for _, s := range []interaction.Status{interaction.StatusPending, interaction.StatusHeld, ""} {
		if s.Final() {
			t.Errorf("%q is final", s)
		}
	}
	if interaction.Type("poll").Valid() || interaction.Action("APPROVE").Valid() {
		t.Error("a value outside its set is valid")
	}
}

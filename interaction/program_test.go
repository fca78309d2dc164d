package interaction_test

import (
	"slices"
	"testing"
	"time"

	"holdpoint/interaction"
)

// What a program asks is approved, changed or rejected, and nothing else; silence rejects it, whatever it was told.
func TestAProgramIsAnsweredByYesOrNo(t *testing.T) {
	t.Parallel()
	program := func(r *interaction.Request) {
		r.Kind, r.Options = interaction.KindProgram, interaction.StandardOptions(interaction.KindProgram, interaction.TypeToolApproval)
		r.ExpiresAt, r.OnTimeout = t0.Add(time.Hour), interaction.ActionTerminate
	}
	i := approval(program)
	if got := i.Request.Actions(); !slices.Equal(got, []interaction.Action{"approve", "modify_args", "reject"}) {
		t.Errorf("offered are %v", got)
	}
	for _, a := range []interaction.Action{interaction.ActionSkip, interaction.ActionRetry, interaction.ActionTerminate, interaction.ActionAnswer} {
		wantError(t, i.Check(says("ada", a), t0), interaction.CodeInvalid, "action", "is not offered")
	}
	for _, o := range interaction.ProgramOptions(false) {
		if o.Action == interaction.ActionModifyArgs {
			t.Error("arguments that there are not can be changed")
		}
	}
	if out, ok := i.Expire(t0.Add(time.Hour)); !ok || out.Action != interaction.ActionReject {
		t.Errorf("when nobody answers: %+v", out)
	}
}

package interaction_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"holdpoint/interaction"
)

// wantError checks code, field and the start of the message. No code means no error.
func wantError(t *testing.T, err error, code interaction.Code, field, message string) {
	t.Helper()
	if code == "" {
		if err != nil {
			t.Fatalf("refused: %v", err)
		}
		return
	}
	e, ok := errors.AsType[*interaction.Error](err)
	if !ok {
		t.Fatalf("error %v, want %s at %q", err, code, field)
	}
	if e.Code != code || e.Field != field || !strings.Contains(e.Message, message) {
		t.Fatalf("refused as %s at %q: %s\nwant %s at %q: %s", e.Code, e.Field, e.Message, code, field, message)
	}
}

func TestCheckAddress(t *testing.T) {
	t.Parallel()
	deadline := t0.Add(time.Hour)
	for _, tt := range []struct {
		name    string
		change  func(*interaction.Response)
		code    interaction.Code
		field   string
		message string
	}{
		{"the id alone", nil, "", "", ""},
		{"id and digest", func(r *interaction.Response) { r.Digest = "sha256:ab" }, "", "", ""},
		{"another digest", func(r *interaction.Response) { r.Digest = "sha256:cd" }, interaction.CodeDigestMismatch, "digest", `("sha256:cd") is not what is asked ("sha256:ab")`},
		{"another request", func(r *interaction.Response) { r.RequestID = "run-1-0-2" }, interaction.CodeUnknown, "request_id", `is "run-1-0-2", but this is interaction "run-1-0-1"`},
		{"a request of a long id", func(r *interaction.Response) { r.RequestID = interaction.ID(strings.Repeat("é", 200)) }, interaction.CodeUnknown, "request_id", strings.Repeat("é", 100) + `"…, but`},
		{"no request", func(r *interaction.Response) { r.RequestID = "" }, interaction.CodeUnknown, "request_id", `is ""`},
		{"just in time", func(r *interaction.Response) { r.RespondedAt = deadline.Add(-1) }, "", "", ""},
		{"at the deadline", func(r *interaction.Response) { r.RespondedAt = deadline }, interaction.CodeExpired, "", "answered at 2026-05-04T10:00:00Z, after the deadline 2026-05-04T10:00:00Z"},
		{"a date that JSON can't say", func(r *interaction.Response) { r.RespondedAt = deadline.AddDate(9000, 0, 0) }, interaction.CodeInvalid, "", "can't be encoded"},
		{"too large", func(r *interaction.Response) { r.Feedback = strings.Repeat("x", interaction.MaxResponseBytes) }, interaction.CodeTooLarge, "", "at most 65536 are taken"},
		{"a response id too long", func(r *interaction.Response) { r.ID = interaction.ResponseID(strings.Repeat("x", 201)) }, interaction.CodeInvalid, "id", "has 201 bytes; at most 200"},
		{"a response id with a line end", func(r *interaction.Response) { r.ID = "a\nb" }, interaction.CodeInvalid, "id", "control character"},
		{"a reviewer with a control character", func(r *interaction.Response) { r.Reviewer.ID = "a\x1b[2J" }, interaction.CodeInvalid, "reviewer.id", "control character"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			i := approval(func(r *interaction.Request) { r.ExpiresAt = deadline })
			r := says("ada", interaction.ActionApprove)
			if tt.change != nil {
				tt.change(&r)
			}
			wantError(t, i.Check(r, deadline.Add(time.Hour)), tt.code, tt.field, tt.message)
		})
	}
}

func TestCheckSaysFirstWhatHelpsMost(t *testing.T) {
	t.Parallel()
	i := approval(func(r *interaction.Request) { r.Reviewers = []string{"ada"} })
	wrong := interaction.Response{RequestID: "other", Digest: "sha256:cd", Action: "explode"}
	wantError(t, i.Check(wrong, t0), interaction.CodeUnknown, "request_id", "")
	wrong.RequestID = i.Request.ID
	wantError(t, i.Check(wrong, t0), interaction.CodeDigestMismatch, "digest", "")
	wrong.Digest = ""
	wantError(t, i.Check(wrong, t0), interaction.CodeNotEntitled, "reviewer.id", "")
	wrong.Reviewer = person("ada")
	wantError(t, i.Check(wrong, t0), interaction.CodeInvalid, "action", `"explode" is no action; offered are approve, modify_args`)
	mustApply(t, &i, says("ada", interaction.ActionReject), t0)
	wantError(t, i.Check(wrong, t0), interaction.CodeAlreadyDecided, "", "reject by ada")
	wrong.Note = strings.Repeat("x", interaction.MaxResponseBytes)
	wantError(t, i.Check(wrong, t0), interaction.CodeTooLarge, "", "")
}

func TestAnUnknownStatusTakesNothing(t *testing.T) {
	t.Parallel()
	i := approval(nil)
	i.Status = "ajar"
	wantError(t, i.Check(says("ada", interaction.ActionApprove), t0), interaction.CodeInvalid, "", "no known status")
}

func TestWhoDecidedIsNamedAsFarAsKnown(t *testing.T) {
	t.Parallel()
	i := approval(nil)
	mustApply(t, &i, says("", interaction.ActionApprove), t0)
	wantError(t, i.Check(says("ada", interaction.ActionReject), t0), interaction.CodeAlreadyDecided, "", "approve by someone unnamed (straight through Temporal) at")
	i.Responses = nil // as a projection that was read without them
	wantError(t, i.Check(says("ada", interaction.ActionReject), t0), interaction.CodeAlreadyDecided, "", "approve by nobody on record at")
}

func TestCheckEntitled(t *testing.T) {
	t.Parallel()
	reviewers := func(names ...string) func(*interaction.Request) {
		return func(r *interaction.Request) { r.Reviewers = names }
	}
	fourEyes := func(r *interaction.Request) { r.ExcludeRequester, r.Requester = true, "ada" }
	for _, tt := range []struct {
		name    string
		change  func(*interaction.Request)
		who     interaction.Principal
		refused string
		field   string
	}{
		{"anybody where nobody is named", nil, person(""), "", ""},
		{"a named reviewer", reviewers("ada", "group:ops"), person("ada"), "", ""},
		{"a member of a named group", reviewers("ada", "group:ops"), person("bo", "dev", "ops"), "", ""},
		{"someone else", reviewers("ada", "group:ops"), person("bo", "dev"), `"bo" may not answer this; asked are "ada, group:ops"`, "reviewer"},
		{"another case", reviewers("ada"), person("Ada"), "may not answer", "reviewer"},
		{"nobody", reviewers("ada"), person(""), "is missing", "reviewer.id"},
		{"nobody of the right group", reviewers("group:ops"), person("", "ops"), "is missing", "reviewer.id"},
		{"an id that looks like the group", reviewers("group:ops"), person("group:ops"), "may not answer", "reviewer"},
		{"a group that looks like the id", reviewers("ada"), person("bo", "ada"), "may not answer", "reviewer"},
		{"nobody towards a quorum", func(r *interaction.Request) { r.Quorum = 2 }, person(""), "is missing", "reviewer.id"},
		{"the requester", fourEyes, person("ada"), `"ada" requested this`, "reviewer"},
		{"someone other than the requester", fourEyes, person("bo"), "", ""},
		{"nobody, with four eyes", fourEyes, person(""), "is missing", "reviewer.id"},
		{"anybody, when the requester is unknown", func(r *interaction.Request) { r.ExcludeRequester = true }, person("bo"), "does not say who requested it", "reviewer"},
		{"the requester who is a named reviewer", func(r *interaction.Request) { fourEyes(r); r.Reviewers = []string{"group:ops"} }, person("ada", "ops"), "someone else must answer", "reviewer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := says("", interaction.ActionReject)
			r.Reviewer = tt.who
			code := interaction.CodeNotEntitled
			if tt.refused == "" {
				code = ""
			}
			wantError(t, approval(tt.change).Check(r, t0), code, tt.field, tt.refused)
		})
	}
}

func TestEntitled(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		reviewers []string
		who       interaction.Principal
		want      bool
	}{
		{nil, person(""), true},
		{[]string{"ada"}, person("ada"), true},
		{[]string{"ada"}, person("bo"), false},
		{[]string{"group:ops"}, person("bo", "ops"), true},
		{[]string{"group:ops"}, person("", "ops"), false},
		{[]string{""}, person(""), false},
	} {
		if got := interaction.Entitled(tt.reviewers, tt.who); got != tt.want {
			t.Errorf("Entitled(%q, %+v) = %v", tt.reviewers, tt.who, got)
		}
	}
}

func TestHeldTakesOnlyWhatLetsGo(t *testing.T) {
	t.Parallel()
	i := approval(nil)
	i.Status = interaction.StatusHeld
	wantError(t, i.Check(says("ada", interaction.ActionApprove), t0), interaction.CodeInvalid, "action", "approve can't be applied while the call is held")
	wantError(t, i.Check(says("ada", interaction.ActionPause), t0), interaction.CodeInvalid, "action", "pause can't be applied while the call is held")
	wantError(t, i.Check(says("ada", interaction.ActionResume), t0), "", "", "")
	wantError(t, i.Check(says("ada", interaction.ActionTerminate), t0), "", "", "")
}

func TestActionsThatCanNotBeCarriedOutAreRefusedEvenWhereOffered(t *testing.T) {
	t.Parallel()
	for _, a := range []interaction.Action{interaction.ActionProvideInfo, interaction.ActionRedact, interaction.ActionWithhold, interaction.ActionCustom} {
		i := approval(func(r *interaction.Request) {
			r.Options = []interaction.Option{{ID: "it", Action: a}, {ID: "no", Action: interaction.ActionReject}}
		})
		wantError(t, i.Check(says("ada", a), t0), interaction.CodeInvalid, "action", string(a)+" is not offered; offered are reject")
		r := says("ada", "")
		r.OptionID = "it"
		wantError(t, i.Check(r, t0), interaction.CodeInvalid, "action", "is not offered")
	}
	bare := interaction.Interaction{Status: interaction.StatusPending, Request: interaction.Request{ID: "run-1-0-1"}}
	wantError(t, bare.Check(says("ada", interaction.ActionApprove), t0), interaction.CodeInvalid, "action", "offered are none")
}

func TestEditingIsNotForSeveralApprovers(t *testing.T) {
	t.Parallel()
	i := approval(func(r *interaction.Request) { r.Quorum = 2 })
	r := says("ada", interaction.ActionModifyArgs)
	r.Args = json.RawMessage(`{"command":"ls"}`)
	wantError(t, i.Check(r, t0), interaction.CodeInvalid, "action", "with 2 approvals needed, arguments can't be edited")
}

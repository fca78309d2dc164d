package interaction_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"holdpoint/interaction"
)

// sealed is an answer to several questions, two of them secret, as a workflow gets it.
func sealed() interaction.Response {
	return interaction.Response{ID: "r", RequestID: "i", Action: interaction.ActionAnswer, Responses: []interaction.Response{
		{Action: interaction.ActionAnswer, SecretRef: interaction.SecretRef("r", "responses[0]"), SecretDigest: "d0"},
		{Action: interaction.ActionAnswer, Responses: []interaction.Response{{SecretRef: interaction.SecretRef("r", "responses[1].responses[0]"), SecretDigest: "d1"}}}}}
}

func TestSecretsAreGivenByPlaceAndToACopy(t *testing.T) {
	t.Parallel()
	r := sealed()
	places := r.Secrets()
	if len(places) != 2 || places["responses[0]"] != "d0" || places["responses[1].responses[0]"] != "d1" {
		t.Errorf("the secrets are at %v", places)
	}
	given, err := r.GiveSecrets(func(place string) (interaction.SecretValue, error) {
		return interaction.SecretValue{Text: "at " + place}, nil
	})
	if err != nil || given.Responses[0].Text != "at responses[0]" || given.Responses[1].Responses[0].Text != "at responses[1].responses[0]" {
		t.Errorf("given %+v, %v", given, err)
	}
	if r.Responses[0].Text+r.Responses[1].Responses[0].Text != "" {
		t.Error("what was given away has the secrets")
	}
	broken := errors.New("the key is gone")
	if _, err := r.GiveSecrets(func(string) (interaction.SecretValue, error) { return interaction.SecretValue{}, broken }); !errors.Is(err, broken) {
		t.Errorf("a secret that can't be opened: %v", err)
	}
	if left := given.WithoutAnswer(); left.Text != "" || left.Responses != nil || left.ID != "r" {
		t.Errorf("without its answer it is %+v", left)
	}
	if a, b := string(interaction.SecretBound("i", "r", "p")), string(interaction.SecretBound("i1", "r", "p")); a == b {
		t.Errorf("two interactions bind to %s", a)
	}
}

func TestSealedAnswersAreCheckedByReference(t *testing.T) {
	t.Parallel()
	whole := question(interaction.TypeCombined, func(r *interaction.Request) {
		r.Interactions = []interaction.Request{{ID: "key", Type: interaction.TypeInput, Secret: true}, {ID: "deep", Type: interaction.TypeMissingInfo}}
	})
	good := answers(t, `{"action":"answer","responses":[{},{"action":"provide_info","text":"x"}]}`)
	good.Responses[0].SecretRef, good.Responses[0].SecretDigest = "ref", "digest"
	if err := whole.Check(good, t0); err != nil {
		t.Error(err)
	}
	for name, tt := range map[string]struct {
		change func(*interaction.Response)
		want   string
	}{
		"missing":   {func(r *interaction.Response) { r.SecretRef = "" }, "is missing: give the value"},
		"no digest": {func(r *interaction.Response) { r.SecretDigest = "" }, "is not one that the bridge makes"},
		"too long":  {func(r *interaction.Response) { r.SecretRef = strings.Repeat("x", 2*interaction.MaxIDBytes+1) }, "is not one that the bridge makes"},
		"in clear":  {func(r *interaction.Response) { r.Text = "hunter22" }, "sent to Temporal directly"},
	} {
		r := good
		r.Responses = append([]interaction.Response(nil), good.Responses...)
		tt.change(&r.Responses[0])
		if err := whole.Check(r, t0); err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter22") {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

func TestAnOutputIsTakenOutOfWhatOthersSee(t *testing.T) {
	t.Parallel()
	i := interaction.Interaction{Request: interaction.Request{Kind: interaction.KindResult, Details: "rows"},
		Responses: []interaction.Response{{Action: interaction.ActionRedact, Text: "three rows"}}}
	if left := i.WithoutOutput(); left.Request.Details != "" || left.Responses[0].Text != "" || i.Responses[0].Text == "" {
		t.Errorf("left is %+v", left)
	}
	call := interaction.Interaction{Request: interaction.Request{Kind: interaction.KindPermission, Details: "a diff"}}
	if left := call.WithoutOutput(); left.Request.Details != "a diff" {
		t.Error("a call's details are gone")
	}
}

func TestAStageOffersToReplaceItsOutput(t *testing.T) {
	t.Parallel()
	var actions []string
	for _, o := range interaction.StandardOptions(interaction.KindStage, interaction.TypeToolApproval) {
		actions = append(actions, string(o.Action))
	}
	if got := strings.Join(actions, " "); got != "approve redact reject terminate" {
		t.Errorf("it offers %s", got)
	}
}

func TestSecretsThatCantBeTaken(t *testing.T) {
	t.Parallel()
	keep := func(string, interaction.SecretValue) (string, string, error) { return "ref", "digest", nil }
	plain := question(interaction.TypeInput, nil)
	if r, err := plain.Request.TakeSecrets(answers(t, `{"text":"x"}`), keep); err != nil || r.Text != "x" {
		t.Errorf("of a question without secrets: %+v, %v", r, err)
	}
	whole := question(interaction.TypeCombined, func(r *interaction.Request) {
		r.Interactions = []interaction.Request{{ID: "key", Type: interaction.TypeInput, Secret: true}}
	})
	secret := secretQuestion()
	for name, tt := range map[string]struct {
		of interaction.Interaction
		r  interaction.Response
	}{
		"an unknown action": {secret, interaction.Response{Action: "explode"}},
		"a blank part":      {whole, answers(t, `{"responses":[{"text":" "}]}`)},
		"a key twice":       {secret, interaction.Response{Action: interaction.ActionProvideInfo, Data: json.RawMessage(`{"a":1,"a":2}`)}},
	} {
		if _, err := tt.of.Request.TakeSecrets(tt.r, keep); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	if interaction.Stands([]interaction.Response{{Action: interaction.ActionReject}}, 0) {
		t.Error("a rejection is a vote for a release")
	}
}

func TestInfoIsProvidedInTheShapeThatIsAsked(t *testing.T) {
	t.Parallel()
	provide := []interaction.Option{{ID: "provide", Action: interaction.ActionProvideInfo}}
	whole := question(interaction.TypeCombined, func(r *interaction.Request) {
		r.Options = provide
		r.Interactions = []interaction.Request{{ID: "q", Type: interaction.TypeInput, Required: true}}
	})
	line := question(interaction.TypeInput, func(r *interaction.Request) { r.Options = provide })
	for body, of := range map[string]interaction.Interaction{
		`{"action":"provide_info","responses":[{"text":""}]}`: whole,
		`{"action":"provide_info","text":"two\nlines"}`:       line,
	} {
		if err := of.Check(answers(t, body), t0); err == nil {
			t.Errorf("%s was taken", body)
		}
	}
	if err := line.Check(answers(t, `{"action":"provide_info","text":"one line"}`), t0); err != nil {
		t.Error(err)
	}
}

func TestSilenceRejectsAStage(t *testing.T) {
	t.Parallel()
	i := approval(func(r *interaction.Request) {
		r.Kind, r.OnTimeout, r.ExpiresAt = interaction.KindStage, interaction.ActionSkip, t0.Add(1)
	})
	if out, ok := i.Expire(t0.Add(2)); !ok || out.Action != interaction.ActionReject {
		t.Errorf("it ended in %+v", out)
	}
}

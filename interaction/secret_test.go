package interaction_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"holdpoint/interaction"
)

func secretQuestion() interaction.Interaction {
	return question(interaction.TypeMissingInfo, func(r *interaction.Request) { r.Secret = true })
}

func TestSecretsAreTakenOutAndNothingElse(t *testing.T) {
	t.Parallel()
	combined := question(interaction.TypeCombined, func(r *interaction.Request) {
		r.Interactions = []interaction.Request{{ID: "user", Type: interaction.TypeInput},
			{ID: "key", Type: interaction.TypeMissingInfo, Secret: true}, {ID: "pin", Type: interaction.TypeInput, Secret: true}}
	})
	nested := question(interaction.TypeCombined, func(r *interaction.Request) {
		r.Interactions = []interaction.Request{{ID: "all", Type: interaction.TypeCombined, Interactions: combined.Request.Interactions}}
	})
	for _, tt := range []struct {
		name  string
		of    interaction.Interaction
		body  string
		taken map[string]string // by place
	}{
		{"text", secretQuestion(), `{"text":"hunter22"}`, map[string]string{"": `{"text":"hunter22"}`}},
		{"data", secretQuestion(), `{"action":"provide_info","data":{"key":"hunter22"}}`, map[string]string{"": `{"data":{"key":"hunter22"}}`}},
		{"by option", secretQuestion(), `{"option_id":"provide","text":"hunter22","note":"from the vault"}`, map[string]string{"": `{"text":"hunter22"}`}},
		{"by the other word", secretQuestion(), `{"action":"answer","text":"hunter22"}`, map[string]string{"": `{"text":"hunter22"}`}},
		{"parts", combined, `{"responses":[{"text":"ada"},{"text":"hunter22"},{"text":"4711"}]}`,
			map[string]string{"responses[1]": `{"text":"hunter22"}`, "responses[2]": `{"text":"4711"}`}},
		{"a part that is skipped", combined, `{"responses":[{"text":"ada"},{"action":"skip"},{"text":"4711"}]}`, map[string]string{"responses[2]": `{"text":"4711"}`}},
		{"parts of parts", nested, `{"responses":[{"responses":[{"text":"ada"},{"text":"hunter22"},{"text":"4711"}]}]}`,
			map[string]string{"responses[0].responses[1]": `{"text":"hunter22"}`, "responses[0].responses[2]": `{"text":"4711"}`}},
		{"no answer", secretQuestion(), `{"action":"skip","note":"ask ops"}`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := answers(t, tt.body)
			taken := map[string]string{}
			sealed, err := tt.of.Request.TakeSecrets(r, func(place string, v interaction.SecretValue) (string, string, error) {
				b, err := json.Marshal(v)
				taken[place] = string(b)
				return "ref" + place, "digest", err
			})
			if err != nil {
				t.Fatal(err)
			}
			for place, want := range tt.taken {
				if taken[place] != want {
					t.Errorf("at %q was taken %s, want %s", place, taken[place], want)
				}
			}
			if len(taken) != len(tt.taken) || sealed.HasSecret() != (len(tt.taken) > 0) {
				t.Errorf("taken %v of %d", taken, len(tt.taken))
			}
			b, err := json.Marshal(sealed)
			if err != nil || strings.Contains(string(b), "hunter22") || strings.Contains(string(b), "4711") {
				t.Errorf("what goes on is %s (%v)", b, err)
			}
			wantError(t, tt.of.Check(sealed, t0), "", "", "")
			if len(tt.taken) > 0 {
				stranger := r
				stranger.Digest = "sha256:other" // the first thing to be said of it all the same
				for _, inline := range []interaction.Response{r, stranger} {
					if err := tt.of.Check(inline, t0); err == nil || !strings.Contains(err.Error(), "Temporal's history has it now") {
						t.Errorf("a secret that went to Temporal: %v", err)
					}
				}
			}
		})
	}
}

func TestSecretsThatAreRefusedAreNotRepeated(t *testing.T) {
	t.Parallel()
	i := secretQuestion()
	for body, message := range map[string]string{
		`{"action":"provide_info"}`:                                                  "is missing: send the value as text or data",
		`{"action":"provide_info","text":"  "}`:                                      "is missing",
		`{"text":"hunter22","data":1}`:                                               "send one of them",
		`{"text":"hunter22\u0000"}`:                                                  "zero byte",
		`{"text":"hunter22","secret_ref":"r"}`:                                       "is set by the bridge",
		`{"action":"provide_info","data":{"hunter22":1,"hunter22":2}}`:               "is no JSON value that can be taken",
		`{"text":"hunter22` + strings.Repeat("x", interaction.MaxSecretBytes) + `"}`: "a secret has at most",
	} {
		r := interaction.Response{}
		if err := json.Unmarshal([]byte(body), &r); err != nil {
			t.Fatal(err)
		}
		_, err := i.Request.TakeSecrets(r, func(string, interaction.SecretValue) (string, string, error) { return "r", "d", nil })
		if err == nil || !strings.Contains(err.Error(), message) || strings.Contains(err.Error(), "hunter22") {
			t.Errorf("%.60s: %v, want %q", body, err, message)
		}
	}
	line := secretQuestion()
	line.Request.Type = interaction.TypeInput
	_, err := line.Request.TakeSecrets(answers(t, `{"action":"provide_info","text":"hunter22\nhunter23"}`), func(string, interaction.SecretValue) (string, string, error) { return "r", "d", nil })
	if err == nil || !strings.Contains(err.Error(), "must be one line") {
		t.Errorf("two lines where one was asked for: %v", err)
	}
	failed := errors.New("no key")
	if _, err := i.Request.TakeSecrets(answers(t, `{"text":"hunter22"}`), func(string, interaction.SecretValue) (string, string, error) {
		return "", "", failed
	}); !errors.Is(err, failed) {
		t.Errorf("a failure to keep it: %v", err)
	}
}

func TestOnlyTypedAnswersAreSecret(t *testing.T) {
	t.Parallel()
	for _, typ := range []interaction.Type{interaction.TypeConfirm, interaction.TypeToolApproval, interaction.TypeCustom} {
		i := question(typ, func(r *interaction.Request) { r.Secret = true })
		wantError(t, i.Request.Validate(), interaction.CodeInvalid, "secret", "only missing_info and input")
	}
	if err := secretQuestion().Request.Validate(); err != nil {
		t.Error(err)
	}
	if !secretQuestion().Request.Brief().Secret {
		t.Error("the workflow does not know that it is a secret")
	}
}

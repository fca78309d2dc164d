package activities

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"holdpoint/interaction"
)

func TestSecretsAreTakenOutOfWhatAToolReturns(t *testing.T) {
	t.Parallel()
	const secret = `pa"ss <word>/+ü`
	forms := secretForms(secretTexts(interaction.SecretValue{Text: secret}))
	quoted, _ := json.Marshal(secret)
	basic := base64.StdEncoding.EncodeToString([]byte("ada:" + secret))
	for _, text := range []string{secret, string(quoted), `{"k":"pa\"ss <word>/+ü"}`, url.QueryEscape(secret), url.PathEscape(secret),
		base64.StdEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte(secret))} {
		if got := scrub("a "+text+" z", forms); !strings.HasPrefix(got, "a ") || !strings.Contains(got, hidden) || strings.Contains(got, "word") {
			t.Errorf("of %q is left %q", text, got)
		}
	}
	if got := scrub(basic, forms); !strings.Contains(got, hidden) {
		t.Errorf("of a password behind a name is left %q", got)
	}
	if got := scrub("nothing of it here: pass word", forms); got != "nothing of it here: pass word" {
		t.Errorf("what is no secret is %q", got)
	}
}

func TestSecretsThatWereCutAreTakenOut(t *testing.T) {
	t.Parallel()
	forms := secretForms([]string{"hunter22hunter22"})
	for text, want := range map[string]string{
		"a hunter22hun\n… 10 bytes left out …\nz":   "a " + hidden + "\n… 10 bytes left out …\nz",
		"a\n… 10 bytes left out …\nter22hunter22 z": "a\n… 10 bytes left out …\n" + hidden + " z",
		"a hun\n… 10 bytes left out …\nr22 z":       "a hun\n… 10 bytes left out …\nr22 z",
	} {
		if got := scrub(text, forms); got != want {
			t.Errorf("of %q is left %q, want %q", text, got, want)
		}
	}
}

func TestShortTextsAndPartsOfDataAreNoSecretsOfTheirOwn(t *testing.T) {
	t.Parallel()
	forms := secretForms(secretTexts(interaction.SecretValue{Data: json.RawMessage(`{"user":"ada","key":"0123456789","pin":47114711,"more":["abcdefgh"]}`)}))
	if got := scrub("ada has 0123456789, 47114711 and abcdefgh", forms); got != "ada has "+hidden+", "+hidden+" and "+hidden {
		t.Errorf("left is %q", got)
	}
	key := secretForms([]string{"-----BEGIN-----\nMIIEvQIBADAN\nxyz\n-----END-----\n"})
	if got := scrub("first MIIEvQIBADAN then xyz", key); got != "first "+hidden+" then xyz" {
		t.Errorf("of a key's lines is left %q", got)
	}
}

func TestSecretsAreTakenOutOfWhatAToolAsks(t *testing.T) {
	t.Parallel()
	r := scrubRequest(interaction.Request{Title: "Is hunter22 right?", Details: "hunter22", Metadata: map[string]string{"k": "hunter22"},
		Options:      []interaction.Option{{ID: "hunter22", Label: "hunter22", Metadata: map[string]string{"k": "hunter22"}}},
		Interactions: []interaction.Request{{Message: "hunter22"}}}, secretForms([]string{"hunter22"}))
	if b, err := json.Marshal(r); err != nil || strings.Contains(string(b), "hunter22") {
		t.Errorf("it asks %s (%v)", b, err)
	}
}

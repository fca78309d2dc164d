package interaction_test

import (
	"testing"

	"holdpoint/interaction"
)

// A count that has come down to 0 must not turn into "any number", nor an empty time into "for ever".
func TestAStatedZeroIsNotTakenForAnUnsaidOne(t *testing.T) {
	t.Parallel()
	for text, field := range map[string]string{
		`{"request_id":"i","action":"approve","grant":{"scope":"user","max_uses":0}}`:                                        "grant.max_uses",
		`{"request_id":"i","action":"approve","grant":{"scope":"user","max_uses":-0}}`:                                       "grant.max_uses",
		`{"request_id":"i","action":"approve","grant":{"scope":"user","expires_at":"0001-01-01T00:00:00Z"}}`:                 "grant.expires_at",
		`{"request_id":"i","action":"approve","grant":{"scope":"user","expires_at":"0001-01-01T02:00:00+02:00"}}`:            "grant.expires_at",
		`{"request_id":"i","action":"delegate","to":["eve"],"until":"0000-12-31T19:00:00-05:00"}`:                            "until",
		`{"request_id":"i","action":"delegate","to":["eve"],"until":"0001-01-01T00:00:00Z"}`:                                 "until",
		`{"responses":[{"request_id":"i","action":"approve"},{"request_id":"j","grant":{"scope":"user","max_uses":0}}]}`:     "responses[1].grant.max_uses",
		`{"request_id":"i","responses":[{"request_id":"j","action":"approve","grant":{"scope":"user", "max_uses" :  0 } }]}`: "responses[0].grant.max_uses",
	} {
		_, err := interaction.DecodeResponses([]byte(text))
		wantError(t, err, interaction.CodeInvalid, field, "or leave it out for")
		if _, err := interaction.DecodeTaken([]byte(text)); err != nil {
			t.Errorf("a run that has taken %s can't be replayed: %v", text, err)
		}
	}
	for _, text := range []string{
		`{"request_id":"i","action":"approve","grant":{"scope":"user"}}`,
		`{"request_id":"i","action":"approve","grant":{"scope":"user","max_uses":null,"expires_at":null}}`,
		`{"request_id":"i","action":"approve","grant":{"scope":"user","max_uses":1,"expires_at":"2030-01-01T00:00:00Z"}}`,
	} {
		if _, err := interaction.DecodeResponses([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := interaction.DecodeTaken([]byte(`{"request_id":"i","action":"approve","max_uses":0}`)); err == nil {
		t.Error("a field that is none is taken")
	}
}

func TestStrictRefusesStatedZerosOfEveryKind(t *testing.T) {
	t.Parallel()
	type s struct {
		Count *int   `json:"count" unsaid:"any number"`
		In    string `json:"in" unsaid:"no end"`
		Plain int    `json:"plain"`
	}
	for text, want := range map[string][2]string{
		`{"count":0}`: {"count", "is 0: write one above that, or leave it out for any number"},
		`{"in":""}`:   {"in", "is empty: write one, or leave it out for no end"},
	} {
		wantError(t, interaction.Strict([]byte(text), &s{}), interaction.CodeInvalid, want[0], want[1])
	}
	for _, text := range []string{`{"plain":0,"count":1,"in":"1h"}`, `{"count":null,"in":null}`, `{"count":-1}`} {
		wantError(t, interaction.Strict([]byte(text), &s{}), "", "", "")
	}
}

package interaction_test

import (
	"testing"
	"time"

	"holdpoint/interaction"
)

func TestADelegationLeavesSomebodyWhoCanDecide(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	type handing struct{ by, to string }
	for name, tt := range map[string]struct {
		reviewers []string
		quorum    int
		requester string
		before    []handing
		last      handing
		strands   bool
	}{
		"to a stranger":                          {reviewers: []string{"ada", "bob"}, last: handing{"ada", "eve"}},
		"to another who is asked":                {reviewers: []string{"ada", "bob"}, last: handing{"ada", "bob"}},
		"back and forth":                         {reviewers: []string{"ada", "bob"}, before: []handing{{"ada", "bob"}}, last: handing{"bob", "ada"}, strands: true},
		"in a circle":                            {reviewers: []string{"ada", "bob", "cyd"}, before: []handing{{"ada", "bob"}, {"bob", "cyd"}}, last: handing{"cyd", "ada"}, strands: true},
		"anybody, back and forth":                {before: []handing{{"ada", "bob"}}, last: handing{"bob", "ada"}, strands: true},
		"back, and somebody is left":             {reviewers: []string{"ada", "bob", "cyd"}, before: []handing{{"ada", "bob"}}, last: handing{"bob", "ada"}},
		"both of two votes to one":               {reviewers: []string{"ada", "bob"}, quorum: 2, last: handing{"ada", "bob"}, strands: true},
		"one of two votes to a stranger":         {reviewers: []string{"ada", "bob"}, quorum: 2, last: handing{"ada", "eve"}},
		"back to the holder of another vote":     {reviewers: []string{"ada", "bob"}, quorum: 2, before: []handing{{"ada", "eve"}}, last: handing{"bob", "ada"}, strands: true},
		"to a group":                             {reviewers: []string{"ada", "bob"}, quorum: 2, last: handing{"ada", "group:ops"}},
		"the requester alone is left":            {reviewers: []string{"ada", "req"}, requester: "req", before: []handing{{"ada", "eve"}}, last: handing{"ada", "req"}},
		"all but the requester handed it to him": {reviewers: []string{"ada", "bob", "req"}, requester: "req", before: []handing{{"ada", "bob"}}, last: handing{"bob", "ada"}, strands: true},
	} {
		req := interaction.Request{ID: "i", Title: "t", Reviewers: tt.reviewers, Quorum: tt.quorum, Requester: interaction.PrincipalID(tt.requester), ExcludeRequester: tt.requester != ""}
		i := interaction.Open(req, noon)
		hand := func(h handing) interaction.Response {
			return interaction.Response{ID: interaction.ResponseID(h.by + h.to), RequestID: "i", Action: interaction.ActionDelegate, To: []string{h.to},
				Reviewer: interaction.Principal{ID: interaction.PrincipalID(h.by)}, RespondedAt: noon}
		}
		for _, h := range tt.before {
			if _, err := i.Apply(hand(h), noon); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if err := i.Strands(hand(tt.last)); (err != nil) != tt.strands {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := interaction.Open(interaction.Request{ID: "i", Title: "t"}, noon).Strands(interaction.Response{Action: interaction.ActionApprove}); err != nil {
		t.Errorf("an approval: %v", err)
	}
}

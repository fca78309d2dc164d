package api_test

import (
	"testing"
	"time"

	"holdpoint/api"
	"holdpoint/interaction"
)

func TestWhatIsSettledWaitsForNobody(t *testing.T) {
	t.Parallel()
	voted := func(who interaction.PrincipalID, a interaction.Action) interaction.Response {
		return interaction.Response{ID: interaction.ResponseID(who), Action: a, Reviewer: interaction.Principal{ID: who}}
	}
	ada, bob := voted("ada", interaction.ActionApprove), voted("bob", interaction.ActionApprove)
	for name, c := range map[string]struct {
		quorum    int
		submitted bool
		status    interaction.Status
		responses []interaction.Response
		settled   bool
	}{
		"nobody has answered":                    {status: interaction.StatusPending},
		"an answer was accepted":                 {submitted: true, status: interaction.StatusPending, responses: []interaction.Response{ada}, settled: true},
		"one of two":                             {quorum: 2, submitted: true, status: interaction.StatusPending, responses: []interaction.Response{ada}},
		"two of two":                             {quorum: 2, submitted: true, status: interaction.StatusPending, responses: []interaction.Response{ada, bob}, settled: true},
		"one of two, and a rejection":            {quorum: 2, submitted: true, status: interaction.StatusPending, responses: []interaction.Response{ada, voted("bob", interaction.ActionReject)}, settled: true},
		"what was decided has been carried out":  {submitted: true, status: interaction.StatusAnswered, responses: []interaction.Response{ada}},
		"two of two that the record knows alone": {quorum: 2, status: interaction.StatusPending, responses: []interaction.Response{ada, bob}},
	} {
		i := api.Interaction{Request: interaction.Request{Quorum: c.quorum}, Status: c.status, Responses: c.responses}
		if c.submitted {
			i.SubmittedAt = time.Unix(1, 0)
		}
		if i.Settled() != c.settled {
			t.Errorf("%s: settled is %t", name, i.Settled())
		}
	}
}

package api_test

import (
	"strings"
	"testing"

	"holdpoint/interaction"
)

// The output that a question is about is for those who may answer it, not for the run's own user.
func TestAnOutputIsShownToThoseWhoMayReleaseIt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		of   func(*interaction.Request)
		sees map[string]bool
	}{
		{"put to one", func(r *interaction.Request) { r.Reviewers = []string{"rex"} }, map[string]bool{"ada": true, "rex": true, "uma": false}},
		{"put to a group", func(r *interaction.Request) { r.Reviewers = []string{"group:ops"} }, map[string]bool{"rex": true, "uma": false}},
		{"put to anybody but who asked", func(r *interaction.Request) { r.ExcludeRequester, r.Requester = true, "rob" }, map[string]bool{"rex": true, "rob": false, "uma": false}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.park("run-1", "i-1", func(i *interaction.Interaction) {
				tt.of(&i.Request)
				i.Request.Kind, i.Request.Options = interaction.KindResult, interaction.StandardOptions(interaction.KindResult, interaction.TypeToolApproval)
				i.Request.Details = "the whole output"
				i.Responses = []interaction.Response{{ID: "r", RequestID: "i-1", Action: interaction.ActionRedact, Text: "a part of the whole output"}}
			})
			for who, sees := range tt.sees {
				for _, path := range []string{"/v1/interactions/i-1", "/v1/interactions?status=pending", "/v1/interactions?run_id=run-1", "/v1/runs/run-1"} {
					a := b.do(who, "GET", path, "")
					shown := strings.Contains(a.raw, "whole output")
					if want := sees && !strings.HasPrefix(path, "/v1/runs/"); shown != want {
						t.Errorf("%s reads %s: the output is shown %t, want %t (%d)", who, path, shown, want, a.status)
					}
				}
			}
		})
	}
}

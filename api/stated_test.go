package api_test

import (
	"testing"

	"holdpoint/api"
)

// A count that has come down to 0, or an end that a script left empty, must not turn into "any number" or "for ever".
func TestAStatedZeroIsRefused(t *testing.T) {
	t.Parallel()
	var kept *rules
	b := setup(t, permitting(&kept), func(c *api.Config) { c.Tokens = keptTokens{}; c.Approvals = policies{} })
	b.park("r1", "i1")
	const (
		never     = "0001-01-01T00:00:00Z"
		elsewhere = "0001-01-01T01:00:00+01:00" // the same instant
	)
	for _, tt := range []struct {
		who, path, body, location string
		status                    int
	}{
		{"rex", respondPath, `{"action":"approve","grant":{"scope":"session","max_uses":0}}`, "body.grant.max_uses", 400},
		{"rex", respondPath, `{"action":"approve","grant":{"scope":"session","expires_at":"` + never + `"}}`, "body.grant.expires_at", 400},
		{"rex", respondPath, `{"action":"delegate","to":["eve"],"until":"` + never + `"}`, "body.until", 400},
		{"rex", "/v1/interactions/respond", `{"responses":[{"request_id":"i1","action":"approve","grant":{"scope":"session","max_uses":0}}]}`,
			"body.responses[0].grant.max_uses", 400},
		{"ada", "/v1/permissions/uma/allow", `{"pattern":"bash(ls)","max_uses":0}`, "body.max_uses", 400},
		{"ada", "/v1/permissions/uma/allow", `{"pattern":"bash(ls)","expires_in":""}`, "body.expires_in", 400},
		{"ada", "/v1/permissions/uma/allow", `{"pattern":"bash(ls)","expires_at":"` + never + `"}`, "body.expires_at", 400},
		{"ada", "/v1/permissions/uma/allow", `{"pattern":"bash(ls)","expires_at":"` + elsewhere + `"}`, "body.expires_at", 400},
		{"ada", "/v1/permissions/uma/templates/reading", `{"expires_at":"` + elsewhere + `"}`, "body.expires_at", 400},
		{"ada", "/v1/permissions/uma/templates/reading", `{"expires_in":""}`, "body.expires_in", 400},
		{"uma", "/v1/approvals", `{"title":"go on?","quorum":0}`, "body.quorum", 422},
		{"uma", "/v1/approvals", `{"title":"go on?","timeout":""}`, "body.timeout", 422},
		{"uma", "/v1/approvals", `{"title":"go on?","remind_every":""}`, "body.remind_every", 422},
		{"ada", "/v1/tokens", `{"id":"eve","roles":["user"],"expires_in":""}`, "body.expires_in", 422},
		{"ada", "/v1/tokens", `{"id":"eve","roles":["user"],"expires_at":"` + never + `"}`, "body.expires_at", 422},
		{"ada", "/v1/tokens", `{"id":"eve","roles":["user"],"expires_at":"` + elsewhere + `"}`, "body.expires_at", 422},
	} {
		a := b.do(tt.who, "POST", tt.path, tt.body)
		wantProblem(t, a, tt.status, "invalid")
		wantLocation(t, a, tt.location)
	}
	if len(kept.all)+len(b.temporal.updates)+len(b.store.responses) > 0 {
		t.Error("something was saved or sent")
	}
}

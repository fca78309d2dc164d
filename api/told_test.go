package api_test

import (
	"fmt"
	"strings"
	"testing"

	"holdpoint/api"
)

// What is wrong with a body names the field, what was found, and what may stand there, whoever decoded it.
func TestWhatIsWrongWithABodySaysWhatMayStandThere(t *testing.T) {
	t.Parallel()
	var kept *rules
	b := setup(t, permitting(&kept), func(c *api.Config) { c.Tokens = keptTokens{}; c.Approvals = policies{} })
	b.park("r1", "i1")
	for _, tt := range []struct {
		who, path, body, location string
		says                      []string
	}{
		{"uma", "/v1/runs", `{"agent":"fixer","input":"go","sesion_id":"s1"}`, "body.sesion_id", []string{"is no field here; fields are agent, input, metadata, session_id, user_id"}},
		{"uma", "/v1/runs", `{"agent":"fixer","input":7}`, "body.input", []string{"must be string, not 7"}},
		{"uma", "/v1/runs", `{"agent":"fixer"}`, "body.input", []string{"is missing; fields are agent, input"}},
		{"uma", "/v1/runs", `{"agent":"fixer","input":"go","metadata":["a"]}`, "body.metadata", []string{"must be object, not a list"}},
		{"uma", "/v1/runs/r1/control", `{"action":"stop"}`, "body.action", []string{"abort_run", "pause_run", `not "stop"`}},
		{"uma", "/v1/runs/r1/control", `{"acton":"abort_run"}`, "body.acton", []string{"is no field here; fields are action"}},
		{"uma", "/v1/runs/r1/messages", `{"txt":"a","text":"b"}`, "body.txt", []string{"is no field here; fields are text"}},
		{"uma", "/v1/approvals", `{"title":"go on?","risk":"huge"}`, "body.risk", []string{"low, medium, high, critical", `not "huge"`}},
		{"uma", "/v1/approvals", `{"title":"go on?","quorum":"two"}`, "body.quorum", []string{"must be integer", `not "two"`}},
		{"uma", "/v1/approvals", `{"title":"go on?","escalate":[{"after":"1h","to":["a"],"too":1}]}`, "body.escalate[0].too", []string{"is no field here; fields are after, to"}},
		{"ada", "/v1/tokens", `{"id":"eve","roles":["boss"]}`, "body.roles[0]", []string{"user, reviewer, admin, act_for", `not "boss"`}},
		{"ada", "/v1/tokens", `{"id":"eve","roles":["user"],"expires_at":"soon"}`, "body.expires_at", []string{"RFC 3339", `not "soon"`}},
		{"rex", respondPath, `{"acton":"approve"}`, "body.acton", []string{"is no field here; fields are id, request_id, action"}},
		{"rex", respondPath, `{"action":7}`, "body.action", []string{"must be a string, not 7"}},
		{"ada", "/v1/permissions/uma/allow", `{"patern":"bash(ls)"}`, "body.patern", []string{"is no field here; fields are id, pattern"}},
		{"ada", "/v1/permissions/uma/allow", `{"pattern":"bash(ls)","max_uses":"x"}`, "body.max_uses", []string{"must be a whole number"}},
		{"ada", "/v1/permissions/uma/preview", `{"pattern":"bash(ls)","effect":"alow"}`, "body.effect", []string{`unknown effect "alow": use allow, ask or deny`}},
		{"ada", "/v1/permissions/check", `{"tol":"bash"}`, "body.tol", []string{"is no field here; fields are user_id, agent"}},
	} {
		a := b.do(tt.who, "POST", tt.path, tt.body)
		if a.status != 400 && a.status != 422 {
			t.Errorf("%s %s: %d %s", tt.path, tt.body, a.status, a.raw)
			continue
		}
		wantLocation(t, a, tt.location)
		detail, _ := a.body["detail"].(string)
		for _, want := range tt.says {
			if !strings.Contains(detail, want) {
				t.Errorf("%s %s: %q does not say %q", tt.path, tt.body, detail, want)
			}
		}
	}
}

// What a body is made of decides neither how long the answer is, nor what a terminal makes of it.
func TestWhatIsWrongWithABodyIsToldInBounds(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *api.Config) { c.Approvals = policies{} })
	var many strings.Builder
	for n := range 20_000 {
		fmt.Fprintf(&many, `,"%x":1`, n)
	}
	for _, tt := range []struct{ path, body, says string }{
		{"/v1/approvals", `{"title":"go on?"` + many.String() + `}`, "is no field here"},
		{"/v1/approvals", `{"title":"go on?","escalate":[` + strings.Repeat(`{"x":1},`, 20_000) + `{}]}`, "must be array length <= 10"},
		{"/v1/runs", `{"agent":"fixer","input":"go","` + strings.Repeat("k", 100_000) + `":1}`, "is no field here"},
		{"/v1/runs", `{"agent":"fixer","input":"go","` + "\u202e\u009b" + `":1}`, "is no field here"},
	} {
		a := b.do("uma", "POST", tt.path, tt.body)
		wantProblem(t, a, 422, "invalid")
		if !strings.Contains(a.raw, tt.says) || len(a.raw) > 32<<10 || strings.ContainsAny(a.raw, "\u202e\u009b") {
			t.Errorf("%s: %d bytes for %d: %.300q", tt.path, len(a.raw), len(tt.body), a.raw)
		}
	}
}

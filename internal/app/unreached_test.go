package app_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
)

// TestWhoStartsARunIsToldThatItsQuestionsReachNobody looks at a bridge by itself: beside holdpoint dev the inbox is open.
func TestWhoStartsARunIsToldThatItsQuestionsReachNobody(t *testing.T) {
	t.Setenv("TEMPORAL_ADDRESS", apptest.Server(t))
	for name, tc := range map[string]struct{ rules, more, want string }{
		"nobody is named":    {`{match: bash, decision: ask}`, "", `what rule "bash" of policy "main" asks reaches nobody`},
		"what no rule names": {`{match: bash, decision: ask, reviewers: [rex]}`, "", "what no rule of the agent's policy names"},
		"a reviewer":         {`{match: "*", decision: ask, reviewers: [rex]}`, "", ""},
		"a deadline":         {`{match: "*", decision: ask, timeout: 24h}`, "", ""},
		"a notifier":         {`{match: bash, decision: ask}`, "---\ntype: notifier\nname: n\nkind: webhook\nurl: https://example.com/hook\nsecret: whsec_bm90IGEgcmVhbCBzZWNyZXQsIGJ1dCBsb25n\n", ""},
	} {
		o := apptest.Options(t, t.TempDir())
		apptest.WithRules(tc.rules)(&o)
		if tc.more != "" {
			withConfig(tc.more)(&o)
		}
		a, err := app.API(context.Background(), o)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		h := &apptest.Holdpoint{App: a, T: t, Options: o, Client: a.Client()}
		code, body := h.HTTP("POST", "/v1/runs", map[string]any{"agent": "tester", "input": "go", "user_id": "requester"})
		if told := strings.Contains(string(body), `"warnings"`); code != http.StatusCreated || told != (tc.want != "") ||
			!strings.Contains(strings.ReplaceAll(string(body), `\"`, `"`), tc.want) {
			t.Errorf("%s: %d %s", name, code, body)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}

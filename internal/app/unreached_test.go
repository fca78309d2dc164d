package app_test

import (
	"context"
	"encoding/json"
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
		"what no rule names": {`{match: bash, decision: ask, reviewers: [rex]}`, "", "what no rule of the agent's policy names is asked, and reaches nobody"},
		"a reviewer":         {`{match: "*", decision: ask, reviewers: [rex]}`, "", ""},
		"a deadline":         {`{match: "*", decision: ask, timeout: 24h}`, "", ""},
		"of an agent that it calls": {`{match: "*", decision: ask, reviewers: [rex]}`, "agents: [helper]\n---\ntype: agent\nname: helper\nmodel: played\npolicy: open\n---\ntype: policy\nname: open\nrules: [{match: bash, decision: ask}]\n",
			`what rule "bash" of policy "open" asks reaches nobody`},
		"a gate of a workflow that it calls": {`{match: "*", decision: ask, reviewers: [rex]}`, "agents: [signed]\n---\ntype: workflow\nname: signed\nkind: pipeline\nstages: [{name: sign, gate: {}}]\n",
			`what the gate "sign" of workflow "signed" asks reaches nobody`},
		"a notifier": {`{match: bash, decision: ask}`, "---\ntype: notifier\nname: n\nkind: webhook\nurl: https://example.com/hook\nsecret: whsec_bm90IGEgcmVhbCBzZWNyZXQsIGJ1dCBsb25n\n", ""},
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

// TestWhoStartsARunIsToldThatItsQuestionsCanNeverBeApproved has rules and gates that ask for more people than may approve.
func TestWhoStartsARunIsToldThatItsQuestionsCanNeverBeApproved(t *testing.T) {
	t.Parallel()
	h := apptest.Start(t, apptest.WithRules(`{match: bash, decision: ask, reviewers: [ada, bob], quorum: 2, exclude_requester: true}`,
		`{match: file_read, decision: ask, stage: result, reviewers: [ada], exclude_requester: true}`,
		`{match: file_write, decision: ask, reviewers: [ada, bob], exclude_requester: true}`,
		`{match: file_edit, decision: ask, reviewers: [ada], exclude_requester: true, escalate: [{after: 1h, to: [bob]}]}`,
		`{match: ask_human, decision: ask, reviewers: [ada, "group:ops"], quorum: 2, exclude_requester: true}`),
		withConfig("agents: [helper, signed]\n---\ntype: agent\nname: helper\nmodel: played\npolicy: strict\n---\ntype: policy\nname: strict\nrules: [{match: bash, decision: ask, reviewers: [eve], exclude_requester: true}]\n"+
			"---\ntype: workflow\nname: outer\nkind: parallel\nstages:\n  - {name: a, agent: helper}\n  - {name: b, workflow: signed}\n---\ntype: workflow\nname: signed\nkind: pipeline\nstages:\n  - {name: sign, gate: {reviewers: [ada], exclude_requester: true}}\n"))
	for _, tc := range []struct {
		agent, user string
		want        []string
	}{
		{"tester", "ada", []string{`rule "bash" of policy "main" needs 2 approvals by others than ada, and only 1`, `rule "file_read" of policy "main" needs 1 approvals by others than ada, and only 0`,
			`the gate "sign" of workflow "signed" needs 1`}},
		{"tester", "eve", []string{`rule "bash" of policy "strict" needs 1 approvals by others than eve`}},
		{"tester", "zed", nil},
		{"outer", "ada", []string{`the gate "sign" of workflow "signed" needs 1`}},
		{"outer", "eve", []string{`rule "bash" of policy "strict" needs 1`}},
		{"signed", "ada", []string{`the gate "sign" of workflow "signed" needs 1`}},
		{"signed", "bob", nil},
	} {
		code, body := h.HTTP("POST", "/v1/runs", map[string]any{"agent": tc.agent, "input": "go", "user_id": tc.user})
		var started struct{ Warnings []string }
		if err := json.Unmarshal(body, &started); err != nil || code != http.StatusCreated || len(started.Warnings) != len(tc.want) {
			t.Fatalf("%s for %s: %d %s", tc.agent, tc.user, code, body)
		}
		for n, want := range tc.want {
			if !strings.HasPrefix(started.Warnings[n], want) {
				t.Errorf("%s for %s is warned: %s", tc.agent, tc.user, started.Warnings[n])
			}
		}
	}
}

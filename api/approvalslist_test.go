package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"holdpoint/agent"
	"holdpoint/api"
	"holdpoint/interaction"
)

// asked has approvals of several people, and a run that is none.
func asked(t *testing.T) *bridge {
	b := setup(t, func(c *api.Config) { c.Approvals = policies{} })
	for n, a := range []struct {
		id             interaction.RunID
		user, by       interaction.PrincipalID
		reviewer, tool string
	}{{"a1", "uma", "uma", "group:ops", "deploy"}, {"a2", "udo", "bot", "rob", ""}, {"a3", "udo", "udo", "rob", "deploy"}} {
		b.park(a.id, interaction.ID(a.id+"-1"), func(i *interaction.Interaction) { i.Request.Reviewers = []string{a.reviewer} })
		r := &b.store.runs[n]
		r.Agent, r.UserID, r.Requester, r.Ask = agent.ApprovalAgent, a.user, a.by, &agent.Ask{Title: "Go on?", Tool: a.tool, CallbackURL: "https://ci.example.com/secret"}
	}
	b.store.runs[2].Status, b.store.runs[2].Decision = agent.RunCompleted, &agent.Decision{Status: agent.DecisionApproved, By: []interaction.PrincipalID{"rob"}}
	b.park("r4", "i4")
	return b
}

func TestApprovalsAreListedToThoseWhomTheyConcern(t *testing.T) {
	t.Parallel()
	b := asked(t)
	for _, c := range []struct{ who, query, want string }{
		{"ada", "", "a3 a2 a1"}, {"uma", "", "a1"}, {"udo", "", "a3 a2"}, {"bot", "", "a2"}, {"rex", "", "a1"}, {"rob", "", "a3 a2"}, {"nil", "", ""},
		{"ada", "status=pending", "a2 a1"}, {"ada", "status=approved", "a3"}, {"ada", "tool=deploy&user_id=udo", "a3"}, {"ada", "tool=approval", "a2"},
		{"uma", "user_id=udo", ""}, {"bot", "mine=true", "a2"}, {"rob", "mine=true", ""}, {"udo", "mine=true&status=approved", "a3"},
	} {
		for _, size := range []int{1, 50} {
			if got := listedApprovals(t, b, c.who, c.query, size); got != c.want {
				t.Errorf("%s with %q, %d a page: %q, want %q", c.who, c.query, size, got, c.want)
			}
		}
	}
	if a := b.do("rob", "GET", "/v1/approvals", ""); strings.Contains(a.raw, "secret") {
		t.Errorf("a reviewer is told of the callback: %s", a.raw)
	}
	for query, want := range map[string]int{"status=open": 422, "page_token=x": 400, "page_size=0": 422, "state=pending": 422} {
		if a := b.do("ada", "GET", "/v1/approvals?"+query, ""); a.status != want {
			t.Errorf("%s: %d %s", query, a.status, a.raw)
		}
	}
}

func listedApprovals(t *testing.T, b *bridge, who, query string, size int) string {
	t.Helper()
	var ids []string
	token := ""
	for {
		a := b.do(who, "GET", fmt.Sprintf("/v1/approvals?page_size=%d&page_token=%s&%s", size, token, query), "")
		var list api.ApprovalList
		if err := json.Unmarshal([]byte(a.raw), &list); err != nil || a.status != 200 {
			t.Fatalf("%d %s", a.status, a.raw)
		}
		for _, v := range list.Items {
			ids = append(ids, string(v.ApprovalID))
		}
		if token = list.NextPageToken; token == "" {
			return strings.Join(ids, " ")
		}
	}
}

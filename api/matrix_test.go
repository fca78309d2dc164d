package api_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"holdpoint/agent"
	"holdpoint/api"
	"holdpoint/api/adapters"
	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/permission"
	"holdpoint/workflows"
)

// The matrix: every call of the API's description by everybody. uma's run r1 has the question i1, which is put to
// group:ops, of which rex is one; udo is another user, rob another reviewer, nil has no role, ada may everything.
//
// A call that is not in the table fails the test: whoever adds one decides here who may make it.

var matrixRoles = []string{"nil", "uma", "udo", "rex", "rob", "ada"}

// decision is who may make a call on what is uma's.
type decision struct {
	query, body string
	// want are the statuses, in the order of matrixRoles; one alone is everybody's.
	want string
	// public calls need no credentials; of all others, those without and with wrong ones get 401.
	public bool
	// names says that the request names r1 or i1 other than by its path, so that an answer may, too.
	names bool
}

const (
	everybody   = "200"
	ofTheRun    = "404 200 404 200 404 200" // its user's, and those to whom something of it is addressed
	theUser     = "403 200 403 403 403 200"
	theReviewer = "404 403 404 200 404 403" // ada is not of the group
	adminsOnly  = "403 403 403 403 403 200"
	adminsMake  = "403 403 403 403 403 201"
)

var matrix = map[string]decision{
	"start-run":     {body: `{"agent":"fixer","input":"go"}`, want: "403 201 201 403 403 201"},
	"list-runs":     {want: everybody},
	"get-run":       {want: ofTheRun},
	"verify-run":    {want: ofTheRun},
	"list-steps":    {want: ofTheRun},
	"stream-events": {query: "?follow=false", want: ofTheRun},
	"control-run":   {body: `{"action":"abort_run"}`, want: "404 200 404 403 404 200"},
	"send-message":  {body: `{"text":"hello"}`, want: "404 200 404 403 404 200"},
	"list-agents":   {want: everybody},

	"list-interactions":   {want: everybody},
	"get-interaction":     {want: ofTheRun},
	"stream-interactions": {query: "?follow=false", want: everybody},
	"respond":             {body: `{"action":"approve"}`, want: theReviewer},
	"respond-batch":       {body: `{"responses":[{"request_id":"i1","action":"approve"}]}`, want: everybody, names: true},

	"ask-approval":    {body: `{"title":"go on?"}`, want: "403 201 201 403 403 201"},
	"list-approvals":  {want: everybody},
	"get-approval":    {want: ofTheRun},
	"cancel-approval": {body: `{"note":"no"}`, want: "404 200 404 403 404 200"},

	"list-rules":        {want: theUser},
	"allow-pattern":     {body: `{"pattern":"bash(ls)"}`, want: adminsMake},
	"deny-pattern":      {body: `{"pattern":"bash(ls)"}`, want: adminsMake},
	"revoke-rule":       {want: theUser},
	"check":             {body: `{"user_id":"uma","tool":"bash","args":{"command":"ls"}}`, want: theUser},
	"preview-rule":      {body: `{"pattern":"bash(ls)"}`, want: theUser},
	"grant-template":    {body: `{}`, want: adminsMake},
	"list-templates":    {want: everybody},
	"plain-permissions": {want: theUser},
	"plain-allow":       {body: `{"resource":"bash(ls)"}`, want: adminsOnly},
	"plain-deny":        {body: `{"resource":"bash(ls)"}`, want: adminsOnly},

	"audit": {want: everybody},

	"create-token": {body: `{"id":"eve","roles":["user"]}`, want: adminsMake},
	"list-tokens":  {want: adminsOnly},
	"revoke-token": {want: adminsOnly},

	"healthz": {want: everybody, public: true},
	"readyz":  {want: everybody, public: true},
	"metrics": {want: adminsOnly},

	"agio-consent":     {body: `{"tool_call_id":"i1","decision":"deny"}`, want: theReviewer, names: true},
	"agio-events":      {want: ofTheRun},
	"agio-respond":     {body: `{"request_id":"i1","type":"confirm","confirmed":false}`, want: theReviewer},
	"agio-interaction": {want: ofTheRun},
	"hitl-approvals":   {want: everybody},
	"hitl-decide":      {body: `{"toolCallId":"i1","action":"deny","note":"not now"}`, want: theReviewer, names: true},
	"hitl-control":     {body: `{"runId":"r1","action":"pause_run"}`, want: "404 200 404 403 404 200", names: true},
	"hitl-record":      {want: ofTheRun},
	"session-socket":   {want: "426"},
	"react-chat":       {body: `{"message":"go"}`, want: "403 200 200 403 403 200"},
	"react-rejoin":     {query: "?sessionId=s-r1", want: "404 200 404 404 404 200", names: true}, // who may list the run
	"react-answer":     {body: `{"sessionId":"s-r1","requestId":"i1","selectedOptionId":"reject","feedback":"not now"}`, want: theReviewer, names: true},
}

// named are what the paths' parameters are filled with.
var named = map[string]string{"{run_id}": "r1", "{approval_id}": "r1", "{id}": "i1", "{user_id}": "uma", "{rule_id}": "one", "{name}": "reading", "{token_id}": "t1"}

// keptTokens is an api.Tokens with one token.
type keptTokens struct{}

func (keptTokens) CreateToken(_ context.Context, n api.NewToken) (api.TokenInfo, string, error) {
	return api.TokenInfo{TokenID: n.ID, ID: n.Principal.ID, Roles: n.Principal.Roles}, "hpt_new", nil
}

func (keptTokens) Tokens(context.Context, interaction.PrincipalID, int, string) ([]api.TokenInfo, string, error) {
	return []api.TokenInfo{{TokenID: "t1", ID: "uma", Roles: []string{"user"}}}, "", nil
}

func (keptTokens) RevokeToken(_ context.Context, id string, _ interaction.PrincipalID, _ time.Time) (bool, bool, error) {
	return id == "t1", id == "t1", nil
}

// measurements stand for the process's.
type measurements struct{}

func (measurements) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = io.WriteString(w, "holdpoint_pending 1\n")
}

// policies is an api.Approvals with one policy.
type policies struct{}

func (policies) Policies() []string { return []string{"house"} }

func (policies) CheckCallback(string) error { return nil }

// matrixBridge has uma's run, which is an approval.
func matrixBridge(t testing.TB, change ...func(*api.Config)) *bridge {
	t.Helper()
	var kept *rules
	b := setup(t, permitting(&kept), func(c *api.Config) {
		c.Tokens, c.Metrics, c.Approvals = keptTokens{}, measurements{}, policies{}
		for _, more := range change {
			more(c)
		}
	})
	earlier, err := adapters.New(adapters.Config{Bridge: b.api, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	earlier.Mount(b.api.Mount)
	t.Cleanup(func() { _ = earlier.Close() })
	kept.all = []api.StoredRule{{Rule: permission.Rule{ID: "one", Effect: permission.Allow, Pattern: "bash(make)", UserID: "uma", CreatedAt: t0, Source: permission.Source{Layer: permission.LayerUser}}}}
	kept.sets = []api.RuleTemplate{{Name: "reading", Rules: []permission.Rule{{Effect: permission.Allow, Pattern: "bash(cat:*)"}}}}
	b.park("r1", "i1", func(i *interaction.Interaction) { i.Request.Reviewers = []string{"group:ops"} })
	decided := interaction.Response{ID: "a0", Action: interaction.ActionApprove, Reviewer: interaction.Principal{ID: "rex"}, RespondedAt: t0, Note: "as agreed"}
	b.ask("r1", "i0", func(i *interaction.Interaction) {
		i.Request.Reviewers, i.Request.Requester, i.Responses = []string{"group:ops"}, "uma", []interaction.Response{decided}
		i.Status, i.Action, i.ClosedAt = interaction.StatusAnswered, interaction.ActionApprove, t0
	})
	question, _, _ := b.store.Interaction(t.Context(), "i1")
	b.store.emit("r1", event.RunStarted, event.RunStartedData{Input: "go"})
	b.store.emit("r1", event.InteractionRequest, question.Request)
	b.store.emit("r1", event.RunCompleted, event.RunCompletedData{Output: "done"}) // so that streams end
	b.temporal.onStart = func(in workflows.RunInput) {
		b.store.emit(in.RunID, event.RunStarted, event.RunStartedData{Input: in.Input})
		b.store.emit(in.RunID, event.RunCompleted, event.RunCompletedData{Output: "done"})
	}
	b.temporal.onUp = func(o client.UpdateWorkflowOptions) (any, error) {
		b.store.emit("r1", event.RunCompleted, event.RunCompletedData{Output: "done"})
		return applied(o)
	}
	b.store.runs[0].Agent, b.store.runs[0].Ask = agent.ApprovalAgent, &agent.Ask{Title: "go on?"}
	return b
}

// described are the calls of the API's description, by their ids.
func described(t *testing.T, b *bridge) map[string][2]string {
	t.Helper()
	out := map[string][2]string{}
	for _, o := range b.described().Operations() {
		out[o.ID] = [2]string{o.Method, o.Path}
	}
	if len(out) < 20 {
		t.Fatalf("only %d calls are described", len(out))
	}
	return out
}

func filled(path string, with map[string]string) string {
	for name, value := range with {
		path = strings.ReplaceAll(path, name, value)
	}
	return path
}

// TestAReviewerEndsNoStricterRule has rules saved by all roads over ones that say more.
func TestAReviewerEndsNoStricterRule(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		old             permission.Rule
		who, path, body string
		status          int
		code            string
	}{
		"a reviewer's allow over a deny":      {permission.Rule{Effect: permission.Deny}, "rex", "/v1/permissions/uma/allow", `{"pattern":"PATTERN","interaction_id":"i1"}`, 403, "not_entitled"},
		"a reviewer's short deny over a deny": {permission.Rule{Effect: permission.Deny}, "rex", "/v1/permissions/uma/deny", `{"pattern":"PATTERN","interaction_id":"i1","expires_in":"1m"}`, 403, "not_entitled"},
		"a reviewer's allow over an ask":      {permission.Rule{Effect: permission.Ask, Approval: permission.Approval{MaxGrant: permission.GrantUser}}, "rex", "/v1/permissions/uma/allow", `{"pattern":"PATTERN","interaction_id":"i1"}`, 409, "rule_in_the_way"},
		"a reviewer's deny over an ask":       {permission.Rule{Effect: permission.Ask, Approval: permission.Approval{MaxGrant: permission.GrantUser}}, "rex", "/v1/permissions/uma/deny", `{"pattern":"PATTERN","interaction_id":"i1"}`, 409, "rule_in_the_way"},
		"an admin's allow over a deny":        {permission.Rule{Effect: permission.Deny}, "ada", "/v1/permissions/uma/allow", `{"pattern":"PATTERN"}`, 201, ""},
		"an admin's template over a deny":     {permission.Rule{Effect: permission.Deny}, "ada", "/v1/permissions/uma/templates/set", `{}`, 409, "rule_in_the_way"},
	} {
		var kept *rules
		b := setup(t, permitting(&kept))
		b.park("r1", "i1", func(i *interaction.Interaction) { i.Request.Reviewers = []string{"group:ops"} })
		kept.policy = []permission.Rule{{Effect: permission.Ask, Pattern: "bash", Source: permission.Source{Layer: permission.LayerPolicy},
			Approval: permission.Approval{Reviewers: []string{"group:ops"}, MaxGrant: permission.GrantUser}}}
		res, err := kept.Check(t.Context(), api.CheckCall{UserID: "uma", SessionID: "s-r1", Agent: "fixer", Tool: "bash", Args: []byte(`{"command":"rm -rf build"}`)})
		if err != nil || len(res.Decision.SuggestedPatterns) == 0 {
			t.Fatalf("%v %+v", err, res.Decision)
		}
		pattern := res.Decision.SuggestedPatterns[0]
		kept.sets = []api.RuleTemplate{{Name: "set", Rules: []permission.Rule{{Effect: permission.Allow, Pattern: pattern}}}}
		old := c.old
		old.ID, old.Pattern, old.UserID, old.CreatedAt, old.Source.Layer = "old", pattern, "uma", t0, permission.LayerUser
		kept.all = []api.StoredRule{{Rule: old}}
		a := b.do(c.who, "POST", c.path, strings.ReplaceAll(c.body, "PATTERN", pattern))
		if a.status != c.status || c.code != "" && a.body["code"] != c.code {
			t.Errorf("%s: %d %s", name, a.status, a.raw)
		}
		if c.status >= 400 && !kept.all[0].RevokedAt.IsZero() {
			t.Errorf("%s: the old rule has ended", name)
		}
	}
}

func TestEveryCallHasADecisionOnWhoMayMakeIt(t *testing.T) {
	t.Parallel()
	calls := described(t, matrixBridge(t))
	for id := range matrix {
		if _, ok := calls[id]; !ok {
			t.Errorf("the table has %s, which the API's description has not", id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(calls)) {
		d, ok := matrix[id]
		if !ok {
			t.Errorf("%s %s (%s) is in no table: decide who may make it", calls[id][0], calls[id][1], id)
			continue
		}
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			method, path := calls[id][0], filled(calls[id][1], named)+d.query
			for _, who := range []string{"", "mallory"} {
				a := matrixBridge(t).do(who, method, path, d.body)
				if (a.status == 401) == d.public {
					t.Errorf("%q: %d %s", who, a.status, a.raw)
				}
			}
			for n, who := range matrixRoles {
				want := strings.Fields(d.want)
				b := matrixBridge(t)
				a := b.do(who, method, path, d.body)
				if w := want[min(n, len(want)-1)]; fmt.Sprint(a.status) != w {
					t.Errorf("%s: %d, want %s: %s", who, a.status, w, a.raw)
				}
				d.keepsTo(t, b, who, method, calls[id][1], a)
			}
		})
	}
}

// keepsTo checks that an answer tells nobody of what they may not see, and that nothing was done for whom it is refused.
func (d decision) keepsTo(t *testing.T, b *bridge, who, method, path string, a answer) {
	t.Helper()
	if a.status >= 400 && len(b.temporal.updates)+len(b.temporal.starts)+len(b.temporal.signals) > 0 && !d.names && a.body["code"] != "not_entitled" {
		t.Errorf("%s is refused (%d), and something was sent", who, a.status)
	}
	strangers := who == "nil" || who == "udo" || who == "rob"
	if strangers && !d.names && !strings.ContainsAny(path, "{") {
		for _, secret := range []string{`"r1"`, `"i1"`, `"s-r1"`, "rm -rf build"} {
			if strings.Contains(a.raw, secret) {
				t.Errorf("%s is told of %s: %s", who, secret, a.raw)
			}
		}
	}
	if a.status != 404 || who == "ada" {
		return
	}
	nothing := map[string]string{}
	for name := range named {
		nothing[name] = "x1"
	}
	gone := strings.NewReplacer(`"r1"`, `"x1"`, `"i1"`, `"x1"`, "s-r1", "s-x1") // what the body or the query names
	other := b.do(who, method, filled(path, nothing)+gone.Replace(d.query), gone.Replace(d.body))
	same := func(raw string) string {
		for _, v := range volatile {
			raw = v.what.ReplaceAllString(raw, v.by)
		}
		return strings.NewReplacer("r1", "ID", "i1", "ID", "x1", "ID").Replace(raw)
	}
	if other.status != 404 || same(other.raw) != same(a.raw) || fmt.Sprint(other.header["Content-Type"]) != fmt.Sprint(a.header["Content-Type"]) {
		t.Errorf("%s can tell what is there from what is not:\n%s%s", who, a.raw, other.raw)
	}
}

package api_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"holdpoint/api"
	"holdpoint/interaction"
	"holdpoint/permission"
)

// items are the values of a field in a list's items.
func items(a answer, field string) string {
	var out []string
	list, _ := a.body["items"].([]any)
	for _, it := range list {
		out = append(out, fmt.Sprint(it.(map[string]any)[field]))
	}
	return strings.Join(out, " ")
}

func TestRulesAreSavedListedAndRevoked(t *testing.T) {
	t.Parallel()
	var kept *rules
	b := setup(t, permitting(&kept))
	a := b.do("ada", "POST", "/v1/permissions/uma/allow", `{"id":"one","pattern":"bash(npm test)","expires_in":"1d","max_uses":3,`+
		`"where":[{"name":"n","max":5}],"note":"for the release"}`)
	if a.status != 201 || a.body["id"] != "one" || a.body["scope"] != "user" || a.body["in_force"] != true || a.body["granted_by"] != "ada" ||
		a.body["expires_at"] != t0.Add(24*time.Hour).Format(time.RFC3339) || a.body["max_uses"] != 3.0 || a.body["user_id"] != "uma" {
		t.Fatalf("saved: %d %s", a.status, a.raw)
	}
	if a := b.do("ada", "POST", "/v1/permissions/uma/deny", `{"id":"two","pattern":"bash(npm test)","session_id":"s1"}`); a.status != 201 || a.body["scope"] != "session" {
		t.Fatalf("saved: %d %s", a.status, a.raw)
	}
	if a := b.do("ada", "POST", "/v1/permissions/@organisation/deny", `{"id":"all","pattern":"bash(rm:*)"}`); a.status != 201 || a.body["scope"] != "organisation" {
		t.Fatalf("saved: %d %s", a.status, a.raw)
	}
	a = b.do("ada", "POST", "/v1/permissions/uma/deny", `{"id":"three","pattern":"bash(npm test)"}`)
	if replaced, _ := a.body["replaced"].([]any); a.status != 201 || len(replaced) != 1 || replaced[0] != "one" {
		t.Fatalf("saved: %d %s", a.status, a.raw)
	}
	for query, want := range map[string]string{"": "three all two", "?effect=allow": "", "?scope=session": "two", "?scope=organisation": "all",
		"?state=all": "three all two one", "?state=ended": "one", "?page_size=2": "three all"} {
		if got := items(b.do("ada", "GET", "/v1/permissions/uma"+query, ""), "id"); got != want {
			t.Errorf("list %s: %q, want %q", query, got, want)
		}
	}
	first := b.do("ada", "GET", "/v1/permissions/uma?page_size=2", "")
	if got := items(b.do("ada", "GET", "/v1/permissions/uma?page_size=2&page_token="+first.body["next_page_token"].(string), ""), "id"); got != "two" {
		t.Errorf("the second page has %q", got)
	}
	wantProblem(t, b.do("ada", "GET", "/v1/permissions/uma?page_token=x", ""), 400, "invalid")
	wantProblem(t, b.do("ada", "DELETE", "/v1/permissions/uma/nobodys", ""), 404, "not_found")
	if a := b.do("ada", "DELETE", "/v1/permissions/uma/two", ""); a.status != 200 || fmt.Sprint(a.body["revoked"]) != "[two]" {
		t.Errorf("revoked: %d %s", a.status, a.raw)
	}
	if a := b.do("ada", "DELETE", "/v1/permissions/uma/two", ""); a.status != 200 || fmt.Sprint(a.body["revoked"]) != "[]" {
		t.Errorf("revoked again: %d %s", a.status, a.raw)
	}
	if a := b.do("ada", "DELETE", "/v1/permissions/@organisation/all", ""); a.status != 200 || fmt.Sprint(a.body["revoked"]) != "[all]" {
		t.Errorf("revoked for everyone: %d %s", a.status, a.raw)
	}
}

func TestTheRulesOfAPolicyAreShown(t *testing.T) {
	t.Parallel()
	var kept *rules
	b := setup(t, permitting(&kept))
	kept.policy = []permission.Rule{{Effect: permission.Deny, Pattern: "bash(rm:*)", Source: permission.Source{Layer: permission.LayerPolicy, Name: "house", File: "house.yaml", Line: 7}}}
	a := b.do("ada", "GET", "/v1/permissions/uma?agent=fixer", "")
	policy, _ := a.body["policy"].([]any)
	if len(policy) != 1 {
		t.Fatalf("the policy is not shown: %s", a.raw)
	}
	if src := policy[0].(map[string]any)["source"].(map[string]any); src["file"] != "house.yaml" || src["line"] != 7.0 {
		t.Errorf("the source is %v", src)
	}
	wantProblem(t, b.do("ada", "GET", "/v1/permissions/uma?agent=nobody", ""), 422, "unknown_agent")
	if a := b.do("ada", "GET", "/v1/permissions/uma", ""); a.body["policy"] != nil {
		t.Errorf("without an agent: %s", a.raw)
	}
}

func TestRulesThatCantBeSavedAreRefused(t *testing.T) {
	t.Parallel()
	var kept *rules
	b := setup(t, permitting(&kept))
	for body, location := range map[string]string{
		`{"pattern":"*"}`: "body.pattern", `{"pattern":""}`: "body.pattern", `{"pattern":"bash(ls"}`: "body.pattern", `{}`: "body.pattern",
		`{"pattern":"bash(ls)","expires_in":"soon"}`:                                   "body.expires_in",
		`{"pattern":"bash(ls)","expires_in":"-1h"}`:                                    "body.expires_in",
		`{"pattern":"bash(ls)","expires_at":"2020-01-01T00:00:00Z"}`:                   "body.expires_at",
		`{"pattern":"bash(ls)","expires_at":"2036-12-01T00:00:00Z"}`:                   "body.expires_at",
		`{"pattern":"bash(ls)","expires_in":"1h","expires_at":"2026-12-01T00:00:00Z"}`: "body.expires_in",
		`{"pattern":"bash(ls)","max_uses":-1}`:                                         "body.max_uses",
		`{"pattern":"bash(ls)","max_uses":0}`:                                          "body.max_uses",
		`{"pattern":"bash(ls)","expires_in":""}`:                                       "body.expires_in",
		`{"pattern":"bash(ls)","expires_at":"0001-01-01T00:00:00Z"}`:                   "body.expires_at",
		`{"pattern":"bash(ls)","expires_in":"9999d"}`:                                  "body.expires_in",
		`{"pattern":"bash(ls)","id":"a.b"}`:                                            "body.id",
		`{"pattern":"bash(ls)","risk":"huge"}`:                                         "body.risk",
		`{"pattern":"bash(ls)","where":[{"name":"n"}]}`:                                "body.pattern",
		`{"pattern":"bash(ls)","patern":"x"}`:                                          "body.patern",
		`{"pattern":"bash(ls)","pattern":"bash"}`:                                      "body.pattern",
	} {
		a := b.do("ada", "POST", "/v1/permissions/uma/allow", body)
		wantProblem(t, a, 400, "invalid")
		wantLocation(t, a, location)
	}
	if a := b.do("ada", "POST", "/v1/permissions/uma/allow", `{"pattern":"*"}`); !strings.Contains(a.raw, "an allow names its tool") {
		t.Errorf("the engine's reason is not told: %s", a.raw)
	}
	wantProblem(t, b.do("ada", "POST", "/v1/permissions/@organisation/allow", `{"pattern":"bash(ls)"}`), 400, "invalid")
	wantProblem(t, b.do("ada", "POST", "/v1/permissions/uma/deny", `{"pattern":"bash(ls)","max_uses":1}`), 400, "invalid")
	wantProblem(t, b.do("ada", "POST", "/v1/permissions/uma/allow", `{"pattern":"`+strings.Repeat("x", 20_000)+`"}`), 413, "too_large")
	if a := b.do("ada", "POST", "/v1/permissions/uma/allow", `{"id":"x","pattern":"bash(ls)"}`); a.status != 201 {
		t.Fatal(a.raw)
	}
	wantProblem(t, b.do("ada", "POST", "/v1/permissions/uma/allow", `{"id":"x","pattern":"bash"}`), 409, "id_reused")
	if len(kept.all) != 1 {
		t.Errorf("%d rules were kept", len(kept.all))
	}
}

func TestWhoMayDoWhatWithRules(t *testing.T) {
	t.Parallel()
	var kept *rules
	b := setup(t, permitting(&kept))
	if a := b.do("ada", "POST", "/v1/permissions/uma/allow", `{"id":"a","pattern":"bash(ls)"}`); a.status != 201 {
		t.Fatal(a.raw)
	}
	if a := b.do("ada", "POST", "/v1/permissions/uma/deny", `{"id":"d","pattern":"bash(rm:*)"}`); a.status != 201 {
		t.Fatal(a.raw)
	}
	for _, who := range []string{"uma", "rex", "rob", "nil"} {
		for _, call := range []string{"POST /v1/permissions/uma/allow", "POST /v1/permissions/uma/deny", "POST /permissions/uma/allow", "POST /v1/permissions/rex/deny"} {
			method, path, _ := strings.Cut(call, " ")
			body := `{"pattern":"bash(pwd)"}`
			if strings.HasPrefix(path, "/permissions") {
				body = `{"resource":"bash(pwd)"}`
			}
			if a := b.do(who, method, path, body); a.status != 403 {
				t.Errorf("%s: %s was answered %d %s", who, call, a.status, a.raw)
			}
		}
	}
	wantProblem(t, b.do("rex", "GET", "/v1/permissions/uma", ""), 403, "forbidden")
	wantProblem(t, b.do("nil", "GET", "/v1/permissions/nil", ""), 403, "forbidden")
	wantProblem(t, b.do("rex", "POST", "/v1/permissions/check", `{"user_id":"uma","tool":"bash","args":{"command":"ls"}}`), 403, "forbidden")
	wantProblem(t, b.do("rex", "POST", "/v1/permissions/uma/preview", `{"pattern":"bash"}`), 403, "forbidden")
	wantProblem(t, b.do("rex", "DELETE", "/v1/permissions/uma/a", ""), 403, "forbidden")
	wantProblem(t, b.do("uma", "DELETE", "/v1/permissions/uma/d", ""), 403, "forbidden")
	wantProblem(t, b.do("uma", "DELETE", "/v1/permissions/uma/x", ""), 404, "not_found")
	if got := items(b.do("uma", "GET", "/v1/permissions/uma", ""), "id"); got != "d a" {
		t.Errorf("uma sees %q of her own", got)
	}
	if a := b.do("uma", "DELETE", "/v1/permissions/uma/a", ""); a.status != 200 {
		t.Errorf("giving up one's own allow: %d %s", a.status, a.raw)
	}
	if len(kept.all) != 2 {
		t.Errorf("%d rules were kept", len(kept.all))
	}
}

func TestAReviewerMayKeepWhatAQuestionSuggests(t *testing.T) {
	t.Parallel()
	ask := func(change func(*permission.Approval)) []permission.Rule {
		a := permission.Approval{MaxGrant: permission.GrantUser}
		change(&a)
		return []permission.Rule{{Effect: permission.Ask, Pattern: "bash(npm:*)", Approval: a, Source: permission.Source{Layer: permission.LayerPolicy}}}
	}
	anyone := func(*permission.Approval) {}
	const suggested, wider = `"bash(npm run build)"`, `"bash(npm run:*)"`
	for name, tc := range map[string]struct {
		who, pattern, more string
		policy             func(*permission.Approval)
		want               int
	}{
		"what is suggested":           {"rob", suggested, ``, anyone, 201},
		"in its session":              {"rob", suggested, `,"session_id":"s-r1"`, func(a *permission.Approval) { a.MaxGrant = permission.GrantSession }, 201},
		"wider than suggested":        {"rob", wider, ``, anyone, 403},
		"wider than permitted":        {"rob", suggested, ``, func(a *permission.Approval) { a.MaxGrant = permission.GrantSession }, 403},
		"nothing is permitted":        {"rob", suggested, ``, func(a *permission.Approval) { a.MaxGrant = permission.GrantNone }, 403},
		"in another session":          {"rob", suggested, `,"session_id":"s2"`, anyone, 403},
		"others are named":            {"rob", suggested, ``, func(a *permission.Approval) { a.Reviewers = []string{"group:ops"} }, 403},
		"of the group that is named":  {"rex", suggested, ``, func(a *permission.Approval) { a.Reviewers = []string{"group:ops"} }, 201},
		"several must agree":          {"rob", suggested, ``, func(a *permission.Approval) { a.Quorum = 2 }, 403},
		"the user, who is no reviwer": {"uma", suggested, ``, anyone, 403},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var kept *rules
			b := setup(t, permitting(&kept))
			kept.policy = ask(tc.policy)
			b.park("r1", "q1", func(i *interaction.Interaction) { i.Request.ToolArgs = json.RawMessage(`{"command":"npm run build"}`) })
			body := fmt.Sprintf(`{"pattern":%s,"interaction_id":"q1"%s}`, tc.pattern, tc.more)
			a := b.do(tc.who, "POST", "/v1/permissions/uma/allow", body)
			if a.status != tc.want {
				t.Errorf("got %d %s, want %d", a.status, a.raw, tc.want)
			}
			if a := b.do(tc.who, "POST", "/v1/permissions/ada/allow", body); a.status != 403 {
				t.Errorf("for another user: %d %s", a.status, a.raw)
			}
		})
	}
}

func TestACallIsCheckedAndExplained(t *testing.T) {
	t.Parallel()
	var kept *rules
	b := setup(t, permitting(&kept))
	kept.policy = []permission.Rule{{Effect: permission.Allow, Pattern: "bash(git status)", Source: permission.Source{Layer: permission.LayerPolicy}}}
	a := b.do("ada", "POST", "/v1/permissions/check", `{"user_id":"uma","agent":"fixer","tool":"bash","args":{"command":"git status && npm test"}}`)
	parts, _ := a.body["parts"].([]any)
	suggested, _ := a.body["suggested_patterns"].([]any)
	if a.status != 200 || a.body["effect"] != "ask" || len(parts) != 2 || len(suggested) == 0 || !strings.HasPrefix(a.body["explanation"].(string), "ask: ") {
		t.Errorf("checked: %d %s", a.status, a.raw)
	}
	a = b.do("uma", "POST", "/v1/permissions/check", `{"tool":"bash","args_raw":"{\"command\":\"git status\",\"command\":\"rm x\"}"}`)
	if a.status != 200 || a.body["effect"] != "ask" || a.body["malformed"] != true {
		t.Errorf("a key twice: %d %s", a.status, a.raw)
	}
	for _, body := range []string{`{"tool":"bash"}`, `{"tool":"bash","args":{},"args_raw":"{}"}`, `{"args":{}}`, `{"agent":"x","tool":"bash","args":{}}`, `[]`} {
		wantProblem(t, b.do("ada", "POST", "/v1/permissions/check", body), 400, "invalid")
	}
	if len(kept.all) != 0 {
		t.Error("a check saved a rule")
	}
}

func TestAPreviewShowsPastCalls(t *testing.T) {
	t.Parallel()
	var kept *rules
	b := setup(t, permitting(&kept))
	for n, command := range []string{"npm run test:unit", "npm run build", "ls | npm run test", "rm -rf x"} {
		args, _ := json.Marshal(map[string]string{"command": command})
		kept.past = append(kept.past, api.PastCall{CallID: interaction.CallID(fmt.Sprint(n)), Tool: "bash", Args: args,
			Call: permission.Call{Tool: permission.BuiltinTool("bash"), Args: args, Now: t0}})
	}
	a := b.do("uma", "POST", "/v1/permissions/uma/preview", `{"pattern":"bash(npm run test:*)"}`)
	if items(a, "call_id") != "0 2" || a.body["looked_at"] != 4.0 || a.body["complete"] != true {
		t.Errorf("preview: %d %s", a.status, a.raw)
	}
	if a := b.do("ada", "POST", "/v1/permissions/uma/preview", `{"pattern":"bash(rm:*)","effect":"deny","limit":3}`); items(a, "call_id") != "" || a.body["looked_at"] != 3.0 {
		t.Errorf("preview of a deny: %d %s", a.status, a.raw)
	}
	for _, body := range []string{`{"pattern":"*"}`, `{"pattern":"bash","limit":5000}`, `{"pattern":"bash","effect":"maybe"}`} {
		wantProblem(t, b.do("ada", "POST", "/v1/permissions/uma/preview", body), 400, "invalid")
	}
}

func TestATemplateIsGrantedAndRevokedTogether(t *testing.T) {
	t.Parallel()
	var kept *rules
	b := setup(t, permitting(&kept))
	kept.sets = []api.RuleTemplate{{Name: "read-only-git", Description: "Looking", Rules: []permission.Rule{
		{Effect: permission.Allow, Pattern: "bash(git status)"}, {Effect: permission.Allow, Pattern: "bash(git log:*)"}, {Effect: permission.Deny, Pattern: "bash(git push:*)"}}}}
	if a := b.do("uma", "GET", "/v1/permission-templates", ""); items(a, "name") != "read-only-git" {
		t.Errorf("templates: %s", a.raw)
	}
	wantProblem(t, b.do("rex", "POST", "/v1/permissions/uma/templates/read-only-git", `{}`), 403, "forbidden")
	wantProblem(t, b.do("ada", "POST", "/v1/permissions/uma/templates/other", `{}`), 404, "not_found")
	wantProblem(t, b.do("ada", "POST", "/v1/permissions/@organisation/templates/read-only-git", `{}`), 400, "invalid")
	for range 2 { // the second does nothing
		a := b.do("ada", "POST", "/v1/permissions/uma/templates/read-only-git", `{"id":"git","session_id":"s1","expires_in":"8h"}`)
		list, _ := a.body["rules"].([]any)
		if a.status != 201 || a.body["id"] != "git" || len(list) != 3 {
			t.Fatalf("granted: %d %s", a.status, a.raw)
		}
		one := list[1].(map[string]any)
		if one["id"] != "git.2" || one["session_id"] != "s1" || one["note"] != "template read-only-git" || one["expires_at"] == nil {
			t.Errorf("the second rule is %v", one)
		}
	}
	if a := b.do("ada", "DELETE", "/v1/permissions/uma/git", ""); fmt.Sprint(a.body["revoked"]) != "[git.1 git.2 git.3]" {
		t.Errorf("revoked: %s", a.raw)
	}
}

func TestTheEarlierProtocolOverTheSameRules(t *testing.T) {
	t.Parallel()
	var kept *rules
	b := setup(t, permitting(&kept))
	want := func(allow, deny string) {
		t.Helper()
		a := b.do("ada", "GET", "/permissions/uma", "")
		if fmt.Sprint(a.body["allow"]) != allow || fmt.Sprint(a.body["deny"]) != deny {
			t.Errorf("got %s", a.raw)
		}
	}
	want("[]", "[]")
	a := b.do("ada", "POST", "/permissions/uma/allow", `{"resource":"bash(npm run lint)"}`)
	if a.status != 200 || a.body["status"] != "ok" || a.body["message"] != "Permission allowed: bash(npm run lint)" {
		t.Errorf("allowed: %d %s", a.status, a.raw)
	}
	want("[bash(npm run lint)]", "[]")
	if a := b.do("ada", "POST", "/permissions/uma/deny", `{"resource":"bash(npm run lint)"}`); a.body["message"] != "Permission denied: bash(npm run lint)" {
		t.Errorf("denied: %d %s", a.status, a.raw)
	}
	want("[]", "[bash(npm run lint)]")
	a = b.do("ada", "POST", "/permissions/uma/allow", `{"resource":"*"}`)
	wantProblem(t, a, 400, "invalid")
	wantLocation(t, a, "body.resource")
	wantProblem(t, b.do("ada", "POST", "/permissions/uma/allow", `{}`), 400, "invalid")
}

func TestSavingARuleTellsWhatWaits(t *testing.T) {
	t.Parallel()
	var kept *rules
	b := setup(t, permitting(&kept))
	b.park("r1", "q1")
	told := func() int { b.temporal.mu.Lock(); defer b.temporal.mu.Unlock(); return len(b.temporal.signals) }
	for n, call := range []string{"POST /v1/permissions/uma/allow", "POST /v1/permissions/uma/deny"} {
		method, path, _ := strings.Cut(call, " ")
		if a := b.do("ada", method, path, `{"id":"`+fmt.Sprint("x", n)+`","pattern":"bash(ls)"}`); a.status != 201 {
			t.Fatal(a.raw)
		}
		if got := told(); got != n+1 {
			t.Errorf("after %s the run was told %d times", call, got)
		}
	}
	b.do("ada", "DELETE", "/v1/permissions/uma/x1", "")
	if got := told(); got != 3 {
		t.Errorf("after a revocation the run was told %d times", got)
	}
}

func TestTheDescriptionHasTheCallsAboutRules(t *testing.T) {
	t.Parallel()
	var kept *rules
	with, without := setup(t, permitting(&kept)), setup(t)
	for _, path := range []string{"/v1/permissions/{user_id}", "/v1/permissions/check", "/v1/permissions/{user_id}/preview", "/permissions/{user_id}/allow"} {
		paths, _ := with.do("", "GET", "/openapi.json", "").body["paths"].(map[string]any)
		if paths[path] == nil {
			t.Errorf("the description lacks %s", path)
		}
	}
	if raw := without.do("", "GET", "/openapi.json", "").raw; strings.Contains(raw, "permissions") {
		t.Error("a bridge without rules describes calls about them")
	}
	schema := with.do("", "GET", "/openapi.json", "").body["components"].(map[string]any)["schemas"].(map[string]any)
	if c := schema["PermissionCondition"].(map[string]any)["properties"].(map[string]any); c["max"].(map[string]any)["type"] != "number" {
		t.Errorf("a bound is described as %v", c["max"])
	}
	effect := schema["RuleView"].(map[string]any)["properties"].(map[string]any)["effect"]
	if !slices.Contains([]any{"string"}, effect.(map[string]any)["type"]) {
		t.Errorf("an effect is described as %v", effect)
	}
}

package permission

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func lsCall() Call {
	return Call{Tool: BuiltinTool("bash"), Args: []byte(`{"command":"ls"}`), Workspace: "/w", UserID: "u1", SessionID: "s1", Now: noon}
}

func stored(layer Layer, user, session string) Rule {
	return Rule{ID: "g", Effect: Allow, Pattern: "bash(ls:*)", Source: Source{Layer: layer}, UserID: user, SessionID: session}
}

func askRule(grant GrantScope) Rule {
	return Rule{Effect: Ask, Pattern: "bash(ls:*)", Source: Source{Layer: LayerPolicy}, Approval: Approval{MaxGrant: grant}}
}

func TestStoredGrants(t *testing.T) {
	t.Parallel()
	expired, valid := stored(LayerUser, "u1", ""), stored(LayerUser, "u1", "")
	expired.ExpiresAt, valid.ExpiresAt = noon, noon.Add(1)
	anonymous := lsCall()
	anonymous.UserID = ""
	timeless := lsCall()
	timeless.Now = time.Time{}
	for name, c := range map[string]struct {
		rules []Rule
		call  Call
		want  Effect
	}{
		"a user grant":                                  {[]Rule{stored(LayerUser, "u1", "")}, lsCall(), Allow},
		"another user's grant":                          {[]Rule{stored(LayerUser, "u2", "")}, lsCall(), Ask},
		"a user grant without a user":                   {[]Rule{stored(LayerUser, "", "")}, lsCall(), Ask},
		"a call without a user":                         {[]Rule{stored(LayerUser, "u1", "")}, anonymous, Ask},
		"a grant and a call without a user":             {[]Rule{stored(LayerUser, "", "")}, anonymous, Ask},
		"a session grant":                               {[]Rule{stored(LayerSession, "u1", "s1")}, lsCall(), Allow},
		"a session grant of another session":            {[]Rule{stored(LayerSession, "u1", "s2")}, lsCall(), Ask},
		"a session grant without a session":             {[]Rule{stored(LayerSession, "u1", "")}, lsCall(), Ask},
		"a session grant of another user":               {[]Rule{stored(LayerSession, "u2", "s1")}, lsCall(), Ask},
		"a grant at the instant it expires":             {[]Rule{expired}, lsCall(), Ask},
		"a grant just before it expires":                {[]Rule{valid}, lsCall(), Allow},
		"an expiring grant when the time is unknown":    {[]Rule{valid}, timeless, Ask},
		"an ask that permits no grant":                  {[]Rule{stored(LayerUser, "u1", ""), askRule(GrantNone)}, lsCall(), Ask},
		"an ask that says nothing about grants":         {[]Rule{stored(LayerUser, "u1", ""), askRule(GrantUnset)}, lsCall(), Ask},
		"an ask that permits user grants":               {[]Rule{stored(LayerUser, "u1", ""), askRule(GrantUser)}, lsCall(), Allow},
		"an ask that permits user grants, in a session": {[]Rule{stored(LayerSession, "u1", "s1"), askRule(GrantUser)}, lsCall(), Allow},
		"an ask that permits session grants":            {[]Rule{stored(LayerSession, "u1", "s1"), askRule(GrantSession)}, lsCall(), Allow},
		"a user grant against a session ask":            {[]Rule{stored(LayerUser, "u1", ""), askRule(GrantSession)}, lsCall(), Ask},
		"two asks, one of them without grants":          {[]Rule{stored(LayerUser, "u1", ""), askRule(GrantUser), askRule(GrantNone)}, lsCall(), Ask},
		"an unknown scope":                              {[]Rule{stored(LayerUser, "u1", ""), askRule("everything")}, lsCall(), Ask},
		"a policy allow does not satisfy an ask":        {[]Rule{{Effect: Allow, Pattern: "bash(ls:*)"}, askRule(GrantUser)}, lsCall(), Ask},
		"a deny beats a grant":                          {[]Rule{stored(LayerUser, "u1", ""), {Effect: Deny, Pattern: "bash(ls)"}}, lsCall(), Deny},
		"a user's own deny beats policy":                {[]Rule{{Effect: Allow, Pattern: "bash"}, {Effect: Deny, Pattern: "bash(ls)", UserID: "u1", Source: Source{Layer: LayerUser}}}, lsCall(), Deny},
		"another user's deny":                           {[]Rule{{Effect: Allow, Pattern: "bash"}, {Effect: Deny, Pattern: "bash(ls)", UserID: "u2", Source: Source{Layer: LayerUser}}}, lsCall(), Allow},
		"a user's deny and a call without a user":       {[]Rule{{Effect: Allow, Pattern: "bash"}, {Effect: Deny, Pattern: "bash(ls)", UserID: "u2", Source: Source{Layer: LayerUser}}}, anonymous, Deny},
		"a deny of another session":                     {[]Rule{{Effect: Allow, Pattern: "bash"}, {Effect: Deny, Pattern: "bash(ls)", SessionID: "s2"}}, lsCall(), Allow},
		"an expired deny":                               {[]Rule{{Effect: Allow, Pattern: "bash"}, {Effect: Deny, Pattern: "bash(ls)", ExpiresAt: noon}}, lsCall(), Allow},
		"a deny that holds still":                       {[]Rule{{Effect: Allow, Pattern: "bash"}, {Effect: Deny, Pattern: "bash(ls)", ExpiresAt: noon.Add(1)}}, lsCall(), Deny},
		"a protected deny":                              {[]Rule{{Effect: Allow, Pattern: "bash"}, {Effect: Deny, Pattern: "bash(ls)", Source: Source{Layer: LayerProtected}}}, lsCall(), Deny},
		"an organisation's allow":                       {[]Rule{{Effect: Allow, Pattern: "bash", Source: Source{Layer: LayerOrganisation}}}, anonymous, Allow},
		"no rule":                                       {nil, lsCall(), Ask},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set, _, err := Compile(c.rules)
			if err != nil {
				t.Fatal(err)
			}
			if d := set.Decide(c.call); d.Effect != c.want {
				t.Errorf("want %s, got %s", c.want, Explain(Call{}, d))
			}
		})
	}
}

func TestToolDefaults(t *testing.T) {
	t.Parallel()
	free := Tool{Name: "todo", Consent: ConsentNever}
	read := BuiltinTool("file_read")
	read.Consent = ConsentOutside
	shell := BuiltinTool("bash")
	shell.Consent = ConsentNever
	resolve := links(map[string]string{"/w/out": "/etc", "/w/k": "/w/.ssh/id"})
	for _, c := range []struct {
		tool  Tool
		args  string
		rules []Rule
		want  Effect
	}{
		{free, `{"a":"x"}`, nil, Allow}, {free, `{"a":"\u200d"}`, nil, Allow}, {free, `{"a":1,"a":2}`, nil, Ask}, {free, `{}`, rulesOf(nil, a("todo"), nil), Deny}, {free, `{}`, rulesOf(nil, nil, a("todo")), Ask},
		{free, `{"a":1}`, rulesOf(nil, a("t*(a:1)"), nil), Deny}, {shell, `{"command":"ls > x"}`, nil, Allow}, {shell, `{"command":"ls ("}`, nil, Ask}, {shell, `{"command":"rm x"}`, rulesOf(nil, a("bash(rm:*)"), nil), Deny},
		{read, `{"path":"a.go"}`, nil, Allow}, {read, `{"path":"../a"}`, nil, Ask}, {read, `{"path":"/etc/passwd"}`, nil, Ask}, {read, `{"path":"out/passwd"}`, nil, Ask}, {read, `{"path":"k"}`, nil, Ask},
		{read, `{"path":".env"}`, nil, Ask}, {read, `{"path":".env.local"}`, nil, Ask}, {read, `{"path":"a/id_rsa"}`, nil, Ask}, {read, `{"path":"x.PEM"}`, nil, Ask}, {read, `{"path":".aws/config"}`, nil, Ask}, {read, `{"path":"my-credentials.json"}`, nil, Ask},
		{read, `{"path":".netrc"}`, nil, Ask}, {read, `{"path":"tls.key"}`, nil, Ask}, {read, `{"path":".env"}`, rulesOf(a("file_read(.env)"), nil, nil), Allow}, {read, `{"path":"a.go"}`, rulesOf(nil, a("file_read(*.go)"), nil), Deny}, {read, `{"path":"a.go"}`, rulesOf(nil, nil, a("file_read(*.go)")), Ask},
		{Tool{Name: "x", Kind: 99}, `{}`, rulesOf(a("x"), nil, nil), Ask}, {Tool{Name: "x", Consent: 99}, `{}`, nil, Ask}, {Tool{Name: "get", Server: "gh", Kind: KindMCP}, `{}`, rulesOf(a("mcp__gh__get"), nil, nil), Allow},
		{Tool{Name: "mcp__a__b__c", Server: "a__b", Kind: KindMCP}, `{}`, rulesOf(a("mcp__a__*", "mcp__a__b__c", "mcp__a"), nil, nil), Ask}, {Tool{Name: "mcp__gh__get", Kind: KindOther}, `{}`, rulesOf(a("mcp__gh__get"), nil, nil), Ask},
		{Tool{Name: "mcp__evil__get", Server: "gh", Kind: KindMCP}, `{}`, rulesOf(a("mcp__gh"), nil, nil), Ask},
		{Tool{Name: "run", Kind: KindCommand, Field: "script"}, `{"script":"ls"}`, rulesOf(a("run(ls:*)"), nil, nil), Allow}, {Tool{Name: "run", Kind: KindCommand, Field: "script"}, `{"script":"ls"}`, rulesOf(a("run"), a("run(ls;)"), nil), Ask},
		{Tool{Name: "cat", Kind: KindRead, Field: "file"}, `{"file":"a","x":1}`, rulesOf(a("cat(./**)"), nil, nil), Allow}, {Tool{Name: "cat", Kind: KindRead, Field: "file"}, `{"file":"a"}`, rulesOf(a("cat(./**)"), a("file_read(a)"), nil), Deny},
		{Tool{Name: "cat", Kind: KindRead, Field: "file"}, `{"file":"a"}`, rulesOf(a("cat"), a("cat([a)"), nil), Ask}, {Tool{Name: "get", Kind: KindURL, Field: "u"}, `{"u":"https://x.org"}`, rulesOf(a("get"), a("get(x)"), nil), Ask},
		{Tool{Name: "get", Kind: KindURL, Field: "u"}, `{"u":"https://x.org","headers":{"Accept":"x"}}`, rulesOf(a("get"), nil, nil), Allow}, {Tool{Name: "get", Kind: KindURL, Field: "u"}, `{"u":"https://x.org","headers":{"hOst":"x"}}`, rulesOf(a("get"), nil, nil), Ask},
		{Tool{Name: "get", Kind: KindURL, Field: "u"}, `{"u":"https://x.org","headers":[]}`, rulesOf(a("get"), nil, nil), Ask},
	} {
		set, _, _ := Compile(c.rules)
		d := set.Decide(Call{Tool: c.tool, Args: []byte(c.args), Workspace: "/w", Home: "/h", Resolve: resolve})
		if d.Effect != c.want {
			t.Errorf("%+v %s: want %s, got %s", c.tool, c.args, c.want, Explain(Call{}, d))
		}
	}
}

func TestApprovalIsMergedToTheStricter(t *testing.T) {
	t.Parallel()
	ask := func(ap Approval, risk Risk) Rule {
		return Rule{Effect: Ask, Pattern: "bash(ls:*)", Approval: ap, Risk: risk}
	}
	for name, c := range map[string]struct {
		rules []Rule
		want  Approval
	}{
		"the tool's default":           {nil, Approval{MaxGrant: GrantUser}},
		"a rule that says nothing":     {[]Rule{ask(Approval{}, "")}, Approval{MaxGrant: GrantNone}},
		"quorum, timeout and scope":    {[]Rule{ask(Approval{Quorum: 2, Timeout: time.Hour, OnTimeout: "deny", MaxGrant: GrantUser}, ""), ask(Approval{Quorum: 1, Timeout: time.Minute, ExcludeRequester: true, MaxGrant: GrantSession}, "")}, Approval{Quorum: 2, Timeout: time.Minute, OnTimeout: "deny", ExcludeRequester: true, MaxGrant: GrantSession}},
		"reviewers in common":          {[]Rule{ask(Approval{Reviewers: a("x", "y")}, ""), ask(Approval{Reviewers: a("y", "z")}, ""), ask(Approval{}, "")}, Approval{Reviewers: a("y"), MaxGrant: GrantNone}},
		"no reviewers in common":       {[]Rule{ask(Approval{Reviewers: a("x")}, ""), ask(Approval{Reviewers: a("z")}, "")}, Approval{Reviewers: a("group:admin"), MaxGrant: GrantNone}},
		"the shorter timeout's answer": {[]Rule{ask(Approval{Timeout: time.Minute, OnTimeout: "deny", MaxGrant: GrantUser}, ""), ask(Approval{Timeout: time.Hour, OnTimeout: "escalate", MaxGrant: GrantUser}, "")}, Approval{Timeout: time.Minute, OnTimeout: "deny", MaxGrant: GrantUser}},
	} {
		set, _, err := Compile(c.rules)
		if err != nil {
			t.Fatal(err)
		}
		if d := set.Decide(lsCall()); !reflect.DeepEqual(d.Approval, c.want) || d.Effect != Ask {
			t.Errorf("%s: got %+v (%s), want %+v", name, d.Approval, d.Effect, c.want)
		}
	}
	set, _, _ := Compile([]Rule{ask(Approval{}, RiskCritical), ask(Approval{}, RiskLow)})
	if d := set.Decide(lsCall()); d.Risk != RiskCritical {
		t.Errorf("risk %s", d.Risk)
	}
}

func TestCompileNamesEveryBadRuleAtOnce(t *testing.T) {
	t.Parallel()
	set, problems, err := Compile([]Rule{
		{Effect: Deny, Pattern: "file_read(./[x)", Source: Source{File: "p.yaml", Line: 3}},
		{Effect: Ask, Pattern: "bash(", Source: Source{File: "p.yaml"}},
		{Effect: Deny, Pattern: "", Source: Source{Name: "team"}},
		{Effect: Allow, Pattern: "*"}, {Effect: Allow, Pattern: "bash(a;b)"}, {Effect: Allow, Pattern: "bash"}, {Effect: Allow, Pattern: "custom"},
	})
	if err == nil || len(problems) != 2 {
		t.Fatalf("error %v, problems %v", err, problems)
	}
	for _, want := range []string{"p.yaml:3: ", "p.yaml: ", "team: ", `"./[x"`[1:4]} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	for _, c := range []Call{lsCall(), {Tool: BuiltinTool("custom"), Args: []byte("{}")}} {
		if d := set.Decide(c); d.Effect != Ask {
			t.Errorf("%s: %s", c.Tool.Name, Explain(Call{}, d))
		}
	}
	set, _, _ = Compile([]Rule{{Effect: Deny, Pattern: "file_read(./[x)"}, {Effect: Allow, Pattern: "custom"}, {Effect: Allow, Pattern: "bash"}})
	if d := set.Decide(Call{Tool: BuiltinTool("custom"), Args: []byte("{}")}); d.Effect != Allow {
		t.Errorf("a broken file rule reached an unrelated tool: %s", d.Reason)
	}
	if d := set.Decide(lsCall()); d.Effect != Ask {
		t.Errorf("a broken file rule did not reach bash: %s", d.Reason)
	}
}

func TestParsePattern(t *testing.T) {
	t.Parallel()
	good := []string{"bash", " bash(ls:*) ", "bash(ls)", "bash(echo (a))", "file_read(./{a,b}/**)", "file_read(~/x)", "file_read(/)", "file_read(./[!a-c]x)", "http_fetch(GET https://a.b/**)", "http_fetch(http://[::1]:80/x)", "mcp__a__b", "mcp__a", "mcp__a__b(x:1)", "mcp__a__b(x<=1.5, y=z*)", `custom({"a":*})`, `custom(a:"x,y")`}
	for _, p := range good {
		for _, effect := range []Effect{Allow, Deny, Ask} {
			if err := ParsePattern(effect, p); err != nil {
				t.Errorf("%s %s: %v", effect, p, err)
			}
		}
	}
	both := []string{"", " ", "(x)", "bash()", "bash(ls", "bash(ls) x", "ba sh(x)", "bash(:*)", "bash(a :*)", "bash('a)", `bash("a)`, "bash(a;b)", "bash(a|b)", "bash(a&&b)", "bash(a > b)", "bash(a\nb)", `bash(a\)`, "bash(a\u200bb)", "file_read()", "file_read({a)", "file_read(a})", "file_read([a)", "file_read([z-a])", `file_read(a\)`, "file_read(~bob/x)", "file_read(*/../x)", "file_read(a\tb)",
		"http_fetch()", "http_fetch(example.com)", "http_fetch(ftp://x)", "http_fetch(https://)", "http_fetch(https://u@x/)", "http_fetch(https://x/?a=b)", "http_fetch(https://x/#a)", "http_fetch(get https://x/)", "http_fetch(https://x:0/)", "http_fetch(https://x:y/)", "http_fetch(https://[::1/)", "http_fetch(https://x%2e/)", "http_fetch(https://a..b/)", "http_fetch(https://\u00e9*.x/)", "http_fetch(https://*.x..y/)", "http_fetch(https://x/{a)", "http_fetch(https://x/\u200b)", "http_fetch(https://x/*/../y)", "http_fetch(https://1.2.3.4.5/)",
		"mcp__a__b()", "mcp__a__b(x:)", `mcp__a__b(x:"a)`, "mcp__a__b(x<=y)", "mcp__a__b(x=1, y)", `custom(a\)`, "custom()", "t\u00f6ol", `mcp__a__b(x:a\)`, "file_read({a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b})"}
	for _, p := range both {
		for _, effect := range []Effect{Allow, Deny, Ask} {
			if err := ParsePattern(effect, p); err == nil {
				t.Errorf("%s %q was accepted", effect, p)
			}
		}
	}
	for _, p := range []string{"*", "mcp__*", "mcp__*__x", "file_*", "b?sh", "*(x)", "mcp__a*"} {
		if ParsePattern(Allow, p) == nil {
			t.Errorf("allow %q was accepted", p)
		}
		if err := ParsePattern(Deny, p); err != nil {
			t.Errorf("deny %q: %v", p, err)
		}
	}
	if ParsePattern(Deny, "b{a,o}sh") == nil || ParsePattern(Allow, "mcp__a__{b}") == nil {
		t.Error("a brace in a tool name was accepted")
	}
}

func TestEffectText(t *testing.T) {
	t.Parallel()
	for _, e := range []Effect{Ask, Allow, Deny} {
		text, err := e.MarshalText()
		var back Effect
		if err != nil || back.UnmarshalText(text) != nil || back != e {
			t.Errorf("%v does not survive", e)
		}
	}
	for _, bad := range []string{`"ALLOW"`, `""`, `"yes"`, `"allow "`} {
		e := Allow
		if json.Unmarshal([]byte(bad), &e) == nil || e != Ask {
			t.Errorf("%s became %s", bad, e)
		}
	}
	if Effect(9).String() != "ask" || Effect(9).rank() != Ask.rank() || !Deny.Stricter(Ask) || Allow.Stricter(Ask) {
		t.Error("the order of effects is wrong")
	}
}

func TestADecisionExplainsItself(t *testing.T) {
	t.Parallel()
	set, _, _ := Compile([]Rule{
		{ID: "r1", Effect: Deny, Pattern: "bash(rm:*)", Source: Source{Layer: LayerPolicy, File: "p.yaml", Line: 7}},
		{Effect: Deny, Pattern: "bash(* -rf *)"}, {Effect: Ask, Pattern: "bash(rm:*)", Risk: RiskCritical}, {Effect: Allow, Pattern: "bash(ls)"},
	})
	c := lsCall()
	c.Args = []byte(`{"command":"ls; rm -rf x\u200b; id"}`)
	d := set.Decide(c)
	if d.Matched == nil || d.Matched.ID != "r1" || d.Reasons[0].RuleID != "r1" || d.Reasons[0].Source.Line != 7 || d.Reasons[0].Effect != Deny || d.Risk != RiskCritical || len(d.Parts) != 3 {
		t.Fatalf("%+v", d)
	}
	text := Explain(c, d)
	for _, want := range []string{"deny: rm -rf x", "p.yaml:7", "allow ls", "ask   id", "risk: critical"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.ContainsRune(text, '\u200b') {
		t.Error("an invisible character reached the terminal")
	}
	if again := set.Decide(c); !reflect.DeepEqual(again, d) {
		t.Error("the decision is not the same twice")
	}
	if _, err := json.Marshal(d); err != nil {
		t.Error(err)
	}
}

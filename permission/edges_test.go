package permission

import "testing"

func TestRareForms(t *testing.T) {
	t.Parallel()
	runPlain(t, []plainCase{
		{"file_read", `{"path":{"a":1}}`, Ask, a("file_read"), nil, nil, nil}, {"http_fetch", `{"url":"https://x.org","method":5}`, Ask, a("http_fetch"), nil, nil, nil}, {"http_fetch", `{"url":"https://x.org","Method":"POST"}`, Ask, a("http_fetch"), nil, nil, nil},
		{"mcp__a__b", `{"a\u200b":1}`, Ask, a("mcp__a__b"), nil, nil, nil}, {"mcp__a__b", `{"a":{"b":1},"A":{"b":2}}`, Ask, a("mcp__a__b"), a("mcp__a__b(a.b:2)"), nil, nil}, {"mcp__a__b", `{"a":1}`, Ask, a("mcp__a__b"), a("mcp__a__b(a:true)"), nil, nil},
		{"mcp__a__b", `{"x":"y"}`, Ask, a("mcp__a__b(x:z)"), nil, nil, nil}, {"bash", `{"command":"ls"}`, Ask, a("file_read(./**)"), nil, nil, nil}, {"http_fetch", arg("url", "https://x.org/"), Ask, a("http_fetch(https://1.2.3.4/**)"), nil, nil, nil},
		{"http_fetch", arg("url", "https://1.2.3.4/"), Ask, a("http_fetch(https://*.3.4/**)"), nil, nil, nil}, {"http_fetch", arg("url", "https://-x_.\u00e9/"), Ask, a("http_fetch(https://x/**)"), nil, nil, nil}, {"file_read", arg("path", "~/a"), Ask, a("file_read(./a)"), nil, nil, nil},
		{"mcp__a__b", `{"n":5}`, Allow, a("mcp__a__b(n>4, n<6, n>=5)"), nil, nil, nil}, {"mcp__a__b", `{"s":"a,b"}`, Allow, a(`mcp__a__b(s="a,b", s=a\,b)`), nil, nil, nil}, {"mcp__a__b", `{"x":"z?"}`, Allow, a(`mcp__a__b(x:z\?)`), nil, nil, nil},
		{"mcp__a__b", `{"a":{"b":1}}`, Allow, a("mcp__a__b(a.b:1)"), nil, nil, nil}, {"file_read", arg("path", "a"), Allow, a("file_read(x/../a)"), nil, nil, nil}, {"file_read", arg("path", "/a"), Allow, a("file_read(/../a)"), nil, nil, nil}, {"file_read", arg("path", "a/b/c"), Allow, a("file_read(a**/b/**)"), nil, nil, nil},
		{"file_read", arg("path", "a-b]"), Allow, a(`file_read(a[\]-]b[]])`), nil, nil, nil}, {"http_fetch", arg("url", "https://x.org/a/"), Allow, a("http_fetch(https://x.org/a/)"), nil, nil, nil}, {"http_fetch", arg("url", "https://x.org/a%2Fb"), Ask, a("http_fetch(https://x.org/a*)"), nil, nil, nil},
		{"file_read", arg("path", "A-B"), Deny, a("file_read"), a("file_read([a-z]-[!x])"), nil, nil}, {"file_read", arg("path", "xsecret/y/z"), Deny, a("file_read"), a("file_read(*secret**)"), nil, nil}, {"http_fetch", arg("url", "https://x.org/a/b"), Deny, a("http_fetch"), a("http_fetch(https://x.org/{a,c}/**)"), nil, nil},
		{"http_fetch", arg("url", "http://[::127.0.0.1]/"), Deny, a("http_fetch"), nil, nil, nil}, {"http_fetch", arg("url", "http://0x/"), Deny, a("http_fetch"), nil, nil, nil},
	})
}

func TestAPanicInsideAsks(t *testing.T) {
	t.Parallel()
	var none *Set
	if d := none.Decide(Call{Tool: BuiltinTool("bash")}); d.Effect != Ask || d.Reason == "" {
		t.Errorf("%+v", d)
	}
}

func TestUnknownClosedValuesAreTheNarrowOnes(t *testing.T) {
	t.Parallel()
	if GrantScope("x").rank() != 0 || Risk("x").rank() != 0 || RiskLow.rank() >= RiskMedium.rank() || RiskHigh.rank() >= RiskCritical.rank() {
		t.Error("ranks")
	}
	if (&form{}).read(Deny, 99, "x") == nil || (constraint{op: "?"}).compare(0) {
		t.Error("an unknown kind was read")
	}
	if (token{op: 99}).accepts('a', 0) || (sequence{{op: 99}}).skips(0) != -1 {
		t.Error("an unknown token matches")
	}
	if sentence("") != "" || len(trimMark(nil)) != 0 || baseName("") != "" || (command{}).name() != "" {
		t.Error("nothing became something")
	}
}

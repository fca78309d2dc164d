package builtin

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"holdpoint/permission"
	"holdpoint/tool"
)

// asked is http_fetch as the permission engine is told of it.
func asked(t testing.TB) permission.Tool {
	t.Helper()
	def := newFetch(Config{}.withDefaults()).Definition()
	var schema struct{ Properties map[string]any }
	if err := json.Unmarshal(def.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	p := permission.Tool{Name: def.Name, Kind: permission.KindURL, Field: def.Field, Risk: permission.Risk(def.Risk)}
	for name := range schema.Properties {
		p.Fields = append(p.Fields, name)
	}
	return p
}

func TestTheEngineKnowsTheMethods(t *testing.T) {
	t.Parallel()
	for _, m := range fetchMethods {
		if why := permission.Idle("http_fetch(" + m + " https://h/**)"); why != "" {
			t.Errorf("%s: %s", m, why)
		}
	}
	for _, pattern := range []string{"http_fetch(TRACE https://h/**)", "http_fetch(GET,FETCH https://h/**)"} {
		if why := permission.Idle(pattern); !strings.Contains(why, strings.Join(fetchMethods, ", ")) {
			t.Errorf("%s: %q", pattern, why)
		}
	}
	for _, pattern := range []string{"http_fetch", "http_fetch(* https://h/**)", "bash(PSOT x)", "http_*(PSOT https://h/**)"} {
		if why := permission.Idle(pattern); why != "" {
			t.Errorf("%s: %s", pattern, why)
		}
	}
}

func TestFetchIsTheToolThatTheEngineKnows(t *testing.T) {
	t.Parallel()
	def := newFetch(Config{}.withDefaults()).Definition()
	got, want := asked(t), permission.BuiltinTool(NameHTTPFetch)
	slices.Sort(got.Fields)
	slices.Sort(want.Fields)
	if !slices.Equal(got.Fields, want.Fields) || got.Field != want.Field || got.Risk != want.Risk ||
		def.Resource != tool.ResourceURL || def.Consent != tool.ConsentAlways || !def.Closed || def.Idempotent {
		t.Errorf("the tool is %+v, and the engine knows %+v", def, want)
	}
}

// vector is a worked case of the permission engine.
type vector struct {
	ID, Tool, Expect string
	Rules            struct{ Allow, Deny, Ask []string }
	Args             json.RawMessage
}

func (v vector) rules() (out []permission.Rule) {
	for effect, patterns := range map[permission.Effect][]string{permission.Allow: v.Rules.Allow, permission.Deny: v.Rules.Deny, permission.Ask: v.Rules.Ask} {
		for _, p := range patterns {
			out = append(out, permission.Rule{Effect: effect, Pattern: p, Source: permission.Source{Layer: permission.LayerPolicy}})
		}
	}
	return out
}

func TestFetchIsDecidedAsTheWorkedCasesSay(t *testing.T) {
	t.Parallel()
	f, err := os.Open("../../permission/testdata/vectors.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for in := bufio.NewScanner(f); in.Scan(); {
		var v vector
		if err := json.Unmarshal(in.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		if v.Tool != NameHTTPFetch {
			continue
		}
		n++
		set, _, err := permission.Compile(v.rules())
		if err != nil {
			t.Fatal(err)
		}
		if d := set.Decide(permission.Call{Tool: asked(t), Args: v.Args}); d.Effect.String() != v.Expect {
			t.Errorf("%s: %s, want %s: %s", v.ID, d.Effect, v.Expect, d.Reason)
		}
		_, err = fetch{}.request(tool.Call{Args: v.Args})
		if v.Expect == "allow" && err != nil {
			t.Errorf("%s is allowed, and can't be requested: %v", v.ID, err)
		}
	}
	if n < 25 {
		t.Errorf("only %d cases were found", n)
	}
}

// What an allow of one origin lets through must go to that origin, however it is written; and what is requested must
// read the same when it is decided on as a redirect.
func FuzzFetchRequest(f *testing.F) {
	for _, u := range []string{
		"https://docs.example.com/a?b#c", "HTTPS://DOCS.example.com.:443", "https://docs.example.com@evil.example/", `https://evil.example\@docs.example.com/`,
		"https://docs.example.com%2eevil.example/", "https://docs。example。com/", "https://docs.example.com:0443/\u00e9?\u00e9", "https://[::1]/", "https://0x7f.1/", "//docs.example.com/",
	} {
		f.Add(u, "GET", "X-A", "b", "")
	}
	f.Add("https://docs.example.com/", "POST", "Host", "evil.example", "body")
	f.Add("https://docs.example.com/", "", "content-length", "1\r\nA: b", "\x00")
	set, _, err := permission.Compile([]permission.Rule{{Effect: permission.Allow, Pattern: "http_fetch(* https://docs.example.com/**)",
		Source: permission.Source{Layer: permission.LayerPolicy}}})
	if err != nil {
		f.Fatal(err)
	}
	known := asked(f)
	f.Fuzz(func(t *testing.T, u, method, header, value, body string) {
		raw, err := json.Marshal(map[string]any{"url": u, "method": method, "headers": map[string]string{header: value}, "body": body})
		if err != nil {
			t.Fatal(err)
		}
		r, err := fetch{}.request(tool.Call{Args: raw})
		if err != nil {
			return
		}
		if d := set.Decide(permission.Call{Tool: known, Args: raw}); d.Effect == permission.Allow &&
			(r.url.Scheme != "https" || r.url.Host != "docs.example.com" || r.headers.Get("Host") != "") {
			t.Fatalf("%q is allowed and goes to %s %v", u, r.url, r.headers)
		}
		again, err := r.args()
		if err != nil {
			t.Fatal(err)
		}
		r2, err := fetch{}.request(tool.Call{Args: again})
		if err != nil || r2.url.String() != r.url.String() || r2.method != r.method || r2.body != r.body || r2.headers.Get(header) != r.headers.Get(header) {
			t.Fatalf("%s reads as %+v and then as %+v, %v", raw, r, r2, err)
		}
		if strings.ContainsAny(r.url.String(), " \\\r\n") || strings.ContainsAny(r.url.RequestURI(), " \r\n") {
			t.Fatalf("%q becomes %q", u, r.url.RequestURI())
		}
	})
}

func FuzzFetchArguments(f *testing.F) {
	for _, s := range []string{`{"url":"https://a.example/"}`, `{"url":"https://a.example/","headers":{"A":null},"body":"\ud800"}`, `{"url":1}`, `[`, `{"url":"x","url":"y"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := fetch{}.request(tool.Call{Args: raw})
		if err == nil && (r.url.Host == "" || !slices.Contains(fetchMethods, r.method) || r.url.User != nil) {
			t.Fatalf("%s becomes %+v", raw, r)
		}
		if _, isRefusal := err.(*refusal); err != nil && !isRefusal {
			t.Fatalf("%s: %v", raw, err)
		}
	})
}

package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"holdpoint/tool"
)

// leads answers a path "/code/…" with a redirect of that code to the rest of the path, joined to base, and
// everything else with "the end".
func leads(base *string) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		var code int
		if n, _ := fmt.Sscanf(r.URL.Path, "/%d/", &code); n == 1 {
			_, rest, _ := strings.Cut(r.URL.Path[1:], "/")
			rw.Header().Set("Location", *base+"/"+rest)
			rw.WriteHeader(code)
			return
		}
		says("the end")(rw, r)
	}
}

// decisions keeps what was decided on, and refuses what contains a text.
type decisions struct {
	refused string
	asked   []string
}

func (d *decisions) hop(_ context.Context, args json.RawMessage) (bool, error) {
	d.asked = append(d.asked, string(args))
	if d.refused != "" && strings.Contains(string(args), d.refused) {
		return false, errors.New("A deny rule matches.")
	}
	return true, nil
}

func TestFetchFollowsRedirectsThatAreAllowed(t *testing.T) {
	b := browse(t)
	base := ""
	w := serve(t, leads(&base))
	d := &decisions{}
	b.hop = d.hop
	got := b.run(args{"url": w.URL + "/301/302/303/307/308/z", "headers": args{"Authorization": "Bearer x"}})
	wantPart(t, got, tool.StatusSuccess, "[301: GET "+w.URL+"/301/302/303/307/308/z leads to "+w.URL+"/302/303/307/308/z]\n",
		"[308: GET "+w.URL+"/308/z leads to "+w.URL+"/z]\nHTTP/1.1 200 OK\n", "\n\nthe end")
	if len(d.asked) != 5 || d.asked[4] != `{"url":"`+w.URL+`/z","method":"GET","headers":{"Authorization":"Bearer x"}}` {
		t.Errorf("what was decided on is %q", d.asked)
	}
	for _, r := range w.requests() {
		if r.header.Get("Authorization") != "Bearer x" || r.header.Get("Referer") != "" {
			t.Errorf("what came is %+v", r)
		}
	}
	wantPart(t, b.get(w.URL+"/301/301/301/301/301/301/z"), tool.StatusError, "5 redirects were followed already", "GET "+w.URL+"/z ", "HTTP/1.1 301")
	if n := len(w.requests()); n != 12 {
		t.Errorf("%d requests came", n)
	}
}

func TestFetchStopsBeforeARedirectThatIsNotAllowed(t *testing.T) {
	b := browse(t)
	target := serve(t, says("secret"))
	base := target.URL
	w := serve(t, leads(&base))
	d := &decisions{refused: "secret"}
	b.hop = d.hop
	got := b.get(w.URL + "/302/secret")
	wantText(t, got, tool.StatusError, "HTTP/1.1 302 Found\nContent-Length: 0\nLocation: "+target.URL+"/secret\n[The redirect was not followed: "+
		"A deny rule matches. It leads to: GET "+target.URL+"/secret . If you need it, request it by a call of its own.]")
	b.hop = nil
	wantPart(t, b.get(w.URL+"/302/other"), tool.StatusError, "redirects are not followed here", target.URL+"/other")
	if target.lines() != "" || len(d.asked) != 1 {
		t.Errorf("it was requested: %s; asked: %q", target.lines(), d.asked)
	}
}

func TestFetchRedirectsKeepMethodAndBodyOrStop(t *testing.T) {
	b := browse(t)
	other := serve(t, says("the end"))
	for _, tt := range []struct {
		method, path string
		across       bool
		want         string // of what comes second, or why nothing does
	}{
		{"POST", "/301/z", false, "GET /z"}, {"POST", "/302/z", false, "GET /z"}, {"POST", "/303/z", false, "GET /z"},
		{"POST", "/307/z", false, "POST /z body"}, {"POST", "/308/z", false, "POST /z body"},
		{"PUT", "/303/z", false, "GET /z"}, {"PUT", "/307/z", false, "PUT /z body"}, {"DELETE", "/303/z", false, "GET /z"},
		{"PUT", "/301/z", false, "it is not clear whether a PUT"}, {"DELETE", "/302/z", false, "it is not clear whether a DELETE"},
		{"HEAD", "/301/z", false, "HEAD /z"}, {"HEAD", "/303/z", true, "HEAD /z"}, {"GET", "/308/z", true, "GET /z"},
		{"POST", "/302/z", true, "GET /z"}, {"POST", "/307/z", true, "its body would go to another origin"},
		{"PATCH", "/308/z", true, "its body would go to another origin"},
	} {
		base := ""
		w := serve(t, leads(&base))
		if tt.across {
			base = other.URL
		}
		a := args{"url": w.URL + tt.path, "method": tt.method, "headers": args{"Content-Type": "text/x"}}
		if !safeMethod(tt.method) {
			a["body"] = "body"
		}
		before := len(other.requests())
		got := b.run(a)
		came := append(w.requests()[1:], other.requests()[before:]...)
		if len(came) == 0 {
			wantPart(t, got, tool.StatusError, tt.want)
			continue
		}
		if line := strings.TrimSpace(came[0].line + " " + came[0].body); len(came) != 1 || line != tt.want {
			t.Errorf("%s %s across %v: what came is %q, want %q", tt.method, tt.path, tt.across, line, tt.want)
		}
		if kept := came[0].header.Get("Content-Type") != ""; kept != (came[0].body != "" || safeMethod(tt.method) && !tt.across) {
			t.Errorf("%s %s across %v: Content-Type is sent: %v", tt.method, tt.path, tt.across, kept)
		}
	}
}

func TestFetchKeepsSecretsFromOtherOrigins(t *testing.T) {
	b := browse(t)
	var back string
	other := serve(t, func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/back" {
			http.Redirect(rw, r, back+"/home", http.StatusFound)
			return
		}
		says("the end")(rw, r)
	})
	base := other.URL
	w := serve(t, leads(&base))
	back = w.URL
	d := &decisions{}
	b.hop = d.hop
	b.run(args{"url": w.URL + "/302/back", "headers": args{"Authorization": "Bearer s3cret", "Cookie": "a=s3cret", "X-Api-Key": "s3cret",
		"X-My-Own": "s3cret", "Host": "virtual.example", "Accept": "text/x", "Accept-Language": "de", "User-Agent": "mine"}})
	came := append(other.requests(), w.requests()[1:]...)
	if len(came) != 2 || came[1].line != "GET /home" {
		t.Fatalf("what came is %+v", came)
	}
	for _, r := range came { // nor do they come back at the first origin
		text := fmt.Sprint(r)
		if strings.Contains(text, "s3cret") || r.host == "virtual.example" || r.header.Get("Accept") != "text/x" ||
			r.header.Get("Accept-Language") != "de" || r.header.Get("User-Agent") != "mine" {
			t.Errorf("what came is %s", text)
		}
	}
	if strings.Contains(strings.Join(d.asked, ""), "s3cret") {
		t.Errorf("what was decided on is not what was requested: %q", d.asked)
	}
}

func TestFetchDoesNotGoWhereverItIsSent(t *testing.T) {
	b := browse(t)
	for location, part := range map[string]string{
		"ftp://x.example/":              "not a URL that can be requested",
		"file:///etc/passwd":            "not a URL that can be requested",
		"http://u:p@x.example/":         "not a URL that can be requested",
		"http://0x7f.1/":                "not a URL that can be requested",
		"http://[::1":                   "not a URL that can be requested",
		`http://x.example\@y/`:          "not a URL that can be requested",
		"//" + "x.example:0/":           "not a URL that can be requested",
		"javascript:alert(1)":           "not a URL that can be requested",
		"/" + strings.Repeat("a", 9000): "not a URL that can be requested",
		"/\u202eevil":                   `%E2%80%AEevil`,
		"/a b":                          "/a%20b",
	} {
		d := &decisions{refused: "url"}
		b.hop = d.hop
		w := serve(t, func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header()["Location"] = []string{location}
			rw.WriteHeader(http.StatusFound)
		})
		got := b.get(w.URL)
		wantPart(t, got, tool.StatusError, "The redirect was not followed", part)
		if strings.Contains(got.Content, "\u202e") || len(got.Content) > 4000 {
			t.Errorf("%.40s: %q", location, got.Content)
		}
		if len(w.requests()) != 1 {
			t.Errorf("%.40s: what came is %s", location, w.lines())
		}
	}
}

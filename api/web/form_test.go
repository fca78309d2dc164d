package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"holdpoint/interaction"
)

// sent is what a browser sends back of a form that nobody changed.
func sent(fields []field) url.Values {
	form := url.Values{}
	for n, f := range fields {
		at := fmt.Sprint(n)
		form.Set("name."+at, f.Name)
		form.Set("type."+at, f.Type)
		form.Set("arg."+at, strings.ReplaceAll(f.Text, "\n", "\r\n"))
	}
	return form
}

func TestAFormKeepsArgumentsAsTheyAre(t *testing.T) {
	t.Parallel()
	for _, args := range []string{
		`{}`, `{"a":"text","n":12345678901234567890,"x":-1.50e3,"ok":true,"none":null,"list":[1,"2",{"b":false}]}`,
		`{"lines":"one\ntwo\n\nthree\t","html":"</textarea><b>&amp;"}`, `{"odd":"a\u202eb\u0000\r\n\u200b\ud83d\ude00\udb40\udc41"}`, `{"number in text":"12","true":"true"}`,
	} {
		got, err := argsOf(sent(fieldsOf(json.RawMessage(args))))
		if err != nil {
			t.Fatalf("%s: %v", args, err)
		}
		var want, have bytes.Buffer
		if json.Compact(&want, plain(t, args)) != nil || json.Compact(&have, plain(t, string(got))) != nil || want.String() != have.String() {
			t.Errorf("%s came back as %s", args, got)
		}
	}
}

// plain gives the strings of a JSON text one spelling, and leaves everything else as it is.
func plain(t *testing.T, text string) []byte {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAFormRefusesWhatIsOfAnotherType(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ kind, text string }{{"number", "twelve"}, {"number", ""}, {"number", "null"}, {"number", "1 2"}, {"boolean", "yes"}, {"json", "{"}, {"", "1"}} {
		if got, err := typed(tt.kind, tt.text); err == nil {
			t.Errorf("%q as %s is taken for %s", tt.text, tt.kind, got)
		}
	}
	if fieldsOf(json.RawMessage(`{"a":1,"a":2}`)) != nil || fieldsOf(json.RawMessage(`[1]`)) != nil {
		t.Error("a form is offered for arguments that it can't keep")
	}
}

func TestSafeTextShowsEveryCharacter(t *testing.T) {
	t.Parallel()
	got := string(line("<b>\u202ea\x00\xff\t&'\""))
	want := `&lt;b&gt;<span class="odd">\u202e</span>a<span class="odd">\u0000</span><span class="odd">\xff</span><span class="odd">\t</span>&amp;&#39;&#34;`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := string(lines("a\n\tb")); got != "a\n\tb" {
		t.Errorf("lines: %q", got)
	}
}

func TestColoursChangeNoCharacter(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"a && b | c # d", `echo "x $Y" '$(z)' > f`, "unclosed 'quote", "<script>", "a\u202e && \x1b[0m"} {
		var bare strings.Builder
		inside := false
		for _, r := range string(shell(s)) {
			switch {
			case r == '<':
				inside = true
			case r == '>':
				inside = false
			case !inside:
				bare.WriteRune(r)
			}
		}
		html := strings.NewReplacer("&lt;", "<", "&gt;", ">", "&#34;", `"`, "&#39;", "'", "&amp;", "&").Replace(bare.String())
		if html != interaction.VisibleLines(s) {
			t.Errorf("%q is shown as %q", s, html)
		}
	}
}

func TestRedirectsStayHere(t *testing.T) {
	t.Parallel()
	for _, next := range []string{"", "//evil.example", "https://evil.example", `/\evil.example`, "javascript:alert(1)", "/\t/evil.example", "inbox"} {
		if got := localPath(next); got != "/inbox" {
			t.Errorf("%q leads to %q", next, got)
		}
	}
	if got := localPath("/runs?status=failed"); got != "/runs?status=failed" {
		t.Errorf("a path of ours leads to %q", got)
	}
}

func FuzzSafeText(f *testing.F) {
	for _, s := range []string{"<script>", "\u202e\x1b[0m", "\xff\xfe", "plain"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := strings.ReplaceAll(strings.ReplaceAll(string(lines(s)), `<span class="odd">`, ""), "</span>", "")
		if strings.ContainsAny(out, "<>\"'\x00\x1b\u202e\u200b") {
			t.Errorf("%q is shown as %q", s, out)
		}
	})
}

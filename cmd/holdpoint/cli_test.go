package main

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"holdpoint/api"
	"holdpoint/interaction"
)

func TestNames(t *testing.T) {
	t.Parallel()
	const id = "aaaa1111-0000-4000-8000-000000000001-12-0-1"
	for ref, want := range map[string]bool{
		id: true, "aaaa": true, "aaaa1111-00": true, "12-0-1": true, "aaaa1111-12-0-1": true, "aaaa-12-0-1": true,
		"aaa": false, "2-0-1": false, "0-1": false, "1": false, "": false, "aaaa1111-2-0-1": false, "bbbb-12-0-1": false,
		"AAAA": false, "aaa-12-0-1": false, id + "0": false,
	} {
		if got := names(ref, id); got != want {
			t.Errorf("names(%q) is %v, want %v", ref, got, want)
		}
	}
}

func TestShortIDsTellApart(t *testing.T) {
	t.Parallel()
	list := []api.Interaction{{Request: interaction.Request{ID: "aaaa1111-x-1-0-1"}}, {Request: interaction.Request{ID: "aaaa1111-y-1-0-1"}},
		{Request: interaction.Request{ID: "aaaa1111-x-2-0-1"}}, {Request: interaction.Request{ID: "odd"}}}
	got := shortIDs(list)
	for id, want := range map[interaction.ID]string{"aaaa1111-x-1-0-1": "aaaa1111-x-1-0-1", "aaaa1111-x-2-0-1": "aaaa1111-2-0-1", "odd": "odd"} {
		if got[id] != want {
			t.Errorf("%s is shown as %s, want %s", id, got[id], want)
		}
	}
}

func TestParseAddr(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"127.0.0.1:7400": "http://127.0.0.1:7400", "localhost:1": "http://localhost:1", "[::1]:1": "http://[::1]:1",
		"holdpoint.example": "https://holdpoint.example", "10.0.0.1:7400": "https://10.0.0.1:7400",
		"http://10.0.0.1:7400/": "http://10.0.0.1:7400", "https://h/base/": "https://h/base",
		"ftp://h": "", "http://u:p@h": "", "": "", "http://h?x=1": "",
	} {
		u, err := parseAddr(in)
		if (err != nil) != (want == "") || err == nil && u.String() != want {
			t.Errorf("parseAddr(%q) is %v, %v; want %q", in, u, err, want)
		}
	}
}

func TestMembersKeepOrderAndDuplicates(t *testing.T) {
	t.Parallel()
	got, ok := members(json.RawMessage(`{"b":"one","a":{"n":1},"b":"two"}`))
	if !ok || len(got) != 3 || got[0].text != "one" || got[2].text != "two" || got[1].name != "a" {
		t.Errorf("members: %+v, %v", got, ok)
	}
	for _, raw := range []string{`[]`, `"x"`, `{"a":`, `{"a":1`, ``, `null`} {
		if _, ok := members(json.RawMessage(raw)); ok {
			t.Errorf("%s counts as an object", raw)
		}
	}
}

// FuzzPlainJSON checks that escaped JSON means the same and shows nothing odd.
func FuzzPlainJSON(f *testing.F) {
	for _, s := range []string{"plain", "\u202ertl", "\x1b[2J", "tag\U000e0041", "ü 漢 😀", "\u2028", "\u0085"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		in, err := json.Marshal(map[string]string{"k": s})
		if err != nil {
			t.Fatal(err)
		}
		out := plainJSON(in)
		var before, after map[string]string
		if json.Unmarshal(in, &before) != nil || json.Unmarshal([]byte(out), &after) != nil || before["k"] != after["k"] {
			t.Errorf("%q became %q", in, out)
		}
		if interaction.Visible(out) != out {
			t.Errorf("%q still shows something odd", out)
		}
	})
}

// FuzzFold checks that nothing is lost or added, and that no piece is too wide.
func FuzzFold(f *testing.F) {
	f.Add("a line", 10)
	f.Add(strings.Repeat("漢", 30), 9)
	f.Add("", 8)
	f.Fuzz(func(t *testing.T, s string, columns int) {
		if !utf8.ValidString(s) {
			return
		}
		pieces := fold(s, columns)
		if strings.Join(pieces, "") != s {
			t.Errorf("%q in %d columns became %q", s, columns, pieces)
		}
		for _, p := range pieces {
			used := 0
			for _, r := range p {
				used += cells(r)
			}
			if columns >= minFold && used > columns {
				t.Errorf("%q has %d columns, more than %d", p, used, columns)
			}
		}
	})
}

func TestShellWord(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"plain": "plain", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$(x)": "'$(x)'", "-x": "-x"} {
		if got := shellWord(in); got != want {
			t.Errorf("shellWord(%q) is %s, want %s", in, got, want)
		}
	}
}

func TestColoursOnlyWhereTheyAreWanted(t *testing.T) {
	t.Parallel()
	env := func(vars map[string]string) func(string) (string, bool) {
		return func(n string) (string, bool) { v, ok := vars[n]; return v, ok }
	}
	if !newStyle(env(nil)).on || newStyle(env(map[string]string{"NO_COLOR": "1"})).on || newStyle(env(map[string]string{"TERM": "dumb"})).on {
		t.Error("NO_COLOR or TERM is not honoured")
	}
	if (style{}).red("x") != "x" {
		t.Error("a style that is off colours")
	}
}

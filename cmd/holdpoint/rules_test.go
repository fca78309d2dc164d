package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdpoint/permission"
)

func TestTheVectorsPassByTheCommand(t *testing.T) {
	t.Parallel()
	name := filepath.Join(repository, "permission", "testdata", "vectors.jsonl")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	cases := bytes.Count(bytes.TrimSpace(data), []byte("\n")) + 1
	var out, errs bytes.Buffer
	c := &cli{name: "holdpoint", in: strings.NewReader(""), out: &out, err: &errs, getenv: func(string) (string, bool) { return "", false }, now: time.Now}
	code := execute(context.Background(), c, []string{"rules", "test", name})
	if want := fmt.Sprintf("%d passed, 0 failed\n", cases); code != 0 || out.String() != want || errs.Len() > 0 {
		t.Errorf("exit code %d\n%s%s", code, out.String(), errs.String())
	}
}

func TestRulesOfOtherToolsAreTranslated(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		effect     permission.Effect
		text, want string // "" is not taken
	}{
		{permission.Allow, "Bash", "bash"}, {permission.Allow, "Bash(*)", "bash"}, {permission.Allow, "Bash(ls)", "bash(ls)"},
		{permission.Allow, " Bash(git * main) ", "bash(git * main)"}, {permission.Allow, "Bash(ls", ""}, {permission.Allow, "Bash(echo \x1b)", ""},
		{permission.Allow, "Read", "file_read"}, {permission.Allow, "Read(**)", "file_read"}, {permission.Allow, "Read(./.env)", "file_read(./.env)"},
		{permission.Allow, "Read(.env)", "file_read(./**/.env)"}, {permission.Deny, "Read(.env)", "file_read(**/.env)"},
		{permission.Deny, "Read(**/*.key)", "file_read(**/*.key)"}, {permission.Allow, "Read(**/*.md)", "file_read(./**/*.md)"},
		{permission.Deny, "Read(//etc/passwd)", "file_read(/etc/passwd)"}, {permission.Deny, "Read(/etc/passwd)", "file_read(./etc/passwd)"},
		{permission.Allow, "Edit", "file_edit file_write"}, {permission.Ask, "Write(src/**)", "file_edit(./src/**) file_write(./src/**)"},
		{permission.Allow, "WebFetch", "http_fetch"}, {permission.Allow, "WebFetch(domain:example.com)", "http_fetch(https://example.com/**)"},
		{permission.Deny, "WebFetch(domain:example.com)", "http_fetch(* https://example.com/**) http_fetch(* http://example.com/**)"},
		{permission.Allow, "WebFetch(https://x)", ""}, {permission.Allow, "WebFetch(domain:a/b)", ""},
		{permission.Allow, "mcp__github", "mcp__github"}, {permission.Deny, "mcp__github__*", "mcp__github__*"}, {permission.Allow, "mcp__*", ""},
		{permission.Deny, "mcp__a__b(c)", ""}, {permission.Deny, "WebSearch", ""}, {permission.Deny, "", ""}, {permission.Allow, "*", ""},
	} {
		got := importOne(tc.effect, tc.text)
		if strings.Join(got.rules, " ") != tc.want || (tc.want == "") != (got.rules == nil) || tc.want == "" && got.note == "" {
			t.Errorf("%s %q became %q (%s), want %q", tc.effect, tc.text, got.rules, got.note, tc.want)
		}
		if lost := tc.want == "" && tc.effect == permission.Deny && strings.HasPrefix(tc.text, "mcp__"); got.lost != lost {
			t.Errorf("%s %q: lost is %v", tc.effect, tc.text, got.lost)
		}
	}
}

func TestConditionsOnACommandLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"n<=5": "n <= 5", "n>=5": "n >= 5", "to=acct1": `to = "acct1"`, "n=7": "n = 7", `t~Invoice *`: `t like "Invoice *"`, "a.b=true": "a.b = true"} {
		got, err := conditions([]string{text})
		if err != nil || len(got) != 1 || got[0].String() != want {
			t.Errorf("%s is %v, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "n", "n<5", "n<=x", "=5", "n<="} {
		if got, err := conditions([]string{text}); err == nil {
			t.Errorf("%q is taken for %v", text, got)
		}
	}
}

// FuzzImport checks that whatever becomes of a rule, the engine takes it, and that it is one line of YAML.
func FuzzImport(f *testing.F) {
	for _, s := range []string{"Bash(ls:*)", "Read(!x)", "Edit(//a/)", "WebFetch(domain:x)", "mcp__a__b", "Bash(${HOME}\n- x)"} {
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, text string, allow bool) {
		effect := permission.Deny
		if allow {
			effect = permission.Allow
		}
		i := importOne(effect, text)
		for _, p := range i.rules {
			if err := permission.ParsePattern(effect, p); err != nil {
				t.Errorf("%q became %q: %v", text, p, err)
			}
		}
		if out := policyOf("p", text, []imported{i}); strings.Count(out, "\n") != 4+max(len(i.rules), 0) {
			t.Errorf("%q is written as\n%s", text, out)
		}
	})
}

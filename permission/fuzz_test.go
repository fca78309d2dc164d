package permission

import (
	"strings"
	"testing"
)

func FuzzParsePattern(f *testing.F) {
	for _, s := range []string{"bash(ls:*)", "file_read(./{a,b}/**/[!c]*)", "http_fetch(GET https://*.x.org:8443/**)", "mcp__a__b(x<=1, y=z)", "bash(\"a\\*\" 'b')", "*(", "bash({a,b}{c,d}:*)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, effect := range []Effect{Allow, Deny, Ask} {
			set, problems, err := Compile([]Rule{{Effect: effect, Pattern: s}})
			if bad := ParsePattern(effect, s) != nil; bad != (err != nil || len(problems) > 0) {
				t.Fatalf("%s %q: checked %v, compiled %v %v", effect, s, bad, err, problems)
			}
			for _, c := range []Call{{Tool: BuiltinTool("bash"), Args: []byte(`{"command":"ls a"}`)}, {Tool: BuiltinTool("file_read"), Args: []byte(`{"path":"a/b"}`), Workspace: "/w"}, {Tool: BuiltinTool("http_fetch"), Args: []byte(`{"url":"https://a.x.org/b"}`)}, {Tool: BuiltinTool("mcp__a__b"), Args: []byte(`{"x":1}`)}} {
				if d := set.Decide(c); d.Effect == Allow && effect != Allow {
					t.Fatalf("%s %q allowed %s", effect, s, c.Tool.Name)
				}
			}
		}
	})
}

func FuzzBash(f *testing.F) {
	for _, v := range loadVectors(f, "vectors.jsonl") {
		if v.Tool == "bash" {
			f.Add(string(v.Args))
		}
	}
	for _, s := range []string{"ls; rm x", "echo $(ls) > x", "cat <<E\n$(rm)\nE", "bash -c 'rm x'", "$'\\x72m' x", "{rm,-rf}", "a=(b c) ls", "case x in y) ls;; esac"} {
		f.Add(arg("command", s))
	}
	narrow, _, err := Compile(rulesOf(a("bash(ls:*)", "bash(echo:*)", "bash(git:*)"), a("bash(rm:*)", "file_read(**/.env)"), nil))
	if err != nil {
		f.Fatal(err)
	}
	wide, _, err := Compile(rulesOf(a("bash"), nil, nil))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, args string) {
		c := Call{Tool: BuiltinTool("bash"), Args: []byte(args), Workspace: "/w", Home: "/h"}
		d := narrow.Decide(c)
		if d.Effect == Allow {
			// What narrow rules allow can't contain what wide rules doubt, and
			// every part names one of the three programs.
			if w := wide.Decide(c); w.Effect != Allow && len(w.Parts) == len(d.Parts) {
				for i, p := range w.Parts {
					if p.Effect != Allow && d.Parts[i].Effect == Allow {
						t.Fatalf("%q: narrow rules allow the part %q, wide ones do not", args, p.Text)
					}
				}
			}
			for _, p := range d.Parts {
				if p.Rule == "" && p.Effect == Allow && p.Reason == "" {
					t.Fatalf("%q: a part is allowed without a reason", args)
				}
			}
		}
		if d.Effect != Ask && len(d.SuggestedPatterns) > 0 {
			t.Fatalf("%q: suggestions for %s", args, d.Effect)
		}
	})
}

func FuzzPath(f *testing.F) {
	for _, s := range []string{"a/b", "../x", "~/x", "/etc/passwd", "secrets/x", "SECRETS", "a\x00", "caf\u00e9", "$HOME/x", "./a/../../w/secrets"} {
		f.Add(s)
	}
	set, _, err := Compile(rulesOf(a("file_read(./**)"), a("file_read(./secrets/**)"), nil))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d := set.Decide(Call{Tool: BuiltinTool("file_read"), Args: []byte(arg("path", s)), Workspace: "/w", Home: "/h"})
		for _, p := range d.Paths {
			if rest, ok := below("/w", p); d.Effect == Allow && (!ok || rest == "") {
				t.Fatalf("%q: %s is allowed", s, p)
			}
			if _, ok := below("/w/secrets", foldString(p)); ok && d.Effect == Allow {
				t.Fatalf("%q: a denied path is allowed", s)
			}
		}
	})
}

func FuzzURL(f *testing.F) {
	for _, s := range []string{"https://x.org/", "https://a@x.org", "http://0x7f.1/", "https://x.org\\@y", "https://x.org/%2e%2e/", "//x", "https://[::1]/", "https://xn--bcher-kva.example/"} {
		f.Add(s)
	}
	set, _, err := Compile(rulesOf(a("http_fetch(https://x.org/pub/**)"), nil, nil))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if d := set.Decide(Call{Tool: BuiltinTool("http_fetch"), Args: []byte(arg("url", s))}); d.Effect == Allow {
			w := parseTarget(s, "GET")
			if w.host != "x.org" || w.port != "443" || w.scheme != "https" || w.user {
				t.Fatalf("%q is allowed as %+v", s, w)
			}
		}
	})
}

func FuzzOptions(f *testing.F) {
	for _, s := range []string{"-u -k2,2 --output=x a", "xzf a -C b", "-5 --form -- -O", "-nO x", "--no-ext-d --ext", "-exec rm {} + -print", "--arg a"} {
		f.Add(s)
	}
	tables := everyTable()
	f.Fuzz(func(t *testing.T, s string) {
		var args []word
		for _, text := range strings.Fields(s) {
			args = append(args, plainWord(text))
		}
		for name, o := range tables {
			r := o.read(args)
			if len(r.operands)+len(r.rest) > 2*len(args) || r.open {
				t.Fatalf("%s %q: %d operands, open %v", name, s, len(r.operands), r.open)
			}
			for _, a := range r.operands {
				if !r.ended && o.ends == "" && !o.ordered && len(a.text) > 1 && a.text[0] == '-' {
					t.Fatalf("%s %q: the operand %q is an option", name, s, a.text)
				}
			}
			if alone := o.hazard(name, o.read(args[:min(1, len(args))])); alone != "" && o.hazard(name, r) == "" && !takesNext(o, args) {
				t.Fatalf("%s %q: more words hide what the first one says: %s", name, s, alone)
			}
		}
	})
}

// takesNext reports whether the first option's value stands in the next word,
// where it may be one that counts for nothing.
func takesNext(o *options, args []word) bool {
	r := o.read(args[:1])
	n := len(r.opts)
	return n > 0 && !r.opts[n-1].given && r.opts[n-1].takes != takesNone
}

func BenchmarkDecide(b *testing.B) {
	deny := []string{"bash(rm:*)", "file_read(**/.env)", "file_write(./.git/**)", "bash(sudo:*)", "bash(git push:*)"}
	var allow []string
	for _, p := range []string{"ls", "cat", "grep", "git status", "git diff", "npm run test", "go test", "echo", "head", "tail"} {
		allow = append(allow, "bash("+p+":*)")
	}
	set, _, err := Compile(rulesOf(allow, deny, nil))
	if err != nil {
		b.Fatal(err)
	}
	for name, command := range map[string]string{"simple": "git status", "compound": "npm run test:unit 2>&1 | tail -n 20 && git diff --stat", "substitution": "echo $(cat $(ls src)) | grep -n x"} {
		c := Call{Tool: BuiltinTool("bash"), Args: []byte(arg("command", command)), Workspace: "/w", Home: "/h"}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				set.Decide(c)
			}
		})
	}
}

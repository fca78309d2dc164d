package permission

import (
	"strconv"
	"testing"
)

func TestAcceptedRisksLeaveTheRestWithAPerson(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		tool, field, value string
		rules              []Rule
		want               Effect
	}{
		{"bash", "command", "ls -la", nil, Allow},
		{"bash", "command", "make && make install", nil, Allow},
		{"bash", "command", "echo x > out.txt", nil, Allow},
		{"bash", "command", "echo x > /etc/profile", nil, Ask},
		{"bash", "command", "cat < .env", nil, Ask},
		{"bash", "command", "eval \"$X\"", nil, Ask},
		{"bash", "command", "$X", nil, Ask},
		{"bash", "command", "echo 'open", nil, Ask},
		{"bash", "command", "git push", []Rule{{Effect: Ask, Pattern: "bash(git push:*)"}}, Ask},
		{"bash", "command", "ls && git push", []Rule{{Effect: Ask, Pattern: "bash(git push:*)"}}, Ask},
		{"bash", "command", "rm x", []Rule{{Effect: Deny, Pattern: "bash(rm:*)"}}, Deny},
		{"bash", "command", "rm x", []Rule{{Effect: Allow, Pattern: "bash(ls:*)"}}, Allow},
		{"bash", "command", "ls", []Rule{{Effect: Deny, Pattern: "bash(unreadable"}}, Ask},
		{"file_write", "path", "a.txt", nil, Allow},
		{"file_write", "path", "../a.txt", nil, Ask},
		{"file_write", "path", "/etc/passwd", nil, Ask},
		{"file_write", "path", ".env.local", nil, Ask},
		{"file_write", "path", "~/.ssh/authorized_keys", nil, Ask},
		{"file_edit", "path", "src/a.go", nil, Allow},
		{"file_edit", "path", "src/a.go", []Rule{{Effect: Ask, Pattern: "file_edit(./src/**)"}}, Ask},
		{"file_read", "path", "a.txt", nil, Allow},
		{"file_read", "path", "id_rsa", nil, Ask},
		{"file_read", "path", "/etc/hosts", nil, Ask},
		{"http_fetch", "url", "https://example.com/", nil, Allow},
		{"http_fetch", "url", "http://127.0.0.1/", nil, Deny},
	} {
		t.Run(strconv.Itoa(i)+" "+c.tool+" "+c.value, func(t *testing.T) {
			t.Parallel()
			set, _, _ := Compile(c.rules) // a broken deny must make it ask
			call := Call{Tool: BuiltinTool(c.tool), Args: []byte(arg(c.field, c.value)), Workspace: "/w", Home: "/h", UserID: "u1", Now: noon}
			call.Tool.Consent = ConsentAccepted
			if d := set.Decide(call); d.Effect != c.want {
				t.Errorf("%s (%s), want %s", d.Effect, d.Reason, c.want)
			}
			call.Tool.Consent = ConsentAlways
			if d := set.Decide(call); c.want != Allow && d.Effect != c.want {
				t.Errorf("without it %s, and with it %s", d.Effect, c.want)
			}
		})
	}
}

func TestAccepts(t *testing.T) {
	t.Parallel()
	all := []Risk{"", "low", "medium", "high", "critical", "odd"}
	for _, limit := range all {
		for _, risk := range all {
			want := limit == "low" && risk == "low" || limit == "medium" && (risk == "low" || risk == "medium") ||
				limit == "high" && (risk == "low" || risk == "medium" || risk == "high")
			if limit.Accepts(risk) != want {
				t.Errorf("a limit of %q and a risk of %q: %v", limit, risk, !want)
			}
		}
	}
}

package builtin

import (
	"context"
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"holdpoint/tool"
)

func TestBashTellsOutputAndExit(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, script, want string }{
		{"output", "echo hello", "hello\n"},
		{"nothing printed", "true", "[no output]"},
		{"both streams in order", "echo 1; echo 2 >&2; echo 3; echo 4 >&2", "1\n2\n3\n4\n"},
		{"no final newline", "printf x", "x"},
		{"a script of several lines", "a=1\nb=2\necho $((a+b))", "3\n"},
		{"unicode", "echo 'żółć 日本 🙂'", "żółć 日本 🙂\n"},
		{"nothing to read", "cat; echo end", "end\n"},
		{"no terminal", "tty; true", "not a tty\n"},
		{"no terminal to open", "if (: </dev/tty) 2>/dev/null; then echo open; else echo closed; fi", "closed\n"},
		{"bash it is", "[[ a == a ]] && echo ${BASH_VERSION:+bash}", "bash\n"},
		{"not interactive", "shopt -q login_shell && echo login; case $- in *i*) echo interactive;; esac; echo -", "-\n"},
		{"invalid bytes", `printf 'a\xff\xfeb\0c'`, "a\uFFFDb\uFFFDc"},
		{"a rune cut by a flush", `printf '\xc5'; sleep 0.1; printf '\x82'`, "ł"},
		{"the file name of the script is plain", "echo $0", "bash\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := setup(t)
			got := b.bash(tt.script)
			got.Content = strings.ReplaceAll(got.Content, "/usr/bin/bash", "bash")
			got.Content = strings.ReplaceAll(got.Content, "/bin/bash", "bash")
			wantText(t, got, tool.StatusSuccess, tt.want)
		})
	}
}

func TestBashTellsFailures(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, script, want string }{
		{"exit status", "echo out; exit 3", "out\n[exit status 3]"},
		{"a signal", "kill -KILL $$", "[killed by signal SIGKILL]"},
		{"a newline is put before the note", "printf x; exit 1", "x\n[exit status 1]"},
		{"a script that begins with a dash", "-x", "command not found\n[exit status 127]"},
		{"a syntax error", "if", "[exit status 2]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			wantPart(t, setup(t).bash(tt.script), tool.StatusError, tt.want)
		})
	}
}

func TestBashRunsInTheWorkspace(t *testing.T) {
	b := setup(t)
	b.file("here.txt", "x")
	wantText(t, b.bash("pwd; ls"), tool.StatusSuccess, b.workspace+"\nhere.txt\n")
}

func TestBashRefusesBadArguments(t *testing.T) {
	t.Parallel()
	long, _ := json.Marshal(args{"command": strings.Repeat("x", maxCommand+1)})
	tests := []struct{ name, args, want string }{
		{"empty", `{"command":" \n"}`, "command is empty"},
		{"missing", `{}`, "command is empty"},
		{"twice", `{"command":"true","command":"touch ran"}`, "command"},
		{"another case", `{"Command":"touch ran"}`, "Command"},
		{"unknown field", `{"command":"touch ran","sandbox":false}`, "sandbox"},
		{"wrong type", `{"command":["touch","ran"]}`, "command"},
		{"no object", `"touch ran"`, "object"},
		{"something after it", `{"command":"touch ran"} {}`, "can't be used"},
		{"a NUL", `{"command":"touch ran\u0000"}`, "NUL"},
		{"too long", string(long), "at most 100000"},
		{"nothing", ``, "can't be used"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := setup(t)
			wantPart(t, b.run(NameBash, tt.args), tool.StatusError, tt.want)
			wantText(t, b.bash("ls"), tool.StatusSuccess, "[no output]")
		})
	}
}

func TestBashNeedsAWorkspace(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"", "relative", "/does/not/exist"} {
		call := tool.Call{Args: json.RawMessage(`{"command":"true"}`), Workspace: dir}
		if out, err := newBash(Config{}.withDefaults()).Run(context.Background(), call); err == nil {
			t.Errorf("%q: got %+v, want an error", dir, out)
		}
	}
}

func TestBashStartsNothingWhenTimeIsOver(t *testing.T) {
	b := setup(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := b.tool(NameBash).Run(ctx, b.call(NameBash, args{"command": "touch ran"})); err == nil {
		t.Error("want an error")
	}
	wantText(t, b.bash("ls"), tool.StatusSuccess, "[no output]")
}

func TestBashEnvironmentIsScrubbed(t *testing.T) {
	b := setup(t)
	b.cfg.Env = []string{"EXTRA=a b", "BASH_ENV=/tmp/evil", "BASH_FUNC_ls%%=() { echo evil; }", "SHELLOPTS=xtrace"}
	got := b.bash("env; echo; cat /proc/$PPID/environ | tr '\\0' '\\n'")
	if strings.Contains(got.Content, secretValue) || strings.Contains(got.Content, "evil") {
		t.Errorf("the environment leaks:\n%s", got.Content)
	}
	wantPart(t, got, tool.StatusSuccess, "EXTRA=a b\n", "TERM=dumb\n", "PATH=")
	known := map[string]bool{"PWD": true, "SHLVL": true, "_": true, "PATH": true, "TERM": true, "EXTRA": true, markerVar: true}
	for _, name := range inherited {
		known[name] = true
	}
	for line := range strings.Lines(got.Content) {
		if name, _, ok := strings.Cut(line, "="); ok && !known[name] {
			t.Errorf("%s is in the environment", name)
		}
	}
}

func TestEnviron(t *testing.T) {
	t.Parallel()
	worker := map[string]string{"PATH": "/p", "HOME": "/h", "LC_ALL": "C", "TERM": "xterm", "KEY": "k", "PASS": "on", "ENV": "/rc"}
	got := environ([]string{"PASS", "ABSENT", "SET=1=2", "HOME=/other", "ENV", "IFS=x", "=x", markerVar + "=1"}, func(n string) (string, bool) {
		v, ok := worker[n]
		return v, ok
	})
	want := "PATH=/p TERM=dumb HOME=/other LC_ALL=C PASS=on SET=1=2"
	if s := strings.Join(got, " "); s != want {
		t.Errorf("got %s, want %s", s, want)
	}
	if got := environ(nil, func(string) (string, bool) { return "", false }); got[0] != "PATH="+defaultPath {
		t.Errorf("got %v, want a default PATH", got)
	}
}

func TestBashBoundsOutput(t *testing.T) {
	b := setup(t)
	got := b.bash("echo first; for i in $(seq 30000); do echo żółć $i; done; echo last; exit 4")
	wantPart(t, got, tool.StatusError, "first\nżółć 1\n", "bytes left out …\n", "żółć 30000\nlast\n[exit status 4]")
	if !utf8.ValidString(got.Content) || len(got.Content) < 60_000 {
		t.Errorf("got %d bytes, valid %v", len(got.Content), utf8.ValidString(got.Content))
	}
}

func TestBashFloodStaysInBoundedMemory(t *testing.T) {
	b := setup(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := b.bash("echo first; head -c 200000000 /dev/zero | tr '\\0' x; echo; echo last")
	runtime.ReadMemStats(&after)
	wantPart(t, got, tool.StatusSuccess, "first\nxxx", "… 1999", "xxx\nlast\n")
	// Other tests allocate at the same time, so this can't be tight; the output alone has 200 MB.
	if grown := int64(after.Sys) - int64(before.Sys); grown > 64<<20 {
		t.Errorf("memory grew by %d bytes", grown)
	}
}

func TestBashEndsWhenItsTimeIsOver(t *testing.T) {
	b := setup(t)
	b.cfg.Timeout = 2 * time.Second
	wantPart(t, b.bash("echo begun; sleep 1000"), tool.StatusError, "begun\n[ended: it took longer than 2s")
}

func TestBashPreviewHidesNothing(t *testing.T) {
	b := setup(t)
	got, err := b.tool(NameBash).(tool.Previewer).Preview(context.Background(), b.call(NameBash, args{"command": "echo a\u202eb\r\n\tls \x1b[2K"}))
	if want := "echo a\\u202eb\\u000d\n\tls \\u001b[2K"; err != nil || got != want {
		t.Errorf("got %q %v, want %q", got, err, want)
	}
	if _, err := b.tool(NameBash).(tool.Previewer).Preview(context.Background(), b.call(NameBash, `{}`)); err == nil {
		t.Error("want an error for arguments that can't run")
	}
}

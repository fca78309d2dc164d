package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"

	"holdpoint/interaction"
)

// seat is a person at a real terminal, before a bridge that is played.
type seat struct {
	bridge *fakeBridge
	screen *terminal
	dir    string
	tty    *os.File
	cmd    *exec.Cmd
	ended  chan error
}

// sit runs a command line at a terminal of 100 columns. editor is a shell script that edits "$1".
func sit(t *testing.T, rows []interaction.Request, editor string, args ...string) *seat {
	t.Helper()
	s := newSeat(t, rows)
	s.start(t, editor, args...)
	return s
}

func newSeat(t *testing.T, rows []interaction.Request) *seat {
	t.Helper()
	s := &seat{dir: t.TempDir(), screen: newTerminal(), ended: make(chan error, 1)}
	s.bridge = newFakeBridge(t, s.dir)
	s.bridge.mu.Lock()
	for _, r := range rows {
		s.bridge.rows = append(s.bridge.rows, interaction.Open(r, testNow))
	}
	s.bridge.mu.Unlock()
	return s
}

func (s *seat) start(t *testing.T, editor string, args ...string) {
	t.Helper()
	self, err := os.Executable() // TestMain runs the CLI when it is called by its name
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(s.dir, "holdpoint-then")
	if err := os.Symlink(self, name); err != nil {
		t.Fatal(err)
	}
	s.cmd = exec.Command(name, args...)
	s.cmd.Dir = s.dir
	s.cmd.Env = append(os.Environ(), "HOLDPOINT_ADDR="+s.bridge.URL, "HOLDPOINT_TOKEN="+fakeToken, "TERM=xterm", "NO_COLOR=", "VISUAL=")
	if editor != "" {
		path := filepath.Join(s.dir, "my editor")
		if err := os.WriteFile(path, []byte("#!/bin/sh\nset -e\n"+editor), 0o755); err != nil {
			t.Fatal(err)
		}
		s.cmd.Env = append(s.cmd.Env, "VISUAL='"+path+"'")
	}
	if s.tty, err = pty.StartWithSize(s.cmd, &pty.Winsize{Rows: 40, Cols: 100}); err != nil {
		t.Fatal(err)
	}
	shown := make(chan struct{})
	go func() {
		_, _ = io.Copy(s.screen, s.tty) // ends with an error when the terminal is gone
		close(shown)
	}()
	go func() {
		err := s.cmd.Wait()
		<-shown
		s.ended <- err
	}()
	t.Cleanup(func() { _ = s.cmd.Process.Kill(); _ = s.tty.Close() })
}

// types waits until a prompt was shown n times, and then types a line.
func (s *seat) types(t *testing.T, prompt string, n int, line string) {
	t.Helper()
	s.screen.await(t, prompt, n)
	if _, err := io.WriteString(s.tty, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

// ends waits for the end and checks the exit code.
func (s *seat) ends(t *testing.T, want int) {
	t.Helper()
	err := <-s.ended
	got := 0
	var exited *exec.ExitError
	if errors.As(err, &exited) {
		got = exited.ExitCode()
	}
	if got != want {
		t.Errorf("exit code %d (%v), want %d\n%s", got, err, want, s.screen)
	}
}

// sent are the answers that the bridge got.
func (s *seat) sent(t *testing.T) []interaction.Response {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(s.dir, "got.jsonl"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	var out []interaction.Response
	for line := range bytes.Lines(data) {
		list, err := interaction.DecodeResponses(bytes.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, list...)
	}
	return out
}

const (
	openWhich = "Open which?"
	choice    = "Your choice:"
)

func TestTheInboxAtATerminal(t *testing.T) {
	t.Parallel()
	edit := approval("aaaa1111-1-0-1", `{"path":"x.sh","old":"one","new":"two"}`)
	edit.ToolName, edit.Title = "file_edit", "Edit x.sh"
	edit.Details = "--- x.sh\n+++ x.sh\n@@ -1 +1 @@\n-one\n+two\u202e\n"
	other := approval("aaaa1111-2-0-1", `{"command":"make"}`)
	other.Digest = "sha256:other"
	s := sit(t, []interaction.Request{edit, other}, "", "inbox")
	s.types(t, openWhich, 1, "nonsense")
	s.types(t, openWhich, 2, "9")
	s.types(t, openWhich, 3, "2")
	s.types(t, choice, 1, "r")
	s.types(t, "Why, for the agent", 1, "too early")
	s.types(t, openWhich, 4, "aaaa1111-1")
	s.types(t, choice, 2, "later")
	s.types(t, openWhich, 5, "1")
	s.types(t, choice, 3, "a")
	s.types(t, openWhich, 6, "q")
	s.ends(t, 0)
	out := s.screen.String()
	for _, want := range []string{"\x1b[31m-one\x1b[0m", "\x1b[32m+two\\u202e\x1b[0m", "Nothing of the list is nonsense", "Nothing waits for a person."} {
		if !strings.Contains(out, want) {
			t.Errorf("%q was not shown:\n%s", want, out)
		}
	}
	got := s.sent(t)
	if len(got) != 2 || got[0].Action != "reject" || got[0].Feedback != "too early" || got[0].Digest != "sha256:other" || got[1].Action != "approve" || got[1].Digest != "sha256:d" {
		t.Errorf("sent %+v", got)
	}
}

func TestArgumentsAreEditedInAnEditor(t *testing.T) {
	t.Parallel()
	args := `{"command":"ls\u202e","n":5}`
	// The first time it breaks the text, the second time it mends it: each gets what the one before left.
	s := sit(t, []interaction.Request{approval("aaaa1111-1-0-1", args)}, `
cat "$1" >> seen
if grep -q broken "$1"; then printf '{"command": "ls -l", "n": 5}' > "$1"; else printf '{"command": broken' > "$1"; fi
`, "inbox")
	s.types(t, openWhich, 1, "1")
	s.types(t, choice, 1, "e")
	s.types(t, "Edit it again?", 1, "maybe")
	s.types(t, "Edit it again?", 2, "yes")
	s.types(t, "Run it with these arguments?", 1, "sure")
	s.types(t, "Run it with these arguments?", 2, "yes")
	s.types(t, openWhich, 2, "q")
	s.ends(t, 0)
	seen, err := os.ReadFile(filepath.Join(s.dir, "seen"))
	if err != nil || string(seen) != "{\n  \"command\": \"ls\\u202e\",\n  \"n\": 5\n}\n{\"command\": broken" {
		t.Errorf("the editor was given %q, %v", seen, err)
	}
	got := s.sent(t)
	if len(got) != 1 || got[0].Action != "modify_args" || string(got[0].Args) != `{"command":"ls -l","n":5}` || got[0].Digest != "sha256:d" {
		t.Fatalf("sent %+v", got)
	}
	if out := s.screen.String(); !strings.Contains(out, `-ls\u202e`) || !strings.Contains(out, "+ls -l") || strings.Contains(out, "Changed n") || strings.Contains(out, "\u202e") {
		t.Errorf("the change was not shown:\n%s", out)
	}
}

func TestARefusedEditIsThereForTheNextTry(t *testing.T) {
	t.Parallel()
	s := sit(t, []interaction.Request{approval("aaaa1111-1-0-1", `{"command":"ls"}`)}, `
if grep -q schema "$1"; then sed -i 's/against the schema/short/' "$1"; else printf '{"command": "against the schema"}' > "$1"; fi
`, "inbox")
	s.types(t, openWhich, 1, "1")
	s.types(t, choice, 1, "e")
	s.types(t, "Run it with these arguments?", 1, "yes")
	s.screen.await(t, "args.command: must be short", 1)
	s.types(t, choice, 2, "e")
	s.types(t, "Run it with these arguments?", 2, "yes")
	s.types(t, openWhich, 2, "q")
	s.ends(t, 0)
	if got := s.sent(t); len(got) != 2 || string(got[1].Args) != `{"command":"short"}` {
		t.Errorf("sent %+v", got)
	}
}

func TestWhatIsTypedBesideTheEditorAnswersNothing(t *testing.T) {
	t.Parallel()
	s := sit(t, []interaction.Request{approval("aaaa1111-1-0-1", `{"command":"ls"}`)}, `
printf '{"command": "rm -r"}' > "$1"
echo editing
while [ ! -e saved ]; do sleep 0.02; done
`, "inbox")
	s.types(t, openWhich, 1, "1")
	s.types(t, choice, 1, "e")
	s.types(t, "editing", 1, "yes")
	s.screen.await(t, "yes", 1) // the terminal has it
	if err := os.WriteFile(filepath.Join(s.dir, "saved"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s.types(t, "Run it with these arguments?", 1, "no")
	s.types(t, choice, 2, "l")
	s.types(t, openWhich, 2, "q")
	s.ends(t, 0)
	if got := s.sent(t); len(got) != 0 {
		t.Errorf("sent %+v", got)
	}
}

func TestAnEditorThatFailsOrChangesNothingSendsNothing(t *testing.T) {
	t.Parallel()
	for name, editor := range map[string]string{"fails": "echo oh >&2; exit 3", "changes nothing": "true", "empties": `: > "$1"`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sit(t, []interaction.Request{approval("aaaa1111-1-0-1", `{"command":"ls"}`)}, editor, "inbox")
			s.types(t, openWhich, 1, "1")
			s.types(t, choice, 1, "e")
			s.types(t, choice, 2, "l")
			s.types(t, openWhich, 2, "q")
			s.ends(t, 0)
			if got := s.sent(t); len(got) != 0 {
				t.Errorf("sent %+v", got)
			}
		})
	}
}

func TestSeveralAreApprovedAtATerminalOnlyAfterAYes(t *testing.T) {
	t.Parallel()
	unknown := approval("aaaa1111-3-0-1", `{"command":"deploy"}`)
	unknown.Kind = interaction.KindOutcomeUnknown
	rows := []interaction.Request{approval("aaaa1111-1-0-1", `{"command":"first"}`), approval("aaaa1111-2-0-1", `{"command":"second"}`), unknown}
	for _, how := range []string{"desk", "run"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			const sure = "approve these 2? yes"
			var s *seat
			if how == "desk" {
				s = sit(t, rows, "", "inbox")
				s.types(t, openWhich, 1, "approve all")
				s.types(t, sure, 1, "ok")
				s.types(t, openWhich, 2, "approve 1 2 3 1")
				s.types(t, sure, 2, "yes")
				s.types(t, openWhich, 3, "q")
				s.ends(t, 0)
			} else {
				s = sit(t, rows, "", "respond", "--run", "run-1", "approve")
				s.types(t, sure, 1, "yes")
				s.ends(t, 1) // one was left out
			}
			shown, _, _ := strings.Cut(s.screen.String(), sure)
			if !strings.Contains(shown, "│ \x1b[0mfirst") || !strings.Contains(shown, "│ \x1b[0msecond") || !strings.Contains(shown, "is marked dangerous") {
				t.Errorf("not shown before the question:\n%s", shown)
			}
			if got := s.sent(t); len(got) != 2 || got[0].Digest != "sha256:d" {
				t.Errorf("sent %+v", got)
			}
		})
	}
}

func TestAWatchedRunIsAnsweredAtATerminal(t *testing.T) {
	t.Parallel()
	s := newSeat(t, []interaction.Request{approval("run-1-1-0-1", `{"command":"ls"}`)})
	writeStream(t, s.dir, answeredRun()...)
	s.start(t, `printf '{"command":"ls -a"}' > "$1"`, "watch", "run-1", "--answer")
	s.types(t, choice, 1, "e")
	s.types(t, "Run it with these arguments?", 1, "yes")
	s.ends(t, 0)
	if got := s.sent(t); len(got) != 1 || got[0].Action != "modify_args" || string(got[0].Args) != `{"command":"ls -a"}` {
		t.Errorf("sent %+v", got)
	}
	if out := s.screen.String(); !strings.Contains(out, "completed") {
		t.Errorf("shown:\n%s", out)
	}
}

func TestCtrlCLeavesTheInbox(t *testing.T) {
	t.Parallel()
	for _, keys := range []string{"\x03", "1\n\x03"} {
		s := sit(t, []interaction.Request{approval("aaaa1111-1-0-1", `{"command":"ls"}`)}, "", "inbox")
		s.screen.await(t, openWhich, 1)
		_, _ = io.WriteString(s.tty, keys[:1])
		if keys[0] != 3 {
			_, _ = io.WriteString(s.tty, "\n")
			s.screen.await(t, choice, 1)
			_, _ = io.WriteString(s.tty, "\x03")
		}
		s.ends(t, exitInterrupted)
	}
}

func TestALiveInboxShowsWhatComesAndGoes(t *testing.T) {
	t.Parallel()
	first, second := approval("aaaa1111-1-0-1", `{"command":"ls"}`), approval("aaaa1111-2-0-1", `{"command":"make"}`)
	s := sit(t, []interaction.Request{first}, "", "inbox", "--watch", "--every", "200ms")
	s.screen.await(t, "aaaa1111-1-0-1", 1)
	s.bridge.mu.Lock()
	s.bridge.rows = append(s.bridge.rows, interaction.Open(second, testNow))
	s.bridge.mu.Unlock()
	s.screen.await(t, "aaaa1111-2-0-1", 1)
	s.bridge.mu.Lock()
	s.bridge.rows = nil
	s.bridge.mu.Unlock()
	s.screen.await(t, "Nothing waits for a person.", 1)
	_, _ = io.WriteString(s.tty, "\x03")
	s.ends(t, exitInterrupted)
}

// TestALiveInboxForPrograms reads the changes as JSON, through a bridge that is busy for a while.
func TestALiveInboxForPrograms(t *testing.T) {
	t.Parallel()
	s := sit(t, []interaction.Request{approval("aaaa1111-1-0-1", `{"command":"ls"}`)}, "", "inbox", "--watch", "--json", "--every", "200ms")
	s.screen.await(t, `"change":"opened"`, 1)
	s.bridge.mu.Lock()
	s.bridge.fail = 4
	_, err := s.bridge.rows[0].Apply(interaction.Response{ID: "r", RequestID: "aaaa1111-1-0-1", Action: "approve", Reviewer: interaction.Principal{ID: "ada"}}, testNow)
	s.bridge.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	s.screen.await(t, `"change":"closed"`, 1)
	_, _ = io.WriteString(s.tty, "\x03")
	s.ends(t, exitInterrupted)
	changes := 0
	for line := range strings.SplitSeq(s.screen.String(), "\n") {
		var ch change
		if json.Unmarshal([]byte(strings.TrimSpace(line)), &ch) == nil && ch.Interaction != nil {
			changes++
			if ch.Change == "closed" && (ch.Interaction.Status != interaction.StatusAnswered || len(ch.Interaction.Responses) != 1) {
				t.Errorf("closed: %+v", ch.Interaction)
			}
		}
	}
	if changes != 2 {
		t.Errorf("%d changes:\n%s", changes, s.screen)
	}
}

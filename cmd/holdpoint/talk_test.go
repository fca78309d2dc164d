package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"holdpoint/api"
	"holdpoint/event"
	"holdpoint/interaction"
)

// terminal is what a person sees.
type terminal struct {
	mu      sync.Mutex
	changed *sync.Cond
	buf     bytes.Buffer
}

func newTerminal() *terminal {
	s := &terminal{}
	s.changed = sync.NewCond(&s.mu)
	return s
}

func (s *terminal) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed.Broadcast()
	return s.buf.Write(p)
}

func (s *terminal) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

// await waits until text was shown n times.
func (s *terminal) await(t *testing.T, text string, n int) {
	t.Helper()
	expired := false
	stop := time.AfterFunc(20*time.Second, func() { s.mu.Lock(); expired = true; s.changed.Broadcast(); s.mu.Unlock() })
	defer stop.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for strings.Count(s.buf.String(), text) < n {
		if expired {
			t.Fatalf("%q was not shown %d times:\n%s", text, n, s.buf.String())
		}
		s.changed.Wait()
	}
}

// talking is a person at a terminal, before a bridge with these interactions.
type talking struct {
	*talk
	bridge *fakeBridge
	screen *terminal
	dir    string
}

func newTalking(t *testing.T, rows ...interaction.Request) *talking {
	t.Helper()
	dir := t.TempDir()
	b := newFakeBridge(t, dir)
	b.mu.Lock()
	for _, r := range rows {
		b.rows = append(b.rows, interaction.Open(r, testNow))
	}
	b.mu.Unlock()
	base, err := url.Parse(b.URL)
	if err != nil {
		t.Fatal(err)
	}
	screen := newTerminal()
	c := &cli{name: "holdpoint", out: screen, err: screen, now: func() time.Time { return testNow }, width: 80, asks: true,
		getenv: func(string) (string, bool) { return "", false }}
	return &talking{talk: &talk{c: c, cl: newClient(base, fakeToken), r: &remote{data: defaultData}}, bridge: b, screen: screen, dir: dir}
}

// types sends lines, each after the prompt before it.
func (k *talking) types(lines ...string) {
	for _, l := range lines {
		k.line(context.Background(), typedLine{l, time.Now()}, true)
	}
}

func (k *talking) sent(t *testing.T) []interaction.Response {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(k.dir, "got.jsonl"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	var out []interaction.Response
	for line := range strings.SplitSeq(strings.TrimSpace(string(data)), "\n") {
		r, err := interaction.DecodeResponse([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

func approval(id interaction.ID, args string) interaction.Request {
	return interaction.Request{ID: id, RunID: "run-1", SessionID: "s-1", Type: interaction.TypeToolApproval, ToolName: "bash",
		ToolArgs: json.RawMessage(args), Title: "Run bash", Risk: "high", Digest: "sha256:d"}
}

func TestOnlyAKeyOrAWordApproves(t *testing.T) {
	t.Parallel()
	k := newTalking(t, approval("run-1-1-0-1", `{"command":"ls"}`))
	k.ask(t.Context(), "run-1-1-0-1")
	for _, text := range []string{"sure, but first tell me the price", "yes", "ok", "", "approve it", "a.", "aa", "approve please", "stop"} {
		k.types(text)
		if got := k.sent(t); len(got) != 0 {
			t.Fatalf("%q sent %+v", text, got)
		}
	}
	k.types(" A ")
	got := k.sent(t)
	if len(got) != 1 || got[0].Action != interaction.ActionApprove || got[0].Digest != "sha256:d" || got[0].ID == "" {
		t.Fatalf("the key sent %+v", got)
	}
}

func TestWhatWasTypedBeforeTheQuestionAnswersNothing(t *testing.T) {
	t.Parallel()
	k := newTalking(t, approval("run-1-1-0-1", `{"command":"ls"}`))
	before := typedLine{"a", time.Now()}
	k.ask(t.Context(), "run-1-1-0-1")
	k.line(t.Context(), before, true)
	if got := k.sent(t); len(got) != 0 {
		t.Fatalf("a line typed ahead sent %+v", got)
	}
}

func TestWhatIsDangerousNeedsItsWholeWord(t *testing.T) {
	t.Parallel()
	req := approval("run-1-1-0-1", `{"command":"deploy"}`)
	req.Kind = interaction.KindOutcomeUnknown
	k := newTalking(t, req)
	k.ask(t.Context(), req.ID)
	k.types("a", "r", "run", "again")
	if got := k.sent(t); len(got) != 0 {
		t.Fatalf("a short word sent %+v", got)
	}
	k.types("run_again")
	if got := k.sent(t); len(got) != 1 || got[0].OptionID != "run_again" {
		t.Fatalf("the word sent %+v", got)
	}
}

func TestALongCommandIsShownWholeBeforeThePrompt(t *testing.T) {
	t.Parallel()
	command := strings.Repeat("echo harmless; ", 200) + "rm -rf --no-preserve-root /"
	args, err := json.Marshal(map[string]string{"command": command + "\x1b[2K\u202e" + strings.Repeat(" ", 100) + "completed"})
	if err != nil {
		t.Fatal(err)
	}
	k := newTalking(t, approval("run-1-1-0-1", string(args)))
	k.ask(t.Context(), "run-1-1-0-1")
	shown, _, _ := strings.Cut(k.screen.String(), "Your choice:")
	joined := strings.ReplaceAll(strings.ReplaceAll(shown, "\n"+edgeAgain, ""), "\n"+edge, "")
	if !strings.Contains(joined, command+`\u001b[2K\u202e`) {
		t.Errorf("the command is not shown whole and escaped before the prompt:\n%s", shown)
	}
	for line := range strings.SplitSeq(shown, "\n") {
		if strings.HasPrefix(line, "completed") || len([]rune(line)) > 80 {
			t.Errorf("a line imitates ours or runs over the edge: %q", line)
		}
	}
	if strings.ContainsAny(shown, "\x1b\u202e") {
		t.Error("a control character reached the terminal")
	}
}

func TestEditedArgumentsAreShownAgainBeforeTheyAreSent(t *testing.T) {
	t.Parallel()
	k := newTalking(t, approval("run-1-1-0-1", `{"command":"ls"}`))
	k.ask(t.Context(), "run-1-1-0-1")
	k.types("e", `{"command":`, `"ls -l"}`, "sure")
	if got := k.sent(t); len(got) != 0 {
		t.Fatalf("sent before the yes: %+v", got)
	}
	if !strings.Contains(k.screen.String(), edge+"ls -l") {
		t.Error("the edited arguments were not shown")
	}
	k.types("no", "e", `{"command":"a","command":"b"}`, `{"command":"ls -a"}`, "yes")
	got := k.sent(t)
	if len(got) != 1 || got[0].Action != interaction.ActionModifyArgs || string(got[0].Args) != `{"command":"ls -a"}` {
		t.Fatalf("sent %+v", got)
	}
}

func TestQuestionsAreAnsweredInTheirOwnWay(t *testing.T) {
	t.Parallel()
	choice := func(multiple bool) interaction.Request {
		return interaction.Request{Type: interaction.TypeSelect, Title: "Which?", Multiple: multiple, Options: []interaction.Option{
			{ID: "option_1", Label: "One", Action: interaction.ActionAnswer}, {ID: "option_2", Label: "Two", Action: interaction.ActionAnswer},
			{ID: "skip", Label: "Skip", Action: interaction.ActionSkip}}}
	}
	for name, c := range map[string]struct {
		req   interaction.Request
		types []string
		check func(interaction.Response) bool
	}{
		"reject with a reason": {approval("", `{}`), []string{"r", "too wide"}, func(r interaction.Response) bool {
			return r.Action == interaction.ActionReject && r.Feedback == "too wide"
		}},
		"reject without one": {approval("", `{}`), []string{"reject", ""}, func(r interaction.Response) bool {
			return r.Action == interaction.ActionReject && r.Feedback == ""
		}},
		"think again": {approval("", `{}`), []string{"t", "smaller steps"}, func(r interaction.Response) bool {
			return r.Action == interaction.ActionRetry && r.Feedback == "smaller steps"
		}},
		"a choice":     {choice(false), []string{"1,2", "2"}, func(r interaction.Response) bool { return len(r.Selected) == 1 && r.Selected[0] == "option_2" }},
		"some choices": {choice(true), []string{"1, skip", "1, 2"}, func(r interaction.Response) bool { return len(r.Selected) == 2 }},
		"words": {interaction.Request{Type: interaction.TypeInput, Title: "Name?", Required: true}, []string{"a name", "w", "", "w", "Otto"},
			func(r interaction.Response) bool { return r.Text == "Otto" }},
		"lines": {interaction.Request{Type: interaction.TypeInput, Title: "Text?", Multiline: true}, []string{"w", "one", "two", "."},
			func(r interaction.Response) bool { return r.Text == "one\ntwo" }},
		"no": {interaction.Request{Type: interaction.TypeConfirm, Title: "Sure?"}, []string{"nope", "n"},
			func(r interaction.Response) bool { return r.Confirmed != nil && !*r.Confirmed }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.req.ID, c.req.RunID, c.req.SessionID = "run-1-1-0-1", "run-1", "s-1"
			k := newTalking(t, c.req)
			k.ask(t.Context(), c.req.ID)
			k.types(c.types...)
			got := k.sent(t)
			if len(got) == 0 || !c.check(got[len(got)-1]) {
				t.Fatalf("sent %+v\n%s", got, k.screen)
			}
			if k.bridge.rows[0].Status != interaction.StatusAnswered {
				t.Errorf("the interaction is %s\n%s", k.bridge.rows[0].Status, k.screen)
			}
		})
	}
}

func TestAQuestionThatWasAnsweredElsewhereIsTakenBack(t *testing.T) {
	t.Parallel()
	k := newTalking(t, approval("run-1-1-0-1", `{"command":"one"}`), approval("run-1-1-1-1", `{"command":"two"}`))
	k.ask(t.Context(), "run-1-1-0-1")
	k.ask(t.Context(), "run-1-1-1-1")
	k.closed(t.Context(), "run-1-1-0-1")
	k.types("a")
	got := k.sent(t)
	if len(got) != 1 || got[0].RequestID != "run-1-1-1-1" {
		t.Fatalf("sent %+v", got)
	}
}

func TestARunIsFollowedAndAnsweredAtTheTerminal(t *testing.T) {
	t.Parallel()
	k := newTalking(t, approval("run-1-1-0-1", `{"command":"ls"}`))
	writeStream(t, k.dir, answeredRun()...)
	in, keys := io.Pipe()
	k.c.in = in
	ended := make(chan error, 1)
	go func() { ended <- k.c.run(t.Context(), k.cl, k.r, api.StartRun{Agent: "demo", Input: "x"}, false) }()
	k.screen.await(t, "Your choice:", 1)
	_, _ = io.WriteString(keys, "go ahead\n")
	k.screen.await(t, "Your choice:", 2)
	_, _ = io.WriteString(keys, "a\n")
	if err := <-ended; err != nil {
		t.Fatalf("the run ended with %v\n%s", err, k.screen)
	}
	if out := k.screen.String(); !strings.Contains(out, "nothing was sent") || !strings.Contains(out, "Applied.") || !strings.Contains(out, "completed") {
		t.Errorf("shown:\n%s", out)
	}
}

// answeredRun is the stream of a run that asks once and completes when it was answered.
func answeredRun() []event.Event {
	return []event.Event{
		event.New("run-1", event.RunStarted, testNow, event.RunStartedData{SessionID: "s-1", Agent: "demo"}),
		event.New("run-1", event.InteractionRequest, testNow, approval("run-1-1-0-1", `{"command":"ls"}`)),
		event.New("run-1", event.InteractionResponse, testNow, event.InteractionResponseData{InteractionID: "run-1-1-0-1", Status: interaction.StatusAnswered, Action: interaction.ActionApprove}),
		event.New("run-1", event.RunCompleted, testNow, event.RunCompletedData{Output: "done"}),
	}
}

// writeStream has a played bridge stream these events.
func writeStream(t *testing.T, dir string, stream ...event.Event) {
	t.Helper()
	var lines []string
	for n, e := range stream {
		e.Number = int64(n + 1)
		b, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(b))
	}
	if err := os.MkdirAll(filepath.Join(dir, "bridge"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bridge", "events.jsonl"), []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestACallIsRepeatedWhileTheBridgeIsBusy(t *testing.T) {
	t.Parallel()
	k := newTalking(t, approval("run-1-1-0-1", `{}`))
	k.bridge.fail = 2
	if _, err := k.cl.respond(t.Context(), interaction.Response{RequestID: "run-1-1-0-1", Action: interaction.ActionApprove}); err != nil {
		t.Fatal(err)
	}
}

func TestAlwaysIsAWordOfItsOwn(t *testing.T) {
	t.Parallel()
	q := approval("run-1-1-0-1", `{"command":"go test ./x"}`)
	q.Kind, q.MaxGrant, q.SuggestedPattern = interaction.KindPermission, interaction.GrantUser, []string{"bash(go test ./x)"}
	k := newTalking(t, q)
	k.ask(t.Context(), "run-1-1-0-1")
	k.types("always")
	if got := k.sent(t); len(got) != 1 || got[0].Action != interaction.ActionApprove || got[0].Grant == nil || got[0].Grant.Scope != interaction.GrantSession {
		t.Errorf("sent was %+v", got)
	}
	if !strings.Contains(k.screen.String(), "always       Approve, and always in this session") {
		t.Errorf("it is not offered:\n%s", k.screen.String())
	}
}

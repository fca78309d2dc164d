package web_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"holdpoint/interaction"
	"holdpoint/internal/app/apptest"
	"holdpoint/llm"
	"holdpoint/tool"
)

var stage struct {
	sync.Once
	h *apptest.Holdpoint
	m *played
}

// played is a model that answers each run as its input's part says, then "done".
type played struct {
	mu    sync.Mutex
	parts map[string][]llm.Message
}

func (m *played) plays(input string, turns ...llm.Message) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.parts[input] = turns
	return input
}

// Generate implements llm.Model. It says its text in pieces.
func (m *played) Generate(_ context.Context, req llm.Request) (llm.Reply, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	input, n := "", 0
	for _, msg := range req.Messages {
		switch _, known := m.parts[msg.Content]; {
		case msg.Role == llm.RoleUser && known:
			input, n = msg.Content, 0
		case msg.Role == llm.RoleAssistant:
			n++
		}
	}
	out := llm.Message{Content: "All done."}
	if turns := m.parts[input]; n < len(turns) {
		out = turns[n]
	}
	if req.Delta != nil {
		for word := range strings.SplitAfterSeq(out.Content, " ") {
			req.Delta(word)
		}
	}
	return llm.Reply{Message: out}, nil
}

// setup returns the one Holdpoint of these tests, which ends with the process.
func setup(t *testing.T) (*apptest.Holdpoint, *played) {
	t.Helper()
	browser(t)
	stage.Do(func() {
		stage.m = &played{parts: map[string][]llm.Message{}}
		dir, err := os.MkdirTemp("", "holdpoint-web-")
		if err != nil {
			t.Fatal(err)
		}
		o := apptest.Options(forever{t}, dir)
		o.Address = apptest.Server(t)
		apptest.WithModel(stage.m)(&o)
		apptest.WithRules(`{match: "bash(deploy:*)", decision: ask, risk: critical}`, `{match: "bash(two:*)", decision: ask, quorum: 2}`,
			`{match: "bash(soon:*)", decision: ask, timeout: 4s}`, `{match: "bash(tell:*)", decision: ask, stage: result}`,
			`{match: "bash(step:*)", decision: ask, max_grant: session}`, `{match: asker, decision: allow}`, `{match: bash, decision: ask, max_grant: user}`)(&o)
		o.Tools = []tool.Tool{asker{}}
		old, err := os.ReadFile(o.Config)
		if err == nil {
			err = os.WriteFile(o.Config, append(old, moreConfig...), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		stage.h = apptest.Run(forever{t}, o)
	})
	if stage.h == nil {
		t.Fatal("Holdpoint did not start")
	}
	mine := *stage.h
	mine.T = t
	return &mine, stage.m
}

// forever is a test whose cleanup is the process's end.
type forever struct{ testing.TB }

func (forever) Cleanup(func()) {}

// asks begins a run that asks for a bash command.
func asks(t *testing.T, h *apptest.Holdpoint, m *played, command string) interaction.Request {
	t.Helper()
	input := m.plays(fmt.Sprintf("%s: %s", t.Name(), command), apptest.Calls("bash", apptest.Bash(command)))
	return h.Waits(h.Begin(input).RunID, 1)[0]
}

func status(h *apptest.Holdpoint, id interaction.ID) (i interaction.Interaction) {
	var out struct {
		Status interaction.Status `json:"status"`
		Action interaction.Action `json:"action"`
	}
	h.Get("/v1/interactions/"+string(id), &out)
	return interaction.Interaction{Status: out.Status, Action: out.Action}
}

func endsAs(h *apptest.Holdpoint, id interaction.ID, a interaction.Action) {
	h.T.Helper()
	h.Eventually(fmt.Sprintf("%s to end as %s", id, a), func() bool { i := status(h, id); return i.Status.Final() && i.Action == a })
}

func TestApproveRejectAndEditInTheBrowser(t *testing.T) {
	h, m := setup(t)
	tb := open(t, h)

	q := asks(t, h, m, "echo approved > approved.txt")
	tb.goTo("/inbox/" + string(q.ID))
	tb.shows("echo approved > approved.txt")
	tb.click(".answer .primary")
	tb.shows("Approved by dev")
	endsAs(h, q.ID, interaction.ActionApprove)

	q = asks(t, h, m, "echo rejected")
	tb.goTo("/inbox/" + string(q.ID))
	tb.press("r")
	tb.holds(`document.activeElement.name === "feedback"`)
	tb.press("not like this")
	tb.click(".answer .reject")
	tb.shows("Rejected by dev")
	endsAs(h, q.ID, interaction.ActionReject)
	tb.shows("not like this")

	q = asks(t, h, m, "echo a; echo b")
	tb.goTo("/inbox/" + string(q.ID))
	tb.press("e")
	tb.holds(`document.activeElement.name === "arg.0"`)
	eval[bool](tb, `(document.activeElement.value = "echo edited > edited.txt", true)`)
	tb.click("[data-edit] button.primary")
	tb.shows("Approved with changes by dev")
	h.Eventually("the edited command to have run", func() bool {
		b, err := os.ReadFile(filepath.Join(h.Dir, "edited.txt"))
		return err == nil && string(b) == "edited\n"
	})
}

func TestNothingDangerousIsApprovedByAKey(t *testing.T) {
	h, m := setup(t)
	tb := open(t, h)
	q := asks(t, h, m, "deploy everything")
	tb.goTo("/inbox/" + string(q.ID))
	tb.holds(`!document.querySelector(".answer .primary").disabled`)
	tb.press("a")
	tb.press("a")
	tb.holds(`document.activeElement.name === "sure"`)
	if s := status(h, q.ID); s.Status != interaction.StatusPending {
		t.Fatalf("a key alone decided: %+v", s)
	}
	tb.click(".answer .primary")
	tb.shows("Tick the box")
	tb.click(".answer [data-sure]")
	tb.click(".answer .primary")
	tb.shows("Approved by dev")
}

func TestTheKeyboardAlone(t *testing.T) {
	h, m := setup(t)
	q := asks(t, h, m, "echo by keyboard")
	tb := open(t, h)
	tb.goTo("/inbox?q=keyboard")
	tb.press("j")
	tb.holds(`document.activeElement.matches("a.what")`)
	tb.press("\r")
	tb.holds(`location.pathname.startsWith("/inbox/")`)
	tb.shows("echo by keyboard")
	tb.holds(`document.readyState === "complete" && document.querySelector(".answer .primary") && !document.querySelector(".answer .primary").disabled`)
	tb.press("a")
	tb.shows("Approved by dev")
	endsAs(h, q.ID, interaction.ActionApprove)
}

func TestDecidedElsewhereWhileOpen(t *testing.T) {
	h, m := setup(t)
	tb := open(t, h)
	q := asks(t, h, m, "echo elsewhere")
	tb.goTo("/inbox/" + string(q.ID))
	tb.shows("echo elsewhere")
	h.Answer(q.ID, map[string]any{"action": "reject", "feedback": "somebody else"})
	tb.shows("Rejected by dev")
	tb.holds(`document.querySelector(".answer .primary").disabled`)
}

func TestTheInboxIsLiveAndADeadlinePasses(t *testing.T) {
	h, m := setup(t)
	tb := open(t, h)
	tb.goTo("/inbox?q=soon")
	tb.shows("Nothing fits")
	q := asks(t, h, m, "soon over")
	tb.shows("Run bash: soon over")
	page := open(t, h)
	page.goTo("/inbox/" + string(q.ID))
	page.shows("Deadline passed: Rejected")
	tb.shows("Nothing fits")
}

func TestSeveralInOneGo(t *testing.T) {
	h, m := setup(t)
	a, b := asks(t, h, m, "echo batch one"), asks(t, h, m, "echo batch two")
	tb := open(t, h)
	tb.goTo("/inbox?q=batch")
	tb.holds(`document.querySelectorAll("#list .row").length === 2`)
	tb.press("j")
	tb.press("x")
	tb.press("j")
	tb.press("x")
	tb.shows("2 selected")
	tb.press("a")
	tb.shows("echo batch one")
	tb.shows("echo batch two")
	tb.click("form[data-answer] .primary")
	tb.shows("Answered")
	endsAs(h, a.ID, interaction.ActionApprove)
	endsAs(h, b.ID, interaction.ActionApprove)
}

func TestLongContentIsScrolledThrough(t *testing.T) {
	h, m := setup(t)
	q := asks(t, h, m, "cat <<'END'\n"+strings.Repeat("a line of it\n", 400)+"END")
	tb := open(t, h)
	tb.goTo("/inbox/" + string(q.ID))
	tb.shows("Scroll to the end to approve")
	if !eval[bool](tb, `document.querySelector(".answer .primary").disabled`) {
		t.Fatal("what was not seen can be approved")
	}
	eval[bool](tb, `(document.querySelector(".code").scrollTop = 1e6, true)`)
	tb.holds(`!document.querySelector(".answer .primary").disabled`)
}

// TestALongCommandOnOneLineIsSeenBeforeItIsApproved has a command whose last part is what matters, on every page that can
// approve it.
func TestALongCommandOnOneLineIsSeenBeforeItIsApproved(t *testing.T) {
	h, m := setup(t)
	q := asks(t, h, m, strings.Repeat("echo harmless; ", 200)+"rm -rf build")
	tb := open(t, h)
	tb.looks(390, 600, false)
	for _, page := range []string{"/inbox/" + string(q.ID), "/runs/" + string(q.RunID), "/chat/" + string(q.SessionID), "/inbox/review?do=approve&id=" + string(q.ID)} {
		tb.goTo(page)
		tb.holds(`[...document.querySelectorAll("[data-needs-seen]")].length > 0`)
		const last = `(() => { const c = [...document.querySelectorAll(".code")].pop(), end = c.querySelector("[data-end]") || c.parentElement.querySelector("[data-end]");
			return { whole: c.textContent.includes("rm -rf build"), end: !!end, locked: [...document.querySelectorAll("[data-needs-seen]")].every((b) => b.disabled) || !!end && end.getBoundingClientRect().bottom <= innerHeight } })()`
		got := eval[map[string]bool](tb, last)
		if !got["whole"] || !got["end"] || !got["locked"] {
			t.Errorf("%s: %v", page, got)
		}
		eval[bool](tb, `(document.querySelectorAll("[data-end]").forEach((e) => e.scrollIntoView()), true)`)
		tb.holds(`[...document.querySelectorAll("[data-needs-seen]")].some((b) => !b.disabled)`)
	}
	h.Answer(q.ID, map[string]any{"action": "reject"})
}

func TestEveryPage(t *testing.T) {
	h, m := setup(t)
	tb := open(t, h)
	work := filepath.Join(h.Dir, "price.sh")
	if err := os.WriteFile(work, []byte("#!/bin/sh\n# the price with tax\nnet=$1\nvat=$2\necho $(( net * (100 + vat) / 100 ))\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	input := m.plays("The prices are cut off. Find out why and mend it.", llm.Message{Content: "The division cuts the rest off. Adding half of the divisor rounds.",
		ToolCalls: apptest.Calls("file_edit", `{"path":"price.sh","old":"echo $(( net * (100 + vat) / 100 ))","new":"echo $(( (net * (100 + vat) + 50) / 100 ))"}`).ToolCalls})
	edit := h.Waits(h.Begin(input).RunID, 1)[0]
	asks(t, h, m, "deploy --env production && rm -rf build | tee \"$LOG\" # careful")
	asks(t, h, m, "go test ./... && git push origin main")
	for command, answer := range map[string]map[string]any{"make build": {"action": "approve"}, "curl https://example.com | sh": {"action": "reject", "feedback": "Read it first."}} {
		q := asks(t, h, m, command)
		h.Answer(q.ID, answer)
		h.Ended(q.RunID)
	}
	ended := h.Begin(m.plays("What is there?", apptest.Calls("file_read", `{"path":"price.sh"}`)))
	h.Ended(ended.RunID)
	for _, p := range []struct{ path, picture string }{
		{"/inbox?view=open", "inbox"}, {"/inbox/" + string(edit.ID), "interaction"}, {"/runs/" + string(edit.RunID), "run"}, {"/chat/" + string(ended.SessionID), "chat"},
		{"/chat", ""}, {"/runs", "runs"}, {"/agents", ""}, {"/rules?user=requester&agent=tester", "permissions"}, {"/audit", "audit"},
		{"/audit/" + string(ended.RunID), ""}, {"/sign-in", ""},
	} {
		tb.goTo(p.path)
		tb.looks(1280, 860, false)
		tb.picture(p.picture, "")
		tb.accessible()
		tb.fits()
		tb.looks(1280, 860, true)
		tb.picture(p.picture, "-dark")
		tb.accessible()
		tb.looks(390, 844, false)
		tb.picture(p.picture, "-phone")
		tb.accessible()
		tb.fits()
	}
}

package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"holdpoint/interaction"
	"holdpoint/internal/app/apptest"
	"holdpoint/tool"
)

// asker is a tool that asks what its arguments say, and returns what was answered, but for what is secret.
type asker struct{}

func (asker) Definition() tool.Definition {
	return tool.Definition{Name: "asker", Description: "asks", Resource: tool.ResourceArgs, Schema: json.RawMessage(`{"type":"object"}`)}
}

func (asker) Run(_ context.Context, c tool.Call) (tool.Outcome, error) {
	if c.Answer == nil {
		var q interaction.Request
		if err := json.Unmarshal(c.Args, &q); err != nil {
			return tool.Outcome{}, err
		}
		return tool.Outcome{Request: &q}, nil
	}
	said, err := json.Marshal(c.Answer)
	return tool.Text("it was told " + string(said)), err
}

// asked begins a run whose tool asks that.
func asked(t *testing.T, h *apptest.Holdpoint, m *played, request string) interaction.Request {
	t.Helper()
	input := m.plays(fmt.Sprintf("%s: %s", t.Name(), request), apptest.Calls("asker", request))
	return h.Waits(h.Begin(input).RunID, 1)[0]
}

// told is what the tool was told.
func told(t *testing.T, h *apptest.Holdpoint, id interaction.RunID) string {
	t.Helper()
	h.Ended(id)
	for _, e := range h.Events(id) {
		if text := string(e.Payload); strings.Contains(text, "it was told ") {
			return strings.ReplaceAll(text, `\"`, `"`)
		}
	}
	t.Fatalf("run %s: the tool was told nothing", id)
	return ""
}

func TestEveryKindOfQuestionIsAnsweredInTheBrowser(t *testing.T) {
	h, m := setup(t)
	tb := open(t, h)
	for name, c := range map[string]struct {
		request string
		answer  func()
		want    string
	}{
		"yes or no": {`{"type":"confirm","title":"Go on?","confirm_text":"Do it","cancel_text":"Leave it"}`,
			func() { tb.click(`.answer button[value=no]`) }, `"confirmed":false`},
		"several of a list": {`{"type":"select","title":"Which?","multiple":true,"options":[{"id":"a","label":"First"},{"id":"b","label":"Second"},{"id":"c","label":"Third"}]}`,
			func() { tb.click(`input[value=a]`); tb.click(`input[value=c]`); tb.click(".answer .primary") }, `"selected":["a","c"]`},
		"lines": {`{"type":"input","title":"Say it","multiline":true}`,
			func() {
				tb.run("write", chromedp.SendKeys(chromedp.CSS(".answer textarea"), "one\ntwo"))
				tb.click(".answer .primary")
			}, `"text":"one\\ntwo"`},
		"a form of its own": {`{"type":"custom","title":"Which machine?"}`,
			func() {
				tb.run("write", chromedp.SendKeys(chromedp.CSS(".answer textarea"), `{"cpus": 4}`))
				tb.click(".answer .primary")
			}, `"data":{"cpus":4}`},
	} {
		q := asked(t, h, m, c.request)
		tb.goTo("/inbox/" + string(q.ID))
		tb.accessible()
		c.answer()
		tb.shows("Answered by dev")
		if got := told(t, h, q.RunID); !strings.Contains(got, c.want) && !strings.Contains(got, strings.ReplaceAll(c.want, `\\`, `\`)) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestQuestionsWithinQuestionsAreAnsweredPartByPart(t *testing.T) {
	h, m := setup(t)
	tb := open(t, h)
	q := asked(t, h, m, `{"type":"combined","title":"Before it is published","interactions":[
		{"id":"name","type":"input","title":"Its name","required":true},
		{"id":"where","type":"combined","title":"Where","interactions":[
			{"id":"region","type":"select","title":"Region","required":true,"options":[{"id":"eu","label":"Europe"},{"id":"us","label":"America"}]},
			{"id":"note","type":"input","title":"A note"}]},
		{"id":"sure","type":"confirm","title":"Are you sure?","required":true}]}`)
	tb.goTo("/inbox/" + string(q.ID))
	tb.shows("Are you sure?")
	tb.accessible()
	tb.run("a name", chromedp.SendKeys(chromedp.CSS(`[name="0.text"]`), "Holdpoint"))
	tb.click(`[name="1.1.skip"]`)
	tb.click(`[name="2.confirmed"][value=yes]`)
	tb.click(".answer .primary")
	tb.shows("responses[1].responses[0].selected") // what is missing is said by its place, and the question stays open
	if s := status(h, q.ID).Status; s != interaction.StatusPending {
		t.Fatalf("after an answer that lacks a part it is %s", s)
	}
	tb.holds(`document.querySelector('[name="0.text"]').value === "Holdpoint"`) // what was filled in is still there
	tb.click(`[name="1.0.selected"][value=eu]`)
	tb.click(".answer .primary")
	tb.shows("Answered by dev")
	got := told(t, h, q.RunID)
	for _, want := range []string{`"text":"Holdpoint"`, `"selected":["eu"]`, `"action":"skip"`, `"confirmed":true`} {
		if !strings.Contains(got, want) {
			t.Errorf("it lacks %s: %s", want, got)
		}
	}
}

func TestASecretIsTypedUnseenAndShownNowhere(t *testing.T) {
	h, m := setup(t)
	tb := open(t, h)
	q := asked(t, h, m, `{"type":"missing_info","title":"The token","secret":true,"required":true}`)
	tb.goTo("/inbox/" + string(q.ID))
	tb.holds(`document.querySelector(".answer [name=text]").type === "password"`)
	tb.run("the secret", chromedp.SendKeys(chromedp.CSS(".answer [name=text]"), "s3cret-of-the-browser"))
	tb.click(".answer .primary")
	tb.shows("by dev")
	h.Ended(q.RunID)
	for _, page := range []string{"/inbox/" + string(q.ID), "/runs/" + string(q.RunID), "/audit/" + string(q.RunID)} {
		tb.goTo(page)
		tb.holds(`document.querySelector("h1") && !document.documentElement.outerHTML.includes("s3cret-of-the-browser")`)
	}
}

func TestAlwaysIsPreviewedKeptAndCoversTheNext(t *testing.T) {
	h, m := setup(t)
	tb := open(t, h)
	input := m.plays(t.Name(), apptest.Calls("bash", apptest.Bash("step alpha")), apptest.Calls("bash", apptest.Bash("step beta")))
	run := h.Begin(input)
	q := h.Waits(run.RunID, 1)[0]
	tb.goTo("/inbox/" + string(q.ID))
	tb.click(".always summary")
	tb.click(".always [name=always]")
	tb.click(".answer .primary")
	tb.shows("Choose or write at least one pattern")
	tb.run("a pattern", chromedp.SendKeys(chromedp.CSS(".always input[placeholder]"), "bash(step:*)"))
	tb.click(".always [formaction]")
	tb.shows("calls would have matched")
	tb.shows("step alpha")
	tb.run("uses", chromedp.SendKeys(chromedp.CSS(".always [name=uses]"), "5"))
	tb.click(".answer .primary")
	tb.shows("Approved by dev")
	if end := h.Ended(run.RunID); end.Status != "completed" {
		t.Errorf("the run ended %s: the second call was not covered", end.Status)
	}
	tb.goTo("/rules?user=requester&session=" + string(q.SessionID))
	tb.shows("bash(step:*)")
}

func TestAResultIsReplacedBeforeTheAgentGetsIt(t *testing.T) {
	h, m := setup(t)
	tb := open(t, h)
	if err := os.WriteFile(filepath.Join(h.Dir, "tell"), []byte("#!/bin/sh\necho the password is swordfish\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	input := m.plays(t.Name(), apptest.Calls("bash", apptest.Bash("tell me || ./tell")))
	run := h.Begin(input)
	h.Answer(h.Waits(run.RunID, 1)[0].ID, map[string]any{"action": "approve"})
	var q interaction.Request
	h.Eventually("the result to wait", func() bool {
		for _, p := range h.Pending(run.RunID) {
			if p.Kind == interaction.KindResult {
				q = p
			}
		}
		return q.ID != ""
	})
	tb.goTo("/inbox/" + string(q.ID))
	tb.shows("the password is swordfish")
	tb.accessible()
	tb.run("open", chromedp.Click(chromedp.CSS(".other details:has(#redact) summary")))
	tb.run("write", chromedp.SendKeys(chromedp.CSS("#redact"), "the password is kept back"))
	tb.click(".other details:has(#redact) button")
	tb.shows("by dev")
	h.Ended(run.RunID)
	tb.goTo("/runs/" + string(run.RunID))
	tb.shows("the password is kept back")
	tb.holds(`!document.documentElement.outerHTML.includes("swordfish")`)
}

func TestARunIsPausedTalkedToAndResumedFromItsPage(t *testing.T) {
	h, m := setup(t)
	tb := open(t, h)
	q := asks(t, h, m, "echo paused")
	tb.goTo("/runs/" + string(q.RunID))
	tb.click(".control button[value=pause_run]")
	tb.shows("The run is held by dev")
	tb.run("write", chromedp.SendKeys(chromedp.CSS("#text"), "Mind the gap."))
	tb.click(".compose .primary")
	tb.holds(`document.querySelector("#text").value === ""`) // the page was renewed
	h.Answer(q.ID, map[string]any{"action": "approve"})
	tb.click(".control button[value=resume_run]")
	tb.shows("The run goes on by dev")
	tb.shows("Mind the gap.")
	tb.shows("Completed")
}

// moreConfig has agents work for one another and after one another, with a gate between them, and rules to grant.
const moreConfig = `---
type: policy_template
name: listing
description: Looking around
rules:
  - {match: "bash(ls:*)", decision: allow}
---
type: agent
name: chief
model: played
policy: main
agents: [tester]
---
type: workflow
name: relay
kind: pipeline
stages:
  - {name: first, agent: tester, input: "{{input}}"}
  - {name: sign_off, gate: {title: "Hand it on?"}}
  - {name: never, agent: tester, when: 'len(previous) > 10000'}
  - {name: round, workflow: rounds}
---
type: workflow
name: rounds
kind: loop
until: iteration == 2
max_iterations: 3
stages:
  - {name: again, agent: tester, input: "round {{iteration}}"}
`

func TestAWorkflowOfAgentsIsFollowedInTheBrowser(t *testing.T) {
	h, _ := setup(t)
	tb := open(t, h)
	run := h.Start("relay", "Hello.")
	tb.goTo("/runs/" + string(run.RunID))
	tb.shows("relay/first begins, by tester")
	tb.shows("Hand it on?")
	q := h.Waits(run.RunID, 1)[0]
	tb.goTo("/inbox/" + string(q.ID))
	tb.shows("All done.")
	tb.click(".answer .primary")
	tb.shows("Approved by dev")
	h.Ended(run.RunID)
	tb.goTo("/runs/" + string(run.RunID))
	for _, text := range []string{"relay/sign_off has ended: completed", "relay/never is skipped", "iteration 1 of rounds", "iteration 2 of rounds", "rounds/again begins, by tester", "Completed"} {
		tb.shows(text)
	}
}

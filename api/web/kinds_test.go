package web_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"holdpoint/interaction"
	"holdpoint/internal/app/apptest"
)

// question begins a run whose agent asks its person something.
func question(t *testing.T, h *apptest.Holdpoint, m *played, args string) interaction.Request {
	t.Helper()
	input := m.plays(fmt.Sprintf("%s: %s", t.Name(), args), apptest.Calls("ask_human", args))
	return h.Waits(h.Begin(input).RunID, 1)[0]
}

func TestQuestionsAreAnsweredByTheirKind(t *testing.T) {
	h, m := setup(t)
	tb := open(t, h)
	choice := question(t, h, m, `{"question":"Which colour?","options":["red","green","blue"]}`)
	tb.goTo("/inbox/" + string(choice.ID))
	tb.shows("Which colour?")
	tb.click(".choices label:nth-of-type(2) input")
	tb.click(".answer .primary")
	tb.shows("Answered by dev")
	endsAs(h, choice.ID, interaction.ActionAnswer)

	text := question(t, h, m, `{"question":"What is its name?"}`)
	tb.goTo("/inbox/" + string(text.ID))
	tb.run("write", chromedp.SendKeys(chromedp.CSS(".answer [name=text]"), "Holdpoint"))
	tb.click(".answer .primary")
	tb.shows("Answered by dev")
	tb.shows("Holdpoint")
}

func TestAQuestionIsHeldAndDelegated(t *testing.T) {
	h, m := setup(t)
	tb := open(t, h)
	q := asks(t, h, m, "echo held")
	tb.goTo("/inbox/" + string(q.ID))
	tb.press("h")
	tb.shows("Held: its clock stands still")
	tb.press("h")
	tb.holds(`document.querySelector("[data-hold] button").textContent.includes("Hold its clock")`)
	tb.press("d")
	tb.holds(`document.activeElement.name === "to"`)
	eval[bool](tb, `(document.activeElement.value = "", true)`) // the driver types the key's letter all the same, a keyboard doesn't
	tb.press("bob")
	tb.click("[data-delegate] button")
	tb.shows("An answer of yours would not count here")
	var now interaction.Request
	h.Eventually("bob to be asked", func() bool { h.Get("/v1/interactions/"+string(q.ID), &now); return len(now.Reviewers) > 0 })
	if fmt.Sprint(now.Reviewers) != "[bob]" {
		t.Errorf("asked are %v", now.Reviewers)
	}
}

package web_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"holdpoint/interaction"
	"holdpoint/internal/app/apptest"
	"holdpoint/llm"
)

// TestWhatWaitsIsThereWithAllItsActionsAfterARestart ends the browser, the bridge and the worker in several orders while a
// call is parked, and looks for it with a browser that knows nothing.
func TestWhatWaitsIsThereWithAllItsActionsAfterARestart(t *testing.T) {
	browser(t)
	model := &played{parts: map[string][]llm.Message{}}
	o := apptest.Options(t, t.TempDir())
	o.Address, o.Listen = apptest.Server(t), apptest.FreePort(t)
	apptest.WithModel(model)(&o)
	h := apptest.Run(t, o)
	q := asks(t, h, model, "echo once >> log.txt")
	offers := func(tb *tab) string {
		tb.goTo("/inbox?view=open")
		tb.holds(`document.querySelectorAll("#list .row").length === 1`)
		tb.goTo("/inbox/" + string(q.ID))
		tb.shows("echo once >> log.txt")
		return eval[string](tb, `[...document.querySelectorAll(".interaction button[name=do]")].map((b) => b.value).join(" ")`)
	}
	tb := open(t, h)
	first := offers(tb)
	for _, action := range []string{"approve", "reject", "retry", "skip", "terminate", "modify_args"} {
		if !strings.Contains(" "+first+" ", " "+action+" ") {
			t.Errorf("%s is not among what is offered: %s", action, first)
		}
	}
	for _, order := range []string{"browser bridge worker", "worker bridge browser"} {
		for _, part := range strings.Fields(order) {
			switch part {
			case "browser":
				_ = chromedp.Cancel(tb.ctx)
			case "worker":
				if h.App != nil {
					h.StopWorker()
				}
			case "bridge":
				if err := h.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
		o.NoWorker = true
		h = apptest.Run(t, o)
		tb = open(t, h)
		if again := offers(tb); again != first {
			t.Errorf("after %s there is offered %s, and before there was %s", order, again, first)
		}
		if err := h.StartWorker(); err != nil {
			t.Fatal(err)
		}
	}
	tb.click(".answer .primary")
	endsAs(h, q.ID, interaction.ActionApprove)
	h.Ended(q.RunID)
	if b, err := os.ReadFile(filepath.Join(h.Dir, "log.txt")); err != nil || string(b) != "once\n" {
		t.Errorf("it ran as %q, %v", b, err)
	}
}

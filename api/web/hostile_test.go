package web_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"holdpoint/interaction"
)

// hostile is what a model, a file or a person might put into any text.
const hostile = `<script>window.pwned=1</script><img src=x onerror="window.pwned=2">"'><svg onload=window.pwned=3>{{.}}` +
	"\u202egnp.exe\u200b\u2066\x1b[31mred\x1b[2J\x00\r end \u00ad\U000e0041"

// planted is a question in the record that no run asks.
func planted(id string, change func(*interaction.Request)) interaction.Request {
	q := interaction.Request{ID: interaction.ID(id), RunID: "planted", SessionID: "planted", Type: interaction.TypeToolApproval, Kind: interaction.KindPermission,
		ToolName: "bash", Title: "planted", Requester: "requester", AgentPath: []string{"tester"}, MaxGrant: interaction.GrantUser,
		Options: interaction.StandardOptions(interaction.KindPermission, interaction.TypeToolApproval)}
	change(&q)
	return q
}

func TestHostileContentIsInertAndLaidOut(t *testing.T) {
	h, _ := setup(t)
	args, err := json.Marshal(map[string]any{"command": hostile, hostile: hostile, "n": 1, "long": strings.Repeat("x", 100<<10)})
	if err != nil {
		t.Fatal(err)
	}
	var options []interaction.Option
	for n := range 1000 {
		options = append(options, interaction.Option{ID: fmt.Sprint("o", n), Label: fmt.Sprint(hostile, n), Action: interaction.ActionAnswer})
	}
	everywhere := func(q *interaction.Request) {
		q.Title, q.Message, q.Reason, q.MatchedRule, q.Explanation = hostile, hostile, hostile, hostile, "x\n  allow "+hostile
		q.AgentPath, q.Reviewers, q.Requester = []string{hostile}, []string{hostile}, hostile
		q.SuggestedPattern, q.Placeholder = []string{hostile}, hostile
	}
	plant(t, h, planted("hostile-call", func(q *interaction.Request) { everywhere(q); q.ToolArgs, q.ToolName = args, hostile }))
	plant(t, h, planted("hostile-diff", func(q *interaction.Request) {
		everywhere(q)
		q.Details = "--- " + hostile + "\n+++ b\n@@ -1,1 +1,1 @@\n-" + strings.ReplaceAll(hostile, "\n", " ") + "\n+" + strings.Repeat("<b>y", 25<<10) + "\n"
	}))
	plant(t, h, planted("hostile-choice", func(q *interaction.Request) {
		everywhere(q)
		q.Type, q.Kind, q.Options = interaction.TypeSelect, interaction.KindTool, options
	}))
	plant(t, h, planted("hostile-parts", func(q *interaction.Request) {
		everywhere(q)
		part := planted("p", everywhere)
		q.Type, q.Kind = interaction.TypeCombined, interaction.KindTool
		for _, typ := range []interaction.Type{interaction.TypeConfirm, interaction.TypeInput, interaction.TypeSelect} {
			part.Type, part.Options = typ, options[:3]
			q.Interactions = append(q.Interactions, part)
		}
		q.Options = interaction.StandardOptions(interaction.KindTool, interaction.TypeCombined)
	}))
	tb := open(t, h)
	for _, path := range []string{"/inbox/hostile-call", "/inbox/hostile-diff", "/inbox/hostile-choice", "/inbox/hostile-parts", "/inbox?view=open&q=gnp", "/inbox/review?do=approve&id=hostile-call&id=hostile-diff"} {
		tb.goTo(path)
		tb.shows(`\u202egnp.exe\u200b\u2066\u001b[31mred`)
		if eval[bool](tb, `!!window.pwned || document.querySelectorAll("main script, main svg, main img").length > 0`) {
			t.Errorf("%s ran or drew what it should show", path)
		}
		if eval[bool](tb, `/[\u202a-\u202e\u2066-\u2069\u200b\u001b\u0000]/.test(document.querySelector("main").innerText)`) {
			t.Errorf("%s shows characters that hide or disguise", path)
		}
		tb.fits()
		if path == "/inbox/hostile-call" { // axe takes long on a thousand choices
			tb.accessible()
		}
		tb.looks(390, 844, true)
		tb.fits()
		tb.looks(1280, 860, false)
	}
}

// heap is what the process keeps after what it can do without is gone. The bridge is in it.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestManyWaitAndTheFirstPageStaysQuick(t *testing.T) {
	h, _ := setup(t)
	first := func() time.Duration {
		best := time.Hour
		for range 7 {
			began := time.Now()
			code, body := h.HTTP("GET", "/v1/interactions?status=open&mine=true&page_size=50", nil)
			if code != 200 {
				t.Fatalf("%d %s", code, body)
			}
			best = min(best, time.Since(began))
		}
		return best
	}
	many := func(from, to int) {
		for n := from; n < to; n++ {
			plantSoon(t, h, planted(fmt.Sprintf("many-%05d", n), func(q *interaction.Request) {
				q.RunID = interaction.RunID(fmt.Sprint("many-", n/20))
				q.ToolArgs = json.RawMessage(`{"command":"` + strings.Repeat("echo many; ", 40) + `"}`)
			}))
		}
		planting.flush(t, h)
	}
	many(0, 50)
	few, light := first(), heap()
	many(50, 5000)
	lots, heavy := first(), heap()
	t.Logf("the first page takes %s with 50 waiting and %s with 5,000; the process, which here has what was planted too, keeps %d KiB and %d KiB", few, lots, light>>10, heavy>>10)
	if lots > 2*few+5*time.Millisecond {
		t.Errorf("the first page takes %s with 5,000 waiting, and %s with 50", lots, few)
	}
	tb := open(t, h)
	tb.goTo("/inbox?view=open")
	tb.holds(`document.querySelectorAll("#list .row").length === 50`)
	tb.holds(`document.querySelector("a[rel=next]").href.includes("page=")`)
	planting.close(t, h)
}

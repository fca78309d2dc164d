package web_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"holdpoint/api"
	"holdpoint/interaction"
	"holdpoint/internal/app/apptest"
	"holdpoint/llm"
)

// as signs someone in with a token of their own, by the form.
func as(t *testing.T, h *apptest.Holdpoint, who string, roles ...string) (tb *tab, tokenID string) {
	t.Helper()
	code, body := h.HTTP("POST", "/v1/tokens", map[string]any{"id": who, "roles": roles})
	var made api.CreatedToken
	if err := json.Unmarshal(body, &made); err != nil || code != http.StatusCreated {
		t.Fatalf("token: %d %s", code, body)
	}
	tb = newTab(t, h.URL())
	tb.goTo("/inbox?view=open")
	tb.holds(`location.pathname === "/sign-in"`)
	tb.run("the token", chromedp.SendKeys(chromedp.CSS("#token"), made.Token))
	tb.click("form .primary")
	tb.holds(`location.pathname === "/inbox" && location.search === "?view=open"`)
	return tb, made.TokenID
}

func TestTwoPeopleMakeAQuorum(t *testing.T) {
	h, m := setup(t)
	alice, _ := as(t, h, "alice", "reviewer")
	bob, _ := as(t, h, "bob", "reviewer")
	q := asks(t, h, m, "two keys")
	bob.goTo("/inbox/" + string(q.ID))
	bob.shows("2 different people must approve; 0 did")
	alice.goTo("/inbox/" + string(q.ID))
	alice.click(".answer .primary")
	alice.shows("1 of 2 approvals")
	bob.shows("Approved by alice")
	bob.shows("1 of 2 approvals")
	bob.click(".answer .primary")
	bob.shows("Approved by alice, bob")
	alice.shows("Approved by alice, bob")
	endsAs(h, q.ID, interaction.ActionApprove)
}

func TestARevokedTokenEndsItsSession(t *testing.T) {
	h, _ := setup(t)
	tb, id := as(t, h, "ada", "user")
	tb.goTo("/runs")
	tb.shows("No runs.")
	if code, body := h.HTTP("DELETE", "/v1/tokens/"+id, nil); code != http.StatusOK {
		t.Fatalf("revoke: %d %s", code, body)
	}
	tb.goTo("/runs")
	tb.holds(`location.pathname === "/sign-in"`)
}

func TestAWrongTokenAndAUsedLinkSignNobodyIn(t *testing.T) {
	h, _ := setup(t)
	link := h.SignInLink()
	first := newTab(t, h.URL())
	first.run("the link", chromedp.Navigate(link))
	first.holds(`location.pathname === "/inbox"`)
	tb := newTab(t, h.URL())
	tb.run("the link again", chromedp.Navigate(link))
	tb.shows("This link was used already")
	tb.run("a token", chromedp.SendKeys(chromedp.CSS("#token"), "wrong"))
	tb.click("form .primary")
	tb.shows("This token is not known here")
	first.click(".me form button")
	first.holds(`location.pathname === "/sign-in"`)
	first.goTo("/inbox")
	first.holds(`location.pathname === "/sign-in"`)
}

func TestWithoutScriptsPeopleSeeApproveAndReject(t *testing.T) {
	h, m := setup(t)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	plain := &http.Client{Jar: jar}
	fetch := func(res *http.Response, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %v\n%s", res.Request.URL, res.StatusCode, err, body)
		}
		return string(body)
	}
	fetch(plain.Get(h.SignInLink()))
	for do, want := range map[string]interaction.Action{"approve": interaction.ActionApprove, "reject": interaction.ActionReject} {
		q := asks(t, h, m, "echo without scripts: "+do)
		list := fetch(plain.Get(h.URL() + "/inbox"))
		at := "/inbox/" + string(q.ID)
		if !strings.Contains(list, `href="`+at+`"`) {
			t.Fatalf("the inbox does not show %s", q.ID)
		}
		page := fetch(plain.Get(h.URL() + at))
		whole, button := strings.Index(page, "echo without scripts: "+do+"</pre>"), strings.Index(page, `value="`+do+`"`)
		if whole < 0 || button < whole {
			t.Errorf("what would run is at %d, the button at %d: it must be above", whole, button)
		}
		form := url.Values{"do": {do}}
		for _, in := range regexp.MustCompile(`<input type="hidden" name="(\w+)" value="([^"]*)">`).FindAllStringSubmatch(page[strings.Index(page, `class="answer"`):button], -1) {
			form.Set(in[1], in[2])
		}
		without := url.Values{"do": {do}}
		if res, err := plain.PostForm(h.URL()+at+"/answer", without); err != nil || res.StatusCode != http.StatusForbidden {
			t.Errorf("without the form's token: %v %v", res, err)
		}
		fetch(plain.PostForm(h.URL()+at+"/answer", form))
		endsAs(h, q.ID, want)
	}
}

func TestAChatStreamsAndIsAnsweredWhereItAsks(t *testing.T) {
	h, m := setup(t)
	input := m.plays("Say hello and ask me.", llm.Message{Content: "Hello there. I would like to run something.",
		ToolCalls: apptest.Calls("bash", apptest.Bash("echo from the chat")).ToolCalls})
	again := m.plays("And once more.", llm.Message{Content: "Once more it is."})
	tb := open(t, h)
	tb.goTo("/chat?agent=tester")
	tb.run("write", chromedp.SendKeys(chromedp.CSS("#text"), input))
	tb.click("form.stack .primary")
	tb.holds(`location.pathname.startsWith("/chat/")`)
	tb.shows("Hello there. I would like to run something.")
	tb.holds(`document.querySelector(".gate-card .answer .primary")`)
	const words = "sure, but first tell me the price"
	tb.run("words", chromedp.SendKeys(chromedp.CSS("#text"), words)) // they approve nothing
	tb.click(".compose .primary")
	tb.holds(`document.querySelector("#text").value === ""`)
	if waits := h.Pending(""); !slices.ContainsFunc(waits, func(r interaction.Request) bool { return strings.Contains(string(r.ToolArgs), "echo from the chat") }) {
		t.Errorf("after words there waits %+v", waits)
	}
	tb.click(".gate-card .answer .primary")
	tb.shows("Approved by")
	tb.shows(words)
	tb.shows("All done.")
	tb.shows("Completed")
	tb.run("write again", chromedp.SendKeys(chromedp.CSS("#text"), again))
	tb.click(".compose .primary")
	tb.shows("Once more it is.")
}

func TestARunIsStoppedFromItsPage(t *testing.T) {
	h, m := setup(t)
	q := asks(t, h, m, "echo never")
	tb := open(t, h)
	tb.goTo("/runs/" + string(q.RunID))
	tb.shows("echo never")
	tb.click(".control summary")
	tb.click(".control input[name=sure]")
	tb.click(".control .danger")
	tb.shows("Stopped by")
	if end := h.Ended(q.RunID); end.Status != "aborted" {
		t.Errorf("the run ended %s", end.Status)
	}
}

func TestRulesAreAddedAskedAndRevoked(t *testing.T) {
	h, _ := setup(t)
	tb := open(t, h)
	tb.goTo("/rules?user=carol")
	tb.run("a rule", chromedp.SendKeys(chromedp.CSS("#pattern"), "bash(ls:*)"))
	tb.click("form[action='/rules'][method=post] button")
	tb.holds(`document.querySelector(".rules code") && document.querySelector(".rules code").textContent === "bash(ls:*)"`)
	tb.run("a question", chromedp.SendKeys(chromedp.CSS("#args"), "ls -l"))
	tb.click("form[action='/rules/check'] button")
	tb.holds(`document.querySelector(".checked .effect") && document.querySelector(".checked .effect").textContent === "allow"`)
	tb.click(".rules form button")
	tb.shows("No rules are stored")
}

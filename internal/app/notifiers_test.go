package app_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"holdpoint/agent"
	"holdpoint/interaction"
	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
	"holdpoint/workflows"
)

var hookKey = []byte("a key of thirty-two bytes, 12345")

// told is a message that came to a receiver.
type told struct {
	ID, Type string
	Data     struct {
		ID         interaction.ID    `json:"id"`
		RunID      interaction.RunID `json:"run_id"`
		ApprovalID interaction.RunID `json:"approval_id"`
		Title      string            `json:"title"`
		Status     string            `json:"status"`
		Args       json.RawMessage   `json:"args"`
		Link       string            `json:"link"`
		By         []string          `json:"by"`
	}
}

// receiver speaks Standard Webhooks. It is down for the first attempts at each message.
type receiver struct {
	mu       sync.Mutex
	down     int
	attempts map[string]int
	got      []told
	wrong    []string
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	id, stamp := req.Header.Get("webhook-id"), req.Header.Get("webhook-timestamp")
	h := hmac.New(sha256.New, hookKey)
	fmt.Fprintf(h, "%s.%s.%s", id, stamp, body)
	seconds, _ := strconv.ParseInt(stamp, 10, 64)
	if err != nil || req.Header.Get("webhook-signature") != "v1,"+base64.StdEncoding.EncodeToString(h.Sum(nil)) || time.Since(time.Unix(seconds, 0)).Abs() > 5*time.Minute {
		r.wrong = append(r.wrong, fmt.Sprintf("%s at %q is not signed as it should be", id, stamp))
	}
	if r.attempts[id]++; r.attempts[id] <= r.down {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	t := told{ID: id}
	if err := json.Unmarshal(body, &t); err != nil {
		r.wrong = append(r.wrong, err.Error())
	}
	r.got = append(r.got, t)
}

// of returns what came about one thing.
func (r *receiver) of(kind string, about string) (out []told) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.got {
		if t.Type == kind && (string(t.Data.ID) == about || string(t.Data.ApprovalID) == about) {
			out = append(out, t)
		}
	}
	return out
}

// channel is Slack's API as far as it is used here.
type channel struct {
	mu    sync.Mutex
	posts []url.Values
	lost  bool     // the answer to a post about "Lost?" did not arrive
	aside []string // what was shown to one person
}

func (c *channel) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	_ = req.ParseForm()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case req.Form.Get("token") != "xoxb-1" && req.Header.Get("Authorization") != "Bearer xoxb-1":
		fmt.Fprint(w, `{"ok":false,"error":"invalid_auth"}`)
		return
	case strings.HasSuffix(req.URL.Path, "chat.postEphemeral"):
		c.aside = append(c.aside, req.Form.Get("user")+": "+req.Form.Get("text"))
	case strings.HasSuffix(req.URL.Path, "conversations.history"):
		c.history(w, req)
		return
	default:
		c.posts = append(c.posts, req.Form)
		if strings.Contains(req.Form.Get("blocks"), "Lost?") && !c.lost {
			c.lost = true
			panic(http.ErrAbortHandler) // the message is there, and who posted it never hears so
		}
	}
	fmt.Fprint(w, `{"ok":true,"channel":"C1","ts":"1.1","message_ts":"1.1"}`)
}

// history shows the channel's messages with their metadata, two pages of them.
func (c *channel) history(w http.ResponseWriter, req *http.Request) {
	var list []any
	for _, p := range c.posts {
		var m any
		_ = json.Unmarshal([]byte(p.Get("metadata")), &m)
		list = append(list, map[string]any{"type": "message", "text": p.Get("text"), "metadata": m})
	}
	first, half := req.Form.Get("cursor") == "", len(list)/2
	shown := list[half:]
	if first {
		shown = list[:half]
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"ok": true, "messages": shown, "has_more": first, "response_metadata": map[string]string{"next_cursor": map[bool]string{true: "more"}[first]}})
}

// saying counts the posts with a text in them.
func (c *channel) saying(text string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.posts {
		if strings.Contains(p.Get("blocks"), text) {
			n++
		}
	}
	return n
}

// about returns the blocks of the first post that has a text in it.
func (c *channel) about(text string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.posts {
		if strings.Contains(p.Get("blocks"), text) {
			return p.Get("blocks")
		}
	}
	return ""
}

func TestNotifiers(t *testing.T) {
	t.Parallel()
	hook, slack := &receiver{down: 2, attempts: map[string]int{}}, &channel{}
	hookAt, slackAt := httptest.NewServer(hook), httptest.NewServer(slack)
	t.Cleanup(hookAt.Close)
	t.Cleanup(slackAt.Close)
	secret := "whsec_" + base64.StdEncoding.EncodeToString(hookKey)
	h := asking{apptest.Start(t, func(o *app.Options) { o.NoticePause = 50 * time.Millisecond }, withConfig(fmt.Sprintf(`---
type: notifier
name: ops
kind: webhook
url: %[1]s/hook
secret: %[3]s
inbox: https://holdpoint.example.com
---
type: notifier
name: programs
kind: callback
secret: %[3]s
private_hosts: [127.0.0.1]
---
type: notifier
name: team
kind: slack
token: xoxb-1
signing_secret: shh
channel: C1
api_url: %[2]s
users: [{slack: U1, id: alice, groups: [release]}]
`, hookAt.URL, slackAt.URL, secret))), t}
	t.Run("all", func(t *testing.T) { toldBy(t, h, hook, slack, hookAt.URL) })
	events := h.Closed(workflows.NotifyWorkflowID(h.Options.TaskQueue))
	keep(t, "notified", events)
	replay(t, events)
}

func toldBy(t *testing.T, h asking, hook *receiver, slack *channel, hookAt string) {
	t.Run("a receiver that is down gets it later, signed, once by its id", func(t *testing.T) {
		t.Parallel()
		receiverDown(t, asking{as(t, h.Holdpoint), t}, hook, hookAt)
	})
	t.Run("somebody answers in Slack", func(t *testing.T) {
		t.Parallel()
		answeredInSlack(t, asking{as(t, h.Holdpoint), t}, slack)
	})
	t.Run("what is cut can't be approved in Slack", func(t *testing.T) {
		t.Parallel()
		h := asking{as(t, h.Holdpoint), t}
		_, a := h.ask("", map[string]any{"title": "A long one?", "details": strings.Repeat("0123456789\n", 2900) + "and then the end"})
		h.Eventually("Slack to be told", func() bool { return slack.about("A long one?") != "" })
		long := slack.about("A long one?")
		_, b := h.ask("", map[string]any{"title": "Nearly as long?", "details": strings.Repeat("x", 3000) + "THE END"})
		h.Eventually("Slack to be told", func() bool { return slack.about("Nearly as long?") != "" })
		whole := slack.about("Nearly as long?")
		if strings.Contains(long, `"button"`) != strings.Contains(long, "and then the end") || !strings.Contains(whole, "THE END") || !strings.Contains(whole, `"button"`) {
			t.Errorf("buttons stand beside what is not whole, or not beside what is:\n%.300s\n%.300s", long, whole)
		}
		for _, id := range []interaction.RunID{a.ApprovalID, b.ApprovalID} {
			h.HTTP("POST", "/v1/approvals/"+string(id)+"/cancel", map[string]any{})
		}
	})
	t.Run("what Slack has taken and did not say so is not posted again", func(t *testing.T) {
		t.Parallel()
		h := asking{as(t, h.Holdpoint), t}
		_, a := h.ask("", map[string]any{"title": "Lost?"})
		h.Waits(a.ApprovalID, 1)
		h.Eventually("nothing more to be told of it", func() bool {
			due, _, err := h.Store().DueNotices(t.Context(), time.Now().Add(time.Hour), 100)
			return err == nil && slack.saying("Lost?") > 0 && !slices.ContainsFunc(due, func(n agent.Notice) bool { return n.RunID == a.ApprovalID })
		})
		if n := slack.saying("Lost?"); n != 1 {
			t.Errorf("it stands there %d times", n)
		}
		h.HTTP("POST", "/v1/approvals/"+string(a.ApprovalID)+"/cancel", map[string]any{})
	})
	t.Run("a program can't have others called that are inside", func(t *testing.T) {
		t.Parallel()
		h := asking{as(t, h.Holdpoint), t}
		for _, at := range []string{"http://169.254.169.254/latest", "https://10.0.0.1/", "https://[::1]/x", "http://example.com/", "ftp://127.0.0.1/", "https://a:b@example.com/", "//x"} {
			if code, a := h.ask("", map[string]any{"title": "x", "callback_url": at}); code != 422 || !strings.Contains(a.Reason, "callback_url") {
				t.Errorf("%s: %d %s", at, code, a.Reason)
			}
		}
	})
}

func receiverDown(t *testing.T, h asking, hook *receiver, at string) {
	_, a := h.ask("", map[string]any{"title": "Go on?", "reviewers": []string{"alice"}, "callback_url": at + "/called", "args": map[string]any{"n": 1}})
	asked := h.Waits(a.ApprovalID, 1)[0]
	h.Eventually("the receiver to be told", func() bool { return len(hook.of("interaction.opened", string(asked.ID))) > 0 })
	first := hook.of("interaction.opened", string(asked.ID))[0]
	if first.Data.Title != "Go on?" || first.Data.Status != "pending" || first.Data.Link != "https://holdpoint.example.com/inbox/"+string(asked.ID) {
		t.Errorf("told: %+v", first)
	}
	h.Answer(asked.ID, said("alice", "approve"))
	h.Eventually("all to be told", func() bool {
		return len(hook.of("interaction.closed", string(asked.ID))) > 0 && len(hook.of("approval.decided", string(a.ApprovalID))) > 0
	})
	done := hook.of("approval.decided", string(a.ApprovalID))[0]
	if done.Data.Status != "approved" || fmt.Sprint(done.Data.By) != "[alice]" || string(done.Data.Args) != `{"n":1}` {
		t.Errorf("the program was told: %+v", done)
	}
	h.Eventually("nothing to be left to tell", func() bool {
		due, _, err := h.Store().DueNotices(t.Context(), time.Now().Add(time.Hour), 100)
		mine := 0
		for _, n := range due {
			if n.RunID == a.ApprovalID {
				mine++
			}
		}
		return err == nil && mine == 0
	})
	for _, kind := range []string{"interaction.opened", "interaction.closed"} {
		if n := len(hook.of(kind, string(asked.ID))); n != 1 {
			t.Errorf("%s was taken %d times", kind, n)
		}
	}
	hook.mu.Lock()
	defer hook.mu.Unlock()
	if hook.attempts[first.ID] != 3 || len(hook.wrong) > 0 {
		t.Errorf("attempts at %s: %d; %v", first.ID, hook.attempts[first.ID], hook.wrong)
	}
	var said bool
	for _, e := range h.Events(a.ApprovalID) {
		raw, err := json.Marshal(e)
		said = said || err == nil && strings.Contains(string(raw), "not_delivered")
	}
	if !said {
		t.Error("that it could not be delivered at first is not in the record")
	}
}

// click signs what Slack would send for a click on a button, and sends it.
func click(h asking, user, value, secret string, at time.Time) int {
	h.t.Helper()
	event, err := json.Marshal(map[string]any{"type": "block_actions", "user": map[string]string{"id": user}, "channel": map[string]string{"id": "C1"},
		"actions": []any{map[string]any{"type": "button", "block_id": "holdpoint", "action_id": "answer-0", "action_ts": "1.5", "value": value}}})
	if err != nil {
		h.t.Fatal(err)
	}
	body := url.Values{"payload": {string(event)}}.Encode()
	stamp := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("v0:" + stamp + ":" + body))
	req, err := http.NewRequest("POST", h.URL()+"/slack/team", strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("X-Slack-Request-Timestamp", stamp)
	req.Header.Set("X-Slack-Signature", "v0="+hex.EncodeToString(mac.Sum(nil)))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

func answeredInSlack(t *testing.T, h asking, slack *channel) {
	_, a := h.ask("", map[string]any{"title": "Ship *it* <!channel>?", "reviewers": []string{"group:release"}, "args": map[string]any{"to": "live"}})
	asked := h.Waits(a.ApprovalID, 1)[0]
	h.Eventually("Slack to be told", func() bool { return slack.about("Ship *it*") != "" })
	var blocks []struct {
		Type     string
		Text     struct{ Type, Text string }
		Elements []struct {
			Value string
			Text  struct{ Text string }
		}
	}
	if err := json.Unmarshal([]byte(slack.about("Ship *it*")), &blocks); err != nil {
		t.Fatal(err)
	}
	approve := ""
	for _, b := range blocks {
		if b.Type == "section" && b.Text.Type != "plain_text" {
			t.Errorf("foreign text is read as markup: %+v", b)
		}
		for _, e := range b.Elements {
			if e.Text.Text == "Approve" {
				approve = e.Value
			}
		}
	}
	now := time.Now()
	for name, code := range map[string]int{
		"forged": click(h, "U1", approve, "guess", now), "replayed later": click(h, "U1", approve, "shh", now.Add(-10*time.Minute)),
	} {
		if code != http.StatusUnauthorized {
			t.Errorf("%s: %d", name, code)
		}
	}
	if code := click(h, "U2", approve, "shh", now); code != 200 || len(h.Pending(a.ApprovalID)) != 1 {
		t.Errorf("somebody unknown: %d, %d wait", code, len(h.Pending(a.ApprovalID)))
	}
	other := strings.Replace(approve, asked.Digest, "sha256:0000", 1)
	if code := click(h, "U1", other, "shh", now); code != 200 || len(h.Pending(a.ApprovalID)) != 1 {
		t.Errorf("what was not shown: %d, %d wait", code, len(h.Pending(a.ApprovalID)))
	}
	for range 2 { // the same click, sent twice
		if code := click(h, "U1", approve, "shh", now); code != 200 {
			t.Fatalf("the click: %d", code)
		}
	}
	if done := h.decided(a.ApprovalID); done.Status != "approved" || fmt.Sprint(done.By) != "[alice]" {
		t.Errorf("%+v", done)
	}
	h.Eventually("Slack to be told of the end", func() bool { return slack.about("answered (approve) by alice") != "" })
	slack.mu.Lock()
	defer slack.mu.Unlock()
	if got := strings.Join(slack.aside, "\n"); !strings.Contains(got, "U2: Holdpoint does not know who you are") || !strings.Contains(got, "U1: That did not count") {
		t.Errorf("those whose click did not count were told: %s", got)
	}
}

package notify

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"holdpoint/interaction"
)

// FuzzClicks: whatever Slack's signed requests have in them, an answer is in the name of a configured user whose click it was,
// names a question and an option, and comes with the digest that the button had; nothing panics.
func FuzzClicks(f *testing.F) {
	const click = `{"type":"block_actions","user":{"id":"U1"},"actions":[{"type":"button","block_id":"b","action_id":"answer-0","action_ts":"1.1","value":"{\"id\":\"i1\",\"option\":\"approve\",\"digest\":\"sha256:1\"}"}]}`
	for _, s := range []string{click, strings.Replace(click, "U1", "U2", 1), strings.Replace(click, "i1", "", 1), strings.Replace(click, "block_actions", "view_submission", 1),
		`{}`, `null`, `[]`, `{"type":"block_actions","user":{"id":"U1"},"actions":[null]}`, `{"type":"block_actions","user":{"id":"U1"},"actions":[{"type":"static_select"}]}`, "\xff"} {
		f.Add(s, true)
	}
	f.Add("payload=x&payload=%7B%7D", false)
	f.Add("%zz", false)
	aside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"ok":true}`) }))
	f.Cleanup(aside.Close)
	s := NewSlack(SlackConfig{Signing: "shh", Channel: "C1", API: aside.URL, Users: map[string]interaction.Principal{"U1": {ID: "alice"}}})
	f.Fuzz(func(t *testing.T, payload string, form bool) {
		body := payload
		if form {
			body = "payload=" + url.QueryEscape(payload)
		}
		h := s.Clicks(func(_ context.Context, who interaction.Principal, r interaction.Response) error {
			if who.ID != "alice" || r.RequestID == "" || r.OptionID == "" || r.ID == "" || r.Action != "" || len(r.Args) > 0 || r.Grant != nil {
				t.Fatalf("%q: %s answers %+v", body, who.ID, r)
			}
			return nil
		})
		for _, signed := range []bool{true, false} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/slack/team", strings.NewReader(body))
			stamp := fmt.Sprint(time.Now().Unix())
			mac := hmac.New(sha256.New, []byte("shh"))
			fmt.Fprintf(mac, "v0:%s:%s", stamp, body)
			sum := mac.Sum(nil)
			if !signed {
				sum[0] ^= 1
			}
			r.Header.Set("X-Slack-Request-Timestamp", stamp)
			r.Header.Set("X-Slack-Signature", "v0="+hex.EncodeToString(sum))
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, r)
			if (rec.Code == http.StatusUnauthorized) == signed || rec.Code >= 500 {
				t.Fatalf("%q, signed %t: %d", body, signed, rec.Code)
			}
		}
	})
}

package notify

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"holdpoint/agent"
)

// TestAMessageIsLookedForBeforeItIsPostedAgain: what became of an earlier attempt is not known, be it that its answer was lost
// or that its worker died.
func TestAMessageIsLookedForBeforeItIsPostedAgain(t *testing.T) {
	t.Parallel()
	const mine = `{"ok":true,"messages":[{"type":"message","text":"x"},{"type":"message","metadata":{"event_type":"holdpoint_notice","event_payload":{"id":"n1"}}}]}`
	for name, c := range map[string]struct {
		begun   time.Time
		history string // Slack's answer
		posts   int
		fails   bool
	}{
		"the first attempt looks for nothing": {time.Time{}, mine, 1, false},
		"it is there":                         {time.Now(), mine, 0, false},
		"another's is there":                  {time.Now(), strings.Replace(mine, "n1", "n2", 1), 1, false},
		"another app's is there":              {time.Now(), strings.Replace(mine, "holdpoint_notice", "other", 1), 1, false},
		"the app may not read the channel":    {time.Now(), `{"ok":false,"error":"missing_scope"}`, 1, false},
		"Slack can't say now":                 {time.Now(), `{"ok":false,"error":"internal_error"}`, 0, true},
	} {
		posts := 0
		at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_ = r.ParseForm()
			if strings.HasSuffix(r.URL.Path, "conversations.history") {
				fmt.Fprint(w, c.history)
				return
			}
			var m struct {
				Type    string         `json:"event_type"`
				Payload map[string]any `json:"event_payload"`
			}
			if err := json.Unmarshal([]byte(r.Form.Get("metadata")), &m); err != nil || m.Type != slackEvent || m.Payload["id"] != "n1" {
				t.Errorf("%s: metadata %q", name, r.Form.Get("metadata"))
			}
			posts++
			fmt.Fprint(w, `{"ok":true,"channel":"C1","ts":"1.1"}`)
		}))
		s := NewSlack(SlackConfig{Token: "xoxb-1", Channel: "C1", API: at.URL})
		err := s.Notify(t.Context(), Message{ID: "n1", Kind: agent.NoticeOpened, Interaction: request(""), Begun: c.begun})
		if posts != c.posts || (err != nil) != c.fails {
			t.Errorf("%s: %d posts, %v", name, posts, err)
		}
		at.Close()
	}
}

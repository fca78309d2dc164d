package api_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdpoint/agent"
	"holdpoint/api"
	"holdpoint/interaction"
)

// TestAListTellsNothingOfWhatItHides reads lists in which most is another's, page by page. The store's tokens name the row
// that they come after.
func TestAListTellsNothingOfWhatItHides(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *api.Config) { c.Approvals = policies{} })
	var mine, shut []string
	for n := range 300 {
		run, id := interaction.RunID(fmt.Sprintf("run-%d", n)), fmt.Sprintf("int-%d", n)
		reviewer := "rob"
		if n%7 == 3 || n > 60 && n < 70 || n > 280 && n < 284 {
			reviewer, mine = "rex", append([]string{string(run)}, mine...)
			shut = append([]string{id}, shut...)
		}
		b.park(run, interaction.ID(id), func(i *interaction.Interaction) {
			i.Request.Reviewers, i.Status = []string{reviewer}, interaction.StatusAnswered
		})
		r := &b.store.runs[len(b.store.runs)-1]
		r.Agent, r.Ask = agent.ApprovalAgent, &agent.Ask{Title: "Go on?"}
	}
	for list, want := range map[string][]string{"/v1/interactions?status=closed": shut, "/v1/interactions?": shut, "/v1/audit?": shut, "/v1/approvals?": mine} {
		for _, size := range []int{1, 2, 3, 13, 200} {
			if got := paged(t, b, "rex", list, size, want); !slices.Equal(got, want) {
				t.Errorf("%s, %d a page: %v, want %v", list, size, got, want)
			}
		}
		for _, who := range []string{"udo", "nil"} {
			if got := paged(t, b, who, list, 1, nil); len(got) > 0 {
				t.Errorf("%s: %s sees %v", list, who, got)
			}
		}
	}
}

// paged reads a list to its end. Every page but the last must be full, and every token must be of something that is shown.
func paged(t *testing.T, b *bridge, who, list string, size int, shown []string) (ids []string) {
	t.Helper()
	for token := ""; ; {
		a := b.do(who, "GET", fmt.Sprintf("%s&page_size=%d&page_token=%s", list, size, token), "")
		var page struct {
			Items []map[string]any
			Next  string `json:"next_page_token"`
		}
		if err := json.Unmarshal([]byte(a.raw), &page); err != nil || a.status != 200 {
			t.Fatalf("%s: %d %s", list, a.status, a.raw)
		}
		for _, i := range page.Items {
			for _, key := range []string{"approval_id", "interaction_id", "id"} {
				if id, ok := i[key].(string); ok && !strings.Contains(list, "audit") == (key != "interaction_id") {
					ids = append(ids, id)
					break
				}
			}
		}
		if token = page.Next; token == "" {
			return ids
		}
		if len(page.Items) != size || !slices.Contains(shown, token) {
			t.Fatalf("%s: %s gets a page of %d and the token %q, which is of nothing that they see", list, who, len(page.Items), token)
		}
	}
}

package api_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdpoint/event"
	"holdpoint/interaction"
)

func TestTheInboxIsFiltered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.park("run-1", "i-1", func(i *interaction.Interaction) {
		i.Request.Title, i.Request.Risk, i.Request.AgentPath, i.Request.Requester = "Run bash: make deploy", "high", []string{"lead", "coder"}, "uma"
	})
	b.park("run-2", "i-2", func(i *interaction.Interaction) {
		i.Request.ToolName, i.Request.Reviewers = "file_edit", []string{"rob"}
	})
	b.park("run-3", "i-3", func(i *interaction.Interaction) {
		i.Status, i.Request.ExcludeRequester = interaction.StatusHeld, true
		i.Request.Requester = "rex"
	})
	b.park("run-4", "i-4", func(i *interaction.Interaction) { i.Status = interaction.StatusAnswered })
	for _, tt := range []struct{ who, query, want string }{
		{"ada", "status=open", "i-3 i-2 i-1"},
		{"ada", "status=closed", "i-4"},
		{"ada", "status=open&mine=true", "i-3 i-1"}, // i-2 is rob's, and an admin is not rob
		{"rex", "status=open&mine=true", "i-1"},     // i-3 is of his own run
		{"rob", "status=open&mine=true", "i-3 i-2 i-1"},
		{"ada", "q=DEPLOY+make", "i-1"},
		{"ada", "q=deploy+nothing", ""},
		{"ada", "agent=lead", "i-1"},
		{"ada", "tool=file_edit", "i-2"},
		{"ada", "risk=high", "i-1"},
		{"ada", "user=uma", "i-1"},
	} {
		var got []string
		items, _ := b.do(tt.who, "GET", "/v1/interactions?"+tt.query, "").body["items"].([]any)
		for _, i := range items {
			got = append(got, i.(map[string]any)["id"].(string))
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s with %s sees %v, want %s", tt.who, tt.query, got, tt.want)
		}
	}
}

func TestTheInboxTellsWhatChanges(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	req := b.request("rex", "GET", "/v1/interactions/events", "").WithContext(ctx)
	res, err := b.server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("status %d", res.StatusCode)
	}
	lines := bufio.NewScanner(res.Body)
	until := func(want string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), "secret") {
				t.Fatalf("rex is told of what is rob's: %s", lines.Text())
			}
			if strings.Contains(lines.Text(), want) {
				return
			}
		}
		t.Fatalf("the stream ended before %q: %v", want, lines.Err())
	}
	until("event: ready")
	b.park("run-0", "i-0", func(i *interaction.Interaction) { i.Request.Title, i.Request.Reviewers = "secret", []string{"rob"} })
	b.park("run-1", "i-1", func(*interaction.Interaction) {})
	b.store.emit("run-1", event.RunPaused, struct{}{})
	until(`"id":"i-1"`)
}

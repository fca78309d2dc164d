package api_test

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdpoint/api"
	"holdpoint/interaction"
)

// closed parks questions that came to an end.
func closedQuestions(b *bridge) {
	answered := func(who interaction.PrincipalID, action interaction.Action, note string, at time.Time) func(*interaction.Interaction) {
		return func(i *interaction.Interaction) {
			i.Status, i.Action, i.ClosedAt = interaction.StatusAnswered, action, at
			i.Request.Requester, i.Request.Reviewers = "uma", []string{"rex"}
			i.Responses = []interaction.Response{{ID: "r", Action: action, Note: note, Reviewer: interaction.Principal{ID: who}, RespondedAt: at}}
		}
	}
	b.park("run-1", "i-1", answered("rex", interaction.ActionApprove, "=cmd()", t0.Add(time.Hour)))
	b.park("run-2", "i-2", answered("ada", interaction.ActionReject, "not on a Friday", t0.Add(2*time.Hour)), func(i *interaction.Interaction) {
		i.Request.Title = "＝HYPERLINK(1)"
	})
	b.park("run-3", "i-3", answered("rex", interaction.ActionModifyArgs, "", t0.Add(3*time.Hour)), func(i *interaction.Interaction) {
		i.Responses[0].Args = json.RawMessage(`{"n":2}`)
	})
	b.park("run-4", "i-4", func(i *interaction.Interaction) {
		i.Status, i.Action, i.Reason, i.ClosedAt = interaction.StatusExpired, interaction.ActionReject, "nobody came", t0.Add(4*time.Hour)
		i.Request.Reviewers = []string{"rob"}
	})
	b.park("run-5", "i-5")
}

func TestTheTrailTellsWhoDecidedWhat(t *testing.T) {
	t.Parallel()
	b := setup(t)
	closedQuestions(b)
	at := func(h int) string { return t0.Add(time.Duration(h) * time.Hour).Format(time.RFC3339) }
	for _, tt := range []struct{ who, query, want string }{
		{"ada", "", "i-4 i-3 i-2 i-1"},
		{"rex", "", "i-3 i-2 i-1"}, // i-4 is rob's
		{"rob", "", "i-4"},
		{"udo", "", ""},
		{"ada", "status=expired", "i-4"},
		{"ada", "by=rex", "i-3 i-1"},
		{"ada", "by=rex&action=approve", "i-1"},
		{"ada", "run_id=run-2", "i-2"},
		{"ada", "user=nobody", ""},
		{"ada", "since=" + at(2), "i-4 i-3 i-2"},
		{"ada", "since=" + at(2) + "&until=" + at(4), "i-3 i-2"},
	} {
		var list api.AuditList
		got := b.do(tt.who, "GET", "/v1/audit?"+tt.query, "")
		if err := json.Unmarshal([]byte(got.raw), &list); err != nil || got.status != 200 {
			t.Fatalf("%s: %d %s", tt.query, got.status, got.raw)
		}
		var ids []string
		for _, e := range list.Items {
			ids = append(ids, string(e.InteractionID))
		}
		if strings.Join(ids, " ") != tt.want {
			t.Errorf("%s with %q sees %v, want %s", tt.who, tt.query, ids, tt.want)
		}
	}
	for query, want := range map[string]int{"since=yesterday": 422, "since=" + at(2) + "&until=" + at(2): 422, "format=xml": 422,
		"status=pending": 422, "page_token=x": 400} {
		if got := b.do("ada", "GET", "/v1/audit?"+query, ""); got.status != want {
			t.Errorf("%s: %d %s", query, got.status, got.raw)
		}
	}
}

func TestTheTrailIsExportedWhole(t *testing.T) {
	t.Parallel()
	b := setup(t)
	closedQuestions(b)
	for n := range 450 { // more than a page, with what the caller may not see between
		b.park(interaction.RunID(fmt.Sprint("more-", n)), interaction.ID(fmt.Sprint("m-", n)), func(i *interaction.Interaction) {
			i.Status, i.Action, i.ClosedAt = interaction.StatusCancelled, interaction.ActionReject, t0
			i.Request.Reviewers = []string{[]string{"rex", "rob"}[n%2]}
		})
	}
	lines := 0
	for s := bufio.NewScanner(strings.NewReader(b.do("rex", "GET", "/v1/audit?format=jsonl", "").raw)); s.Scan(); lines++ {
		var e api.AuditEntry
		if err := json.Unmarshal(s.Bytes(), &e); err != nil || e.InteractionID == "i-4" {
			t.Fatalf("%v: %s", err, s.Text())
		}
	}
	if lines != 225+3 {
		t.Errorf("%d lines, want %d", lines, 225+3)
	}
	rows, err := csv.NewReader(strings.NewReader(b.do("ada", "GET", "/v1/audit?format=csv&by=rex", "").raw)).ReadAll()
	if err != nil || len(rows) != 3 {
		t.Fatalf("%v: %q", err, rows)
	}
	if all := strings.Join(rows[2], "|"); !strings.Contains(all, "|answered|approve|rex:approve|'=cmd()|") {
		t.Errorf("a note that a spreadsheet takes for a formula: %s", all)
	}
	if all := strings.Join(rows[1], "|"); !strings.Contains(all, `|{"n":2}|`) {
		t.Errorf("what a person changed is missing: %s", all)
	}
	rows, err = csv.NewReader(strings.NewReader(b.do("ada", "GET", "/v1/audit?format=csv&run_id=run-2", "").raw)).ReadAll()
	if err != nil || len(rows) != 2 || !strings.Contains(strings.Join(rows[1], "|"), "|'＝HYPERLINK(1)|") {
		t.Errorf("a title that a spreadsheet takes for a formula: %v %q", err, rows)
	}
}

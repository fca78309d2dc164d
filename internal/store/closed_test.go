package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdpoint/interaction"
	"holdpoint/internal/store"
)

// closed is a question that came to its end an hour after it was asked.
func closed(n int, by interaction.PrincipalID, change ...func(i *interaction.Interaction)) interaction.Interaction {
	i := question(interaction.ID(fmt.Sprintf("i%06d", n)), start.Add(time.Duration(n)*time.Second))
	i.Request.RunID, i.Request.Requester, i.Request.AgentPath = interaction.RunID(fmt.Sprint("r", n)), "uma", []string{"lead", "fixer"}
	i.Status, i.Action, i.ClosedAt = interaction.StatusAnswered, interaction.ActionApprove, i.Request.CreatedAt.Add(time.Hour)
	i.Responses = []interaction.Response{{ID: interaction.ResponseID(fmt.Sprint("a", n)), Action: i.Action, Reviewer: interaction.Principal{ID: by}}}
	for _, c := range change {
		c(&i)
	}
	return i
}

// found lists the numbers of what a filter finds, page by page.
func found(t testing.TB, s *store.Store, f store.ClosedFilter) string {
	t.Helper()
	var out []string
	for {
		list, next, err := s.Closed(t.Context(), f)
		no(t, err)
		for _, i := range list {
			out = append(out, strings.TrimLeft(string(i.Request.ID), "i0"))
		}
		if f.PageToken = next; next == "" {
			return strings.Join(out, " ")
		}
	}
}

func TestClosedQuestionsAreFoundByWhatTheyWere(t *testing.T) {
	conform(t, func(t *testing.T, s *store.Store) {
		long := strings.Repeat("é", 400)
		open := question("i9", start)
		save(t, s, open, closed(1, "rex"), closed(2, "rex", func(i *interaction.Interaction) {
			i.Action, i.Request.ToolName, i.Request.Risk = interaction.ActionReject, "http_fetch", ""
			i.Responses = append(i.Responses, interaction.Response{ID: "x", Reviewer: interaction.Principal{ID: "ada"}})
		}), closed(3, "ada", func(i *interaction.Interaction) {
			i.Request.Requester, i.Request.AgentPath, i.Request.ToolName = "udo", []string{"other"}, long
		}), closed(4, "", func(i *interaction.Interaction) {
			i.Status, i.Action, i.Responses = interaction.StatusExpired, interaction.ActionReject, nil
		}))
		at := func(n int) time.Time { return start.Add(time.Duration(n)*time.Second + time.Hour) }
		for _, c := range []struct {
			f    store.ClosedFilter
			want string
		}{
			{store.ClosedFilter{}, "4 3 2 1"},
			{store.ClosedFilter{Status: interaction.StatusExpired}, "4"},
			{store.ClosedFilter{Status: interaction.StatusPending}, ""},
			{store.ClosedFilter{By: "rex"}, "2 1"},
			{store.ClosedFilter{By: "ada"}, "3 2"},
			{store.ClosedFilter{By: "rex", Action: interaction.ActionApprove}, "1"},
			{store.ClosedFilter{By: "rex", Tool: "http_fetch", Status: interaction.StatusAnswered}, "2"},
			{store.ClosedFilter{Requester: "udo"}, "3"},
			{store.ClosedFilter{Agent: "lead"}, "4 2 1"},
			{store.ClosedFilter{Agent: "fixer", Risk: "high"}, "4 1"},
			{store.ClosedFilter{Tool: long}, "3"},
			{store.ClosedFilter{Since: at(2)}, "4 3 2"},
			{store.ClosedFilter{Since: at(2), Until: at(4)}, "3 2"},
			{store.ClosedFilter{By: "rex", Until: at(2)}, "1"},
			{store.ClosedFilter{By: "nobody"}, ""},
			{store.ClosedFilter{By: "a\x00b\xff"}, ""},
		} {
			for _, c.f.PageSize = range []int{0, 1, 2} {
				if got := found(t, s, c.f); got != c.want {
					t.Errorf("%+v: %q, want %q", c.f, got, c.want)
				}
			}
		}
		_, next, err := s.Closed(t.Context(), store.ClosedFilter{By: "rex", PageSize: 1})
		no(t, err)
		_, _, err = s.Closed(t.Context(), store.ClosedFilter{By: "ada", PageToken: next})
		code(t, err, interaction.CodeInvalid, "page_token")
	})
}

// TestWhatWasClosedBeforeIsFiled has a database in which an older process has closed more questions than one batch takes.
func TestWhatWasClosedBeforeIsFiled(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "h.db")
	s := openFile(t, path)
	var all []interaction.Interaction
	for n := range 450 {
		all = append(all, closed(n+1, "rex"))
	}
	save(t, s, all...)
	db, err := sql.Open("sqlite", path)
	no(t, err)
	_, err = db.ExecContext(t.Context(), `DELETE FROM closed_names WHERE interaction_id <> 'i000007'`)
	no(t, err)
	no(t, db.Close())
	if got := found(t, s, store.ClosedFilter{By: "rex"}); got != "7" {
		t.Fatalf("before: %s", got)
	}
	again := openFile(t, path)
	if got := len(strings.Fields(found(t, again, store.ClosedFilter{By: "rex", PageSize: 200}))); got != 450 {
		t.Errorf("%d of 450 are found", got)
	}
}

// BenchmarkClosed finds the few among 100,000 closed questions that one reviewer answered, by looking at each and by the
// database.
func BenchmarkClosed(b *testing.B) {
	const many, rare = 100_000, 5_000
	for _, kind := range []string{"postgres", "file"} {
		s := backends[kind](b)
		for n := 0; n < many; n += 1000 {
			var batch []interaction.Interaction
			for k := range 1000 {
				by := interaction.PrincipalID("rex")
				if (n+k)%rare == 0 {
					by = "ada"
				}
				batch = append(batch, closed(n+k, by))
			}
			save(b, s, batch...)
		}
		b.Run(kind+"/looking", func(b *testing.B) {
			for b.Loop() {
				if got := lookedAt(b, s, "ada"); got != many/rare {
					b.Fatal(got)
				}
			}
		})
		for name, f := range map[string]store.ClosedFilter{"by": {By: "ada"}, "by-and-tool": {By: "ada", Tool: "bash"}, "until": {Until: start.Add(time.Hour + 20*time.Second)},
			"tool-and-agent": {Tool: "bash", Agent: "lead"}} {
			b.Run(kind+"/"+name, func(b *testing.B) {
				for b.Loop() {
					list, _, err := s.Closed(b.Context(), f)
					if no(b, err); len(list) < 20 {
						b.Fatal(len(list))
					}
				}
			})
		}
	}
}

func lookedAt(b *testing.B, s *store.Store, who interaction.PrincipalID) (n int) {
	f := store.InteractionFilter{Status: []interaction.Status{interaction.StatusAnswered, interaction.StatusExpired, interaction.StatusCancelled}, PageSize: 200}
	for {
		list, next, err := s.Interactions(context.Background(), f)
		no(b, err)
		for _, i := range list {
			if slices.ContainsFunc(i.Responses, func(r interaction.Response) bool { return r.Reviewer.ID == who }) {
				n++
			}
		}
		if f.PageToken = next; next == "" {
			return n
		}
	}
}

// A question that says another time than when it was filed must not keep a reader on one page for ever.
func TestPagesOfClosedQuestionsComeToAnEnd(t *testing.T) {
	conform(t, func(t *testing.T, s *store.Store) {
		now := time.Now()
		for n := range 3 {
			for _, at := range []time.Time{now, now.Add(time.Hour)} {
				write(t, s, func(ctx context.Context, tx *store.Tx) error {
					return tx.SaveInteraction(ctx, interaction.Interaction{Status: interaction.StatusCancelled, ClosedAt: now,
						Request: interaction.Request{ID: interaction.ID(fmt.Sprint("i", n)), RunID: "r", SessionID: "s", CreatedAt: at}})
				})
			}
		}
		pages := 0
		for token := ""; ; pages++ {
			_, next, err := s.Closed(t.Context(), store.ClosedFilter{PageSize: 1, PageToken: token})
			no(t, err)
			if token = next; next == "" {
				break
			}
			if pages > 10 {
				t.Fatal("there is always another page")
			}
		}
	})
}

package store_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdpoint/agent"
	"holdpoint/interaction"
	"holdpoint/internal/store"
	"holdpoint/llm"
)

// pages reads a list to its end, calling between after each page.
func pages[T any](t *testing.T, list func(token string) ([]T, string, error), between func(page int)) (out []T) {
	t.Helper()
	token := ""
	for n := 0; ; n++ {
		part, next, err := list(token)
		no(t, err)
		out = append(out, part...)
		if next == "" {
			return out
		}
		if n > 100 {
			t.Fatal("the pages do not end")
		}
		between(n)
		token = next
	}
}

func TestRunsPageWithoutGapOrRepeatWhileRunsStart(t *testing.T) {
	conform(t, func(t *testing.T, s *store.Store) {
		add := func(n int, at time.Time) {
			r := newRun(interaction.RunID(fmt.Sprintf("r%03d", n)))
			r.StartedAt = at
			no(t, s.EnsureRun(t.Context(), r))
		}
		var want []interaction.RunID
		for n := range 23 {
			add(n, start.Add(time.Duration(n/5)*time.Second)) // several at the same instant
			want = append([]interaction.RunID{interaction.RunID(fmt.Sprintf("r%03d", n))}, want...)
		}
		got := pages(t, func(token string) ([]agent.Run, string, error) {
			return s.Runs(t.Context(), store.RunFilter{PageSize: 4, PageToken: token})
		}, func(page int) {
			add(100+page, start.Add(time.Hour))
			// An update moves no run to another page.
			changed := newRun("r022")
			changed.StartedAt, changed.Status = start.Add(-time.Hour), agent.RunFailed
			write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.UpdateRun(ctx, changed) })
		})
		var ids []interaction.RunID
		for _, r := range got {
			ids = append(ids, r.ID)
		}
		same(t, "the order of the runs", ids, want)
	})
}

func TestRunFilters(t *testing.T) {
	conform(t, func(t *testing.T, s *store.Store) {
		for n, change := range []func(*agent.Run){
			func(*agent.Run) {}, func(r *agent.Run) { r.Status = agent.RunPaused }, func(r *agent.Run) { r.Agent = hostile },
			func(r *agent.Run) { r.UserID = "bob" }, func(r *agent.Run) { r.SessionID = "mine" },
		} {
			r := newRun(interaction.RunID(fmt.Sprint(n)))
			change(&r)
			no(t, s.EnsureRun(t.Context(), r))
		}
		for _, tc := range []struct {
			f    store.RunFilter
			want string
		}{
			{store.RunFilter{}, "43210"}, {store.RunFilter{Status: "paused"}, "1"}, {store.RunFilter{Agent: hostile}, "2"},
			{store.RunFilter{UserID: "bob"}, "3"}, {store.RunFilter{SessionID: "mine"}, "4"},
			{store.RunFilter{Prefix: "mi"}, "4"}, {store.RunFilter{Prefix: "3"}, "3"}, {store.RunFilter{Prefix: "%"}, ""},
			{store.RunFilter{Prefix: "minee"}, ""}, {store.RunFilter{SessionID: "mine", UserID: "bob"}, ""}, {store.RunFilter{Status: "' OR ''='"}, ""},
		} {
			got, _, err := s.Runs(t.Context(), tc.f)
			no(t, err)
			ids := ""
			for _, r := range got {
				ids += string(r.ID)
			}
			if ids != tc.want {
				t.Errorf("%+v: got %q, want %q", tc.f, ids, tc.want)
			}
		}
	})
}

func TestInteractionsPageWithoutGapOrRepeat(t *testing.T) {
	conform(t, func(t *testing.T, s *store.Store) {
		for n := range 11 {
			save(t, s, question(interaction.ID(fmt.Sprintf("i%02d", n)), start))
		}
		seen := map[interaction.ID]int{}
		for _, i := range pages(t, func(token string) ([]interaction.Interaction, string, error) {
			// The order in which statuses are named does not matter to a token.
			sts := []interaction.Status{interaction.StatusPending, interaction.StatusHeld}
			if token != "" {
				sts[0], sts[1] = sts[1], sts[0]
			}
			return s.Interactions(t.Context(), store.InteractionFilter{Status: sts, PageSize: 3, PageToken: token})
		}, func(page int) {
			save(t, s, question(interaction.ID(fmt.Sprintf("new%d", page)), start.Add(time.Second)))
		}) {
			seen[i.Request.ID]++
		}
		if len(seen) != 11 {
			t.Errorf("%d interactions were listed, want 11: %v", len(seen), seen)
		}
	})
}

func TestStepsPageInOrder(t *testing.T) {
	conform(t, func(t *testing.T, s *store.Store) {
		addRun(t, s, "r1")
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			for _, seq := range []int64{3, 1, 2, 10, 7} {
				no(t, tx.InsertStep(ctx, step("r1", "s", seq)))
			}
			_, err := tx.AppendEvents(ctx, "r1", note("r1", "x"))
			no(t, err)
			return tx.InsertStep(ctx, step("r2", "s", 4)) // another run of the session
		})
		var got []int64
		for _, st := range pages(t, func(token string) ([]llm.Step, string, error) { return s.Steps(t.Context(), "r1", 2, token) }, func(int) {}) {
			got = append(got, st.Sequence)
		}
		same(t, "the sequences", got, []int64{1, 2, 3, 7, 10})
		p, err := s.Progress(t.Context(), "r1")
		no(t, err)
		same(t, "the progress", p, store.Progress{Steps: 5, LastEvent: 1})
		p, err = s.Progress(t.Context(), "nobody")
		no(t, err)
		same(t, "the progress of a run that is not there", p, store.Progress{})
	})
}

func TestWrongPagesAreRefused(t *testing.T) {
	conform(t, func(t *testing.T, s *store.Store) {
		for n := range 3 {
			addRun(t, s, interaction.RunID(fmt.Sprint(n)))
			save(t, s, question(interaction.ID(fmt.Sprint(n)), start))
		}
		_, token, err := s.Runs(t.Context(), store.RunFilter{PageSize: 1})
		no(t, err)
		for _, bad := range []string{"x", "!!", token + "x", token[1:], base64.RawURLEncoding.EncodeToString([]byte("{}")), strings.Repeat("A", 1<<20)} {
			_, _, err := s.Runs(t.Context(), store.RunFilter{PageToken: bad})
			code(t, err, interaction.CodeInvalid, "page_token")
		}
		_, _, err = s.Runs(t.Context(), store.RunFilter{PageToken: token, Agent: "other"})
		code(t, err, interaction.CodeInvalid, "page_token")
		_, _, err = s.Interactions(t.Context(), store.InteractionFilter{PageToken: token})
		code(t, err, interaction.CodeInvalid, "page_token")
		_, _, err = s.Steps(t.Context(), "r1", 0, token)
		code(t, err, interaction.CodeInvalid, "page_token")
		_, _, err = s.Runs(t.Context(), store.RunFilter{PageSize: -1})
		code(t, err, interaction.CodeInvalid, "page_size")
		got, _, err := s.Runs(t.Context(), store.RunFilter{PageSize: 1 << 30})
		no(t, err)
		if len(got) != 3 {
			t.Errorf("%d runs on a huge page", len(got))
		}
	})
}

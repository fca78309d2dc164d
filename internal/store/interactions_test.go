package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"holdpoint/interaction"
	"holdpoint/internal/store"
)

func question(id interaction.ID, at time.Time) interaction.Interaction {
	return interaction.Interaction{Status: interaction.StatusPending, Request: interaction.Request{
		ID: id, RunID: "r1", SessionID: "s", ToolCallID: "c1", ToolName: "bash", ToolArgs: exact[0], Risk: "high",
		Type: interaction.TypeToolApproval, Title: hostile, Message: hostile, Details: hostile,
		Options:   []interaction.Option{{ID: "yes", Label: hostile, Action: interaction.ActionApprove}},
		Reviewers: []string{"group:ops"}, CreatedAt: at, ExpiresAt: at.Add(time.Hour)}}
}

func save(t testing.TB, s *store.Store, list ...interaction.Interaction) {
	t.Helper()
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		for _, i := range list {
			if err := tx.SaveInteraction(ctx, i); err != nil {
				return err
			}
		}
		return nil
	})
}

func TestInteractionsComeBackAsTheyWere(t *testing.T) {
	conform(t, func(t *testing.T, s *store.Store) {
		for n, raw := range exact {
			i := question(interaction.ID(fmt.Sprint("i", n)), start)
			i.Request.ToolArgs = raw
			i.Request.Interactions = []interaction.Request{{ID: "part", ToolArgs: raw}}
			i.Responses = []interaction.Response{{ID: "p", Args: raw, Data: raw, Responses: []interaction.Response{{Data: raw}}}}
			save(t, s, i)
			got, found, err := s.Interaction(t.Context(), i.Request.ID)
			no(t, err)
			same(t, fmt.Sprintf("interaction %d (found: %v)", n, found), got, i)
			if i.Responses[0].Args != nil && string(i.Responses[0].Args) != string(raw) {
				t.Error("saving changed the caller's value")
			}
			write(t, s, func(ctx context.Context, tx *store.Tx) error {
				got, _, err := tx.Interaction(ctx, i.Request.ID)
				same(t, "the interaction in a transaction", got, i)
				return err
			})
		}
		_, found, err := s.Interaction(t.Context(), "nobody")
		if found || err != nil {
			t.Errorf("an interaction that is not there: found %v, %v", found, err)
		}
		code(t, s.Write(t.Context(), func(tx *store.Tx) error {
			return tx.SaveInteraction(t.Context(), interaction.Interaction{})
		}), interaction.CodeInvalid, "interaction_id")
	})
}

func TestOpenInteractionsAreThoseThatAreNotFinal(t *testing.T) {
	conform(t, func(t *testing.T, s *store.Store) {
		statuses := []interaction.Status{interaction.StatusPending, interaction.StatusHeld, interaction.StatusAnswered,
			interaction.StatusExpired, interaction.StatusCancelled}
		for n, st := range statuses {
			i := question(interaction.ID(st), start.Add(-time.Duration(n)*time.Second))
			i.Status = st
			save(t, s, i)
		}
		other := question("other", start)
		other.Request.RunID = "r2"
		save(t, s, other)
		open := func() (ids []interaction.ID) {
			write(t, s, func(ctx context.Context, tx *store.Tx) error {
				list, err := tx.OpenInteractions(ctx, "r1")
				for _, i := range list {
					ids = append(ids, i.Request.ID)
				}
				return err
			})
			return ids
		}
		same(t, "the open ones", open(), []interaction.ID{"held", "pending"}) // oldest first
		closed := question("held", start)
		closed.Status, closed.Action, closed.ClosedAt = interaction.StatusAnswered, interaction.ActionApprove, start
		save(t, s, closed)
		same(t, "the open ones after one was answered", open(), []interaction.ID{"pending"})
	})
}

func TestInteractionFilters(t *testing.T) {
	conform(t, func(t *testing.T, s *store.Store) {
		mk := func(id interaction.ID, change func(*interaction.Interaction)) {
			i := question(id, start)
			change(&i)
			save(t, s, i)
		}
		mk("a", func(*interaction.Interaction) {})
		mk("b", func(i *interaction.Interaction) { i.Status = interaction.StatusHeld })
		mk("c", func(i *interaction.Interaction) { i.Request.RunID = "r2" })
		mk("d", func(i *interaction.Interaction) { i.Request.SessionID = "s2" })
		mk("e", func(i *interaction.Interaction) { i.Request.ToolName = hostile })
		mk("f", func(i *interaction.Interaction) { i.Request.Risk = "low" })
		for _, tc := range []struct {
			f    store.InteractionFilter
			want string
		}{
			{store.InteractionFilter{}, "fedcba"},
			{store.InteractionFilter{Status: []interaction.Status{interaction.StatusHeld}}, "b"},
			{store.InteractionFilter{Status: []interaction.Status{interaction.StatusHeld, interaction.StatusPending}}, "fedcba"},
			{store.InteractionFilter{Status: []interaction.Status{"nonsense' OR 1=1 --"}}, ""},
			{store.InteractionFilter{RunID: "r2"}, "c"},
			{store.InteractionFilter{SessionID: "s2"}, "d"},
			{store.InteractionFilter{Tool: hostile}, "e"},
			{store.InteractionFilter{Risk: "low", Tool: "bash", RunID: "r1"}, "f"},
		} {
			got, next, err := s.Interactions(t.Context(), tc.f)
			no(t, err)
			ids := ""
			for _, i := range got {
				ids += string(i.Request.ID)
			}
			if ids != tc.want || next != "" {
				t.Errorf("%+v: got %q (next %q), want %q", tc.f, ids, next, tc.want)
			}
		}
	})
}

func TestTheFirstResponseOfAnIDStays(t *testing.T) {
	conform(t, func(t *testing.T, s *store.Store) {
		const senders = 10
		inserted := make([]bool, senders)
		existing := make([]interaction.Response, senders)
		var wg sync.WaitGroup
		for n := range senders {
			wg.Go(func() {
				r := interaction.Response{ID: "p1", RequestID: "i1", Action: interaction.ActionReject, Note: fmt.Sprint(n), Args: exact[0]}
				var err error
				if existing[n], inserted[n], err = s.SaveResponse(t.Context(), r); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		winners := 0
		for n := range senders {
			same(t, "what a sender was told", existing[n], existing[0])
			if inserted[n] {
				winners++
				if existing[n].Note != fmt.Sprint(n) {
					t.Errorf("sender %d was told it was first, but %s is stored", n, existing[n].Note)
				}
			}
		}
		if winners != 1 {
			t.Errorf("%d senders were first", winners)
		}
		got, found, err := s.Response(t.Context(), "p1")
		no(t, err)
		same(t, fmt.Sprintf("the response (found: %v)", found), got, existing[0])
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			got, _, err := tx.Response(ctx, "p1")
			same(t, "the response in a transaction", got, existing[0])
			_, found, err2 := tx.Response(ctx, "nobody")
			if found {
				t.Error("a response that is not there was found")
			}
			return errors.Join(err, err2)
		})
		_, _, err = s.SaveResponse(t.Context(), interaction.Response{})
		code(t, err, interaction.CodeInvalid, "id")
	})
}

func TestSubmittedMarksOnlyWhatIsOpen(t *testing.T) {
	conform(t, func(t *testing.T, s *store.Store) {
		save(t, s, question("i1", start))
		mark := func(r interaction.Response, at time.Time) interaction.Interaction {
			t.Helper()
			no(t, s.MarkSubmitted(t.Context(), "i1", r, at))
			got, _, err := s.Interaction(t.Context(), "i1")
			no(t, err)
			return got
		}
		first, second := interaction.Response{ID: "p1", Args: exact[0]}, interaction.Response{ID: "p2"}
		got := mark(first, start.Add(time.Minute))
		same(t, "the responses", got.Responses, []interaction.Response{first})
		if !got.SubmittedAt.Equal(start.Add(time.Minute)) || got.Status != interaction.StatusPending {
			t.Errorf("submitted at %s, status %s", got.SubmittedAt, got.Status)
		}
		same(t, "marked again", mark(first, start.Add(time.Hour)), got)
		got = mark(second, start.Add(2*time.Minute)) // a quorum's second
		same(t, "the responses", got.Responses, []interaction.Response{first, second})

		got.Status, got.Action = interaction.StatusAnswered, interaction.ActionApprove
		save(t, s, got)
		same(t, "marked when final", mark(interaction.Response{ID: "p3"}, start.Add(time.Hour)), got)
		if err := s.MarkSubmitted(t.Context(), "nobody", first, start); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("marking an interaction that is not there: %v", err)
		}
	})
}

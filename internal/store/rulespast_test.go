package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"holdpoint/interaction"
	"holdpoint/internal/store"
	"holdpoint/tool"
)

func TestPastCallsAreTheUsersNewestFirst(t *testing.T) {
	conform(t, func(t *testing.T, s *store.Store) {
		for n, user := range []interaction.PrincipalID{"ann", "bob", "ann"} {
			r := newRun(interaction.RunID(fmt.Sprintf("r%d", n)))
			r.UserID, r.StartedAt = user, start.Add(time.Duration(n)*time.Minute)
			no(t, s.EnsureRun(t.Context(), r))
			write(t, s, func(ctx context.Context, tx *store.Tx) error {
				for i := range 2 {
					c := tool.Call{ID: interaction.CallID(fmt.Sprintf("%s-%d", r.ID, i)), RunID: r.ID, SessionID: r.SessionID, Name: "bash", Args: json.RawMessage(exact[0])}
					if err := tx.InsertCall(ctx, tool.Record{Call: c, Turn: 1, Index: i, Sequence: int64(i + 1)}); err != nil {
						return err
					}
				}
				return nil
			})
		}
		for limit, want := range map[int]string{10: "r2-1 r2-0 r0-1 r0-0", 3: "r2-1 r2-0 r0-1", 0: "", -1: ""} {
			calls, err := s.PastCalls(t.Context(), "ann", limit)
			no(t, err)
			got := ""
			for n, c := range calls {
				if n > 0 {
					got += " "
				}
				got += string(c.Call.ID)
				if c.Agent != "coder" || string(c.Call.Args) != string(exact[0]) {
					t.Errorf("call %s came back as %+v", c.Call.ID, c)
				}
			}
			if got != want {
				t.Errorf("the last %d: %q, want %q", limit, got, want)
			}
		}
	})
}

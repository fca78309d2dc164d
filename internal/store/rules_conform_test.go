package store_test

import (
	"context"
	"testing"

	"holdpoint/interaction"
	"holdpoint/internal/store"
	"holdpoint/internal/store/rulestest"
)

// rules gives the suite a use of grants in a transaction of its own.
type rules struct{ *store.Store }

func (r rules) UseRules(ctx context.Context, ids []string, call interaction.CallID) (ok bool, err error) {
	err = r.Write(ctx, func(tx *store.Tx) (err error) {
		ok, err = tx.UseRules(ctx, ids, call)
		return err
	})
	return ok, err
}

func TestRulesConform(t *testing.T) {
	t.Parallel()
	for name, open := range backends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rulestest.Conform(t, func(t *testing.T) rulestest.Rules { return rules{open(t)} })
		})
	}
}

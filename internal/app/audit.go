package app

import (
	"context"
	"errors"
	"fmt"

	"holdpoint/agent"
	"holdpoint/api"
	"holdpoint/interaction"
	"holdpoint/internal/store"
)

// VerifyRecords recomputes the hash chains of runs: those that are named, or all that the store has. each is told of
// every chain. Runs that other runs called have their events in the chain of the run that a person started.
func VerifyRecords(ctx context.Context, o Options, runs []interaction.RunID, each func(api.Verified) error) (err error) {
	s, closing, err := openStore(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closing()) }()
	for _, id := range runs {
		if err := verifyOne(ctx, s, id, each); err != nil {
			return err
		}
	}
	if len(runs) > 0 {
		return nil
	}
	for f := (store.RunFilter{PageSize: 200}); ; {
		page, next, err := s.Runs(ctx, f)
		if err != nil {
			return err
		}
		for _, r := range page {
			if err := verifyRoot(ctx, s, r, each); err != nil {
				return err
			}
		}
		if f.PageToken = next; next == "" {
			return nil
		}
	}
}

func verifyRoot(ctx context.Context, s *store.Store, r agent.Run, each func(api.Verified) error) error {
	if r.Root != "" {
		return nil
	}
	return verifyOne(ctx, s, r.ID, each)
}

// verifyOne tells what is wrong with a chain; an error is what kept it from being looked at.
func verifyOne(ctx context.Context, s *store.Store, id interaction.RunID, each func(api.Verified) error) error {
	fault, err := bridgeStore{s}.Verify(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("there is no run %q in this database", id)
	}
	if err != nil {
		return err
	}
	return each(api.Verified{RunID: id, Holds: fault == "", Fault: fault})
}

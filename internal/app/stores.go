package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"holdpoint/activities"
	"holdpoint/api"
	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/internal/config"
	"holdpoint/internal/store"

	"holdpoint/agent"
)

// chooseStore finds the one database of this process. Rules are read in the transaction that claims an
// execution, so permissions and sessions share it.
func chooseStore(cfg *config.Config, o Options, dev bool) (store.Config, error) {
	var chosen *config.Store
	for _, s := range append(append([]config.Store(nil), cfg.SessionStores...), cfg.PermissionStores...) {
		if s.Type == config.StoreMongoDB {
			continue // rules alone: see chooseRules
		}
		if chosen != nil && (chosen.Type != s.Type || chosen.DSN != s.DSN || chosen.Conn != s.Conn) {
			return store.Config{}, &config.Error{Problems: []config.Problem{{Pos: s.Pos, Text: fmt.Sprintf("store %s: is not the database of %s (%s): "+
				"sessions and permissions of one process share one database; give both the same store_type and dsn", s.Name, chosen.Name, chosen.Pos)}}}
		}
		chosen = &s
	}
	switch {
	case chosen == nil:
		return store.Config{Driver: store.SQLite, DSN: filepath.Join(o.Data, privateDir, "holdpoint.db")}, nil
	case chosen.Type == config.StoreInMemory && !dev:
		return store.Config{}, fmt.Errorf("%s: store %s: inmemory loses every wait at exit and is for dev only: use sqlite or postgres", chosen.Pos, chosen.Name)
	case chosen.Type == config.StoreInMemory:
		return store.Config{Driver: store.Memory}, nil
	case chosen.Type == config.StorePostgres:
		return store.Config{Driver: store.Postgres, DSN: chosen.Conn.Reveal()}, nil
	case chosen.Type == config.StoreSQLite:
		return store.Config{Driver: store.SQLite, DSN: chosen.DSN}, nil
	default:
		return store.Config{}, fmt.Errorf("%s: store %s: store_type %q is not built in", chosen.Pos, chosen.Name, chosen.Type)
	}
}

// sealing adds to a database's configuration the keys that open what is sealed there, and whether what is written is.
func (a *App) sealing(c store.Config, cfg *config.Config) store.Config {
	switch cfg.Encryption() {
	case config.EncryptionOff:
	case config.EncryptionOn:
		c.Sealing = store.SealOn
	case config.EncryptionRequired:
		c.Sealing = store.SealRequired
	default: // nothing else is read; the safe one
		c.Sealing = store.SealRequired
	}
	if a.keys != nil { // a nil ring in the interface would not be nil
		c.Keys = a.keys
	}
	return c
}

// activityStore gives the activities their view of the store.
type activityStore struct{ *store.Store }

func (s activityStore) Write(ctx context.Context, fn func(activities.Tx) error) error {
	return s.Store.Write(ctx, func(tx *store.Tx) error { return fn(tx) })
}

// bridgeStore gives the bridge its view of the store.
type bridgeStore struct{ *store.Store }

func (s bridgeStore) Runs(ctx context.Context, f api.RunFilter) ([]agent.Run, string, error) {
	return s.Store.Runs(ctx, store.RunFilter{Status: string(f.Status), SessionID: string(f.SessionID), Agent: f.Agent,
		UserID: string(f.UserID), Prefix: f.Prefix, PageSize: f.PageSize, PageToken: f.PageToken})
}

func (s bridgeStore) Interactions(ctx context.Context, f api.InteractionFilter) ([]interaction.Interaction, string, error) {
	return s.Store.Interactions(ctx, store.InteractionFilter{Status: f.Status, RunID: f.RunID, PageSize: f.PageSize, PageToken: f.PageToken})
}

func (s bridgeStore) Closed(ctx context.Context, f api.ClosedFilter) ([]interaction.Interaction, string, error) {
	return s.Store.Closed(ctx, store.ClosedFilter(f))
}

func (s bridgeStore) Verify(ctx context.Context, run interaction.RunID) (string, error) {
	err := s.VerifyRun(ctx, run)
	if errors.Is(err, store.ErrTampered) {
		return err.Error(), nil
	}
	return "", err
}

func (s bridgeStore) Deltas(ctx context.Context, run interaction.RunID, after int64) ([]api.LiveDelta, error) {
	deltas, err := s.Store.Deltas(ctx, run, after)
	out := make([]api.LiveDelta, 0, len(deltas))
	for _, d := range deltas {
		out = append(out, api.LiveDelta{ID: d.ID, StepDeltaData: event.StepDeltaData(d.StepDeltaData)})
	}
	return out, err
}

func (s bridgeStore) Progress(ctx context.Context, run interaction.RunID) (api.Progress, error) {
	p, err := s.Store.Progress(ctx, run)
	return api.Progress(p), err
}

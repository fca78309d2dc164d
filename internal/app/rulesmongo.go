package app

import (
	"context"
	"errors"
	"time"

	"holdpoint/activities"
	"holdpoint/api"
	"holdpoint/interaction"
	"holdpoint/internal/config"
	"holdpoint/internal/store"
	"holdpoint/internal/store/mongorules"
	"holdpoint/permission"
)

// chooseRules finds the one database that is for rules alone, if there is one.
func chooseRules(cfg *config.Config) (chosen *config.Store, err error) {
	for _, s := range cfg.PermissionStores {
		if s.Type != config.StoreMongoDB {
			continue
		}
		if chosen != nil && (chosen.Conn != s.Conn || chosen.Database != s.Database) {
			return nil, &config.Error{Problems: []config.Problem{{Pos: s.Pos, Text: "store " + s.Name + ": is not the database of " + chosen.Name +
				" (" + chosen.Pos.String() + "): the rules of one process are in one database; give both the same mongo_uri and mongo_db_name"}}}
		}
		chosen = &s
	}
	return chosen, nil
}

// rulesPatience is how long a transaction waits for rules that can't be reached. It holds other writers up meanwhile, and
// whoever began it tries again anyway.
const rulesPatience = 5 * time.Second

// openRules opens a database of rules, where one is configured.
func (a *App) openRules(ctx context.Context, cfg *config.Config) error {
	where, err := chooseRules(cfg)
	if err != nil || where == nil {
		return err
	}
	if a.mongo, err = mongorules.Open(ctx, mongorules.Config{URI: where.Conn.Reveal(), Database: where.Database, Patience: rulesPatience}); err != nil {
		return err
	}
	a.closing(a.mongo.Close)
	return nil
}

func (a *App) ruleStore() ruleStore {
	if a.mongo != nil {
		return a.mongo
	}
	return a.store
}

func (a *App) activityStore() activities.Store {
	if a.mongo != nil {
		return a.outbox(mongoStore{activityStore{a.store}, a.mongo})
	}
	return a.outbox(activityStore{a.store})
}

// storeChecks are what must answer before the bridge is ready.
func (a *App) storeChecks() []api.Check {
	checks := []api.Check{{Name: "store", Missing: "the store does not answer", Run: a.store.Ping}}
	if a.mongo != nil {
		checks = append(checks, api.Check{Name: "rules", Missing: "the store of rules does not answer", Run: a.mongo.Ping})
	}
	return checks
}

// mongoStore is the store of activities with the rules elsewhere. They are read when the transaction asks for them, just
// before it is committed.
type mongoStore struct {
	activityStore
	rules *mongorules.Rules
}

// returning bounds giving back the uses that were counted for a write that failed.
const returning = 10 * time.Second

// Write runs fn as the store does. What fn counted of grants is given back if nothing was written.
func (s mongoStore) Write(ctx context.Context, fn func(activities.Tx) error) error {
	counted := map[interaction.CallID][]string{}
	err := s.activityStore.Write(ctx, func(tx activities.Tx) error { return fn(mongoTx{tx, s.rules, counted}) })
	if err == nil || errors.Is(err, store.ErrUncertain) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), returning)
	defer cancel()
	for call, ids := range counted {
		err = errors.Join(err, s.rules.ReturnUses(ctx, ids, call))
	}
	return err
}

// mongoTx is a transaction whose rules are elsewhere. counted is what was used by it so far: its own uses are none of
// another's when it has to begin again.
type mongoTx struct {
	activities.Tx
	rules   *mongorules.Rules
	counted map[interaction.CallID][]string
}

func (tx mongoTx) Rules(ctx context.Context, user interaction.PrincipalID, session interaction.SessionID) ([]permission.Rule, error) {
	rules, err := tx.rules.Rules(ctx, user, session)
	for _, ids := range tx.counted {
		for _, id := range ids {
			for n := range rules {
				if rules[n].ID == id && rules[n].Uses > 0 {
					rules[n].Uses--
				}
			}
		}
	}
	return rules, err
}

// RulesVersion is negative where a use is the transaction's own: those rules are nobody else's.
func (tx mongoTx) RulesVersion(ctx context.Context, user interaction.PrincipalID) (int64, error) {
	v, err := tx.rules.RulesVersion(ctx, user)
	if len(tx.counted) > 0 {
		v = -v
	}
	return v, err
}

func (tx mongoTx) UseRules(ctx context.Context, ids []string, call interaction.CallID) (bool, error) {
	ok, err := tx.rules.UseRules(ctx, ids, call)
	if ok && err == nil {
		bound, err := tx.bounded(ctx, ids)
		if err != nil {
			return false, err
		}
		if len(bound) > 0 {
			tx.counted[call] = bound
		}
	}
	return ok, err
}

// bounded are those of the rules whose uses are counted.
func (tx mongoTx) bounded(ctx context.Context, ids []string) (out []string, err error) {
	for _, id := range ids {
		r, found, err := tx.rules.StoredRule(ctx, id)
		if err != nil {
			return nil, err
		}
		if found && r.MaxUses > 0 {
			out = append(out, id)
		}
	}
	return out, nil
}

// RoomForRules leaves it to SaveRule to refuse what is too many.
func (tx mongoTx) RoomForRules(context.Context, string, int, time.Time) (bool, error) {
	return true, nil
}

func (tx mongoTx) SaveRule(ctx context.Context, r permission.Rule) error {
	_, err := tx.rules.SaveRules(ctx, r)
	return err
}

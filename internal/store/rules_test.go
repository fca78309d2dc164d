package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"holdpoint/interaction"
	"holdpoint/internal/store"
	"holdpoint/permission"
)

func TestRules(t *testing.T) {
	conform(t, func(t *testing.T, s *store.Store) {
		rule := func(id, user, session string, age time.Duration) permission.Rule {
			layer := permission.LayerUser // as the store finds out
			if user == "" {
				layer = permission.LayerOrganisation
			} else if session != "" {
				layer = permission.LayerSession
			}
			return permission.Rule{ID: id, Effect: permission.Deny, Pattern: "bash(" + hostile + ")", UserID: user, SessionID: session,
				Source: permission.Source{Layer: layer}, GrantedBy: "ann", CreatedAt: start.Add(-age), ExpiresAt: start}
		}
		anns, annsHere := rule("1", "ann", "", 4), rule("2", "ann", "s1", 3)
		all := rule("5", "", "", 1)
		for _, r := range []permission.Rule{all, annsHere, anns, rule("3", "ann", "s2", 3), rule("4", "bob", "", 2)} {
			no(t, s.SaveRule(t.Context(), r))
		}
		check := func(user interaction.PrincipalID, session interaction.SessionID, want ...permission.Rule) {
			t.Helper()
			got, err := s.Rules(t.Context(), user, session)
			no(t, err)
			same(t, "the rules", got, want)
			write(t, s, func(ctx context.Context, tx *store.Tx) error {
				got, err := tx.Rules(ctx, user, session)
				same(t, "the rules in a transaction", got, want)
				return err
			})
		}
		check("ann", "s1", anns, annsHere, all) // the expired ones too: the engine knows the time
		check("ann", "", anns, all)
		check("", "", all)
		check("eve", "s1", all)

		version := func(user interaction.PrincipalID) int64 {
			v, err := s.RulesVersion(t.Context(), user)
			no(t, err)
			return v
		}
		before, bob := version("ann"), version("bob")
		no(t, s.SaveRule(t.Context(), anns)) // again
		other := anns
		other.Effect = permission.Allow
		if err := s.SaveRule(t.Context(), other); !errors.Is(err, store.ErrExists) {
			t.Errorf("another rule of the same id: got %v, want ErrExists", err)
		}
		if version("ann") != before {
			t.Error("saving nothing new changed the version")
		}
		for range 2 {
			no(t, s.RevokeRule(t.Context(), "1", "root", start))
		}
		check("ann", "s1", annsHere, all)
		if version("ann") != before+1 || version("bob") != bob {
			t.Errorf("versions after a revocation: ann %d (was %d), bob %d (was %d)", version("ann"), before, version("bob"), bob)
		}
		no(t, s.RevokeRule(t.Context(), "5", "root", start))
		if version("bob") <= bob {
			t.Error("a rule for all was revoked, and bob's version did not grow")
		}
		check("eve", "s1")
		if err := s.RevokeRule(t.Context(), "nobody", "root", start); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("revoking a rule that is not there: %v", err)
		}
		code(t, s.SaveRule(t.Context(), permission.Rule{}), interaction.CodeInvalid, "id")
	})
}

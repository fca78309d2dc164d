package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"holdpoint/interaction"
	"holdpoint/internal/store"
)

func TestTokensAreKeptListedAndRevoked(t *testing.T) {
	conform(t, func(t *testing.T, s *store.Store) {
		ctx, now := t.Context(), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		for n := range 5 {
			no(t, s.SaveToken(ctx, store.Token{ID: fmt.Sprintf("t%d", n), Hash: fmt.Sprintf("hash%d", n), CreatedAt: now.Add(time.Duration(n) * time.Second),
				Principal: interaction.Principal{ID: "alice", Groups: []string{"ops"}, Roles: []string{"reviewer"}}, CreatedBy: "ada", Note: "laptop"}))
		}
		no(t, s.SaveToken(ctx, store.Token{ID: "bobs", Hash: "hashb", CreatedAt: now, ExpiresAt: now.Add(time.Hour),
			Principal: interaction.Principal{ID: "bob", Roles: []string{"user"}}}))
		got, found, err := s.TokenByHash(ctx, "hash3")
		no(t, err)
		if !found || got.ID != "t3" || got.Hash != "hash3" || got.Principal.ID != "alice" || got.Principal.Groups[0] != "ops" || got.CreatedBy != "ada" ||
			!got.CreatedAt.Equal(now.Add(3*time.Second)) || !got.ExpiresAt.IsZero() || !got.RevokedAt.IsZero() {
			t.Errorf("found %v %+v", found, got)
		}
		for _, hash := range []string{"hash", "HASH3", "", "\x00"} {
			if _, found, err := s.TokenByHash(ctx, hash); found || err != nil {
				t.Errorf("%q: %v, %v", hash, found, err)
			}
		}
		for _, taken := range []store.Token{{ID: "t1", Hash: "new", Principal: got.Principal}, {ID: "new", Hash: "hash1", Principal: got.Principal}} {
			if err := s.SaveToken(ctx, taken); !errors.Is(err, store.ErrExists) {
				t.Errorf("%+v is saved: %v", taken, err)
			}
		}
		first, next, err := s.Tokens(ctx, store.TokenFilter{Principal: "alice", PageSize: 3})
		no(t, err)
		rest, end, err := s.Tokens(ctx, store.TokenFilter{Principal: "alice", PageSize: 3, PageToken: next})
		no(t, err)
		if len(first) != 3 || first[0].ID != "t4" || len(rest) != 2 || rest[1].ID != "t0" || end != "" {
			t.Errorf("pages %v, %v, then %q", first, rest, end)
		}
		ended, err := s.RevokeToken(ctx, "t3", "ada", now.Add(time.Minute))
		no(t, err)
		again, err := s.RevokeToken(ctx, "t3", "eve", now.Add(time.Hour))
		no(t, err)
		got, _, err = s.TokenByHash(ctx, "hash3")
		no(t, err)
		if !ended || again || got.RevokedBy != "ada" || !got.RevokedAt.Equal(now.Add(time.Minute)) {
			t.Errorf("ended %v, again %v: %+v", ended, again, got)
		}
		if _, err := s.RevokeToken(ctx, "nobodys", "ada", now); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a token that is not there: %v", err)
		}
		bobs, _, err := s.TokenByHash(ctx, "hashb")
		no(t, err)
		if !bobs.ExpiresAt.Equal(now.Add(time.Hour)) {
			t.Errorf("expires %v", bobs.ExpiresAt)
		}
	})
}

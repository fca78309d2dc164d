package app

import (
	"context"
	"errors"
	"fmt"

	"holdpoint/interaction"
	"holdpoint/internal/store"
)

// Erasure says what is to be erased: sessions, or all that is kept of users, their sessions included.
type Erasure struct {
	Sessions []interaction.SessionID
	Users    []interaction.PrincipalID
}

// ErasedData is what was erased of a session, or of a user beside sessions.
type ErasedData struct {
	store.Erased
	User   interaction.PrincipalID `json:"user_id,omitempty"`
	Rules  int                     `json:"rules,omitempty"`
	Tokens int                     `json:"tokens,omitempty"`
}

// Erase erases on the database that a configuration names, and tells of each session and user. It stops at the first that
// can't be erased; what was told of is erased.
func Erase(ctx context.Context, o Options, what Erasure, tell func(ErasedData) error) (err error) {
	s, closing, err := openStore(ctx, o.orDev())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closing()) }()
	if o, err = o.withDefaults(); err != nil {
		return err
	}
	sessions := what.Sessions
	for _, user := range what.Users {
		more, err := s.UserSessions(ctx, user)
		if err != nil {
			return err
		}
		sessions = append(sessions, more...)
	}
	for n, id := range sessions {
		out, err := s.EraseSession(ctx, id, o.Now())
		if err != nil && len(sessions) > 1 {
			return fmt.Errorf("%w; of the %d sessions %d were erased, and nothing else: mend that, and give the command again", err, len(sessions), n)
		} else if err != nil {
			return err
		}
		if err := tell(ErasedData{Erased: out}); err != nil {
			return err
		}
	}
	for _, user := range what.Users {
		rules, tokens, err := s.EraseUser(ctx, user)
		if err != nil {
			return err
		}
		if err := tell(ErasedData{User: user, Rules: rules, Tokens: tokens}); err != nil {
			return err
		}
	}
	return nil
}

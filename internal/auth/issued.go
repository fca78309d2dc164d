package auth

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"holdpoint/interaction"
)

// Authenticator tells who sends a request. ok is false when it carries no credentials that this one knows; an error
// means that it could not be found out, and never that the request may pass.
type Authenticator interface {
	Authenticate(r *http.Request) (p interaction.Principal, ok bool, err error)
}

// Chain asks each in turn. One that can't tell is passed over where another one knows the caller, and is the answer
// where none does.
type Chain []Authenticator

// Authenticate returns the first principal that is found.
func (c Chain) Authenticate(r *http.Request) (p interaction.Principal, ok bool, err error) {
	var errs []error
	for _, a := range c {
		p, ok, err := a.Authenticate(r)
		if err == nil && ok && p.ID != "" {
			return p, true, nil
		}
		errs = append(errs, err)
	}
	return interaction.Principal{}, false, errors.Join(errs...)
}

// Kept is a token as a store keeps it.
type Kept struct {
	// Hash is the token's SHA-256, in hex.
	Hash      string
	Principal interaction.Principal
	ExpiresAt time.Time // zero is never
	RevokedAt time.Time // zero is not
}

// Issued authenticates by tokens that a store keeps. Each request looks its token up, so one that is revoked is at an
// end at once, at every bridge.
type Issued struct {
	// Find returns the token of that hash.
	Find func(ctx context.Context, hash string) (k Kept, found bool, err error)
	// Now defaults to time.Now.
	Now func() time.Time
}

// Authenticate returns the principal of a request's token, if it is kept and neither revoked nor expired.
func (s Issued) Authenticate(r *http.Request) (p interaction.Principal, ok bool, err error) {
	token, ok := bearer(r)
	if !ok || !strings.HasPrefix(token, TokenPrefix) {
		return p, false, nil
	}
	hash := HexHash(token)
	k, found, err := s.Find(r.Context(), hash)
	if err != nil {
		return p, false, fmt.Errorf("auth: look a token up: %w", err)
	}
	now := time.Now
	if s.Now != nil {
		now = s.Now
	}
	if !found || subtle.ConstantTimeCompare([]byte(k.Hash), []byte(hash)) != 1 || !k.RevokedAt.IsZero() ||
		!k.ExpiresAt.IsZero() && !now().Before(k.ExpiresAt) {
		return p, false, nil
	}
	return clone(k.Principal), true, nil
}

// HexHash is the form in which a store keeps a token.
func HexHash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// CheckPrincipal refuses a principal that no token can be for: without a usable id, or without known roles.
func CheckPrincipal(p interaction.Principal) error {
	if !nameable(string(p.ID)) {
		return fmt.Errorf("%q can't be a principal's id: use at most %d bytes of plain text that begin neither with @ nor with group:", interaction.Visible(string(p.ID)), maxNameBytes)
	}
	if len(p.Groups) > maxGroups {
		return fmt.Errorf("%d groups are too many; at most %d are taken", len(p.Groups), maxGroups)
	}
	for _, g := range p.Groups {
		if !nameable(g) {
			return fmt.Errorf("%q can't be a group: name it without group:", interaction.Visible(g))
		}
	}
	return checkRoles(p.Roles)
}

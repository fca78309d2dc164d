package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"holdpoint/api"
	"holdpoint/interaction"
	"holdpoint/internal/auth"
	"holdpoint/internal/store"
	"holdpoint/internal/telemetry"
)

// tokens keeps bearer tokens in the store.
type tokens struct{ store *store.Store }

func (t tokens) CreateToken(ctx context.Context, n api.NewToken) (api.TokenInfo, string, error) {
	if err := auth.CheckPrincipal(n.Principal); err != nil {
		return api.TokenInfo{}, "", &interaction.Error{Code: interaction.CodeInvalid, Field: "id", Message: strings.TrimPrefix(err.Error(), "auth: ")}
	}
	token := auth.NewToken()
	kept := store.Token{ID: n.ID, Hash: auth.HexHash(token), Principal: n.Principal, Note: n.Note, CreatedBy: n.CreatedBy, CreatedAt: n.CreatedAt, ExpiresAt: n.ExpiresAt}
	if err := t.store.SaveToken(ctx, kept); err != nil {
		return api.TokenInfo{}, "", err
	}
	return tokenInfo(kept), token, nil
}

func (t tokens) Tokens(ctx context.Context, principal interaction.PrincipalID, pageSize int, pageToken string) ([]api.TokenInfo, string, error) {
	list, next, err := t.store.Tokens(ctx, store.TokenFilter{Principal: principal, PageSize: pageSize, PageToken: pageToken})
	out := make([]api.TokenInfo, 0, len(list))
	for _, k := range list {
		out = append(out, tokenInfo(k))
	}
	return out, next, err
}

func (t tokens) RevokeToken(ctx context.Context, id string, by interaction.PrincipalID, at time.Time) (ended, found bool, err error) {
	ended, err = t.store.RevokeToken(ctx, id, by, at)
	if errors.Is(err, store.ErrNotFound) {
		return false, false, nil
	}
	return ended, err == nil, err
}

func tokenInfo(t store.Token) api.TokenInfo {
	return api.TokenInfo{TokenID: t.ID, ID: t.Principal.ID, Roles: append([]string{}, t.Principal.Roles...), Groups: t.Principal.Groups, Note: t.Note,
		CreatedBy: t.CreatedBy, CreatedAt: t.CreatedAt, ExpiresAt: t.ExpiresAt, RevokedAt: t.RevokedAt, RevokedBy: t.RevokedBy}
}

// find looks a token up for a request.
func (t tokens) find(ctx context.Context, hash string) (auth.Kept, bool, error) {
	k, found, err := t.store.TokenByHash(ctx, hash)
	return auth.Kept{Hash: k.Hash, Principal: k.Principal, ExpiresAt: k.ExpiresAt, RevokedAt: k.RevokedAt}, found, err
}

// TokenStore works on a store's tokens without a bridge: whoever can write the database makes the first one so.
type TokenStore struct {
	tokens
	close func() error
}

// OpenTokens opens the store of a configuration.
func OpenTokens(ctx context.Context, o Options) (*TokenStore, error) {
	s, closing, err := openStore(ctx, o)
	if err != nil {
		return nil, err
	}
	return &TokenStore{tokens{s}, closing}, nil
}

// Create makes a token, as POST /v1/tokens does for an admin.
func (t *TokenStore) Create(ctx context.Context, p interaction.Principal, note string, expires time.Time) (api.CreatedToken, error) {
	info, token, err := t.CreateToken(ctx, api.NewToken{ID: uuid.NewString(), Principal: p, Note: note, CreatedAt: time.Now(), ExpiresAt: expires})
	return api.CreatedToken{TokenInfo: info, Token: token}, err
}

// Close closes the store.
func (t *TokenStore) Close() error { return t.close() }

// openStore opens the database that a configuration names, and nothing else.
func openStore(ctx context.Context, o Options) (*store.Store, func() error, error) {
	if o.Config == "" {
		return nil, nil, errors.New("no configuration: name a file or directory with --config")
	}
	a, err := newApp(o)
	if err != nil {
		return nil, nil, err
	}
	cfg, err := a.loadConfig(false)
	if err != nil {
		return nil, nil, err
	}
	where, err := chooseStore(cfg, a.o, false)
	if err != nil {
		return nil, nil, err
	}
	if err := os.MkdirAll(filepath.Join(a.o.Data, privateDir), 0o700); err != nil {
		return nil, nil, fmt.Errorf("the data directory can't be made: %w: choose another with --data", err)
	}
	if err := a.openKeys(ctx); err != nil {
		return nil, nil, err
	}
	where.Log = telemetry.NewLog(a.o.Err) // a person waits
	s, err := store.Open(ctx, a.sealing(where, cfg))
	if err != nil {
		return nil, nil, err
	}
	return s, s.Close, nil
}

// HashToken is how a token is named in a configuration.
func HashToken(token string) string { return auth.HexHash(token) }

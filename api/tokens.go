package api

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"holdpoint/interaction"
)

// Tokens keeps bearer tokens, by their hashes.
type Tokens interface {
	// CreateToken makes a token and keeps its hash. The token itself is returned this once. A principal that no token
	// can be for is refused with *interaction.Error.
	CreateToken(ctx context.Context, t NewToken) (TokenInfo, string, error)
	// Tokens lists them, the newest first.
	Tokens(ctx context.Context, principal interaction.PrincipalID, pageSize int, pageToken string) (list []TokenInfo, next string, err error)
	// RevokeToken ends one, at once, at every bridge; ended is false for one that had been revoked before. found is
	// false for one that is not there.
	RevokeToken(ctx context.Context, id string, by interaction.PrincipalID, at time.Time) (ended, found bool, err error)
}

// NewToken is a token to be made.
type NewToken struct {
	ID        string // its own, not the principal's
	Principal interaction.Principal
	Note      string
	CreatedBy interaction.PrincipalID
	CreatedAt time.Time
	ExpiresAt time.Time
}

// TokenInfo is a token without the token.
type TokenInfo struct {
	TokenID   string                  `json:"token_id" doc:"By which it is revoked" example:"8a1f0c2e-3b5d-4e6f-8a9b-0c1d2e3f4a5b"`
	ID        interaction.PrincipalID `json:"id" doc:"Whose it is" example:"alice"`
	Roles     []string                `json:"roles" nullable:"false" example:"[\"reviewer\"]"`
	Groups    []string                `json:"groups,omitempty" example:"[\"ops\"]"`
	Note      string                  `json:"note,omitempty"`
	CreatedBy interaction.PrincipalID `json:"created_by,omitempty"`
	CreatedAt time.Time               `json:"created_at"`
	ExpiresAt time.Time               `json:"expires_at,omitzero"`
	RevokedAt time.Time               `json:"revoked_at,omitzero"`
	RevokedBy interaction.PrincipalID `json:"revoked_by,omitempty"`
}

// CreateToken is the body of POST /v1/tokens.
type CreateToken struct {
	ID        interaction.PrincipalID `json:"id" minLength:"1" maxLength:"256" doc:"Whose it is" example:"alice"`
	Roles     []string                `json:"roles" nullable:"false" minItems:"1" maxItems:"4" enum:"user,reviewer,admin,act_for" doc:"What they may do; act_for can be given by who has it only" example:"[\"reviewer\"]"`
	Groups    []string                `json:"groups,omitempty" maxItems:"500" doc:"Without group:" example:"[\"ops\"]"`
	Note      string                  `json:"note,omitempty" maxLength:"1000"`
	ExpiresAt time.Time               `json:"expires_at,omitzero" unsaid:"a token without end"`
	ExpiresIn string                  `json:"expires_in,omitempty" minLength:"1" doc:"Instead of expires_at" example:"720h"`
}

// CreatedToken is a new token. It is shown this once.
type CreatedToken struct {
	TokenInfo
	Token string `json:"token" doc:"The token itself. Nothing keeps it; who loses it needs another" example:"hpt_…"`
}

// TokenList is a page of tokens.
type TokenList = Page[TokenInfo]

// RevokedToken answers a revocation.
type RevokedToken struct {
	Revoked bool `json:"revoked" doc:"False when it had been revoked before"`
}

func (s *Server) tokenRoutes(h huma.API) {
	if s.cfg.Tokens == nil {
		return
	}
	register(s, h, operation(h, "create-token", http.MethodPost, "/v1/tokens", "Make a bearer token; it is shown this once", 201, 400, 413, 415, 422), s.createToken)
	register(s, h, operation(h, "list-tokens", http.MethodGet, "/v1/tokens", "The bearer tokens that are kept, newest first, ended ones too", 200, 400, 422), s.listTokens)
	register(s, h, operation(h, "revoke-token", http.MethodDelete, "/v1/tokens/{token_id}", "End a bearer token, at once", 200, 404, 422), s.revokeToken)
}

func mayKeepTokens(ctx context.Context) error {
	if isAdmin(principal(ctx)) {
		return nil
	}
	return problem(http.StatusForbidden, CodeForbidden, "only an admin may see, make and revoke tokens")
}

type createTokenInput struct{ Body CreateToken }

type createdTokenOutput struct{ Body CreatedToken }

func (s *Server) createToken(ctx context.Context, in *createTokenInput) (*createdTokenOutput, error) {
	if err := mayKeepTokens(ctx); err != nil {
		return nil, err
	}
	p, b, now := principal(ctx), in.Body, s.now()
	if slices.Contains(b.Roles, RoleActFor) && !mayActFor(p) {
		return nil, problem(http.StatusForbidden, CodeForbidden, "the role %q can be given only by who has it", RoleActFor).at("body.roles", "is not yours to give")
	}
	expires, bad := lifetime(now, b.ExpiresAt, b.ExpiresIn)
	if bad != nil {
		return nil, bad
	}
	info, token, err := s.cfg.Tokens.CreateToken(ctx, NewToken{ID: uuid.NewString(), Note: b.Note, CreatedBy: p.ID, CreatedAt: now, ExpiresAt: expires,
		Principal: interaction.Principal{ID: b.ID, Roles: b.Roles, Groups: b.Groups}})
	if err != nil {
		return nil, err
	}
	s.cfg.Log.InfoContext(ctx, "token made", "token_id", info.TokenID, "for", b.ID, "roles", b.Roles, "by", p.ID)
	return &createdTokenOutput{CreatedToken{info, token}}, nil
}

type listTokensInput struct {
	PageQuery
	ID interaction.PrincipalID `query:"id" maxLength:"256" doc:"Only those of this principal"`
}

type tokenListOutput struct{ Body TokenList }

func (s *Server) listTokens(ctx context.Context, in *listTokensInput) (*tokenListOutput, error) {
	if err := mayKeepTokens(ctx); err != nil {
		return nil, err
	}
	list, next, err := s.cfg.Tokens.Tokens(ctx, in.ID, in.PageSize, in.PageToken)
	if err != nil {
		return nil, badQuery(err)
	}
	return &tokenListOutput{newPage(list, next)}, nil
}

type revokeTokenInput struct {
	TokenID string `path:"token_id" maxLength:"256"`
}

type revokedTokenOutput struct{ Body RevokedToken }

func (s *Server) revokeToken(ctx context.Context, in *revokeTokenInput) (*revokedTokenOutput, error) {
	if err := mayKeepTokens(ctx); err != nil {
		return nil, err
	}
	ended, found, err := s.cfg.Tokens.RevokeToken(ctx, in.TokenID, principal(ctx).ID, s.now())
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, problem(http.StatusNotFound, CodeNotFound, "there is no token %q", in.TokenID)
	}
	s.cfg.Log.InfoContext(ctx, "token revoked", "token_id", in.TokenID, "by", principal(ctx).ID)
	return &revokedTokenOutput{RevokedToken{ended}}, nil
}

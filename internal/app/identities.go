package app

import (
	"context"
	"fmt"

	"holdpoint/api"
	"holdpoint/api/web"
	"holdpoint/interaction"
	"holdpoint/internal/auth"
	"holdpoint/internal/config"
	"holdpoint/internal/store"
)

// authenticator tells who sends a request, and whether anything was configured for that: the bridge's own token, auth
// components, or tokens in the store. Without, on loopback, every request is the one person's who works there.
func (a *App) authenticator(ctx context.Context, dev bool) (authn api.Authenticator, configured bool, err error) {
	a.ownToken(dev)
	var chain auth.Chain
	if a.token != "" {
		own, err := a.ownAuth()
		if err != nil {
			return nil, false, err
		}
		chain = append(chain, own)
	}
	for _, c := range a.defs.cfg.Auths {
		more, err := a.configuredAuth(c)
		if err != nil {
			return nil, false, fmt.Errorf("%s: auth %s: %w", c.Pos, c.Name, err)
		}
		chain = append(chain, more...)
	}
	issued, _, err := a.store.Tokens(ctx, store.TokenFilter{PageSize: 1})
	if err != nil {
		return nil, false, err
	}
	configured = len(chain) > 0 || len(issued) > 0
	chain = append(auth.Chain{auth.Issued{Find: tokens{a.store}.find}}, chain...)
	if !configured {
		local, err := a.ownAuth()
		if err != nil {
			return nil, false, err
		}
		chain = append(chain, local)
	}
	return chain, configured, nil
}

// ownAuth knows the bridge's own token; without one, it takes every request for the one person's who works there.
func (a *App) ownAuth() (auth.Authenticator, error) {
	if a.token == "" {
		return auth.Local{Principal: operator("local")}, nil
	}
	// By its hash, which may be of a short token too: how long a token must be is for whoever gives it to say.
	return auth.New([]auth.Token{{Token: auth.Hash(a.token), Principal: operator("dev")}})
}

// operator may do everything, and act for others.
func operator(id interaction.PrincipalID) interaction.Principal {
	return interaction.Principal{ID: id, Roles: []string{api.RoleAdmin, api.RoleActFor}}
}

// ownToken gives Dev a token of its own.
func (a *App) ownToken(dev bool) {
	if a.token != "" || !dev {
		return
	}
	a.token = auth.NewToken()
	if old, err := ReadDevInfo(a.o.Data); err == nil && old.Token != "" {
		a.token = old.Token // links and scripts go on working after a restart
	}
}

// configuredAuth is what one component lets in.
func (a *App) configuredAuth(c config.Auth) (auth.Chain, error) {
	var chain auth.Chain
	var list []auth.Token
	for _, t := range c.Tokens {
		p := interaction.Principal{ID: interaction.PrincipalID(t.ID), Roles: t.Roles, Groups: t.Groups}
		if err := auth.CheckPrincipal(p); err != nil {
			return nil, fmt.Errorf("%s: %w", t.Pos, err)
		}
		list = append(list, auth.Token{Token: auth.HashPrefix + t.SHA256, Principal: p})
	}
	if len(list) > 0 {
		static, err := auth.New(list)
		if err != nil {
			return nil, err
		}
		chain = append(chain, static)
	}
	if c.OIDC == nil {
		return chain, nil
	}
	o, err := a.issuer(c)
	if err != nil {
		return nil, err
	}
	return append(chain, o), nil
}

// issuer is the OpenID Connect issuer of a component, one for bearers and for people who sign in: what it says of itself, and its
// keys, are fetched once.
func (a *App) issuer(c config.Auth) (*auth.OIDC, error) {
	if known := a.issuers[c.Name]; known != nil {
		return known, nil
	}
	cfg := auth.OIDCConfig{Issuer: c.OIDC.Issuer, Audience: c.OIDC.Audience, IDClaim: c.OIDC.IDClaim, GroupsClaim: c.OIDC.GroupsClaim,
		DefaultRoles: c.OIDC.DefaultRoles, ClockSkew: c.OIDC.ClockSkew}
	for _, g := range c.OIDC.Roles {
		cfg.Roles = append(cfg.Roles, auth.GroupRoles(g))
	}
	o, err := auth.NewOIDC(cfg)
	if err == nil {
		a.issuers[c.Name] = o
	}
	return o, err
}

// signIns are the issuers at which people sign in with their browser.
func (a *App) signIns() ([]web.SignIn, error) {
	var out []web.SignIn
	for _, c := range a.defs.cfg.Auths {
		if c.OIDC == nil || c.OIDC.SignIn == nil {
			continue
		}
		in := c.OIDC.SignIn
		o, err := a.issuer(c)
		if err != nil {
			return nil, err
		}
		way, err := auth.NewSignIn(o, auth.SignInConfig{Name: c.Name, Label: in.Label, ClientID: in.ClientID, ClientSecret: in.ClientSecret.Reveal(),
			Scopes: in.Scopes, Callback: in.Address + web.CallbackPath})
		if err != nil {
			return nil, fmt.Errorf("%s: auth %s: %w", c.Pos, c.Name, err)
		}
		out = append(out, web.SignIn{Issuer: way, Lasts: in.Lasts})
	}
	return out, nil
}

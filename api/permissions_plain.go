package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holdpoint/interaction"
	"holdpoint/permission"
)

// PlainPermissions are a user's patterns, without sessions, conditions and ends: an earlier protocol's form.
type PlainPermissions struct {
	Allow []string `json:"allow" nullable:"false"`
	Deny  []string `json:"deny" nullable:"false"`
}

// PlainResource is a pattern, as that protocol sends it.
type PlainResource struct {
	Resource string `json:"resource" doc:"tool or tool(pattern)"`
}

// PlainDone is how it is answered.
type PlainDone struct {
	Status  string `json:"status" enum:"ok"`
	Message string `json:"message"`
}

type plainUser struct {
	UserID interaction.PrincipalID `path:"user_id" maxLength:"256"`
}

type plainOutput struct{ Body PlainPermissions }

type plainDoneOutput struct{ Body PlainDone }

// plainPermissionRoutes speak an earlier protocol over the same rules: what is not in it (sessions, conditions, counts)
// is neither shown nor saved by it.
func (s *Server) plainPermissionRoutes(h huma.API) {
	register(s, h, operation(h, "plain-permissions", http.MethodGet, "/permissions/{user_id}", "A user's patterns; see /v1/permissions", 200), s.plainPermissions)
	for _, e := range []permission.Effect{permission.Allow, permission.Deny} {
		op := operation(h, "plain-"+e.String(), http.MethodPost, "/permissions/{user_id}/"+e.String(), "Save a pattern; see /v1/permissions", 200, 400, 413, 415)
		body[PlainResource](h, &op)
		register(s, h, op, func(ctx context.Context, in *saveRuleInput) (*plainDoneOutput, error) {
			var b PlainResource
			if err := interaction.Strict(in.RawBody, &b); err != nil {
				return nil, err
			}
			if _, err := s.keepRule(ctx, in.UserID, e, SaveRule{Pattern: b.Resource}); err != nil {
				return nil, inPlain(err)
			}
			return &plainDoneOutput{PlainDone{"ok", "Permission " + participle(e) + ": " + b.Resource}}, nil
		})
	}
}

// inPlain names the member of that protocol's body in place of ours.
func inPlain(err error) error {
	var p *Problem
	if errors.As(err, &p) {
		for n, e := range p.Errors {
			if e.Location == "body.pattern" {
				p.Errors[n].Location = "body.resource"
			}
		}
	}
	return err
}

func (s *Server) plainPermissions(ctx context.Context, in *plainUser) (*plainOutput, error) {
	if err := s.mayRead(ctx, in.UserID); err != nil {
		return nil, err
	}
	out := PlainPermissions{Allow: []string{}, Deny: []string{}}
	f := RuleFilter{UserID: string(userOf(in.UserID)), Scope: permission.LayerUser, Now: s.now(), PageSize: scanPage}
	for {
		rules, next, err := s.cfg.Permissions.ListRules(ctx, f)
		if err != nil {
			return nil, err
		}
		for _, r := range rules {
			switch r.Effect {
			case permission.Allow:
				if len(r.Where) == 0 {
					out.Allow = append(out.Allow, r.Pattern)
				}
			case permission.Deny:
				out.Deny = append(out.Deny, r.Pattern)
			case permission.Ask:
			default:
			}
		}
		if f.PageToken = next; next == "" {
			return &plainOutput{out}, nil
		}
	}
}

func participle(e permission.Effect) string {
	if e == permission.Allow {
		return "allowed"
	}
	return "denied"
}

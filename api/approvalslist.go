package api

import (
	"context"

	"holdpoint/agent"
	"holdpoint/interaction"
)

// ApprovalList is a page of approvals.
type ApprovalList = Page[ApprovalView]

type listApprovalsInput struct {
	PageQuery
	Status agent.DecisionStatus `query:"status" enum:"pending,approved,rejected,denied,expired,cancelled"`
	UserID string               `query:"user_id" maxLength:"256" doc:"For whom it was asked"`
	Tool   string               `query:"tool" maxLength:"128" doc:"The name by which rules decide"`
	Mine   bool                 `query:"mine" doc:"Only what the caller asked, or what was asked for them"`
}

type approvalListOutput struct{ Body ApprovalList }

// listApprovals shows everyone what they asked, what was asked for them, and what is put to them.
func (s *Server) listApprovals(ctx context.Context, in *listApprovalsInput) (*approvalListOutput, error) {
	f := RunFilter{Agent: agent.ApprovalAgent, UserID: interaction.PrincipalID(in.UserID)}
	p := principal(ctx)
	if !mayReview(p) && !mayActFor(p) { // then nothing is theirs but what is for them, which the store finds
		if in.UserID != "" && in.UserID != string(p.ID) || len(p.Roles) == 0 {
			return &approvalListOutput{newPage[ApprovalView](nil, "")}, nil
		}
		f.UserID = p.ID
	}
	items, next, err := listing[agent.Run, ApprovalView]{
		read: func(size int, token string) ([]agent.Run, string, error) {
			f.PageSize, f.PageToken = size, token
			return s.cfg.Store.Runs(ctx, f)
		},
		show: func(r agent.Run) (ApprovalView, bool, error) { return s.listedApproval(ctx, p, in, r) },
	}.page(in.PageSize, in.PageToken)
	if err != nil {
		return nil, badQuery(err)
	}
	return &approvalListOutput{newPage(items, next)}, nil
}

// listedApproval is a run as the list shows it; ok is false for one that was not asked for or that p may not see.
func (s *Server) listedApproval(ctx context.Context, p interaction.Principal, in *listApprovalsInput, r agent.Run) (v ApprovalView, ok bool, err error) {
	if r.Ask == nil || in.Tool != "" && r.Ask.Named() != in.Tool {
		return v, false, nil
	}
	mine := len(p.Roles) > 0 && (r.UserID == p.ID || r.Requester == p.ID)
	if in.Mine && !mine {
		return v, false, nil
	}
	if ok = owns(p, r); !ok {
		if ok, err = s.reviews(ctx, p, r.ID); !ok || err != nil {
			return v, false, err
		}
	}
	v, err = s.approvalView(ctx, r)
	return v, err == nil && (in.Status == "" || v.Status == in.Status), err
}

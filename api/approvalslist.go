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

// listApprovals shows everyone what they asked, what was asked for them, and what is put to them. It reads on until the
// page is full of that, or enough was read.
func (s *Server) listApprovals(ctx context.Context, in *listApprovalsInput) (*approvalListOutput, error) {
	f := RunFilter{Agent: agent.ApprovalAgent, UserID: interaction.PrincipalID(in.UserID), PageSize: in.PageSize, PageToken: in.PageToken}
	p := principal(ctx)
	if !mayReview(p) && !mayActFor(p) { // then nothing is theirs but what is for them, which the store finds
		if in.UserID != "" && in.UserID != string(p.ID) || len(p.Roles) == 0 {
			return &approvalListOutput{newPage[ApprovalView](nil, "")}, nil
		}
		f.UserID = p.ID
	}
	var seen []ApprovalView
	for range maxScans {
		rows, next, err := s.cfg.Store.Runs(ctx, f)
		if err != nil {
			return nil, badQuery(err)
		}
		for _, r := range rows {
			v, ok, err := s.listedApproval(ctx, p, in, r)
			if err != nil {
				return nil, err
			}
			if ok {
				seen = append(seen, v)
			}
		}
		f.PageToken, f.PageSize = next, in.PageSize-len(seen)
		if next == "" || f.PageSize <= 0 {
			break
		}
	}
	return &approvalListOutput{newPage(seen, f.PageToken)}, nil
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

package api

import (
	"context"
	"slices"
	"strings"

	"holdpoint/interaction"
)

type listInteractionsInput struct {
	PageQuery
	Status string `query:"status" enum:"pending,held,answered,expired,cancelled,open,closed" doc:"open: pending or held; closed: the rest"`
	RunID  string `query:"run_id" maxLength:"256"`
	User   string `query:"user" maxLength:"256" doc:"For whom the run is"`
	Agent  string `query:"agent" maxLength:"128" doc:"The agent that asks, or one above it"`
	Tool   string `query:"tool" maxLength:"256"`
	Risk   string `query:"risk" enum:"low,medium,high,critical"`
	Mine   bool   `query:"mine" doc:"Only what the caller may answer now"`
	Text   string `query:"q" maxLength:"256" doc:"Words that all occur in what is asked, in any order and case"`
}

type interactionListOutput struct{ Body InteractionList }

// listInteractions shows everyone what they may see.
func (s *Server) listInteractions(ctx context.Context, in *listInteractionsInput) (*interactionListOutput, error) {
	p := principal(ctx)
	owner := s.ownerOf(ctx, p)
	items, next, err := listing[interaction.Interaction, Interaction]{
		read: func(size int, token string) ([]interaction.Interaction, string, error) {
			return s.inboxRows(ctx, in, size, token)
		},
		show: func(i interaction.Interaction) (v Interaction, ok bool, err error) {
			if !in.selects(p, i) {
				return v, false, nil
			}
			if ok, err = seesInteraction(p, i, owner); ok {
				v = newInteraction(p, i)
			}
			return v, ok, err
		},
	}.page(in.PageSize, in.PageToken)
	if err != nil {
		return nil, badQuery(err)
	}
	return &interactionListOutput{newPage(items, next)}, nil
}

// inboxRows reads what the store finds: of what is closed, of which there may be very much, by most of the filters.
func (s *Server) inboxRows(ctx context.Context, in *listInteractionsInput, size int, token string) ([]interaction.Interaction, string, error) {
	statuses := in.statuses()
	if in.RunID != "" || len(statuses) == 0 || !statuses[0].Final() {
		return s.cfg.Store.Interactions(ctx, InteractionFilter{Status: statuses, RunID: interaction.RunID(in.RunID), PageSize: size, PageToken: token})
	}
	f := ClosedFilter{Requester: in.User, Agent: in.Agent, Tool: in.Tool, Risk: in.Risk, PageSize: size, PageToken: token}
	if len(statuses) == 1 {
		f.Status = statuses[0]
	}
	return s.cfg.Store.Closed(ctx, f)
}

func (in *listInteractionsInput) statuses() []interaction.Status {
	switch in.Status {
	case "":
		return nil
	case "open":
		return openStatuses()
	case "closed":
		return closedStatuses()
	default:
		return []interaction.Status{interaction.Status(in.Status)}
	}
}

func openStatuses() []interaction.Status {
	return []interaction.Status{interaction.StatusPending, interaction.StatusHeld}
}

func closedStatuses() []interaction.Status {
	return []interaction.Status{interaction.StatusAnswered, interaction.StatusExpired, interaction.StatusCancelled}
}

// selects applies the filters that the store has no column for.
func (in *listInteractionsInput) selects(p interaction.Principal, i interaction.Interaction) bool {
	q := i.Request
	switch {
	case in.User != "" && string(q.Requester) != in.User,
		in.Agent != "" && !slices.Contains(q.AgentPath, in.Agent),
		in.Tool != "" && q.ToolName != in.Tool,
		in.Risk != "" && q.Risk != in.Risk,
		in.Mine && !mayAnswer(p, i):
		return false
	}
	if in.Text == "" {
		return true
	}
	text := strings.ToLower(strings.Join([]string{string(q.ID), q.Title, q.Message, q.ToolName, string(q.ToolArgs), q.Reason,
		q.MatchedRule, string(q.Requester), strings.Join(q.AgentPath, " ")}, "\n"))
	for word := range strings.FieldsSeq(strings.ToLower(in.Text)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// mayAnswer reports whether an answer of p's would count: it is put to them, and they have not answered it already.
func mayAnswer(p interaction.Principal, i interaction.Interaction) bool {
	if i.Status.Final() || !mayReview(p) || !interaction.Entitled(i.Request.Reviewers, p) || i.Request.ExcludeRequester && i.Request.Requester == p.ID {
		return false
	}
	return !slices.ContainsFunc(i.Responses, func(r interaction.Response) bool {
		return r.Reviewer.ID == p.ID && r.Action == interaction.ActionApprove
	})
}

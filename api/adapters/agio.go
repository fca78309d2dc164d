package adapters

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"holdpoint/api"
	"holdpoint/interaction"
)

// The types of an interaction in the agio design.
const (
	agioInput    = "input"
	agioSelect   = "select"
	agioConfirm  = "confirm"
	agioCombined = "combined"
)

// agioType is the design's type of a request: it has four, and a call's approval is a confirmation.
func agioType(t interaction.Type) string {
	switch t {
	case interaction.TypeToolApproval, interaction.TypeConfirm:
		return agioConfirm
	case interaction.TypeSelect:
		return agioSelect
	case interaction.TypeCombined:
		return agioCombined
	case interaction.TypeMissingInfo, interaction.TypeInput, interaction.TypeCustom:
		return agioInput
	default:
		return agioInput
	}
}

// agioRequest is the design's InteractionRequest.
type agioRequest struct {
	ID           string            `json:"id"`
	Type         string            `json:"type"`
	Title        string            `json:"title"`
	Description  *string           `json:"description"`
	Placeholder  *string           `json:"placeholder"`
	Required     bool              `json:"required"`
	Multiline    bool              `json:"multiline"`
	Options      []agioOption      `json:"options"`
	Multiple     bool              `json:"multiple"`
	ConfirmText  *string           `json:"confirm_text"`
	CancelText   *string           `json:"cancel_text"`
	Interactions []agioRequest     `json:"interactions"`
	RunID        string            `json:"run_id"`
	SessionID    string            `json:"session_id"`
	StepID       *string           `json:"step_id"`
	ToolCallID   string            `json:"tool_call_id"`
	ToolName     string            `json:"tool_name"`
	ToolArgs     json.RawMessage   `json:"tool_args"`
	Metadata     map[string]string `json:"metadata"`
	CreatedAt    time.Time         `json:"created_at"`
	ExpiresAt    *time.Time        `json:"expires_at"`
}

// agioOption is the design's SelectOption.
type agioOption struct {
	Value       string  `json:"value"`
	Label       string  `json:"label"`
	Description *string `json:"description"`
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// agioOf is a request in the design's form. Parts of a combined one have the place of the whole.
func agioOf(q interaction.Request) agioRequest {
	out := agioRequest{ID: string(q.ID), Type: agioType(q.Type), Title: q.Title, Description: optional(described(q)),
		Placeholder: optional(q.Placeholder), Required: q.Required || q.Type == interaction.TypeToolApproval, Multiline: q.Multiline, Multiple: q.Multiple,
		ConfirmText: optional(q.ConfirmText), CancelText: optional(q.CancelText), RunID: string(q.RunID),
		SessionID: string(q.SessionID), StepID: optional(string(q.StepID)), ToolCallID: string(q.ToolCallID),
		ToolName: q.ToolName, ToolArgs: objectOf(q.ToolArgs), Metadata: agioMetadata(q), CreatedAt: q.CreatedAt}
	if !q.ExpiresAt.IsZero() {
		out.ExpiresAt = &q.ExpiresAt
	}
	for _, o := range choices(q) {
		out.Options = append(out.Options, agioOption{Value: o.ID, Label: o.Label, Description: optional(o.Description)})
	}
	for _, part := range q.Interactions {
		part.RunID, part.SessionID, part.StepID = q.RunID, q.SessionID, q.StepID
		part.ToolCallID, part.ToolName, part.ToolArgs = q.ToolCallID, q.ToolName, q.ToolArgs
		part.CreatedAt, part.ExpiresAt = q.CreatedAt, q.ExpiresAt
		out.Interactions = append(out.Interactions, agioOf(part))
	}
	return out
}

// choices are the options of a select that are choices, not ways around it.
func choices(q interaction.Request) []interaction.Option {
	if q.Type != interaction.TypeSelect {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(q.Options), func(o interaction.Option) bool { return o.Action != interaction.ActionAnswer })
}

// described is all that a person reads of a request beside its title and arguments.
func described(q interaction.Request) string {
	var parts []string
	for _, text := range []string{q.Message, q.Details, q.Explanation} {
		if text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "\n\n")
}

// objectOf is a call's arguments as an object, which clients expect: what the model wrote and is none is shown as text.
func objectOf(args json.RawMessage) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(args, &object) == nil && object != nil {
		return args
	}
	if len(args) == 0 {
		return json.RawMessage("{}")
	}
	raw, err := json.Marshal(map[string]string{"text": string(args)})
	if err != nil {
		return json.RawMessage("{}")
	}
	return raw
}

func agioMetadata(q interaction.Request) map[string]string {
	m := map[string]string{}
	for k, v := range q.Metadata {
		m[k] = v
	}
	for k, v := range map[string]string{"resource": resource(q), "risk": q.Risk, "reason": q.Reason, "kind": string(q.Kind),
		"matched_rule": q.MatchedRule, "max_grant": string(q.MaxGrant)} {
		if v != "" {
			m[k] = v
		}
	}
	return m
}

// resource is the rule that an approval leaves behind in the design: the most exact that is suggested.
func resource(q interaction.Request) string {
	if q.Type != interaction.TypeToolApproval || q.Kind != interaction.KindPermission || len(q.SuggestedPattern) == 0 {
		return ""
	}
	return q.SuggestedPattern[0]
}

// agioResponse is the design's InteractionResponse.
type agioResponse struct {
	RequestID      string         `json:"request_id"`
	Type           string         `json:"type"`
	Text           *string        `json:"text" required:"false"`
	SelectedValues []string       `json:"selected_values" required:"false"`
	Confirmed      *bool          `json:"confirmed" required:"false"`
	Responses      []agioResponse `json:"responses" required:"false"`
	RespondedAt    string         `json:"responded_at" required:"false"` // ours is when it came
	UserID         *string        `json:"user_id" required:"false"`
}

// answerOf reads a response by the request that it answers.
func (in agioResponse) answerOf(q interaction.Request) (interaction.Response, error) {
	r := interaction.Response{RequestID: q.ID}
	if want := agioType(q.Type); in.Type != want {
		return r, refusal(422, api.CodeInvalid, "type is %q, but the interaction's is %q", in.Type, want)
	}
	if err := in.onlyOf(in.Type); err != nil {
		return r, err
	}
	switch in.Type {
	case agioConfirm:
		return in.confirm(q)
	case agioSelect:
		r.Selected = in.SelectedValues
	case agioCombined:
		return in.combined(q)
	default:
		if in.Text == nil {
			return r, refusal(422, api.CodeInvalid, "text is missing")
		}
		r.Text = *in.Text
	}
	if answer, ok := offered(q, interaction.ActionAnswer, interaction.ActionProvideInfo); ok {
		r.Action = answer
	}
	return r, nil
}

// onlyOf refuses what another type of answer carries: who sends it means something else than what would happen.
func (in agioResponse) onlyOf(t string) error {
	for field, stray := range map[string]bool{
		"text": in.Text != nil && *in.Text != "" && t != agioInput, "selected_values": len(in.SelectedValues) > 0 && t != agioSelect,
		"confirmed": in.Confirmed != nil && t != agioConfirm, "responses": len(in.Responses) > 0 && t != agioCombined,
	} {
		if stray {
			return refusal(422, api.CodeInvalid, "%s does not go with type %q", field, t)
		}
	}
	return nil
}

func (in agioResponse) confirm(q interaction.Request) (interaction.Response, error) {
	r := interaction.Response{RequestID: q.ID}
	if in.Confirmed == nil {
		return r, refusal(422, api.CodeInvalid, "confirmed is missing: send true or false")
	}
	if q.Type == interaction.TypeConfirm {
		r.Action, r.Confirmed = interaction.ActionAnswer, in.Confirmed
		return r, nil
	}
	r, err := yesOrNo(q, *in.Confirmed)
	if pattern := resource(q); err == nil && *in.Confirmed && pattern != "" && q.MaxGrant != "" && q.MaxGrant != interaction.GrantNone {
		r.Grant = &interaction.Grant{Scope: widest(q), Patterns: []string{pattern}}
	}
	return r, err
}

// combined answers several questions: in their order, or each by its id where all are named.
func (in agioResponse) combined(q interaction.Request) (interaction.Response, error) {
	r := interaction.Response{RequestID: q.ID}
	if len(in.Responses) != len(q.Interactions) {
		return r, refusal(422, api.CodeInvalid, "responses has %d answers for %d questions", len(in.Responses), len(q.Interactions))
	}
	for n, part := range q.Interactions {
		answer := in.Responses[n]
		if at := slices.IndexFunc(in.Responses, func(o agioResponse) bool { return part.ID != "" && o.RequestID == string(part.ID) }); at >= 0 {
			answer = in.Responses[at]
		} else if answer.RequestID != "" && part.ID != "" {
			return r, refusal(422, api.CodeInvalid, "responses[%d].request_id is %q, which is none of the questions", n, answer.RequestID)
		}
		one, err := answer.answerOf(part)
		if err != nil {
			return r, err
		}
		one.Action = ""
		r.Responses = append(r.Responses, one)
	}
	if answer, ok := offered(q, interaction.ActionAnswer, interaction.ActionProvideInfo); ok {
		r.Action = answer
	}
	return r, nil
}

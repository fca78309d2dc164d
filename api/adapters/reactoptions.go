package adapters

import (
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"holdpoint/api"
	"holdpoint/interaction"
)

// reactRequest is the design's InteractionRequest.
type reactRequest struct {
	RequestID       string         `json:"requestId"`
	SessionID       string         `json:"sessionId"`
	Type            string         `json:"type"`
	Title           string         `json:"title"`
	Message         string         `json:"message"`
	Details         string         `json:"details"`
	Context         map[string]any `json:"context"`
	Options         []reactOption  `json:"options"`
	Required        bool           `json:"required"`
	TimeoutSeconds  *int64         `json:"timeoutSeconds"`
	DefaultOptionID *string        `json:"defaultOptionId"`
}

// reactOption is the design's InteractionOption.
type reactOption struct {
	OptionID      string            `json:"optionId"`
	Label         string            `json:"label"`
	Description   string            `json:"description"`
	Action        string            `json:"action"`
	IsDefault     bool              `json:"isDefault"`
	IsDangerous   bool              `json:"isDangerous"`
	RequiresInput bool              `json:"requiresInput"`
	InputPrompt   string            `json:"inputPrompt"`
	Metadata      map[string]string `json:"metadata"`

	answer interaction.Response // what choosing it means
	take   taking
}

// taking says where an option's input goes.
type taking int

const (
	takeFeedback  taking = iota // it is words for the agent
	takeText                    // it is the answer's text, or its data
	takeSelected                // data.selected may choose several
	takeResponses               // data.responses answers several questions
	takeArgs                    // data.args are a call's arguments
)

var reactTypes = map[interaction.Type]string{
	interaction.TypeToolApproval: "TOOL_APPROVAL", interaction.TypeMissingInfo: "MISSING_INFO", interaction.TypeConfirm: "USER_CONFIRMATION",
	interaction.TypeSelect: "USER_CHOICE", interaction.TypeInput: "USER_INPUT", interaction.TypeCombined: "CUSTOM", interaction.TypeCustom: "CUSTOM",
}

var reactActions = map[interaction.Action]string{
	interaction.ActionApprove: "APPROVE_AND_EXECUTE", interaction.ActionRetry: "RETRY_WITH_FEEDBACK", interaction.ActionReject: "REJECT_WITH_REASON",
	interaction.ActionTerminate: "TERMINATE", interaction.ActionProvideInfo: "PROVIDE_INFO", interaction.ActionSkip: "SKIP",
}

// fourActions are what the design offers on a tool's approval, in its order.
var fourActions = []interaction.Action{interaction.ActionApprove, interaction.ActionRetry, interaction.ActionReject, interaction.ActionTerminate}

func reactAction(a interaction.Action) string {
	if name, known := reactActions[a]; known {
		return name
	}
	return "CUSTOM"
}

// reactOf is a request in the design's form. now is when it is shown.
func reactOf(q interaction.Request, now time.Time) reactRequest {
	out := reactRequest{RequestID: string(q.ID), SessionID: string(q.SessionID), Type: reactTypes[q.Type], Title: q.Title, Message: q.Message,
		Details: reactDetails(q), Context: reactContext(q), Options: reactOptions(q), Required: q.Required || q.Type == interaction.TypeToolApproval}
	if out.Message == "" {
		out.Message = q.Title
	}
	if q.ExpiresAt.IsZero() {
		return out
	}
	left := int64(math.Max(0, math.Ceil(q.ExpiresAt.Sub(now).Seconds())))
	out.TimeoutSeconds = &left
	end := q.OnTimeout
	if end == "" {
		end = interaction.ActionReject
	}
	for n, o := range out.Options {
		if o.answer.Action == end {
			out.Options[n].IsDefault, out.DefaultOptionID = true, &out.Options[n].OptionID
			break
		}
	}
	return out
}

// reactDetails has all that a person must see, and so the whole of a call's arguments.
func reactDetails(q interaction.Request) string {
	parts := []string{q.Details, q.Explanation, q.Reason}
	if q.Type == interaction.TypeToolApproval {
		parts = append(parts, q.ToolName+" "+string(q.ToolArgs))
	}
	parts = slices.DeleteFunc(parts, func(p string) bool { return p == "" })
	return strings.Join(parts, "\n\n")
}

func reactContext(q interaction.Request) map[string]any {
	c := map[string]any{"toolCallId": q.ToolCallID, "toolName": q.ToolName, "toolArgs": objectOf(q.ToolArgs), "runId": q.RunID,
		"interactionType": q.Type}
	for k, v := range map[string]string{"riskLevel": q.Risk, "reason": q.Reason, "kind": string(q.Kind), "placeholder": q.Placeholder} {
		if v != "" {
			c[k] = v
		}
	}
	if q.Type == interaction.TypeSelect {
		c["multiple"] = q.Multiple
	}
	var parts []agioRequest
	for _, part := range q.Interactions {
		parts = append(parts, agioOf(part))
	}
	if len(parts) > 0 {
		c["interactions"] = parts
	}
	return c
}

// reactOptions are the options of a request. On a tool's approval they are the design's four.
func reactOptions(q interaction.Request) []reactOption {
	out := []reactOption{}
	if q.Type == interaction.TypeToolApproval && q.Kind != interaction.KindOutcomeUnknown && q.Kind != interaction.KindResult {
		for _, a := range fourActions {
			n := slices.IndexFunc(q.Options, func(o interaction.Option) bool { return o.Action == a })
			if _, ok := offered(q, a); ok && n >= 0 {
				out = append(out, plainOption(q.Options[n]))
			}
		}
		return out
	}
	for _, o := range q.Options {
		if _, ok := offered(q, o.Action); ok {
			out = append(out, askOptions(q, o)...)
		}
	}
	return out
}

func plainOption(o interaction.Option) reactOption {
	r := reactOption{OptionID: o.ID, Label: o.Label, Description: o.Description, Action: reactAction(o.Action), IsDangerous: o.Dangerous,
		RequiresInput: o.RequiresInput, InputPrompt: o.InputPrompt, Metadata: o.Metadata, answer: interaction.Response{OptionID: o.ID, Action: o.Action}}
	if r.Metadata == nil {
		r.Metadata = map[string]string{}
	}
	switch o.Action {
	case interaction.ActionReject, interaction.ActionRetry:
		r.RequiresInput = true // the design's clients ask for words then; without any it is taken as well
	case interaction.ActionModifyArgs:
		r.take = takeArgs
	case interaction.ActionRedact:
		r.take = takeText
	default:
	}
	return r
}

// askOptions are the ways that an option of a question is chosen: an answer to a confirmation is a yes or a no.
func askOptions(q interaction.Request, o interaction.Option) []reactOption {
	r := plainOption(o)
	if o.Action != interaction.ActionAnswer && o.Action != interaction.ActionProvideInfo {
		return []reactOption{r}
	}
	switch q.Type {
	case interaction.TypeConfirm:
		return confirmOptions(q, r)
	case interaction.TypeSelect:
		r.Action, r.take, r.RequiresInput, r.answer = "APPROVE_AND_EXECUTE", takeSelected, false, interaction.Response{Action: o.Action, Selected: []string{o.ID}}
	case interaction.TypeCombined:
		r.take = takeResponses
	default:
		r.Action, r.take, r.RequiresInput = "PROVIDE_INFO", takeText, true
		if r.InputPrompt == "" {
			r.InputPrompt = q.Title
		}
	}
	return []reactOption{r}
}

func confirmOptions(q interaction.Request, r reactOption) []reactOption {
	yes, no := true, false
	confirm, cancel := r, r
	confirm.OptionID, confirm.Label, confirm.Action, confirm.RequiresInput = "confirm", orText(q.ConfirmText, "Confirm"), "APPROVE_AND_EXECUTE", false
	confirm.answer = interaction.Response{Action: r.answer.Action, Confirmed: &yes}
	cancel.OptionID, cancel.Label, cancel.Action, cancel.RequiresInput = "cancel", orText(q.CancelText, "Cancel"), "REJECT_WITH_REASON", false
	cancel.answer = interaction.Response{Action: r.answer.Action, Confirmed: &no}
	return []reactOption{confirm, cancel}
}

func orText(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// reactData is what the data of an answer may hold.
type reactData struct {
	Args      json.RawMessage `json:"args"`
	Text      string          `json:"text"`
	Selected  []string        `json:"selected"`
	Responses []agioResponse  `json:"responses"`
}

// answerOf reads an answer by the option that it chooses.
func (in reactAnswer) answerOf(q interaction.Request) (interaction.Response, error) {
	options := reactOptions(q)
	n := slices.IndexFunc(options, func(o reactOption) bool { return o.OptionID == in.SelectedOptionID })
	if n < 0 {
		var ids []string
		for _, o := range options {
			ids = append(ids, o.OptionID)
		}
		return interaction.Response{}, refusal(http.StatusUnprocessableEntity, api.CodeInvalid, "selectedOptionId %q is none of %s", in.SelectedOptionID, strings.Join(ids, ", "))
	}
	r, data := options[n].answer, in.Data
	r.RequestID, r.Feedback = q.ID, in.Feedback
	if s := strings.TrimSpace(string(data)); s == "null" || s == "{}" {
		data = nil
	}
	return in.fill(q, options[n].take, r, data)
}

func (in reactAnswer) fill(q interaction.Request, take taking, r interaction.Response, data json.RawMessage) (interaction.Response, error) {
	var d reactData
	switch {
	case len(data) == 0 || take == takeText:
	case take == takeFeedback:
		err := in.remark(&r, data)
		return r, err
	default:
		if err := decode(data, &d); err != nil {
			return r, err
		}
	}
	given := map[taking]bool{takeArgs: len(d.Args) > 0, takeSelected: len(d.Selected) > 0, takeResponses: len(d.Responses) > 0, takeText: d.Text != ""}
	for kind, set := range given {
		if set && kind != take {
			return r, refusal(http.StatusUnprocessableEntity, api.CodeInvalid, "data does not go with option %q", in.SelectedOptionID)
		}
	}
	switch take {
	case takeArgs:
		r.Args = d.Args
	case takeSelected:
		if len(d.Selected) > 0 {
			r.Selected = d.Selected
		}
	case takeResponses:
		part, err := agioResponse{Type: agioCombined, Responses: d.Responses}.combined(q)
		if err != nil {
			return r, err
		}
		r.Responses = part.Responses
	case takeText:
		return in.text(q, r, data)
	case takeFeedback:
	}
	return r, nil
}

// decisive are keys of data by which a person may mean another answer than the option they chose.
var decisive = []string{"args", "text", "selected", "responses", "approved", "approve", "confirmed", "decision", "action", "modifiedArgs"}

// remark keeps data for which an option has no use in the record.
func (in reactAnswer) remark(r *interaction.Response, data json.RawMessage) error {
	var keys map[string]json.RawMessage
	if err := decode(data, &keys); err != nil {
		return err
	}
	for _, key := range decisive {
		if _, there := keys[key]; there {
			return refusal(http.StatusUnprocessableEntity, api.CodeInvalid, "data.%s does not go with option %q", key, in.SelectedOptionID)
		}
	}
	if len(data) > interaction.MaxNoteBytes {
		return refusal(http.StatusRequestEntityTooLarge, api.CodeTooLarge, "data has %d bytes; at most %d are kept", len(data), interaction.MaxNoteBytes)
	}
	r.Note = string(data)
	return nil
}

// text is an answer in words: the feedback, {"text": …} in the data, or the data itself where the question takes it.
func (in reactAnswer) text(q interaction.Request, r interaction.Response, data json.RawMessage) (interaction.Response, error) {
	var d struct {
		Text *string `json:"text"`
	}
	switch {
	case len(data) > 0 && interaction.Strict(data, &d) == nil && d.Text != nil:
		r.Text = *d.Text
	case len(data) > 0 && (q.Type == interaction.TypeMissingInfo || q.Type == interaction.TypeCustom):
		r.Data = data
	case len(data) > 0:
		return r, refusal(http.StatusUnprocessableEntity, api.CodeInvalid, `send the answer as feedback, or as data {"text": "…"}`)
	default:
		r.Text, r.Feedback = in.Feedback, ""
	}
	return r, nil
}

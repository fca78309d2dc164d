package adapters

import (
	"encoding/json"
	"net/http"

	"holdpoint/api"
	"holdpoint/interaction"
)

// shown is an interaction as the clients of earlier protocols see it, who can't be shown that there is more elsewhere.
type shown struct {
	api.Interaction
	redacted bool // parts are hidden
}

// hiddenNotice is put before what a person reads of a request in which something is hidden.
const hiddenNotice = "Parts are hidden here. It can be rejected here, and approved in the inbox, which shows the whole."

// show hides secrets. What an answer refers to stays: ids and actions.
func (a *Adapters) show(i api.Interaction) shown {
	if a.cfg.Hider == nil {
		return shown{Interaction: i}
	}
	whole := i.Request
	raw, err := json.Marshal(whole)
	hidden := err != nil
	if !hidden {
		raw, hidden = a.cfg.Hider.JSON(raw)
	}
	if !hidden {
		return shown{Interaction: i}
	}
	var q interaction.Request
	if err != nil || json.Unmarshal(raw, &q) != nil { // a name that hides parts of the request's own
		q = interaction.Request{Title: interaction.Redacted}
	}
	restore(&q, whole)
	q.Details = hiddenNotice + "\n\n" + q.Details
	if q.Metadata == nil {
		q.Metadata = map[string]string{}
	}
	q.Metadata["redacted"] = "true"
	i.Request = q
	return shown{i, true}
}

// restore puts back what an answer refers to.
func restore(q *interaction.Request, whole interaction.Request) {
	q.ID, q.RunID, q.SessionID, q.StepID, q.ToolCallID, q.SharedCallIDs = whole.ID, whole.RunID, whole.SessionID, whole.StepID, whole.ToolCallID, whole.SharedCallIDs
	q.Type, q.Kind, q.ToolName, q.MaxGrant, q.OnTimeout = whole.Type, whole.Kind, whole.ToolName, whole.MaxGrant, whole.OnTimeout
	if len(q.Options) != len(whole.Options) {
		q.Options = make([]interaction.Option, len(whole.Options))
	}
	for n, o := range whole.Options {
		q.Options[n].ID, q.Options[n].Action = o.ID, o.Action
	}
	if len(q.Interactions) != len(whole.Interactions) {
		q.Interactions = make([]interaction.Request, len(whole.Interactions))
	}
	for n, part := range whole.Interactions {
		restore(&q.Interactions[n], part)
	}
}

// takes refuses an answer by which something is done or said that its sender has not seen whole.
func (i shown) takes(r interaction.Response) error {
	switch r.Action {
	case interaction.ActionReject, interaction.ActionWithhold, interaction.ActionSkip, interaction.ActionTerminate, interaction.ActionRetry,
		interaction.ActionPause, interaction.ActionResume:
		if r.Grant == nil {
			return nil
		}
	default:
	}
	if !i.redacted {
		return nil
	}
	return refusal(http.StatusConflict, api.CodeInvalid, "parts of %q were hidden from you, so that this can't be answered here: "+
		"nothing was decided; decide in the inbox, which shows the whole, or reject", i.ID)
}

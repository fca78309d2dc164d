package web

import (
	"encoding/json"
	"net/http"
	"net/url"

	"holdpoint/api"
	"holdpoint/interaction"
)

func (v *view) interaction(id string) (it api.Interaction, err error) {
	err = v.get("/v1/interactions/"+url.PathEscape(id), &it)
	return it, err
}

// interactionPage shows one interaction whole, and takes its answer.
func interactionPage(v *view) error {
	it, err := v.interaction(v.r.PathValue("id"))
	if err != nil {
		return err
	}
	return v.showCard(http.StatusOK, v.card(it))
}

// showCard adds what stands beside an interaction on its own page. What can't be read there is left out: it is no part
// of what would run.
func (v *view) showCard(status int, c *card) error {
	if v.r.PostFormValue("inline") != "" && v.fragment() {
		c.Inline = true
		return v.render(http.StatusOK, "card", c) // htmx shows no body of another status
	}
	c.Why = v.why(c.Interaction)
	c.Steps = v.conversation(c.RunID)
	if !c.Open() || c.Settled() {
		c.Next = v.next(c.ID)
	}
	return v.render(status, "interaction", c)
}

// why asks what the rules say of the call now, with their places. Nil where that is not for this person to know.
func (v *view) why(it api.Interaction) *api.Checked {
	if it.Type != interaction.TypeToolApproval || len(it.ToolArgs) == 0 || len(it.AgentPath) == 0 {
		return nil
	}
	var out api.Checked
	err := v.call(http.MethodPost, "/v1/permissions/check", map[string]any{"user_id": it.Requester, "session_id": it.SessionID,
		"agent": it.AgentPath[len(it.AgentPath)-1], "tool": it.ToolName, "args_raw": string(it.ToolArgs)}, &out)
	if err != nil {
		return nil
	}
	return &out
}

// beside is how much of the conversation stands beside an interaction.
const beside = 12

func (v *view) conversation(run interaction.RunID) []item {
	var r api.RunView
	if err := v.get("/v1/runs/"+path(run), &r); err != nil {
		return nil
	}
	t, err := v.timeline(r, 0)
	if err != nil {
		return nil
	}
	var out []item
	for _, i := range t.Items {
		if i.Kind == "user" || i.Kind == "agent" || i.Kind == "result" {
			out = append(out, i)
		}
	}
	return out[max(0, len(out)-beside):]
}

// next is another interaction that waits for this person.
func (v *view) next(but interaction.ID) interaction.ID {
	var list api.InteractionList
	if v.get("/v1/interactions?status=pending&mine=true&page_size=2", &list) != nil {
		return ""
	}
	for _, i := range list.Items {
		if i.ID != but {
			return i.ID
		}
	}
	return ""
}

// verdict is the part of an interaction's page that changes while it is open.
func verdict(v *view) error {
	it, err := v.interaction(v.r.PathValue("id"))
	if err != nil {
		return err
	}
	c := v.card(it)
	if !c.Open() || c.Settled() {
		v.w.Header().Set("HX-Trigger-After-Swap", "decided")
		c.Next = v.next(c.ID)
	}
	return v.render(http.StatusOK, "verdict", c)
}

// gateCard is an interaction as it stands in a run.
func gateCard(v *view) error {
	it, err := v.interaction(v.r.PathValue("id"))
	if err != nil {
		return err
	}
	c := v.card(it)
	c.Inline = true
	return v.render(http.StatusOK, "card", c)
}

func interactionLive(v *view) error {
	return v.changes("/v1/interactions/events?id=" + url.QueryEscape(v.r.PathValue("id")))
}

func inboxLive(v *view) error { return v.changes("/v1/interactions/events") }

// changes passes on that something has changed. The browser then asks for what it shows anew.
func (v *view) changes(from string) error {
	var out *sse
	err := v.stream(v.r.Context(), from, func(e incoming) error {
		if out == nil {
			out = v.sse()
		}
		switch e.name {
		case api.InboxEvent:
			var c api.InboxChange
			if err := json.Unmarshal(e.data, &c); err != nil {
				return err
			}
			return out.send("", "changed", string(c.ID))
		case api.InboxReady:
			return out.send("", "ready", "")
		}
		return out.send("", "", "")
	})
	if out != nil { // it has begun; a browser comes again by itself
		return nil
	}
	return err
}

// previewGrant shows which past calls a pattern would have matched.
func previewGrant(v *view) error {
	it, err := v.interaction(v.r.PathValue("id"))
	if err != nil {
		return err
	}
	type previewed struct {
		Pattern string
		api.Previewed
		Problem *api.Problem
	}
	var list []previewed
	for _, p := range v.r.PostForm["pattern"] {
		if p == "" || len(list) >= interaction.MaxGrantPatterns {
			continue
		}
		one := previewed{Pattern: p}
		if err := v.call(http.MethodPost, "/v1/permissions/"+path(string(it.Requester))+"/preview", map[string]any{"pattern": p}, &one.Previewed); err != nil {
			one.Problem = asProblem(err)
		}
		list = append(list, one)
	}
	return v.render(http.StatusOK, "previewed", struct {
		page
		List []previewed
		Back interaction.ID
	}{v.page("Preview", "inbox"), list, it.ID})
}

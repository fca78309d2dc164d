package web

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"holdpoint/api"
	"holdpoint/permission"
)

type rulesData struct {
	page
	User, Agent, State string
	Rules              []api.RuleView
	Policy             []permission.Rule
	Next               string
	Templates          []api.RuleTemplate
	Agents             []api.AgentInfo
	Problem            *api.Problem
	Checked            *api.Checked
	Form               url.Values
	RequestID          string
}

// Was is what was typed into a form.
func (d rulesData) Was(name string) string { return d.Form.Get(name) }

// More is the page's URL at its next part.
func (d rulesData) More() string {
	return "/rules?" + url.Values{"user": {d.User}, "agent": {d.Agent}, "state": {d.State}, "page": {d.Next}}.Encode()
}

func rulesPage(v *view) error {
	d, err := v.rules(v.r.FormValue("user"))
	if err != nil {
		return err
	}
	return v.render(http.StatusOK, "rules", d)
}

// rules reads a user's rules; one's own unless another is named.
func (v *view) rules(user string) (rulesData, error) {
	d := rulesData{page: v.page("Permissions", "rules"), User: strings.TrimSpace(user), Agent: v.r.FormValue("agent"), State: v.r.FormValue("state"),
		Form: v.r.PostForm, RequestID: "web-" + newID()}
	if d.User == "" {
		d.User = string(v.who.ID)
	}
	if d.State != "ended" && d.State != "all" {
		d.State = "in_force"
	}
	q := url.Values{"state": {d.State}, "page_size": {"100"}}
	if d.Agent != "" {
		q.Set("agent", d.Agent)
	}
	if token := v.r.FormValue("page"); token != "" {
		q.Set("page_token", token)
	}
	var list api.RuleList
	if err := v.get("/v1/permissions/"+path(d.User)+"?"+q.Encode(), &list); err != nil {
		return d, err
	}
	d.Rules, d.Policy, d.Next = list.Items, list.Policy, list.NextPageToken
	var templates api.TemplateList
	if err := v.get("/v1/permission-templates", &templates); err != nil {
		return d, err
	}
	var agents api.AgentList
	if err := v.get("/v1/agents", &agents); err != nil {
		return d, err
	}
	d.Templates, d.Agents = templates.Items, agents.Items
	return d, nil
}

// told shows the page again with what was refused, or goes back to it.
func (v *view) told(user string, err error) error {
	if err == nil {
		return v.redirect("/rules?user=" + url.QueryEscape(user))
	}
	d, e := v.rules(user)
	if e != nil {
		return e
	}
	d.Problem = asProblem(err)
	return v.render(d.Problem.Status, "rules", d)
}

func saveRule(v *view) error {
	f := v.r.PostForm
	user, effect := f.Get("user"), f.Get("effect")
	if effect != "allow" && effect != "deny" {
		return v.told(user, invalid("A rule allows or denies."))
	}
	body := map[string]any{"id": f.Get("request_id"), "pattern": strings.TrimSpace(f.Get("pattern")), "note": f.Get("note")}
	for _, key := range []string{"expires_in", "session_id"} {
		if val := strings.TrimSpace(f.Get(key)); val != "" {
			body[key] = val
		}
	}
	if uses := strings.TrimSpace(f.Get("max_uses")); uses != "" {
		n, err := strconv.Atoi(uses)
		if err != nil {
			return v.told(user, invalid("How many calls it may allow is a number from 1, or nothing."))
		}
		body["max_uses"] = n
	}
	return v.told(user, v.call(http.MethodPost, "/v1/permissions/"+path(user)+"/"+effect, body, nil))
}

func revokeRule(v *view) error {
	user := v.r.PostForm.Get("user")
	return v.told(user, v.call(http.MethodDelete, "/v1/permissions/"+path(user)+"/"+path(v.r.PathValue("rule")), nil, nil))
}

func grantTemplate(v *view) error {
	f := v.r.PostForm
	body := map[string]any{"id": f.Get("request_id")}
	if val := f.Get("expires_in"); val != "" {
		body["expires_in"] = val
	}
	return v.told(f.Get("user"), v.call(http.MethodPost, "/v1/permissions/"+path(f.Get("user"))+"/templates/"+path(f.Get("name")), body, nil))
}

// checkRule shows what would happen if a tool were called so.
func checkRule(v *view) error {
	f := v.r.PostForm
	user := f.Get("user")
	body := map[string]any{"user_id": user, "tool": strings.TrimSpace(f.Get("tool"))}
	if agent := f.Get("agent"); agent != "" {
		body["agent"] = agent
	}
	args := strings.TrimSpace(unix(f.Get("args")))
	if body["tool"] == "bash" && !strings.HasPrefix(args, "{") {
		raw, err := typed("string", args)
		if err != nil {
			return err
		}
		args = `{"command":` + string(raw) + `}`
	}
	if body["args_raw"] = args; args == "" {
		body["args_raw"] = "{}"
	}
	var out api.Checked
	if err := v.call(http.MethodPost, "/v1/permissions/check", body, &out); err != nil {
		return v.told(user, err)
	}
	d, err := v.rules(user)
	if err != nil {
		return err
	}
	d.Checked = &out
	return v.render(http.StatusOK, "rules", d)
}

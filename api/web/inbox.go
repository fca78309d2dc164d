package web

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"holdpoint/api"
	"holdpoint/interaction"
)

// inboxQuery is what the inbox shows; it is all in the page's URL.
type inboxQuery struct{ View, Text, Agent, Tool, Risk, RunID, Page string }

func queryOf(r *http.Request) inboxQuery {
	q := inboxQuery{View: r.FormValue("view"), Text: r.FormValue("q"), Agent: r.FormValue("agent"), Tool: r.FormValue("tool"),
		Risk: r.FormValue("risk"), RunID: r.FormValue("run_id"), Page: r.FormValue("page")}
	if !slices.Contains([]string{"mine", "open", "closed"}, q.View) {
		q.View = "mine"
	}
	return q
}

// Filtered reports whether something may be hidden by a filter.
func (q inboxQuery) Filtered() bool { return q.Text+q.Agent+q.Tool+q.Risk+q.RunID != "" }

// With is the page's URL with one thing another.
func (q inboxQuery) With(name, value string) string {
	v := url.Values{}
	for key, val := range map[string]string{"view": q.View, "q": q.Text, "agent": q.Agent, "tool": q.Tool, "risk": q.Risk, "run_id": q.RunID} {
		if val != "" {
			v.Set(key, val)
		}
	}
	v.Set(name, value)
	return "/inbox?" + v.Encode()
}

// api is the query of the bridge's list.
func (q inboxQuery) api() string {
	v := url.Values{"page_size": {strconv.Itoa(inboxPageSize)}}
	for key, val := range map[string]string{"q": q.Text, "agent": q.Agent, "tool": q.Tool, "risk": q.Risk, "run_id": q.RunID, "page_token": q.Page} {
		if val != "" {
			v.Set(key, val)
		}
	}
	switch q.View {
	case "closed":
		v.Set("status", "closed")
	case "open":
		v.Set("status", "open")
	default:
		v.Set("status", "open")
		v.Set("mine", "true")
	}
	return "/v1/interactions?" + v.Encode()
}

const inboxPageSize = 50

type inboxData struct {
	page
	Query  inboxQuery
	Groups []group
	Count  int
	Next   string
	Did    string
}

// group are the interactions of one run.
type group struct {
	RunID interaction.RunID
	Path  []string
	Who   interaction.PrincipalID
	Rows  []row
}

type row struct {
	api.Interaction
	Dangerous bool
	Decided   string
	Approvals int
}

// Needed is how many must approve.
func (r row) Needed() int { return r.Request.QuorumNeeded() }

func inboxPage(v *view) error {
	q := queryOf(v.r)
	var list api.InteractionList
	if err := v.get(q.api(), &list); err != nil {
		return err
	}
	data := inboxData{page: v.page("Inbox", "inbox"), Query: q, Groups: grouped(list.Items), Count: len(list.Items), Next: list.NextPageToken}
	if v.fragment() && v.r.Header.Get("HX-Target") == "list" {
		return v.render(http.StatusOK, "list", data)
	}
	return v.render(http.StatusOK, "inbox", data)
}

// grouped keeps the order of the newest of each run.
func grouped(items []api.Interaction) (out []group) {
	at := map[interaction.RunID]int{}
	for _, it := range items {
		n, ok := at[it.RunID]
		if !ok {
			n = len(out)
			at[it.RunID] = n
			out = append(out, group{RunID: it.RunID, Path: it.AgentPath, Who: it.Requester})
		}
		r := row{Interaction: it, Dangerous: risky(it), Decided: decided(it)}
		for _, resp := range it.Responses {
			if resp.Action == interaction.ActionApprove {
				r.Approvals++
			}
		}
		out[n].Rows = append(out[n].Rows, r)
	}
	return out
}

// maxReview bounds how many are answered in one go.
const maxReview = 50

type reviewData struct {
	page
	Do      string // approve, reject or skip
	Cards   []*card
	Problem *api.Problem
	Results []reviewed
}

type reviewed struct {
	ID    interaction.ID
	Title string
	api.AnsweredItem
}

// reviewPage shows several whole, so that they can be answered in one go.
func reviewPage(v *view) error {
	data, err := v.reviewed(v.r.URL.Query())
	if err != nil {
		return err
	}
	return v.render(http.StatusOK, "review", data)
}

func (v *view) reviewed(form url.Values) (reviewData, error) {
	data := reviewData{page: v.page("Answer several", "inbox"), Do: form.Get("do")}
	if !slices.Contains([]string{"approve", "reject", "skip"}, data.Do) {
		return data, invalid("Several can be approved, rejected or skipped in one go.")
	}
	ids := form["id"]
	if len(ids) == 0 || len(ids) > maxReview {
		return data, invalid("Select 1 to %d.", maxReview)
	}
	for _, id := range ids {
		it, err := v.interaction(id)
		if err != nil {
			return data, err
		}
		data.Cards = append(data.Cards, v.card(it))
	}
	return data, nil
}

// Left are those that can be answered so.
func (d reviewData) Left() (n int) {
	for _, c := range d.Cards {
		if c.Open() && c.MayAnswer && c.Offers(d.Do) {
			n++
		}
	}
	return n
}

// review answers several in one batch.
func review(v *view) error {
	data, err := v.reviewed(v.r.PostForm)
	if err != nil {
		return err
	}
	form := v.r.PostForm
	var batch struct {
		Responses []interaction.Response `json:"responses"`
	}
	for _, c := range data.Cards {
		if !c.Open() || !c.Offers(data.Do) {
			continue
		}
		if data.Do == "approve" && c.Dangerous() && form.Get("sure."+string(c.ID)) != "yes" {
			data.Problem = invalid("%s is marked dangerous: tick its box, or leave it out. Nothing was sent.", interaction.Visible(c.Request.Title))
			return v.render(http.StatusBadRequest, "review", data)
		}
		batch.Responses = append(batch.Responses, interaction.Response{RequestID: c.ID, Action: interaction.Action(data.Do),
			ID:       interaction.ResponseID(fmt.Sprintf("%.40s-%d", form.Get("answer_id"), len(batch.Responses))),
			Feedback: unix(form.Get("feedback")), Digest: form.Get("digest." + string(c.ID))})
	}
	if len(batch.Responses) == 0 {
		return v.redirect("/inbox")
	}
	var out api.AnsweredBatch
	if err := v.call(http.MethodPost, "/v1/interactions/respond", batch, &out); err != nil {
		data.Problem = asProblem(err)
		return v.render(data.Problem.Status, "review", data)
	}
	for n, item := range out.Items {
		title := string(item.InteractionID)
		for _, c := range data.Cards {
			if c.ID == batch.Responses[n].RequestID {
				title = c.Request.Title
			}
		}
		data.Results = append(data.Results, reviewed{batch.Responses[n].RequestID, title, item})
	}
	return v.render(http.StatusOK, "reviewed", data)
}

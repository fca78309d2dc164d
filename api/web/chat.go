package web

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"holdpoint/api"
	"holdpoint/interaction"
)

func newID() string { return rand.Text() }

type chatsData struct {
	page
	Agents []api.AgentInfo
	Chosen string
	Recent []session1
}

// session1 is a conversation by its newest run.
type session1 struct {
	ID   interaction.SessionID
	Last string
	Run  string
}

// chatsPage begins a conversation, or goes on with one.
func chatsPage(v *view) error {
	d := chatsData{page: v.page("Chat", "chat"), Chosen: v.r.FormValue("agent")}
	var agents api.AgentList
	if err := v.get("/v1/agents", &agents); err != nil {
		return err
	}
	d.Agents = agents.Items
	var runs api.RunList
	if err := v.get("/v1/runs?page_size=50", &runs); err != nil {
		return err
	}
	seen := map[interaction.SessionID]bool{}
	for _, r := range runs.Items {
		if r.Parent == "" && !seen[r.SessionID] && len(d.Recent) < 12 {
			seen[r.SessionID] = true
			d.Recent = append(d.Recent, session1{r.SessionID, r.Input, r.Agent})
		}
	}
	return v.render(http.StatusOK, "chats", d)
}

func chatStart(v *view) error {
	return v.begin(api.StartRun{Agent: v.r.PostForm.Get("agent"), Input: strings.TrimSpace(unix(v.r.PostForm.Get("text")))})
}

// begin starts a run and goes to its conversation.
func (v *view) begin(start api.StartRun) error {
	if start.Input == "" {
		return invalid("Write something first.")
	}
	var out api.StartedRun
	if err := v.call(http.MethodPost, "/v1/runs", start, &out); err != nil {
		return err
	}
	return v.redirect("/chat/" + path(out.SessionID))
}

// chatRuns is how many runs of a conversation are shown.
const chatRuns = 10

func (v *view) session(id string) ([]api.RunView, error) {
	var list api.RunList
	if err := v.get("/v1/runs?page_size="+"10"+"&session_id="+url.QueryEscape(id), &list); err != nil {
		return nil, err
	}
	var out []api.RunView
	for _, r := range slices.Backward(list.Items[:min(len(list.Items), chatRuns)]) {
		out = append(out, api.RunView{Run: r})
	}
	if len(out) == 0 {
		return nil, &api.Problem{Status: http.StatusNotFound, Title: "Not found", Detail: "There is no conversation of that id that you may see."}
	}
	return out, nil
}

func chatPage(v *view) error {
	runs, err := v.session(v.r.PathValue("session"))
	if err != nil {
		return err
	}
	var all []*runData
	for _, r := range runs {
		d, err := v.run(r.ID)
		if err != nil {
			return err
		}
		all = append(all, d)
	}
	last := all[len(all)-1]
	last.Earlier, last.Chat = all[:len(all)-1], true
	last.page = v.page("Chat with "+last.Run.Agent, "chat")
	return v.render(http.StatusOK, "chat", last)
}

// chatSend says something: to the live run, or as the beginning of the next.
func chatSend(v *view) error {
	id := v.r.PathValue("session")
	runs, err := v.session(id)
	if err != nil {
		return err
	}
	last := runs[len(runs)-1]
	if !last.Status.Final() {
		if err := v.say(last.ID, v.r.PostForm); err != nil {
			return err
		}
		return v.redirect("/chat/" + path(id))
	}
	return v.begin(api.StartRun{Agent: last.Agent, SessionID: id, UserID: string(last.UserID), Input: strings.TrimSpace(unix(v.r.PostForm.Get("text")))})
}

package web

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"holdpoint/api"
	"holdpoint/event"
	"holdpoint/interaction"
)

type runData struct {
	page
	Run      api.RunView
	Timeline *timeline
	Temporal string // the run in Temporal's own pages
	Problem  *api.Problem
	Chat     bool
	Earlier  []*runData // in a conversation: the runs before
	SendID   string
}

// Live reports whether the run goes on.
func (d *runData) Live() bool { return !d.Run.Status.Final() }

func (v *view) run(id interaction.RunID) (*runData, error) {
	d := &runData{page: v.page("Run", "runs"), SendID: "web-" + newID()}
	if err := v.get("/v1/runs/"+path(id), &d.Run); err != nil {
		return nil, err
	}
	d.Title = "Run of " + d.Run.Agent
	var err error
	if d.Timeline, err = v.timeline(d.Run, 0); err != nil {
		return nil, err
	}
	if v.s.cfg.TemporalUI != "" {
		d.Temporal = v.s.cfg.TemporalUI + "/namespaces/default/workflows/" + url.PathEscape(d.Run.WorkflowID)
	}
	return d, nil
}

func runPage(v *view) error {
	d, err := v.run(interaction.RunID(v.r.PathValue("id")))
	if err != nil {
		return err
	}
	return v.render(http.StatusOK, "run", d)
}

// runHead is the part of a run's page that says how it stands.
func runHead(v *view) error {
	d := &runData{page: v.page("Run", "runs")}
	if err := v.get("/v1/runs/"+path(v.r.PathValue("id")), &d.Run); err != nil {
		return err
	}
	return v.render(http.StatusOK, "run-head", d)
}

// runLive sends what happens in a run as pieces of its page: items as they come, and the text that is being written.
func runLive(v *view) error {
	var r api.RunView
	if err := v.get("/v1/runs/"+path(v.r.PathValue("id")), &r); err != nil {
		return err
	}
	from := v.r.Header.Get("Last-Event-ID")
	if from == "" {
		from = v.r.FormValue("after")
	}
	if _, err := strconv.ParseInt(from, 10, 64); err != nil {
		from = "0"
	}
	l := &live{v: v, t: v.newTimeline(r)}
	err := v.stream(v.r.Context(), "/v1/runs/"+path(r.ID)+"/events?after="+from, l.event)
	if l.out == nil {
		return err
	}
	if l.t.Ended {
		return l.out.send("", "ended", "")
	}
	return nil
}

// live is one browser's view of a run.
type live struct {
	v         *view
	t         *timeline
	out       *sse
	turn, try int
	run       interaction.RunID
	text      strings.Builder // of the step that is being written
}

func (l *live) event(e incoming) error {
	if l.out == nil {
		l.out = l.v.sse()
	}
	if e.name == "" {
		return l.out.send("", "", "")
	}
	var ev event.Event
	if err := json.Unmarshal(e.data, &ev); err != nil {
		return err
	}
	if ev.Type == event.StepDelta {
		return l.delta(ev)
	}
	if ev.Type == event.StepCompleted && l.text.Len() > 0 {
		l.text.Reset()
		if err := l.out.send("", "writing", ""); err != nil {
			return err
		}
	}
	var b bytes.Buffer
	for _, i := range l.t.add(ev) {
		if err := l.v.s.pages.ExecuteTemplate(&b, "item", i); err != nil {
			return err
		}
	}
	if err := l.out.send(e.id, "item", b.String()); err != nil {
		return err
	}
	switch ev.Type {
	case event.InteractionRequest, event.InteractionResponse, event.RunPaused, event.RunResumed, event.RunCompleted, event.RunFailed, event.RunAbortedByHuman:
		return l.out.send("", "state", "")
	}
	return nil
}

// delta shows a piece of text as it comes. A piece that was missed leaves the rest to the step's end.
func (l *live) delta(ev event.Event) error {
	data, err := event.Decode(ev)
	d, ok := data.(event.StepDeltaData)
	if err != nil || !ok {
		return err
	}
	if d.Turn != l.turn || d.Attempt != l.try || ev.RunID != l.run {
		l.turn, l.try, l.run = d.Turn, d.Attempt, ev.RunID
		l.text.Reset()
	}
	if d.Offset != l.text.Len() {
		return nil
	}
	l.text.WriteString(d.Text)
	return l.out.send("", "writing", string(lines(l.text.String())))
}

// controlRun pauses, resumes or stops a run.
func controlRun(v *view) error {
	id := v.r.PathValue("id")
	form := v.r.PostForm
	if form.Get("action") == "abort_run" && form.Get("sure") != "yes" {
		return invalid("Stopping a run can't be undone. Tick the box beside the button to say that you mean it.")
	}
	err := v.call(http.MethodPost, "/v1/runs/"+path(id)+"/control", map[string]string{"action": form.Get("action"), "note": form.Get("note"),
		"id": form.Get("send_id") + form.Get("action")}, nil)
	if err != nil {
		return err
	}
	return v.redirect("/runs/" + path(id))
}

func messageRun(v *view) error {
	id, form := v.r.PathValue("id"), v.r.PostForm
	if err := v.say(interaction.RunID(id), form); err != nil {
		return err
	}
	return v.redirect("/runs/" + path(id))
}

func (v *view) say(run interaction.RunID, form url.Values) error {
	text := strings.TrimSpace(unix(form.Get("text")))
	if text == "" {
		return invalid("Write something first.")
	}
	return v.call(http.MethodPost, "/v1/runs/"+path(run)+"/messages", map[string]string{"text": text, "id": form.Get("send_id")}, nil)
}

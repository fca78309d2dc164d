package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"holdpoint/api"
	"holdpoint/event"
	"holdpoint/interaction"
)

// maxTimeline is how many of a run's newest events its page shows at first.
const maxTimeline = 400

// item is one thing that happened in a run.
type item struct {
	Kind   string // user, agent, call, result, gate, decision, note, bad, end
	Number int64
	Time   time.Time
	Depth  int    // of the sub-agent it happened in
	Agent  string // of a sub-agent
	Who    string
	Text   string
	Args   string
	Status string
	Effect string
	Gate   interaction.ID
	Open   bool // a gate that still waits
	Fold   bool
}

// timeline turns events into items. It remembers what later events refer to.
type timeline struct {
	v      *view
	run    api.RunView
	Items  []item
	Last   int64
	Before bool // there is more before the first
	agents map[interaction.RunID]string
	depths map[interaction.RunID]int
	calls  map[interaction.CallID]string
	closed map[interaction.ID]bool
	Ended  bool
}

func (v *view) newTimeline(r api.RunView) *timeline {
	return &timeline{v: v, run: r, agents: map[interaction.RunID]string{}, depths: map[interaction.RunID]int{r.ID: 0},
		calls: map[interaction.CallID]string{}, closed: map[interaction.ID]bool{}}
}

// timeline reads a run's stored events; the newest alone, unless from says where to begin.
func (v *view) timeline(r api.RunView, from int64) (*timeline, error) {
	t := v.newTimeline(r)
	var all []event.Event
	err := v.stream(v.r.Context(), "/v1/runs/"+path(r.ID)+"/events?follow=false&after="+strconv.FormatInt(from, 10), func(e incoming) error {
		if e.name == "" {
			return nil
		}
		var ev event.Event
		if err := json.Unmarshal(e.data, &ev); err != nil {
			return err
		}
		all = append(all, ev)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, e := range all {
		t.add(e)
	}
	for n := range t.Items {
		t.Items[n].Open = t.Items[n].Kind == "gate" && !t.closed[t.Items[n].Gate]
	}
	if cut := len(t.Items) - maxTimeline; cut > 0 {
		t.Items, t.Before = t.Items[cut:], true
	}
	return t, nil
}

// add appends what an event shows and returns it.
func (t *timeline) add(e event.Event) []item {
	if e.Number > 0 {
		t.Last = e.Number
	}
	if e.Type.Last() && e.RunID == t.run.ID {
		t.Ended = true
	}
	began := len(t.Items)
	data, err := event.Decode(e)
	switch {
	case errors.Is(err, event.ErrErased):
		t.put(e, item{Kind: "note", Text: "The content of this entry was erased; the record's chain still holds."})
	case err != nil:
		t.put(e, item{Kind: "bad", Text: err.Error()})
	default:
		t.show(e, data)
	}
	return t.Items[began:]
}

func (t *timeline) put(e event.Event, i item) {
	i.Number, i.Time = e.Number, e.Time
	if e.RunID != t.run.ID {
		i.Depth, i.Agent = t.depth(e.RunID), t.agents[e.RunID]
	}
	t.Items = append(t.Items, i)
}

// depth is how many agents are above a sub-agent's run.
func (t *timeline) depth(run interaction.RunID) int {
	if d, ok := t.depths[run]; ok {
		return d
	}
	d := 1
	var r api.RunView
	if t.v.get("/v1/runs/"+path(run), &r) == nil {
		d = max(len(r.Path)-len(t.run.Path), 1)
		if t.agents[run] == "" {
			t.agents[run] = r.Agent
		}
	}
	t.depths[run] = d
	return d
}

// show is exhaustive over what a stream can carry.
func (t *timeline) show(e event.Event, data any) {
	switch d := data.(type) {
	case event.RunStartedData:
		t.agents[e.RunID] = d.Agent
		if e.RunID != t.run.ID {
			t.depth(e.RunID)
			t.put(e, item{Kind: "note", Text: "Agent " + d.Agent + " begins: " + d.Input})
		}
	case event.StepCompletedData:
		t.step(e, d)
	case interaction.Request:
		t.put(e, item{Kind: "gate", Gate: d.ID, Text: d.Title, Open: true})
	case event.InteractionResponseData:
		t.closed[d.InteractionID] = true
		t.put(e, item{Kind: "decision", Gate: d.InteractionID, Status: string(d.Status), Text: decisionText(d), Args: string(d.ArgsAfter)})
	case event.ToolAuthDeniedData:
		t.put(e, item{Kind: "bad", Who: d.ToolName, Text: d.ToolName + " was denied: " + d.Reason})
	case event.HoldData:
		t.put(e, item{Kind: "note", Text: by(held(e.Type, "The run"), d.By, d.Note)})
	case event.ToolHoldData:
		t.put(e, item{Kind: "note", Gate: d.InteractionID, Text: by(held(e.Type, "The question"), d.By, d.Note)})
	case event.ResumedData:
		if d.LiftedBy != "" {
			t.put(e, item{Kind: "note", Text: by("The rejection was lifted", d.LiftedBy, d.Note)})
		}
	case event.RunCompletedData:
		t.put(e, item{Kind: "end", Status: "completed", Text: "Completed"})
	case event.RunFailedData:
		t.put(e, item{Kind: "end", Status: "failed", Text: "Failed: " + d.Message + " (" + d.Code + ")"})
	case event.RunAbortedData:
		t.put(e, item{Kind: "end", Status: "aborted", Text: by("Stopped", d.By, d.Note)})
	case event.ErrorData:
		t.put(e, item{Kind: "bad", Text: d.Message + " (" + d.Code + ")"})
	case event.StageData:
		t.put(e, item{Kind: "note", Gate: d.Interact, Text: d.Describe(e.Type)})
	case event.StepDeltaData, event.SuspendedData:
		return // live text is shown apart, and a wait shows as its gates
	default:
		t.put(e, item{Kind: "note", Text: words(e.Type)})
	}
}

func held(typ event.Type, what string) string {
	if typ == event.RunPaused || typ == event.ToolPaused {
		return what + " is held"
	}
	return what + " goes on"
}

func by(text string, who interaction.PrincipalID, note string) string {
	if who != "" {
		text += " by " + string(who)
	}
	if note != "" {
		text += ": " + note
	}
	return text
}

func decisionText(d event.InteractionResponseData) string {
	it := api.Interaction{Status: d.Status, Action: d.Action, Responses: d.Responses, ClosedReason: d.Reason}
	text := decided(it)
	if n := len(d.Responses); n > 0 {
		last := d.Responses[n-1]
		for _, more := range []string{last.Feedback, last.Note, last.Text, strings.Join(last.Selected, ", ")} {
			if more != "" {
				text += ": " + more
			}
		}
	}
	return text
}

// foldLines is how long a result may be before it is folded.
const foldLines = 8

func (t *timeline) step(e event.Event, d event.StepCompletedData) {
	switch d.Role {
	case "user":
		t.put(e, item{Kind: "user", Text: d.Content})
	case "assistant":
		if d.Content != "" {
			t.put(e, item{Kind: "agent", Text: d.Content})
		}
		for _, c := range d.ToolCalls {
			t.calls[c.ID] = c.Name
			t.put(e, item{Kind: "call", Who: c.Name, Args: callText(c.Name, c.Args), Effect: c.Effect, Text: c.Reason})
		}
	case "tool":
		t.put(e, item{Kind: "result", Who: d.ToolName, Status: d.Status, Text: d.Content,
			Fold: strings.Count(d.Content, "\n") >= foldLines || len(d.Content) > 1000})
	default:
		t.put(e, item{Kind: "note", Text: d.Role + ": " + d.Content})
	}
}

// callText is a call in short: its one text argument, or its arguments as JSON.
func callText(name string, args json.RawMessage) string {
	list, ok := members(args)
	if ok && len(list) == 1 {
		return list[0].Text
	}
	if ok && len(list) > 0 && (list[0].Name == "path" || list[0].Name == "url") {
		return list[0].Text
	}
	if len(args) == 0 {
		return ""
	}
	return fmt.Sprint(string(args))
}

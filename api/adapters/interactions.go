package adapters

import (
	"context"
	"encoding/json"
	"net/http"

	"holdpoint/api"
	"holdpoint/event"
	"holdpoint/interaction"
)

// showAgio shows an interaction as {interaction_request, run_id}.
func (a *Adapters) showAgio(w http.ResponseWriter, r *http.Request) {
	i, err := a.interaction(r.Context(), interaction.ID(r.PathValue("id")))
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	reply(w, http.StatusOK, shownAgio{agioOf(i.Request), i.RunID})
}

// shownAgio answers GET /interactions/{id}.
type shownAgio struct {
	InteractionRequest agioRequest       `json:"interaction_request"`
	RunID              interaction.RunID `json:"run_id"`
}

// respondAgio answers an interaction and goes on as the resumed run's stream, until the run waits again or ends.
func (a *Adapters) respondAgio(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	var in agioResponse
	if err := read(r, &in); err != nil {
		a.refuse(w, r, err)
		return
	}
	answer, err := a.readAgio(r.Context(), id, in)
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	out := newEvents(w, a.cfg.WriteTimeout)
	defer out.end()
	t := &agioStream{a: a, ctx: r.Context(), out: out, answered: answer.RequestID}
	err = a.core.stream(r.Context(), http.MethodPost, path("/v1/interactions/%s/respond", id), answer, nil, out.open, t.next)
	a.endEvents(w, r, out, gone(err, id))
}

func (a *Adapters) readAgio(ctx context.Context, id string, in agioResponse) (interaction.Response, error) {
	var none interaction.Response
	i, err := a.interaction(ctx, interaction.ID(id))
	if err != nil {
		return none, err
	}
	if in.RequestID != id {
		return none, refusal(http.StatusBadRequest, api.CodeInvalid, "Response request_id does not match interaction_id")
	}
	answer, err := in.answerOf(i.Request)
	if err == nil {
		err = i.takes(answer)
	}
	if err == nil && in.UserID != nil {
		answer.Reviewer.ID = interaction.PrincipalID(*in.UserID)
	}
	return answer, err
}

// agioEvents streams a run in the design's form, from its beginning to its end.
func (a *Adapters) agioEvents(w http.ResponseWriter, r *http.Request) {
	out := newEvents(w, a.cfg.WriteTimeout)
	defer out.end()
	t := &agioStream{a: a, ctx: r.Context(), out: out}
	header := http.Header{}
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		header.Set("Last-Event-ID", last)
	}
	err := a.core.stream(r.Context(), http.MethodGet, path("/v1/runs/%s/events", r.PathValue("run_id")), nil, header, out.open, t.next)
	a.endEvents(w, r, out, err)
}

// endEvents tells a client why a stream did not begin, or logs why it broke off.
func (a *Adapters) endEvents(w http.ResponseWriter, r *http.Request, out *events, err error) {
	switch {
	case err == nil || r.Context().Err() != nil:
	case !out.opened:
		a.refuse(w, r, err)
	default:
		a.cfg.Log.WarnContext(r.Context(), "an adapter's stream ended early", "path", r.URL.Path, "error", err)
	}
}

// agioStream turns a run's events into the design's.
type agioStream struct {
	a        *Adapters
	ctx      context.Context
	out      *events
	answered interaction.ID     // the stream ends when its run waits again
	call     interaction.CallID // that was answered, once it goes on
}

// agioEvent is the design's StepEvent.
type agioEvent struct {
	Type      string `json:"type"`
	RunID     string `json:"run_id"`
	Timestamp string `json:"timestamp"`
	StepID    string `json:"step_id,omitempty"`
	Data      any    `json:"data"`
	Delta     any    `json:"delta,omitempty"`
	Snapshot  any    `json:"snapshot,omitempty"`
	Redacted  bool   `json:"redacted,omitempty"` // ours: parts are hidden
}

func (t *agioStream) next(f frame) error {
	if f.Event == "" {
		return t.out.comment(f.Comment)
	}
	var e event.Event
	if err := json.Unmarshal([]byte(f.Data), &e); err != nil {
		return err
	}
	list, err := t.translate(e)
	if err != nil {
		return err
	}
	for n, one := range list {
		id := ""
		if n == len(list)-1 { // who has the number has all that belongs to it
			id = f.ID
		}
		if err := t.out.send(id, one.Type, one); err != nil {
			return err
		}
	}
	return t.waits(e)
}

// waits ends the stream of an answer once its run waits for the next one.
func (t *agioStream) waits(e event.Event) error {
	if t.answered == "" {
		return nil
	}
	switch e.Type {
	case event.ExecutionSuspended:
		return errEnough
	case event.InteractionResponse:
		if d := payload[event.InteractionResponseData](e); d.InteractionID == t.answered {
			t.call = d.ToolCallID
		}
	case event.StepCompleted:
		if d := payload[event.StepCompletedData](e); t.call == "" || d.ToolCallID != t.call {
			return nil
		}
		var v api.RunView
		if _, err := t.a.core.call(t.ctx, http.MethodGet, path("/v1/runs/%s", string(e.RunID)), nil, &v); err != nil {
			return err
		}
		for _, p := range v.Pending {
			one := t.event(e, event.ExecutionSuspended, suspended{string(p.ID)})
			if err := t.out.send("", one.Type, one); err != nil {
				return err
			}
		}
		if len(v.Pending) > 0 {
			return errEnough
		}
	default:
	}
	return nil
}

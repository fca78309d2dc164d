package adapters

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"time"

	"holdpoint/event"
	"holdpoint/interaction"
)

// The types of the design's events. It fixes INTERACTION; the others follow its stages.
const (
	reactInteraction = "INTERACTION"
	reactStarted     = "STARTED"
	reactThinking    = "THINKING"
	reactActing      = "ACTION"
	reactObservation = "OBSERVATION"
	reactResumed     = "RESUMED"
	reactMessage     = "MESSAGE"
	reactCompleted   = "COMPLETED"
	reactTerminated  = "TERMINATED"
	reactError       = "ERROR"
)

// reactEvent is the design's AgentExecutionEvent.
type reactEvent struct {
	Type      string `json:"type"`
	SessionID string `json:"sessionId"`
	RunID     string `json:"runId"`
	Timestamp string `json:"timestamp"`
	Message   string `json:"message,omitempty"`
	Data      any    `json:"data"`
	Redacted  bool   `json:"redacted,omitempty"` // ours: parts are hidden
}

// reactStream turns a run's events into the design's.
type reactStream struct {
	a            *Adapters
	ctx          context.Context
	out          *events
	run, session string
}

// again shows what waits already, to a client that joins in the middle.
func (s *reactStream) again() error {
	open, err := s.a.waiting(s.ctx, url.Values{"run_id": {s.run}})
	if err != nil {
		return err
	}
	for _, i := range slices.Backward(open) {
		if err := s.ask(i, i.CreatedAt, ""); err != nil {
			return err
		}
	}
	return nil
}

func (s *reactStream) ask(i shown, at time.Time, id string) error {
	q := reactOf(i.Request, time.Now())
	q.SessionID = s.session // a called agent's questions are its caller's
	return s.out.send(id, reactInteraction, reactEvent{Type: reactInteraction, SessionID: s.session, RunID: string(i.RunID),
		Timestamp: reactTime(at), Message: q.Title, Data: q, Redacted: i.redacted})
}

func (s *reactStream) next(f frame) error {
	if f.Event == "" {
		return s.out.comment(f.Comment)
	}
	var e event.Event
	if err := json.Unmarshal([]byte(f.Data), &e); err != nil {
		return err
	}
	if e.Type == event.InteractionRequest {
		return s.asked(e, f.ID)
	}
	typ, message, data := reactOfEvent(e)
	if typ == "" {
		return nil
	}
	return s.out.send(f.ID, typ, reactEvent{Type: typ, SessionID: s.session, RunID: string(e.RunID), Timestamp: reactTime(e.Time), Message: message, Data: data, Redacted: e.Redacted})
}

// asked shows a question that still waits: a client that comes later is not asked what was answered.
func (s *reactStream) asked(e event.Event, id string) error {
	i, err := s.a.interaction(s.ctx, payload[interaction.Request](e).ID)
	if isNotFound(err) || err == nil && i.Status.Final() {
		return nil
	}
	if err != nil {
		return err
	}
	return s.ask(i, e.Time, id)
}

// reactOfEvent is an event in the design's form; "" for one that it has no use for.
func reactOfEvent(e event.Event) (typ, message string, data any) {
	switch e.Type {
	case event.RunStarted:
		return reactStarted, "", e.Payload
	case event.StepDelta:
		return reactThinking, payload[event.StepDeltaData](e).Text, e.Payload
	case event.StepCompleted:
		d := payload[event.StepCompletedData](e)
		switch {
		case d.Role == "tool":
			return reactObservation, d.Content, e.Payload
		case len(d.ToolCalls) > 0:
			return reactActing, d.Content, e.Payload
		case d.Role == "assistant":
			return reactMessage, d.Content, e.Payload
		}
		return "", "", nil
	case event.ExecutionResumed:
		return reactResumed, "", e.Payload
	case event.RunCompleted:
		return reactCompleted, payload[event.RunCompletedData](e).Output, e.Payload
	case event.RunAbortedByHuman:
		return reactTerminated, payload[event.RunAbortedData](e).Note, e.Payload
	case event.RunFailed:
		return reactError, payload[event.RunFailedData](e).Message, e.Payload
	case event.Error:
		return reactError, payload[event.ErrorData](e).Message, e.Payload
	default:
		return "", "", nil
	}
}

package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"holdpoint/agent"
	"holdpoint/event"
	"holdpoint/interaction"
)

// eventPage is how many events are read at once.
const eventPage = 100

// StatusHeader tells, on a response that goes on as an event stream, what became of the answer that began it: the
// interaction's status, or "stored".
const StatusHeader = "Holdpoint-Answer"

type eventsInput struct {
	RunID       interaction.RunID `path:"run_id" maxLength:"256"`
	LastEventID string            `header:"Last-Event-ID" maxLength:"20" doc:"Number of the last event that was received; goes before after"`
	After       string            `query:"after" maxLength:"20" doc:"The same, for a first request"`
	Follow      bool              `query:"follow" default:"true" doc:"false ends the stream after what is stored now"`
}

// events streams a run from its beginning, or from behind the event that the client had last.
func (s *Server) events(ctx context.Context, in *eventsInput) (*huma.StreamResponse, error) {
	r, err := s.visibleRun(ctx, in.RunID)
	if err != nil {
		return nil, err
	}
	from, where := in.LastEventID, "header.Last-Event-ID"
	if from == "" {
		from, where = in.After, "query.after"
	}
	var after int64
	if from != "" {
		if after, err = s.eventNumber(ctx, r.ID, from, where); err != nil {
			return nil, err
		}
	}
	st, err := s.openStream(r, after)
	if err != nil {
		return nil, err
	}
	st.once = !in.Follow
	return &huma.StreamResponse{Body: st.serve}, nil
}

// resumeAt is where the stream of an answered run begins: where the client says, or else now.
func (s *Server) resumeAt(ctx context.Context, run interaction.RunID, lastEventID string) (int64, error) {
	if lastEventID != "" {
		return s.eventNumber(ctx, run, lastEventID, "header.Last-Event-ID")
	}
	p, err := s.cfg.Store.Progress(ctx, run)
	return p.LastEvent, err
}

// eventNumber reads the number of an event that the run has had. One that it hasn't would wait for ever.
func (s *Server) eventNumber(ctx context.Context, run interaction.RunID, text, where string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, problem(http.StatusBadRequest, CodeInvalid, "%q is not the number of an event", text).at(where, "not a number from 0")
	}
	p, err := s.cfg.Store.Progress(ctx, run)
	if err != nil {
		return 0, err
	}
	if n > p.LastEvent {
		return 0, problem(http.StatusBadRequest, CodeInvalid, "run %q has no event %d; its last is %d", run, n, p.LastEvent).
			at(where, "not an event of this run")
	}
	return n, nil
}

// stream is one client's view of a run.
type stream struct {
	s      *Server
	run    agent.Run
	after  int64 // number of the last event sent
	delta  int64 // id of the last live piece sent
	live   liveText
	once   bool   // only what is stored
	status int    // HTTP
	note   string // for StatusHeader
}

// openStream takes a place among the open streams; serve or release gives it back.
func (s *Server) openStream(r agent.Run, after int64) (*stream, error) {
	select {
	case s.streams <- struct{}{}:
		return &stream{s: s, run: r, after: after, status: http.StatusOK}, nil
	default:
		return nil, problem(http.StatusServiceUnavailable, CodeTooManyStreams, "%d event streams are open, which is all "+
			"this bridge takes; try again later", cap(s.streams)).header("Retry-After", "5")
	}
}

func (st *stream) release() { <-st.s.streams }

// serve sends until the run's last event was sent, the client is gone or too slow, or the bridge closes.
func (st *stream) serve(hc huma.Context) {
	defer st.release()
	r, w := humago.Unwrap(hc)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(st.s.life, cancel)()
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	if st.note != "" {
		h.Set(StatusHeader, st.note)
	}
	w.WriteHeader(st.status)
	out := &eventWriter{w: w, c: http.NewResponseController(w), timeout: st.s.cfg.WriteTimeout}
	defer out.end()
	if err := st.follow(ctx, out); err != nil && ctx.Err() == nil {
		st.s.cfg.Log.WarnContext(ctx, "event stream ended early", "run_id", st.run.ID, "after", st.after, "error", err)
	}
}

// follow sends what there is, waits for more, and does it again.
func (st *stream) follow(ctx context.Context, out *eventWriter) error {
	wake := st.s.cfg.Store.Watch(ctx, st.run.ID)
	if err := out.comment("open"); err != nil {
		return err
	}
	beat := time.NewTicker(st.s.cfg.Heartbeat)
	defer beat.Stop()
	for {
		if done, err := st.catchUp(ctx, out); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case _, ok := <-wake:
			if !ok { // the store is closing; the client resumes elsewhere
				return nil
			}
		case <-beat.C:
			if err := st.beat(ctx, out); err != nil {
				return err
			}
		}
	}
}

// beat shows the client that the stream lives, and looks whether the run has ended without a word.
func (st *stream) beat(ctx context.Context, out *eventWriter) error {
	if err := out.comment("waiting"); err != nil {
		return err
	}
	r, found, err := st.s.cfg.Store.Run(ctx, st.run.ID)
	if err == nil && found {
		st.run = r
	}
	return err
}

// catchUp sends all stored events, then the live pieces; done says that nothing will follow.
//
// A piece is sent only if no event came between reading the events and reading the pieces: then every step before
// it has been sent, and its own is not complete.
func (st *stream) catchUp(ctx context.Context, out *eventWriter) (done bool, err error) {
	for {
		events, err := st.s.cfg.Store.Events(ctx, st.run.ID, st.after, eventPage)
		if err != nil {
			return false, err
		}
		for _, e := range events {
			if err := st.send(out, e); err != nil {
				return false, err
			}
			if e.Type.Last() && e.RunID == st.run.ID { // a sub-agent's end is not the run's
				return true, nil
			}
		}
		if len(events) > 0 {
			continue
		}
		if st.once || st.run.Status.Final() { // or resumed behind the last event
			return true, nil
		}
		if again, err := st.pieces(ctx, out); err != nil || !again {
			return false, err
		}
	}
}

func (st *stream) send(out *eventWriter, e event.Event) error {
	e = hideEvent(st.s.cfg.Hider, e)
	if err := out.event(strconv.FormatInt(e.Number, 10), e.Type, e); err != nil {
		return err
	}
	st.after = e.Number
	return nil
}

// pieces sends the live pieces; again says that there may be more to send, events first.
func (st *stream) pieces(ctx context.Context, out *eventWriter) (again bool, err error) {
	deltas, err := st.s.cfg.Store.Deltas(ctx, st.run.ID, st.delta)
	if err != nil || len(deltas) == 0 {
		return false, err
	}
	if more, err := st.s.cfg.Store.Events(ctx, st.run.ID, st.after, 1); err != nil || len(more) > 0 {
		return true, err
	}
	for _, d := range deltas {
		st.delta = d.ID
		shown, redacted, ok := d.StepDeltaData, false, true
		if h := st.s.cfg.Hider; h != nil {
			shown, redacted, ok = st.live.next(h, shown)
		}
		if !ok {
			continue
		}
		e := event.New(st.run.ID, event.StepDelta, st.s.now(), shown)
		e.Redacted = redacted
		if err := out.event("", event.StepDelta, e); err != nil {
			return false, err
		}
	}
	return true, nil
}

// eventWriter writes server-sent events. Every write has a deadline: a reader that does not keep up is cut off and
// may resume, and so costs the server no more than a moment.
type eventWriter struct {
	w       http.ResponseWriter
	c       *http.ResponseController
	timeout time.Duration
}

func (o *eventWriter) event(id string, t event.Type, v any) error { return o.encode(id, string(t), v) }

// named sends an event that has no number.
func (o *eventWriter) named(name string, v any) error { return o.encode("", name, v) }

func (o *eventWriter) encode(id, t string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("event %s %s has no JSON form: %w", t, id, err)
	}
	var b bytes.Buffer
	if id != "" {
		fmt.Fprintf(&b, "id: %s\n", id)
	}
	fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", t, data)
	return o.write(b.Bytes())
}

func (o *eventWriter) comment(text string) error { return o.write([]byte(": " + text + "\n\n")) }

func (o *eventWriter) write(b []byte) error {
	if err := o.c.SetWriteDeadline(time.Now().Add(o.timeout)); err != nil {
		return err
	}
	if _, err := o.w.Write(b); err != nil {
		return err
	}
	return o.c.Flush()
}

// end lifts the deadline, so that a connection that is used again is not cut off by it.
func (o *eventWriter) end() { _ = o.c.SetWriteDeadline(time.Time{}) }

// eventStream describes a response that is one.
func eventStream(what string) *huma.Response {
	return &huma.Response{Description: what, Content: map[string]*huma.MediaType{
		eventStreamMedia: {Schema: &huma.Schema{Type: huma.TypeString}}}}
}

package adapters

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"holdpoint/agent"
	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/tool"
)

// watch follows the session's runs, those that begin later too, and shows what waits already: to a client that comes back,
// the same requests again.
func (s *session) watch(ctx context.Context, runs []begun) error {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	failed := make(chan error, 1)
	follow := func(run begun) {
		group.Go(func() {
			if err := s.follow(ctx, run); err != nil {
				select {
				case failed <- err:
				default:
				}
			}
		})
	}
	tick := time.NewTicker(socketTick)
	defer tick.Stop()
	for {
		for _, run := range runs {
			follow(run)
		}
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return err
		case <-tick.C:
		}
		var err error
		if runs, err = s.fresh(ctx); err != nil {
			return err
		}
	}
}

// begun is a run that is followed.
type begun struct {
	id   interaction.RunID
	news int64 // events with a number above are; untold where that is to be found out
}

// untold is of a run that was there before it was followed: what came to pass by then is no news.
const untold = -1

// told finds out which events are no news.
func (s *session) told(ctx context.Context, run begun) (begun, error) {
	if run.news != untold {
		return run, nil
	}
	last, err := s.a.lastEvent(ctx, string(run.id))
	run.news, _ = strconv.ParseInt(last, 10, 64) // "" is none
	return run, err
}

// there are the runs that are live when the client comes. What it does once its WebSocket is open is news.
func (s *session) there(ctx context.Context) ([]begun, error) {
	list, err := s.fresh(ctx)
	for n := 0; n < len(list) && err == nil; n++ {
		if list[n], err = s.told(ctx, list[n]); isNotFound(err) { // it can't be followed either
			err = nil
		}
	}
	return list, err
}

// fresh are the runs of the session that are not followed yet, oldest first: those that are live when the client comes, and
// all that are not there by then. Who may list none is a reviewer, to whom runs show by what they ask. No clock has a part in
// it: those of workers and bridges differ.
func (s *session) fresh(ctx context.Context) (out []begun, err error) {
	runs, err := s.a.runsOf(ctx, s.id)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	news, first := int64(0), !s.looked
	if s.looked = true; first {
		news = untold
	}
	for _, r := range slices.Backward(runs) {
		if r.Parent != "" || s.followed[r.ID] {
			continue
		}
		s.followed[r.ID] = true
		if !first || !r.Status.Final() {
			out = append(out, begun{r.ID, news})
		}
	}
	if len(runs) > 0 {
		return out, nil
	}
	open, err := s.pending(ctx)
	for _, i := range slices.Backward(open) {
		if !s.followed[i.RunID] {
			s.followed[i.RunID] = true
			out = append(out, begun{i.RunID, untold})
		}
	}
	return out, err
}

// follow shows a run to its end.
func (s *session) follow(ctx context.Context, run begun) error {
	run, err := s.told(ctx, run)
	if err != nil {
		return s.unlessGone(ctx, err)
	}
	err = s.a.core.stream(ctx, http.MethodGet, path("/v1/runs/%s/events", string(run.id)), nil, nil, nil, func(f frame) error {
		if f.Event == "" || f.Event == string(event.StepDelta) {
			return nil
		}
		var e event.Event
		if err := json.Unmarshal([]byte(f.Data), &e); err != nil {
			return err
		}
		return s.show(ctx, e, e.Number > run.news)
	})
	return s.unlessGone(ctx, err)
}

// unlessGone is an error that ends the WebSocket: not that of a run which may not be seen any more, or of a client that left.
func (s *session) unlessGone(ctx context.Context, err error) error {
	if isNotFound(err) || ctx.Err() != nil {
		return nil
	}
	return err
}

// show sends what the client has to know of an event: what waits, whenever it was asked, and what came to pass since the
// client did.
func (s *session) show(ctx context.Context, e event.Event, news bool) error {
	if e.Type == event.InteractionRequest {
		return s.ask(ctx, payload[interaction.Request](e))
	}
	if !news {
		return nil
	}
	switch e.Type {
	case event.InteractionResponse:
		return s.closed(ctx, payload[event.InteractionResponseData](e))
	case event.StepCompleted:
		d := payload[event.StepCompletedData](e)
		if d.Role != "tool" {
			return nil
		}
		return s.send(ctx, socketTool, map[string]any{"session_id": s.id, "execution_id": s.execution(d.ToolCallID), "tool_name": d.ToolName,
			"success": d.Status == string(tool.StatusSuccess), "status": d.Status, "result": d.Content})
	case event.ToolAuthDenied:
		d := payload[event.ToolAuthDeniedData](e)
		return s.send(ctx, socketRejected, map[string]any{"session_id": s.id, "execution_id": s.execution(d.ToolCallID), "tool_name": d.ToolName, "message": d.Reason})
	case event.RunCompleted:
		return s.ended(ctx, e, agent.RunCompleted, payload[event.RunCompletedData](e).Output)
	case event.RunFailed:
		return s.ended(ctx, e, agent.RunFailed, payload[event.RunFailedData](e).Message)
	case event.RunAbortedByHuman:
		return s.ended(ctx, e, agent.RunAborted, payload[event.RunAbortedData](e).Note)
	default:
		return nil
	}
}

func (s *session) ended(ctx context.Context, e event.Event, status agent.RunStatus, result string) error {
	return s.send(ctx, socketRun, map[string]any{"session_id": s.id, "run_id": e.RunID, "status": status, "success": status == agent.RunCompleted, "result": result})
}

// ask sends a call that still waits, once to a client.
func (s *session) ask(ctx context.Context, q interaction.Request) error {
	i, err := s.a.interaction(ctx, q.ID)
	if isNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	known := s.shown[q.ID]
	s.shown[q.ID] = true
	for _, call := range append([]interaction.CallID{i.ToolCallID}, i.SharedCallIDs...) { // equal calls share the question
		s.calls[call] = q.ID
	}
	s.mu.Unlock()
	if known || i.Status.Final() || i.Type != interaction.TypeToolApproval {
		return nil
	}
	return s.send(ctx, socketRequest, s.requestOf(i))
}

// execution is the id by which the client knows a call: its interaction's, or, of one that was never asked about, its own.
func (s *session) execution(call interaction.CallID) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id, asked := s.calls[call]; asked {
		return string(id)
	}
	return string(call)
}

// closed tells that a call will not run, and why.
func (s *session) closed(ctx context.Context, d event.InteractionResponseData) error {
	if d.Status == interaction.StatusAnswered && (d.Action == interaction.ActionApprove || d.Action == interaction.ActionModifyArgs) {
		return nil
	}
	message := "The tool was not run: " + string(d.Status)
	if d.Status == interaction.StatusAnswered {
		message = "The tool was not run: " + string(d.Action)
	}
	for _, r := range d.Responses {
		if r.Feedback != "" {
			message += ": " + r.Feedback
		}
	}
	return s.send(ctx, socketRejected, map[string]any{"session_id": s.id, "execution_id": d.InteractionID, "tool_call_id": d.ToolCallID,
		"status": d.Status, "message": message})
}

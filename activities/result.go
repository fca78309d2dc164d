package activities

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"holdpoint/agent"
	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/llm"
	"holdpoint/permission"
	"holdpoint/tool"
)

// storeResult ends a call, and those that share its interaction: the result goes to the call's record and to the
// place reserved for it in the transcript. It returns the events that say so.
func storeResult(ctx context.Context, tx Tx, rec *tool.Record, res tool.Result, now time.Time) ([]event.Event, error) {
	ev, err := storeOne(ctx, tx, rec, res, now)
	if err != nil {
		return nil, err
	}
	events := []event.Event{ev}
	res.CachedFrom = rec.Call.ID
	for _, id := range rec.Shared {
		other, err := callOf(ctx, tx, id)
		if err != nil {
			return nil, err
		}
		if other.Result != nil {
			continue
		}
		if ev, err = storeOne(ctx, tx, &other, res, now); err != nil {
			return nil, err
		}
		events = append(events, ev)
	}
	return events, nil
}

func storeOne(ctx context.Context, tx Tx, rec *tool.Record, res tool.Result, now time.Time) (event.Event, error) {
	res.Content = bounded(res.Content)
	rec.Result, rec.EndedAt = &res, now
	if err := tx.UpdateCall(ctx, *rec); err != nil {
		return event.Event{}, fmt.Errorf("result of call %s: %w", rec.Call.ID, err)
	}
	if rec.Interactions > 0 {
		if err := tx.DropSecrets(ctx, rec.Call.RunID, rec.Call.ID); err != nil {
			return event.Event{}, err
		}
	}
	step := llm.Step{ID: interaction.StepID(rec.Call.ID), RunID: rec.Call.RunID, SessionID: rec.Call.SessionID,
		Sequence: rec.Sequence, Turn: rec.Turn, CallID: rec.Call.ID, CreatedAt: now,
		Message: llm.Message{Role: llm.RoleTool, Content: res.Content, ProviderID: rec.Call.ProviderID,
			ToolName: rec.Call.Name, ToolStatus: string(res.Status)}}
	if err := tx.InsertStep(ctx, step); err != nil {
		return event.Event{}, err
	}
	data := stepData(step)
	data.CachedFrom = res.CachedFrom
	return event.New(rec.Call.RunID, event.StepCompleted, now, data), nil
}

// bounded keeps head and tail of what is too long for a model, and makes sure that it is text.
func bounded(s string) string {
	if !utf8.ValidString(s) {
		s = string([]rune(s))
	}
	if len(s) <= tool.MaxContentBytes {
		return s
	}
	const half = tool.MaxContentBytes/2 - 100
	head, tail := half, len(s)-half
	for !utf8.RuneStart(s[head]) {
		head--
	}
	for !utf8.RuneStart(s[tail]) {
		tail++
	}
	return fmt.Sprintf("%s\n… %d bytes left out …\n%s", s[:head], tail-head, s[tail:])
}

func deniedResult(d permission.Decision) *tool.Result {
	return &tool.Result{Status: tool.StatusDenied, Content: "Denied: " + d.Reason +
		". The call was not run, and no approval can change that. Go on without it, or tell the user what you would need."}
}

func deniedData(c tool.Call, d permission.Decision, by interaction.ID) event.ToolAuthDeniedData {
	data := event.ToolAuthDeniedData{ToolCallID: c.ID, ToolName: c.Name, Reason: d.Reason, InteractionID: by}
	if d.Matched != nil {
		data.Rule, data.RuleID = d.Matched.Pattern, d.Matched.ID
	}
	return data
}

// callWriter gathers what one transaction says about one call.
type callWriter struct {
	ctx    context.Context
	tx     Tx
	rec    *tool.Record
	now    time.Time
	events []event.Event
}

func (w *callWriter) emit(t event.Type, data any) {
	w.events = append(w.events, event.New(w.rec.Call.RunID, t, w.now, data))
}

// closeAnswered makes the stored interaction final as the gate closed it. Doing it twice changes nothing.
func (w *callWriter) closeAnswered(out *interaction.Outcome, before, after []byte, edited bool) error {
	if out == nil {
		return nil
	}
	data, err := closeInteraction(w.ctx, w.tx, *out)
	if err != nil || data == nil {
		return err
	}
	if edited {
		data.ArgsBefore, data.ArgsAfter = before, after
	}
	w.emit(event.InteractionResponse, *data)
	return nil
}

// closeInteraction stores an outcome and returns its event's payload; nil if it was stored before.
func closeInteraction(ctx context.Context, tx Tx, out interaction.Outcome) (*event.InteractionResponseData, error) {
	row, found, err := tx.Interaction(ctx, out.InteractionID)
	if err != nil {
		return nil, fmt.Errorf("interaction %s: %w", out.InteractionID, err)
	}
	if !found || row.Status.Final() {
		return nil, nil
	}
	row.Status, row.Action, row.Responses, row.Reason, row.ClosedAt = out.Status, out.Action, out.Responses, out.Reason, out.At
	if err := tx.SaveInteraction(ctx, row); err != nil {
		return nil, fmt.Errorf("interaction %s: %w", out.InteractionID, err)
	}
	if row.Request.Kind == interaction.KindResult { // the step has the text that was released, if one was
		out.Responses = interaction.WithoutTexts(out.Responses)
	}
	return &event.InteractionResponseData{InteractionID: out.InteractionID, ToolCallID: row.Request.ToolCallID,
		Status: out.Status, Action: out.Action, Responses: out.Responses, Reason: out.Reason}, nil
}

// finish ends the call with a result.
func (w *callWriter) finish(res tool.Result) (*RunToolResult, error) {
	evs, err := storeResult(w.ctx, w.tx, w.rec, res, w.now)
	if err != nil {
		return nil, err
	}
	w.events = append(w.events, evs...)
	head, err := w.flush()
	return &RunToolResult{Status: w.rec.Result.Status, Head: head}, err
}

// ask opens an interaction about the call.
func (w *callWriter) ask(req interaction.Request) (*RunToolResult, error) {
	evs, brief, err := openInteraction(w.ctx, w.tx, w.rec, req, w.now)
	if err != nil {
		return nil, err
	}
	w.events = append(w.events, evs...)
	w.emit(event.ExecutionSuspended, event.SuspendedData{Interactions: []interaction.ID{brief.ID}})
	if err := w.tx.UpdateCall(w.ctx, *w.rec); err != nil {
		return nil, err
	}
	head, err := w.flush()
	return &RunToolResult{Interaction: brief, Head: head}, err
}

// stillAsked returns the question about the call that an earlier attempt stored and did not live to report: people
// see it already, and it is the one that they answer.
func (w *callWriter) stillAsked() (*RunToolResult, error) {
	open, err := w.tx.OpenInteractions(w.ctx, w.rec.Call.RunID)
	if err != nil {
		return nil, fmt.Errorf("open interactions of run %s: %w", w.rec.Call.RunID, err)
	}
	for _, i := range open {
		if i.Request.Live && i.Request.ToolCallID == w.rec.Call.ID {
			if err := w.withdraw(i, "the worker that ran the call, and asked this, is gone"); err != nil {
				return nil, err
			}
			continue
		}
		if i.Request.ToolCallID == w.rec.Call.ID {
			brief := i.Request.Brief()
			head, err := w.flush()
			return &RunToolResult{Interaction: &brief, Head: head}, err
		}
	}
	return nil, nil
}

// flush appends the events and sets the run's status by what is still open.
func (w *callWriter) flush() (event.Head, error) {
	run, head, err := lockRun(w.ctx, w.tx, w.rec.Call.RunID)
	if err != nil {
		return head, err
	}
	if !run.Status.Final() {
		if err := stand(w.ctx, w.tx, run, run.Status == agent.RunPaused); err != nil {
			return head, err
		}
	}
	return w.tx.AppendEvents(w.ctx, run.ID, w.events...)
}

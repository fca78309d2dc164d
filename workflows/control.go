package workflows

import (
	"fmt"
	"unicode/utf8"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"holdpoint/interaction"
)

// control applies a control message that came as an update.
func (r *agentRun) control(ctx workflow.Context, raw converter.RawValue) (Accepted, error) {
	m, err := controlOf(raw)
	if err != nil {
		return Accepted{}, refusal(err)
	}
	return r.applyControl(ctx, m), nil
}

func (r *agentRun) validateControl(ctx workflow.Context, raw converter.RawValue) error {
	m, err := controlOf(raw)
	if err == nil {
		err = r.checkControl(ctx, m)
	}
	if err != nil {
		return refusal(err)
	}
	return nil
}

func (r *agentRun) controlSignal(ctx workflow.Context, data []byte) {
	m, err := decodeControl(data)
	if err == nil {
		err = r.checkControl(ctx, m)
	}
	if err != nil {
		r.refuse(MessageControl, m.ID, err)
		return
	}
	r.applyControl(ctx, m)
}

func controlOf(raw converter.RawValue) (ControlMessage, error) {
	data, err := jsonOf(raw)
	if err != nil {
		return ControlMessage{}, err
	}
	return decodeControl(data)
}

func decodeControl(data []byte) (m ControlMessage, err error) {
	if err := strictly(data, &m, &m.ID); err != nil {
		return m, err
	}
	if len(m.Note) > interaction.MaxNoteBytes {
		return m, &interaction.Error{Code: interaction.CodeTooLarge, Field: "note", Message: fmt.Sprintf("has %d bytes; at most %d are taken", len(m.Note), interaction.MaxNoteBytes)}
	}
	return m, nil
}

// strictly decodes a message that a run keeps for a while, so that its size is bounded, and sees to its id.
func strictly(data []byte, m any, id *interaction.ResponseID) error {
	if limit := interaction.MaxMessageBytes + interaction.MaxNoteBytes; len(data) > limit {
		return &interaction.Error{Code: interaction.CodeTooLarge, Message: fmt.Sprintf("the message has %d bytes; at most %d are taken", len(data), limit)}
	}
	if err := interaction.Strict(data, m); err != nil {
		return err
	}
	if len(*id) > interaction.MaxIDBytes {
		return &interaction.Error{Code: interaction.CodeInvalid, Field: "id", Message: fmt.Sprintf("has %d bytes; at most %d are taken", len(*id), interaction.MaxIDBytes)}
	}
	if *id == "" {
		*id = payloadID(data)
	}
	return nil
}

// checkControl refuses what is meant for another run of the session, or is no control action.
func (r *agentRun) checkControl(ctx workflow.Context, m ControlMessage) error {
	if err := r.addressed(m.RunID); err != nil {
		return err
	}
	switch m.Action {
	case AbortRun, PauseRun, ResumeRun:
		return nil
	case LiftRejection:
		return r.checkLift(m)
	case PauseCall, ResumeCall:
		if m.ToolCallID != "" {
			return r.checkRunning(m)
		}
		return r.check(ctx, m.asResponse())
	default:
		return &interaction.Error{Code: interaction.CodeInvalid, Field: "action",
			Message: fmt.Sprintf("unknown action %q: use one of %s", clip(string(m.Action), 60), controlActions)}
	}
}

// asResponse is a control message that is about one call, as the answer to its interaction that it amounts to.
func (m ControlMessage) asResponse() interaction.Response {
	return interaction.Response{ID: m.ID, RequestID: m.InteractionID, Action: interaction.Action(m.Action), Note: m.Note, Reviewer: m.Principal}
}

// checkLift refuses to lift what this run has not seen rejected.
func (r *agentRun) checkLift(m ControlMessage) error {
	if m.InteractionID == "" {
		return &interaction.Error{Code: interaction.CodeInvalid, Field: "interaction_id", Message: "is missing: name the interaction at which the call was rejected"}
	}
	closed, ok := r.st.closedInteraction(m.InteractionID)
	if !ok || closed.Status != interaction.StatusAnswered || closed.Action != interaction.ActionReject {
		return &interaction.Error{Code: interaction.CodeUnknown, Field: "interaction_id",
			Message: fmt.Sprintf("no call of this run was rejected at interaction %q", clip(string(m.InteractionID), 200))}
	}
	return nil
}

func (r *agentRun) addressed(id interaction.RunID) error {
	if id == "" {
		return &interaction.Error{Code: interaction.CodeInvalid, Field: "run_id", Message: "is missing: name the run that is meant, here " + string(r.in.RunID)}
	}
	if id != r.in.RunID {
		return &interaction.Error{Code: interaction.CodeWrongRun, Field: "run_id", Message: fmt.Sprintf("run %q is not the live run of this session, %s is", clip(string(id), 100), r.in.RunID)}
	}
	return nil
}

func (r *agentRun) applyControl(ctx workflow.Context, m ControlMessage) Accepted {
	if (m.Action == PauseCall || m.Action == ResumeCall) && m.ToolCallID == "" {
		return r.controlCall(ctx, m)
	}
	if r.st.seenBefore(m.ID) {
		return Accepted{Duplicate: true}
	}
	switch m.Action {
	case AbortRun:
		r.tellChildren(ctx, m)
		r.stop(&Stop{By: m.Principal.ID, Note: m.Note})
	case PauseRun, ResumeRun:
		r.pause(ctx, m)
	case PauseCall, ResumeCall:
		r.pauseRunning(ctx, m)
	case LiftRejection:
		r.st.Lifts = append(r.st.Lifts, Lift{Key: m.ID, Interaction: m.InteractionID, By: m.Principal.ID, Note: m.Note})
		r.recordSoon(ctx)
	}
	return Accepted{}
}

// controlCall holds one call, or lets it go on. It was checked; that it is applied once is the answers' own doing.
func (r *agentRun) controlCall(ctx workflow.Context, m ControlMessage) Accepted {
	_, before := r.st.answeredBefore(m.ID)
	if _, err := r.apply(ctx, m.asResponse()); err != nil {
		r.refuse(MessageControl, m.ID, err)
		r.recordSoon(ctx)
	}
	return Accepted{Duplicate: before}
}

// pressing reports whether there is something to record on which the next step depends: a lifted rejection, which the
// next turn may meet, or a change of an interaction, which comes before its end in the record.
func (r *agentRun) pressing() bool { return len(r.st.Lifts) > 0 || len(r.st.Changes) > 0 }

// written waits until what is pressing is in the record.
func (r *agentRun) written(ctx workflow.Context) error {
	if !r.pressing() && !r.writing {
		return nil
	}
	return workflow.Await(ctx, func() bool { return !r.pressing() && !r.writing || r.st.Stop != nil })
}

// pause holds the run or lets it go on; to say twice what holds already changes nothing.
func (r *agentRun) pause(ctx workflow.Context, m ControlMessage) {
	paused := m.Action == PauseRun
	if r.st.Paused == paused || r.st.Stop != nil || r.ended != "" {
		return
	}
	r.st.Paused, r.lastHold = paused, &m
	r.tellChildren(ctx, m)
	r.st.Holds = append(r.st.Holds, Hold{Key: m.ID, Paused: paused, By: m.Principal.ID, Note: m.Note})
	r.showDetails(ctx)
	r.recordSoon(ctx)
}

// hold waits while the run is paused.
func (r *agentRun) hold(ctx workflow.Context) error {
	if !r.st.Paused {
		return nil
	}
	return workflow.Await(ctx, func() bool { return !r.st.Paused || r.st.Stop != nil })
}

// text takes in what a user says to the live run; it joins at the next step boundary.
func (r *agentRun) text(_ workflow.Context, raw converter.RawValue) (Accepted, error) {
	m, err := textOf(raw)
	if err != nil {
		return Accepted{}, refusal(err)
	}
	return r.applyText(m), nil
}

func (r *agentRun) validateText(_ workflow.Context, raw converter.RawValue) error {
	m, err := textOf(raw)
	if err == nil {
		err = r.checkText(m)
	}
	if err != nil {
		return refusal(err)
	}
	return nil
}

func (r *agentRun) textSignal(_ workflow.Context, data []byte) {
	m, err := decodeText(data)
	if err == nil {
		err = r.checkText(m)
	}
	if err != nil {
		r.refuse(MessageText, m.ID, err)
		return
	}
	r.applyText(m)
}

func textOf(raw converter.RawValue) (TextMessage, error) {
	data, err := jsonOf(raw)
	if err != nil {
		return TextMessage{}, err
	}
	return decodeText(data)
}

func decodeText(data []byte) (m TextMessage, err error) {
	if err := strictly(data, &m, &m.ID); err != nil {
		return m, err
	}
	switch {
	case m.Text == "":
		return m, &interaction.Error{Code: interaction.CodeInvalid, Field: "text", Message: "is empty: say something"}
	case len(m.Text) > interaction.MaxMessageBytes:
		return m, &interaction.Error{Code: interaction.CodeTooLarge, Field: "text", Message: fmt.Sprintf("has %d bytes; at most %d are taken", len(m.Text), interaction.MaxMessageBytes)}
	}
	return m, nil
}

func (r *agentRun) checkText(m TextMessage) error {
	if err := r.addressed(m.RunID); err != nil {
		return err
	}
	size := len(m.Text)
	for _, t := range r.st.Texts {
		size += len(t.Text)
	}
	switch {
	case r.kind == PipelineName:
		return &interaction.Error{Code: interaction.CodeWrongRun, Message: "this run is a workflow's, which reads no messages: send it to the run of the stage that is at work" + r.atWork()}
	case r.kind == ApprovalName:
		return &interaction.Error{Code: interaction.CodeWrongRun, Message: "this run is an approval, which reads no messages: answer its question, or cancel it"}
	case r.ended != "" || r.st.Stop != nil:
		return &interaction.Error{Code: interaction.CodeWrongRun, Message: "the run is ending: start a new run in this session"}
	case len(r.st.Texts) >= keepTexts || size > keepTextBytes:
		return &interaction.Error{Code: interaction.CodeTooLarge, Message: "too many messages wait for the next step: send it again later"}
	}
	return nil
}

func (r *agentRun) applyText(m TextMessage) Accepted {
	if r.st.seenBefore(m.ID) {
		return Accepted{Duplicate: true}
	}
	r.st.Texts = append(r.st.Texts, m)
	return Accepted{}
}

// refuseTexts puts into the record what the run could not take in any more.
func (r *agentRun) refuseTexts() {
	for _, t := range r.st.Texts {
		r.refuse(MessageText, t.ID, &interaction.Error{Code: interaction.CodeWrongRun, Message: "the run ended before it could take this message in"})
	}
	r.st.Texts = nil
}

// clip cuts s to at most n bytes at a rune's boundary.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func clipID(id interaction.ResponseID) interaction.ResponseID {
	return interaction.ResponseID(clip(string(id), 200))
}

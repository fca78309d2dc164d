package workflows

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"holdpoint/activities"
	"holdpoint/interaction"
)

// Every message comes by two roads. An update is refused by its validator, which leaves no history, with an
// error that says why. A signal can't be refused: Temporal has stored it before anyone looked at it, so what
// can't be applied is put into the record with the reason. Both are received raw and decoded strictly here: the
// SDK would drop a signal of the wrong shape without a word.

// handle registers the update handlers and the query, and has signals read.
func (r *agentRun) handle(ctx workflow.Context) error {
	if err := workflow.SetQueryHandler(ctx, QueryState, r.state); err != nil {
		return fmt.Errorf("query %s: %w", QueryState, err)
	}
	respond := workflow.UpdateHandlerOptions{Validator: r.validateRespond, Description: "answer interactions"}
	if err := workflow.SetUpdateHandlerWithOptions(ctx, MessageRespond, r.respond, respond); err != nil {
		return fmt.Errorf("update %s: %w", MessageRespond, err)
	}
	control := workflow.UpdateHandlerOptions{Validator: r.validateControl, Description: "stop the run"}
	if err := workflow.SetUpdateHandlerWithOptions(ctx, MessageControl, r.control, control); err != nil {
		return fmt.Errorf("update %s: %w", MessageControl, err)
	}
	text := workflow.UpdateHandlerOptions{Validator: r.validateText, Description: "say something to the agent"}
	if err := workflow.SetUpdateHandlerWithOptions(ctx, MessageText, r.text, text); err != nil {
		return fmt.Errorf("update %s: %w", MessageText, err)
	}
	r.attendTo(ctx, signals)
	return nil
}

// signal is one kind of message that comes as a signal.
type signal struct {
	name  string
	apply func(r *agentRun, ctx workflow.Context, data []byte)
}

var answers = signal{MessageRespond, (*agentRun).respondSignal}

// signals are read in this order where it matters: what is asked, what a person said to the agent, then answers, then control.
var signals = []signal{
	{MessageAsked, (*agentRun).askedSignal},
	{MessageText, (*agentRun).textSignal},
	answers,
	{MessageControl, (*agentRun).controlSignal},
	{MessageRecheck, (*agentRun).recheckSignal},
}

// inbox is what comes as one kind of signal.
type inbox struct {
	signal
	channel workflow.ReceiveChannel
}

// attendTo has signals read.
func (r *agentRun) attendTo(ctx workflow.Context, kinds []signal) {
	for _, s := range kinds {
		r.inboxes = append(r.inboxes, inbox{s, workflow.GetSignalChannel(ctx, s.name)})
	}
	r.life = ctx
	r.listen()
}

// listen has a coroutine take in signals and keep deadlines, until it is relieved.
func (r *agentRun) listen() {
	r.shift++
	mine := r.shift
	workflow.Go(r.life, func(ctx workflow.Context) {
		always, stop := workflow.NewDisconnectedContext(ctx) // what comes after a cancellation is read as well
		defer stop()
		_ = r.attend(always, func() bool { return r.shift != mine })
	})
}

// relieve does the listener's work until done, in the run's own coroutine: each that a workflow has takes some eight KiB for as
// long as the workflow waits.
func (r *agentRun) relieve(ctx workflow.Context, done func() bool) error {
	if done() {
		return nil
	}
	r.shift++
	err := r.attend(ctx, done)
	r.listen()
	return err
}

// attend takes in signals and keeps deadlines until done.
func (r *agentRun) attend(ctx workflow.Context, done func() bool) error {
	for {
		if err := workflow.Await(ctx, func() bool { return done() || r.sent() || r.deadline.moved(r) }); err != nil || done() {
			return err
		}
		if err := r.aside(ctx, r.tend); err != nil {
			return err
		}
	}
}

// tend takes in what was sent, and does what time has come for.
func (r *agentRun) tend(ctx workflow.Context) error {
	r.drain(r.life)
	if r.deadline.moved(r) {
		r.deadline.follow(ctx, r)
	}
	return nil
}

// aside does something in a coroutine that ends with it. A stack grows to the next power of two, and hardly ever gets smaller:
// one that is to be kept while the run waits, for months, is left to wait.
func (r *agentRun) aside(ctx workflow.Context, do func(ctx workflow.Context) error) (err error) {
	if r.version < versionOneCoroutine {
		return do(ctx)
	}
	done := false
	workflow.Go(ctx, func(ctx workflow.Context) {
		defer func() { done = true }()
		err = do(ctx)
	})
	free, cancel := workflow.NewDisconnectedContext(ctx) // what is cancelled ends by itself
	defer cancel()
	_ = workflow.Await(free, func() bool { return done })
	return err
}

// sent reports whether a signal waits to be taken in.
func (r *agentRun) sent() bool {
	return slices.ContainsFunc(r.inboxes, func(in inbox) bool { return in.channel.Len() > 0 })
}

// drain takes in what lies in the channels now.
func (r *agentRun) drain(ctx workflow.Context) {
	for _, in := range r.inboxes {
		for {
			var raw converter.RawValue
			if !in.channel.ReceiveAsync(&raw) {
				break
			}
			r.take(ctx, in.signal, raw)
		}
	}
}

func (r *agentRun) take(ctx workflow.Context, s signal, raw converter.RawValue) {
	data, err := jsonOf(raw)
	if err != nil {
		r.refuse(s.name, "", err)
	} else {
		s.apply(r, ctx, data)
	}
	r.recordSoon(ctx)
}

// jsonOf returns a payload's JSON, whoever encoded it.
func jsonOf(raw converter.RawValue) ([]byte, error) {
	p := raw.Payload()
	if p == nil {
		return nil, &interaction.Error{Code: interaction.CodeInvalid, Message: "the message is empty: send one JSON object"}
	}
	if enc := string(p.GetMetadata()[converter.MetadataEncoding]); enc != converter.MetadataEncodingJSON {
		return nil, &interaction.Error{Code: interaction.CodeInvalid, Message: fmt.Sprintf("the message is encoded as %q: send JSON (json/plain)", enc)}
	}
	return p.GetData(), nil
}

// payloadID names a message whose sender gave it no id: the same bytes are the same message.
func payloadID(data []byte) interaction.ResponseID {
	sum := sha256.Sum256(data)
	return interaction.ResponseID("payload-" + hex.EncodeToString(sum[:12]))
}

// refusal is the error of an update: its type is the code, its details the whole error.
func refusal(err error) error {
	var e *interaction.Error
	if !errors.As(err, &e) {
		e = &interaction.Error{Code: interaction.CodeInvalid, Message: err.Error()}
	}
	return temporal.NewNonRetryableApplicationError(e.Error(), string(e.Code), nil, e)
}

// refuse keeps a message that came as a signal and can't be applied.
func (r *agentRun) refuse(message string, id interaction.ResponseID, err error) {
	var e *interaction.Error
	if !errors.As(err, &e) {
		e = &interaction.Error{Code: interaction.CodeInvalid, Message: err.Error()}
	}
	r.st.refuse(Refusal{ResponseID: clipID(id), Message: message, Code: string(e.Code), Reason: clip(e.Error(), 500)})
}

// recordSoon puts refusals into the record without keeping the reader of a channel waiting.
func (r *agentRun) recordSoon(ctx workflow.Context) {
	if r.recorded() || r.recording || r.st.AgentDigest == "" {
		return
	}
	r.recording = true
	workflow.Go(ctx, func(ctx workflow.Context) {
		defer func() { r.recording = false }()
		ctx, cancel := workflow.NewDisconnectedContext(ctx)
		defer cancel()
		r.recordNews(ctx)
	})
}

func (r *agentRun) recorded() bool {
	return r.st.Unrecorded == 0 && len(r.st.Holds) == 0 && len(r.st.CallHolds) == 0 && len(r.st.Ended) == 0 && !r.pressing()
}

// recordNews writes what is not in the record yet: messages that could not be applied, pauses. What can't be
// written stays visible in the state query.
func (r *agentRun) recordNews(ctx workflow.Context) {
	for !r.recorded() {
		list, first, dropped := r.st.takeUnrecorded()
		in := activities.RecordInput{RunID: r.in.RunID}
		for _, h := range r.st.Holds {
			in.Holds = append(in.Holds, activities.Hold(h))
		}
		for _, l := range r.st.Lifts {
			in.Lifts = append(in.Lifts, activities.Lift(l))
		}
		in.Changes, in.CallHolds, in.Outcomes = r.st.Changes, r.st.CallHolds, r.st.Ended
		r.writing = r.pressing()
		r.st.Holds, r.st.Lifts, r.st.Changes, r.st.CallHolds, r.st.Ended = nil, nil, nil, nil, nil
		for i, f := range list {
			in.Refused = append(in.Refused, activities.Refused{Key: fmt.Sprintf("%d-%s", first+i, f.ResponseID),
				ResponseID: f.ResponseID, Code: f.Code, Reason: f.Message + ": " + f.Reason})
		}
		if dropped > 0 {
			in.Refused = append(in.Refused, activities.Refused{Key: fmt.Sprintf("%d-dropped", first), Code: string(interaction.CodeTooLarge),
				Reason: fmt.Sprintf("%d more messages could not be applied; they were too many to be kept", dropped)})
		}
		if err := workflow.ExecuteActivity(r.record(ctx, "messages"), activities.RecordName, in).Get(ctx, nil); err != nil {
			workflow.GetLogger(ctx).Error("what came could not be recorded", "run_id", r.in.RunID, "error", err)
		}
		r.writing = false
	}
}

package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"holdpoint/agent"
	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/llm"
	"holdpoint/tool"
)

// maxCallsPerTurn bounds the calls of one turn that are carried out; the others get an error result. It keeps
// what a turn adds to history bounded whatever a model writes.
const maxCallsPerTurn = 64

// CallModel takes one turn: it loads the transcript, calls the model, and stores in one transaction the
// assistant's step, the calls, what was decided of each, the interactions opened, and the events. Once that
// transaction has committed, every later attempt returns its result: what a reviewer has seen stays.
func (a *Activities) CallModel(ctx context.Context, in CallModelInput) (CallModelResult, error) {
	stop := heartbeat(ctx)
	defer stop()
	ag, stored, err := a.turnBefore(ctx, in)
	if err != nil || stored != nil {
		return deref(stored), err
	}
	reply, err := a.generate(ctx, in, ag)
	if err != nil {
		return CallModelResult{}, err
	}
	calls, err := a.takeIn(ctx, in, ag, reply.Reply)
	if err != nil {
		return CallModelResult{}, err
	}
	var out CallModelResult
	err = a.Store.Write(ctx, func(tx Tx) error {
		prior, err := storedTurn(ctx, tx, in)
		if err != nil || prior != nil { // another attempt was faster
			out = deref(prior)
			return err
		}
		out, err = a.storeTurn(ctx, tx, in, ag, reply, calls)
		return err
	})
	if err == nil {
		a.at(PointTurnStored)
	}
	return out, err
}

func deref(r *CallModelResult) CallModelResult {
	if r == nil {
		return CallModelResult{}
	}
	return *r
}

// turnBefore returns the agent, and the turn's result if it is stored.
func (a *Activities) turnBefore(ctx context.Context, in CallModelInput) (ag agent.Agent, stored *CallModelResult, err error) {
	err = a.Store.Write(ctx, func(tx Tx) error {
		if stored, err = storedTurn(ctx, tx, in); err != nil || stored != nil {
			return err
		}
		ag, err = agentOf(ctx, tx, in.AgentDigest)
		return err
	})
	return ag, stored, err
}

// storedTurn returns a turn that was stored before, each call as it stands now. After a reset, calls of old turns
// have their results, and what a workflow must wait for is what is still open.
func storedTurn(ctx context.Context, tx Tx, in CallModelInput) (*CallModelResult, error) {
	raw, found, err := tx.Turn(ctx, in.RunID, in.Turn)
	if err != nil || !found {
		return nil, err
	}
	var r CallModelResult
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, fmt.Errorf("stored turn %d of run %s: %w", in.Turn, in.RunID, err)
	}
	open, err := tx.OpenInteractions(ctx, in.RunID)
	if err != nil {
		return nil, err
	}
	for i := range r.Calls {
		if err := refresh(ctx, tx, &r.Calls[i], open); err != nil {
			return nil, err
		}
	}
	return &r, nil
}

func refresh(ctx context.Context, tx Tx, p *CallPlan, open []interaction.Interaction) error {
	rec, err := callOf(ctx, tx, p.CallID)
	if err != nil {
		return err
	}
	p.Interaction = nil
	if rec.Result != nil {
		p.Next, p.Status = NextDone, rec.Result.Status
		return nil
	}
	if rec.SharedWith != "" {
		p.Next = NextShared
		return nil
	}
	p.Next = NextRun // RunTool finds out what, if anything, must be asked
	for _, i := range open {
		if i.Request.ToolCallID == p.CallID {
			brief := i.Request.Brief()
			p.Next, p.Interaction = NextGate, &brief
		}
	}
	return nil
}

// answered is what came of asking a model: its reply, and which tools it was asked without.
type answered struct {
	llm.Reply
	without map[string]string
}

func (a *Activities) generate(ctx context.Context, in CallModelInput, ag agent.Agent) (out answered, err error) {
	model, err := a.Definitions.Model(ag.Model)
	if err != nil {
		return out, permanent(CodeUnknownModel, "model %q: %v", ag.Model, err)
	}
	steps, err := a.Store.Transcript(ctx, in.SessionID)
	if err != nil {
		return out, fmt.Errorf("transcript of session %s: %w", in.SessionID, err)
	}
	messages := transcript(steps)
	for _, t := range in.Texts {
		messages = append(messages, llm.Message{Role: llm.RoleUser, Content: t.Text})
	}
	messages = goOn(messages)
	tools, without := a.definitionsOf(ag)
	pieces := a.deltas(ctx, in)
	observed, ended := a.observer().Calling(ctx, ag.Model)
	reply, err := model.Generate(observed, llm.Request{System: ag.SystemPrompt, Messages: messages,
		Tools: tools, Delta: pieces.add})
	pieces.close()
	ended(reply.Usage, err)
	if err != nil {
		return out, modelError(err)
	}
	reply.Message.Role = llm.RoleAssistant
	if n := sizeOf(reply.Message); n > MaxReplyBytes {
		return out, permanent(CodeReplyTooLarge, "the model %s replied with %d bytes, and %d are taken at once", ag.Model, n, MaxReplyBytes)
	}
	return answered{reply, without}, nil
}

// MaxReplyBytes bounds what a model says in one turn, its calls included, as JSON. It leaves room below what the store keeps of one
// value: arguments stand in a call's record several times, with their quotes escaped again.
const MaxReplyBytes = 1 << 20

func sizeOf(m llm.Message) int {
	b, err := json.Marshal(m)
	if err != nil { // it can't be stored either, which says why
		return 0
	}
	return len(b)
}

func (a *Activities) definitionsOf(ag agent.Agent) (defs []tool.Definition, without map[string]string) {
	for _, t := range a.agentTools(ag) {
		defs = append(defs, t.Definition())
	}
	tools, without := a.offered(ag)
	for _, t := range tools {
		defs = append(defs, t.Definition())
	}
	return defs, without
}

// transcript turns steps into messages. A call that has no result (its run was ended from outside) gets one
// that says so, since every provider refuses a transcript with a gap.
func transcript(steps []llm.Step) []llm.Message {
	var out []llm.Message
	var missing []llm.ToolCall
	flush := func() {
		for _, c := range missing {
			out = append(out, llm.Message{Role: llm.RoleTool, ProviderID: c.ProviderID, ToolName: c.Name,
				ToolStatus: string(tool.StatusAborted), Content: "No result: the run was ended before this call was carried out."})
		}
		missing = nil
	}
	for _, s := range steps {
		m := s.Message
		if m.Role != llm.RoleTool {
			flush()
			out = append(out, m)
			missing = m.ToolCalls
			continue
		}
		for len(missing) > 0 && missing[0].ID != s.CallID { // results are ordered as the calls are
			head := missing[0]
			rest := missing[1:]
			missing = []llm.ToolCall{head}
			flush()
			missing = rest
		}
		if len(missing) > 0 {
			missing = missing[1:]
			out = append(out, m)
		}
	}
	flush()
	return out
}

// pieces sends a step's text on while it is written, gathered so that a long answer is tens of writes, not
// thousands.
type pieces struct {
	send func(text string, offset int)
	in   chan string
	done chan struct{}
}

const pieceInterval = 100 * time.Millisecond

func (a *Activities) deltas(ctx context.Context, in CallModelInput) *pieces {
	attempt := int(activity.GetInfo(ctx).Attempt)
	p := &pieces{in: make(chan string, 256), done: make(chan struct{})}
	p.send = func(text string, offset int) {
		// A lost piece costs nothing: the whole step follows as an event.
		_ = a.Store.Delta(ctx, in.RunID, event.StepDeltaData{Turn: in.Turn, Attempt: attempt, Offset: offset, Text: text})
	}
	go p.loop()
	return p
}

func (p *pieces) add(text string) {
	select {
	case p.in <- text:
	default: // a full buffer drops live text rather than slow the model down
	}
}

func (p *pieces) close() {
	close(p.in)
	<-p.done
}

func (p *pieces) loop() {
	defer close(p.done)
	tick := time.NewTicker(pieceInterval)
	defer tick.Stop()
	var buf []byte
	sent := 0
	flush := func() {
		if len(buf) > 0 {
			p.send(string(buf), sent)
			sent += len(buf)
			buf = buf[:0]
		}
	}
	for {
		select {
		case text, more := <-p.in:
			buf = append(buf, text...)
			if !more {
				flush()
				return
			}
		case <-tick.C:
			flush()
		}
	}
}

// callID names a call: unique whatever ids the provider reuses, and the same on every attempt.
func callID(run interaction.RunID, turn, index int) interaction.CallID {
	return interaction.CallID(fmt.Sprintf("%s-%d-%d", run, turn, index))
}

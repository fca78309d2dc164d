package activities

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"holdpoint/agent"
	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/permission"
	"holdpoint/tool"
)

// An approval is a run that a program which is no agent starts: what it asks is decided by the same rules, at the same
// gate and into the same record as a call of an agent, and carried out by the program itself.

// TakeApprovalInput goes one step on with an approval. Steps count from 1.
type TakeApprovalInput struct {
	RunID      interaction.RunID       `json:"run_id"`
	SessionID  interaction.SessionID   `json:"session_id"`
	WorkflowID string                  `json:"workflow_id"`
	UserID     interaction.PrincipalID `json:"user_id,omitempty"`
	Requester  interaction.PrincipalID `json:"requester,omitempty"`
	Metadata   map[string]string       `json:"metadata,omitempty"`
	Ask        json.RawMessage         `json:"ask,omitempty"` // with step 1: an agent.Ask
	Step       int                     `json:"step"`
	// Outcome is how the gate of the step before closed. Released says that a rule decides it now.
	Outcome  *interaction.Outcome `json:"outcome,omitempty"`
	Released bool                 `json:"released,omitempty"`
	// Unasked says that the approval is cancelled before its first step was taken: it gets a record to end in, and asks nobody.
	Unasked bool `json:"unasked,omitempty"`
}

// TakeApprovalResult says what to do next: wait at Gate, or, without one, end.
type TakeApprovalResult struct {
	AgentDigest string               `json:"agent_digest"`
	Gate        *interaction.Request `json:"gate,omitempty"`
	Head        event.Head           `json:"head"`
}

// TakeApproval decides an ask by the rules as they stand now, and by what people have answered so far. A step that was
// taken gives its result again.
func (a *Activities) TakeApproval(ctx context.Context, in TakeApprovalInput) (TakeApprovalResult, error) {
	if in.Step == 1 {
		run, unreadable := in.opens(a.Now())
		if in.Unasked || unreadable != nil {
			return TakeApprovalResult{}, cmp.Or(a.insert(ctx, run), unreadable)
		}
	}
	var before *verdict
	var x *asking
	err := a.Store.Write(ctx, func(tx Tx) (err error) {
		if x, err = a.openAsk(ctx, tx, in); err != nil || x.taken != nil {
			return err
		}
		x.rules, err = a.rulesFor(ctx, tx, x.run, x.ag)
		return err
	})
	if err != nil || x.taken != nil {
		return derefTaken(x), err
	}
	before = &verdict{under: x.rules.key, decision: a.judge(x.rules, x.run, x.ag, x.def, x.args)}
	err = a.Store.Write(ctx, func(tx Tx) (err error) {
		if x, err = a.openAsk(ctx, tx, in); err != nil || x.taken != nil {
			return err
		}
		d, err := a.decide(ctx, tx, x.run, x.ag, x.def, x.args, nil, before)
		if err != nil {
			return err
		}
		return x.take(d)
	})
	return derefTaken(x), err
}

// opens is the row that an approval has from its first step on. One whose ask can't be read has a row too, for its end.
func (in TakeApprovalInput) opens(now time.Time) (agent.Run, error) {
	run := agent.Run{ID: in.RunID, SessionID: in.SessionID, WorkflowID: in.WorkflowID, Agent: agent.ApprovalAgent, UserID: in.UserID,
		Requester: in.Requester, Metadata: in.Metadata, Status: agent.RunRunning, StartedAt: now}
	var ask agent.Ask
	if err := json.Unmarshal(in.Ask, &ask); err != nil {
		return run, permanent(CodeInternal, "what is asked can't be read: %v", err)
	}
	run.Input, run.Ask = ask.Title, &ask
	return run, nil
}

// insert sees to it that a run has its row; the bridge may have inserted it already.
func (a *Activities) insert(ctx context.Context, run agent.Run) error {
	return a.Store.Write(ctx, func(tx Tx) error {
		_, err := tx.InsertRun(ctx, run)
		return err
	})
}

func derefTaken(x *asking) TakeApprovalResult {
	if x == nil || x.taken == nil {
		return TakeApprovalResult{}
	}
	return *x.taken
}

// asking is one step of an approval in one transaction.
type asking struct {
	ctx    context.Context
	tx     Tx
	in     TakeApprovalInput
	run    agent.Run
	ask    agent.Ask
	ag     agent.Agent
	def    tool.Definition
	args   []byte // that would be approved now
	edited bool
	asked  interaction.Interaction // whose gate has closed, if one has
	rules  inForce
	now    time.Time
	events []event.Event
	taken  *TakeApprovalResult
}

// openAsk reads where an approval stands. The first step opens its record.
func (a *Activities) openAsk(ctx context.Context, tx Tx, in TakeApprovalInput) (*asking, error) {
	x := &asking{ctx: ctx, tx: tx, in: in, now: a.Now()}
	if err := x.open(); err != nil {
		return nil, err
	}
	var taken TakeApprovalResult
	found, err := readTurn(ctx, tx, in.RunID, in.Step, &taken)
	if err != nil {
		return nil, err
	}
	if found {
		x.taken = &taken
		return x, nil
	}
	x.ag = agent.Agent{Name: agent.ApprovalAgent, Policy: x.ask.Policy, EnableHITL: true, EnablePermissions: true}
	x.def = a.askedTool(x.ask)
	x.args = x.ask.Arguments()
	if in.Outcome == nil {
		return x, nil
	}
	if x.asked, _, err = tx.Interaction(ctx, in.Outcome.InteractionID); err != nil {
		return nil, err
	}
	if len(x.asked.Request.ToolArgs) > 0 {
		x.args = x.asked.Request.ToolArgs
		x.edited = string(x.args) != string(x.ask.Arguments())
	}
	if in.Outcome.Action == interaction.ActionModifyArgs && len(in.Outcome.Responses) > 0 {
		x.args, err = editedArgs(ctx, tx, in.Outcome.Responses[len(in.Outcome.Responses)-1])
		x.edited = true
	}
	return x, err
}

func (x *asking) open() (err error) {
	if x.in.Step == 1 {
		run, err := x.in.opens(x.now)
		if err != nil {
			return err
		}
		if _, err := x.tx.InsertRun(x.ctx, run); err != nil { // the bridge may have inserted it already
			return err
		}
	}
	if x.run, _, err = lockRun(x.ctx, x.tx, x.in.RunID); err != nil {
		return err
	}
	if x.run.Ask == nil {
		return permanent(CodeInternal, "run %s is no approval", x.in.RunID)
	}
	x.ask = *x.run.Ask
	return nil
}

// askedTool is what a program would do, as rules know it. It always needs consent: no default lets it go on.
func (a *Activities) askedTool(ask agent.Ask) tool.Definition {
	def := Unconfigured(ask.Named())
	if t, ok := a.Definitions.Tool(ask.Named()); ok {
		def = t.Definition()
	}
	def.Consent = tool.ConsentAlways
	return def
}

// take decides the step, writes it down, and says what is next.
func (x *asking) take(d permission.Decision) error {
	res := TakeApprovalResult{AgentDigest: x.ag.Digest()}
	if x.run.AgentDigest == "" {
		if err := x.begin(res.AgentDigest); err != nil {
			return err
		}
	}
	if err := x.close(); err != nil {
		return err
	}
	decided, why := x.decided(d)
	switch {
	case decided != nil:
		x.run.Decision = decided
		x.run.Output = decided.Sentence()
		if decided.Status == agent.DecisionDenied {
			x.emit(event.ToolAuthDenied, deniedData(tool.Call{Name: x.ask.Named()}, d, x.asked.Request.ID))
		}
	default:
		gate, err := x.gate(d, why)
		if err != nil {
			return err
		}
		res.Gate = gate
	}
	return x.commit(res)
}

// begin opens the record.
func (x *asking) begin(digest string) error {
	x.run.AgentDigest = digest
	if err := x.tx.SaveAgent(x.ctx, digest, x.ag); err != nil {
		return err
	}
	x.emit(event.RunStarted, event.RunStartedData{SessionID: x.run.SessionID, Agent: x.run.Agent, AgentDigest: digest,
		UserID: x.run.UserID, Input: x.run.Input, Metadata: x.run.Metadata})
	return nil
}

// close puts into the record how the gate before closed.
func (x *asking) close() error {
	if x.in.Outcome == nil {
		return nil
	}
	data, err := closeInteraction(x.ctx, x.tx, *x.in.Outcome)
	if err != nil || data == nil {
		return err
	}
	x.emit(event.InteractionResponse, *data)
	x.emit(event.ExecutionResumed, event.ResumedData{InteractionID: x.in.Outcome.InteractionID})
	return nil
}

// decided says how the approval ends now; nil, and why, where people must be asked.
func (x *asking) decided(d permission.Decision) (*agent.Decision, string) {
	out := agent.Decision{Reason: d.Reason, At: x.now, Args: x.ask.Args, Edited: x.edited}
	if x.edited {
		out.Args = x.args
	}
	if d.Matched != nil {
		out.Rule = d.Matched.Pattern
	}
	answer := x.in.Outcome
	if answer != nil && !x.in.Released {
		if ended := x.refusedBy(answer); ended != nil {
			return ended, ""
		}
	}
	switch {
	case d.Effect == permission.Deny:
		out.Status, out.Args, out.Edited = agent.DecisionDenied, nil, false
		return &out, ""
	case answer != nil && !x.in.Released:
		ok, why := true, ""
		if d.Effect == permission.Ask {
			ok, why = enough(needs(x.ask, d.Approval), requester(x.run), x.asked, answer, x.now)
		}
		if marked := interaction.CheckMarks(x.args); marked != nil && x.edited { // sent past the bridge, which refuses it
			ok, why = false, "the edited arguments were not accepted ("+marked.Error()+")"
		}
		if !ok {
			return nil, why
		}
		out.Status, out.By, out.Rule, out.At = agent.DecisionApproved, approvers(answer), "", answer.At
		out.Reason = lastWords(*answer)
		return &out, ""
	case d.Effect == permission.Allow && !x.edited: // what a reviewer wrote is for people to decide
		out.Status = agent.DecisionApproved
		return &out, ""
	}
	return nil, ""
}

// refusedBy is the end that an answer other than an approval is.
func (x *asking) refusedBy(answer *interaction.Outcome) *agent.Decision {
	out := agent.Decision{Status: agent.DecisionRejected, Reason: answer.Reason, At: answer.At}
	switch {
	case answer.Status == interaction.StatusExpired:
		out.Status = agent.DecisionExpired
	case answer.Status == interaction.StatusAnswered && (answer.Action == interaction.ActionApprove || answer.Action == interaction.ActionModifyArgs):
		return nil
	default:
		if n := len(answer.Responses); n > 0 {
			out.By = []interaction.PrincipalID{answer.Responses[n-1].Reviewer.ID}
			out.Reason = lastWords(*answer)
		}
	}
	return &out
}

func lastWords(out interaction.Outcome) string {
	if n := len(out.Responses); n > 0 {
		if r := out.Responses[n-1]; r.Feedback != "" {
			return r.Feedback
		} else if r.Note != "" {
			return r.Note
		}
	}
	return out.Reason
}

func approvers(out *interaction.Outcome) []interaction.PrincipalID {
	var by []interaction.PrincipalID
	for _, r := range out.Responses {
		if (r.Action == interaction.ActionApprove || r.Action == interaction.ActionModifyArgs) && !slices.Contains(by, r.Reviewer.ID) {
			by = append(by, r.Reviewer.ID)
		}
	}
	return by
}

// commit writes the run, its events, and the step's result.
func (x *asking) commit(res TakeApprovalResult) error {
	if x.run.Status != agent.RunPaused {
		x.run.Status = agent.RunRunning
		if res.Gate != nil {
			x.run.Status = agent.RunAwaitingHuman
		}
	}
	if err := x.tx.UpdateRun(x.ctx, x.run); err != nil {
		return err
	}
	var err error
	if res.Head, err = x.tx.AppendEvents(x.ctx, x.run.ID, x.events...); err != nil {
		return err
	}
	raw, err := json.Marshal(res)
	if err != nil {
		return fmt.Errorf("step %d of approval %s: %w", x.in.Step, x.run.ID, err)
	}
	x.taken = &res
	return x.tx.SaveTurn(x.ctx, x.run.ID, x.in.Step, raw)
}

func (x *asking) emit(t event.Type, data any) {
	x.events = append(x.events, event.New(x.run.ID, t, x.now, data))
}

// editedArgs are the arguments of a reviewer, in whichever way they were sent.
func editedArgs(ctx context.Context, tx Tx, r interaction.Response) ([]byte, error) {
	if r.ArgsRef == "" {
		return r.Args, nil
	}
	stored, found, err := tx.Response(ctx, r.ArgsRef)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(stored.Args)
	if !found || hex.EncodeToString(sum[:]) != r.ArgsDigest {
		return nil, permanent(CodeInternal, "the edited arguments %s are not in the store as they were sent", r.ArgsRef)
	}
	return stored.Args, nil
}

package workflows_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"holdpoint/activities"
	"holdpoint/interaction"
	"holdpoint/tool"
)

// fate is what befalls a call while it is carried out.
type fate string

const (
	fateSmooth   fate = ""
	fateFree     fate = "free"     // no rule asks about it
	fateFlaky    fate = "flaky"    // the worker dies before it has claimed the call
	fateDies     fate = "dies"     // the worker dies in the middle of the effect
	fateStricter fate = "stricter" // when it is about to run, the approval is not enough
	fateAsks     fate = "asks"     // the tool itself asks, before its effect
	fateHeld     fate = "held"     // its output waits until people release it
	fateLive     fate = "live"     // the tool asks while it runs, and may give up before anybody answers
	fateAgent    fate = "agent"    // it hands the work to another agent, whose calls ask in their turn
)

// called is a call of a turn.
type called struct {
	Rule rule
	Fate fate
	Sub  []called // of the agent that it hands the work to
}

// world is what a run does to the world: its activities, doubled, with a ledger, rules, and the effects that happened.
type world struct {
	now    func() time.Time
	turns  [][]called
	stages []called // of a workflow of agents, which then takes the place of turns
	// while calls run that ask: later has something happen then, and tell is the signal of such a call. Where they are nil,
	// no call can ask while it runs.
	later  func(wait time.Duration, then func())
	tell   func(run interaction.RunID, q activities.Inquiry)
	ended  func(token []byte, res activities.RunToolResult)
	mu     sync.Mutex
	asked  []interaction.Request
	begun  map[interaction.CallID]time.Time // when an activity last began to carry it out
	calls  map[interaction.CallID]*callState
	told   map[interaction.ID][]interaction.Outcome // outcomes that were handed over, by interaction
	texts  map[int][]string                         // taken in, by turn
	record []activities.RecordInput
	turn   int // that the model took last
	ends   []activities.FinishRunInput
	wrong  []string
}

type callState struct {
	called
	law     string // "", "allow" or "deny": a rule that came while it waited
	tries   int
	phase   int // questions so far
	effects int
	again   int // times that a person said to run it again
	started bool
	held    bool // its output is in the ledger
	result  tool.Status
	runs    []time.Time
	token   []byte // of the activity that asks while it runs
	begun   bool   // the other agent was called
}

func newWorld(turns [][]called) *world {
	w := &world{turns: turns, begun: map[interaction.CallID]time.Time{}, calls: map[interaction.CallID]*callState{},
		told: map[interaction.ID][]interaction.Outcome{}, texts: map[int][]string{}}
	for t, calls := range turns {
		for i, c := range calls {
			w.know(callID(t+1, i+1), c)
		}
	}
	return w
}

// know adds a call, and those of the agent that it hands the work to.
func (w *world) know(id interaction.CallID, c called) {
	w.calls[id] = &callState{called: c}
	for i, sub := range c.Sub {
		w.know(interaction.CallID(fmt.Sprintf("%s-sub-1-%d", id, i+1)), sub)
	}
}

// turnOf are the calls of a run's turn.
func (w *world) turnOf(run interaction.RunID, turn int) (calls []called) {
	switch by, sub := strings.CutSuffix(string(run), "-sub"); {
	case sub && turn == 1:
		return w.calls[interaction.CallID(by)].Sub
	case !sub && turn <= len(w.turns):
		return w.turns[turn-1]
	default:
		return nil
	}
}

func (w *world) activities() map[string]any {
	return map[string]any{activities.StartRunName: w.startRun, activities.CallModelName: w.callModel, activities.RunToolName: w.runTool, activities.RunQuickName: w.runQuick,
		activities.ResolveCallName: w.resolveCall, activities.RecheckName: w.recheck, activities.RecordName: w.recordNews, activities.FinishRunName: w.finishRun,
		activities.ResolveAgentName: w.resolveAgent, activities.TakeStageName: w.takeStage, activities.EndStageName: w.endStage}
}

const modelRun = interaction.RunID("r")

func callID(turn, n int) interaction.CallID {
	return interaction.CallID(fmt.Sprintf("%s-%d-%d", modelRun, turn, n))
}

func (w *world) complain(format string, args ...any) {
	w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
}

// ask opens a question about a call.
func (w *world) ask(id interaction.CallID, kind interaction.Kind, r rule) *interaction.Request {
	c := w.calls[id]
	c.phase++
	q := interaction.Request{ID: interaction.ID(fmt.Sprintf("%s-%d", id, c.phase)), RunID: runOf(interaction.ID(fmt.Sprintf("%s-%d", id, c.phase))), ToolCallID: id, ToolName: "effect", Kind: kind,
		Title: "effect", Digest: fmt.Sprintf("sha256:%s-%d", id, c.phase), Reviewers: r.Reviewers, Quorum: r.Quorum, ExcludeRequester: r.FourEyes,
		Requester: requester, OnTimeout: r.OnTimeout, CreatedAt: w.now()}
	if kind == interaction.KindTool {
		q.Type, q.Required = interaction.TypeInput, true
		q.Live = c.Fate == fateLive
	}
	if r.Timeout > 0 {
		q.ExpiresAt = later(q.CreatedAt, r.Timeout)
	}
	if r.Remind > 0 {
		q.RemindEvery = time.Duration(r.Remind)*time.Minute + 40*time.Second
	}
	if r.Escalate > 0 {
		q.Escalate = []interaction.Escalation{{After: later(q.CreatedAt, r.Escalate).Sub(q.CreatedAt), To: []string{r.EscalateTo}}}
	}
	brief := interaction.Open(q, w.now()).Request.Brief()
	w.asked = append(w.asked, brief)
	return &brief
}

// rules under which a question was asked.
func (w *world) ruleOf(q interaction.Request) rule {
	c := w.calls[q.ToolCallID]
	switch {
	case q.Live:
		return liveRule
	case q.Kind != interaction.KindPermission && q.Kind != interaction.KindResult && q.Kind != interaction.KindStage:
		return rule{}
	case c.Fate == fateStricter && strings.HasSuffix(string(q.ID), "-2"):
		return stricter
	default:
		return c.Rule
	}
}

// liveRule is how a running call asks; one in two gives up before the deadline.
var liveRule = rule{Timeout: 4}

const givesUpAfter = 2

func givesUp(id interaction.CallID) bool { return strings.HasSuffix(string(id), "-1") }

var stricter = rule{Reviewers: []string{"ada", "bo"}, Quorum: 2}

func (w *world) startRun(context.Context, activities.StartRunInput) (activities.StartRunResult, error) {
	return activities.StartRunResult{AgentDigest: "sha256:agent", MaxSteps: 20}, nil
}

func (w *world) callModel(_ context.Context, in activities.CallModelInput) (activities.CallModelResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if in.RunID == modelRun {
		for _, t := range in.Texts {
			w.texts[in.Turn] = append(w.texts[in.Turn], t.Text)
		}
		w.turn = in.Turn
	}
	calls := w.turnOf(in.RunID, in.Turn)
	if len(calls) == 0 {
		return activities.CallModelResult{Final: true}, nil
	}
	var out activities.CallModelResult
	for i, c := range calls {
		plan := activities.CallPlan{CallID: interaction.CallID(fmt.Sprintf("%s-%d-%d", in.RunID, in.Turn, i+1)), Tool: "effect", Next: activities.NextRun}
		plan.Quick = c.Fate == fateFree
		if c.Fate != fateFree {
			plan.Next, plan.Interaction = activities.NextGate, w.ask(plan.CallID, interaction.KindPermission, c.Rule)
		}
		out.Calls = append(out.Calls, plan)
	}
	return out, nil
}

func (w *world) hand(out *interaction.Outcome) {
	if out == nil {
		return
	}
	same := func(o interaction.Outcome) bool {
		return o.Action == out.Action && o.Status == out.Status && len(o.Responses) == len(out.Responses)
	}
	if !slices.ContainsFunc(w.told[out.InteractionID], same) { // an approval comes with every attempt
		w.told[out.InteractionID] = append(w.told[out.InteractionID], *out)
	}
}

var errDied = errors.New("the worker died")

// runQuick carries a call out in a workflow task, but for those that are second in their turn: they don't end in time.
func (w *world) runQuick(ctx context.Context, in activities.RunToolInput) (activities.RunQuickResult, error) {
	if in.Approval != nil || in.Answer != nil || in.Released != nil {
		w.complain("call %s is to run in a workflow task, on somebody's word", in.CallID)
	}
	if strings.HasSuffix(string(in.CallID), "-2") {
		return activities.RunQuickResult{Left: true}, nil
	}
	res, err := w.runTool(ctx, in)
	return activities.RunQuickResult{RunToolResult: res}, err
}

func (w *world) runTool(ctx context.Context, in activities.RunToolInput) (activities.RunToolResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.calls[in.CallID]
	if c.tries++; c.Fate == fateFlaky && c.tries == 1 {
		return activities.RunToolResult{}, errDied
	}
	for _, out := range []*interaction.Outcome{in.Approval, in.Answer, in.Released} {
		w.hand(out)
	}
	if c.result != "" {
		w.complain("call %s was run although it had its result", in.CallID)
		return activities.RunToolResult{Status: c.result}, nil
	}
	if c.held {
		return w.release(c, in)
	}
	if c.started {
		again := in.Approval != nil && w.kindOf(in.Approval.InteractionID) == interaction.KindOutcomeUnknown
		if !again {
			return activities.RunToolResult{Interaction: w.ask(in.CallID, interaction.KindOutcomeUnknown, rule{})}, nil
		}
		c.again++
		return w.effect(c, in.CallID)
	}
	switch {
	case c.law == "deny":
		c.result = tool.StatusDenied
		return activities.RunToolResult{Status: c.result}, nil
	case c.law == "allow" || c.Fate == fateFree:
	case in.Approval == nil:
		w.complain("call %s is to run, and nobody approved it", in.CallID)
		return activities.RunToolResult{Interaction: w.ask(in.CallID, interaction.KindPermission, c.Rule)}, nil
	case c.Fate == fateStricter && c.phase == 1:
		return activities.RunToolResult{Interaction: w.ask(in.CallID, interaction.KindPermission, stricter)}, nil
	default:
		w.enough(in.CallID, *in.Approval)
	}
	if c.Fate == fateAsks && (in.Answer == nil || w.kindOf(in.Answer.InteractionID) != interaction.KindTool) {
		return activities.RunToolResult{Interaction: w.ask(in.CallID, interaction.KindTool, rule{})}, nil
	}
	switch {
	case c.Fate == fateLive && w.later != nil:
		return w.askLive(ctx, c, in.CallID)
	case c.Fate == fateAgent:
		return w.handOver(c, in.CallID)
	default:
		return w.effect(c, in.CallID)
	}
}

// effect does what the call is for.
func (w *world) effect(c *callState, id interaction.CallID) (activities.RunToolResult, error) {
	c.effects++
	c.runs = append(c.runs, w.now())
	if c.Fate == fateDies && !c.started {
		c.started = true
		return activities.RunToolResult{}, errDied
	}
	if c.Fate == fateHeld {
		c.held = true
		return activities.RunToolResult{Interaction: w.ask(id, interaction.KindResult, c.Rule)}, nil
	}
	c.result = tool.StatusSuccess
	return activities.RunToolResult{Status: c.result}, nil
}

// release gives a held output on, if people said so.
func (w *world) release(c *callState, in activities.RunToolInput) (activities.RunToolResult, error) {
	if in.Approval == nil || w.kindOf(in.Approval.InteractionID) != interaction.KindResult {
		w.complain("the output of call %s is to be released, and nobody said so", in.CallID)
		return activities.RunToolResult{Interaction: w.ask(in.CallID, interaction.KindResult, c.Rule)}, nil
	}
	w.enough(in.CallID, *in.Approval)
	c.result = tool.StatusSuccess
	return activities.RunToolResult{Status: c.result}, nil
}

func (w *world) kindOf(id interaction.ID) interaction.Kind {
	for _, q := range w.asked {
		if q.ID == id {
			return q.Kind
		}
	}
	return ""
}

// enough complains about an approval that does not let this call run.
func (w *world) enough(id interaction.CallID, out interaction.Outcome) {
	people := map[interaction.PrincipalID]bool{}
	for _, r := range out.Responses {
		if r.RequestID != out.InteractionID {
			w.complain("an answer to %s was counted for %s", r.RequestID, out.InteractionID)
		}
		if votes(r) && alike(r, out.Responses[len(out.Responses)-1]) || r.Action == interaction.ActionModifyArgs {
			people[r.Reviewer.ID] = true
		}
	}
	q := rule{}
	for _, a := range w.asked {
		if a.ID == out.InteractionID {
			q = w.ruleOf(a)
		}
	}
	if out.Status != interaction.StatusAnswered || callOf(out.InteractionID) != id || len(people) < max(q.Quorum, 1) || q.FourEyes && people[requester] {
		w.complain("call %s runs under %+v", id, out)
	}
}

func (w *world) resolveCall(_ context.Context, in activities.ResolveCallInput) (activities.ResolveCallResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hand(&in.Outcome)
	if votes(interaction.Response{Action: in.Outcome.Action}) || in.Outcome.Action == interaction.ActionModifyArgs {
		w.complain("the approval %+v was resolved without running anything", in.Outcome)
	}
	c := w.calls[in.CallID]
	if c.result != "" {
		w.complain("call %s was resolved although it had its result", in.CallID)
	}
	c.result = tool.StatusRejected
	return activities.ResolveCallResult{Status: c.result}, nil
}

func (w *world) recheck(_ context.Context, in activities.RecheckInput) (out activities.RecheckResult, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range in.Interactions {
		if law := w.calls[callOf(id)].law; law != "" {
			out.Released = append(out.Released, activities.Released{Interaction: id, Reason: law, Allowed: law == "allow"})
		}
	}
	return out, nil
}

func (w *world) recordNews(_ context.Context, in activities.RecordInput) (activities.RecordResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.record = append(w.record, in)
	for i := range in.Outcomes {
		w.hand(&in.Outcomes[i])
		w.endLive(callOf(in.Outcomes[i].InteractionID))
	}
	return activities.RecordResult{}, nil
}

func (w *world) finishRun(_ context.Context, in activities.FinishRunInput) (activities.FinishRunResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ends = append(w.ends, in)
	for i := range in.Outcomes {
		w.hand(&in.Outcomes[i])
	}
	return activities.FinishRunResult{}, nil
}

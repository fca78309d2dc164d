package activities

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/temporal"

	"holdpoint/agent"
	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/llm"
	"holdpoint/permission"
	"holdpoint/tool"
)

// Definitions is the configuration in force now, by name.
type Definitions interface {
	Agent(name string) (agent.Agent, bool)
	// Policy returns the rules of a policy as they stand now, and the denies that hold under every policy, "" too.
	// found is false when the policy is gone, and then every call asks. What was returned is not changed any more: while
	// it is the same slice it is the same rules, and costs nothing to compare.
	Policy(name string) (rules []permission.Rule, found bool)
	// Results returns a policy's rules about outputs, under the same promise.
	Results(policy string) []permission.Rule
	// Model returns the live model; an error is permanent.
	Model(name string) (llm.Model, error)
	Tool(name string) (tool.Tool, bool)
}

// Secrets opens what the bridge encrypted for a place.
type Secrets interface {
	Open(bound []byte, sealed string) ([]byte, error)
}

// ArgsValidator checks arguments against a tool's JSON Schema and returns nil or an error that names the path.
type ArgsValidator func(def tool.Definition, args []byte) *interaction.Error

// Point is a place at which a test may kill the process.
type Point string

const (
	PointRunStored    Point = "run_stored"
	PointTurnStored   Point = "turn_stored"
	PointBeforeClaim  Point = "before_claim"
	PointClaimed      Point = "claimed"
	PointEffectDone   Point = "effect_done"
	PointResultStored Point = "result_stored" // or a question
	PointAnswerStored Point = "answer_stored"
	PointStageStored  Point = "stage_stored" // a step of a workflow of agents
	PointEndStored    Point = "end_stored"
)

// Activities has everything that a run does to the world. All fields but Secrets, Faults, Tell, Inquire, Await, Observer and Protected are required.
type Activities struct {
	Store       Store
	Definitions Definitions
	Validate    ArgsValidator
	// Protected are Holdpoint's own denies: its data and policy files. They are set once.
	Protected []permission.Rule
	// Secrets opens what people answered in confidence. Nil where no key is configured: then nothing secret is asked.
	Secrets Secrets
	// Notifiers tell people and programs, by name.
	Notifiers map[string]Notifier
	// NoticePause is the time before the second attempt to deliver a notice. Defaults to DefaultNoticePause.
	NoticePause time.Duration
	// Home is what ~/ means in paths.
	Home string
	// Worker names this process in the ledger.
	Worker string
	// Now is the clock.
	Now func() time.Time
	// OwnWorkspaces has tools work in the workspaces that this worker's own definitions give their agents, not in those of
	// the worker that began the run: it runs on a machine of its own.
	OwnWorkspaces bool
	// Tell, if set, tells a workflow that rules have changed, so that it decides again what waits.
	Tell func(ctx context.Context, workflowID string) error
	// Inquire, if set, tells a workflow what a running call asks people. Without it, no running call can.
	Inquire func(ctx context.Context, workflowID string, q Inquiry) error
	// Await, if set, returns when a workflow has ended, however it did.
	Await func(ctx context.Context, workflowID string) error
	// Observer, if set, is told what happens.
	Observer Observer
	// Faults, if set, is called at each Point; tests use it to die there.
	Faults func(Point)

	memory memory
	calls  atomic.Int64 // that run now
}

func (a *Activities) at(p Point) {
	if a.Faults != nil {
		a.Faults(p)
	}
}

// agentOf returns the definition that a run pinned.
func agentOf(ctx context.Context, tx Tx, digest string) (agent.Agent, error) {
	ag, found, err := tx.Agent(ctx, digest)
	if err != nil {
		return agent.Agent{}, fmt.Errorf("agent %s: %w", digest, err)
	}
	if !found {
		return agent.Agent{}, permanent(CodeUnknownAgent, "the definition %s that this run pinned is not in the store", digest)
	}
	return ag, nil
}

// here is a definition as it holds on this machine.
func (a *Activities) here(ag agent.Agent) agent.Agent {
	if a.OwnWorkspaces {
		own, _ := a.Definitions.Agent(ag.Name)
		ag.Workspace = own.Workspace // without it, tools refuse
	}
	return ag
}

// permanent is an error that no retry mends.
func permanent(code, format string, args ...any) error {
	return temporal.NewNonRetryableApplicationError(fmt.Sprintf(format, args...), code, nil)
}

// modelError classifies a provider's error for Temporal, which alone retries.
func modelError(err error) error {
	var e *llm.Error
	if !errors.As(err, &e) {
		return err
	}
	return temporal.NewApplicationErrorWithOptions(e.Message, string(e.Kind), temporal.ApplicationErrorOptions{
		NonRetryable:   !e.Retryable(),
		NextRetryDelay: e.RetryAfter,
	})
}

// lockRun reads a run that must exist and holds it.
func lockRun(ctx context.Context, tx Tx, id interaction.RunID) (agent.Run, event.Head, error) {
	run, head, found, err := tx.LockRun(ctx, id)
	if err != nil {
		return run, head, fmt.Errorf("run %s: %w", id, err)
	}
	if !found {
		return run, head, fmt.Errorf("run %s is not in the store", id)
	}
	return run, head, nil
}

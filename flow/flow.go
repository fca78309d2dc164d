// Package flow says what a workflow of agents is: stages in order, branches side by side, or a loop, with the conditions
// and texts that tie their outputs together. It runs nothing.
//
// Start at Flow. Conditions and texts read the same names: input, previous, iteration and outputs.STAGE.
package flow

import (
	"holdpoint/permission"
)

// Kind is how the stages of a workflow follow one another. The set is closed.
type Kind string

const (
	KindPipeline Kind = "pipeline" // one after another
	KindParallel Kind = "parallel" // all at once
	KindLoop     Kind = "loop"     // one after another, again and again
)

// OnFailure is what happens in a parallel workflow when a branch fails. The set is closed.
type OnFailure string

const (
	FailureStops    OnFailure = "stop"    // the others are stopped, and the run fails
	FailureWaits    OnFailure = "wait"    // the others come to their ends, and the run fails
	FailureIncluded OnFailure = "include" // the joined output says that the branch failed, and why
)

// AtLimit is what happens when a loop has an until-condition that did not come true in time. The set is closed.
type AtLimit string

const (
	LimitFails     AtLimit = "fail"
	LimitCompletes AtLimit = "complete"
)

// Limits of a workflow.
const (
	MaxStages     = 50
	MaxIterations = 1000
	// MaxDepth is how many workflows may stand within one another.
	MaxDepth = 5
	// MaxConditionBytes and MaxTextBytes bound what is written in a definition.
	MaxConditionBytes = 1 << 10
	MaxTextBytes      = 16 << 10
)

// Flow is the definition of a workflow. Once loaded it is valid: its conditions and texts compile.
type Flow struct {
	Kind   Kind    `json:"kind"`
	Stages []Stage `json:"stages"` // of a parallel workflow the branches, of a loop its body
	// Until ends a loop when it holds after an iteration. "" goes on to the limit.
	Until         string  `json:"until,omitempty"`
	MaxIterations int     `json:"max_iterations,omitempty"` // of a loop
	AtLimit       AtLimit `json:"at_limit,omitempty"`       // of a loop with Until
	// OnFailure is for parallel workflows.
	OnFailure OnFailure `json:"on_failure,omitempty"`
}

// Stage is one part of a workflow: exactly one of Agent, Workflow and Gate is set.
type Stage struct {
	Name     string `json:"name"`
	Agent    string `json:"agent,omitempty"`
	Workflow string `json:"workflow,omitempty"`
	Gate     *Gate  `json:"gate,omitempty"`
	// Input is the text that it gets. "" is the output before it, or the run's input where there is none.
	Input string `json:"input,omitempty"`
	// When must hold, or the stage is skipped. "" always holds.
	When string `json:"when,omitempty"`
}

// Gate is a stage at which people must approve what came so far.
type Gate struct {
	Title    string              `json:"title,omitempty"`
	Risk     permission.Risk     `json:"risk,omitempty"`
	Approval permission.Approval `json:"approval"`
}

// Runs is the agent or workflow that a stage runs; "" for a gate.
func (s Stage) Runs() string {
	if s.Workflow != "" {
		return s.Workflow
	}
	return s.Agent
}

// Known are the stages whose outputs the i-th stage may read: those before it, in a loop all, beside one another none.
func (f Flow) Known(i int) []string {
	n := i
	switch f.Kind {
	case KindLoop:
		n = len(f.Stages)
	case KindParallel:
		n = 0
	case KindPipeline:
	}
	names := make([]string, 0, n)
	for _, s := range f.Stages[:n] {
		names = append(names, s.Name)
	}
	return names
}

// Position says which stage the n-th step of a run is about, and in which iteration, both counted from 0. The step behind
// the last stage of the last iteration has the stage 0 of the iteration that would follow.
func (f Flow) Position(step int) (iteration, stage int) {
	if f.Kind == KindParallel {
		return step - 1, 0
	}
	return (step - 1) / len(f.Stages), (step - 1) % len(f.Stages)
}

// Iterations is how often the stages are gone through at most.
func (f Flow) Iterations() int {
	if f.Kind == KindLoop {
		return f.MaxIterations
	}
	return 1
}

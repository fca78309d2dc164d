// Package agent says what an agent is (model, instructions, tools, policy, limits) and what is known of its
// runs. A run pins the agent it was started with by digest, so editing a definition changes no run in flight.
//
// Start at Agent and Run.
package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"holdpoint/flow"
	"holdpoint/interaction"
	"holdpoint/permission"
)

// Agent is a definition as a run uses it. It holds names, never secrets: live clients and keys are made from
// the names on the worker's side.
type Agent struct {
	Name         string   `json:"name"`
	Model        string   `json:"model"`
	SystemPrompt string   `json:"system_prompt,omitempty"`
	Tools        []string `json:"tools,omitempty"`
	// Agents are those that this one may hand tasks to. Each is a tool named agent_NAME.
	Agents []string `json:"agents,omitempty"`
	// Description tells an agent that may call this one what it is good for.
	Description string `json:"description,omitempty"`
	Policy      string `json:"policy,omitempty"`
	// MaxSteps bounds the model calls of one run. Defaults to 50.
	MaxSteps int `json:"max_steps"`
	// Workspace is the directory that file tools and bash work in, absolute. "" gives no file access.
	Workspace string `json:"workspace,omitempty"`
	// EnableHITL false has nobody asked: what would ask ends as unreachable, with the reason.
	EnableHITL bool `json:"enable_hitl"`
	// EnablePermissions false allows what no deny forbids.
	EnablePermissions bool `json:"enable_permissions"`
	// AutoApproveRisk lets tools whose own default is to ask run without a person where no rule speaks and their
	// risk is at most this: low, medium or high. Rules stay as they are. "" lets none.
	AutoApproveRisk permission.Risk `json:"auto_approve_risk,omitempty"`
	UserID          string          `json:"user_id,omitempty"`
	Tags            []string        `json:"tags,omitempty"`
	// Flow makes this the definition of a workflow of agents. Of the rest it has Name, Description and Tags.
	Flow *flow.Flow `json:"flow,omitempty"`
}

// DefaultMaxSteps is how many model calls a run may make unless its agent says otherwise.
const DefaultMaxSteps = 50

// Digest is the SHA-256 of the definition's JSON, hex.
func (a Agent) Digest() string {
	b, err := json.Marshal(a)
	if err != nil { // an Agent has only strings, numbers and booleans
		return ""
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// RunStatus is where a run stands, as the record shows it. Temporal holds the truth.
type RunStatus string

const (
	RunRunning       RunStatus = "running"
	RunAwaitingHuman RunStatus = "awaiting_human"
	RunPaused        RunStatus = "paused"
	RunCompleted     RunStatus = "completed"
	RunFailed        RunStatus = "failed"
	RunAborted       RunStatus = "aborted"
)

// Final reports whether the run has ended.
func (s RunStatus) Final() bool { return s == RunCompleted || s == RunFailed || s == RunAborted }

// Run is the record of a run.
type Run struct {
	ID          interaction.RunID       `json:"run_id"`
	SessionID   interaction.SessionID   `json:"session_id"`
	WorkflowID  string                  `json:"workflow_id"`
	Agent       string                  `json:"agent"`
	AgentDigest string                  `json:"agent_digest,omitempty"`
	UserID      interaction.PrincipalID `json:"user_id,omitempty"`
	Requester   interaction.PrincipalID `json:"requester,omitempty"` // who started it
	// A run that another run called names it, the run that a person started, whose session's grants hold for it, and
	// the agents above it, the first first.
	Parent      interaction.RunID     `json:"parent_run_id,omitempty"`
	Root        interaction.RunID     `json:"root_run_id,omitempty"`
	RootSession interaction.SessionID `json:"root_session_id,omitempty"`
	Path        []string              `json:"agent_path,omitempty"`
	Input       string                `json:"input"`
	Metadata    map[string]string     `json:"metadata,omitempty"`
	// Ask is what an approval is about, nil of a run of an agent, and Decision what became of it, nil until it has ended.
	Ask      *Ask      `json:"ask,omitempty"`
	Decision *Decision `json:"decision,omitempty"`
	Status   RunStatus `json:"status"`
	// Held are the calls that people paused alone while they ran, and let go on, the last ones.
	Held      []HeldCall `json:"held_calls,omitempty"`
	Output    string     `json:"output,omitempty"`
	ErrorCode string     `json:"error_code,omitempty"`
	Error     string     `json:"error,omitempty"`
	StartedAt time.Time  `json:"started_at"`
	EndedAt   time.Time  `json:"ended_at,omitzero"`
	// ErasedAt is when everything that was said and done in the run was erased; zero is never.
	ErasedAt time.Time `json:"erased_at,omitzero"`
}

// HeldCall says whether a running call was paused alone, by whom and why.
type HeldCall struct {
	CallID interaction.CallID      `json:"tool_call_id"`
	Paused bool                    `json:"paused"`
	By     interaction.PrincipalID `json:"by,omitempty"`
	Note   string                  `json:"note,omitempty"`
}

// GrantSession is the session whose grants hold for the run: its own, or that of the run which a person started.
func (r Run) GrantSession() interaction.SessionID {
	if r.RootSession != "" {
		return r.RootSession
	}
	return r.SessionID
}

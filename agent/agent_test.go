package agent_test

import (
	"encoding/json"
	"testing"

	"holdpoint/agent"
)

func TestDigestChangesWithEveryPart(t *testing.T) {
	t.Parallel()
	base := agent.Agent{Name: "demo", Model: "m", Tools: []string{"a", "b"}, MaxSteps: agent.DefaultMaxSteps, EnableHITL: true}
	seen := map[string]string{base.Digest(): "as it is"}
	if len(base.Digest()) != 64 {
		t.Fatalf("digest %q", base.Digest())
	}
	for what, change := range map[string]func(*agent.Agent){
		"name":        func(a *agent.Agent) { a.Name = "demo2" },
		"model":       func(a *agent.Agent) { a.Model = "n" },
		"prompt":      func(a *agent.Agent) { a.SystemPrompt = "be brief" },
		"tools":       func(a *agent.Agent) { a.Tools = []string{"a"} },
		"tool order":  func(a *agent.Agent) { a.Tools = []string{"b", "a"} },
		"policy":      func(a *agent.Agent) { a.Policy = "strict" },
		"steps":       func(a *agent.Agent) { a.MaxSteps = 1 },
		"workspace":   func(a *agent.Agent) { a.Workspace = "/w" },
		"hitl":        func(a *agent.Agent) { a.EnableHITL = false },
		"permissions": func(a *agent.Agent) { a.EnablePermissions = true },
		"user":        func(a *agent.Agent) { a.UserID = "ada" },
		"risk":        func(a *agent.Agent) { a.AutoApproveRisk = "low" },
		"tags":        func(a *agent.Agent) { a.Tags = []string{"x"} },
	} {
		a := base
		change(&a)
		if other, dup := seen[a.Digest()]; dup {
			t.Errorf("a change of %s has the digest of %s", what, other)
		}
		seen[a.Digest()] = what
	}
}

// Runs in flight have their definition by this digest, so a new field must not change it where it is not set.
func TestDigestOfADefinitionStays(t *testing.T) {
	t.Parallel()
	a := agent.Agent{Name: "demo", Model: "m", SystemPrompt: "Be brief.", Tools: []string{"bash"}, Policy: "p", MaxSteps: 20, Workspace: "/w",
		EnableHITL: true, EnablePermissions: true, UserID: "ada", Tags: []string{"x"}}
	if got, want := a.Digest(), "c4a41977782c34d67b99e97d69b3fa40d963c97debb57a15901c2a3f08246cad"; got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
}

func TestDigestSurvivesStoring(t *testing.T) {
	t.Parallel()
	a := agent.Agent{Name: "demo", SystemPrompt: "a < b", Tools: []string{"x"}, MaxSteps: 3}
	stored, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	var back agent.Agent
	if err := json.Unmarshal(stored, &back); err != nil || back.Digest() != a.Digest() {
		t.Errorf("digest %s after storing, %s before (%v)", back.Digest(), a.Digest(), err)
	}
}

func TestRunStatusFinal(t *testing.T) {
	t.Parallel()
	for s, want := range map[agent.RunStatus]bool{agent.RunRunning: false, agent.RunAwaitingHuman: false, agent.RunPaused: false,
		agent.RunCompleted: true, agent.RunFailed: true, agent.RunAborted: true, "": false} {
		if s.Final() != want {
			t.Errorf("%q.Final() = %v", s, !want)
		}
	}
}

package config

import (
	"holdpoint/agent"
	"holdpoint/permission"
)

// Limits of an agent.
const (
	maxAgentSteps  = 10_000
	maxPromptBytes = 64 << 10
)

func readAgent(s *section, name string) {
	s.require("model")
	spec := AgentSpec{
		Pos:             s.pos(),
		PermissionStore: s.refer("permission_store", "permission_store"),
		SessionStore:    s.refer("session_store", "session_store"),
	}
	spec.Agent = agent.Agent{
		Name:              name,
		Model:             s.refer("model", "model"),
		SystemPrompt:      s.text("system_prompt"),
		Tools:             s.agentTools(),
		Policy:            s.refer("policy", "policy"),
		MaxSteps:          s.integer("max_steps", 1, maxAgentSteps, agent.DefaultMaxSteps),
		Workspace:         s.path("workspace"),
		EnableHITL:        s.flag("enable_hitl", true),
		EnablePermissions: s.flag("enable_permissions", true),
		AutoApproveRisk:   s.acceptedRisk(),
		UserID:            s.userID(),
		Tags:              texts(s.list("tags")),
	}
	if len(spec.Agent.SystemPrompt) > maxPromptBytes {
		s.reportKey("system_prompt", "is longer than %d bytes", maxPromptBytes)
	}
	s.l.config.Specs = append(s.l.config.Specs, spec)
}

func (s *section) agentTools() []string {
	items := s.list("tools")
	for _, v := range items {
		s.l.refs = append(s.l.refs, reference{
			pos: Pos{File: s.file, Line: v.line}, key: s.prefix + "tools", raw: v.raw, name: v.text, kind: "tool",
		})
	}
	return texts(items)
}

// acceptedRisk is what may go without a person where no rule speaks; critical never may.
func (s *section) acceptedRisk() permission.Risk {
	return permission.Risk(s.choice("auto_approve_risk", []string{
		string(permission.RiskLow), string(permission.RiskMedium), string(permission.RiskHigh),
	}, nil))
}

func (s *section) userID() string {
	v, ok := s.scalar("user_id", "the id of a person")
	if !ok {
		return ""
	}
	if v.text == "" {
		s.report("user_id", v.line, "is empty: give it a value or remove the key")
	}
	s.principal("user_id", v)
	return v.text
}

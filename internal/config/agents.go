package config

import (
	"holdpoint/agent"
	"holdpoint/permission"
)

func readAgent(s *section, name string) {
	spec := AgentSpec{
		Pos:             s.pos(),
		PermissionStore: s.refer("permission_store"),
		SessionStore:    s.refer("session_store"),
	}
	spec.Agent = agent.Agent{
		Name:              name,
		Model:             s.refer("model"),
		SystemPrompt:      s.text("system_prompt"),
		Tools:             s.agentTools(),
		Agents:            s.calls(name),
		Description:       s.text("description"),
		Policy:            s.refer("policy"),
		MaxSteps:          s.integer("max_steps"),
		Workspace:         s.path("workspace"),
		EnableHITL:        s.flag("enable_hitl"),
		EnablePermissions: s.flag("enable_permissions"),
		AutoApproveRisk:   permission.Risk(s.choice("auto_approve_risk")),
		UserID:            s.userID(),
		Tags:              texts(s.list("tags")),
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

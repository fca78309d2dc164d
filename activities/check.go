package activities

import (
	"context"
	"fmt"
	"strings"

	"holdpoint/agent"
	"holdpoint/interaction"
	"holdpoint/permission"
	"holdpoint/tool"
)

// CheckInput is a call that might be made.
type CheckInput struct {
	UserID    interaction.PrincipalID
	SessionID interaction.SessionID
	// Agent is whose policy, workspace and tools count. "" is an agent without a policy that has every tool.
	Agent string
	Tool  string
	Args  []byte
}

// Check decides a call as it would be decided now, by the same way as a call that is about to run; nothing is run or
// saved. invalid says what is wrong with the arguments where a schema knows. What names an agent or a tool that is not
// there is refused with *interaction.Error.
func (a *Activities) Check(ctx context.Context, in CheckInput) (call permission.Call, d permission.Decision, invalid string, err error) {
	ag, err := a.checkedAgent(in.Agent)
	if err != nil {
		return call, d, "", err
	}
	def, known, err := a.checkedTool(ag, in)
	if err != nil {
		return call, d, "", err
	}
	run := agent.Run{UserID: in.UserID, SessionID: in.SessionID, Agent: in.Agent}
	var rules inForce
	err = a.Store.Write(ctx, func(tx Tx) (err error) {
		rules, err = a.rulesFor(ctx, tx, run, ag)
		return err
	})
	if err != nil {
		return call, d, "", err
	}
	if known {
		if bad := a.Validate(def, in.Args); bad != nil {
			invalid = bad.Error()
		}
	}
	return a.permissionCall(rules, run, ag, def, in.Args), a.judge(rules, run, ag, def, in.Args), invalid, nil
}

// PastCall is a call that was made, as a rule is matched against it now.
func (a *Activities) PastCall(ag agent.Agent, def tool.Definition, c tool.Call) permission.Call {
	run := agent.Run{SessionID: c.SessionID}
	return a.permissionCall(inForce{at: a.Now()}, run, ag, def, c.Args)
}

func (a *Activities) checkedAgent(name string) (agent.Agent, error) {
	if name == "" {
		return agent.Agent{EnableHITL: true, EnablePermissions: true}, nil
	}
	ag, found := a.Definitions.Agent(name)
	if !found {
		return ag, &interaction.Error{Code: interaction.CodeInvalid, Field: "agent", Message: fmt.Sprintf("there is no agent %q", name)}
	}
	return ag, nil
}

// checkedTool finds the tool. Without an agent, one that is not configured is taken for what its name says.
func (a *Activities) checkedTool(ag agent.Agent, in CheckInput) (def tool.Definition, known bool, err error) {
	if in.Agent != "" && !a.mayUse(ag, in.Tool) && !namesServerTool(ag, in.Tool) {
		return def, false, &interaction.Error{Code: interaction.CodeInvalid, Field: "tool",
			Message: fmt.Sprintf("the agent %s has no tool %q; it has %s", in.Agent, in.Tool, strings.Join(ag.Tools, ", "))}
	}
	if t, ok := a.Definitions.Tool(in.Tool); ok {
		return t.Definition(), true, nil
	}
	return Unconfigured(in.Tool), false, nil
}

// Unconfigured is a tool as its name tells of it, for one that is not configured here.
func Unconfigured(name string) tool.Definition {
	t := permission.BuiltinTool(name)
	def := tool.Definition{Name: name, Server: t.Server, Field: t.Field, Resource: tool.ResourceArgs, Consent: tool.ConsentAlways, Risk: string(t.Risk)}
	switch t.Kind {
	case permission.KindCommand:
		def.Resource = tool.ResourceCommand
	case permission.KindRead:
		def.Resource = tool.ResourceRead
	case permission.KindWrite:
		def.Resource = tool.ResourceWrite
	case permission.KindURL:
		def.Resource = tool.ResourceURL
	case permission.KindOther, permission.KindMCP:
	default:
	}
	return def
}

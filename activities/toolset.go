package activities

import (
	"maps"
	"slices"
	"strings"
	"time"

	"holdpoint/agent"
	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/tool"
)

// Toolsets is what Definitions may be, too: where one name among an agent's tools stands for several, as that of an
// MCP server does, mcp__SERVER.
type Toolsets interface {
	// Toolset returns the tools that a name stands for now; it is not known when it stands for none but itself. The error
	// says why what the name stands for can't be had now; the tools are then those that it last stood for.
	Toolset(name string) (tools []tool.Tool, known bool, err error)
	// Missing says why the tool of a name can't be had now, in a sentence; "" when there is no more to say than that it
	// does not exist.
	Missing(name string) string
}

// offered are the tools that an agent may use now, but for other agents, and why others of its tools can't be had, by name.
func (a *Activities) offered(ag agent.Agent) (out []tool.Tool, without map[string]string) {
	sets, _ := a.Definitions.(Toolsets)
	without = map[string]string{}
	var names []string
	add := func(t tool.Tool) {
		if name := t.Definition().Name; !slices.Contains(names, name) {
			names = append(names, name)
			out = append(out, t)
		}
	}
	for _, name := range ag.Tools {
		if sets != nil {
			if all, ok, err := sets.Toolset(name); ok {
				if err != nil {
					without[name] = err.Error()
				}
				for _, t := range all {
					add(t)
				}
				continue
			}
		}
		if t, ok := a.Definitions.Tool(name); ok {
			add(t)
		} else if why := a.missing(ag, name); why != "" {
			without[name] = why
		}
	}
	return out, without
}

// codeWithout is the code of the event that says of which of its tools a run was without. Each is said once in a run.
const codeWithout = "tools_unavailable"

func withoutEvents(run interaction.RunID, without map[string]string, now time.Time) (events []event.Event) {
	for _, name := range slices.Sorted(maps.Keys(without)) {
		e := event.New(run, event.Error, now, event.ErrorData{Code: codeWithout, Message: clip("The model was asked without the tools of "+name+": "+without[name], 1000)})
		e.Key = "without-" + fingerprint(name)
		events = append(events, e)
	}
	return events
}

// mayUse reports whether an agent names a tool, by itself or by its server.
func (a *Activities) mayUse(ag agent.Agent, name string) bool {
	return slices.ContainsFunc(ag.Tools, func(n string) bool {
		if n == name {
			return true
		}
		if !strings.HasPrefix(name, n+"__") {
			return false
		}
		t, ok := a.Definitions.Tool(name)
		return ok && t.Definition().Server != "" && n == "mcp__"+t.Definition().Server
	})
}

// missing says why a tool that the agent names can't be had, if there is more to say than that it does not exist.
func (a *Activities) missing(ag agent.Agent, name string) string {
	sets, ok := a.Definitions.(Toolsets)
	if !ok || !slices.Contains(ag.Tools, name) && !namesServerTool(ag, name) {
		return ""
	}
	return sets.Missing(name)
}

// gone words the end of a call whose tool can't be had any more.
func (a *Activities) gone(ag agent.Agent, name string) string {
	if why := a.missing(ag, name); why != "" {
		return why + " The call was not made."
	}
	return "The tool " + name + " no longer exists, so the call was not made."
}

// namesServerTool reports whether a tool is, by its name, one of a server that an agent names. It is for checks where
// servers are not asked.
func namesServerTool(ag agent.Agent, name string) bool {
	server := Unconfigured(name).Server
	return server != "" && slices.Contains(ag.Tools, "mcp__"+server)
}

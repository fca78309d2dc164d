package config

import (
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"holdpoint/interaction"
	"holdpoint/permission"
)

var escalationKeys = object{keys: []key{
	{name: "after", shape: shapeDuration, limit: maxAnswerTime, required: true, doc: "How old the question must be."},
	{name: "to", shape: shapeTexts, most: maxListed, required: true, doc: "Who may answer as well from then on: ids of people, or `group:NAME`."},
}}

// ladder reads who may answer as well, and from when on.
func (s *section) ladder(a permission.Approval) []permission.Escalation {
	n, ok := s.take("escalate")
	if !ok {
		return nil
	}
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 || len(n.Content) > interaction.MaxEscalations {
		s.report("escalate", n.Line, "must be a list of 1 to %d rungs, such as %q", interaction.MaxEscalations, "- {after: 4h, to: [bob]}")
		return nil
	}
	var out []permission.Escalation
	for i, item := range n.Content {
		rung := s.l.section(s.file, s.prefix+"escalate["+strconv.Itoa(i)+"].", item, &escalationKeys)
		if rung == nil {
			continue
		}
		rung.require()
		to := rung.list("to")
		for _, v := range to {
			rung.principal("to", v)
		}
		e := permission.Escalation{After: rung.duration("after"), To: texts(to)}
		if len(out) > 0 && e.After > 0 && e.After <= out[len(out)-1].After {
			rung.reportKey("after", "is not later than that of the rung before: write the rungs in the order of their times")
		}
		if a.Timeout > 0 && e.After >= a.Timeout {
			rung.reportKey("after", "is not before the timeout, so it would never happen")
		}
		rung.finish()
		out = append(out, e)
	}
	if len(a.Reviewers) == 0 {
		s.reportKey("escalate", "has no effect without reviewers: anybody may answer")
	}
	return out
}

// callee is the kind of what an agent may hand tasks to: they have their names in common.
const callee = "agent or workflow"

// calls reads the agents, and workflows of agents, that an agent may hand tasks to.
func (s *section) calls(name string) []string {
	items := s.list("agents")
	for _, v := range items {
		s.l.refs = append(s.l.refs, reference{
			pos: Pos{File: s.file, Line: v.line}, key: s.prefix + "agents", raw: v.raw, name: v.text, kind: callee, from: name,
		})
	}
	return texts(items)
}

// callers says in a message what kind the circle is of.
func callers(r reference) string {
	if r.kind == "workflow" {
		return "workflows"
	}
	return "agents"
}

// cycles reports agents that would call one another for ever, each circle once, where it closes.
func (l *loader) cycles() {
	calls := map[string][]reference{}
	var names []string
	for _, r := range l.refs {
		if r.from != "" {
			if calls[r.from] == nil {
				names = append(names, r.from)
			}
			calls[r.from] = append(calls[r.from], r)
		}
	}
	done := map[string]bool{}
	var walk func(path []string)
	walk = func(path []string) {
		for _, r := range calls[path[len(path)-1]] {
			if at := slices.Index(path, r.name); at >= 0 {
				l.report(r.pos.File, r.pos.Line, r.key, "%s would call one another for ever: %s: take one of the calls away", callers(r),
					strings.Join(append(slices.Clone(path[at:]), r.name), " -> "))
			} else if !done[r.name] {
				walk(append(slices.Clone(path), r.name))
			}
		}
		done[path[len(path)-1]] = true
	}
	for _, name := range names {
		if !done[name] {
			walk([]string{name})
		}
	}
}

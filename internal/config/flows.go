package config

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"holdpoint/agent"
	"holdpoint/flow"
	"holdpoint/interaction"
	"holdpoint/permission"
)

// FlowSpec is a workflow of agents. Its agent.Agent has Flow set.
type FlowSpec struct {
	Agent agent.Agent
	Pos   Pos
}

var (
	onlyLoop     = &when{key: "kind", values: []string{string(flow.KindLoop)}, why: "is read by kind loop only"}
	onlyParallel = &when{key: "kind", values: []string{string(flow.KindParallel)}, why: "is read by kind parallel only"}
)

var workflowKeys = component("Agents that work after one another, side by side, or again and again, with people's approval between (docs/workflows.md). A run can be started with it as with an agent.", object{keys: []key{
	{name: "kind", shape: shapeChoice, required: true, choices: []string{string(flow.KindPipeline), string(flow.KindParallel), string(flow.KindLoop)},
		doc: "How the stages follow one another: `pipeline` in order, `parallel` at once, `loop` in order and again."},
	{name: "description", shape: shapeText, maxBytes: maxDescription, doc: "What it is for; at most 1 KiB."},
	{name: "stages", shape: shapeObjects, items: &stageKeys, most: flow.MaxStages, required: true, doc: "The stages, or the branches of kind parallel."},
	{name: "until", shape: shapeText, maxBytes: flow.MaxConditionBytes, when: onlyLoop, defDoc: "none", doc: "A condition that ends the loop when it holds after an iteration."},
	{name: "max_iterations", shape: shapeInteger, low: 1, high: flow.MaxIterations, def: 10, when: onlyLoop, doc: "How often a loop is gone through at most."},
	{name: "at_limit", shape: shapeChoice, choices: []string{string(flow.LimitFails), string(flow.LimitCompletes)}, def: string(flow.LimitFails), when: onlyLoop, beside: "until",
		doc: "Whether a loop whose `until` never held fails or completes."},
	{name: "on_failure", shape: shapeChoice, choices: []string{string(flow.FailureStops), string(flow.FailureWaits), string(flow.FailureIncluded)}, def: string(flow.FailureStops), when: onlyParallel,
		doc: "What a failed branch means: `stop` ends the others and fails, `wait` lets them end and fails, `include` puts the failure into the output."},
	{name: "tags", shape: shapeTexts, most: maxListed, doc: "Shown in lists."},
}})

var stageKeys = object{keys: []key{
	{name: "name", shape: shapeText, required: true, maxBytes: 40, doc: "Its name in conditions and texts: lower-case letters, digits and underscores, the first a letter."},
	{name: "agent", shape: shapeRefer, refers: "agent", doc: "The agent that works here."},
	{name: "workflow", shape: shapeRefer, refers: "workflow", doc: "Or the workflow that is run here."},
	{name: "gate", shape: shapeObject, items: &gateKeys, doc: "Or who must approve the output so far. Not in kind parallel."},
	{name: "input", shape: shapeText, maxBytes: flow.MaxTextBytes, defDoc: "the output before it", doc: "The text that it gets, with `{{input}}`, `{{previous}}`, `{{iteration}}` and `{{outputs.STAGE}}` filled in."},
	{name: "when", shape: shapeText, maxBytes: flow.MaxConditionBytes, defDoc: "always", doc: "A condition without which it is skipped."},
}}

var gateTimeouts = []string{string(interaction.ActionReject), string(interaction.ActionTerminate)}

var gateKeys = object{keys: []key{
	{name: "title", shape: shapeText, maxBytes: interaction.MaxTitleBytes, defDoc: "the stage's name", doc: "What is asked."},
	{name: "risk", shape: shapeChoice, choices: risks, defDoc: "none", doc: "How bad a wrong approval would be."},
	{name: "reviewers", shape: shapeTexts, most: maxListed, defDoc: "anybody", doc: "Who may answer: ids of people, or `group:NAME`."},
	{name: "quorum", shape: shapeInteger, low: 1, high: maxQuorum, def: 1, doc: "How many different people must approve."},
	{name: "exclude_requester", shape: shapeFlag, def: false, doc: "Whether the person for whom it works may not approve."},
	{name: "timeout", shape: shapeDuration, limit: maxAnswerTime, defDoc: "none: it waits", doc: "How long there is to answer."},
	{name: "on_timeout", shape: shapeChoice, choices: gateTimeouts, defDoc: "reject", beside: "timeout", doc: "What happens when nobody answers in time. It is never an approval."},
	{name: "remind_every", shape: shapeDuration, limit: maxAnswerTime, defDoc: "never", doc: "After how long the question is put again."},
	{name: "escalate", shape: shapeObjects, items: &escalationKeys, most: interaction.MaxEscalations, defDoc: "nobody else", doc: "A ladder of who may answer as well."},
}}

func readWorkflow(s *section, name string) {
	f := flow.Flow{Kind: flow.Kind(s.choice("kind")), Until: s.text("until"), OnFailure: flow.OnFailure(s.choice("on_failure"))}
	if f.Kind == flow.KindLoop {
		f.MaxIterations, f.AtLimit = s.integer("max_iterations"), flow.AtLimit(s.choice("at_limit"))
	} else {
		s.take("max_iterations")
		s.take("at_limit")
	}
	if f.Kind == flow.KindLoop && f.AtLimit == "" {
		f.AtLimit = flow.LimitFails
	}
	switch {
	case f.Kind != flow.KindParallel:
		f.OnFailure = ""
	case f.OnFailure == "":
		f.OnFailure = flow.FailureStops
	}
	spec := FlowSpec{Pos: s.pos(), Agent: agent.Agent{Name: name, Description: s.text("description"), Tags: texts(s.list("tags")), Flow: &f}}
	sections := s.stages(&f, name)
	for i, st := range f.Stages {
		if sections[i].has("when") {
			sections[i].checked("when", flow.CheckCondition(st.When, f.Known(i)))
		}
		sections[i].checked("input", flow.CheckText(st.Input, f.Known(i)))
	}
	if f.Kind == flow.KindLoop && s.has("until") {
		s.checked("until", flow.CheckCondition(f.Until, f.Known(0)))
	}
	s.l.config.Flows = append(s.l.config.Flows, spec)
}

func (s *section) checked(key string, err error) {
	if err != nil {
		s.reportKey(key, "%v", err)
	}
}

func (s *section) stages(f *flow.Flow, workflow string) (sections []*section) {
	n, ok := s.take("stages")
	if !ok {
		return nil
	}
	if most := s.spec("stages").most; n.Kind != yaml.SequenceNode || len(n.Content) == 0 || len(n.Content) > most {
		s.report("stages", n.Line, "must be a list of 1 to %d stages, such as %q", most, "- {name: draft, agent: writer}")
		return nil
	}
	seen := map[string]bool{}
	for i, item := range n.Content {
		part := s.l.section(s.file, s.prefix+"stages["+strconv.Itoa(i)+"].", item, &stageKeys)
		if part == nil {
			continue
		}
		part.require()
		st := part.oneStage(f.Kind, workflow)
		if seen[st.Name] && st.Name != "" {
			part.reportKey("name", "%q is the name of an earlier stage: rename one", st.Name)
		}
		seen[st.Name] = true
		f.Stages, sections = append(f.Stages, st), append(sections, part)
	}
	return sections
}

var stageName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

func (s *section) oneStage(kind flow.Kind, workflow string) flow.Stage {
	st := flow.Stage{Name: s.text("name"), Agent: s.runs("agent", workflow), Workflow: s.runs("workflow", workflow), Input: s.text("input"), When: s.text("when")}
	if st.Name != "" && !stageName.MatchString(st.Name) {
		s.reportKey("name", "must be lower-case letters, digits and underscores, the first a letter: conditions and texts call it so")
	}
	count := 0
	for _, key := range []string{"agent", "workflow", "gate"} {
		if s.has(key) {
			count++
		}
	}
	if count != 1 {
		s.reportKey("name", "has %d of agent, workflow and gate: a stage is one of them", count)
	}
	if n, ok := s.take("gate"); ok {
		if kind == flow.KindParallel {
			s.reportKey("gate", "is not possible side by side with others: put it behind this workflow in a pipeline")
		}
		st.Gate = s.gate(n)
	}
	s.finish()
	return st
}

// runs notes which agent or workflow a stage runs, for circles to be found.
func (s *section) runs(key, workflow string) string {
	before := len(s.l.refs)
	name := s.refer(key)
	for i := before; i < len(s.l.refs); i++ {
		s.l.refs[i].from = workflow
	}
	return name
}

func (s *section) gate(n *yaml.Node) *flow.Gate {
	g := s.l.section(s.file, s.prefix+"gate.", n, &gateKeys)
	if g == nil {
		return nil
	}
	a := permission.Approval{Reviewers: g.reviewers()}
	if g.has("quorum") {
		a.Quorum = g.integer("quorum")
	}
	a.ExcludeRequester = g.flag("exclude_requester")
	a.Timeout = g.duration("timeout")
	if g.has("on_timeout") {
		a.OnTimeout = g.choice("on_timeout")
	}
	a.RemindEvery, a.Escalate = g.duration("remind_every"), g.ladder(a)
	group := false
	for _, r := range a.Reviewers {
		group = group || strings.HasPrefix(r, groupPrefix)
	}
	if len(a.Reviewers) > 0 && !group && a.Quorum > len(a.Reviewers) {
		g.reportKey("quorum", "%d approvals are needed and only %d reviewers may give one: lower it or name more", a.Quorum, len(a.Reviewers))
	}
	out := &flow.Gate{Title: g.text("title"), Approval: a}
	if g.has("risk") {
		out.Risk = g.risk()
	}
	g.finish()
	return out
}

// nesting reports workflows that stand deeper within one another than is carried out, and names that are an agent's and
// a workflow's: a run is started with either.
func (l *loader) nesting() {
	inner := map[string][]string{}
	for _, f := range l.config.Flows {
		for _, s := range f.Agent.Flow.Stages {
			if s.Workflow != "" {
				inner[f.Agent.Name] = append(inner[f.Agent.Name], s.Workflow)
			}
		}
	}
	depths := map[string]int{}
	var depth func(name string) int
	depth = func(name string) int {
		if d, ok := depths[name]; ok {
			return d
		}
		depths[name] = 1 // a circle is reported elsewhere
		most := 0
		for _, in := range inner[name] {
			most = max(most, depth(in))
		}
		depths[name] = most + 1
		return most + 1
	}
	for _, f := range l.config.Flows {
		if d := depth(f.Agent.Name); d > flow.MaxDepth {
			l.report(f.Pos.File, f.Pos.Line, "stages", "%d workflows stand within one another here; at most %d may", d, flow.MaxDepth)
		}
		if a, ok := l.config.Spec(f.Agent.Name); ok {
			l.report(f.Pos.File, f.Pos.Line, "name", "%q is an agent's name already, at %s: a run is started with either, so rename one", f.Agent.Name, fmt.Sprint(a.Pos))
		}
	}
}

// Flow returns the workflow of that name.
func (c *Config) Flow(name string) (agent.Agent, bool) {
	f, ok := find(c.Flows, func(f FlowSpec) bool { return f.Agent.Name == name })
	return f.Agent, ok
}

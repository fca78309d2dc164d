package config

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"

	"holdpoint/interaction"
	"holdpoint/permission"
)

// maxPrincipal is how long the id of a person or group may be.
const maxPrincipal = 200

func readPolicy(s *section, name string) {
	p := Policy{Name: name, Pos: s.pos()}
	n, ok := s.take("rules")
	switch most := s.spec("rules").most; {
	case !ok:
	case n.Kind != yaml.SequenceNode:
		s.report("rules", n.Line, "must be a list of rules, such as %q", `- {match: "bash(rm:*)", decision: deny}`)
	case len(n.Content) > most:
		s.report("rules", n.Line, "has %d rules, more than %d", len(n.Content), most)
	default:
		s.rules(&p, n)
	}
	s.l.config.Policies = append(s.l.config.Policies, p)
}

func (s *section) rules(p *Policy, n *yaml.Node) {
	before := len(s.l.problems)
	var examples []examples
	for i, item := range n.Content {
		r, e, ok := s.rule(i, item, p.Name)
		switch {
		case ok && e.result:
			p.Results = append(p.Results, r)
		case ok:
			p.Rules = append(p.Rules, r)
			e.rule = r
			examples = append(examples, e)
		}
	}
	set := s.compile(p.Rules)
	s.compile(p.Results)
	if len(s.l.problems) == before { // what an incomplete set decides says nothing
		s.checkExamples(set, examples)
	}
}

// compile checks the rules together, once each has been accepted alone: what only the whole set shows.
func (s *section) compile(rules []permission.Rule) *permission.Set {
	set, problems, err := permission.Compile(rules)
	if err != nil {
		s.reportKey("rules", "%v", err)
	}
	for _, bad := range problems {
		s.report("rules", bad.Rule.Source.Line, "%v", bad.Err)
	}
	return set
}

// rule reads one rule; false when it has a mistake, which is reported.
func (s *section) rule(i int, n *yaml.Node, policy string) (permission.Rule, examples, bool) {
	before := len(s.l.problems)
	r := s.l.section(s.file, fmt.Sprintf("%srules[%d].", s.prefix, i), n, &ruleKeys)
	if r == nil {
		return permission.Rule{}, examples{}, false
	}
	r.require()
	out := permission.Rule{
		Risk:   r.risk(),
		Where:  r.conditions(),
		Source: permission.Source{Layer: permission.LayerPolicy, Name: policy, File: s.file, Line: n.Line},
	}
	decision := r.choice("decision")
	pattern, _ := r.scalar("match", "a pattern such as bash(rm:*)")
	result := r.stage(decision)
	out.Approval = r.approval(result)
	e := r.examples()
	e.result = result
	r.finish()
	unreadable := false
	switch {
	case pattern.line == 0:
	case decision == permission.Allow.String() && r.warnsOf(pattern):
		unreadable = true
	case decision != "":
		out.Pattern = pattern.text
		r.pattern(&out, decision, pattern)
	case permission.ParsePattern(permission.Allow, pattern.text) != nil: // whatever the decision, what no deny could say is a mistake
		out.Pattern = pattern.text
		if permission.ParsePattern(permission.Deny, pattern.text) != nil {
			r.pattern(&out, permission.Deny.String(), pattern)
		}
	}
	return out, e, len(s.l.problems) == before && !unreadable
}

// warnsOf warns of an allow whose pattern can't be read: it allows nothing, which is safe. One that is too wide is not
// meant.
func (s *section) warnsOf(written scalar) bool {
	tool, _, _ := strings.Cut(written.text, "(")
	err := permission.ParsePattern(permission.Allow, written.text)
	if err == nil || strings.ContainsAny(tool, "*?[{") {
		return false
	}
	s.l.warn(s.file, written.line, s.prefix+"match", "%v; until then the rule allows nothing", legible(err, written))
	s.l.config.Warnings[len(s.l.config.Warnings)-1].Unread = true
	return true
}

// legible is an error about a pattern without what a variable holds, which the engine quotes.
func legible(err error, written scalar) error {
	if err == nil || !written.expanded {
		return err
	}
	return fmt.Errorf("%q is no valid pattern once its variables are filled in", written.raw)
}

// pattern checks a rule's pattern as the engine will read it.
func (s *section) pattern(r *permission.Rule, decision string, written scalar) {
	if err := r.Effect.UnmarshalText([]byte(decision)); err != nil {
		s.reportKey("decision", "%v", err)
		return
	}
	err := permission.ParsePattern(r.Effect, r.Pattern)
	if err == nil {
		alone := *r
		alone.Where = nil // checked where they are read
		err = compileOne(alone)
	}
	if err != nil {
		s.report("match", written.line, "%v", legible(err, written))
		return
	}
	if idle := permission.Idle(r.Pattern); idle != "" && !written.expanded {
		s.l.warn(s.file, written.line, s.prefix+"match", "%s", idle)
	}
	// A rule for a tool that does not exist never matches, and a deny that never matches protects nothing. A
	// tool of an importing program is legitimate, so only what looks like a slip is refused.
	name, _, _ := strings.Cut(written.raw, "(")
	if near := nearest(name, builtins); near != "" && near != name && distance(name, near) <= 1 && !strings.ContainsAny(name, "*?[{") {
		s.report("match", written.line, "no tool is named %q (did you mean %q?)", name, near)
	}
}

// compileOne compiles a rule alone, so that what is wrong with it is told at its own line.
func compileOne(r permission.Rule) error {
	_, problems, err := permission.Compile([]permission.Rule{r})
	if err == nil && len(problems) > 0 {
		err = problems[0].Err
	}
	return err
}

// approval reads how to ask, about a call or about a result.
func (s *section) approval(result bool) permission.Approval {
	a := permission.Approval{Reviewers: s.reviewers()}
	if s.has("quorum") { // what is not said stays 0, as the engine has it
		a.Quorum = s.integer("quorum")
	}
	a.ExcludeRequester = s.flag("exclude_requester")
	a.Timeout, a.OnTimeout = s.duration("timeout"), s.onTimeout(result)
	a.RemindEvery, a.Escalate = s.duration("remind_every"), s.ladder(a)
	a.MaxGrant = permission.GrantScope(s.choice("max_grant"))
	group := slices.ContainsFunc(a.Reviewers, func(r string) bool { return strings.HasPrefix(r, groupPrefix) })
	if len(a.Reviewers) > 0 && !group && a.Quorum > len(a.Reviewers) {
		s.reportKey("quorum", "%d approvals are needed and only %d reviewers may give one: lower it or name more", a.Quorum, len(a.Reviewers))
	}
	return a
}

// timeoutActions are what may happen when nobody answers.
var timeoutActions = []string{
	string(interaction.ActionReject), string(interaction.ActionSkip), string(interaction.ActionTerminate), string(interaction.ActionRetry),
}

// onTimeout reads what happens when nobody answers. It is never an approval.
func (s *section) onTimeout(result bool) string {
	v, ok := s.scalar("on_timeout", "text")
	if !ok {
		return ""
	}
	allowed := timeoutActions
	if result {
		allowed = resultTimeoutActions
	}
	switch {
	case slices.Contains(allowed, v.text):
		return v.text
	case v.text == string(interaction.ActionApprove) || v.text == "allow":
		s.report("on_timeout", v.line, "%s is not possible: silence is no approval (use %s)", v.text, joinNames(allowed))
	default:
		s.report("on_timeout", v.line, "%q is none of %s%s", v.raw, joinNames(allowed), onlyNear(v.raw, allowed))
	}
	return ""
}

// groupPrefix marks a reviewer that is a group.
const groupPrefix = "group:"

func (s *section) reviewers() []string {
	items := s.list("reviewers")
	for _, v := range items {
		s.principal("reviewers", v)
	}
	return texts(items)
}

// principal checks the id of a person or group.
func (s *section) principal(key string, v scalar) {
	prefix, rest, colon := strings.Cut(v.text, ":")
	switch {
	case len(v.text) > maxPrincipal:
		s.report(key, v.line, "is longer than %d bytes", maxPrincipal)
	case strings.ContainsFunc(v.text, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsGraphic(r) }):
		s.report(key, v.line, "%q must not have blanks or invisible characters in it", v.raw)
	case colon && prefix+":" == groupPrefix && rest == "":
		s.report(key, v.line, "%q names no group: write group:NAME", v.raw)
	case colon && prefix+":" != groupPrefix && distance(prefix+":", groupPrefix) <= 2:
		s.report(key, v.line, "%q: a group is written group:NAME (did you mean %q?)", v.raw, groupPrefix+rest)
	}
}

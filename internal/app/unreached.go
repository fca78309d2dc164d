package app

import (
	"fmt"
	"slices"
	"strings"

	"holdpoint/interaction"
	"holdpoint/internal/config"
	"holdpoint/permission"
)

// unreached says why what an agent asks may wait for ever with nobody told of it: no reviewer is named, no notifier tells
// anybody, and no timeout ends it. "" is that each question reaches somebody, or ends.
func (d *definitions) unreached(agent string) string {
	if slices.ContainsFunc(d.cfg.Notifiers, func(n config.Notifier) bool { return n.Kind != config.NotifierCallback }) {
		return ""
	}
	a, found := d.Agent(agent)
	if !found {
		return ""
	}
	rules, _ := d.Policy(a.Policy)
	const advice = ": somebody must look into the inbox, or configure a notifier, reviewers or a timeout"
	everything := false
	for _, r := range rules {
		if r.Effect != permission.Ask {
			continue
		}
		if len(r.Approval.Reviewers) == 0 && r.Approval.Timeout == 0 {
			return fmt.Sprintf("what rule %q of policy %q asks reaches nobody by itself and has no deadline%s", r.Pattern, a.Policy, advice)
		}
		everything = everything || r.Pattern == "*"
	}
	if !everything {
		return "what no rule of the agent's policy names is asked, reaches nobody by itself and has no deadline" + advice
	}
	return ""
}

// unmet says which rules and gates of an agent, or of a workflow of agents, can never get the approvals that they need for a
// user: the user is among those who are asked, may not approve, and too few are left.
func (d *definitions) unmet(agent string, user interaction.PrincipalID) (why []string) {
	a, found := d.Agent(agent)
	if !found || user == "" {
		return nil
	}
	say := func(what string, need permission.Approval) {
		if left := approversBut(need, user); left >= 0 && left < max(need.Quorum, 1) {
			why = append(why, fmt.Sprintf("%s needs %d approvals by others than %s, and only %d of those whom it names may give one: name more",
				what, max(need.Quorum, 1), interaction.Visible(string(user)), left))
		}
	}
	if a.Flow != nil {
		for _, s := range a.Flow.Stages {
			if s.Gate != nil {
				say(fmt.Sprintf("the gate %q of workflow %q", s.Name, agent), s.Gate.Approval)
			}
		}
		return why
	}
	rules, _ := d.Policy(a.Policy)
	for _, r := range slices.Concat(rules, d.Results(a.Policy)) {
		if r.Effect == permission.Ask {
			say(fmt.Sprintf("rule %q of policy %q", r.Pattern, a.Policy), r.Approval)
		}
	}
	return why
}

// approversBut counts those who may approve but for the user, with those to whom it escalates; -1 where that can't be known.
func approversBut(need permission.Approval, user interaction.PrincipalID) int {
	names := slices.Clone(need.Reviewers)
	for _, rung := range need.Escalate {
		names = append(names, rung.To...)
	}
	if !need.ExcludeRequester || len(need.Reviewers) == 0 || slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, "group:") }) {
		return -1
	}
	slices.Sort(names)
	return len(slices.DeleteFunc(slices.Compact(names), func(n string) bool { return n == string(user) }))
}

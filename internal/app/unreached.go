package app

import (
	"fmt"
	"slices"
	"strings"

	"holdpoint/agent"
	"holdpoint/interaction"
	"holdpoint/internal/config"
	"holdpoint/permission"
)

// involved are an agent, or a workflow of agents, and all that it may have work, each once: the agents that it may call, those
// of its stages, and theirs.
func (d *definitions) involved(name string) (out []agent.Agent) {
	seen := map[string]bool{}
	for left := []string{name}; len(left) > 0; left = left[1:] {
		a, found := d.Agent(left[0])
		if seen[left[0]] || !found {
			continue
		}
		seen[left[0]] = true
		out = append(out, a)
		left = append(left, a.Agents...)
		if a.Flow != nil {
			for _, s := range a.Flow.Stages {
				left = append(left, s.Runs()) // "" of a gate is nobody
			}
		}
	}
	return out
}

// unreached says why what an agent asks, or one that works for it, may wait for ever with nobody told of it: no reviewer is
// named, no notifier tells anybody, and no timeout ends it. "" is that each question reaches somebody, or ends.
func (d *definitions) unreached(name string) string {
	if slices.ContainsFunc(d.cfg.Notifiers, func(n config.Notifier) bool { return n.Kind != config.NotifierCallback }) {
		return ""
	}
	for _, a := range d.involved(name) {
		why := d.unreachedRules(a, a.Name == name)
		if a.Flow != nil {
			why = unreachedGates(a)
		}
		if why != "" {
			return why + " reaches nobody by itself and has no deadline: somebody must look into the inbox, or configure a notifier, reviewers or a timeout"
		}
	}
	return ""
}

func (d *definitions) unreachedRules(a agent.Agent, itself bool) string {
	rules, _ := d.Policy(a.Policy)
	everything := false
	for _, r := range rules {
		if r.Effect != permission.Ask {
			continue
		}
		if len(r.Approval.Reviewers) == 0 && r.Approval.Timeout == 0 {
			return fmt.Sprintf("what rule %q of policy %q asks", r.Pattern, a.Policy)
		}
		everything = everything || r.Pattern == "*"
	}
	switch {
	case everything:
		return ""
	case itself:
		return "what no rule of the agent's policy names is asked, and"
	default:
		return fmt.Sprintf("what no rule of the policy of agent %q names is asked, and", a.Name)
	}
}

func unreachedGates(a agent.Agent) string {
	for _, s := range a.Flow.Stages {
		if s.Gate != nil && len(s.Gate.Approval.Reviewers) == 0 && s.Gate.Approval.Timeout == 0 {
			return fmt.Sprintf("what the gate %q of workflow %q asks", s.Name, a.Name)
		}
	}
	return ""
}

// unmet says which rules and gates of an agent, or of a workflow of agents, and of all that work for it, can never get the
// approvals that they need for a user: the user is among those who are asked, may not approve, and too few are left.
func (d *definitions) unmet(name string, user interaction.PrincipalID) (why []string) {
	if user == "" {
		return nil
	}
	say := func(what string, need permission.Approval) {
		left := approversBut(need, user)
		if left < 0 || left >= max(need.Quorum, 1) {
			return
		}
		text := fmt.Sprintf("%s needs %d approvals by others than %s, and only %d of those whom it names may give one: name more",
			what, max(need.Quorum, 1), interaction.Visible(string(user)), left)
		if !slices.Contains(why, text) { // agents may share a policy
			why = append(why, text)
		}
	}
	for _, a := range d.involved(name) {
		if a.Flow != nil {
			for _, s := range a.Flow.Stages {
				if s.Gate != nil {
					say(fmt.Sprintf("the gate %q of workflow %q", s.Name, a.Name), s.Gate.Approval)
				}
			}
			continue
		}
		rules, _ := d.Policy(a.Policy)
		for _, r := range slices.Concat(rules, d.Results(a.Policy)) {
			if r.Effect == permission.Ask {
				say(fmt.Sprintf("rule %q of policy %q", r.Pattern, a.Policy), r.Approval)
			}
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

package app

import (
	"fmt"
	"slices"

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

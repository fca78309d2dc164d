package app_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"holdpoint/interaction"
	"holdpoint/permission"
	"holdpoint/tool"
)

// This is the law as a person would read it, written without the engine that it judges.

// covers reports whether a rule is about a call with these arguments.
func covers(about string, a args) bool {
	switch about {
	case "":
		return true
	case "ok:true":
		return a.OK
	default:
		return about == fmt.Sprintf("n:%d", a.N)
	}
}

// demand is what a policy says of a call: the strictest effect, and of all rules that ask together the most approvals,
// by those whom all of them name.
type demand struct {
	effect    permission.Effect
	quorum    int
	limited   bool
	reviewers []string
	fourEyes  bool
}

func demanded(policy []law, a args) (d demand) {
	d = demand{effect: permission.Ask, quorum: 1}
	asked, allowed := false, false
	for _, l := range policy {
		if !covers(l.About, a) {
			continue
		}
		switch l.Effect {
		case permission.Deny:
			d.effect = permission.Deny
		case permission.Allow:
			allowed = true
		case permission.Ask:
			asked = true
			d.quorum, d.fourEyes = max(d.quorum, l.Quorum), d.fourEyes || l.FourEyes
			if len(l.Reviewers) > 0 && d.limited {
				d.reviewers = slices.DeleteFunc(slices.Clone(d.reviewers), func(r string) bool { return !slices.Contains(l.Reviewers, r) })
			} else if len(l.Reviewers) > 0 {
				d.limited, d.reviewers = true, l.Reviewers
			}
		}
	}
	if d.effect != permission.Deny && allowed && !asked {
		d.effect = permission.Allow
	}
	return d
}

// met reports whether these approvals are enough.
func (d demand) met(approvals []reply, user string) bool {
	var who []string
	for _, r := range approvals {
		name := strings.Replace(r.Who, user, requester, 1)
		approves := r.Action == interaction.ActionApprove || r.Action == interaction.ActionModifyArgs
		if !approves || slices.Contains(who, name) || d.fourEyes && name == requester || d.limited && !slices.Contains(d.reviewers, name) {
			continue
		}
		who = append(who, name)
	}
	return len(who) >= d.quorum
}

// executed says what is wrong about an execution.
func (w *witness) executed(i int, ran tool.Call, entry tool.Execution) (wrong []string) {
	complain := func(format string, values ...any) {
		wrong = append(wrong, fmt.Sprintf("call %d ran with %s, although ", i, ran.Args)+fmt.Sprintf(format, values...))
	}
	var a args
	if err := json.Unmarshal(ran.Args, &a); err != nil {
		complain("it can't be read: %v", err)
	}
	for _, d := range w.saved {
		if covers(d.about, a) && d.after.Before(entry.StartedAt) {
			complain("a deny of %s was saved at %s, before it was claimed at %s", d.about, d.after, entry.StartedAt)
		}
	}
	d := demanded(w.Policy, a)
	approvals := w.about[entry.Interact]
	switch {
	case d.effect == permission.Deny:
		complain("the policy denies it")
	case d.effect == permission.Ask && !d.met(approvals, w.user):
		complain("the policy demands %+v and it had %+v (%s)", d, approvals, entry.Interact)
	}
	if entry.Interact == "" {
		if got := string(ran.Args); got != w.Calls[i].json() {
			complain("the model asked for %s", w.Calls[i].json())
		}
		w.all.add("executed without anyone being asked")
		return wrong
	}
	w.all.add("executed under an approval")
	rec := recordOf(w.Holdpoint, entry.Interact)
	shown := string(rec.ToolArgs)
	if last := approvals[max(len(approvals)-1, 0):]; len(last) == 1 && last[0].Action == interaction.ActionModifyArgs {
		shown = last[0].Args.json()
	}
	if shown != string(ran.Args) || rec.Status != interaction.StatusAnswered {
		complain("approved was %s, and the record has it as %s %s", shown, rec.Status, rec.Action)
	}
	return wrong
}

// notExecuted says what is wrong about a call that did not run: it needs a result that says why, and a reason.
func (w *witness) notExecuted(i int, rec tool.Record) (wrong []string) {
	if rec.Result == nil {
		return []string{fmt.Sprintf("call %d did not run and has no result", i)}
	}
	w.all.add("not executed: " + string(rec.Result.Status))
	why := map[tool.Status]string{tool.StatusDenied: "Denied: ", tool.StatusRejected: "rejected", tool.StatusSkipped: "skipped", tool.StatusAborted: "The run ended"}
	words, ok := why[rec.Result.Status]
	if !ok || !strings.Contains(rec.Result.Content, words) {
		wrong = append(wrong, fmt.Sprintf("call %d did not run, and its result is %s: %s", i, rec.Result.Status, rec.Result.Content))
	}
	if rec.Result.Status == tool.StatusDenied && !w.forbidden(i) {
		wrong = append(wrong, fmt.Sprintf("call %d was denied, and no rule denies it: %s", i, rec.Result.Content))
	}
	return wrong
}

// forbidden reports whether some rule denies a call, or what a reviewer made of it.
func (w *witness) forbidden(i int) bool {
	tried := []args{w.Calls[i]}
	for id, replies := range w.about {
		for _, r := range replies {
			if r.Action == interaction.ActionModifyArgs && strings.HasPrefix(string(id), fmt.Sprintf("%s-1-%d-", w.run.RunID, i+1)) {
				tried = append(tried, r.Args)
			}
		}
	}
	return slices.ContainsFunc(tried, func(a args) bool {
		return demanded(w.Policy, a).effect == permission.Deny ||
			slices.ContainsFunc(w.saved, func(d savedDeny) bool { return covers(d.about, a) })
	})
}

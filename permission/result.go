package permission

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

const maxReasons = 32

// decision combines the outcomes: the strictest decides, a fault asks at
// best.
func (e *evaluation) decision() Decision {
	faults := e.faults
	if e.args.fault != "" {
		faults = append([]string{e.args.fault}, faults...)
		e.faults = faults
	}
	d := Decision{Effect: Allow, Resource: e.res, Paths: e.paths, Private: e.private, Malformed: e.args.fault != ""}
	if len(faults) > 0 || len(e.results) == 0 {
		d.Effect = Ask
	}
	for i := range e.results {
		o := &e.results[i]
		if o.effect.Stricter(d.Effect) {
			d.Effect = o.effect
		}
		if o.rule != nil {
			o.written() // once, for all that tell of it
		}
	}
	ordered := slices.Clone(e.results)
	slices.SortStableFunc(ordered, func(a, b outcome) int { return b.effect.rank() - a.effect.rank() })
	if d.Effect == Ask {
		for _, f := range faults {
			d.addReason(Reason{Effect: Ask, Text: sentence(f), Source: Source{Layer: LayerDefault}})
		}
	}
	for _, o := range ordered {
		d.addOutcome(o, e.script)
	}
	if d.Effect == Deny {
		for _, f := range faults {
			d.addReason(Reason{Effect: Ask, Text: sentence(f), Source: Source{Layer: LayerDefault}})
		}
	}
	e.conclude(&d, ordered)
	return d
}

// conclude fills what follows from the effect: the sentence, the rule, the
// risk, and how to ask.
func (e *evaluation) conclude(d *Decision, ordered []outcome) {
	d.Reason = "No rule allows this call."
	if len(d.Reasons) > 0 {
		d.Reason = d.Reasons[0].Text
	}
	if len(ordered) > 0 && ordered[0].effect == d.Effect && ordered[0].rule != nil && (d.Effect != Ask || len(e.faults) == 0) {
		d.Matched = ordered[0].written()
	}
	d.Risk = e.call.Tool.Risk
	for _, o := range ordered {
		for _, r := range o.matched {
			if risk := r.kin.scope.Risk; risk.rank() > d.Risk.rank() {
				d.Risk = risk
			}
		}
	}
	if e.script {
		d.Parts = partsOf(e.results)
	}
	if d.Effect == Allow {
		d.Grants = grantsOf(ordered)
	}
	if d.Effect == Ask {
		d.Approval = e.approval()
	}
}

// grantsOf are the stored rules that the outcomes rest on.
func grantsOf(results []outcome) []string {
	var out []string
	for _, o := range results {
		if o.rule == nil || !o.rule.stored() {
			continue
		}
		if id := o.written().ID; id != "" && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

func (d *Decision) addReason(r Reason) {
	if len(d.Reasons) >= maxReasons || slices.ContainsFunc(d.Reasons, func(have Reason) bool {
		return have.Text == r.Text && have.RuleID == r.RuleID && have.Rule == r.Rule
	}) {
		return
	}
	d.Reasons = append(d.Reasons, r)
}

// addOutcome gives the deciding rule of an outcome, and after it the others
// that matched.
func (d *Decision) addOutcome(o outcome, named bool) {
	text := o.reason
	r := Reason{Effect: o.effect, Source: o.source()}
	if o.rule != nil {
		rule := o.written()
		text += ": " + rule.Pattern
		r.Rule, r.RuleID = rule.Pattern, rule.ID
	}
	if named && o.text != "" {
		text = shortened(o.text) + ": " + text
	} else {
		text = sentence(text)
	}
	r.Text = text
	d.addReason(r)
	for _, m := range o.matched {
		if m != o.rule {
			rule := m.rule()
			d.addReason(Reason{Effect: rule.Effect, Text: sentence(fmt.Sprintf("the %s rule %s matches too", rule.Effect, rule.Pattern)),
				Rule: rule.Pattern, RuleID: rule.ID, Source: rule.Source})
		}
	}
}

func partsOf(results []outcome) []Part {
	var out []Part
	for _, o := range results {
		if len(out) == maxParts {
			break
		}
		p := Part{Text: o.text, Effect: o.effect, Reason: o.reason}
		if o.rule != nil {
			p.Rule = o.written().Pattern
		}
		out = append(out, p)
	}
	return out
}

// approval merges how the matching ask rules want to be asked.
func (e *evaluation) approval() Approval {
	a := Approval{MaxGrant: GrantUser}
	if len(e.faults) > 0 || e.anyFinal() {
		a.MaxGrant = GrantNone
	}
	limited := false
	for _, o := range e.results {
		for _, r := range o.matched {
			if r.effect() == Ask {
				limited = a.merge(r.kin.scope.Approval, limited)
			}
		}
	}
	return a
}

// merge takes the stricter of every setting. limited tells whether reviewers
// have been named already.
func (a *Approval) merge(b Approval, limited bool) bool {
	a.Quorum = max(a.Quorum, b.Quorum)
	a.ExcludeRequester = a.ExcludeRequester || b.ExcludeRequester
	if t := shortest(a.Timeout, b.Timeout); t != a.Timeout || a.OnTimeout == "" {
		a.Timeout = t
		if b.OnTimeout != "" {
			a.OnTimeout = b.OnTimeout
		}
	}
	if b.MaxGrant.rank() < a.MaxGrant.rank() {
		a.MaxGrant = b.MaxGrant
	}
	a.RemindEvery = shortest(a.RemindEvery, b.RemindEvery)
	a.Escalate = climbable(*a, b, limited)
	if len(b.Reviewers) == 0 {
		return limited
	}
	if !limited {
		a.Reviewers = slices.Clone(b.Reviewers)
		return true
	}
	both := slices.DeleteFunc(slices.Clone(a.Reviewers), func(r string) bool { return !slices.Contains(b.Reviewers, r) })
	if len(both) == 0 {
		both = []string{"group:admin"}
	}
	a.Reviewers = both
	return true
}

// climbable is the ladder that holds for two askings: that of the one which limits
// who may answer. Where both do, one's ladder could let in whom the other keeps
// out, so there is none unless they say the same.
func climbable(a, b Approval, limited bool) []Escalation {
	same := slices.EqualFunc(a.Escalate, b.Escalate, func(x, y Escalation) bool {
		return x.After == y.After && slices.Equal(x.To, y.To)
	})
	switch {
	case same:
		return a.Escalate
	case !limited:
		return b.Escalate
	case len(b.Reviewers) == 0 && len(b.Escalate) == 0:
		return a.Escalate
	default:
		return nil
	}
}

// sentence makes a reason one plain sentence.
func sentence(s string) string {
	for i, r := range s {
		return string(unicode.ToUpper(r)) + s[i+len(string(r)):] + "."
	}
	return s
}

func shortened(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if rs := []rune(s); len(rs) > 80 {
		return string(rs[:77]) + "…"
	}
	return s
}

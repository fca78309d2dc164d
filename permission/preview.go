package permission

import "slices"

// Preview gives the indexes of the calls that a proposed rule matches, wholly
// or in one of their parts, with nothing else in force. Whose rule it is, its
// session, its expiry and its use count play no part. A rule that can't be
// compiled matches nothing.
func Preview(r Rule, past []Call) []int {
	r.UserID, r.SessionID, r.MaxUses, r.Uses = "", "", 0, 0
	r.ExpiresAt, r.Source = Rule{}.ExpiresAt, Source{Layer: LayerPolicy}
	set, problems, err := Compile([]Rule{r})
	if err != nil || len(problems) > 0 {
		return nil
	}
	var out []int
	for i, c := range past {
		c.Tool.Consent = ConsentAlways
		if set.touches(c) {
			out = append(out, i)
		}
	}
	return out
}

// touches reports whether a rule of the set decides on some part of the call.
func (s *Set) touches(c Call) bool {
	e := s.evaluate(c)
	if len(s.allows) > 0 && (len(e.faults) > 0 || e.args.fault != "") {
		return false
	}
	return slices.ContainsFunc(e.results, func(o outcome) bool { return o.rule != nil })
}

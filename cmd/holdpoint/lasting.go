package main

import (
	"time"

	"holdpoint/interaction"
)

// lasting puts on a response what holds beyond it: who is asked instead, and what is kept as a rule; and until when.
func (f *answerFlags) lasting(resp *interaction.Response, now time.Time) error {
	if len(f.to) > 0 {
		resp.To = f.to
	}
	until, err := f.end(now)
	switch {
	case err != nil:
		return err
	case f.always == "" && (len(f.patterns) > 0 || f.uses != 0):
		return usage("--pattern and --uses belong to --always: say for what, session or user")
	case f.always == "":
		resp.Until = firstSet(until, resp.Until)
		return nil
	}
	scope := interaction.GrantScope(f.always)
	if scope != interaction.GrantSession && scope != interaction.GrantUser {
		return usage("--always %s: use session or user", f.always)
	}
	resp.Grant = &interaction.Grant{Scope: scope, Patterns: f.patterns, ExpiresAt: until, MaxUses: f.uses}
	return nil
}

// firstSet is the first that is set.
func firstSet(a, b time.Time) time.Time {
	if a.IsZero() {
		return b
	}
	return a
}

// end reads --until; zero where it is not given.
func (f *answerFlags) end(now time.Time) (time.Time, error) {
	if f.until == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(f.until); err == nil && d > 0 {
		return now.Add(d).UTC().Truncate(time.Second), nil
	}
	t, err := time.Parse(time.RFC3339, f.until)
	if err != nil {
		return t, usage("--until: %q is neither a time such as 2026-05-01T12:00:00Z nor a duration such as 4h", f.until)
	}
	return t, nil
}

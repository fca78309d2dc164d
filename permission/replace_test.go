package permission

import (
	"testing"
	"time"
)

func TestARuleMayNotReplaceAStricterOne(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	in := func(h int) time.Time { return now.Add(time.Duration(h) * time.Hour) }
	rule := func(e Effect, ends time.Time) Rule {
		return Rule{Effect: e, Pattern: "bash(ls)", ExpiresAt: ends, CreatedAt: now}
	}
	var never time.Time
	for name, c := range map[string]struct {
		old, r Rule
		want   bool
	}{
		"allow for allow":                {rule(Allow, never), rule(Allow, in(1)), true},
		"deny for allow":                 {rule(Allow, never), rule(Deny, in(1)), true},
		"ask for allow":                  {rule(Allow, never), rule(Ask, never), false},
		"allow for deny":                 {rule(Deny, in(1)), rule(Allow, never), false},
		"ask for deny":                   {rule(Deny, in(1)), rule(Ask, never), false},
		"a lasting deny for a lasting":   {rule(Deny, never), rule(Deny, never), true},
		"a short deny for a lasting":     {rule(Deny, never), rule(Deny, in(1)), false},
		"a shorter deny for a long":      {rule(Deny, in(2)), rule(Deny, in(1)), false},
		"a longer deny for a short":      {rule(Deny, in(1)), rule(Deny, in(2)), true},
		"a lasting deny for a short":     {rule(Deny, in(1)), rule(Deny, never), true},
		"allow for ask":                  {rule(Ask, never), rule(Allow, never), false},
		"deny for ask":                   {rule(Ask, never), rule(Deny, never), false},
		"allow for a deny that is over":  {rule(Deny, in(-1)), rule(Allow, never), true},
		"allow for a deny that ends now": {rule(Deny, now), rule(Allow, never), true},
		"allow for something unknown":    {rule(Effect(99), never), rule(Allow, never), false},
	} {
		if got := c.r.MayReplace(c.old); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

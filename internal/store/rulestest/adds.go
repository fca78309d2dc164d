package rulestest

import (
	"errors"
	"strings"
	"time"

	"holdpoint/internal/store"
	"holdpoint/permission"
)

func (s *suite) adds() {
	add := func(rules ...permission.Rule) ([]store.SavedRule, error) {
		return s.s.AddRules(s.t.Context(), rules...)
	}
	brief := deny("brief", "bash(npm test)")
	brief.ExpiresAt = start.Add(time.Hour)
	if saved, err := add(allow("a", "bash(npm test)")); err != nil || saved[0].Known {
		s.t.Fatalf("the first: %+v, %v", saved, err)
	}
	if saved, err := add(deny("d", "bash(npm test)")); err != nil || strings.Join(saved[0].Replaced, " ") != "a" {
		s.t.Fatalf("a deny for an allow: %+v, %v", saved, err)
	}
	for _, weaker := range []permission.Rule{allow("b", "bash(npm test)"), brief} {
		if _, err := add(allow("other", "bash(ls)"), weaker); !errors.Is(err, store.ErrStricter) {
			s.t.Errorf("%s for a lasting deny: %v", weaker.ID, err)
		}
	}
	s.want("in force", s.ids(""), "d")
	if saved, err := add(allow("a", "bash(npm test)")); err != nil || !saved[0].Known {
		s.t.Errorf("one that was stored before is refused: %+v, %v", saved, err)
	}
	apart := allow("apart", "bash(npm test)")
	apart.SessionID = "s1"
	if _, err := add(apart); err != nil {
		s.t.Errorf("a session's, which the user's deny overrules anyway: %v", err)
	}
	s.want("the last word is an admin's", strings.Join(s.save(allow("c", "bash(npm test)"))[0].Replaced, " "), "d")
}

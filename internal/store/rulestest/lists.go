package rulestest

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"holdpoint/interaction"
	"holdpoint/internal/store"
	"holdpoint/permission"
)

func (s *suite) filters() {
	at := func(r permission.Rule, n int) permission.Rule { // the newest first is the order of the alphabet
		r.CreatedAt = start.Add(-time.Duration(n) * time.Second)
		return r
	}
	session, other, org, bobs := allow("b", "bash(b)"), allow("c", "bash(c)"), deny("d", "bash(d)"), allow("e", "bash(e)")
	session.SessionID, other.SessionID, org.UserID, bobs.UserID = "s1", "s2", "", "bob"
	expired, used := allow("f", "bash(f)"), allow("g", "bash(g)")
	expired.ExpiresAt, used.MaxUses = start.Add(time.Minute), 1
	var all []permission.Rule
	for n, r := range []permission.Rule{allow("a", "bash(a)"), session, other, org, bobs, expired, used, deny("h", "bash(h)")} {
		all = append(all, at(r, n))
	}
	s.save(all...)
	s.no(s.s.RevokeRule(s.t.Context(), "h", "ada", start))
	if ok, err := s.s.UseRules(s.t.Context(), []string{"g"}, "c1"); !ok || err != nil {
		s.t.Fatalf("a use: %v, %v", ok, err)
	}
	for _, tc := range []struct {
		f    store.RuleFilter
		want string
	}{
		{store.RuleFilter{UserID: "ann"}, "a b c d"},
		{store.RuleFilter{UserID: "ann", State: store.RulesAll}, "a b c d f g h"},
		{store.RuleFilter{UserID: "ann", State: store.RulesEnded}, "f g h"},
		{store.RuleFilter{UserID: "ann", Effect: "deny"}, "d"},
		{store.RuleFilter{UserID: "ann", Effect: "allow", State: store.RulesEnded}, "f g"},
		{store.RuleFilter{UserID: "ann", SessionID: "s1"}, "a b d"},
		{store.RuleFilter{UserID: "ann", Scope: permission.LayerUser}, "a"},
		{store.RuleFilter{UserID: "ann", Scope: permission.LayerSession}, "b c"},
		{store.RuleFilter{UserID: "ann", Scope: permission.LayerSession, SessionID: "s2"}, "c"},
		{store.RuleFilter{UserID: "ann", Scope: permission.LayerOrganisation}, "d"},
		{store.RuleFilter{UserID: "bob"}, "d e"},
		{store.RuleFilter{}, "d"},
		{store.RuleFilter{Scope: permission.LayerUser}, ""},
		{store.RuleFilter{UserID: "eve", Scope: permission.LayerUser}, ""},
		{store.RuleFilter{UserID: "' OR ''='"}, "d"},
	} {
		list, next := s.page(tc.f)
		s.want(fmt.Sprintf("%+v", tc.f), join(list, func(r store.StoredRule) string { return r.ID })+next, tc.want)
		for _, r := range list {
			if f := tc.f; !f.Fits(r) && f.State == store.RulesAll {
				s.t.Errorf("%s does not fit %+v", r.ID, f)
			}
		}
	}
}

func (s *suite) pages() {
	var want []string
	for n := range 11 {
		r := allow(fmt.Sprintf("r%02d", n), fmt.Sprintf("bash(echo %d)", n))
		r.CreatedAt = start.Add(time.Duration(n/4) * time.Second) // several at the same instant
		s.save(r)
		want = append([]string{r.ID}, want...)
	}
	f := store.RuleFilter{UserID: "ann", PageSize: 3}
	var got []string
	for n := range 10 {
		list, next := s.page(f)
		for _, r := range list {
			got = append(got, r.ID)
		}
		if next == "" {
			break
		}
		late := allow(fmt.Sprintf("late%d", n), fmt.Sprintf("bash(late %d)", n))
		late.CreatedAt = start.Add(time.Hour)
		s.save(late)
		f.PageToken = next
	}
	s.want("the pages", strings.Join(got, " "), strings.Join(want, " "))
	f.UserID = "bob"
	if _, _, err := s.s.ListRules(s.t.Context(), f); err == nil {
		s.t.Error("a token of one user's list was taken for another's")
	}
	f.PageToken = "!"
	if _, _, err := s.s.ListRules(s.t.Context(), f); err == nil {
		s.t.Error("a token that is none was taken")
	}
}

func (s *suite) use(ids ...string) bool {
	s.t.Helper()
	ok, err := s.s.UseRules(s.t.Context(), ids, interaction.CallID("c-"+strings.Join(ids, "-")))
	s.no(err)
	return ok
}

func (s *suite) counts() {
	twice, once := allow("twice", "bash(ls)"), allow("once", "bash(pwd)")
	twice.MaxUses, once.MaxUses = 2, 1
	s.save(twice, once, allow("free", "bash(id)"))
	if !s.use("twice", "free", "twice") { // one call, one use
		s.t.Error("the first use was refused")
	}
	if got := s.stored("twice").Uses; got != 1 {
		s.t.Errorf("%d uses after one call", got)
	}
	if !s.use("twice", "once") {
		s.t.Error("a use within both bounds was refused")
	}
	// One that is used up counts nothing of the others.
	extra := allow("extra", "bash(env)")
	extra.MaxUses = 1
	s.save(extra)
	if s.use("extra", "once") || s.stored("extra").Uses != 0 {
		s.t.Error("a call that rests on a grant that is used up was let through, or counted")
	}
	if s.use("twice") || s.use("nobody's") {
		s.t.Error("a grant was used beyond its bound, or one that is not there")
	}
	if !s.use() || !s.use("free") || s.stored("free").Uses != 0 {
		s.t.Error("what has no bound is not counted")
	}
	s.no(s.s.RevokeRule(s.t.Context(), "extra", "ada", start))
	if s.use("extra") {
		s.t.Error("a revoked grant was used")
	}
	rules, err := s.s.Rules(s.t.Context(), "ann", "")
	s.no(err)
	for _, r := range rules {
		if r.MaxUses > 0 && r.Uses != r.MaxUses {
			s.t.Errorf("%s has %d of %d uses", r.ID, r.Uses, r.MaxUses)
		}
	}
}

// each runs fn at once for numbers from 0.
func each(n int, fn func(n int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { fn(i) })
	}
	all.Wait()
}

func (s *suite) countsConcurrently() {
	few := allow("few", "bash(ls)")
	few.MaxUses = 5
	s.save(few)
	var mu sync.Mutex
	granted := 0
	each(20, func(n int) {
		ok, err := s.s.UseRules(s.t.Context(), []string{"few"}, interaction.CallID(fmt.Sprintf("c%d", n)))
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			s.t.Error(err)
		} else if ok {
			granted++
		}
	})
	if got := s.stored("few").Uses; granted != 5 || got != 5 {
		s.t.Errorf("%d uses were granted and %d counted, want 5", granted, got)
	}
}

func (s *suite) savesConcurrently() {
	const writers, rules = 8, 6
	each(writers, func(w int) {
		for n := range rules {
			r := allow(fmt.Sprintf("w%d-%d", w, n), fmt.Sprintf("bash(echo %d %d)", w, n))
			if n%3 == 2 {
				r.UserID = fmt.Sprintf("user-%d", w%2)
			}
			if _, err := s.s.SaveRules(s.t.Context(), r); err != nil {
				s.t.Error(err)
			}
		}
	})
	total := 0
	for _, user := range []string{"ann", "user-0", "user-1"} {
		list, _ := s.page(store.RuleFilter{UserID: user, Scope: permission.LayerUser, PageSize: 200})
		total += len(list)
	}
	if total != writers*rules {
		s.t.Errorf("%d rules of %d are there", total, writers*rules)
	}
}

func (s *suite) racesForAPattern() {
	each(12, func(n int) {
		r := allow(fmt.Sprintf("r%02d", n), "bash(make release)")
		if n%2 == 1 {
			r.Effect = permission.Deny
		}
		if _, err := s.s.SaveRules(s.t.Context(), r); err != nil {
			s.t.Error(err)
		}
	})
	inForce, _ := s.page(store.RuleFilter{UserID: "ann"})
	all, _ := s.page(store.RuleFilter{UserID: "ann", State: store.RulesAll})
	if len(inForce) != 1 || len(all) != 12 {
		s.t.Errorf("%d rules are in force and %d are there, want 1 and 12", len(inForce), len(all))
	}
	replaced := map[string]bool{}
	for _, r := range all {
		if r.ReplacedBy != "" {
			replaced[r.ReplacedBy] = true
		}
	}
	if len(replaced) != 11 {
		s.t.Errorf("the chain of replacements has %d links, want 11", len(replaced))
	}
}

// Package rulestest is what every store of rules must do, as tests: those of the SQL store on SQLite and PostgreSQL, and
// the one on MongoDB.
//
// Start at Conform.
package rulestest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"holdpoint/interaction"
	"holdpoint/internal/store"
	"holdpoint/permission"
)

// Rules is a store of rules, as the tests need it.
type Rules interface {
	SaveRules(ctx context.Context, rules ...permission.Rule) ([]store.SavedRule, error)
	AddRules(ctx context.Context, rules ...permission.Rule) ([]store.SavedRule, error)
	RevokeRule(ctx context.Context, id string, by interaction.PrincipalID, at time.Time) error
	RevokeRules(ctx context.Context, user interaction.PrincipalID, id string, by interaction.PrincipalID, at time.Time) ([]string, error)
	Rules(ctx context.Context, user interaction.PrincipalID, session interaction.SessionID) ([]permission.Rule, error)
	RulesVersion(ctx context.Context, user interaction.PrincipalID) (int64, error)
	StoredRule(ctx context.Context, id string) (store.StoredRule, bool, error)
	ListRules(ctx context.Context, f store.RuleFilter) ([]store.StoredRule, string, error)
	// UseRules is the store's, in a transaction of its own where it is a method of one.
	UseRules(ctx context.Context, ids []string, call interaction.CallID) (bool, error)
}

// suite is one test against one empty store.
type suite struct {
	t *testing.T
	s Rules
}

// start is when the rules of these tests begin.
var start = time.Date(2026, 3, 1, 9, 30, 0, 123456000, time.UTC)

// Conform runs every test against an empty store each.
func Conform(t *testing.T, open func(t *testing.T) Rules) {
	t.Helper()
	for name, test := range map[string]func(*suite){
		"a rule comes back as it was saved":                     (*suite).comesBack,
		"the last word on a pattern counts":                     (*suite).replaces,
		"what is added leaves what is stricter":                 (*suite).adds,
		"what is not the same pattern is left alone":            (*suite).leavesOthers,
		"saving again does nothing":                             (*suite).idempotent,
		"several are saved together or not at all":              (*suite).together,
		"what can't be stored is refused":                       (*suite).refuses,
		"a bound on uses holds":                                 (*suite).counts,
		"concurrent uses never exceed the bound":                (*suite).countsConcurrently,
		"concurrent saves lose nothing":                         (*suite).savesConcurrently,
		"concurrent allows and denies of a pattern leave one":   (*suite).racesForAPattern,
		"rules that were granted together are revoked together": (*suite).bundles,
		"revoking ends a rule once and for good":                (*suite).revokes,
		"the version tells of every change":                     (*suite).versions,
		"lists are filtered":                                    (*suite).filters,
		"lists page without gap or repeat":                      (*suite).pages,
		"one user has so many rules and no more":                (*suite).bounded,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(&suite{t, open(t)})
		})
	}
}

func (s *suite) no(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// same compares what came back.
func (s *suite) same(what string, got, want any) {
	s.t.Helper()
	if !reflect.DeepEqual(got, want) {
		s.t.Fatalf("%s: got\n%+v\nwant\n%+v", what, got, want)
	}
}

// allow is a grant of ann's.
func allow(id, pattern string) permission.Rule {
	return permission.Rule{ID: id, Effect: permission.Allow, Pattern: pattern, UserID: "ann", GrantedBy: "root", CreatedAt: start}
}

// deny is a deny of ann's.
func deny(id, pattern string) permission.Rule {
	r := allow(id, pattern)
	r.Effect = permission.Deny
	return r
}

func (s *suite) save(rules ...permission.Rule) []store.SavedRule {
	s.t.Helper()
	saved, err := s.s.SaveRules(s.t.Context(), rules...)
	s.no(err)
	if len(saved) != len(rules) {
		s.t.Fatalf("%d rules were saved, %d came back", len(rules), len(saved))
	}
	return saved
}

// ids are the ids of the rules in force for ann in a session.
func (s *suite) ids(session interaction.SessionID) string {
	s.t.Helper()
	rules, err := s.s.Rules(s.t.Context(), "ann", session)
	s.no(err)
	return join(rules, func(r permission.Rule) string { return r.ID })
}

func join[T any](list []T, id func(T) string) string {
	parts := make([]string, len(list))
	for n, v := range list {
		parts[n] = id(v)
	}
	return strings.Join(parts, " ")
}

func (s *suite) want(what, got, want string) {
	s.t.Helper()
	if got != want {
		s.t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func (s *suite) stored(id string) store.StoredRule {
	s.t.Helper()
	r, found, err := s.s.StoredRule(s.t.Context(), id)
	s.no(err)
	if !found {
		s.t.Fatalf("rule %s is not there", id)
	}
	return r
}

func (s *suite) version(user interaction.PrincipalID) int64 {
	s.t.Helper()
	v, err := s.s.RulesVersion(s.t.Context(), user)
	s.no(err)
	return v
}

// refused checks that saving a rule is refused because of a field.
func (s *suite) refused(r permission.Rule, code interaction.Code, field string) {
	s.t.Helper()
	_, err := s.s.SaveRules(s.t.Context(), r)
	var e *interaction.Error
	if !errors.As(err, &e) || e.Code != code || e.Field != field {
		s.t.Errorf("saving %+v: got %v, want %s at %q", r, err, code, field)
	}
}

func (s *suite) comesBack() {
	r := allow("r1", `mcp__bank__transfer`)
	r.SessionID, r.InteractionID, r.Note, r.MaxUses = "s1", "run-1-1-1", "for the <move> & only for it: '; -- \u202e", 3
	r.Where = []permission.Condition{{Name: "amount", Max: "100"}, {Name: "to", Equals: []byte(`"acct1"`)}}
	r.ExpiresAt, r.Risk = start.Add(72*time.Hour), permission.RiskHigh
	r.Approval = permission.Approval{Reviewers: []string{"ada"}, Quorum: 2}
	r.Uses = 2 // not for the caller to say
	saved := s.save(r)[0]
	r.Uses, r.Source.Layer = 0, permission.LayerSession
	s.same("what was saved", saved, store.SavedRule{Rule: r})
	s.same("the stored rule", s.stored("r1"), store.StoredRule{Rule: r})
	rules, err := s.s.Rules(s.t.Context(), "ann", "s1")
	s.no(err)
	s.same("the rules", rules, []permission.Rule{r})
	s.want("in another session", s.ids("s2"), "")
	_, found, err := s.s.StoredRule(s.t.Context(), "nobody's")
	if found || err != nil {
		s.t.Errorf("a rule that is not there: found %v, %v", found, err)
	}
}

func (s *suite) replaces() {
	s.save(allow("a", "bash(npm test)"))
	for n, r := range []permission.Rule{deny("d", "bash(npm test)"), allow("b", " bash(npm test) "), deny("e", "bash(npm test)")} {
		before := s.ids("")
		r.CreatedAt = start.Add(time.Duration(n+1) * time.Minute)
		saved := s.save(r)[0]
		s.want("what was replaced", strings.Join(saved.Replaced, " "), before)
		s.want("in force", s.ids(""), r.ID)
		old := s.stored(before)
		if !old.RevokedAt.Equal(r.CreatedAt) || old.RevokedBy != "root" || old.ReplacedBy != r.ID || old.InForce(r.CreatedAt) {
			s.t.Errorf("the rule that was replaced is %+v", old)
		}
	}
}

func (s *suite) leavesOthers() {
	bobs, here, all := deny("bobs", "bash(ls)"), deny("here", "bash(ls)"), deny("all", "bash(ls)")
	bobs.UserID, here.SessionID, all.UserID = "bob", "s1", ""
	small := allow("small", "bash(ls)")
	small.Where = []permission.Condition{{Name: "n", Max: "1"}}
	other := allow("other", "bash(ls -l)")
	s.save(bobs, here, all, small, other)
	for n, r := range s.save(allow("mine", "bash(ls)")) {
		if r.Replaced != nil {
			s.t.Errorf("rule %d replaced %v", n, r.Replaced)
		}
	}
	s.want("in the session", s.ids("s1"), "all here mine other small")
	smaller := small
	smaller.ID, smaller.Effect, smaller.Where = "smaller", permission.Deny, []permission.Condition{{Name: "n", Max: "1"}}
	s.want("the same conditions", strings.Join(s.save(smaller)[0].Replaced, " "), "small")
}

func (s *suite) idempotent() {
	first := s.save(allow("a", "bash(ls)"))[0]
	version := s.version("ann")
	again := allow("a", "bash(ls)")
	again.CreatedAt = start.Add(time.Hour)
	got := s.save(again)[0]
	if !got.Known || !got.Rule.CreatedAt.Equal(first.Rule.CreatedAt) {
		s.t.Errorf("saving again: %+v", got)
	}
	// A lifetime that was counted from the time of saving is the same lifetime.
	day := allow("day", "bash(pwd)")
	day.ExpiresAt = day.CreatedAt.Add(24 * time.Hour)
	s.save(day)
	day.CreatedAt, day.ExpiresAt = day.CreatedAt.Add(time.Minute), day.ExpiresAt.Add(time.Minute)
	if got := s.save(day)[0]; !got.Known || !got.Rule.ExpiresAt.Equal(start.Add(24*time.Hour)) {
		s.t.Errorf("saving for a day again: %+v", got)
	}
	for what, other := range map[string]permission.Rule{"effect": deny("a", "bash(ls)"), "pattern": allow("a", "bash")} {
		if _, err := s.s.SaveRules(s.t.Context(), other); !errors.Is(err, store.ErrExists) {
			s.t.Errorf("another %s under the same id: %v", what, err)
		}
	}
	// A repeated save does not bring back what was replaced or revoked meanwhile.
	s.save(deny("d", "bash(ls)"))
	s.no(s.s.RevokeRule(s.t.Context(), "day", "root", start))
	s.save(allow("a", "bash(ls)"))
	s.save(day)
	s.want("in force", s.ids(""), "d")
	if got := s.version("ann"); got != version+3 {
		s.t.Errorf("the version is %d; three changes after %d", got, version)
	}
}

func (s *suite) together() {
	s.save(allow("taken", "bash(id)"))
	version := s.version("ann")
	_, err := s.s.SaveRules(s.t.Context(), allow("x.1", "bash(ls)"), allow("x.2", "bash(pwd)"), allow("taken", "bash(rm:*)"))
	if !errors.Is(err, store.ErrExists) {
		s.t.Errorf("got %v, want ErrExists", err)
	}
	s.want("in force", s.ids(""), "taken")
	if s.version("ann") != version {
		s.t.Error("the version changed although nothing was saved")
	}
	s.save(allow("x.1", "bash(ls)"), allow("x.2", "bash(pwd)"))
	s.want("in force", s.ids(""), "taken x.1 x.2")
}

func (s *suite) refuses() {
	s.refused(permission.Rule{}, interaction.CodeInvalid, "id")
	nobodys := allow("a", "bash")
	nobodys.UserID = ""
	s.refused(nobodys, interaction.CodeInvalid, "user_id")
	nobodys.Effect, nobodys.SessionID = permission.Deny, "s1"
	s.refused(nobodys, interaction.CodeInvalid, "user_id")
	long := allow("a", "bash")
	long.UserID = strings.Repeat("u", 1025)
	s.refused(long, interaction.CodeInvalid, "user_id")
	wide := allow("a", "bash("+strings.Repeat("x", store.MaxRuleBytes)+")")
	s.refused(wide, interaction.CodeTooLarge, "rule")
	odd := allow("a\x00", "bash")
	s.refused(odd, interaction.CodeInvalid, "id")
	s.want("in force", s.ids(""), "")
	if err := s.s.RevokeRule(s.t.Context(), "a\x00", "root", start); !errors.Is(err, store.ErrNotFound) {
		s.t.Errorf("revoking what no rule can be called: %v", err)
	}
}

func (s *suite) revokes() {
	s.save(allow("a", "bash(ls)"), allow("b", "bash(pwd)"))
	s.no(s.s.RevokeRule(s.t.Context(), "a", "ada", start.Add(time.Hour)))
	s.no(s.s.RevokeRule(s.t.Context(), "a", "bob", start.Add(2*time.Hour)))
	s.want("in force", s.ids(""), "b")
	if r := s.stored("a"); r.RevokedBy != "ada" || !r.RevokedAt.Equal(start.Add(time.Hour)) || r.ReplacedBy != "" {
		s.t.Errorf("the revoked rule is %+v", r)
	}
	for _, id := range []string{"c", ""} {
		if err := s.s.RevokeRule(s.t.Context(), id, "ada", start); !errors.Is(err, store.ErrNotFound) {
			s.t.Errorf("revoking %q: %v", id, err)
		}
	}
}

func (s *suite) bundles() {
	var rules []permission.Rule
	for n, pattern := range []string{"bash(git status)", "bash(git log:*)", "bash(git diff:*)"} {
		rules = append(rules, allow(store.BundleID("g", n+1), pattern))
	}
	rules = append(rules, allow("g", "bash(ls)"), allow("g1", "bash(pwd)"), allow("g/x", "bash(id)"))
	other := allow("g.bob", "bash(ls)")
	other.UserID = "bob"
	s.save(append(rules, other)...)
	version := s.version("ann")
	if _, err := s.s.RevokeRules(s.t.Context(), "eve", "g", "ada", start); !errors.Is(err, store.ErrNotFound) {
		s.t.Errorf("revoking another user's: %v", err)
	}
	ended, err := s.s.RevokeRules(s.t.Context(), "ann", "g", "ada", start)
	s.no(err)
	s.want("ended", strings.Join(ended, " "), "g g.1 g.2 g.3")
	s.want("in force", s.ids(""), "g/x g1")
	if got := s.version("ann"); got != version+1 {
		s.t.Errorf("the version is %d after one revocation, was %d", got, version)
	}
	if ended, err = s.s.RevokeRules(s.t.Context(), "ann", "g", "ada", start); err != nil || len(ended) > 0 {
		s.t.Errorf("revoking again: %v, %v", ended, err)
	}
	if !s.stored("g.bob").RevokedAt.IsZero() {
		s.t.Error("another user's rule was revoked")
	}
}

func (s *suite) versions() {
	seen := map[int64]bool{s.version("ann"): true}
	changed := func(what string) {
		s.t.Helper()
		v := s.version("ann")
		if seen[v] {
			s.t.Errorf("after %s the version is %d, as it was before", what, v)
		}
		seen[v] = true
	}
	counted := allow("a", "bash(ls)")
	counted.MaxUses = 2
	s.save(counted)
	changed("a save")
	for _, call := range []interaction.CallID{"c1", "c2"} {
		if ok, err := s.s.UseRules(s.t.Context(), []string{"a"}, call); !ok || err != nil {
			s.t.Fatalf("a use: %v, %v", ok, err)
		}
		changed("a use by " + string(call))
	}
	s.no(s.s.RevokeRule(s.t.Context(), "a", "ada", start))
	changed("a revocation")
	all := deny("all", "bash(rm:*)")
	all.UserID = ""
	s.save(all)
	changed("a rule for everyone")
	bobs := deny("b", "bash")
	bobs.UserID = "bob"
	before := s.version("ann")
	s.save(bobs)
	if s.version("ann") != before {
		s.t.Error("another user's rule changed the version")
	}
	if s.version("eve") == 0 {
		s.t.Error("a rule for everyone left the version of someone without rules at 0")
	}
}

func (s *suite) page(f store.RuleFilter) ([]store.StoredRule, string) {
	s.t.Helper()
	f.Now = start.Add(time.Hour)
	list, next, err := s.s.ListRules(s.t.Context(), f)
	s.no(err)
	return list, next
}

func (s *suite) bounded() {
	batch := make([]permission.Rule, 0, store.MaxRules)
	for n := range store.MaxRules {
		batch = append(batch, allow(fmt.Sprintf("r%05d", n), fmt.Sprintf("bash(echo %d)", n)))
	}
	s.save(batch...)
	s.refused(allow("more", "bash(ls)"), interaction.CodeTooLarge, "rule")
	s.save(deny("instead", "bash(echo 1)")) // takes another's place
	expiring := allow("other", "bash(ls)")
	expiring.UserID = "bob"
	s.save(expiring)
	s.no(s.s.RevokeRule(s.t.Context(), "r00007", "ada", start))
	s.save(allow("more", "bash(ls)"))
}

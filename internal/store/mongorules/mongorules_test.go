package mongorules_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdpoint/internal/store"
	"holdpoint/internal/store/mongorules"
	"holdpoint/internal/store/mongorules/mongotest"
	"holdpoint/internal/store/rulestest"
	"holdpoint/permission"
)

func open(t testing.TB, uri, name string) *mongorules.Rules {
	t.Helper()
	r, err := mongorules.Open(t.Context(), mongorules.Config{URI: uri, Database: name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func TestRulesConform(t *testing.T) {
	t.Parallel()
	rulestest.Conform(t, func(t *testing.T) rulestest.Rules {
		uri, name := mongotest.Database(t)
		return open(t, uri, name)
	})
}

func TestARevocationIsSeenByEveryOther(t *testing.T) {
	t.Parallel()
	uri, name := mongotest.Database(t)
	here, there := open(t, uri, name), open(t, uri, name)
	for n := range 50 {
		id := fmt.Sprint("g", n)
		if _, err := here.SaveRules(t.Context(), permission.Rule{ID: id, UserID: "ann", Effect: permission.Allow, Pattern: "bash(ls)", CreatedAt: time.Now()}); err != nil {
			t.Fatal(err)
		}
		before, err := there.RulesVersion(t.Context(), "ann")
		if err != nil {
			t.Fatal(err)
		}
		if err := here.RevokeRule(t.Context(), id, "root", time.Now()); err != nil {
			t.Fatal(err)
		}
		rules, err := there.Rules(t.Context(), "ann", "")
		if after, _ := there.RulesVersion(t.Context(), "ann"); err != nil || len(rules) != 0 || after <= before {
			t.Fatalf("round %d: %d rules after the revocation, version %d after %d, %v", n, len(rules), after, before, err)
		}
	}
}

func TestAUseIsGivenBackAndCountsOncePerCall(t *testing.T) {
	t.Parallel()
	uri, name := mongotest.Database(t)
	r := open(t, uri, name)
	if _, err := r.SaveRules(t.Context(), permission.Rule{ID: "g", UserID: "ann", Effect: permission.Allow, Pattern: "bash(ls)", MaxUses: 1}); err != nil {
		t.Fatal(err)
	}
	use := func(call string, want bool) {
		t.Helper()
		if ok, err := r.UseRules(t.Context(), []string{"g"}, "c"+"-"+"1"); call == "1" && (ok != want || err != nil) {
			t.Errorf("a use by call 1: %v, %v", ok, err)
		}
		if call != "1" {
			if ok, err := r.UseRules(t.Context(), []string{"g"}, "other"); ok != want || err != nil {
				t.Errorf("a use by another call: %v, %v", ok, err)
			}
		}
	}
	use("1", true)
	use("1", true) // the same call again
	use("2", false)
	if err := r.ReturnUses(t.Context(), []string{"g"}, "c-1"); err != nil {
		t.Fatal(err)
	}
	if ok, err := r.UseRules(t.Context(), []string{"g"}, "other"); !ok || err != nil {
		t.Errorf("after the use was given back: %v, %v", ok, err)
	}
}

func TestAServerThatIsNotThereIsToldWithoutItsSecret(t *testing.T) {
	t.Parallel()
	for _, uri := range []string{"mongodb://ann:very-secret@127.0.0.1:1", "mongodb://ann:very-secret@:bad:", "very-secret"} {
		c := mongorules.Config{URI: uri, Database: "d", Patience: 200 * time.Millisecond}
		_, err := mongorules.Open(t.Context(), c)
		if err == nil || strings.Contains(err.Error(), "very-secret") {
			t.Errorf("opening %s: %v", uri, err)
		}
		if strings.HasSuffix(uri, ":1") && !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("opening %s: %v is not ErrUnavailable", uri, err)
		}
		if shown := fmt.Sprintf("%v %+v %#v", c, c, c); strings.Contains(shown, "very-secret") {
			t.Errorf("the configuration is shown as %s", shown)
		}
	}
	if _, err := mongorules.Open(t.Context(), mongorules.Config{}); err == nil {
		t.Error("a configuration without anything was taken")
	}
}

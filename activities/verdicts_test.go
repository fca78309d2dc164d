package activities_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"holdpoint/activities"
	"holdpoint/agent"
	"holdpoint/internal/store"
	"holdpoint/internal/store/pgtest"
	"holdpoint/permission"
	"holdpoint/tool"
)

// revocations is how often a revocation must be seen in another worker.
const revocations = 1000

// TestARevocationIsInForceInEveryWorkerAtOnce has two workers with a database in common. Each time one of them has the
// grant in what it remembers, the rule is revoked beside it, and its next check must know.
func TestARevocationIsInForceInEveryWorkerAtOnce(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	here := openStore(t, store.Config{Driver: store.Postgres, DSN: dsn})
	there := openStore(t, store.Config{Driver: store.Postgres, DSN: dsn})
	w := newWorker(t, data{there})
	newRun(t, there, w, "r1")
	ask := w.checker()
	stale := 0
	for n := range revocations {
		id := fmt.Sprintf("g%d", n)
		save(t, here, grant(id, "effect"))
		if d := ask(`{"x":1}`); d.Effect != permission.Allow || d.Matched.ID != id {
			t.Fatalf("round %d: with the grant the call is %s: %s", n, d.Effect, d.Reason)
		}
		if err := here.RevokeRule(t.Context(), id, "root", start); err != nil {
			t.Fatal(err)
		}
		if d := ask(`{"x":1}`); d.Effect != permission.Ask {
			stale++
		}
	}
	if stale > 0 {
		t.Errorf("%d of %d checks in the other worker still allowed what was revoked", stale, revocations)
	}
}

// The same where a call is claimed, which is where it counts: by RunTool, with both workers busy.
func TestACallThatIsClaimedAfterARevocationIsAsked(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	stores := [2]*store.Store{openStore(t, store.Config{Driver: store.Postgres, DSN: dsn}), openStore(t, store.Config{Driver: store.Postgres, DSN: dsn})}
	workers := [2]*worker{newWorker(t, data{stores[0]}), newWorker(t, data{stores[1]})}
	newRun(t, stores[0], workers[0], "r1")
	for n := range 40 {
		id := fmt.Sprintf("g%d", n)
		save(t, stores[0], grant(id, "effect"))
		for i, want := range []string{"success", "asked"} {
			var both sync.WaitGroup
			for k, w := range workers {
				call := newCall(t, stores[k], "r1", 4*n+2*i+k+1, fmt.Sprintf(`{"n":%d}`, k))
				both.Go(func() {
					if got := outcome(w.try("r1", call)); got != want {
						t.Errorf("round %d, worker %d: the call ended %q, want %q", n, k, got, want)
					}
				})
			}
			both.Wait()
			if i == 0 {
				if err := stores[n%2].RevokeRule(t.Context(), id, "root", start); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// checker decides on a call of ann's through the activities' own check.
func (w *worker) checker() func(args string) permission.Decision {
	return func(args string) permission.Decision {
		w.t.Helper()
		_, d, _, err := w.acts.Check(w.t.Context(), activities.CheckInput{UserID: "ann", SessionID: "s-r1", Agent: "tester", Tool: "effect", Args: []byte(args)})
		if err != nil {
			w.t.Fatal(err)
		}
		return d
	}
}

func TestWhatIsRememberedDependsOnEverything(t *testing.T) {
	t.Parallel()
	s := stores["memory"](t)
	w := newWorker(t, data{s})
	ask := w.checker()
	want := func(what string, effect permission.Effect) {
		t.Helper()
		for range 2 { // the second is remembered
			if d := ask(`{"a":1}`); d.Effect != effect {
				t.Errorf("%s: the call is %s (%s), want %s", what, d.Effect, d.Reason, effect)
			}
		}
	}
	want("no rule", permission.Ask)
	save(t, s, grant("a", "effect", func(r *permission.Rule) { r.ExpiresAt = start.Add(time.Minute) }))
	want("a grant", permission.Allow)
	other := start.Add(time.Minute)
	w.now.Store(&other)
	want("the grant has expired", permission.Ask)
	w.now.Store(&start)
	want("before it has", permission.Allow)
	w.defs.policy = []permission.Rule{{Effect: permission.Deny, Pattern: "effect", Source: permission.Source{Layer: permission.LayerPolicy}}}
	want("the policy denies", permission.Deny)
	w.defs.policy = nil
	want("the policy says nothing again", permission.Allow)
	w.defs.agent.Policy = "gone"
	want("the policy is gone", permission.Ask)
	w.defs.agent.Policy, w.defs.agent.EnablePermissions = "house", false
	if err := s.RevokeRule(t.Context(), "a", "root", start); err != nil {
		t.Fatal(err)
	}
	want("permissions are off", permission.Allow)
	w.defs.agent.EnablePermissions = true
	want("the grant is revoked", permission.Ask)
	def := w.defs.tool.Definition()
	def.Consent = tool.ConsentNever
	w.defs.tool = effect{def: def, runs: w.runs}
	want("the tool needs no consent", permission.Allow)
}

func TestWhatIsRememberedFollowsLinks(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"good", "secret"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(dir, "link")
	lead := func(to string) {
		t.Helper()
		_ = os.Remove(link)
		if err := os.Symlink(filepath.Join(dir, to), link); err != nil {
			t.Fatal(err)
		}
	}
	s := stores["memory"](t)
	w := newWorker(t, data{s})
	w.defs.agent.Workspace = dir
	w.defs.tool = effect{runs: w.runs, def: tool.Definition{Name: "effect", Schema: []byte(`{"type":"object"}`), Resource: tool.ResourceWrite, Field: "path"}}
	w.defs.policy = []permission.Rule{
		{Effect: permission.Allow, Pattern: "effect(./**)", Source: permission.Source{Layer: permission.LayerPolicy}},
		{Effect: permission.Deny, Pattern: "effect(./secret/**)", Source: permission.Source{Layer: permission.LayerPolicy}},
	}
	ask := w.checker()
	for n := range 6 {
		to, want := "good", permission.Allow
		if n%3 == 2 {
			to, want = "secret", permission.Deny
		}
		lead(to)
		if d := ask(`{"path":"link/file"}`); d.Effect != want {
			t.Errorf("round %d: a link to %s is %s (%s), want %s", n, to, d.Effect, d.Reason, want)
		}
	}
}

func TestWhatIsRememberedCantBeChangedByWhoGetsIt(t *testing.T) {
	t.Parallel()
	w := newWorker(t, data{stores["memory"](t)})
	w.defs.policy = []permission.Rule{{ID: "p", Effect: permission.Ask, Pattern: "effect", Source: permission.Source{Layer: permission.LayerPolicy},
		Approval: permission.Approval{Reviewers: []string{"ada"}}}}
	ask := w.checker()
	first := ask(`{}`)
	first.Approval.Reviewers[0], first.Matched.ID, first.Reasons[0].Text = "eve", "q", "changed"
	second := ask(`{}`)
	if second.Approval.Reviewers[0] != "ada" || second.Matched.ID != "p" || second.Reasons[0].Text == "changed" {
		t.Errorf("the next decision is %+v", second)
	}
}

// broken is a store that can't be reached.
type broken struct{ activities.Store }

func (broken) Write(context.Context, func(activities.Tx) error) error {
	return errors.New("the store can't be reached")
}

func TestAStoreThatCantBeReachedAllowsNothing(t *testing.T) {
	t.Parallel()
	s := stores["memory"](t)
	w := newWorker(t, data{s})
	newRun(t, s, w, "r1")
	save(t, s, grant("a", "effect"))
	if d := w.checker()(`{}`); d.Effect != permission.Allow { // and this is remembered
		t.Fatalf("with the grant the call is %s", d.Effect)
	}
	call := newCall(t, s, "r1", 1, `{}`)
	w.acts.Store = broken{w.acts.Store}
	if _, _, _, err := w.acts.Check(t.Context(), activities.CheckInput{UserID: "ann", Agent: "tester", Tool: "effect", Args: []byte(`{}`)}); err == nil {
		t.Error("a check without the store was answered")
	}
	if out, err := w.attempt("r1", call); err == nil || w.runs.Load() > 0 {
		t.Errorf("the call ran without the store: %+v", out)
	}
}

func BenchmarkRememberedDecision(b *testing.B) {
	w := newWorker(b, data{stores["memory"](b)})
	decide := activities.Decider(w.acts, agent.Run{UserID: "ann", SessionID: "s"}, w.defs.agent, w.defs.tool.Definition())
	args := []byte(`{"command":"git status --short"}`)
	for b.Loop() {
		decide(args)
	}
}

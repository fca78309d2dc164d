package activities_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"

	"holdpoint/activities"
	"holdpoint/agent"
	"holdpoint/interaction"
	"holdpoint/internal/store"
	"holdpoint/permission"
	"holdpoint/tool"
)

// quickly is one execution of RunQuick.
func (w *worker) quickly(run interaction.RunID, call interaction.CallID) (out activities.RunQuickResult) {
	w.t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetDisableRegistrationAliasing(true)
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivityWithOptions(w.acts.RunQuick, activity.RegisterOptions{Name: activities.RunQuickName})
	v, err := env.ExecuteActivity(activities.RunQuickName, activities.RunToolInput{RunID: run, CallID: call, AgentDigest: w.defs.agent.Digest()})
	if err == nil {
		err = v.Get(&out)
	}
	if err != nil {
		w.t.Errorf("call %s: %v", call, err)
	}
	return out
}

// glancing gives a worker a quick tool, changed.
func glancing(t testing.TB, change func(*tool.Definition), run func(context.Context, tool.Call)) (*store.Store, *worker) {
	t.Helper()
	s := openStore(t, store.Config{Driver: store.Memory})
	w := newWorker(t, data{s})
	def := tool.Definition{Name: "effect", Schema: json.RawMessage(`{"type":"object"}`), Resource: tool.ResourceArgs, Consent: tool.ConsentNever, Quick: true, Idempotent: true}
	change(&def)
	w.defs.tool = effect{runs: w.runs, def: def, run: run}
	newRun(t, s, w, "r")
	return s, w
}

func TestWhoseWordIsTakenForAQuickTool(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*tool.Definition)
		taken  bool
	}{
		"one that only reads":             {func(*tool.Definition) {}, true},
		"one that may not run again":      {func(d *tool.Definition) { d.Idempotent = false }, false},
		"one that says nothing":           {func(d *tool.Definition) { d.Quick = false }, false},
		"one with a queue of its own":     {func(d *tool.Definition) { d.TaskQueue = "there" }, false},
		"one of a server, whatever it is": {func(d *tool.Definition) { d.Server = "files" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, w := glancing(t, c.change, nil)
			res := w.quickly("r", newCall(t, s, "r", 1, `{}`))
			if res.Left == c.taken || (res.Status == tool.StatusSuccess) != c.taken || (w.runs.Load() == 1) != c.taken {
				t.Errorf("it ran %d times, and the attempt says %+v", w.runs.Load(), res)
			}
		})
	}
}

func TestAQuickAttemptThatIsCutOffLeavesTheCallToAnother(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	s, w := glancing(t, func(*tool.Definition) {}, func(_ context.Context, c tool.Call) {
		if c.Ask != nil {
			t.Error("it can ask people while it runs")
		}
		<-release
	})
	w.acts.Inquire = func(context.Context, string, activities.Inquiry) error { return nil }
	id := newCall(t, s, "r", 1, `{}`)
	began := time.Now()
	if res := w.quickly("r", id); !res.Left || res.Status != "" {
		t.Errorf("the attempt says %+v", res)
	}
	if took := time.Since(began); took > activities.QuickLimit+time.Second {
		t.Errorf("it was cut off after %s", took)
	}
	w.defs.tool = effect{runs: w.runs, def: w.defs.tool.Definition()}
	if got := w.try("r", id); got.Status != tool.StatusSuccess || w.runs.Load() != 2 {
		t.Errorf("it ran %d times, and ended %+v", w.runs.Load(), got)
	}
	if got := w.quickly("r", id); got.Left || got.Status != tool.StatusSuccess || w.runs.Load() != 2 {
		t.Errorf("after its end it ran %d times, and ended %+v", w.runs.Load(), got)
	}
}

func TestAQuickAttemptWaitsForNoPause(t *testing.T) {
	t.Parallel()
	s, w := glancing(t, func(*tool.Definition) {}, nil)
	id := newCall(t, s, "r", 1, `{}`)
	if err := s.Write(t.Context(), func(tx *store.Tx) error {
		run, _, _, err := tx.LockRun(t.Context(), "r")
		if err != nil {
			return err
		}
		run.Status = agent.RunPaused
		return tx.UpdateRun(t.Context(), run)
	}); err != nil {
		t.Fatal(err)
	}
	if res := w.quickly("r", id); !res.Left || w.runs.Load() != 0 {
		t.Errorf("it ran %d times while its run was paused, and the attempt says %+v", w.runs.Load(), res)
	}
}

func TestAQuickAttemptIsDeniedByTheRulesOfItsMoment(t *testing.T) {
	t.Parallel()
	s, w := glancing(t, func(*tool.Definition) {}, nil)
	w.defs.policy = []permission.Rule{{ID: "no", Effect: permission.Deny, Pattern: "effect"}}
	if res := w.quickly("r", newCall(t, s, "r", 1, `{}`)); res.Left || res.Status != tool.StatusDenied || w.runs.Load() != 0 {
		t.Errorf("it ran %d times, and the attempt says %+v", w.runs.Load(), res)
	}
}

package activities_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"holdpoint/activities"
	"holdpoint/interaction"
	"holdpoint/permission"
	"holdpoint/tool"
)

// asker is a worker whose tool asks people while it runs.
type asker struct {
	*worker
	asked chan activities.Inquiry
	heard chan interaction.Outcome
}

func newAsker(t *testing.T, s activities.Store, ask interaction.Request) *asker {
	a := &asker{newWorker(t, s), make(chan activities.Inquiry, 10), make(chan interaction.Outcome, 10)}
	a.defs.policy = []permission.Rule{{Effect: permission.Allow, Pattern: "effect"}}
	a.defs.tool = effect{runs: a.runs, def: a.defs.tool.Definition(), run: func(ctx context.Context, c tool.Call) {
		if out, err := c.Ask(ctx, ask); err == nil {
			a.heard <- out
		} else {
			a.heard <- interaction.Outcome{Reason: err.Error()}
		}
	}}
	a.acts.Inquire = func(_ context.Context, workflow string, q activities.Inquiry) error {
		if workflow == "" {
			return errors.New("no workflow is named")
		}
		a.asked <- q
		return nil
	}
	return a
}

// TestARunningCallAsks has a call ask while it runs, and its question end in every way.
func TestARunningCallAsks(t *testing.T) {
	t.Parallel()
	which := interaction.Request{Type: interaction.TypeInput, Title: "Which?", Required: true}
	for name, out := range map[string]interaction.Outcome{
		"answered":  {Status: interaction.StatusAnswered, Action: interaction.ActionAnswer, Responses: []interaction.Response{{ID: "a", Action: interaction.ActionAnswer, Text: "this"}}},
		"declined":  {Status: interaction.StatusAnswered, Action: interaction.ActionReject},
		"expired":   {Status: interaction.StatusExpired, Action: interaction.ActionReject},
		"withdrawn": {Status: interaction.StatusCancelled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stores["memory"](t)
			w := newAsker(t, data{s}, which)
			newRun(t, s, w.worker, "r1")
			call := newCall(t, s, "r1", 1, `{}`)
			done := make(chan activities.RunToolResult, 1)
			go func() { done <- w.try("r1", call) }()
			q := <-w.asked
			if r := q.Request; q.CallID != call || r == nil || !r.Live || r.ExpiresAt.Sub(start) != 10*time.Minute {
				t.Fatalf("the run is told %+v", q)
			}
			if run, _, err := s.Run(t.Context(), "r1"); err != nil || run.Status != "awaiting_human" {
				t.Errorf("meanwhile the run is %s, %v", run.Status, err)
			}
			out := out
			out.InteractionID, out.At = q.Request.ID, start
			for range 2 { // doing it twice changes nothing
				if _, err := w.acts.Record(t.Context(), activities.RecordInput{RunID: "r1", Outcomes: []interaction.Outcome{out}}); err != nil {
					t.Fatal(err)
				}
			}
			if heard := <-w.heard; heard.Status != out.Status || heard.Action != out.Action || len(heard.Responses) != len(out.Responses) {
				t.Errorf("the tool heard %+v", heard)
			}
			if got := <-done; outcome(got) != "success" {
				t.Errorf("the call ended %+v", got)
			}
			if run, _, err := s.Run(t.Context(), "r1"); err != nil || run.Status != "running" {
				t.Errorf("then the run is %s, %v", run.Status, err)
			}
		})
	}
}

// TestAQuestionOfACallWhoseWorkerIsGoneIsWithdrawn has another worker take the call over while it asks.
func TestAQuestionOfACallWhoseWorkerIsGoneIsWithdrawn(t *testing.T) {
	t.Parallel()
	s := stores["memory"](t)
	w := newAsker(t, data{s}, interaction.Request{Type: interaction.TypeConfirm, Title: "Go on?"})
	newRun(t, s, w.worker, "r1")
	call := newCall(t, s, "r1", 1, `{}`)
	done := make(chan activities.RunToolResult, 1)
	go func() { done <- w.try("r1", call) }()
	first := (<-w.asked).Request.ID
	again := w.try("r1", call)
	if again.Interaction == nil || again.Interaction.Kind != interaction.KindOutcomeUnknown || again.Interaction.ID == first {
		t.Fatalf("the other worker returned %+v", again)
	}
	if heard := <-w.heard; heard.Status != interaction.StatusCancelled || !strings.Contains(heard.Reason, "is gone") {
		t.Errorf("the tool heard %+v", heard)
	}
	if got := <-done; got.Interaction != nil && got.Interaction.ID != again.Interaction.ID {
		t.Errorf("the first worker returned %+v", got)
	}
}

func TestARunningCallMayNotAskWithoutEndOrInConfidence(t *testing.T) {
	t.Parallel()
	s := stores["memory"](t)
	for name, tc := range map[string]struct {
		ask   interaction.Request
		alone bool
		why   string
	}{
		"a secret":       {interaction.Request{Type: interaction.TypeInput, Title: "Key?", Secret: true}, false, "can't ask for a secret"},
		"nothing":        {interaction.Request{Type: interaction.TypeSelect, Title: "Which?"}, false, "can't be put to a person"},
		"without people": {interaction.Request{Type: interaction.TypeConfirm, Title: "Go on?"}, true, "runs without people"},
	} {
		w := newAsker(t, data{s}, tc.ask)
		w.defs.agent.EnableHITL = !tc.alone
		run := interaction.RunID(strings.ReplaceAll(name, " ", "_"))
		newRun(t, s, w.worker, run)
		if got := w.try(run, newCall(t, s, run, 1, `{}`)); outcome(got) != "success" {
			t.Errorf("%s: the call ended %+v", name, got)
		}
		if heard := <-w.heard; !strings.Contains(heard.Reason, tc.why) {
			t.Errorf("%s: the tool heard %+v", name, heard)
		}
	}
}

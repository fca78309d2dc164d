package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"holdpoint/agent"
	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/internal/store"
	"holdpoint/llm"
	"holdpoint/permission"
	"holdpoint/tool"
)

const private = "W0RDS-0F-A-PERS0N"

// spoken fills a session with what a person said, everywhere, and ends its run and the one that it called.
func spoken(t *testing.T, s *store.Store, session interaction.SessionID, user interaction.PrincipalID, ended time.Time, open bool) {
	t.Helper()
	id := interaction.RunID("run-" + session)
	run := agent.Run{ID: id, SessionID: session, WorkflowID: "session-" + string(session), Agent: "a", UserID: user, Requester: user, Input: private, Output: private,
		Metadata: map[string]string{"k": private}, Error: private, Status: agent.RunCompleted, StartedAt: ended.Add(-time.Minute), EndedAt: ended}
	if open {
		run.Status, run.EndedAt = agent.RunRunning, time.Time{}
	}
	below := run
	below.ID, below.Root, below.Parent, below.RootSession, below.SessionID, below.WorkflowID = id+"-1", id, id, session, "of-"+session, "run-"+string(id)+"-1"
	call := interaction.CallID(id + "-c")
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		for _, r := range []agent.Run{run, below} {
			if _, err := tx.InsertRun(ctx, r); err != nil {
				return err
			}
			if _, err := tx.AppendEvents(ctx, r.ID, event.New(r.ID, event.StepCompleted, ended, event.StepCompletedData{Role: "user", Content: private})); err != nil {
				return err
			}
			if err := tx.InsertStep(ctx, llm.Step{ID: interaction.StepID(r.ID + "-s"), RunID: r.ID, SessionID: r.SessionID, Sequence: 1, Message: llm.Message{Role: llm.RoleUser, Content: private}}); err != nil {
				return err
			}
		}
		rec := tool.Record{Call: tool.Call{ID: call, RunID: id, SessionID: session, Name: "bash", Args: json.RawMessage(`{"command":"` + private + `"}`)}, Sequence: 2}
		if err := tx.InsertCall(ctx, rec); err != nil {
			return err
		}
		if err := tx.SaveExecution(ctx, tool.Execution{CallID: call, RunID: id, State: tool.StateFinished, Held: &tool.Result{Content: private}}); err != nil {
			return err
		}
		if err := tx.KeepResult(ctx, "key-"+string(session), call); err != nil {
			return err
		}
		if err := tx.SaveTurn(ctx, id, 1, json.RawMessage(`{"said":"`+private+`"}`)); err != nil {
			return err
		}
		if err := tx.Remember(ctx, id, "memory", tool.Memory{Interaction: interaction.ID(id + "-i"), Reason: private}); err != nil {
			return err
		}
		asked := interaction.Interaction{Status: interaction.StatusAnswered, Action: interaction.ActionReject, ClosedAt: ended,
			Request:   interaction.Request{ID: interaction.ID(id + "-i"), RunID: id, SessionID: session, ToolName: "bash", Title: private, Requester: user, CreatedAt: ended},
			Responses: []interaction.Response{{ID: interaction.ResponseID(id + "-r"), RequestID: interaction.ID(id + "-i"), Feedback: private, Reviewer: interaction.Principal{ID: "bob"}}}}
		if err := tx.SaveInteraction(ctx, asked); err != nil {
			return err
		}
		if _, err := tx.AppendEvents(ctx, id, event.New(id, event.InteractionResponse, ended, event.InteractionResponseData{InteractionID: asked.Request.ID,
			Status: asked.Status, Action: asked.Action, Responses: asked.Responses})); err != nil {
			return err
		}
		return tx.SaveRule(ctx, permission.Rule{ID: "rule-" + string(session), Effect: permission.Allow, Pattern: "bash(" + private + ")", UserID: string(user), SessionID: string(session), CreatedAt: ended})
	})
	if _, _, err := s.SaveResponse(t.Context(), interaction.Response{ID: interaction.ResponseID(id + "-r"), RequestID: interaction.ID(id + "-i"), Feedback: private, RespondedAt: ended}); err != nil {
		t.Fatal(err)
	}
}

func TestAnErasedSessionKeepsNothingThatWasSaid(t *testing.T) {
	onSealedToo(t, func(t *testing.T, d shared) {
		s := open(t, d.cfg)
		now := time.Now()
		spoken(t, s, "s1", "ann", now, false)
		spoken(t, s, "s2", "ann", now, false)
		spoken(t, s, "s3", "cat", now, true)
		before := d.dump(t)
		out, err := s.EraseSession(t.Context(), "s1", now)
		if err != nil || out.Runs != 2 || len(out.Workflows) != 2 {
			t.Fatalf("%+v, %v", out, err)
		}
		if n, left := strings.Count(before, private), strings.Count(d.dump(t), private); left*3 != n*2 {
			t.Errorf("of three sessions with %d places in all, %d are left", n, left)
		}
		for _, id := range []interaction.RunID{"run-s1", "run-s2"} {
			no(t, s.VerifyRun(t.Context(), id))
		}
		r, _, err := s.Run(t.Context(), "run-s1")
		no(t, err)
		if r.ErasedAt.IsZero() || r.UserID != store.ErasedUser || r.Status != agent.RunCompleted || r.EndedAt.IsZero() {
			t.Errorf("what is left of the run: %+v", r)
		}
		if list, _, err := s.Closed(t.Context(), store.ClosedFilter{By: "bob"}); err != nil || len(list) != 2 {
			t.Errorf("what bob answered: %d, %v", len(list), err)
		}
		var open *store.OpenRunError
		if _, err := s.EraseSession(t.Context(), "s3", now); !errors.As(err, &open) || open.Run == "" {
			t.Errorf("a session in which a run goes on: %v", err)
		}
		if _, err := s.EraseSession(t.Context(), "nobodys", now); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a session that is none: %v", err)
		}
		if out, err := s.EraseSession(t.Context(), "s1", now); err != nil || out.Runs != 2 {
			t.Errorf("again: %+v, %v", out, err)
		}
		list, err := s.UserSessions(t.Context(), "ann")
		if err != nil || len(list) != 1 || list[0] != "s2" {
			t.Errorf("ann's sessions: %v, %v", list, err)
		}
	})
}

func TestSessionsWhoseTimeIsOver(t *testing.T) {
	conform(t, func(t *testing.T, s *store.Store) {
		now := time.Now()
		spoken(t, s, "old", "ann", now.Add(-3*time.Hour), false)
		spoken(t, s, "new", "ann", now, false)
		spoken(t, s, "open", "ann", now.Add(-3*time.Hour), true)
		list, err := s.SessionsEndedBefore(t.Context(), now.Add(-time.Hour), 10)
		if err != nil || len(list) != 1 || list[0] != "old" {
			t.Fatalf("%v, %v", list, err)
		}
		// What began before, and goes on or ended a moment ago, does not stand before it.
		spoken(t, s, "older-open", "ann", now.Add(-5*time.Hour), true)
		spoken(t, s, "older-open-2", "ann", now.Add(-5*time.Hour), true)
		late := agent.Run{ID: "late", SessionID: "late", WorkflowID: "session-late", Agent: "a", Status: agent.RunCompleted, StartedAt: now.Add(-5 * time.Hour), EndedAt: now}
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.InsertRun(ctx, late)
			return err
		})
		if list, err := s.SessionsEndedBefore(t.Context(), now.Add(-time.Hour), 1); err != nil || len(list) != 1 || list[0] != "old" {
			t.Fatalf("behind others: %v, %v", list, err)
		}
		if _, err := s.EraseSession(t.Context(), "old", now); err != nil {
			t.Fatal(err)
		}
		if list, err := s.SessionsEndedBefore(t.Context(), now.Add(-time.Hour), 10); err != nil || len(list) != 0 {
			t.Errorf("once it is erased: %v, %v", list, err)
		}
	})
}

func TestAnErasedUserHasNoRulesAndNoTokens(t *testing.T) {
	conform(t, func(t *testing.T, s *store.Store) {
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			return tx.SaveRule(ctx, permission.Rule{ID: "r", Effect: permission.Allow, Pattern: "bash(ls)", UserID: "ann", CreatedAt: time.Now()})
		})
		no(t, s.SaveToken(t.Context(), store.Token{ID: "t", Hash: "h", Principal: interaction.Principal{ID: "ann", Roles: []string{"user"}}, CreatedAt: time.Now()}))
		rules, tokens, err := s.EraseUser(t.Context(), "ann")
		if err != nil || rules != 1 || tokens != 1 {
			t.Errorf("%d, %d, %v", rules, tokens, err)
		}
		if _, found, err := s.TokenByHash(t.Context(), "h"); err != nil || found {
			t.Errorf("the token is found: %v, %v", found, err)
		}
	})
}

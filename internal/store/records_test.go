package store_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdpoint/agent"
	"holdpoint/interaction"
	"holdpoint/internal/store"
	"holdpoint/llm"
	"holdpoint/permission"
	"holdpoint/tool"
)

// hostile is text that must come back as it is, from every field.
const hostile = "'; DROP TABLE runs; -- ?$1 <b>&amp; \u202e\u2028\x00\x1b[2J %s {\"a\":1}"

// exact are JSON values whose bytes a digest was taken of.
var exact = []json.RawMessage{
	json.RawMessage("{ \"b\" : 1,\n\t\"a\": \"<&>\" }"),
	json.RawMessage(`{"n":1.0,"big":12345678901234567890,"e":1e3,"u":"\u00e9"}`),
	json.RawMessage("not JSON at all"),
	json.RawMessage("{\"bad\":\"\xff\xfe\"}"),
	json.RawMessage("base64:looks coded"),
	json.RawMessage("null"),
	json.RawMessage("\x00"),
	{},
	nil,
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s did not come back as it was (-want +got):\n%s", what, d)
	}
}

func TestRuns(t *testing.T) {
	conform(t, func(t *testing.T, s *store.Store) {
		run := newRun("r1")
		run.Input = hostile
		var again bool
		write(t, s, func(ctx context.Context, tx *store.Tx) (err error) {
			first, err := tx.InsertRun(ctx, run)
			if err != nil {
				return err
			}
			if !first {
				t.Error("a new run was not inserted")
			}
			other := run
			other.Input = "another"
			again, err = tx.InsertRun(ctx, other)
			return err
		})
		if again {
			t.Error("a run of a known id was inserted")
		}
		no(t, s.EnsureRun(t.Context(), agent.Run{ID: "r1", SessionID: "other"}))
		got, found, err := s.Run(t.Context(), "r1")
		no(t, err)
		same(t, fmt.Sprintf("the run (found: %v)", found), got, run)

		run.Status, run.Output, run.EndedAt = agent.RunCompleted, hostile, start.Add(time.Hour)
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			if err := tx.UpdateRun(ctx, run); err != nil {
				return err
			}
			got, _, found, err := tx.LockRun(ctx, "r1")
			same(t, fmt.Sprintf("the locked run (found: %v)", found), got, run)
			return err
		})
		err = s.Write(t.Context(), func(tx *store.Tx) error { return tx.UpdateRun(t.Context(), newRun("nobody")) })
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("updating a run that is not there: %v", err)
		}
		_, found, err = s.Run(t.Context(), "nobody")
		if found || err != nil {
			t.Errorf("a run that is not there: found %v, %v", found, err)
		}
	})
}

func TestWrongIDsAndLargeValuesAreRefused(t *testing.T) {
	conform(t, func(t *testing.T, s *store.Store) {
		for _, id := range []interaction.RunID{"", "a\x00b", "\xff", interaction.RunID(strings.Repeat("x", 1025))} {
			r := newRun("x")
			r.ID = id
			code(t, s.EnsureRun(t.Context(), r), interaction.CodeInvalid, "run_id")
		}
		big := strings.Repeat("x", store.MaxValueBytes+1)
		r := newRun("r1")
		r.Input = big
		code(t, s.EnsureRun(t.Context(), r), interaction.CodeTooLarge, "run")
		_, _, err := s.SaveResponse(t.Context(), interaction.Response{ID: "p", Text: big})
		code(t, err, interaction.CodeTooLarge, "response")
		code(t, s.Write(t.Context(), func(tx *store.Tx) error {
			return tx.SaveTurn(t.Context(), "r1", 1, json.RawMessage(big))
		}), interaction.CodeTooLarge, "turn")
	})
}

func TestAgentsAreKeptByDigest(t *testing.T) {
	conform(t, func(t *testing.T, s *store.Store) {
		a := agent.Agent{Name: "coder", Model: "m", SystemPrompt: hostile, Tools: []string{"bash"}, MaxSteps: 7, EnableHITL: true}
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			no(t, tx.SaveAgent(ctx, a.Digest(), a))
			no(t, tx.SaveAgent(ctx, a.Digest(), agent.Agent{Name: "other"}))
			got, found, err := tx.Agent(ctx, a.Digest())
			same(t, fmt.Sprintf("the agent (found: %v)", found), got, a)
			if got.Digest() != a.Digest() {
				t.Error("the digest no longer holds")
			}
			_, found, err2 := tx.Agent(ctx, "unknown")
			if found {
				t.Error("an unknown agent was found")
			}
			return errors.Join(err, err2)
		})
	})
}

func step(run interaction.RunID, session interaction.SessionID, seq int64) llm.Step {
	return llm.Step{ID: interaction.StepID(fmt.Sprintf("%s-%d", run, seq)), RunID: run, SessionID: session, Sequence: seq,
		Turn: 1, Message: llm.Message{Role: llm.RoleAssistant, Content: hostile,
			ToolCalls: []llm.ToolCall{{ID: "c", ProviderID: "call_0", Name: "bash", Args: "{ not json"}}},
		Usage: llm.Usage{Input: 3, Output: 4}, CreatedAt: start}
}

func TestSequencesCountWhatIsReserved(t *testing.T) {
	conform(t, func(t *testing.T, s *store.Store) {
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			next := func(want int64) {
				t.Helper()
				got, err := tx.NextSequence(ctx, "s")
				no(t, err)
				if got != want {
					t.Errorf("next sequence is %d, want %d", got, want)
				}
			}
			next(1)
			no(t, tx.InsertStep(ctx, step("r1", "s", 1)))
			next(2)
			no(t, tx.InsertCall(ctx, record("c1", "s", 2, nil)))
			no(t, tx.InsertCall(ctx, record("c2", "s", 3, nil)))
			next(4)
			no(t, tx.InsertStep(ctx, step("r1", "s", 2))) // the result of c1, in its place
			next(4)
			no(t, tx.InsertStep(ctx, step("r1", "s", 9)))
			next(10)
			no(t, tx.InsertStep(ctx, step("r2", "other", 50)))
			next(10)
			return nil
		})
		for name, taken := range map[string]func(tx *store.Tx) error{
			"place of a step": func(tx *store.Tx) error { return tx.InsertStep(t.Context(), step("r9", "s", 1)) },
			"id of a step":    func(tx *store.Tx) error { return tx.InsertStep(t.Context(), step("r1", "elsewhere", 1)) },
			"place of a call": func(tx *store.Tx) error { return tx.InsertCall(t.Context(), record("c9", "s", 3, nil)) },
			"id of a call":    func(tx *store.Tx) error { return tx.InsertCall(t.Context(), record("c1", "elsewhere", 3, nil)) },
		} {
			if err := s.Write(t.Context(), taken); !errors.Is(err, store.ErrExists) {
				t.Errorf("%s: got %v, want ErrExists", name, err)
			}
		}
		steps, err := s.Transcript(t.Context(), "s")
		no(t, err)
		same(t, "the transcript", steps, []llm.Step{step("r1", "s", 1), step("r1", "s", 2), step("r1", "s", 9)})
	})
}

func TestTurnsAreKeptOnceAndExactly(t *testing.T) {
	conform(t, func(t *testing.T, s *store.Store) {
		for n, raw := range exact {
			write(t, s, func(ctx context.Context, tx *store.Tx) error {
				_, found, err := tx.Turn(ctx, "r1", n)
				no(t, err)
				if found {
					t.Error("a turn was there before it was saved")
				}
				no(t, tx.SaveTurn(ctx, "r1", n, raw))
				got, found, err := tx.Turn(ctx, "r1", n)
				if !found || string(got) != string(raw) {
					t.Errorf("turn %d: got %q (found: %v), want %q", n, got, found, raw)
				}
				return err
			})
		}
		err := s.Write(t.Context(), func(tx *store.Tx) error { return tx.SaveTurn(t.Context(), "r1", 0, exact[0]) })
		if !errors.Is(err, store.ErrExists) {
			t.Errorf("a second result of a turn: got %v, want ErrExists", err)
		}
	})
}

func record(id interaction.CallID, session interaction.SessionID, seq int64, args json.RawMessage) tool.Record {
	return tool.Record{Call: tool.Call{ID: id, RunID: "r1", SessionID: session, ProviderID: "call_0", Name: "bash", Args: args, Key: "k"},
		Turn: int(seq), Sequence: seq, Digest: "d"}
}

func TestCallsComeBackByteForByte(t *testing.T) {
	conform(t, func(t *testing.T, s *store.Store) {
		yes := true
		for n, raw := range exact {
			r := record(interaction.CallID(fmt.Sprintf("c%d", n)), "s", int64(100-n), raw)
			r.Decision = raw
			r.Call.Answer = &interaction.Response{ID: "p", Confirmed: &yes, Data: raw, Responses: []interaction.Response{{Args: raw}}}
			write(t, s, func(ctx context.Context, tx *store.Tx) error {
				no(t, tx.InsertCall(ctx, r))
				got, found, err := tx.Call(ctx, r.Call.ID)
				same(t, fmt.Sprintf("call %d (found: %v)", n, found), got, r)
				return err
			})
		}
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			open, err := tx.OpenCalls(ctx, "r1")
			no(t, err)
			if len(open) != len(exact) || open[0].Turn > open[1].Turn {
				t.Errorf("%d open calls, want %d by turn", len(open), len(exact))
			}
			for _, r := range open[1:] {
				r.Result, r.EndedAt, r.Interactions = &tool.Result{Status: tool.StatusSuccess, Content: hostile}, start, 2
				no(t, tx.UpdateCall(ctx, r))
				got, _, err := tx.Call(ctx, r.Call.ID)
				no(t, err)
				same(t, "the ended call", got, r)
			}
			left, err := tx.OpenCalls(ctx, "r1")
			no(t, err)
			same(t, "the call that is still open", left, open[:1])
			none, err := tx.OpenCalls(ctx, "other")
			if len(none) > 0 {
				t.Error("open calls of another run")
			}
			if err := tx.UpdateCall(ctx, record("nobody", "s", 1, nil)); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("updating a call that is not there: %v", err)
			}
			_, found, err2 := tx.Call(ctx, "nobody")
			if found {
				t.Error("a call that is not there was found")
			}
			return errors.Join(err, err2)
		})
	})
}

func TestTheLedgerKeepsTheLastEntryOfACall(t *testing.T) {
	conform(t, func(t *testing.T, s *store.Store) {
		e := tool.Execution{CallID: "c1", RunID: "r1", Attempt: 1, State: tool.StateStarted, Digest: "d", Worker: hostile, StartedAt: start}
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			_, found, err := tx.Execution(ctx, "c1")
			no(t, err)
			if found {
				t.Error("an execution was there before it began")
			}
			no(t, tx.SaveExecution(ctx, e))
			e.State, e.EndedAt, e.Attempt = tool.StateFinished, start.Add(time.Second), 2
			no(t, tx.SaveExecution(ctx, e))
			got, _, err := tx.Execution(ctx, "c1")
			same(t, "the execution", got, e)
			return err
		})
		code(t, s.Write(t.Context(), func(tx *store.Tx) error { return tx.SaveExecution(t.Context(), tool.Execution{}) }),
			interaction.CodeInvalid, "call_id")
	})
}

func TestTextsThatNoRowHasAreNotFound(t *testing.T) {
	conform(t, func(t *testing.T, s *store.Store) {
		addRun(t, s, "r1")
		for _, bad := range []string{"a\x00b", "\xff", "r1\x00"} {
			run := interaction.RunID(bad)
			_, found, err := s.Run(t.Context(), run)
			_, found2, err2 := s.Interaction(t.Context(), interaction.ID(bad))
			_, found3, err3 := s.Response(t.Context(), interaction.ResponseID(bad))
			if found || found2 || found3 || errors.Join(err, err2, err3) != nil {
				t.Errorf("%q was found: %v %v %v, %v", bad, found, found2, found3, errors.Join(err, err2, err3))
			}
			events, err := s.Events(t.Context(), run, 0, 0)
			no(t, err)
			deltas, err := s.Deltas(t.Context(), run, 0)
			no(t, err)
			steps, _, err := s.Steps(t.Context(), run, 0, "")
			no(t, err)
			if len(events)+len(deltas)+len(steps) > 0 {
				t.Errorf("run %q has %d events, %d deltas, %d steps", bad, len(events), len(deltas), len(steps))
			}
			if err := s.RevokeRule(t.Context(), bad, "ann", start); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("revoking rule %q: %v", bad, err)
			}
			if err := s.VerifyRun(t.Context(), run); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("verifying run %q: %v", bad, err)
			}
		}
	})
}

func TestTheLongestIDsFit(t *testing.T) {
	conform(t, func(t *testing.T, s *store.Store) {
		long := ""
		for len(long) < 1024 { // text that does not compress well
			long += rand.Text()
		}
		long = long[:1024]
		run := newRun(interaction.RunID(long))
		run.SessionID, run.UserID = interaction.SessionID(long), interaction.PrincipalID(long)
		no(t, s.EnsureRun(t.Context(), run))
		i := question(interaction.ID(long), start)
		i.Request.RunID, i.Request.SessionID = run.ID, run.SessionID
		save(t, s, i)
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			e := note(run.ID, "x")
			e.Key = long
			_, err := tx.AppendEvents(ctx, run.ID, e)
			return errors.Join(err, tx.InsertStep(ctx, step(run.ID[:1000], run.SessionID, 1)))
		})
		no(t, s.SaveRule(t.Context(), permission.Rule{ID: long, UserID: long, SessionID: long, Effect: permission.Deny, Pattern: "bash"}))
		_, _, err := s.SaveResponse(t.Context(), interaction.Response{ID: interaction.ResponseID(long), RequestID: interaction.ID(long)})
		no(t, err)

		run.ID, run.UserID = "r2", interaction.PrincipalID(long+"x")
		code(t, s.EnsureRun(t.Context(), run), interaction.CodeInvalid, "user_id")
		code(t, s.SaveRule(t.Context(), permission.Rule{ID: "x", UserID: long + "x"}), interaction.CodeInvalid, "user_id")
		_, _, err = s.SaveResponse(t.Context(), interaction.Response{ID: "x", RequestID: interaction.ID(long + "x")})
		code(t, err, interaction.CodeInvalid, "request_id")
	})
}

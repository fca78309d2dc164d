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
)

// judged has run r1, which called r2, with a question of each that bob answered, one that expired and one that is open.
func judged(t *testing.T, s *store.Store) {
	t.Helper()
	at := time.Date(2026, 1, 31, 12, 0, 0, 123456000, time.UTC)
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		for _, r := range []agent.Run{{ID: "r1", SessionID: "s1", Agent: "a", StartedAt: at}, {ID: "r2", SessionID: "s2", Agent: "b", Root: "r1", Parent: "r1", StartedAt: at}} {
			if _, err := tx.InsertRun(ctx, r); err != nil {
				return err
			}
		}
		for n, id := range []interaction.ID{"q1", "q2", "q3", "q4"} {
			run := []interaction.RunID{"r1", "r2", "r1", "r1"}[n]
			i := interaction.Open(interaction.Request{ID: id, RunID: run, ToolName: "bash", ToolCallID: "c1", Title: "Run a command", Requester: "uma", Risk: "high",
				ToolArgs: json.RawMessage(`{"command":"make <all>","n":1.0}`), Digest: "d1", Quorum: 2, CreatedAt: at}, at)
			e := []event.Event{event.New(run, event.InteractionRequest, at, i.Request)}
			switch id {
			case "q1", "q2":
				i.Status, i.Action, i.ClosedAt = interaction.StatusAnswered, interaction.ActionApprove, at
				i.Responses = []interaction.Response{{ID: "a1", RequestID: id, Action: interaction.ActionApprove, Note: "as agreed", Reviewer: interaction.Principal{ID: "bob", Groups: []string{}}, RespondedAt: at}}
			case "q3":
				i.Status, i.Action, i.Reason, i.ClosedAt = interaction.StatusExpired, interaction.ActionReject, "nobody came", at
			default:
			}
			if i.Status.Final() {
				e = append(e, event.New(run, event.InteractionResponse, at, event.InteractionResponseData{InteractionID: id, Status: i.Status, Action: i.Action, Responses: i.Responses, Reason: i.Reason}))
			}
			if err := tx.SaveInteraction(ctx, i); err != nil {
				return err
			}
			if _, err := tx.AppendEvents(ctx, run, e...); err != nil {
				return err
			}
		}
		return nil
	})
	no(t, s.VerifyRun(t.Context(), "r1"))
}

// TestTheTrailIsHeldAgainstTheRecord changes the rows that the audit trail is read from, which are in no chain themselves.
func TestTheTrailIsHeldAgainstTheRecord(t *testing.T) {
	t.Parallel()
	answered := func(change func(r *interaction.Response)) func(i *interaction.Interaction) {
		return func(i *interaction.Interaction) { change(&i.Responses[0]) }
	}
	for name, c := range map[string]struct {
		id     interaction.ID
		change func(i *interaction.Interaction)
		want   string
	}{
		"who decided":                 {"q1", answered(func(r *interaction.Response) { r.Reviewer.ID = "eve" }), "question q1 was changed"},
		"who decided in a called run": {"q2", answered(func(r *interaction.Response) { r.Reviewer.ID = "eve" }), "question q2 was changed"},
		"whose name is vouched for":   {"q1", answered(func(r *interaction.Response) { r.SignedBy = "key" }), "question q1 was changed"},
		"when it was decided":         {"q1", answered(func(r *interaction.Response) { r.RespondedAt = r.RespondedAt.Add(time.Hour) }), "question q1 was changed"},
		"what was said":               {"q1", answered(func(r *interaction.Response) { r.Note = "as I like" }), "question q1 was changed"},
		"what was decided":            {"q1", func(i *interaction.Interaction) { i.Action = interaction.ActionReject }, "question q1 was changed"},
		"one answer more":             {"q1", func(i *interaction.Interaction) { i.Responses = append(i.Responses, i.Responses[0]) }, "question q1 was changed"},
		"why it ended":                {"q3", func(i *interaction.Interaction) { i.Reason = "all agreed" }, "question q3 was changed"},
		"what was asked":              {"q1", func(i *interaction.Interaction) { i.Request.ToolArgs = json.RawMessage(`{"command":"ls","n":1.0}`) }, "its arguments"},
		"a number that was asked": {"q4", func(i *interaction.Interaction) {
			i.Request.ToolArgs = json.RawMessage(`{"command":"make <all>","n":1.1}`)
		}, "its arguments"},
		"for whom":            {"q3", func(i *interaction.Interaction) { i.Request.Requester = "udo" }, "its requester"},
		"how many must agree": {"q4", func(i *interaction.Interaction) { i.Request.Quorum = 1 }, "its quorum"},
		"an end that nobody made": {"q4", func(i *interaction.Interaction) {
			i.Status, i.Action = interaction.StatusAnswered, interaction.ActionApprove
		}, "no event ended it"},
		"an end that is taken back": {"q3", func(i *interaction.Interaction) { i.Status = interaction.StatusPending }, "question q3 was changed"},
		"who is asked now":          {"q4", func(i *interaction.Interaction) { i.Request.Reviewers = []string{"bob"} }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, store.Config{DSN: t.TempDir() + "/x.db"})
			judged(t, s)
			write(t, s, func(ctx context.Context, tx *store.Tx) error {
				i, _, err := tx.Interaction(ctx, c.id)
				if err != nil {
					return err
				}
				c.change(&i)
				return tx.SaveInteraction(ctx, i)
			})
			tells(t, s.VerifyRun(t.Context(), "r1"), c.want)
		})
	}
	for name, c := range map[string]struct{ sql, want string }{
		"one removed":                 {`DELETE FROM interactions WHERE id = 'q1'`, "question q1, which event 1 asked, was removed"},
		"one of a called run removed": {`DELETE FROM interactions WHERE id = 'q2'`, "question q2, which event 3 asked, was removed"},
		"one in another's place":      {`UPDATE interactions SET body = (SELECT body FROM interactions WHERE id = 'q3') WHERE id = 'q1'`, "question q1 was changed"},
		"one put in": {`INSERT INTO interactions (id, run_id, session_id, tool, risk, status, created_at, expires_at, body)
			SELECT 'q9', run_id, session_id, tool, risk, status, created_at, expires_at, body FROM interactions WHERE id = 'q1'`, "question q9 is answered, and no event ended it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := t.TempDir() + "/x.db"
			s := open(t, store.Config{DSN: path})
			judged(t, s)
			raw(t, path, c.sql)
			tells(t, s.VerifyRun(t.Context(), "r1"), c.want)
		})
	}
}

func tells(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (!errors.Is(err, store.ErrTampered) || !strings.Contains(err.Error(), want)) {
		t.Errorf("got %v, want %q", err, want)
	}
}

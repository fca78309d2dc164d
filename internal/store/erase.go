package store

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"time"

	"holdpoint/agent"
	"holdpoint/interaction"
)

// ErasedUser stands in the place of the user whose data was erased.
const ErasedUser interaction.PrincipalID = "@erased"

// Erased is what was erased with a session. Its runs keep their ids, agents, times and ends, and their events keep their
// types, times and hashes, so that the chain of the record still verifies.
type Erased struct {
	Session   interaction.SessionID `json:"session_id"`
	Runs      int                   `json:"runs"`
	Workflows []string              `json:"workflow_ids"` // whose histories Temporal has, until its own retention ends
}

// OpenRunError refuses to erase a session in which something goes on.
type OpenRunError struct {
	Session interaction.SessionID
	Run     interaction.RunID
}

func (e *OpenRunError) Error() string {
	return fmt.Sprintf("session %s has a run that has not ended (%s): stop it first", e.Session, e.Run)
}

// EraseSession erases what was said and done in a session, by all its runs and those that they called, and the rules that
// hold for it alone. It wraps ErrNotFound for a session that no run began, and returns *OpenRunError while one goes on.
// What was erased before is erased again.
func (s *Store) EraseSession(ctx context.Context, id interaction.SessionID, now time.Time) (out Erased, err error) {
	err = s.Write(ctx, func(tx *Tx) error {
		out = Erased{Session: id}
		named := map[string]bool{}
		runs, err := tx.sessionRuns(ctx, id)
		if err != nil {
			return err
		}
		if len(runs) == 0 {
			return ErrNotFound
		}
		for _, run := range runs {
			if !run.Status.Final() {
				return &OpenRunError{Session: id, Run: run.ID}
			}
			if err := tx.eraseRun(ctx, run, now); err != nil {
				return err
			}
			out.Runs++
			if !named[run.WorkflowID] {
				named[run.WorkflowID], out.Workflows = true, append(out.Workflows, run.WorkflowID)
			}
		}
		return tx.eraseSessionRules(ctx, id)
	})
	return out, in(err, "erase session %s", id)
}

// sessionRuns are the runs that people started in a session and those below them, held until the transaction ends.
func (tx *Tx) sessionRuns(ctx context.Context, id interaction.SessionID) ([]agent.Run, error) {
	return all(ctx, tx.queries, bodyOf[agent.Run](tx.queries, runBody), `SELECT id, body FROM runs WHERE root_id = '' AND session_id = ? OR root_id <> '' AND root_id IN
		(SELECT id FROM runs WHERE root_id = '' AND session_id = ?) ORDER BY started_at, id`+tx.d.forUpdate, column(id), column(id))
}

func (tx *Tx) eraseRun(ctx context.Context, r agent.Run, now time.Time) error {
	asked, err := all(ctx, tx.queries, bodyOf[interaction.Interaction](tx.queries, interactionBody), `SELECT id, body FROM interactions WHERE run_id = ?`, r.ID)
	if err != nil {
		return err
	}
	for _, i := range asked {
		for _, n := range namesOf(i) {
			if _, err := tx.exec(ctx, `DELETE FROM closed_names WHERE kind = ? AND name = ? AND created_at = ? AND interaction_id = ?`,
				n.kind, n.name, i.Request.CreatedAt.UnixMicro(), i.Request.ID); err != nil {
				return err
			}
		}
		if _, err := tx.exec(ctx, `DELETE FROM responses WHERE interaction_id = ?`, i.Request.ID); err != nil {
			return err
		}
	}
	for _, statement := range []string{
		`DELETE FROM interactions WHERE run_id = ?`,
		`DELETE FROM kept_results WHERE call_id IN (SELECT id FROM calls WHERE run_id = ?)`,
		`DELETE FROM calls WHERE run_id = ?`,
		`DELETE FROM executions WHERE run_id = ?`,
		`DELETE FROM steps WHERE run_id = ?`,
		`DELETE FROM turns WHERE run_id = ?`,
		`DELETE FROM memories WHERE run_id = ?`,
		`DELETE FROM secrets WHERE run_id = ?`,
		`DELETE FROM deltas WHERE run_id = ?`,
		`UPDATE events SET salt = NULL, payload = NULL WHERE run_id = ?`,
	} {
		if _, err := tx.exec(ctx, statement, r.ID); err != nil {
			return err
		}
	}
	return tx.UpdateRun(ctx, agent.Run{ID: r.ID, SessionID: r.SessionID, WorkflowID: r.WorkflowID, Agent: r.Agent, AgentDigest: r.AgentDigest, UserID: ErasedUser,
		Parent: r.Parent, Root: r.Root, RootSession: r.RootSession, Path: r.Path, Status: r.Status, ErrorCode: r.ErrorCode,
		StartedAt: r.StartedAt, EndedAt: r.EndedAt, ErasedAt: now.UTC().Truncate(time.Microsecond)})
}

func (tx *Tx) eraseSessionRules(ctx context.Context, id interaction.SessionID) error {
	users, err := all(ctx, tx.queries, scanText, `SELECT DISTINCT user_id FROM rules WHERE session_id = ?`, column(id))
	if err != nil {
		return err
	}
	if _, err := tx.exec(ctx, `DELETE FROM rules WHERE session_id = ?`, column(id)); err != nil {
		return err
	}
	for _, user := range users {
		if err := tx.bumpRules(ctx, user); err != nil {
			return err
		}
	}
	return nil
}

// UserSessions lists the sessions in which runs were started for a user.
func (s *Store) UserSessions(ctx context.Context, user interaction.PrincipalID) ([]interaction.SessionID, error) {
	list, err := all(ctx, s.read(), scanText, `SELECT session_id FROM runs WHERE root_id = '' AND user_id = ? GROUP BY session_id ORDER BY MIN(started_at)`, column(user))
	return sessionIDs(list), in(err, "list the sessions of %s", user)
}

// EraseUser erases what is kept of a user beside sessions: the rules stored for them, and their tokens. What they
// answered to the runs of others is part of those.
func (s *Store) EraseUser(ctx context.Context, user interaction.PrincipalID) (rules, tokens int, err error) {
	err = s.Write(ctx, func(tx *Tx) error {
		r, err := tx.exec(ctx, `DELETE FROM rules WHERE user_id = ?`, column(user))
		if err != nil {
			return err
		}
		t, err := tx.exec(ctx, `DELETE FROM tokens WHERE principal = ?`, column(user))
		if err != nil {
			return err
		}
		rules, tokens = int(r), int(t)
		return tx.bumpRules(ctx, string(user))
	})
	return rules, tokens, in(err, "erase user %s", user)
}

// SessionsEndedBefore lists at most limit sessions all of whose runs had ended by then, and that were not erased, the
// oldest first.
func (s *Store) SessionsEndedBefore(ctx context.Context, at time.Time, limit int) ([]interaction.SessionID, error) {
	type last struct {
		session interaction.SessionID
		run     agent.Run
		started int64
		id      string
	}
	q := s.read()
	scan := func(rows *sql.Rows) (l last, err error) {
		var session, body string
		if err := rows.Scan(&l.started, &l.id, &session, &body); err != nil {
			return l, err
		}
		l.session = interaction.SessionID(session)
		l.run, err = decode[agent.Run](q, runBody.of(l.id), body)
		return l, err
	}
	// When a run ended is in its body alone, so there is page after page of those that began early enough: the first may all have
	// ended late.
	var out []interaction.SessionID
	after, afterID := int64(math.MinInt64), ""
	for {
		rows, err := all(ctx, q, scan, `SELECT r.started_at, r.id, r.session_id, r.body FROM runs AS r
			WHERE r.root_id = '' AND r.user_id <> ? AND r.status NOT IN (?, ?, ?) AND r.started_at < ? AND (r.started_at, r.id) > (?, ?) AND NOT EXISTS
			(SELECT 1 FROM runs AS n WHERE n.session_id = r.session_id AND n.root_id = '' AND (n.started_at, n.id) > (r.started_at, r.id))
			ORDER BY r.started_at, r.id LIMIT ?`, column(ErasedUser), column(agent.RunRunning), column(agent.RunAwaitingHuman), column(agent.RunPaused),
			at.UnixMicro(), after, afterID, limit)
		for _, l := range rows {
			if l.run.Status.Final() && l.run.EndedAt.Before(at) {
				out = append(out, l.session)
			}
			after, afterID = l.started, l.id
		}
		if err != nil || len(rows) < limit || len(out) >= limit {
			return out[:min(len(out), limit)], in(err, "list sessions that have ended")
		}
	}
}

func sessionIDs(list []string) []interaction.SessionID {
	out := make([]interaction.SessionID, len(list))
	for n, id := range list {
		out[n] = interaction.SessionID(id)
	}
	return out
}

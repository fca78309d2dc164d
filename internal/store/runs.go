package store

import (
	"context"
	"strings"
	"unicode/utf8"

	"holdpoint/agent"
	"holdpoint/event"
	"holdpoint/interaction"
)

// InsertRun stores a new run; false when a run of that id exists, which is left as it is.
func (tx *Tx) InsertRun(ctx context.Context, r agent.Run) (inserted bool, err error) {
	inserted, err = tx.insertRun(ctx, r)
	return inserted, in(err, "insert run %s", r.ID)
}

func (q queries) insertRun(ctx context.Context, r agent.Run) (bool, error) {
	if err := checkID("run_id", r.ID); err != nil {
		return false, err
	}
	if err := checkID("session_id", r.SessionID); err != nil {
		return false, err
	}
	if err := checkKey("user_id", r.UserID); err != nil {
		return false, err
	}
	body, err := q.encode(runBody.of(r.ID), r)
	if err != nil {
		return false, err
	}
	n, err := q.exec(ctx, `INSERT INTO runs (id, session_id, agent, user_id, status, started_at, root_id, body)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
		r.ID, r.SessionID, column(r.Agent), column(r.UserID), column(r.Status), r.StartedAt.UnixMicro(), column(r.Root), body)
	return n > 0, err
}

// LockRun reads a run and holds its row until the transaction ends.
func (tx *Tx) LockRun(ctx context.Context, id interaction.RunID) (r agent.Run, head event.Head, found bool, err error) {
	var body string
	found, err = tx.one(ctx, `SELECT body, head_number, head_hash FROM runs WHERE id = ?`+tx.d.forUpdate,
		[]any{id}, &body, &head.Number, &head.Hash)
	if found {
		head.Hash = sumText(head.Hash)
		r, err = decode[agent.Run](tx.queries, runBody.of(id), body)
	}
	return r, head, found && err == nil, in(err, "lock run %s", id)
}

// Run reads a run without holding it.
func (tx *Tx) Run(ctx context.Context, id interaction.RunID) (agent.Run, bool, error) {
	return tx.run(ctx, id)
}

// UpdateRun replaces a run's record. A run that has ended keeps no live pieces.
func (tx *Tx) UpdateRun(ctx context.Context, r agent.Run) error {
	body, err := tx.encode(runBody.of(r.ID), r)
	if err == nil {
		err = checkKey("user_id", r.UserID)
	}
	if err != nil {
		return in(err, "update run %s", r.ID)
	}
	err = tx.update(ctx, `UPDATE runs SET session_id = ?, agent = ?, user_id = ?, status = ?, body = ? WHERE id = ?`,
		r.SessionID, column(r.Agent), column(r.UserID), column(r.Status), body, r.ID)
	if err == nil && r.Status.Final() {
		_, err = tx.exec(ctx, `DELETE FROM deltas WHERE run_id = ?`, r.ID)
	}
	tx.touched[r.ID] = true
	return in(err, "update run %s", r.ID)
}

// SaveAgent keeps the definition of that digest. The first of a digest stays.
func (tx *Tx) SaveAgent(ctx context.Context, digest string, a agent.Agent) error {
	if err := checkID("agent_digest", digest); err != nil {
		return in(err, "save agent %s", a.Name)
	}
	body, err := tx.encode(agentBody.of(digest), a)
	if err == nil {
		_, err = tx.exec(ctx, `INSERT INTO agents (digest, body) VALUES (?, ?) ON CONFLICT (digest) DO NOTHING`, digest, body)
	}
	return in(err, "save agent %s", a.Name)
}

// Agent returns the definition of that digest.
func (tx *Tx) Agent(ctx context.Context, digest string) (a agent.Agent, found bool, err error) {
	var body string
	found, err = tx.one(ctx, `SELECT body FROM agents WHERE digest = ?`, []any{digest}, &body)
	if found {
		a, err = decode[agent.Agent](tx.queries, agentBody.of(digest), body)
	}
	return a, found && err == nil, in(err, "read agent %s", digest)
}

// EnsureRun stores a run that is not there yet, and leaves one that is.
func (s *Store) EnsureRun(ctx context.Context, r agent.Run) error {
	return s.Write(ctx, func(tx *Tx) error {
		_, err := tx.InsertRun(ctx, r)
		return err
	})
}

// Run returns one run.
func (s *Store) Run(ctx context.Context, id interaction.RunID) (agent.Run, bool, error) {
	return s.read().run(ctx, id)
}

func (q queries) run(ctx context.Context, id interaction.RunID) (r agent.Run, found bool, err error) {
	var body string
	found, err = q.one(ctx, `SELECT body FROM runs WHERE id = ?`, []any{id}, &body)
	if found {
		r, err = decode[agent.Run](q, runBody.of(id), body)
	}
	return r, found && err == nil, in(err, "read run %s", id)
}

// Progress is how far a run has come.
type Progress struct {
	Steps     int   // in its transcript
	LastEvent int64 // number of its newest event
}

// Progress tells how far a run has come; all zero when it is not there.
func (s *Store) Progress(ctx context.Context, id interaction.RunID) (p Progress, err error) {
	_, err = s.read().one(ctx, `SELECT (SELECT COUNT(*) FROM steps WHERE run_id = runs.id), (SELECT head_number FROM runs AS root
		WHERE root.id = CASE runs.root_id WHEN '' THEN runs.id ELSE runs.root_id END) FROM runs WHERE id = ?`,
		[]any{id}, &p.Steps, &p.LastEvent)
	return p, in(err, "read the progress of run %s", id)
}

// RunFilter selects runs; an empty field selects all.
type RunFilter struct {
	Status, SessionID, Agent, UserID string
	Prefix                           string // of the id or the session id
	PageSize                         int    // Defaults to 50, at most 200
	PageToken                        string // of the page before, "" for the first
}

// Runs lists runs, the newest first, and the token of the next page, "" after the last. Runs that start while
// one pages appear on a new first page only: no page has a gap or repeats a run.
func (s *Store) Runs(ctx context.Context, f RunFilter) ([]agent.Run, string, error) {
	p, err := openPage("runs", f.PageSize, f.PageToken, f.Status, f.SessionID, f.Agent, f.UserID, f.Prefix)
	if err != nil {
		return nil, "", err
	}
	var w where
	w.equal("status", f.Status)
	w.equal("session_id", f.SessionID)
	w.equal("agent", f.Agent)
	w.equal("user_id", f.UserID)
	if prefix := column(f.Prefix); prefix != "" {
		n := utf8.RuneCountInString(prefix)
		w.add("(substr(id, 1, ?) = ? OR substr(session_id, 1, ?) = ?)", n, prefix, n, prefix)
	}
	return s.pageOfRuns(ctx, p, w)
}

// pageOfRuns lists the runs of one page.
func (s *Store) pageOfRuns(ctx context.Context, p page, w where) ([]agent.Run, string, error) {
	if p.started {
		w.add("(started_at, id) < (?, ?)", p.at.Number, p.at.ID)
	}
	rows, err := all(ctx, s.read(), itemOf[agent.Run](s.read(), runBody),
		`SELECT started_at, id, body FROM runs`+w.clause()+` ORDER BY started_at DESC, id DESC LIMIT ?`, append(w.args, p.size+1)...)
	if err != nil {
		return nil, "", in(err, "list runs")
	}
	runs, next := cut(p, rows)
	return runs, next, nil
}

// maxWaiting bounds what WaitingRuns returns.
const maxWaiting = 1000

// WaitingRuns returns the workflow ids of a user's runs that wait for people, or are paused while they may, at most
// 1,000, the newest first.
func (s *Store) WaitingRuns(ctx context.Context, user interaction.PrincipalID) ([]string, error) {
	runs, err := all(ctx, s.read(), bodyOf[agent.Run](s.read(), runBody), `SELECT id, body FROM runs WHERE user_id = ? AND status IN (?, ?)
		ORDER BY started_at DESC, id DESC LIMIT ?`, column(user), column(agent.RunAwaitingHuman), column(agent.RunPaused), maxWaiting)
	ids := make([]string, len(runs))
	for i, r := range runs {
		ids[i] = r.WorkflowID
	}
	return ids, in(err, "list the waiting runs of user %s", user)
}

// where collects conditions.
type where struct {
	conds []string
	args  []any
}

func (w *where) add(cond string, args ...any) {
	w.conds = append(w.conds, cond)
	w.args = append(w.args, args...)
}

func (w *where) equal(name, value string) {
	if value != "" {
		w.add(name+" = ?", column(value))
	}
}

func (w *where) clause() string {
	if len(w.conds) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(w.conds, " AND ")
}

package store

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"holdpoint/interaction"
)

// SaveInteraction inserts or replaces an interaction.
func (tx *Tx) SaveInteraction(ctx context.Context, i interaction.Interaction) error {
	return in(tx.saveInteraction(ctx, i), "save interaction %s", i.Request.ID)
}

func (tx *Tx) saveInteraction(ctx context.Context, i interaction.Interaction) error {
	r := i.Request
	if err := checkID("interaction_id", r.ID); err != nil {
		return err
	}
	stored := i
	stored.Request = packRequest(r)
	stored.Responses = packEach(i.Responses, packResponse)
	body, err := tx.encode(interactionBody.of(r.ID), stored)
	if err != nil {
		return err
	}
	tx.touched[r.RunID] = true
	_, err = tx.exec(ctx, `INSERT INTO interactions (id, run_id, session_id, tool, risk, status, created_at, expires_at, body)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET run_id = excluded.run_id, session_id = excluded.session_id, tool = excluded.tool,
			risk = excluded.risk, status = excluded.status, created_at = excluded.created_at,
			expires_at = excluded.expires_at, body = excluded.body`,
		r.ID, r.RunID, r.SessionID, column(r.ToolName), column(r.Risk), column(i.Status),
		r.CreatedAt.UnixMicro(), micros(r.ExpiresAt), body)
	if err == nil && i.Status.Final() {
		err = tx.file(ctx, i)
	}
	return err
}

// Interaction returns one interaction, and holds it until the transaction ends.
func (tx *Tx) Interaction(ctx context.Context, id interaction.ID) (i interaction.Interaction, found bool, err error) {
	return tx.interaction(ctx, id, tx.d.forUpdate)
}

// Interaction returns one interaction.
func (s *Store) Interaction(ctx context.Context, id interaction.ID) (i interaction.Interaction, found bool, err error) {
	return s.read().interaction(ctx, id, "")
}

func (q queries) interaction(ctx context.Context, id interaction.ID, lock string) (i interaction.Interaction, found bool, err error) {
	var body string
	found, err = q.one(ctx, `SELECT body FROM interactions WHERE id = ?`+lock, []any{id}, &body)
	if found {
		i, err = q.decodeInteraction(id, body)
	}
	return i, found && err == nil, in(err, "read interaction %s", id)
}

func (q queries) decodeInteraction(id interaction.ID, body string) (interaction.Interaction, error) {
	i, err := decode[interaction.Interaction](q, interactionBody.of(id), body)
	if err == nil {
		err = unpackInteraction(&i)
	}
	return i, err
}

func unpackInteraction(i *interaction.Interaction) error {
	if err := unpackRequest(&i.Request); err != nil {
		return err
	}
	return unpackEach(i.Responses, unpackResponse)
}

// OpenInteractions returns a run's interactions that are not final, oldest first.
func (tx *Tx) OpenInteractions(ctx context.Context, run interaction.RunID) ([]interaction.Interaction, error) {
	open, err := all(ctx, tx.queries, func(rows *sql.Rows) (i interaction.Interaction, err error) {
		var id interaction.ID
		var body string
		if err := rows.Scan(&id, &body); err != nil {
			return i, err
		}
		return tx.decodeInteraction(id, body)
	}, `SELECT id, body FROM interactions WHERE run_id = ? AND status NOT IN (?, ?, ?) ORDER BY created_at, id`,
		run, interaction.StatusAnswered, interaction.StatusExpired, interaction.StatusCancelled)
	return open, in(err, "read the open interactions of run %s", run)
}

// InteractionFilter selects interactions; an empty field selects all.
type InteractionFilter struct {
	Status     []interaction.Status // any of them
	RunID      interaction.RunID
	SessionID  interaction.SessionID
	Tool, Risk string
	PageSize   int    // Defaults to 50, at most 200
	PageToken  string // of the page before, "" for the first
}

// Interactions lists interactions, the newest first, and the token of the next page, "" after the last. As with
// Runs, what is opened meanwhile neither repeats nor hides one.
func (s *Store) Interactions(ctx context.Context, f InteractionFilter) ([]interaction.Interaction, string, error) {
	filter := []string{string(f.RunID), string(f.SessionID), f.Tool, f.Risk}
	var w where
	w.equal("run_id", string(f.RunID))
	w.equal("session_id", string(f.SessionID))
	w.equal("tool", f.Tool)
	w.equal("risk", f.Risk)
	if len(f.Status) > 0 {
		statuses := slices.Compact(slices.Sorted(slices.Values(f.Status))) // the filter is a set
		args := make([]any, len(statuses))
		for n, st := range statuses {
			args[n], filter = column(st), append(filter, string(st))
		}
		w.add("status IN ("+marks(len(args))+")", args...)
	}
	p, err := openPage("interactions", f.PageSize, f.PageToken, filter...)
	if err != nil {
		return nil, "", err
	}
	if p.started {
		w.add("(created_at, id) < (?, ?)", p.at.Number, p.at.ID)
	}
	rows, err := all(ctx, s.read(), itemOfInteraction(s.read()),
		`SELECT created_at, id, body FROM interactions`+w.clause()+` ORDER BY created_at DESC, id DESC LIMIT ?`,
		append(w.args, p.size+1)...)
	if err != nil {
		return nil, "", in(err, "list interactions")
	}
	list, next := cut(p, rows)
	return list, next, nil
}

func itemOfInteraction(q queries) func(*sql.Rows) (item[interaction.Interaction], error) {
	scan := itemOf[interaction.Interaction](q, interactionBody)
	return func(rows *sql.Rows) (it item[interaction.Interaction], err error) {
		if it, err = scan(rows); err == nil {
			err = unpackInteraction(&it.value)
		}
		return it, err
	}
}

// MarkSubmitted notes an answer that was accepted and is yet to be carried out: it joins the interaction's
// responses, once by its id, and SubmittedAt is set if it decides. An interaction that is final stays as it is, and that is no
// error: what carried the answer out was faster. It wraps ErrNotFound when there is no such interaction.
func (s *Store) MarkSubmitted(ctx context.Context, id interaction.ID, r interaction.Response, at time.Time) error {
	return s.Write(ctx, func(tx *Tx) error {
		i, found, err := tx.Interaction(ctx, id)
		if err != nil {
			return err
		}
		if !found {
			return in(ErrNotFound, "mark interaction %s as submitted", id)
		}
		if i.Status.Final() || hasResponse(i, r.ID) && !i.SubmittedAt.IsZero() {
			return nil
		}
		if decides(&i, r, at) { // else others are asked still
			i.SubmittedAt = at.UTC().Truncate(time.Microsecond)
		}
		return tx.SaveInteraction(ctx, i)
	})
}

// decides adds r to i, and reports whether that decides it. What the record alone can't tell was accepted, and decides.
func decides(i *interaction.Interaction, r interaction.Response, at time.Time) bool {
	if hasResponse(*i, r.ID) {
		return i.Decides(r)
	}
	next := *i
	next.Status = interaction.StatusPending // the record may lag behind a hold
	out, err := next.Apply(r, at)
	if err != nil {
		i.Responses = append(i.Responses, r)
		return true
	}
	i.Responses = next.Responses
	return out != nil
}

func hasResponse(i interaction.Interaction, id interaction.ResponseID) bool {
	return slices.ContainsFunc(i.Responses, func(r interaction.Response) bool { return r.ID == id })
}

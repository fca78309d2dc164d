package store

import (
	"context"

	"holdpoint/interaction"
)

// SaveResponse keeps a response under its id, before it is sent on by reference. The first of an id stays: inserted
// tells whether this was it, and existing is what is stored now, for the caller to compare.
func (s *Store) SaveResponse(ctx context.Context, r interaction.Response) (existing interaction.Response, inserted bool, err error) {
	if err := checkID("id", r.ID); err != nil {
		return existing, false, in(err, "save a response")
	}
	err = s.Write(ctx, func(tx *Tx) (err error) {
		existing, inserted, err = tx.saveResponse(ctx, r)
		return err
	})
	if err != nil {
		return interaction.Response{}, false, err
	}
	return existing, inserted, nil
}

func (tx *Tx) saveResponse(ctx context.Context, r interaction.Response) (existing interaction.Response, inserted bool, err error) {
	body, err := tx.encode(responseBody.of(r.ID), packResponse(r))
	if err == nil {
		err = checkKey("request_id", r.RequestID)
	}
	if err != nil {
		return existing, false, in(err, "save response %s", r.ID)
	}
	n, err := tx.exec(ctx, `INSERT INTO responses (id, interaction_id, body) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING`,
		r.ID, column(r.RequestID), body)
	if err != nil {
		return existing, false, in(err, "save response %s", r.ID)
	}
	existing, found, err := tx.Response(ctx, r.ID)
	if err == nil && !found {
		err = in(ErrNotFound, "read back response %s", r.ID)
	}
	return existing, n > 0, err
}

// Response returns a response that SaveResponse stored.
func (tx *Tx) Response(ctx context.Context, id interaction.ResponseID) (interaction.Response, bool, error) {
	return tx.response(ctx, id)
}

// Response returns a response that SaveResponse stored.
func (s *Store) Response(ctx context.Context, id interaction.ResponseID) (interaction.Response, bool, error) {
	return s.read().response(ctx, id)
}

func (q queries) response(ctx context.Context, id interaction.ResponseID) (r interaction.Response, found bool, err error) {
	var body string
	found, err = q.one(ctx, `SELECT body FROM responses WHERE id = ?`, []any{id}, &body)
	if found {
		if r, err = decode[interaction.Response](q, responseBody.of(id), body); err == nil {
			err = unpackResponse(&r)
		}
	}
	return r, found && err == nil, in(err, "read response %s", id)
}

package store

import (
	"context"

	"holdpoint/interaction"
)

// SaveSecretResponse is SaveResponse for a response whose secrets are kept beside it, encrypted, in the same transaction. Of a
// response whose id is there already nothing is stored, and no secret of one whose interaction or run has ended.
func (s *Store) SaveSecretResponse(ctx context.Context, r interaction.Response, secrets []interaction.SealedSecret) (existing interaction.Response, inserted bool, err error) {
	if err := checkID("id", r.ID); err != nil {
		return existing, false, in(err, "save a response")
	}
	err = s.Write(ctx, func(tx *Tx) error {
		existing, inserted, err = tx.saveResponse(ctx, r)
		if err != nil || !inserted {
			return err
		}
		return in(tx.saveSecrets(ctx, r.RequestID, secrets), "save the secrets of response %s", r.ID)
	})
	if err != nil {
		return interaction.Response{}, false, err
	}
	return existing, inserted, nil
}

func (tx *Tx) saveSecrets(ctx context.Context, id interaction.ID, secrets []interaction.SealedSecret) error {
	i, found, err := tx.Interaction(ctx, id)
	if err != nil || !found || i.Status.Final() {
		return err
	}
	run, _, found, err := tx.LockRun(ctx, i.Request.RunID)
	if err != nil || !found || run.Status.Final() {
		return err
	}
	for _, secret := range secrets {
		if err := tx.insert(ctx, `INSERT INTO secrets (ref, run_id, call_id, sealed) VALUES (?, ?, ?, ?)`,
			secret.Ref, i.Request.RunID, i.Request.ToolCallID, secret.Sealed); err != nil {
			return err
		}
	}
	return nil
}

// Secret returns an encrypted secret.
func (tx *Tx) Secret(ctx context.Context, ref string) (sealed string, found bool, err error) {
	found, err = tx.one(ctx, `SELECT sealed FROM secrets WHERE ref = ?`, []any{ref}, &sealed)
	return sealed, found && err == nil, in(err, "read the secret %s", ref)
}

// DropSecrets removes the secrets that were given for a call, or, without one, for any of a run.
func (tx *Tx) DropSecrets(ctx context.Context, run interaction.RunID, call interaction.CallID) error {
	query, args := `DELETE FROM secrets WHERE run_id = ?`, []any{run}
	if call != "" {
		query, args = query+` AND call_id = ?`, append(args, call)
	}
	_, err := tx.exec(ctx, query, args...)
	return in(err, "drop the secrets of run %s", run)
}

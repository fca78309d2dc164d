package store

import (
	"context"

	"holdpoint/interaction"
	"holdpoint/tool"
)

// Memory returns what a run remembers under a key, and holds it until the transaction ends.
func (tx *Tx) Memory(ctx context.Context, run interaction.RunID, key string) (m tool.Memory, found bool, err error) {
	var id, body string
	names := tx.vault.names(memoryName, key)
	found, err = tx.one(ctx, `SELECT interaction_id, body FROM memories WHERE run_id = ? AND call_key IN (`+marks(len(names))+`)`+tx.d.forUpdate,
		append([]any{run}, names...), &id, &body)
	if found {
		m, err = decode[tool.Memory](tx.queries, memoryBody.of(run, id), body)
	}
	return m, found && err == nil, in(err, "read what run %s remembers", run)
}

// Remember makes a run remember m under a key in place of what it remembered before.
func (tx *Tx) Remember(ctx context.Context, run interaction.RunID, key string, m tool.Memory) error {
	body, err := tx.encode(memoryBody.of(run, m.Interaction), m)
	name := key
	if err == nil {
		name, err = tx.rename(ctx, memoryName, key, run)
	}
	if err == nil {
		_, err = tx.exec(ctx, `INSERT INTO memories (run_id, call_key, interaction_id, body) VALUES (?, ?, ?, ?)
			ON CONFLICT (run_id, call_key) DO UPDATE SET interaction_id = excluded.interaction_id, body = excluded.body`,
			run, name, m.Interaction, body)
	}
	return in(err, "remember the answer to call %s", m.CallID)
}

// Forget ends a run's memory of what was answered at an interaction. It reports false where there was none.
func (tx *Tx) Forget(ctx context.Context, run interaction.RunID, id interaction.ID) (bool, error) {
	n, err := tx.exec(ctx, `DELETE FROM memories WHERE run_id = ? AND interaction_id = ?`, run, id)
	return n > 0, in(err, "forget the answer to interaction %s", id)
}

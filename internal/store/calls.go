package store

import (
	"context"
	"database/sql"

	"holdpoint/interaction"
	"holdpoint/tool"
)

// InsertCall stores a call and reserves its sequence. Its id and its sequence must be free, else ErrExists.
func (tx *Tx) InsertCall(ctx context.Context, r tool.Record) error {
	if err := checkID("call_id", r.Call.ID); err != nil {
		return in(err, "insert call")
	}
	body, err := tx.encode(callBody.of(r.Call.ID), packRecord(r))
	if err == nil {
		err = tx.insert(ctx, `INSERT INTO calls (id, run_id, session_id, sequence, turn, idx, has_result, body)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
			r.Call.ID, r.Call.RunID, r.Call.SessionID, r.Sequence, r.Turn, r.Index, flag(r.Result != nil), body)
	}
	return in(err, "insert call %s", r.Call.ID)
}

// Call returns what is kept of a call.
func (tx *Tx) Call(ctx context.Context, id interaction.CallID) (r tool.Record, found bool, err error) {
	var body string
	found, err = tx.one(ctx, `SELECT body FROM calls WHERE id = ?`, []any{id}, &body)
	if found {
		r, err = tx.decodeRecord(id, body)
	}
	return r, found && err == nil, in(err, "read call %s", id)
}

// UpdateCall replaces what is kept of a call. Its place (run, session, turn, index, sequence) never changes.
func (tx *Tx) UpdateCall(ctx context.Context, r tool.Record) error {
	body, err := tx.encode(callBody.of(r.Call.ID), packRecord(r))
	if err == nil {
		err = tx.update(ctx, `UPDATE calls SET has_result = ?, body = ? WHERE id = ?`, flag(r.Result != nil), body, r.Call.ID)
	}
	return in(err, "update call %s", r.Call.ID)
}

// OpenCalls returns a run's calls that have no result yet, by turn and index.
func (tx *Tx) OpenCalls(ctx context.Context, run interaction.RunID) ([]tool.Record, error) {
	calls, err := all(ctx, tx.queries, func(rows *sql.Rows) (r tool.Record, err error) {
		var id interaction.CallID
		var body string
		if err := rows.Scan(&id, &body); err != nil {
			return r, err
		}
		return tx.decodeRecord(id, body)
	}, `SELECT id, body FROM calls WHERE run_id = ? AND has_result = 0 ORDER BY turn, idx`, run)
	return calls, in(err, "read the open calls of run %s", run)
}

func (q queries) decodeRecord(id interaction.CallID, body string) (tool.Record, error) {
	r, err := decode[tool.Record](q, callBody.of(id), body)
	if err == nil {
		err = unpackRecord(&r)
	}
	return r, err
}

// Execution returns the ledger's entry of a call, and holds it until the transaction ends.
func (tx *Tx) Execution(ctx context.Context, id interaction.CallID) (e tool.Execution, found bool, err error) {
	var body string
	found, err = tx.one(ctx, `SELECT body FROM executions WHERE call_id = ?`+tx.d.forUpdate, []any{id}, &body)
	if found {
		e, err = decode[tool.Execution](tx.queries, executionBody.of(id), body)
	}
	return e, found && err == nil, in(err, "read the execution of call %s", id)
}

// SaveExecution inserts or replaces the ledger's entry of a call.
func (tx *Tx) SaveExecution(ctx context.Context, e tool.Execution) error {
	if err := checkID("call_id", e.CallID); err != nil {
		return in(err, "save execution")
	}
	body, err := tx.encode(executionBody.of(e.CallID), e)
	if err == nil {
		_, err = tx.exec(ctx, `INSERT INTO executions (call_id, run_id, state, body) VALUES (?, ?, ?, ?)
			ON CONFLICT (call_id) DO UPDATE SET run_id = excluded.run_id, state = excluded.state, body = excluded.body`,
			e.CallID, e.RunID, column(e.State), body)
	}
	return in(err, "save the execution of call %s", e.CallID)
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// KeptResult returns the call whose result was kept last under a key.
func (tx *Tx) KeptResult(ctx context.Context, key string) (call interaction.CallID, found bool, err error) {
	names := tx.vault.names(resultName, key)
	found, err = tx.one(ctx, `SELECT call_id FROM kept_results WHERE result_key IN (`+marks(len(names))+`)`, names, &call)
	return call, found && err == nil, in(err, "read the kept result %s", key)
}

// KeepResult keeps a call's result under a key in place of the one before.
func (tx *Tx) KeepResult(ctx context.Context, key string, call interaction.CallID) error {
	name, err := tx.rename(ctx, resultName, key)
	if err == nil {
		_, err = tx.exec(ctx, `INSERT INTO kept_results (result_key, call_id) VALUES (?, ?)
			ON CONFLICT (result_key) DO UPDATE SET call_id = excluded.call_id`, name, call)
	}
	return in(err, "keep the result of call %s", call)
}

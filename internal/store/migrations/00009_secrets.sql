-- What people answered in confidence, encrypted. A row goes when its call is finished, or its run has ended.

-- +goose Up

CREATE TABLE secrets (
    ref     TEXT NOT NULL PRIMARY KEY,
    run_id  TEXT NOT NULL,
    call_id TEXT NOT NULL,
    sealed  TEXT NOT NULL
);
CREATE INDEX secrets_by_run ON secrets (run_id, call_id);

-- Bearer tokens, by their SHA-256: the tokens themselves are kept nowhere. And the record by time, for audits.

-- +goose Up

CREATE TABLE tokens (
    id         TEXT   NOT NULL PRIMARY KEY,
    hash       TEXT   NOT NULL UNIQUE,
    principal  TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT,
    revoked_by TEXT   NOT NULL DEFAULT '',
    body       TEXT   NOT NULL
);
CREATE INDEX tokens_by_creation ON tokens (created_at, id);
CREATE INDEX events_by_time ON events (happened_at, run_id, number);

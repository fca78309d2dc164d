-- One schema for every dialect: TEXT and BIGINT only. Times are microseconds since 1970 UTC; a body is the JSON
-- form of the whole record, and the columns beside it are what is looked up, ordered by, or constrained.
-- There is no way down: a database is never older than the newest binary that opened it.

-- +goose Up

CREATE TABLE runs (
    id          TEXT   NOT NULL PRIMARY KEY,
    session_id  TEXT   NOT NULL,
    agent       TEXT   NOT NULL,
    user_id     TEXT   NOT NULL,
    status      TEXT   NOT NULL,
    started_at  BIGINT NOT NULL, -- as first stored: the order of lists does not change
    body        TEXT   NOT NULL,
    head_number BIGINT NOT NULL DEFAULT 0,
    head_hash   TEXT   NOT NULL DEFAULT '',
    delta_id    BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX runs_by_start ON runs (started_at, id);
CREATE INDEX runs_by_status ON runs (status, started_at, id);
CREATE INDEX runs_by_session ON runs (session_id, started_at, id);
CREATE INDEX runs_by_user ON runs (user_id, started_at, id);

CREATE TABLE agents (
    digest TEXT NOT NULL PRIMARY KEY,
    body   TEXT NOT NULL
);

CREATE TABLE steps (
    id         TEXT   NOT NULL PRIMARY KEY,
    run_id     TEXT   NOT NULL,
    session_id TEXT   NOT NULL,
    sequence   BIGINT NOT NULL,
    body       TEXT   NOT NULL,
    UNIQUE (session_id, sequence)
);
CREATE INDEX steps_by_run ON steps (run_id, sequence);

CREATE TABLE turns (
    run_id TEXT   NOT NULL,
    turn   BIGINT NOT NULL,
    result TEXT   NOT NULL,
    PRIMARY KEY (run_id, turn)
);

-- sequence is the place reserved in the session for the call's result.
CREATE TABLE calls (
    id         TEXT   NOT NULL PRIMARY KEY,
    run_id     TEXT   NOT NULL,
    session_id TEXT   NOT NULL,
    sequence   BIGINT NOT NULL,
    turn       BIGINT NOT NULL,
    idx        BIGINT NOT NULL,
    has_result BIGINT NOT NULL,
    body       TEXT   NOT NULL,
    UNIQUE (session_id, sequence)
);
CREATE INDEX calls_by_run ON calls (run_id, has_result, turn, idx);

CREATE TABLE executions (
    call_id TEXT NOT NULL PRIMARY KEY,
    run_id  TEXT NOT NULL,
    state   TEXT NOT NULL,
    body    TEXT NOT NULL
);
CREATE INDEX executions_by_run ON executions (run_id, state);

CREATE TABLE interactions (
    id         TEXT   NOT NULL PRIMARY KEY,
    run_id     TEXT   NOT NULL,
    session_id TEXT   NOT NULL,
    tool       TEXT   NOT NULL,
    risk       TEXT   NOT NULL,
    status     TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    body       TEXT   NOT NULL
);
CREATE INDEX interactions_by_creation ON interactions (created_at, id);
CREATE INDEX interactions_by_status ON interactions (status, created_at, id);
CREATE INDEX interactions_by_run ON interactions (run_id, created_at, id);
CREATE INDEX interactions_by_session ON interactions (session_id, created_at, id);
CREATE INDEX interactions_by_expiry ON interactions (expires_at, status);

CREATE TABLE responses (
    id             TEXT NOT NULL PRIMARY KEY,
    interaction_id TEXT NOT NULL,
    body           TEXT NOT NULL
);
CREATE INDEX responses_by_interaction ON responses (interaction_id);

-- An erased event has neither salt nor payload; its payload_hash keeps the chain whole.
CREATE TABLE events (
    run_id       TEXT   NOT NULL,
    number       BIGINT NOT NULL,
    type         TEXT   NOT NULL,
    happened_at  BIGINT NOT NULL,
    event_key    TEXT,
    salt         TEXT,
    payload      TEXT,
    payload_hash TEXT   NOT NULL,
    hash         TEXT   NOT NULL,
    PRIMARY KEY (run_id, number),
    UNIQUE (run_id, event_key)
);

CREATE TABLE rules (
    id         TEXT NOT NULL PRIMARY KEY,
    user_id    TEXT NOT NULL,
    session_id TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    revoked_at BIGINT,
    revoked_by TEXT,
    body       TEXT NOT NULL
);
CREATE INDEX rules_by_user ON rules (user_id, created_at, id);

-- version grows with every rule saved or revoked for the user.
CREATE TABLE rule_versions (
    user_id TEXT   NOT NULL PRIMARY KEY,
    version BIGINT NOT NULL
);

-- The pieces of a step that is being written. Short-lived.
CREATE TABLE deltas (
    run_id  TEXT   NOT NULL,
    id      BIGINT NOT NULL,
    turn    BIGINT NOT NULL,
    attempt BIGINT NOT NULL,
    pos     BIGINT NOT NULL,
    content TEXT   NOT NULL,
    PRIMARY KEY (run_id, id)
);

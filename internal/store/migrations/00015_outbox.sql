-- What people and programs are to be told, until they have been.

-- +goose Up

CREATE TABLE outbox (
    id      TEXT   NOT NULL PRIMARY KEY,
    next_at BIGINT NOT NULL,
    body    TEXT   NOT NULL
);
CREATE INDEX outbox_by_time ON outbox (next_at, id);

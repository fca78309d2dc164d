-- Most events have no key, and had a row in the index of keys all the same. SQLite gives up a constraint only with its
-- table. The columns keep their order.

CREATE TABLE events_anew (
    run_id       TEXT   NOT NULL,
    number       BIGINT NOT NULL,
    type         TEXT   NOT NULL,
    happened_at  BIGINT NOT NULL,
    event_key    TEXT,
    salt         TEXT,
    payload      TEXT,
    payload_hash TEXT   NOT NULL,
    hash         TEXT   NOT NULL,
    origin       TEXT   NOT NULL DEFAULT '',
    PRIMARY KEY (run_id, number)
);
INSERT INTO events_anew SELECT run_id, number, type, happened_at, event_key, salt, payload, payload_hash, hash, origin FROM events;
DROP TABLE events;
ALTER TABLE events_anew RENAME TO events;
CREATE INDEX events_by_origin ON events (origin, number);
CREATE UNIQUE INDEX events_by_key ON events (run_id, event_key) WHERE event_key IS NOT NULL;

-- A run's events are read in their order, so they are kept in it: an index beside the table had each run's id once more.
--
-- From this version on values are kept as bytes, which binaries from before can't read: hashes and what is compressed or
-- sealed as they are, and a salt as the beginning of its payload. What was written before stays as it was.
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
) WITHOUT ROWID;
INSERT INTO events_anew SELECT run_id, number, type, happened_at, event_key, salt, payload, payload_hash, hash, origin FROM events ORDER BY run_id, number;
DROP TABLE events;
ALTER TABLE events_anew RENAME TO events;
CREATE UNIQUE INDEX events_by_key ON events (run_id, event_key) WHERE event_key IS NOT NULL;
CREATE INDEX events_by_origin ON events (origin, number);

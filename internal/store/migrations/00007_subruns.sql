-- The run of an agent that another agent called: its events stand in the stream of the run that a person started, which
-- is its root. There origin tells whose they are; it is '' for the root's own.

-- +goose Up

ALTER TABLE runs ADD COLUMN root_id TEXT NOT NULL DEFAULT '';
CREATE INDEX runs_by_root ON runs (root_id, started_at, id);
ALTER TABLE events ADD COLUMN origin TEXT NOT NULL DEFAULT '';
CREATE INDEX events_by_origin ON events (origin, number);

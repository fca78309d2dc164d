-- Most runs were called by none, and their events have no origin; they had rows in the indexes of those that were all the same.

-- +goose Up

DROP INDEX events_by_origin;
CREATE INDEX events_by_origin ON events (origin, number) WHERE origin <> '';

DROP INDEX runs_by_root;
CREATE INDEX runs_by_root ON runs (root_id, started_at) WHERE root_id <> '';

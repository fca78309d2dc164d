-- Runs and interactions of one moment, in microseconds, are few: they are sorted by their ids when they are read, which the
-- indexes of all of them had once more. Those by status keep the ids: their lists have several states.
--
-- From this version on values are compressed with a second dictionary, which binaries from before do not have.

-- +goose Up

DROP INDEX runs_by_start;
CREATE INDEX runs_by_start ON runs (started_at);
DROP INDEX interactions_by_creation;
CREATE INDEX interactions_by_creation ON interactions (created_at);

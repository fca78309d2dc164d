-- Indexes are a third of what a parked run stores. Two were never read. In those that order the rows of one run, session or
-- user by time, in microseconds, the id that tells rows of one moment apart took more room than the rest; such rows are few, and
-- sorted when they are read. The indexes of the inbox and of what is open keep it: those lists have several states, and without the id
-- all their rows would be read for the first page.

-- +goose Up

DROP INDEX events_by_time;
DROP INDEX interactions_by_expiry;

DROP INDEX interactions_by_run;
DROP INDEX interactions_by_session;
CREATE INDEX interactions_by_run ON interactions (run_id, created_at);
CREATE INDEX interactions_by_session ON interactions (session_id, created_at);

DROP INDEX runs_by_session;
DROP INDEX runs_by_user;
DROP INDEX runs_by_root;
CREATE INDEX runs_by_session ON runs (session_id, started_at);
CREATE INDEX runs_by_user ON runs (user_id, started_at);
CREATE INDEX runs_by_root ON runs (root_id, started_at);

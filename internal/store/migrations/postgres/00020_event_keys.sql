-- Most events have no key, and had a row in the index of keys all the same.

ALTER TABLE events DROP CONSTRAINT events_run_id_event_key_key;
CREATE UNIQUE INDEX events_by_key ON events (run_id, event_key) WHERE event_key IS NOT NULL;

-- Texts are compared byte by byte, as SQLite does: lists are ordered alike everywhere, and no index depends on the
-- rules for a language, which change with the operating system's libraries.

ALTER TABLE runs
    ALTER COLUMN id TYPE TEXT COLLATE "C",
    ALTER COLUMN session_id TYPE TEXT COLLATE "C",
    ALTER COLUMN agent TYPE TEXT COLLATE "C",
    ALTER COLUMN user_id TYPE TEXT COLLATE "C",
    ALTER COLUMN status TYPE TEXT COLLATE "C";

ALTER TABLE agents
    ALTER COLUMN digest TYPE TEXT COLLATE "C";

ALTER TABLE steps
    ALTER COLUMN id TYPE TEXT COLLATE "C",
    ALTER COLUMN run_id TYPE TEXT COLLATE "C",
    ALTER COLUMN session_id TYPE TEXT COLLATE "C";

ALTER TABLE turns
    ALTER COLUMN run_id TYPE TEXT COLLATE "C";

ALTER TABLE calls
    ALTER COLUMN id TYPE TEXT COLLATE "C",
    ALTER COLUMN run_id TYPE TEXT COLLATE "C",
    ALTER COLUMN session_id TYPE TEXT COLLATE "C";

ALTER TABLE executions
    ALTER COLUMN call_id TYPE TEXT COLLATE "C",
    ALTER COLUMN run_id TYPE TEXT COLLATE "C",
    ALTER COLUMN state TYPE TEXT COLLATE "C";

ALTER TABLE interactions
    ALTER COLUMN id TYPE TEXT COLLATE "C",
    ALTER COLUMN run_id TYPE TEXT COLLATE "C",
    ALTER COLUMN session_id TYPE TEXT COLLATE "C",
    ALTER COLUMN tool TYPE TEXT COLLATE "C",
    ALTER COLUMN risk TYPE TEXT COLLATE "C",
    ALTER COLUMN status TYPE TEXT COLLATE "C";

ALTER TABLE responses
    ALTER COLUMN id TYPE TEXT COLLATE "C",
    ALTER COLUMN interaction_id TYPE TEXT COLLATE "C";

ALTER TABLE events
    ALTER COLUMN run_id TYPE TEXT COLLATE "C",
    ALTER COLUMN type TYPE TEXT COLLATE "C",
    ALTER COLUMN event_key TYPE TEXT COLLATE "C";

ALTER TABLE rules
    ALTER COLUMN id TYPE TEXT COLLATE "C",
    ALTER COLUMN user_id TYPE TEXT COLLATE "C",
    ALTER COLUMN session_id TYPE TEXT COLLATE "C",
    ALTER COLUMN revoked_by TYPE TEXT COLLATE "C";

ALTER TABLE rule_versions
    ALTER COLUMN user_id TYPE TEXT COLLATE "C";

ALTER TABLE deltas
    ALTER COLUMN run_id TYPE TEXT COLLATE "C";

-- What became of a commit whose answer was lost: each transaction leaves its token in a slot that no other uses
-- meanwhile. There are as many slots as a process writes at once, so the table stays small.
CREATE TABLE commits (
    slot    TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    token   TEXT   NOT NULL,
    used_at BIGINT NOT NULL
) WITH (fillfactor = 50);

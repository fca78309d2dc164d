-- As in 00002: names are compared byte by byte.

ALTER TABLE memories
    ALTER COLUMN run_id TYPE TEXT COLLATE "C",
    ALTER COLUMN call_key TYPE TEXT COLLATE "C";

ALTER TABLE runs
    ALTER COLUMN root_id TYPE TEXT COLLATE "C";

ALTER TABLE events
    ALTER COLUMN origin TYPE TEXT COLLATE "C";

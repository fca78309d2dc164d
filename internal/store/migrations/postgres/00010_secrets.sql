-- As in 00002: names are compared byte by byte.

ALTER TABLE secrets
    ALTER COLUMN ref TYPE TEXT COLLATE "C",
    ALTER COLUMN run_id TYPE TEXT COLLATE "C",
    ALTER COLUMN call_id TYPE TEXT COLLATE "C";

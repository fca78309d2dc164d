-- As in 00002: names are compared byte by byte.

ALTER TABLE outbox
    ALTER COLUMN id TYPE TEXT COLLATE "C";

-- As in 00002: names are compared byte by byte.

ALTER TABLE tokens
    ALTER COLUMN id TYPE TEXT COLLATE "C",
    ALTER COLUMN hash TYPE TEXT COLLATE "C",
    ALTER COLUMN principal TYPE TEXT COLLATE "C";

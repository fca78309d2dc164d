-- Compared byte by byte, as in version 2.

ALTER TABLE rules
    ALTER COLUMN effect TYPE TEXT COLLATE "C",
    ALTER COLUMN rule_key TYPE TEXT COLLATE "C",
    ALTER COLUMN replaced_by TYPE TEXT COLLATE "C";

ALTER TABLE kept_results
    ALTER COLUMN result_key TYPE TEXT COLLATE "C";

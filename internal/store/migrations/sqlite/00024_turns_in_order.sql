-- A turn is found by its run and number alone: an index beside the table had both once more.
CREATE TABLE turns_anew (
    run_id TEXT   NOT NULL,
    turn   BIGINT NOT NULL,
    result TEXT   NOT NULL,
    PRIMARY KEY (run_id, turn)
) WITHOUT ROWID;
INSERT INTO turns_anew SELECT run_id, turn, result FROM turns ORDER BY run_id, turn;
DROP TABLE turns;
ALTER TABLE turns_anew RENAME TO turns;

-- What a run remembers of calls that people answered: a call that was rejected is not asked again. The key is a hash
-- of tool and arguments.

-- +goose Up

CREATE TABLE memories (
    run_id         TEXT NOT NULL,
    call_key       TEXT NOT NULL,
    interaction_id TEXT NOT NULL,
    body           TEXT NOT NULL,
    PRIMARY KEY (run_id, call_key)
);

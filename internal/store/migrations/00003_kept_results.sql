-- The last success of each call to a tool that is declared cacheable. The key is a hash of session, tool, arguments and
-- place; the call has the result.

-- +goose Up

CREATE TABLE kept_results (
    result_key TEXT NOT NULL PRIMARY KEY,
    call_id    TEXT NOT NULL
);

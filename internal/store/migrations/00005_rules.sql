-- What becomes of a stored rule. rule_key is equal for the rules that replace one another: those of one pattern with the
-- same conditions. Nothing that stored a rule before had a use for these columns.

-- +goose Up

ALTER TABLE rules ADD COLUMN effect TEXT NOT NULL DEFAULT '';
ALTER TABLE rules ADD COLUMN rule_key TEXT NOT NULL DEFAULT '';
ALTER TABLE rules ADD COLUMN expires_at BIGINT;
ALTER TABLE rules ADD COLUMN max_uses BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rules ADD COLUMN uses BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rules ADD COLUMN replaced_by TEXT;

CREATE INDEX rules_by_key ON rules (user_id, rule_key);
CREATE INDEX rules_counted ON rules (user_id) WHERE max_uses > 0;

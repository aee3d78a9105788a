-- What is known to be committed, kept with the entries, and the highest id that was ever a member: ids are not reused.
ALTER TABLE raft ADD COLUMN committed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE raft ADD COLUMN highest_id INTEGER NOT NULL DEFAULT 0;

-- A replica's identity comes in steps: a random token for as long as this disk lives, for a first member the tokens of
-- all first members, and whether it takes part. What was written before these columns existed took part.
ALTER TABLE identity ADD COLUMN token TEXT NOT NULL DEFAULT '';
ALTER TABLE identity ADD COLUMN founders TEXT;
ALTER TABLE identity ADD COLUMN state TEXT NOT NULL DEFAULT 'started';

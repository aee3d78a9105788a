-- CRC-32 of each row, in which `version_parts` and `log_parts` count as part of theirs; NULL: written before there were any.
ALTER TABLE versions ADD COLUMN checksum INTEGER;
ALTER TABLE log ADD COLUMN checksum INTEGER;
ALTER TABLE raft ADD COLUMN checksum INTEGER;
ALTER TABLE scalars ADD COLUMN checksum INTEGER;
ALTER TABLE live ADD COLUMN checksum INTEGER;

-- Digest of the live records (NULL: to be computed), and the feature level of the group.
ALTER TABLE scalars ADD COLUMN digest INTEGER;
ALTER TABLE scalars ADD COLUMN level INTEGER NOT NULL DEFAULT 2;

-- Rows that were found to be corrupt: nothing is served until they are repaired.
CREATE TABLE IF NOT EXISTS damage (
  place TEXT NOT NULL,
  id INTEGER NOT NULL,
  detail TEXT NOT NULL,
  PRIMARY KEY (place, id)
) WITHOUT ROWID;

-- Who this replica is: one row, written by the first join and never changed.
CREATE TABLE IF NOT EXISTS identity (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  tenant TEXT NOT NULL,
  shard TEXT NOT NULL,
  id INTEGER NOT NULL
);

-- Raft: term and vote, the membership, and where the log begins (index and term of the entry before its first).
CREATE TABLE IF NOT EXISTS raft (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  term INTEGER NOT NULL,
  vote INTEGER NOT NULL,
  membership TEXT NOT NULL,
  before_index INTEGER NOT NULL,
  before_term INTEGER NOT NULL
);

CREATE TABLE IF NOT EXISTS log (
  entry INTEGER PRIMARY KEY,
  term INTEGER NOT NULL,
  type INTEGER NOT NULL,
  data BLOB NOT NULL
);

-- What an entry has beyond its first row's share: rows stay below 2 MB.
CREATE TABLE IF NOT EXISTS log_parts (
  entry INTEGER NOT NULL,
  part INTEGER NOT NULL,
  data BLOB NOT NULL,
  PRIMARY KEY (entry, part)
);

-- The numbers of the state machine.
CREATE TABLE IF NOT EXISTS scalars (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  applied INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  compacted INTEGER NOT NULL,
  policy INTEGER NOT NULL,
  time INTEGER NOT NULL,
  next_work INTEGER NOT NULL,
  log_floor INTEGER NOT NULL,
  swept INTEGER NOT NULL
);

-- History. The newest version of a key that is not a deletion is the live one.
CREATE TABLE IF NOT EXISTS versions (
  revision INTEGER PRIMARY KEY,
  key TEXT NOT NULL,
  previous INTEGER NOT NULL,
  deleted INTEGER NOT NULL,
  expires INTEGER NOT NULL,
  proposal BLOB,
  record BLOB NOT NULL
);

-- What a record has beyond the first row's share.
CREATE TABLE IF NOT EXISTS version_parts (
  revision INTEGER NOT NULL,
  part INTEGER NOT NULL,
  record BLOB NOT NULL,
  PRIMARY KEY (revision, part)
);

CREATE TABLE IF NOT EXISTS live (
  key TEXT PRIMARY KEY,
  revision INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS terms (
  term TEXT NOT NULL,
  key TEXT NOT NULL,
  PRIMARY KEY (term, key)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS expiries (
  at INTEGER NOT NULL,
  key TEXT NOT NULL,
  PRIMARY KEY (at, key)
) WITHOUT ROWID;

-- Outbox of the control loops.
CREATE TABLE IF NOT EXISTS work (
  id INTEGER PRIMARY KEY,
  loop TEXT NOT NULL,
  item TEXT NOT NULL
);

-- Specs of watches that are too long for their socket's attachment.
CREATE TABLE IF NOT EXISTS watches (
  id TEXT PRIMARY KEY,
  spec BLOB NOT NULL
) WITHOUT ROWID;

-- Answers to proposals that no version carries, many in a row; `newest` is the newest stamp in ms among them.
CREATE TABLE IF NOT EXISTS answers (
  batch INTEGER PRIMARY KEY,
  newest INTEGER NOT NULL,
  data BLOB NOT NULL
);

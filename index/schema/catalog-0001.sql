-- The truth about one project: what was read, what it was cut into, and the vectors. Snapshots are made from it.

-- Working trees of the project: clones and worktrees share everything below but their list of documents.
CREATE TABLE trees (
  id            INTEGER PRIMARY KEY,
  tree          TEXT NOT NULL UNIQUE,        -- id of the working tree's real path
  root          TEXT NOT NULL,
  recipe        TEXT NOT NULL DEFAULT '',    -- how its documents were read and chunked; another one reads them again
  is_dirty      INTEGER NOT NULL DEFAULT 1,  -- documents changed since the last snapshot of this tree
  generation    INTEGER NOT NULL DEFAULT 0,  -- of the last snapshot
  built_at      TEXT                         -- ISO 8601, UTC
);

-- One row per document of a tree, indexed or skipped: an unchanged one costs a stat.
CREATE TABLE documents (
  tree_id       INTEGER NOT NULL REFERENCES trees(id) ON DELETE CASCADE,
  path          BLOB NOT NULL,               -- UTF-8, relative, forward slashes; lone surrogates survive
  size_bytes    INTEGER NOT NULL,
  mtime_ns      INTEGER NOT NULL,
  checked_ns    INTEGER NOT NULL,            -- when it was read; a younger mtime would not be noticed
  content_id    INTEGER REFERENCES contents(id),
  kind          TEXT NOT NULL DEFAULT '',    -- code, doc; empty when skipped
  skip_reason   TEXT,                        -- NULL when indexed
  PRIMARY KEY (tree_id, path)
) WITHOUT ROWID;
CREATE INDEX documents_by_content ON documents(content_id);

-- A text as it was chunked: the same text in two places, branches or clones is chunked once.
-- No id is given twice: segments tell by it whether they still hold the text of a path.
CREATE TABLE contents (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  digest        BLOB NOT NULL,               -- SHA-256 of the normalised text
  language      TEXT NOT NULL,
  recipe        TEXT NOT NULL,               -- version and limits of the chunker, version of the tokens
  method        TEXT NOT NULL,               -- definitions, headings, lines
  fallback      TEXT NOT NULL DEFAULT '',    -- why a wanted parse was not had
  n_chunks      INTEGER NOT NULL,
  UNIQUE (digest, language, recipe)
);

CREATE TABLE chunks (
  content_id    INTEGER NOT NULL REFERENCES contents(id) ON DELETE CASCADE,
  ordinal       INTEGER NOT NULL,
  start_line    INTEGER NOT NULL,            -- 1-based
  end_line      INTEGER NOT NULL,            -- inclusive
  digest        BLOB NOT NULL,               -- 16 bytes of the SHA-256 of the normalised text
  name          TEXT NOT NULL,
  kind          TEXT NOT NULL,
  signature     TEXT NOT NULL,
  scope         TEXT NOT NULL,
  detail        BLOB NOT NULL,               -- zlib of JSON: term frequencies per field, definitions, comment spans
  PRIMARY KEY (content_id, ordinal)
) WITHOUT ROWID;

CREATE TABLE models (
  id            INTEGER PRIMARY KEY,
  key           TEXT NOT NULL UNIQUE         -- name@digest: two equal keys give equal vectors
);

-- A vector belongs to (model, exact input): chunks alike in path, scope, names and text share one.
CREATE TABLE vectors (
  model_id      INTEGER NOT NULL REFERENCES models(id) ON DELETE CASCADE,
  input         BLOB NOT NULL,               -- 16 bytes of the SHA-256 of head line and chunk digest
  content_id    INTEGER NOT NULL,            -- the content that first needed it; collected with it
  is_cut        INTEGER NOT NULL,            -- the model reads only a part of the input
  scale         REAL NOT NULL,               -- vector = scale · data; 0 when the input has no known token
  data          BLOB NOT NULL,               -- int8, length dim
  PRIMARY KEY (model_id, input)
) WITHOUT ROWID;
CREATE INDEX vectors_by_content ON vectors(content_id);

CREATE TABLE generations (
  tree_id       INTEGER NOT NULL REFERENCES trees(id) ON DELETE CASCADE,
  generation    INTEGER NOT NULL,
  built_at      TEXT NOT NULL,
  summary       TEXT NOT NULL,               -- JSON: documents, chunks, added, changed, removed, …
  PRIMARY KEY (tree_id, generation)
) WITHOUT ROWID;

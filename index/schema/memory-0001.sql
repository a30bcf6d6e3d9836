-- What happened in earlier sessions: prompts, observations of tool uses and summaries. Not made again from anything else.
-- Times are milliseconds since 1970 (`…_epoch`), and the same as ISO 8601 in UTC for who reads the file by hand.
-- Ids are never given twice, so that an index that holds one never means another row.

CREATE TABLE sessions (
  id                 INTEGER PRIMARY KEY AUTOINCREMENT,
  claude_session_id  TEXT NOT NULL UNIQUE,          -- the client's
  project_key        TEXT NOT NULL,                 -- of the project it began in
  project            TEXT NOT NULL,
  user_prompt        TEXT NOT NULL DEFAULT '',      -- the first one
  started_at         TEXT NOT NULL,
  started_at_epoch   INTEGER NOT NULL,
  completed_at       TEXT,
  completed_at_epoch INTEGER,
  status             TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'completed', 'failed')),
  prompt_counter     INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX sessions_by_project ON sessions(project_key, started_at_epoch DESC);

-- The short columns stand first: a filter does not read the long ones.
CREATE TABLE observations (
  id               INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id       INTEGER NOT NULL REFERENCES sessions(id),
  project_key      TEXT NOT NULL,                   -- of the event; a session may go on in another project
  project          TEXT NOT NULL,
  type             TEXT NOT NULL CHECK (type IN ('decision', 'bugfix', 'feature', 'refactor', 'discovery', 'change')),
  created_at_epoch INTEGER NOT NULL,
  created_at       TEXT NOT NULL,
  prompt_number    INTEGER NOT NULL DEFAULT 0,
  discovery_tokens INTEGER NOT NULL DEFAULT 0,
  repeat_count     INTEGER NOT NULL DEFAULT 0,
  digest           TEXT NOT NULL UNIQUE,            -- of the events behind it
  title            TEXT NOT NULL,
  subtitle         TEXT NOT NULL,
  narrative        TEXT NOT NULL,
  facts            TEXT NOT NULL,                   -- JSON arrays of strings
  concepts         TEXT NOT NULL,
  files_read       TEXT NOT NULL,
  files_modified   TEXT NOT NULL
);
CREATE INDEX observations_by_project ON observations(project_key, created_at_epoch DESC, id DESC);
CREATE INDEX observations_by_time ON observations(created_at_epoch DESC, id DESC);
CREATE INDEX observations_by_session ON observations(session_id, created_at_epoch);

CREATE TABLE observation_files (
  observation_id   INTEGER NOT NULL REFERENCES observations(id) ON DELETE CASCADE,
  path             TEXT NOT NULL,
  is_modified      INTEGER NOT NULL,
  PRIMARY KEY (observation_id, path)
) WITHOUT ROWID;
CREATE INDEX observation_files_by_path ON observation_files(path);

CREATE TABLE observation_concepts (
  observation_id   INTEGER NOT NULL REFERENCES observations(id) ON DELETE CASCADE,
  concept          TEXT NOT NULL,
  PRIMARY KEY (observation_id, concept)
) WITHOUT ROWID;
CREATE INDEX observation_concepts_by_concept ON observation_concepts(concept);

CREATE TABLE session_summaries (
  id               INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id       INTEGER NOT NULL REFERENCES sessions(id),
  project_key      TEXT NOT NULL,
  project          TEXT NOT NULL,
  created_at_epoch INTEGER NOT NULL,
  created_at       TEXT NOT NULL,
  prompt_number    INTEGER NOT NULL,
  digest           TEXT NOT NULL,
  request          TEXT NOT NULL,
  investigated     TEXT NOT NULL,
  learned          TEXT NOT NULL,
  completed        TEXT NOT NULL,
  next_steps       TEXT NOT NULL,
  notes            TEXT NOT NULL,
  UNIQUE (session_id, prompt_number)
);
CREATE INDEX summaries_by_project ON session_summaries(project_key, created_at_epoch DESC, id DESC);
CREATE INDEX summaries_by_time ON session_summaries(created_at_epoch DESC, id DESC);

CREATE TABLE user_prompts (
  id               INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id       INTEGER NOT NULL REFERENCES sessions(id),
  project_key      TEXT NOT NULL,
  project          TEXT NOT NULL,
  created_at_epoch INTEGER NOT NULL,
  created_at       TEXT NOT NULL,
  prompt_number    INTEGER NOT NULL,
  digest           TEXT NOT NULL UNIQUE,
  prompt_text      TEXT NOT NULL
);
CREATE INDEX prompts_by_session ON user_prompts(session_id, prompt_number);
CREATE INDEX prompts_by_project ON user_prompts(project_key, created_at_epoch DESC);

-- Tool uses that wait for those that follow within the batch window; a killed process loses none.
CREATE TABLE pending_events (
  id               INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id       INTEGER NOT NULL REFERENCES sessions(id),
  project_key      TEXT NOT NULL,
  project          TEXT NOT NULL,
  created_at_epoch INTEGER NOT NULL,
  prompt_number    INTEGER NOT NULL,
  discovery_tokens INTEGER NOT NULL,
  tool             TEXT NOT NULL,
  digest           TEXT NOT NULL UNIQUE,
  payload          TEXT NOT NULL
);
CREATE INDEX pending_by_session ON pending_events(session_id, id);

-- Events that were turned into an observation or into nothing: one that a hook sends again does not count again.
CREATE TABLE seen_events (
  event            BLOB PRIMARY KEY,                -- 16 bytes of the SHA-256 of its digest
  observation_id   INTEGER,                         -- NULL: it told nothing; 0: what it told was forgotten
  seen_at_epoch    INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX seen_events_by_observation ON seen_events(observation_id);

-- Rows that somebody wanted forgotten: an import does not bring them back. No text, and none can be made of it.
CREATE TABLE forgotten (
  row              BLOB PRIMARY KEY                 -- 16 bytes of the SHA-256 of its digest
) WITHOUT ROWID;

-- What an index of the records has to look at. Numbers go on from the seconds of 1970 at which the file was made, so that
-- those of a file that was replaced by a new one do not come again.
CREATE TABLE changes (
  seq              INTEGER PRIMARY KEY AUTOINCREMENT,
  kind             TEXT NOT NULL,                   -- observation, summary
  row_id           INTEGER NOT NULL
);
INSERT INTO sqlite_sequence(name, seq) VALUES ('changes', CAST(strftime('%s', 'now') AS INTEGER) * 1000);
CREATE TRIGGER changes_are_bounded AFTER INSERT ON changes WHEN new.seq % 1000 = 0 BEGIN
  DELETE FROM changes WHERE seq <= new.seq - 100000;
END;

-- Full text. `_` separates, as unicode61 has it: `retry_count` is found by retry, by count, and, as a phrase, by itself;
-- as a character of words it would hide the parts. Texts are not stored a second time.
CREATE VIRTUAL TABLE observations_fts USING fts5(
  title, subtitle, narrative, facts, concepts, files_read, files_modified,
  content='observations', content_rowid='id', tokenize='unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE summaries_fts USING fts5(
  request, investigated, learned, completed, next_steps, notes,
  content='session_summaries', content_rowid='id', tokenize='unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE prompts_fts USING fts5(
  prompt_text, content='user_prompts', content_rowid='id', tokenize='unicode61 remove_diacritics 2'
);

CREATE TRIGGER observation_added AFTER INSERT ON observations BEGIN
  INSERT INTO observations_fts(rowid, title, subtitle, narrative, facts, concepts, files_read, files_modified)
    VALUES (new.id, new.title, new.subtitle, new.narrative, new.facts, new.concepts, new.files_read, new.files_modified);
  INSERT INTO changes(kind, row_id) VALUES ('observation', new.id);
END;
CREATE TRIGGER observation_removed AFTER DELETE ON observations BEGIN
  INSERT INTO observations_fts(observations_fts, rowid, title, subtitle, narrative, facts, concepts, files_read, files_modified)
    VALUES ('delete', old.id, old.title, old.subtitle, old.narrative, old.facts, old.concepts, old.files_read, old.files_modified);
  INSERT INTO changes(kind, row_id) VALUES ('observation', old.id);
END;
-- Repeats are counted without it: they change nothing that is searched.
CREATE TRIGGER observation_changed
AFTER UPDATE OF project_key, type, title, subtitle, narrative, facts, concepts, files_read, files_modified ON observations BEGIN
  INSERT INTO observations_fts(observations_fts, rowid, title, subtitle, narrative, facts, concepts, files_read, files_modified)
    VALUES ('delete', old.id, old.title, old.subtitle, old.narrative, old.facts, old.concepts, old.files_read, old.files_modified);
  INSERT INTO observations_fts(rowid, title, subtitle, narrative, facts, concepts, files_read, files_modified)
    VALUES (new.id, new.title, new.subtitle, new.narrative, new.facts, new.concepts, new.files_read, new.files_modified);
  INSERT INTO changes(kind, row_id) VALUES ('observation', new.id);
END;

CREATE TRIGGER summary_added AFTER INSERT ON session_summaries BEGIN
  INSERT INTO summaries_fts(rowid, request, investigated, learned, completed, next_steps, notes)
    VALUES (new.id, new.request, new.investigated, new.learned, new.completed, new.next_steps, new.notes);
  INSERT INTO changes(kind, row_id) VALUES ('summary', new.id);
END;
CREATE TRIGGER summary_removed AFTER DELETE ON session_summaries BEGIN
  INSERT INTO summaries_fts(summaries_fts, rowid, request, investigated, learned, completed, next_steps, notes)
    VALUES ('delete', old.id, old.request, old.investigated, old.learned, old.completed, old.next_steps, old.notes);
  INSERT INTO changes(kind, row_id) VALUES ('summary', old.id);
END;
CREATE TRIGGER summary_changed
AFTER UPDATE OF project_key, request, investigated, learned, completed, next_steps, notes ON session_summaries BEGIN
  INSERT INTO summaries_fts(summaries_fts, rowid, request, investigated, learned, completed, next_steps, notes)
    VALUES ('delete', old.id, old.request, old.investigated, old.learned, old.completed, old.next_steps, old.notes);
  INSERT INTO summaries_fts(rowid, request, investigated, learned, completed, next_steps, notes)
    VALUES (new.id, new.request, new.investigated, new.learned, new.completed, new.next_steps, new.notes);
  INSERT INTO changes(kind, row_id) VALUES ('summary', new.id);
END;

CREATE TRIGGER prompt_added AFTER INSERT ON user_prompts BEGIN
  INSERT INTO prompts_fts(rowid, prompt_text) VALUES (new.id, new.prompt_text);
END;
CREATE TRIGGER prompt_removed AFTER DELETE ON user_prompts BEGIN
  INSERT INTO prompts_fts(prompts_fts, rowid, prompt_text) VALUES ('delete', old.id, old.prompt_text);
END;

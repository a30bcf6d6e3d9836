-- Under which rules for secrets the rows stand here: one row, made with the file or by the first cleaning.
CREATE TABLE cleaned (
  id               INTEGER PRIMARY KEY CHECK (id = 1),
  rules            TEXT NOT NULL,                   -- REDACT_VERSION
  stage            TEXT NOT NULL,                   -- table that is being looked at; words, file; empty: all is done
  up_to            INTEGER NOT NULL,                -- of this table, the last row that was looked at
  n_rows           INTEGER NOT NULL,                -- rows whose text changed
  at_epoch         INTEGER NOT NULL                 -- of the last change of this row
);

-- Prompts never changed before there was cleaning.
CREATE TRIGGER prompt_changed AFTER UPDATE OF prompt_text ON user_prompts BEGIN
  INSERT INTO prompts_fts(prompts_fts, rowid, prompt_text) VALUES ('delete', old.id, old.prompt_text);
  INSERT INTO prompts_fts(rowid, prompt_text) VALUES (new.id, new.prompt_text);
END;

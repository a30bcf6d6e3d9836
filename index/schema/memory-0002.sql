-- Under which rules for secrets the rows stand here: one row, made with the file or by the pass that masked them last.
CREATE TABLE cleaned (
  id               INTEGER PRIMARY KEY CHECK (id = 1),
  rules            TEXT NOT NULL,                   -- REDACT_VERSION
  stage            TEXT NOT NULL,                   -- empty: all rows are masked; anything else: not all
  up_to            INTEGER NOT NULL,                -- not used
  n_rows           INTEGER NOT NULL,                -- not used
  at_epoch         INTEGER NOT NULL                 -- when the pass ended
);

-- Prompts change only when newer rules for secrets mask them.
CREATE TRIGGER prompt_changed AFTER UPDATE OF prompt_text ON user_prompts BEGIN
  INSERT INTO prompts_fts(prompts_fts, rowid, prompt_text) VALUES ('delete', old.id, old.prompt_text);
  INSERT INTO prompts_fts(rowid, prompt_text) VALUES (new.id, new.prompt_text);
END;

-- A command that failed in a session, until it passes there; `steps` is what was done since, as a JSON list.
CREATE TABLE failures (
    session_id INTEGER NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    form TEXT NOT NULL,  -- program and subcommands
    target TEXT NOT NULL,  -- what it ran on, as a JSON list
    error TEXT NOT NULL,  -- the telling line, without numbers and folders
    steps TEXT NOT NULL DEFAULT '[]',
    PRIMARY KEY (session_id, form, target)
) WITHOUT ROWID;

-- What made such a failure pass, told by an observation, which it is forgotten with.
CREATE TABLE remedies (
    observation_id INTEGER PRIMARY KEY REFERENCES observations(id) ON DELETE CASCADE,
    project_key TEXT NOT NULL,
    form TEXT NOT NULL,
    error TEXT NOT NULL,
    steps TEXT NOT NULL,
    n_worked INTEGER NOT NULL DEFAULT 1,
    n_failed INTEGER NOT NULL DEFAULT 0,
    session_id INTEGER NOT NULL,  -- in which it worked last
    UNIQUE (project_key, form, error)
);

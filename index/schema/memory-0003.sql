-- An attempt is counted before it begins: a use that ends or stalls its reader is set aside, and tried anew by
-- another version.
ALTER TABLE pending_events ADD COLUMN n_tries INTEGER NOT NULL DEFAULT 0;
ALTER TABLE pending_events ADD COLUMN tried_by TEXT NOT NULL DEFAULT '';  -- version that n_tries counts

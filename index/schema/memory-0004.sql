-- A session has one summary in each project, made of its turns of substance: what each of them said stays beside it, so
-- that the end of a turn that comes again replaces its own part. Rows without it are of one turn, as older versions
-- stored them and claude-mem does; they stay as they are.
ALTER TABLE session_summaries ADD COLUMN turns TEXT NOT NULL DEFAULT '';  -- JSON: [prompt_number, the six texts], …

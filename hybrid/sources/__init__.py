"""Sources: where documents come from; the engine reads each source into a collection of its own.

A source is anything that fulfils `hybrid.types.Source`: `scan()` offers every document with a cheap stamp, `read()`
gives one document or the reason why it is left out, `skipped` counts what the scan left out. The index asks for
nothing else, so a source decides alone what a document is, what its path is called, and what a stamp means.

`files.FileSource` is the first: the files of one working tree, of kinds `code` and `doc`.

How records join later: lessons, lore and memory each get a module here that wraps their store in `hybrid.records`.
One record is one document. Its `path` is `KIND/ID`, which never clashes with files because every source is a
collection of its own, with own statistics and an own gate threshold. Its stamp is the length of the record and the
time of its last change, so that an unchanged record costs no read. Its `text` is what the record shows.
Sources know nothing of one another, of chunking, or of the index.

| module | responsible for |
|---|---|
| `files` | the files of a working tree as documents |
| `listing` | which files there are: from git, or from a walk of its own |
| `git` | the one git command, for everything or a few paths, and counting |
| `walk` | the walk that stands in for git |
| `ignore` | rules of `.gitignore` and `.hybridignore` in every folder |
| `patterns` | one list of such rules |
| `classify` | what is left out for its name, its size or its first lines |
| `decoding` | bytes to text |
| `reading` | paths that do not lead out of the project |
"""

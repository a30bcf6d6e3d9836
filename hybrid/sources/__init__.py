"""Sources: where documents come from. The index reads each source into a collection of its own.

A source is anything that fulfils `hybrid.types.Source`: `scan()` offers every document with a cheap stamp, `read()`
gives one document or the reason why it is left out, `skipped` counts what the scan left out. The index asks for
nothing else, so a source decides alone what a document is, what its path is called, and what a stamp means. Sources
know nothing of one another, of chunking, or of the index.
"""

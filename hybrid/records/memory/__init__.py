"""Memory: what agents did in earlier sessions, in one database.

| module | responsible for |
|---|---|
| `types` | rows, what is asked of the store, and what it answers |
| `texts` | texts as the database holds them, and their digests |
| `database` | the file: opened, locked, repaired |
| `store`, `reading`, `writing` | the store; what it reads; what it writes |
| `batching` | tool uses that wait for those that follow |
| `showing` | rows as they are searched and shown |
| `exporting`, `importing`, `claude_mem` | rows as JSON Lines, and rows of other memories |
| `forgetting`, `rewriting` | what leaves the file for good; rows that newer rules for secrets mask |
"""

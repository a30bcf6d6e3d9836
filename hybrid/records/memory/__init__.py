"""Memory: what agents did in earlier sessions, in one database.

| module | responsible for |
|---|---|
| `types` | rows, what is asked of the store, its answers; texts as the database holds them, and as they are shown |
| `database` | the file: opened, locked, repaired; its rows as values |
| `store` | the store, and what it reads |
| `writing` | what it writes; tool uses that wait for those that follow |
| `transfer` | rows as JSON Lines, and rows of other memories |
| `forgetting` | what leaves the file for good; rows that newer rules for secrets mask |
"""

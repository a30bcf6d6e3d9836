"""Lore: patterns, decisions and handoffs that a project writes down on purpose, in the formats of the lore tool.

| module | responsible for |
|---|---|
| `types` | a record of each kind, as read; which records a project gets, as they are searched and shown |
| `patterns`, `json_records` | the file formats: reading within bounds, and writing so that every other byte stays |
| `store` | where lore lies, its files on disk, and the store |
| `writing` | the changes of the commands, records of another folder among them |
"""

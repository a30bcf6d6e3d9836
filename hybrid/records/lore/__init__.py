"""Lore: patterns, decisions and handoffs that a project writes down on purpose; the formats are those of the lore tool.

| module | responsible for |
|---|---|
| `folder` | where lore lies: the user's folder and the project's |
| `values` | what a record of each kind is, as read |
| `yaml_items`, `yaml_cut` | lists of records in YAML, read within bounds; what is broken is read record by record |
| `yaml_edit` | insertions and changes that keep every other byte |
| `patterns`, `decisions`, `handoffs` | one file format each: reading and writing |
| `attribution` | which project a record speaks of |
| `forms`, `eligible` | records as they are searched and shown; which of them may be given |
| `store` | reads a folder, again only what changed |
| `writing`, `duplicates` | the writes of the commands, and their guard against saying a thing twice |
| `keywords` | the ranking that serves without an index |
| `importing` | records of another folder |
"""

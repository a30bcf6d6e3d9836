"""Lore: patterns, decisions and handoffs that a project writes down on purpose, in the formats of the lore tool.

| module | responsible for |
|---|---|
| `types` | a record of each kind, as read |
| `yaml_lists` | lists of records in YAML: read within bounds, changed so that every other byte stays |
| `patterns`, `decisions`, `handoffs` | one file format each: reading and writing |
| `files` | where lore lies, and its files on disk |
| `store`, `eligible`, `writing` | the store; which records a project gets; the changes of the commands |
| `showing` | records as they are searched and shown |
| `importing` | records of another folder |
"""

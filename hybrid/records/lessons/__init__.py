"""Lessons: one short rule each, in a file that people read and edit.

| module | responsible for |
|---|---|
| `types` | a lesson, its draft, a change of it; their texts as they are stored and printed |
| `document` | the Markdown: entries and fields of a file, and changes that keep every other byte |
| `counters` | the file of counters beside it |
| `store`, `writing` | both files on disk, their lessons, the store, and what its changes are |
| `messages` | lessons and citations in what users and agents write |
| `importing` | lessons of another installation |
| `reranking` | a language model's opinion on their order |
"""

"""Lessons: one short rule each, in a file that people read and edit.

| module | responsible for |
|---|---|
| `types` | a lesson, its draft, a change of it |
| `texts` | texts in the form of the file: one line of title, bounds, no secrets |
| `parsing`, `document` | the Markdown: entries and fields of a file, and changes that keep every other byte |
| `counters` | the file of counters beside it |
| `files` | both files on disk: read together, changed as one step |
| `store`, `reading`, `writing` | the store; what it reads; what its changes are |
| `messages` | lessons and citations in what users and agents write |
| `importing` | lessons of another installation |
| `reranking` | a language model's opinion on their order |
"""

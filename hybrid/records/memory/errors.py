"""The errors of the memory; every message says what happened, with which value, and what to do next.

HybridError
├── MemoryDatabaseError    the database cannot be read or written
│   ├── MemoryBusyError        another process holds it for too long
│   ├── MemoryFormatError      a newer version wrote it
│   └── NoFullTextError        this SQLite was built without FTS5
├── MemoryImportError      a file cannot be imported
└── SinceError             a time is none of the forms that are understood
"""

from hybrid.base.errors import HybridError


class MemoryDatabaseError(HybridError):
    """The memory's database cannot be read or written; nothing was changed."""


class MemoryBusyError(MemoryDatabaseError):
    """Another process holds the memory for longer than the busy timeout."""


class MemoryFormatError(MemoryDatabaseError):
    """The memory was written by a newer version of this program."""


class NoFullTextError(MemoryDatabaseError):
    """The SQLite of this Python has no FTS5."""


class MemoryImportError(HybridError):
    """A file cannot be imported: not readable, or of an unknown form."""


class SinceError(HybridError):
    """A time is none of the forms that are understood."""

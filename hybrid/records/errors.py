"""The errors of lessons, lore and memory; a message says what happened, with which value, and what to do next.

HybridError
├── LessonsError
│   ├── UnknownLessonError     no lesson, or several, has this id
│   ├── LessonsFileError       a file is too long, no text, unreadable, or a link that leads out of the project
│   └── LessonsBusyError       another process holds the lock, or none can be had here
├── LoreError
│   ├── LoreReadError          a file cannot be read, or is larger than any file of its kind should be
│   ├── LoreWriteError         a file was left as it was
│   ├── DuplicateError         a record says nearly the same already
│   └── NoRecordError          no record of the lore has this id
├── MemoryDatabaseError        the database cannot be read or written
│   ├── MemoryBusyError        another process holds it for too long
│   ├── MemoryFormatError      a newer version wrote it
│   └── NoFullTextError        this SQLite was built without FTS5
├── MemoryImportError          a file cannot be imported
└── SinceError                 a time is none of the forms that are understood
"""

from __future__ import annotations

from hybrid.base.errors import HybridError


class LessonsError(HybridError):
    """Base of every error of lessons; itself for a value that no lesson can have, or a change that makes no sense."""


class UnknownLessonError(LessonsError):
    """No lesson has this id, or several have it, so that it names none."""


class LessonsFileError(LessonsError):
    """A file of lessons cannot be read or written as it is."""


class LessonsBusyError(LessonsError):
    """The lock of a store of lessons cannot be had, or its file changes all the time."""


class LoreError(HybridError):
    """Base of every error of lore."""


class LoreReadError(LoreError):
    """A file of lore cannot be read, or is larger than any file of its kind should be."""


class LoreWriteError(LoreError):
    """A file of lore could not be changed safely; it is as it was."""


class DuplicateError(LoreError):
    """A record of this kind says nearly the same already."""


class NoRecordError(LoreError):
    """No record of the lore has this id."""


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
    """The text of a time has none of the forms that are understood."""

"""The kinds of knowledge, a row each; and the values and errors that all stores of records share.

A message of an error says what happened, with which value, and what to do.

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
└── MemoryImportError          a file cannot be imported
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from hybrid.base.errors import HybridError
from hybrid.types import FILE_KINDS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class Kind(Struct, frozen=True):
    """A kind of knowledge.

    Attributes:
        name: As commands and indexes say it. The section of this name in the settings holds its floor, its rates and
            its share of an injection.
        hits: The kinds of its hits, as the index stores them.
        word: The word for all of its hits in the frame; empty for the kind of each hit.
        is_of_trees: Each working tree has records and an index of its own.
        n_considered: Hits of a search that a prompt looks at. Where each is judged by itself, a low rank must not hide
            a fitting one; else what fits a budget is seldom more than ten.
    """

    name: str
    hits: tuple[str, ...]
    word: str = ""
    is_of_trees: bool = False
    n_considered: int = 30

    def read(self, folder: Path) -> Sequence[Record]:
        """Return the records of a kind that has no store of its own, by `hybrid.records.NAME.read`.

        Args:
            folder: `.hybrid` of a working tree that its owner accepted.
        """
        return import_module(f"hybrid.records.{self.name}").read(folder)


KINDS = {
    kind.name: kind
    for kind in (
        Kind("files", FILE_KINDS),
        Kind("lessons", ("lesson",), is_of_trees=True, n_considered=100),
        Kind("lore", ("pattern", "anti-pattern", "decision", "handoff"), is_of_trees=True, n_considered=100),
        Kind("memory", ("observation", "summary"), word="memory"),
    )
}
"""Name → kind, in the order in which they are shown. An index stores places in `HIT_KINDS`: a new one is the last."""
HIT_KINDS = tuple(hit for kind in KINDS.values() for hit in kind.hits)
"""The kinds of hits of all kinds."""
if TYPE_CHECKING:
    HitKind = str
else:
    HitKind = Literal[HIT_KINDS]
KIND_OF_HIT = {hit: kind for kind in KINDS.values() for hit in kind.hits}
OF_TREES = tuple(kind.name for kind in KINDS.values() if kind.is_of_trees)
"""The kinds of records of which each working tree has an index."""
OF_RECORDS = tuple(name for name in KINDS if name != "files")


def hits_named(name: str) -> tuple[str, ...]:
    """Return the kinds of hits that a name means, that of a kind or of a kind of hits."""
    return KINDS[name].hits if name in KINDS else (name,)


_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class Record(Struct, frozen=True):
    """A record that may be given out.

    Attributes:
        kind: One of `HIT_KINDS`, but for those of files.
        id: Unique within its kind, as its users write it (`L001`, `pat-…`, `dec-…`, `anti-…`, `session-…`);
            in the memory `o42`, `s7`.
        name: Title of the record; may be empty.
        text: All other text that is searched: situation, rule, reason, tags, in lines.
        shown: Text after the kind on the header line in the frame, without any score: `L001 Git commit format`.
        lines: Body lines in the frame.
        triggers: Words that name the record although its title does not hold them.
        created_at: ISO date or time; empty when unknown.
        project: Name or key of the project that the record is attributed to; empty for none.
        is_attributed: True if the record names a project, or is of a kind that belongs to every project.
    """

    kind: str
    id: str
    name: str
    text: str
    shown: str
    lines: tuple[str, ...]
    triggers: tuple[str, ...] = ()
    created_at: str = ""
    project: str = ""
    is_attributed: bool = True

    @property
    def key(self) -> str:
        """`kind:id`, unique among all records of a store."""
        return f"{self.kind}:{self.id}"


class Problem(Struct, frozen=True):
    """A place in a record file that is not read as its writer may have meant.

    Attributes:
        file: Path of the file.
        line: Number of the line from 1; 0 for the whole file.
        message: The mistake, and what to do.
    """

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}" if self.line else f"{self.file}: {self.message}"


def well_formed(text: str) -> str:
    """Return a text with U+FFFD for every lone surrogate: a byte that is not UTF-8, or half of an escaped pair."""
    return text if text.isascii() else _LONE_SURROGATE.sub("\ufffd", text)


_SUPERSEDED = re.compile(
    r"(?:^|[\[(:;.!?\u2013\u2014]|\s-|~~)[\s*_]*superseded[ \t]+by\b[\s*_:`\[]*([\w#][^\s\])*`,;]*)", re.IGNORECASE
)
"""At the beginning of a title, in brackets, behind a dash or as a sentence of its own: "Non-superseded by" is none."""
_ARTICLES, _NOTHING = ("the", "a", "an", "our"), ("none", "nothing", "no", "nobody")
"""Words behind "Superseded by": before a record that is described, and for none. Any other plain word names one only at
the end, since a title may be about what supersedes what."""


def superseding(title: str) -> str:
    """Return the first word of the record that the first line of a title names in "Superseded by …"; empty without."""
    line = title.strip().partition("\n")[0]
    found = _SUPERSEDED.search(line)
    if found is None:
        return ""
    word, rest = found[1].rstrip(".:"), line[found.end() :].lstrip("*_~` ")
    is_record = not word.isalpha() or word.lower() in _ARTICLES or rest[:1] in ("", ")", "]", ".", ";", ",", ":")
    return word if is_record and word.lower() not in _NOTHING else ""


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

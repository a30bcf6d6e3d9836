"""The values that all stores of records share: a record as it is indexed and shown, and what could not be read."""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

RecordKind = Literal["lesson", "pattern", "anti-pattern", "decision", "handoff", "observation", "summary"]

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class Record(Struct, frozen=True):
    """A record that may be given out.

    Attributes:
        kind: `lesson`, `pattern`, `anti-pattern`, `decision`, `handoff`, `observation` or `summary`.
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

    kind: RecordKind
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

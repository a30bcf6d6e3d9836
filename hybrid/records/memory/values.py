"""What the store answers with besides rows: counts of what was stored, forgotten, imported."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from hybrid.records.memory.types import Extracted, PendingEvent
from hybrid.records.types import Problem

Make = Callable[[Sequence[PendingEvent], str], Extracted | None]
"""Turns a batch of tool uses and the text of its prompt (empty before the first) into what is told of them.

None when they tell nothing. What it raises is reported and costs nothing but a good title.
"""


class Flushed(Struct, frozen=True):
    """What became of pending batches.

    Attributes:
        n: Batches that are pending no more: stored, counted as repeats, or dropped as telling nothing.
        failures: One line for each batch whose extractor raised; it is stored under its tool's name.
    """

    n: int
    failures: tuple[str, ...] = ()


class Forgotten(Struct, frozen=True):
    """What was forgotten.

    Attributes:
        n: Rows: observations, summaries, prompts and sessions.
        is_wiped: The text is out of the file and its log too. False when another process was reading all the time:
            the next forgetting, or the last process that closes the memory, does it.
    """

    n: int
    is_wiped: bool


class Imported(Struct, frozen=True):
    """What an import brought, or would bring when it was tried only.

    Attributes:
        n_sessions: New ones; so for the others.
        n_prompts: New prompts.
        n_observations: New observations.
        n_summaries: New summaries.
        n_duplicates: Rows that were there already.
        n_forgotten: Rows that somebody wanted forgotten, which do not come back.
        problems: What could not be read, with its line or row; the first hundred.
        n_unread: Lines or rows that could not be read.
    """

    n_sessions: int = 0
    n_prompts: int = 0
    n_observations: int = 0
    n_summaries: int = 0
    n_duplicates: int = 0
    n_forgotten: int = 0
    problems: tuple[Problem, ...] = ()
    n_unread: int = 0


class ProjectCount(Struct, frozen=True):
    """How many observations and summaries a project has."""

    key: str
    project: str
    n_observations: int
    n_summaries: int


class MemoryStats(Struct, frozen=True):
    """What the memory holds.

    Attributes:
        n_sessions: Sessions; so for the other counts.
        n_observations: Observations.
        n_summaries: Summaries.
        n_prompts: Prompts.
        n_pending: Tool uses that wait for their batch to end.
        by_type: Observations of each type that occurs, in the order of the types.
        by_project: Most observations first.
        oldest_ms: Time of the oldest observation or summary, None without any.
        newest_ms: Of the newest.
        size_bytes: Of the file and its log.
    """

    n_sessions: int
    n_observations: int
    n_summaries: int
    n_prompts: int
    n_pending: int
    by_type: Mapping[str, int]
    by_project: tuple[ProjectCount, ...]
    oldest_ms: int | None
    newest_ms: int | None
    size_bytes: int


NO_STATS = MemoryStats(0, 0, 0, 0, 0, {}, (), None, None, 0)

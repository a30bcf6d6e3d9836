"""The ranking that serves while there is no index: words in common, then what is newest; pure.

The engine calls it with the records that may be given; it knows no gate and no floor.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hybrid.records.lessons.scoring import STOP_WORDS
from hybrid.records.lore.times import seconds_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hybrid.records.types import Record

MAX_WORDS = 8
MIN_LETTERS = 3
MAX_DECISIONS = 3

_WORD = re.compile(r"[^\W_]+")


def keywords(prompt: str) -> tuple[str, ...]:
    """The first eight words of a prompt that count, each once: lower case, three letters or more, no stop words."""
    words = (word for word in _WORD.findall(prompt.lower()) if len(word) >= MIN_LETTERS and word not in STOP_WORDS)
    return tuple(dict.fromkeys(words))[:MAX_WORDS]


def rank_by_keywords(prompt: str, records: Sequence[Record]) -> list[Record]:
    """Records in the order in which they are offered without an index.

    Args:
        prompt: What the user typed.
        records: That may be given; any order.

    Returns:
        Patterns and anti-patterns with at least one of the keywords, those with most first, equal ones in the order
        given; then the three newest decisions that are attributed to the project, then its latest handoff. A prompt
        without keywords gets nothing.
    """
    words = keywords(prompt)
    if not words:
        return []
    patterns = [record for record in records if record.kind in ("pattern", "anti-pattern")]
    matches = {record.key: n_matches(words, record) for record in patterns}
    matched = sorted((one for one in patterns if matches[one.key]), key=lambda one: -matches[one.key])
    return [*matched, *_newest(records, "decision")[:MAX_DECISIONS], *_newest(records, "handoff")[:1]]


def n_matches(words: Sequence[str], record: Record) -> int:
    """How many of the words stand in a record as whole words."""
    present = set(_WORD.findall(f"{record.name}\n{record.text}".lower()))
    return sum(word in present for word in words)


def _newest(records: Sequence[Record], kind: str) -> list[Record]:
    own = [record for record in records if record.kind == kind and record.is_attributed]
    return sorted(own, key=lambda record: -seconds_of(record.created_at))

"""Finds the earlier observation that a new one repeats; asked before every store.

What repeats is counted, not stored. Titles that differ in a number, an error code or a word of outcome are never the
same, however much else they share: `… 2 failed` and `… 3 failed` are two observations.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hybrid.records.memory.texts import content_digest, from_json
from hybrid.records.memory.types import Extracted

if TYPE_CHECKING:
    import sqlite3

REPEAT_WINDOW_MS = 3_600_000
NEWEST_ROWS = 20
MIN_OVERLAP = 0.8
"""The share of common title tokens above which, not at which, two titles are the same."""

_PUNCTUATION = re.compile(r"[^\w\s]")
_NUMBER = re.compile(r"(?<!\w)[-−]?\d+(?:[.,:]\d+)*(?:%|[a-zA-Zµ]{1,3})?(?!\w)|\b[A-Z]{1,4}-?\d{2,}\b")
_WORD = re.compile(r"[^\W\d_]+")
_TELLING = frozenset(
    "pass passes passed passing fail fails failed failing failure failures ok okay error errors errored succeed "
    "succeeds succeeded success successful timeout timed crash crashes crashed abort aborted killed panic panicked "
    "broken works working fixed green red found missing empty nothing none no not never without cannot revert reverts "
    "reverted undo add adds added remove removes removed delete deletes deleted enable enables enabled disable "
    "disables disabled true false on off allow allows allowed deny denies denied refuse refuses refused increase "
    "decrease raise lower".split()
)
"""Words of which one says the contrary of another: how something ended, and in which direction it went."""


def title_tokens(title: str) -> frozenset[str]:
    """The words of a title in lower case without punctuation."""
    return frozenset(_PUNCTUATION.sub("", title.lower()).split())


def overlap(tokens: frozenset[str], others: frozenset[str]) -> float:
    """Jaccard index of two sets in [0, 1]; 0 when both are empty."""
    together = len(tokens | others)
    return len(tokens & others) / together if together else 0.0


def is_repeat(told: Extracted, earlier: Extracted) -> bool:
    """Return whether one observation says what an earlier one said; both are clean.

    Titles without a word are compared by all that is told.
    """
    if not _is_same_title(told.title, earlier.title):
        return False
    if not title_tokens(told.title):
        return content_digest(told) == content_digest(earlier)
    return frozenset(told.files) == frozenset(earlier.files)


def find_repeated(db: sqlite3.Connection, key: str, told: Extracted, created_ms: int) -> int | None:
    """Id of the first of the project's newest rows of the last hour that the observation repeats."""
    rows = db.execute(
        "SELECT id, title FROM observations "
        "WHERE project_key = ? AND created_at_epoch BETWEEN ? AND ? ORDER BY created_at_epoch DESC, id DESC LIMIT ?",
        (key, created_ms - REPEAT_WINDOW_MS, created_ms + REPEAT_WINDOW_MS, NEWEST_ROWS),
    ).fetchall()
    for identity, title in reversed(rows):
        # The rest is read of the few whose title says the same.
        if _is_same_title(told.title, title) and is_repeat(told, _told(db, identity)):
            return identity
    return None


def _told(db: sqlite3.Connection, identity: int) -> Extracted:
    row = db.execute(
        "SELECT type, title, subtitle, narrative, facts, concepts, files_read, files_modified FROM observations "
        "WHERE id = ?",
        (identity,),
    ).fetchone()
    return Extracted(*row[:4], *map(from_json, row[4:]))


def _is_same_title(title: str, earlier: str) -> bool:
    """Two titles without a word are the same title; otherwise their words and what tells them apart count."""
    tokens, others = title_tokens(title), title_tokens(earlier)
    if not tokens and not others:
        return True
    return overlap(tokens, others) > MIN_OVERLAP and _telling(title) == _telling(earlier)


def _telling(title: str) -> tuple[list[str], list[str]]:
    """Numbers and codes of a title, and its words of outcome, in their order."""
    return _NUMBER.findall(title), [word for word in _WORD.findall(title.lower()) if word in _TELLING]

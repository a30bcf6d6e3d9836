"""Ranks what the memory keeps: a sum of named parts, `hybrid memory … --explain` shows them.

    score = recency + type + similarity + file_overlap + same_project + repetition

Without a query the newest are ranked by the plain sum. With one, its hits are: similarity leads, and the other parts
together are scaled down to at most `OTHERS_AT_MOST`, so that what is merely recent never overrules what fits. What
repeats a better hit steps back: ten runs of one test would otherwise hide the edit that made it pass.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import asdict, replace

from hybrid.records.memory.types import Observation

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from hybrid.records.memory.types import Row

_DAY_MS = 86_400_000.0

TYPE_WORTH = {"decision": 0.8, "bugfix": 0.7, "discovery": 0.6, "feature": 0.5, "refactor": 0.4}
"""What an observation is worth for its type; any other has `OTHER_TYPE`.

Chosen by hand, as are the weights below. With a query they only order what fits about equally well: see
`OTHERS_AT_MOST`.
"""
OTHER_TYPE = 0.3

CONCEPT_WEIGHT = 0.5
"""Added to the similarity of a row that has all concepts asked for: half of what a hit can have without."""
SAME_PROJECT = 0.1
"""Beside it, rows of the present project get places of their own where a query finds few of them (decision 42)."""

OTHERS_AT_MOST = 0.3
"""Largest sum of all parts but similarity, in a score with a query."""
# Divided by the largest sum that these parts can have: recency 1, the best type, all files, the same project.
_OTHERS = OTHERS_AT_MOST / (1.0 + max(TYPE_WORTH.values()) + 1.0 + SAME_PROJECT)

REPETITION = 0.5
"""Share of its similarity that a hit loses when its title has the same words as that of a better one, so that what fits
twice as well is never behind. Chosen on judged questions; 0.5 to 0.7 serve equally well."""
SPREAD = 20
"""Number of best hits that are chosen one after the other; those below are compared with these alone."""

_WORD = re.compile(r"\w+")

_ASKED = {
    concept: re.compile(pattern, re.IGNORECASE)
    for concept, pattern in {
        "how-it-works": r"\bhow[- ]it[- ]works\b",
        "why-it-exists": r"\bwhy[- ]it[- ]exists\b",
        "what-changed": r"\bwhat[- ]changed\b",
        "problem-solution": r"\bproblem[- ]solution\b|\bworkarounds?\b",
        "gotcha": r"\bgotchas?\b|\bpitfalls?\b",
        "pattern": r"\bdesign patterns?\b|\bcoding conventions?\b",
        "trade-off": r"\btrade-?offs?\b",
    }.items()
}


class Parts(Struct, frozen=True):
    """The parts of a score, which is their sum.

    Attributes:
        recency: In (0, 1]; scaled with a query, as are all but `similarity`.
        type: By `TYPE_WORTH`.
        similarity: In [0, 1.5]; 0 without a query.
        file_overlap: In [0, 1].
        same_project: `SAME_PROJECT` or 0.
        repetition: 0 or less, at most `REPETITION` of the similarity; 0 without a query.
    """

    recency: float
    type: float
    similarity: float
    file_overlap: float
    same_project: float
    repetition: float = 0.0

    @property
    def score(self) -> float:
        """The sum of the parts."""
        worth = self.recency + self.type + self.similarity + self.file_overlap + self.same_project
        return worth + self.repetition

    def as_json(self) -> dict[str, float]:
        """Return name → value of each part, rounded to four digits."""
        return {name: round(value, 4) + 0.0 for name, value in asdict(self).items()}  # Without a minus before 0.


def recency(created_ms: int, now_ms: int, half_life_days: float) -> float:
    """Return 0.5^(age / half-life), in (0, 1]: 1 now and for times to come, 0.5 after one half-life.

    Args:
        created_ms: Time of creation, milliseconds since 1970.
        now_ms: The present time, milliseconds since 1970.
        half_life_days: Above 0; fractions are allowed.
    """
    age_days = max(now_ms - created_ms, 0) / _DAY_MS
    return float(0.5 ** (age_days / half_life_days))


def file_overlap(theirs: Collection[str], present: Collection[str]) -> float:
    """Return the share of an observation's files that are among the present ones, in [0, 1]; 0 when either is empty."""
    files = set(theirs)
    return len(files.intersection(present)) / len(files) if files and present else 0.0


def asked_concepts(query: str) -> frozenset[str]:
    """Return the concepts that a query asks for by name; empty for none.

    Everyday words do not count: who asks why a test failed wants that test, not whatever failed or has a reason.
    """
    return frozenset(concept for concept, pattern in _ASKED.items() if pattern.search(query))


def concept_overlap(theirs: Collection[str], asked: Collection[str]) -> float:
    """Return the share of the concepts asked for that an observation has, in [0, 1]; 0 when none is asked for."""
    return len(set(asked).intersection(theirs)) / len(set(asked)) if asked else 0.0


class RankedRow(Struct, frozen=True):
    """A row of the memory with the parts of its rank, which are None where nothing was ranked (a timeline)."""

    row: Row
    parts: Parts | None = None


class Present(Struct, frozen=True):
    """The point from which the memory is looked at: time, project and files.

    Attributes:
        now_ms: The present time, milliseconds since 1970.
        key: Key of the present project; empty for none.
        files: Project-relative paths that the present session touched.
        half_life_days: Half-life of recency, above 0.
    """

    now_ms: int
    key: str
    files: Sequence[str]
    half_life_days: float


def parts_of(row: Row, present: Present, *, relevance: float | None = None, asked: Collection[str] = ()) -> Parts:
    """Return the parts of a row's score, without repetition; a summary has neither files nor concepts.

    Args:
        row: The row to be ranked.
        present: The point from which the memory is looked at.
        relevance: Relevance of the row for a query, in [0, 1]; None without a query.
        asked: Concepts that the query asks for.
    """
    kind, files, concepts = "summary", (), ()
    if isinstance(row, Observation):
        kind, files, concepts = row.told.type, row.told.files, row.told.concepts
    scale = 1.0 if relevance is None else _OTHERS
    similarity = 0.0 if relevance is None else relevance + CONCEPT_WEIGHT * concept_overlap(concepts, asked)
    return Parts(
        scale * recency(row.created_ms, present.now_ms, present.half_life_days),
        scale * TYPE_WORTH.get(kind, OTHER_TYPE),
        similarity,
        scale * file_overlap(files, present.files),
        scale * (SAME_PROJECT if row.owner.key == present.key and present.key else 0.0),
    )


def spread(ordered: Sequence[tuple[Parts, str]]) -> list[tuple[int, Parts]]:
    """Order hits so that the first ones repeat each other least, and note what each loses by repetition.

    The next one is always that with the highest score less `REPETITION` times its similarity times the likeness
    (Jaccard, of the words of titles) to the likest one before it: maximal marginal relevance, Carbonell and Goldstein,
    SIGIR 1998. Scores fall along the result.

    Args:
        ordered: Parts and title of each hit, best first; without a title a hit repeats nothing.

    Returns:
        For each hit, in the new order: place in `ordered`, and parts with `repetition`.
    """
    words = _word_sets([title for _, title in ordered])
    scores = [parts.score for parts, _ in ordered]
    most = [REPETITION * parts.similarity for parts, _ in ordered]
    loss = [0.0] * len(ordered)
    left, found = list(range(len(ordered))), list[int]()
    while left and len(found) < SPREAD:
        best = max(left, key=lambda place: (scores[place] - loss[place], -place))
        left.remove(best)
        found.append(best)
        for place in left:
            shared = (words[place] & words[best]).bit_count()
            if shared:
                likeness = shared / (words[place] | words[best]).bit_count()
                loss[place] = max(loss[place], most[place] * likeness)
    found += sorted(left, key=lambda place: (loss[place] - scores[place], place))
    return [(place, replace(ordered[place][0], repetition=-loss[place])) for place in found]


def _word_sets(titles: Sequence[str]) -> list[int]:
    """Return the words of each title as bits, one for each distinct word; Python's sets take five times as long."""
    bits: dict[str, int] = {}
    found: list[int] = []
    for title in titles:
        words = 0
        for word in _WORD.findall(title.lower()):
            words |= 1 << bits.setdefault(word, len(bits))
        found.append(words)
    return found

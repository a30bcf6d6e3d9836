"""Scores lessons and lore against a query by BM25 on an integer scale, without an index or a model.

Pure arithmetic over words. `hybrid lessons score` shows it, and it serves searches by hand; what is injected is ranked
by `hybrid.search`.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from typing import TYPE_CHECKING, Generic, TypeVar

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet


K1 = 1.5
B = 0.75
TRIGGER_WEIGHT = 3
"""Number of times that each word of a trigger counts, since people chose it to find the lesson by."""

MAX_QUERY_CHARS = 5_000
MAX_RELEVANCE = 10

# Spoken of a rule, "not", "no", "never", "must", "need", "before", "after", "which" carry its meaning: they are kept.
STOP_WORDS = frozenset(
    "a an the "
    "am is are was were be been being do does did doing done has have had having can could may might "
    "shall should will would ought "
    "about above across against along among around as at behind below beneath beside between beyond by down during for "
    "from in into of off on onto out over per through to toward towards under until up upon via with within "
    "i me my mine myself you your yours yourself yourselves he him his himself she her hers herself it its itself "
    "we us our ours ourselves they them their theirs themselves this that these those "
    "how what when where who whom whose why "
    "and but if nor or so than then".split()
)

_WORD = re.compile(r"(?:[a-z0-9]|[^\W\d_])+")
_ID = re.compile(r"([A-Za-z]*)([0-9]{1,18})")


class Scorable(Struct, frozen=True):
    """The part of a lesson that is scored.

    Attributes:
        id: `L001`, `S012`.
        title: One line, without mark of its source.
        content: The rule, in lines; may be empty.
        triggers: Words that name the lesson although its text does not hold them.
        uses: Citations that count, 0 or more.
    """

    id: str
    title: str
    content: str
    triggers: tuple[str, ...] = ()
    uses: int = 0


LessonT = TypeVar("LessonT", bound=Scorable)


class Scored(Struct, Generic[LessonT], frozen=True):
    """A lesson with its scores for one query.

    Attributes:
        lesson: The lesson.
        bm25: Score in [0, ∞); 0 when the lesson holds no term of the query.
        relevance: 0 without a common term, else 1 to 10.
    """

    lesson: LessonT
    bm25: float
    relevance: int


class LessonScorer(Generic[LessonT]):
    """The statistics of a list of lessons, so that a query costs only the lessons that hold its terms.

    Args:
        lessons: In any order.
        earlier: A scorer of much the same lessons, whose counts of words are used again; None for none.
    """

    def __init__(self, lessons: Sequence[LessonT], earlier: LessonScorer[LessonT] | None = None) -> None:
        # Ordered as equal scores are: a stable sort by score alone is then all that a query needs.
        self._lessons = sorted(lessons, key=lambda lesson: (-lesson.uses, id_key(lesson.id)))
        known: dict[str, dict[str, int]] = earlier._counted if earlier else {}
        texts = [searched_text(lesson) for lesson in self._lessons]
        self._counted = {text: known.get(text) or dict(Counter(tokens(text))) for text in texts}
        self._counts = [self._counted[text] for text in texts]
        self._lengths = [sum(count.values()) for count in self._counts]
        self._mean_length = sum(self._lengths) / len(self._lengths) if self._lengths else 0.0
        self._postings: dict[str, list[tuple[int, float]]] = {}

    def score(self, query: str) -> list[Scored[LessonT]]:
        """Return every lesson with its score, by bm25 descending, then uses descending, then id.

        A term that the query repeats counts repeatedly. A query without telling words gives every lesson 0.

        Args:
            query: Any text; its first 5,000 characters count.
        """
        found = self._bm25(query)
        rest = [Scored(lesson, 0.0, 0) for row, lesson in enumerate(self._lessons) if row not in found]
        return self._first(found) + rest

    def best(self, query: str, *, top_k: int, min_relevance: int = 1) -> list[Scored[LessonT]]:
        """Return the first `top_k` of `score` with at least that relevance, without making the others."""
        if min_relevance <= 0:
            return self.score(query)[:top_k]
        return [hit for hit in self._first(self._bm25(query), top_k) if hit.relevance >= min_relevance]

    def relevances(self, query: str) -> dict[str, int]:
        """Return id → relevance, 1 to 10, of lessons that hold a term of the query; of two with one id the higher."""
        found: dict[str, int] = {}
        for row, bm25 in self._bm25(query).items():
            name = self._lessons[row].id
            found[name] = max(relevance(bm25), found.get(name, 0))
        return found

    def _first(self, found: dict[int, float], top_k: int | None = None) -> list[Scored[LessonT]]:
        """Return the lessons of `_bm25`, the best first, or the first `top_k` of them."""
        rows = sorted(sorted(found), key=lambda row: -found[row])[:top_k]
        return [Scored(self._lessons[row], found[row], relevance(found[row])) for row in rows]

    def _bm25(self, query: str) -> dict[int, float]:
        """Return row → bm25 of the lessons that hold a term of the query."""
        found: dict[int, float] = {}
        for term, n in Counter(tokens(query[:MAX_QUERY_CHARS])).items():
            for row, weight in self._weighed(term):
                found[row] = found.get(row, 0.0) + n * weight
        return found

    def _weighed(self, term: str) -> list[tuple[int, float]]:
        """Return rows of the lessons that hold a term, each with what one occurrence in the query adds to its bm25.

        Source: Robertson, Zaragoza, The Probabilistic Relevance Framework (2009); the IDF with + 1 is never negative.
        """
        known = self._postings.get(term)
        if known is not None:
            return known
        rows = [(row, count[term]) for row, count in enumerate(self._counts) if term in count]
        idf = math.log((len(self._counts) - len(rows) + 0.5) / (len(rows) + 0.5) + 1)
        found = [
            (row, idf * n * (K1 + 1) / (n + K1 * (1 - B + B * self._lengths[row] / self._mean_length)))
            for row, n in rows
        ]
        if found:  # What queries ask in vain is not kept: a service would collect every word ever typed.
            self._postings[term] = found
        return found


def tokens(text: str) -> list[str]:
    """Return the words of a text that tell something, in order: lower case, no stop words, at least two characters.

    Everything but letters of any script and the digits 0 to 9 separates words; nothing is stemmed.
    """
    lower = text.lower()
    if not lower.isascii():
        lower = unicodedata.normalize("NFC", lower)
    return [word for word in _WORD.findall(lower) if len(word) > 1 and word not in STOP_WORDS]


def searched_text(lesson: Scorable) -> str:
    """Return the text that a lesson is found by: title, content, and each trigger three times."""
    parts = [lesson.title, lesson.content, *(trigger for trigger in lesson.triggers for _ in range(TRIGGER_WEIGHT))]
    return "\n".join(parts)


def relevance(bm25: float) -> int:
    """Return the relevance for a bm25: 0 for 0, else twice the bm25 rounded half up, within 1 to 10."""
    if bm25 <= 0:
        return 0
    return min(max(int(2 * min(bm25, MAX_RELEVANCE) + 0.5), 1), MAX_RELEVANCE)


def jaccard(a: AbstractSet[str], b: AbstractSet[str]) -> float:
    """Return the share of common terms among all terms of two sets, in 0 to 1; 0 when both are empty."""
    union = len(a | b)
    return len(a & b) / union if union else 0.0


def said_words(title: str, content: str) -> frozenset[str]:
    """Return the telling words of a lesson; two whose `jaccard` is above 0.8 say nearly the same."""
    return frozenset(tokens(f"{title}\n{content}"))


def id_key(lesson_id: str) -> tuple[str, int, str]:
    """Return the sort key of an id, which puts `L999` before `L1000`; ids of another form sort as texts."""
    match = _ID.fullmatch(lesson_id)
    return (match.group(1), int(match.group(2)), lesson_id) if match else (lesson_id, 0, lesson_id)

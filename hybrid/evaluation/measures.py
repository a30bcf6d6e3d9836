"""Measures of rankings, named as in ir_measures; plain arithmetic over passages, called by `retrieval`.

A ranking is of passages (chunks). The measures of `NAMES` are in [0, 1] and better when higher; `TOKENS` is a cost.
"""

from __future__ import annotations

import math
from statistics import median
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

DEPTH = 10
NAMES = ("nDCG@10", "R@5", "R@10", "RR@10", "Success@1")
"""The names of the measures. nDCG@10 counts chunks; the others count files, each file at its best chunk.
Success@1 is also called hit@1."""
TOKENS = "tokens"
"""The name of the cost: tokens that an agent reads until the first hit, see `tokens_to_hit`; better when lower."""
MEASURES = (*NAMES, TOKENS)
CHARS_PER_TOKEN = 4
"""Characters of a token of a large language model, roughly, in English and in code."""


class FilePassage(Struct, frozen=True):
    """Lines of a file, 1-based and inclusive; without lines it stands for the whole file."""

    path: str
    start_line: int | None = None
    end_line: int | None = None

    def hits(self, target: FilePassage) -> bool:
        """Return whether both are of one file and, where both have lines, share a line."""
        if self.path != target.path:
            return False
        ends = (self.start_line, self.end_line, target.start_line, target.end_line)
        if any(end is None for end in ends):
            return True
        start, end, wanted_start, wanted_end = (end or 0 for end in ends)
        return start <= wanted_end and wanted_start <= end


def target_ranks(
    ranking: Sequence[FilePassage], targets: Iterable[FilePassage], *, depth: int = DEPTH
) -> list[int | None]:
    """Return for each target the rank, from 1, of its first hit; None without one among the first `depth` passages."""
    top = ranking[:depth]
    return [next((rank for rank, passage in enumerate(top, 1) if passage.hits(target)), None) for target in targets]


def ndcg(ranks: Sequence[int | None], *, depth: int = DEPTH) -> float:
    """Return the normalised discounted cumulative gain with binary gain, in [0, 1].

    Two targets first hit by one passage fill one rank, so such a ranking cannot reach 1. The ideal has
    min(depth, number of targets) hits on top. No targets give 0.

    Args:
        ranks: One per target, as `target_ranks` gives them.
        depth: Ranks beyond it count nothing.

    Source: Järvelin, Kekäläinen (TOIS 2002), with 1 / log2(rank + 1); the rule for shared ranks is that of the
    semble benchmark.
    """
    filled = {rank for rank in ranks if rank is not None and rank <= depth}
    ideal = sum(_discount(rank) for rank in range(1, min(depth, len(ranks)) + 1))
    return sum(_discount(rank) for rank in sorted(filled)) / ideal if ideal else 0.0


def _discount(rank: int) -> float:
    return 1 / math.log2(rank + 1)


def files_of(passages: Iterable[FilePassage]) -> list[FilePassage]:
    """Return the files of passages in order of first appearance, each once, as passages without lines."""
    return [FilePassage(path) for path in dict.fromkeys(passage.path for passage in passages)]


def recall(ranks: Sequence[int | None], *, depth: int) -> float:
    """Return the share of the targets whose rank is at most `depth`; 0 without targets."""
    return sum(rank is not None and rank <= depth for rank in ranks) / len(ranks) if ranks else 0.0


def reciprocal_rank(ranks: Iterable[int | None]) -> float:
    """Return 1 / the best rank; 0 when there is no rank."""
    return 1 / min((rank for rank in ranks if rank is not None), default=math.inf)


def tokens_to_hit(
    ranking: Sequence[FilePassage], targets: Sequence[FilePassage], n_chars: Sequence[int], *, depth: int = DEPTH
) -> float:
    """Return the tokens of the passages down to the first that hits a target, that one included; of all if none does.

    Args:
        ranking: Best first.
        targets: Passages that answer the query.
        n_chars: Characters of each passage of the ranking, at least of its first `depth`.
        depth: Passages that are read at most.
    """
    top = ranking[:depth]
    hits = (place for place, passage in enumerate(top, 1) if any(passage.hits(target) for target in targets))
    return sum(n_chars[: next(hits, len(top))]) / CHARS_PER_TOKEN


def score(ranking: Sequence[FilePassage], targets: Sequence[FilePassage]) -> dict[str, float]:
    """Return the measures `NAMES` of one query's ranking."""
    of_files = target_ranks(files_of(ranking), files_of(targets))
    return {
        "nDCG@10": ndcg(target_ranks(ranking, targets)),
        "R@5": recall(of_files, depth=5),
        "R@10": recall(of_files, depth=10),
        "RR@10": reciprocal_rank(of_files),
        "Success@1": float(1 in of_files),
    }


def mean_of(scores: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each measure; NaN for no scores."""
    if not scores:
        return dict.fromkeys(NAMES, math.nan)
    return {name: math.fsum(score[name] for score in scores) / len(scores) for name in NAMES}


def summary_of(scores: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each measure of `NAMES`, and the mean and median of the tokens; NaN for no scores.

    Args:
        scores: One mapping a query, with each of `MEASURES`.
    """
    tokens = [score[TOKENS] for score in scores] or [math.nan]
    return mean_of(scores) | {"tokens_mean": math.fsum(tokens) / len(tokens), "tokens_median": median(tokens)}

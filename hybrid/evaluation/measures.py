"""Judged queries, as their files have them, and measures of rankings against them, named as in ir_measures.

What is read is JSON Lines; the measures are plain arithmetic over passages, called by `retrieval`. A ranking is of
passages (chunks). The measures of `NAMES` are in [0, 1] and better when higher; `TOKENS` is a cost.
"""

from __future__ import annotations

import json
import math
from statistics import median
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from hybrid.base.errors import HybridError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import TypeVar

    T = TypeVar("T")


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


# --- judged queries --------------------------------------------------------------------------------------


class QrelsError(HybridError):
    """A file of judgements cannot be read, or does not have the form it should have."""


class JudgedQuery(Struct, frozen=True):
    """A query and what answers it.

    Attributes:
        id: Id, unique in its file.
        repo: Name of the repository that is searched.
        text: The query as it is asked.
        category: symbol, semantic, architecture, task, …; empty when the file says none.
        language: Language of the repository; empty when the file says none.
        targets: At least one; all weigh the same.
        held_out: Lines that must not be searched when the query is asked, since it was made of them.
        known_at: A commit: this one and those before it may tell about files; empty when no commit may.
    """

    id: str
    repo: str
    text: str
    category: str
    language: str
    targets: tuple[FilePassage, ...]
    held_out: tuple[FilePassage, ...] = ()
    known_at: str = ""


def read_queries(path: Path) -> list[JudgedQuery]:
    """Return the queries of a JSONL file, `{id, repo, query, category?, language?, known_at?, gold: [{path, …}]}`.

    Raises:
        QrelsError: The file cannot be read, a line is not of this form, or an id stands twice.
    """
    return unique(path, read_lines(path, query_of), lambda query: query.id)


def read_roots(path: Path) -> dict[str, str]:
    """Return repository → the folder that comparable figures index, empty for all of it, from a manifest's `repos`.

    Raises:
        QrelsError: The file cannot be read or has another form.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return {repo["name"]: (repo.get("benchmark_root") or "").strip("/") for repo in data["repos"]}
    except OSError as error:
        raise QrelsError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise QrelsError(f"{path} is no manifest of repositories ({error!r}); expected repos[].name") from error


def query_of(fields: Mapping[str, Any]) -> JudgedQuery:
    """Return the query of one line.

    Raises:
        KeyError: A field that every query has is missing.
        ValueError: The query has no target.
    """
    targets = tuple(_target(target) for target in fields["gold"])
    if not targets:
        raise ValueError("gold is empty")
    return JudgedQuery(
        id=str(fields["id"]),
        repo=str(fields["repo"]),
        text=str(fields["query"]),
        category=str(fields.get("category") or ""),
        language=str(fields.get("language") or ""),
        targets=targets,
        held_out=tuple(_target(target) for target in fields.get("held_out") or ()),
        known_at=str(fields.get("known_at") or ""),
    )


def _target(fields: Mapping[str, Any]) -> FilePassage:
    return FilePassage(str(fields["path"]), _line(fields, "start_line"), _line(fields, "end_line"))


def _line(fields: Mapping[str, Any], name: str) -> int | None:
    line = fields.get(name)
    if line is not None and (isinstance(line, bool) or not isinstance(line, int) or line < 1):
        raise ValueError(f"{name} {line!r} is no line; lines are whole numbers from 1")
    return line


def read_lines(path: Path, make: Callable[[Mapping[str, Any]], T]) -> Iterator[T]:
    """Yield what `make` gives for each line of a JSONL file; blank lines are passed over.

    Raises:
        QrelsError: The file cannot be read, or a line is not of the form that `make` expects; it names the line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise QrelsError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield make(cast("dict[str, Any]", json.loads(line)))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise QrelsError(f"{path}, line {number}: {type(error).__name__}: {error}") from error


def unique(path: Path, entries: Iterable[T], key: Callable[[T], str]) -> list[T]:
    """Return the entries of a file in order.

    Raises:
        QrelsError: A key stands twice, or there is no entry.
    """
    by_key: dict[str, T] = {}
    for entry in entries:
        if key(entry) in by_key:
            raise QrelsError(f"{path}: id {key(entry)!r} stands twice")
        by_key[key(entry)] = entry
    if not by_key:
        raise QrelsError(f"{path} holds no line")
    return list(by_key.values())

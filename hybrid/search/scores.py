"""Plain arithmetic over the scores of a search: the legs fused by their ranks, the plain gate, and the floor.

The plain gate holds the raw top cosine against one number, fixed by the owner or measured once for a model; the floor
says which hits are good enough to be shown once a gate is open.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from hybrid.types import EmbedderInfo, Hit


def rrf(ranks: Iterable[int | None], *, weights: Iterable[float], rrf_k: int) -> float:
    """Return the reciprocal rank score of one row: Σ weight_leg / (rrf_k + rank_leg), in [0, Σ weights / (rrf_k + 1)].

    Args:
        ranks: The rank of the row in each leg, from 1; None where the leg did not rank it, which adds nothing.
        weights: One per leg, not negative.
        rrf_k: Positive; larger flattens the difference between ranks.

    Source: Cormack, Clarke, Büttcher (SIGIR 2009), who use rrf_k = 60.
    """
    # An exact sum: the order of the legs must not decide between equal scores.
    return math.fsum(w / (rrf_k + rank) for rank, w in zip(ranks, weights, strict=True) if rank is not None)


def fuse(
    legs: Sequence[Mapping[int, int]],
    *,
    weights: Sequence[float],
    rrf_k: int,
    tie_key: Callable[[int], tuple[bytes, str, int]],
) -> dict[int, float]:
    """Fuse the rankings of several legs by reciprocal rank.

    Args:
        legs: Row → rank, one mapping per leg.
        weights: One per leg, not negative; a leg of weight 0 gives no candidates.
        rrf_k: As in `rrf`.
        tie_key: Digest, path and line of a row: orders equal scores after the best single rank.

    Returns:
        Row → score as of `rrf`, best first.
    """
    counted = [(leg, weight) for leg, weight in zip(legs, weights, strict=True) if weight > 0]
    rows = dict.fromkeys(row for leg, _ in counted for row in leg)
    own = [weight for _, weight in counted]
    # Equal scores stand in the order of the best single rank.
    places = {
        row: (-rrf(ranks, weights=own, rrf_k=rrf_k), min(rank for rank in ranks if rank is not None))
        for row in rows
        if (ranks := [leg.get(row) for leg, _ in counted])
    }
    clashes = Counter(places.values())  # Only rows with equal places need a tie key, which costs a look-up.
    keys = {row: tie_key(row) for row, place in places.items() if clashes[place] > 1}
    nothing = (b"", "", 0)
    ordered = sorted(places, key=lambda row: (places[row], keys.get(row, nothing)))
    return {row: -places[row][0] for row in ordered}


# --- The floor -------------------------------------------------------------------------------------------------------


def relevance(cosine: float | None, bm25: float | None, *, top_cosine: float, top_bm25: float) -> float:
    """Return the best share of a leg's top that a hit reaches, in [0, 1]; 0 without a score or a top above 0.

    A fused score cannot serve here: with equal weights a hit of one leg alone has less than half of the best rrf.
    """
    shares = [0.0]
    if cosine is not None and top_cosine > 0:
        shares.append(cosine / top_cosine)
    if bm25 is not None and top_bm25 > 0:
        shares.append(bm25 / top_bm25)
    return min(max(shares), 1.0)


def passing(hits: Iterable[Hit], threshold: float, min_cosine: float, is_named: Callable[[Hit], bool]) -> set[int]:
    """Return the rows of the hits that reach the floor.

    Args:
        hits: The hits, with their relevance.
        threshold: Least share of a leg's top, in [0, 1].
        min_cosine: Least raw cosine of the kind.
        is_named: Returns whether a hit holds an identifier or path of the query literally, which excuses a low cosine
            or none; asked only of a hit that has the share and lacks the cosine.
    """
    fitting = (hit for hit in hits if hit.relevance >= threshold)
    return {hit.row for hit in fitting if (hit.cosine is not None and hit.cosine >= min_cosine) or is_named(hit)}


# --- The plain gate --------------------------------------------------------------------------------------------------


class Verdict(Struct, frozen=True):
    """The judgement of a gate.

    Attributes:
        is_open: True when something may be injected.
        top_cosine: The raw top cosine, before fusion; None when the query has no vector.
        threshold: The number that `score` was compared with; None when there was nothing to compare.
        source: `auto`, `config` or `flag`: where the threshold came from.
        score: The number that was compared: the raw top cosine, or the sum of `parts`, without `chat` and `probe` when
            `bar` is `tasks`; None when there was nothing to compare.
        bar: The bar that decided in a calibration: `talk`, or `tasks` for tasks of other projects.
        parts: Named parts of the prompt's best piece, empty when the raw cosine alone decided.
        subject: The pieces of the prompt that rose above their bars, joined; empty for the whole prompt, or if closed.
        rows: Of a collection that is judged record by record: rows whose own evidence rose above the bars → that
            evidence. None for other collections, and when a fixed number decided.
    """

    is_open: bool
    top_cosine: float | None
    threshold: float | None
    source: str
    score: float | None = None
    bar: str = ""
    parts: Mapping[str, float] = field(default_factory=dict[str, float])
    subject: str = ""
    rows: Mapping[int, float] | None = None

    @property
    def margin(self) -> float | None:
        """Score − threshold, negative when the score missed it; None when nothing was compared."""
        return None if self.score is None or self.threshold is None else self.score - self.threshold


class Threshold(Struct, frozen=True):
    """The bar of the raw top cosine when no calibration decides.

    Attributes:
        value: In [−1, 1]; None when nobody measured one for this model: the gate then stays closed.
        source: `auto`, `config` or `flag`.
        expected_false_open_rate: Share of unfitting prompts that the threshold let pass when measured, or None.
    """

    value: float | None
    source: str
    expected_false_open_rate: float | None = None


def fixed_threshold(setting: float | Literal["auto"], *, origin: str, model: EmbedderInfo) -> Threshold:
    """Return the threshold on the raw top cosine.

    Args:
        setting: A number fixes it; `auto` takes the model's measured default.
        origin: Where the setting came from: `flag` for the command line, anything else is configuration.
        model: The model of the index.
    """
    if setting != "auto":
        return Threshold(setting, "flag" if origin == "flag" else "config")
    return Threshold(model.gate_threshold, "auto", model.expected_false_open_rate)


def compare(top_cosine: float | None, threshold: Threshold) -> Verdict:
    """Return a verdict that is open when the raw top cosine reaches the threshold; closed when either is None."""
    is_open = top_cosine is not None and threshold.value is not None and top_cosine >= threshold.value
    return Verdict(is_open, top_cosine, threshold.value, threshold.source, score=top_cosine)

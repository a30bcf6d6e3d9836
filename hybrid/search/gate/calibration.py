"""The thresholds of one corpus, from the figures that its index keeps: no labels, no search, under a millisecond.

The calibration part of the background is scored against the corpus; a threshold is the score that a wanted share of
these prompts would exceed by chance. The figures are made here too, for each segment as it is written; they follow from
the segment's own chunks, so that an edit costs the chunks that it changed.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from hybrid.search.gate.parts import (
    MAX_ABSENT,
    MAX_NAMES,
    MAX_TOGETHER,
    gain,
    length_penalty,
    rarest,
    rarity,
    together,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from hybrid.constants import GateConfig
    from hybrid.index.backend import BackgroundFigures
    from hybrid.search.gate.background import Background

SILENT = -9.0
"""Score of a background prompt that a rule silences, or that no chunk can be compared with; it never opens."""
_BLOCK_ROWS = 1024
"""Rows compared at a time, into buffers of 5 MB: fresh memory for every product takes twice as long."""

NOTHING = -2.0
"""Value below every cosine: the top of a piece in a segment without a chunk."""


class Calibration(Struct, frozen=True):
    """The two bars of a corpus.

    Attributes:
        talk: The bar that evidence + talk must pass: what prompts of talk reach here by chance, but for `talk_rate`.
        tasks: The bar that evidence must pass: what tasks of other projects reach here, but for `task_rate`.
        n_prompts: Number of prompts of the background that were scored, silenced ones too.
        talk_rate: Share of talk that may pass the bar `talk`, in [0, 1].
        task_rate: Share of tasks of other projects that may pass the bar `tasks`, in [0, 1].
        expected_talk: Share of talk that passes both bars, at most: the two are counted at the best piece of each.
        expected_tasks: Share of tasks of other projects that passes both bars, at most.
    """

    talk: float
    tasks: float
    n_prompts: int
    talk_rate: float
    task_rate: float
    expected_talk: float
    expected_tasks: float


def calibrate(background: Background, figures: BackgroundFigures, settings: GateConfig) -> Calibration:
    """Return the two bars of a corpus.

    Args:
        background: The background that the index was annotated with.
        figures: The figures that the index keeps of it.
        settings: Weights of the parts, and the rates allowed.
    """
    evidence, talk = background_scores(background, figures, settings)
    is_talk = background.array("prompt_is_talk").astype(np.bool_)
    talk_bar = _quantile(talk[is_talk], settings.max_false_open_rate)
    task_bar = _quantile(evidence[~is_talk], settings.max_other_task_rate)
    if figures.records is not None:
        task_bar = max(task_bar, settings.least)
    # The two bars are independent: talk fails for want of evidence and for its tone, a task of another project for want
    # of evidence alone, so each kind has a rate of its own.
    is_open = (talk > talk_bar) & (evidence > task_bar)
    return Calibration(
        talk=talk_bar,
        tasks=task_bar,
        n_prompts=len(is_talk),
        talk_rate=settings.max_false_open_rate,
        task_rate=settings.max_other_task_rate,
        expected_talk=float(is_open[is_talk].mean()) if is_talk.any() else 0.0,
        expected_tasks=float(is_open[~is_talk].mean()) if not is_talk.all() else 0.0,
    )


def background_scores(
    background: Background, figures: BackgroundFigures, settings: GateConfig
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return evidence, and evidence + talk, of every calibration prompt by its best piece, two of shape (n_prompts,).

    Both are less the penalty for the length of the prompt. Of the pieces only as many count as the settings allow.
    `SILENT` stands for a silenced prompt, and for one that cannot be compared.
    """
    of_prompt = background.array("piece_prompt")
    evidence = _evidence_of_pieces(background, figures, settings)
    # A prompt is scored with so many pieces besides the whole, which comes first.
    evidence[np.arange(len(of_prompt)) - np.searchsorted(of_prompt, of_prompt) > settings.pieces] = SILENT
    talk = evidence + settings.probe * background.array("piece_probe")
    talk -= background.chat_weight(settings) * background.array("piece_chat")
    talk[evidence == SILENT] = SILENT
    words = background.array("prompt_words").tolist()
    penalty = settings.length * np.array([length_penalty(n) for n in words])
    best = np.full((2, len(words)), SILENT)
    np.maximum.at(best[0], of_prompt, evidence)
    np.maximum.at(best[1], of_prompt, talk)
    best[best > SILENT] -= np.broadcast_to(penalty, best.shape)[best > SILENT]
    return best[0], best[1]


def _evidence_of_pieces(
    background: Background, figures: BackgroundFigures, settings: GateConfig
) -> NDArray[np.float64]:
    n_pieces = len(background.piece_vectors)
    top = np.full(n_pieces, NOTHING, np.float32) if figures.top is None else figures.top
    null = background.array("piece_null") if settings.null else np.ones(n_pieces, np.float32)
    n_here = np.broadcast_to(figures.frequencies, len(background.array("term_generic")))
    generic = background.array("term_generic").astype(np.float64)
    gains = gain(n_here, figures.n_rows, generic, background.n_generic_documents)
    is_absent = (n_here == 0) & (generic == 0)
    words, words_at = background.array("piece_words"), background.array("piece_words_at")
    names, names_at = background.array("piece_names"), background.array("piece_names_at")
    lexical = _reduced(np.maximum, gains[words], words_at)
    absent = np.minimum(_reduced(np.add, is_absent[words].astype(np.float64), words_at), MAX_ABSENT)
    known = np.minimum(_reduced(np.add, (n_here[names] > 0).astype(np.float64), names_at), MAX_NAMES)
    stands = settings.together * np.minimum(0.0 if figures.together is None else figures.together, MAX_TOGETHER)
    found = null * top + settings.lexical * lexical + stands + settings.names * known - settings.absent * absent
    if figures.records is not None:
        # `lexical` and `absent` ask what the collection as a whole holds. Each record is judged by itself, by its
        # `words` (decision 39), so both and `together` are left out here, as in `verdict`. `names` stays. The index
        # does not keep which record was nearest, so an identifier counts when any record holds it: one of a task of
        # another project stands in the record that is nearest to it, or in none.
        found = figures.records + settings.names * known
    # A piece without a vector, or a corpus without a chunk, has no cosine to speak of.
    found[(top <= NOTHING) | ~background.piece_vectors.any(axis=1)] = SILENT
    return found


def _reduced(ufunc: np.ufunc, values: NDArray[np.float64], starts: NDArray[Any]) -> NDArray[np.float64]:
    """Reduce each run of values; 0 for an empty one."""
    result = np.zeros(len(starts) - 1)
    filled = np.flatnonzero(np.diff(starts))
    if len(filled):
        result[filled] = ufunc.reduceat(values, starts[filled])
    return result


def _quantile(scores: NDArray[np.float64], rate: float) -> float:
    """Return the score that at most a share `rate` of the scores exceeds; one of the scores, or ∞ without any."""
    ordered = np.sort(scores)[::-1]
    if not len(ordered):
        return math.inf
    return float(ordered[min(int(rate * len(ordered)), len(ordered) - 1)])


# --- the figures of a segment ------------------------------------------------------------------------------


def segment_arrays(arrays: Mapping[str, NDArray[Any]], background: Background) -> dict[str, NDArray[Any]]:
    """Return the arrays that a segment gets for the gate.

    Args:
        arrays: Arrays of the segment: `vector`, `vector_scale`, and the terms with their postings.
        background: The background of the segment's model.

    Returns:
        `background_top` float32 (n_pieces,), the largest cosine of each calibration piece to a chunk; `background_df`
        uint32 (n_terms,), chunks that hold each term of the background; `background_together` float32 (n_pieces,),
        `parts.together` of each calibration piece.
    """
    holders = _holders(arrays, background.terms)
    return {
        "background_top": closest_background(arrays["vector"], arrays["vector_scale"], background),
        "background_df": np.array([len(rows) for rows in holders], np.uint32),
        "background_together": _together(holders, background),
    }


def closest_background(
    vectors: NDArray[np.int8], scales: NDArray[np.float32], background: Background
) -> NDArray[np.float32]:
    """Return the largest cosine of every calibration piece to a chunk, shape (n_pieces,).

    Args:
        vectors: int8, shape (n_chunks, dim).
        scales: Scale of each vector, shape (n_chunks,); 0 where there is none.
        background: The background of the same model.
    """
    queries = np.ascontiguousarray(np.swapaxes(background.piece_vectors, 0, 1))
    top = np.full(len(background.piece_vectors), NOTHING, np.float32)
    rows = np.empty((min(_BLOCK_ROWS, len(vectors)), vectors.shape[1]), np.float32)
    found = np.empty((len(rows), queries.shape[1]), np.float32)
    for at in range(0, len(vectors), _BLOCK_ROWS):
        block = slice(at, min(at + _BLOCK_ROWS, len(vectors)))
        n_rows = block.stop - at
        np.multiply(vectors[block], scales[block, np.newaxis], out=rows[:n_rows])
        cosines = np.matmul(rows[:n_rows], queries, out=found[:n_rows])
        cosines[scales[block] == 0] = NOTHING
        np.maximum(top, cosines.max(axis=0), out=top)
    return top


def _holders(arrays: Mapping[str, NDArray[Any]], terms: list[str]) -> list[NDArray[np.int32]]:
    """Return the rows of the chunks that hold each term."""
    data, ends = arrays["term_text"].tobytes(), arrays["term_at"].tolist()
    texts = (data[start:end] for start, end in pairwise(ends))
    spans = dict(zip(texts, pairwise(arrays["term_start"].tolist()), strict=True))
    rows: NDArray[np.int32] = arrays["post_row"]
    return [rows[slice(*spans.get(term.encode(), (0, 0)))] for term in terms]


def _together(holders: Sequence[NDArray[np.int32]], background: Background) -> NDArray[np.float32]:
    """Return `parts.together` of each calibration piece, shape (n_pieces,), from the chunks that hold each term."""
    rarities = rarity(background.array("term_generic").astype(np.float64), background.n_generic_documents)
    words, starts = background.array("piece_words"), background.array("piece_words_at").tolist()
    found = np.zeros(len(starts) - 1, np.float32)
    for piece, (start, end) in enumerate(pairwise(starts)):
        terms = words[start:end]
        kept: list[int] = terms[rarest(rarities[terms])].tolist()
        found[piece] = together(rarities[kept], [holders[term] for term in kept])
    return found

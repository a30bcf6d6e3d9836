"""The verdict of the calibrated gate: may this prompt get context from this corpus?

The prompt's best piece must rise above what tasks of other projects reach in this corpus by chance, and above what talk
reaches. With a threshold that its owner fixed, `threshold` decides instead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from hybrid.gate import parts
from hybrid.gate.background import load_background
from hybrid.gate.calibration import SILENT, Calibration, calibrate
from hybrid.gate.identity import annotation_key, background_key
from hybrid.gate.pieces import gate_pieces
from hybrid.gate.terms import generic_terms, terms_of
from hybrid.gate.words import has_words, score_words, words_of_pieces
from hybrid.types import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from hybrid.config import GateConfig
    from hybrid.gate.background import Background
    from hybrid.gate.terms import PieceTerms
    from hybrid.index.backend import Closest
    from hybrid.index.snapshot import Snapshot
    from hybrid.types import Embedder


@dataclass(frozen=True, slots=True)
class Asked:
    """A prompt as the gate compares it.

    Attributes:
        texts: Of its pieces, the whole first.
        vectors: Unit vectors of the pieces, shape (n_pieces, dim); zeros where the model knows no word.
        null: Null factor of each, shape (n_pieces,).
        n_words: Of the prompt as it was typed.
    """

    texts: tuple[str, ...]
    vectors: NDArray[np.float32]
    null: NDArray[np.float32]
    n_words: int


class Gate:
    """The calibrated gate of one open corpus.

    Args:
        snapshot: Annotated with the background.
        embedder: Of the snapshot's model.
        load_background: Gives the background; called when the first prompt is judged.
        settings: Rates and weights.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        embedder: Embedder,
        load_background: Callable[[], Background],
        settings: GateConfig,
    ) -> None:
        self._snapshot = snapshot
        self._embedder = embedder
        self._load_background = load_background
        self._settings = settings

    @cached_property
    def _background(self) -> Background:
        return self._load_background()

    @cached_property
    def calibration(self) -> Calibration:
        """The bars of the corpus."""
        return calibrate(self._background, self._snapshot.segments, self._settings)

    def ask(self, text: str) -> Asked:
        """The pieces of a cleaned prompt with their vectors."""
        found = gate_pieces(text, self._settings.pieces)
        vectors, lengths = self._embedder.embed_queries(found)
        return Asked(found, vectors, parts.null_factors(lengths, len(found)), len(text.split()))

    def words(self, piece: str) -> NDArray[np.float32]:
        """How far each row holds the words of a piece, or words near to them, in [0, ∞): see `hybrid.gate.words`.

        Shape (n_rows,); 0 for a dead row, and everywhere in a collection that was annotated without words.
        """
        return self._scored_words([terms_of(piece).words])[0]

    def judge(self, asked: Asked, closest: Closest, top_cosine: float | None) -> Verdict:
        """The verdict on a prompt.

        Args:
            asked: From `ask`.
            closest: Of its pieces, from `Snapshot.dense_with_pieces`.
            top_cosine: The raw one of the whole prompt, for the record.
        """
        bars = self.calibration
        rows = [row for row in range(len(asked.texts)) if closest.rows[row] >= 0]
        if not rows:
            return Verdict(False, top_cosine, bars.talk if bars.talk > SILENT else None, "auto", bar="talk")
        found = self._parts(asked, closest)
        judged = [_judged(row, found[row], bars) for row in rows]
        best = max(judged, key=lambda one: one.margin)
        subject = "" if best.row == 0 else _joined([asked.texts[one.row] for one in judged if one.row and one.is_open])
        return Verdict(
            best.is_open and math.isfinite(bars.talk) and math.isfinite(bars.tasks),
            top_cosine,
            best.threshold,
            "auto",
            score=best.score,
            bar=best.bar,
            parts=best.parts,
            subject=subject,
        )

    def _parts(self, asked: Asked, closest: Closest) -> list[dict[str, float]]:
        """The parts of every piece, each with its sign, so that they add up to the score."""
        settings = self._settings
        null = asked.null if settings.null else np.ones_like(asked.null)
        terms = [terms_of(text) for text in asked.texts]
        lexical, absent = self._lexical(terms)
        n_known = [sum(self._snapshot.document_frequency(name) > 0 for name in piece.names) for piece in terms]
        length = settings.length * parts.length_penalty(asked.n_words)
        columns = {
            "cosine": closest.cosines,
            "hub": -closest.hubs,
            "null": (null - 1) * (closest.cosines - closest.hubs),
            "lexical": settings.lexical * lexical,
            "names": settings.names * np.minimum(n_known, parts.MAX_NAMES),
            "absent": -settings.absent * np.minimum(absent, parts.MAX_ABSENT),
            "length": np.full(len(terms), -length),
            "chat": -self._background.chat_weight(settings) * self._background.chat(asked.vectors),
            "probe": settings.probe * self._background.logit(asked.vectors, asked.null),
        }
        if settings.words and has_words(self._snapshot.segments):
            scores = self._scored_words([piece.words for piece in terms])
            columns["words"] = settings.words * scores.max(axis=1, initial=0)
        # Adding 0 makes 0 of −0, which would be shown.
        rows = np.stack([np.asarray(column, np.float64) for column in columns.values()], axis=1) + 0.0
        return [dict(zip(columns, row, strict=True)) for row in rows.tolist()]

    def _scored_words(self, pieces: Sequence[Sequence[str]]) -> NDArray[np.float32]:
        """Of the words of each piece in each row, shape (n_pieces, n_rows)."""
        segments = self._snapshot.segments
        words = words_of_pieces(pieces, self._embedder) if has_words(segments) else None
        if words is None:
            return np.zeros((len(pieces), self._snapshot.n_rows), np.float32)
        return np.concatenate([score_words(words, segment) for segment in segments], axis=1)

    def _lexical(self, terms: Sequence[PieceTerms]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """The gain of each piece's most telling word, and how many of its words nobody knows, shape (n_pieces,)."""
        generic = generic_terms()
        words = list({word: None for piece in terms for word in piece.words})
        n_here = np.array([self._snapshot.document_frequency(word) for word in words], np.float64)
        n_generic = np.array([generic.counts.get(word, 0) for word in words], np.float64)
        gains = parts.gain(n_here, self._snapshot.n_rows, n_generic, generic.n_documents).tolist()
        gain_of = dict(zip(words, gains, strict=True))
        unknown = {word for word, here, at_large in zip(words, n_here, n_generic, strict=True) if here == at_large == 0}
        lexical = [max((gain_of[word] for word in piece.words), default=0.0) for piece in terms]
        return np.array(lexical), np.array([sum(word in unknown for word in piece.words) for piece in terms], np.int64)


def open_gate(snapshot: Snapshot, embedder: Embedder, home: Path, settings: GateConfig) -> Gate | None:
    """The calibrated gate of a snapshot; None for one that was annotated with another background, or not at all.

    Args:
        snapshot: Open.
        embedder: Of its model.
        home: `$HYBRID_HOME`, which keeps the background's vectors.
        settings: Rates and weights.
    """
    background = background_key(embedder.info)
    fitting = [annotation_key(background, with_hub=settings.hub, with_words=has) for has in (False, True)]
    if snapshot.manifest.background not in fitting:
        return None
    return Gate(snapshot, embedder, lambda: load_background(embedder, home, background), settings)


@dataclass(frozen=True, slots=True)
class _Judged:
    """One piece and the bar that it is nearer to, or misses by more."""

    row: int
    score: float
    threshold: float
    bar: str
    parts: dict[str, float]

    @property
    def margin(self) -> float:
        return self.score - self.threshold

    @property
    def is_open(self) -> bool:
        return math.isfinite(self.threshold) and self.margin > 0


def _judged(row: int, found: dict[str, float], bars: Calibration) -> _Judged:
    talk = sum(found.values())
    evidence = talk - found["chat"] - found["probe"]
    if talk - bars.talk <= evidence - bars.tasks:
        return _Judged(row, talk, bars.talk, "talk", found)
    return _Judged(row, evidence, bars.tasks, "tasks", found)


def _joined(texts: list[str]) -> str:
    """Texts in order, without those that are a part of another."""
    return " ".join(text for text in texts if not any(text != other and text in other for other in texts))

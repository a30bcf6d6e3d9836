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
from hybrid.gate.calibration import SILENT, Calibration, calibrate
from hybrid.gate.pieces import gate_pieces
from hybrid.gate.terms import GenericTerms, generic_terms, terms_of
from hybrid.types import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    """The calibrated gate of one open corpus; its snapshot was annotated with the same background."""

    def __init__(self, snapshot: Snapshot, embedder: Embedder, background: Background, settings: GateConfig) -> None:
        self._snapshot = snapshot
        self._embedder = embedder
        self._background = background
        self._settings = settings

    @cached_property
    def calibration(self) -> Calibration:
        """The bars of the corpus."""
        return calibrate(self._background, self._snapshot.segments, self._settings)

    @cached_property
    def _generic(self) -> GenericTerms:
        return generic_terms()

    def ask(self, text: str) -> Asked:
        """The pieces of a cleaned prompt with their vectors."""
        found = gate_pieces(text, self._settings.pieces)
        vectors, lengths = self._embedder.embed_queries(found)
        null = np.ones(len(found), np.float32) if lengths is None else parts.null_factor(lengths)
        return Asked(found, vectors, null, len(text.split()))

    def judge(self, asked: Asked, closest: Closest, top_cosine: float | None) -> Verdict:
        """The verdict on a prompt.

        Args:
            asked: From `ask`.
            closest: Of its pieces, from `Snapshot.dense_with_pieces`.
            top_cosine: The raw one of the whole prompt, for the record.
        """
        bars = self.calibration
        rows = [row for row in range(len(asked.texts)) if closest.rows[row] >= 0]
        judged = [_judged(row, self._parts(asked, closest, row), bars) for row in rows]
        if not judged:
            return Verdict(False, top_cosine, bars.talk if bars.talk > SILENT else None, "auto", bar="talk")
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

    def _parts(self, asked: Asked, closest: Closest, row: int) -> dict[str, float]:
        """The parts of one piece, each with its sign, so that they add up to the score."""
        settings = self._settings
        cosine, hub = float(closest.cosines[row]), float(closest.hubs[row])
        null = float(asked.null[row]) if settings.null else 1.0
        terms = terms_of(asked.texts[row])
        vector = asked.vectors[row : row + 1]
        chat_weight = settings.chat if self._background.probe else settings.chat_without_probe
        logit = float(self._background.logit(vector, asked.null[row : row + 1])[0])
        found = {
            "cosine": cosine,
            "hub": -hub,
            "null": (null - 1) * (cosine - hub),
            **self._lexical_parts(terms),
            "length": -settings.length * parts.length_penalty(asked.n_words),
            "chat": -chat_weight * float(self._background.chat(vector)[0]),
            "probe": settings.probe * logit,
        }
        return {name: value + 0.0 for name, value in found.items()}  # Of −0 and 0 the latter.

    def _lexical_parts(self, terms: PieceTerms) -> dict[str, float]:
        settings, generic = self._settings, self._generic
        n_here = self._frequencies(terms.words)
        n_generic = np.array([generic.counts.get(term, 0) for term in terms.words], np.float64)
        gains = parts.gain(n_here, self._snapshot.n_rows, n_generic, generic.n_documents)
        n_absent = int(((n_here == 0) & (n_generic == 0)).sum())
        n_known = int((self._frequencies(terms.names) > 0).sum())
        return {
            "lexical": settings.lexical * float(gains.max(initial=0)),
            "names": settings.names * min(n_known, parts.MAX_NAMES),
            "absent": -settings.absent * min(n_absent, parts.MAX_ABSENT),
        }

    def _frequencies(self, terms: Sequence[str]) -> NDArray[np.float64]:
        return np.array([self._snapshot.document_frequency(term) for term in terms], np.float64)


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

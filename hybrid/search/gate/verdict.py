"""The verdict of the calibrated gate on a prompt: context from this corpus, or silence.

The prompt's best piece must rise above what tasks of other projects reach in this corpus by chance, and above what talk
reaches. In a collection of records each record must do so by itself (`record_evidence`), and only those that do may be
given. With a threshold that its owner fixed, `scores` decides instead.
"""

from __future__ import annotations

import math
import re
from copy import copy
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from hybrid.base.errors import BusyError, ModelError
from hybrid.base.text import compiled
from hybrid.base.tokens import folded, part_terms, query_tokens, tokens_of_word
from hybrid.index.analysis import bit, keys_said
from hybrid.index.backend import EVERYTHING
from hybrid.index.lexical import LargestSums
from hybrid.prompting.content import (
    content_words,
    gate_pieces,
    generic_terms,
    identifiers,
    paths,
    terms_of_names,
    terms_of_words,
    word_groups,
)
from hybrid.prompting.rules import asks_how_to, gives_role, is_short, must_name
from hybrid.search.gate import statistic
from hybrid.search.gate.background import SILENT, Background, Calibration, RecordReader, calibrate, load_background
from hybrid.search.gate.identity import EARLIER_SEGMENTS, SEGMENTS_VERSION, annotation_key, background_key
from hybrid.search.gate.record_evidence import RecordEvidence, meant_pieces
from hybrid.search.scores import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from hybrid.constants import GateConfig
    from hybrid.index.backend import BackgroundFigures, SearchBackend
    from hybrid.index.lexical import RowSet
    from hybrid.search.gate.record_evidence import MeantPieces
    from hybrid.types import Embedder


MOST_MEANT = 256
"""Records of a collection that one prompt is compared with in every part: far more than are ever given."""


MOST_LIFTED = 64
"""Records of a collection, the nearest to the bars, of which one prompt asks what files they name."""


_ROUNDING = 1e-6
_BLOCK_ROWS = 1 << 17
"""Rows whose sums are worked out at a time: they stay in the cache."""


class PromptPieces(Struct, frozen=True):
    """A prompt as the gate compares it.

    Attributes:
        texts: The pieces of the prompt, the whole first.
        vectors: Unit vectors of the pieces, shape (n_pieces, dim); zeros where the model knows no word.
        null: Null factor of each piece, shape (n_pieces,).
        n_words: Number of words of the cleaned prompt.
        text: The cleaned prompt, in English words if it is in another language; the reader is asked with it.
        typed: The cleaned prompt as it was typed; empty for what a person or an agent searches for themselves.
    """

    texts: tuple[str, ...]
    vectors: NDArray[np.float32]
    null: NDArray[np.float32]
    n_words: int
    text: str = ""
    typed: str = ""


class Gate:
    """The calibrated gate of one open corpus.

    Args:
        backend: The index, annotated with the background.
        embedder: The embedder of the index's model.
        load_background: Returns the background; called when the first prompt is judged.
        settings: Rates and weights.

    Attributes:
        reader: The sentence transformer that read the records of the corpus; None for files, and until it did.
    """

    def __init__(
        self,
        backend: SearchBackend,
        embedder: Embedder,
        load_background: Callable[[], Background],
        settings: GateConfig,
    ) -> None:
        self._backend = backend
        self._embedder = embedder
        self._load_background = load_background
        self._settings = settings
        self.reader: RecordReader | None = None
        self._without_reader: Gate | None = None

    def with_reader(self, reader: RecordReader) -> Gate:
        """Return a gate that counts what a sentence transformer read of the records of the corpus.

        It judges as this one does when that model cannot be loaded, or not yet.
        """
        rate = self._settings.max_other_task_rate * self._settings.reader_rate
        settings = replace(self._settings, max_other_task_rate=rate)
        other = Gate(self._backend, self._embedder, self._load_background, settings)
        other.reader, other._without_reader = reader, self
        return other

    def over(self, backend: SearchBackend) -> Gate:
        """Return a gate with the same bars for another view of the corpus, such as the candidates of one prompt."""
        other = copy(self)
        other._backend = backend
        return other

    @cached_property
    def _background(self) -> Background:
        return self._load_background()

    @cached_property
    def calibration(self) -> Calibration:
        """The bars of the corpus."""
        return calibrate(self._background, self._figures, self._settings)

    @cached_property
    def _figures(self) -> BackgroundFigures:
        found = self._backend.background.figures()
        return replace(found, records=self.reader.reading.background) if self.reader else found

    @property
    def judges_records(self) -> bool:
        """Whether each record of the corpus is judged by itself."""
        return self._backend.background.has_records

    def ask(self, text: str, english: str = "", *, is_prompt: bool = False) -> PromptPieces:
        """Embed a cleaned prompt's pieces: the form in which `judge` takes the prompt.

        Args:
            text: The prompt.
            english: The prompt in English words, if it is in another language: these are compared, then what was typed.
            is_prompt: Whether it is a prompt of a session, whose length and form count, and no search.
        """
        typed = text if is_prompt else ""
        pieces = gate_pieces(english or text, self._settings.pieces)
        if english and pieces:
            pieces = tuple(dict.fromkeys((*pieces, content_words(text))))
        vectors, lengths = self._embedder.embed_queries(pieces)
        return PromptPieces(
            pieces, vectors, statistic.null_factors(lengths, len(pieces)), len(text.split()), english or text, typed
        )

    def evidence(self, text: str, english: str = "") -> Mapping[int, float]:
        """Return row → evidence that a cleaned prompt means that record; empty for a collection without records."""
        if not self._backend.background.has_records:
            return {}
        asked = self.ask(text, english)
        try:
            columns = self._columns(asked)
        except (BusyError, ModelError):
            if self._without_reader is None:
                raise
            return self._without_reader.evidence(text, english)
        score = _added_up(columns, len(asked.texts), self._backend.n_rows)
        best: list[float] = score.max(axis=0, initial=-math.inf).tolist()
        return dict(enumerate(best))

    def judge(
        self,
        asked: PromptPieces,
        closest: NDArray[np.float32],
        top_cosine: float | None,
        names_fitting: Callable[[int], bool] | None = None,
    ) -> Verdict:
        """Return the verdict on a prompt: by its best piece, or for a collection of records, by each record.

        Args:
            asked: The prompt as `ask` gives it.
            closest: Cosine of each piece to the closest chunk, from `SearchBackend.dense_with_pieces`.
            top_cosine: The raw top cosine of the whole prompt; it is only noted in the verdict.
            names_fitting: Returns whether the record of a row names a file that fits the prompt; None when none does.
        """
        if self._backend.background.has_records:
            try:
                return self._judge_records(asked, top_cosine, names_fitting)
            except (BusyError, ModelError):
                if self._without_reader is None:
                    raise
                return self._without_reader.judge(asked, closest, top_cosine, names_fitting)
        bars = self.calibration
        rows: list[int] = np.flatnonzero(~np.isnan(closest)).tolist()
        if not rows:
            return _nothing_asked(bars, top_cosine)
        parts_of = self._parts(asked, closest)
        judged = [_judged(row, parts_of[row], bars) for row in rows]
        # One clause may be about the project and the rest a greeting: the best piece speaks for the prompt.
        best = max(judged, key=lambda piece: piece.margin)
        opening = [asked.texts[piece.row] for piece in judged if piece.row and piece.is_open]
        subject = "" if best.row == 0 else _joined(opening)
        is_open = best.is_open and math.isfinite(bars.talk) and math.isfinite(bars.tasks)
        return best.verdict(is_open, top_cosine, subject)

    def opened(self, verdict: Verdict) -> Verdict:
        """Return the verdict on a question about the project itself that a file answers: open, for the whole prompt."""
        added = self._settings.project
        if verdict.rows is not None or not added:
            return verdict
        score = None if verdict.score is None else verdict.score + added
        return replace(verdict, is_open=True, subject="", score=score, parts={**verdict.parts, "project": added})

    def _parts(self, asked: PromptPieces, closest: NDArray[np.float32]) -> list[dict[str, float]]:
        """Return name → value of the parts of every piece, each with its sign, so that they add up to the score."""
        settings = self._settings
        null = asked.null if settings.null else np.ones_like(asked.null)
        terms = [terms_of_words(text) for text in asked.texts]
        names = [terms_of_names(text) for text in asked.texts]
        lexical, absent, lacking = self._lexical(terms)
        together = np.minimum(self._together(terms), statistic.MAX_TOGETHER)
        n_known = [sum(self._backend.terms.document_frequency(name) > 0 for name in of_piece) for of_piece in names]
        length = settings.length * statistic.length_penalty(asked.n_words)
        columns = {
            "cosine": closest,
            "null": (null - 1) * closest,
            "lexical": settings.lexical * lexical,
            "together": settings.together * together,
            "names": settings.names * np.minimum(n_known, statistic.MAX_NAMES),
            "alone": np.full(len(terms), settings.alone * self._alone(asked)),
            "absent": -settings.absent * np.minimum(absent, statistic.MAX_ABSENT),
            "lacking": -settings.lacking * _counted(lacking, asked.typed),
            "length": np.full(len(terms), -length),
            **self._talk(asked),
        }
        # Adding 0 makes 0 of −0, which would be shown.
        rows = np.stack([np.asarray(column, np.float64) for column in columns.values()], axis=1) + 0.0
        return [dict(zip(columns, row, strict=True)) for row in rows.tolist()]

    def _alone(self, asked: PromptPieces) -> int:
        """Return 1 for a short prompt that names something here, −1 for a very short one that does not; else 0."""
        if not self._settings.alone or not asked.typed:
            return 0
        if is_short(asked.text) and names_something(self._backend, asked.text):
            return 1
        return -int(must_name(asked.typed))

    def _talk(self, asked: PromptPieces) -> dict[str, NDArray[Any]]:
        """The parts that tell talk from work, each of shape (n_pieces,)."""
        return {
            "chat": -self._background.chat_weight(self._settings) * self._background.chat(asked.vectors),
            "probe": self._settings.probe * self._background.logit(asked.vectors, asked.null),
        }

    def _lexical(self, terms: Sequence[Sequence[str]]) -> tuple[NDArray[np.float64], ...]:
        """Return three values of each piece: largest gain of a word, unknown words, rarity of the words not here.

        A word is unknown that occurs neither here nor at large; the rarity, 0 to 1, of all that are not here is summed.
        """
        n_documents, counts = generic_terms()
        words = list({word: None for piece in terms for word in piece})
        n_here = np.array([self._backend.terms.document_frequency(word) for word in words], np.float64)
        n_generic = np.array([counts.get(word, 0) for word in words], np.float64)
        gains = statistic.gain(n_here, self._figures.n_rows, n_generic, n_documents).tolist()
        gain_of = dict(zip(words, gains, strict=True))
        unknown = {word for word, here, at_large in zip(words, n_here, n_generic, strict=True) if here == at_large == 0}
        rarities = statistic.rarity(n_generic, n_documents) / statistic.MAX_RARITY * (n_here == 0)
        rarity_of = dict(zip(words, rarities.tolist(), strict=True))
        lexical = [max((gain_of[word] for word in piece), default=0.0) for piece in terms]
        absent = [sum(word in unknown for word in piece) for piece in terms]
        lacking = [sum(rarity_of[word] for word in piece) for piece in terms]
        return np.array(lexical), np.array(absent, np.float64), np.array(lacking, np.float64)

    def _together(self, terms: Sequence[Sequence[str]]) -> NDArray[np.float64]:
        """Return `_most_together` of each piece, shape (n_pieces,); zeros without a weight or without bars for it."""
        if not self._settings.together or self._figures.together is None:
            return np.zeros(len(terms))
        n_documents, counts = generic_terms()
        rows_of: Callable[[str], NDArray[np.intp]] = cache(self._backend.terms.rows_of)
        found: list[float] = []
        for piece in terms:
            n_generic = np.array([counts.get(word, 0) for word in piece], np.float64)
            rarities = statistic.rarity(n_generic, n_documents)
            kept: list[int] = statistic.rarest(rarities).tolist()
            found.append(self._most_together({piece[place]: float(rarities[place]) for place in kept}, rows_of))
        return np.array(found)

    def _most_together(self, rarities: Mapping[str, float], rows_of: Callable[[str], NDArray[np.intp]]) -> float:
        """Return the largest sum of the rarities of terms that stand together in one chunk.

        Of sums beyond `statistic.MAX_TOGETHER`, which do not count, any may be returned.
        """
        words = list(rarities)
        rows_of_words = [rows_of(word) for word in words]
        enough = min(statistic.MAX_TOGETHER, sum(rarities.values()) * (1 - _ROUNDING))
        found = LargestSums(list(rarities.values()), list(map(len, rows_of_words)), self._backend.n_rows, 1)
        for start in range(0, self._backend.n_rows, _BLOCK_ROWS):
            n_rows = min(_BLOCK_ROWS, self._backend.n_rows - start)
            within = rows_of_words
            if n_rows < self._backend.n_rows:
                bounds = [np.searchsorted(rows, (start, start + n_rows)) for rows in rows_of_words]
                within = [rows[low:high] - start for rows, (low, high) in zip(rows_of_words, bounds, strict=True)]

            def read(
                terms: Sequence[int], among: RowSet | None, within: Sequence[NDArray[np.intp]] = within
            ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
                rows = [within[term] for term in terms]
                if among is not None:
                    rows = [some[among.places(some)] for some in rows]
                values = np.repeat([rarities[words[term]] for term in terms], list(map(len, rows)))
                return np.concatenate(rows), values

            found.add(start, n_rows, read)
            if found.largest >= enough:
                break
        return float(found.result()[1].max(initial=0))

    # --- record by record ------------------------------------------------------------------------------------

    def _judge_records(
        self, asked: PromptPieces, top_cosine: float | None, names_fitting: Callable[[int], bool] | None
    ) -> Verdict:
        """Return the verdict on a prompt: `rows` holds the records that may be given, each by its own evidence."""
        bars, columns = self.calibration, self._columns(asked)
        score = _added_up(columns, len(asked.texts), self._backend.n_rows)
        talk = self._talk(asked)
        margins = np.minimum(score - bars.tasks, score + (talk["chat"] + talk["probe"])[:, np.newaxis] - bars.talk)
        if not np.isfinite(margins).any():
            return _nothing_asked(bars, top_cosine, rows={})
        added = self._named_files(margins.max(axis=0), names_fitting)
        if added is not None:
            columns["file"] = np.broadcast_to(added, score.shape)
            score, margins = score + added, margins + added
        piece, row = divmod(int(margins.argmax()), margins.shape[1])
        evidence_of = {name: float(column[piece, row]) + 0.0 for name, column in columns.items()}
        best = _judged(piece, evidence_of | {name: float(column[piece]) for name, column in talk.items()}, bars)
        is_open = (margins > 0) & math.isfinite(bars.talk) & math.isfinite(bars.tasks)
        pieces = [asked.texts[number] for number in np.flatnonzero(is_open.any(axis=1)) if number]
        rows = np.flatnonzero(is_open.any(axis=0))
        evidence = dict(zip(rows.tolist(), score[:, rows].max(axis=0).tolist(), strict=True))
        return best.verdict(len(rows) > 0, top_cosine, "" if best.row == 0 else _joined(pieces), evidence)

    def _columns(self, asked: PromptPieces) -> dict[str, NDArray[np.float64]]:
        """Return name → part of the evidence of every piece for every record, of shape (n_pieces, n_rows).

        Empty for a model whose lengths say nothing, and for a prompt without pieces.
        """
        settings = self._settings
        terms = [terms_of_words(text) for text in asked.texts]
        typed = [word_groups(text) for text in asked.texts]
        pieces = meant_pieces(asked.vectors, asked.null, terms, typed, self._embedder)
        if pieces is None or not asked.texts:
            return {}
        records = [RecordEvidence(block) for block in self._backend.background.records()]
        parts_of = [block.parts(pieces, settings) for block in records]
        columns = {
            name: np.concatenate([named[name] for named in parts_of], axis=1, dtype=np.float64) for name in parts_of[0]
        }
        shape = len(terms), self._backend.n_rows
        columns["names"] = settings.names * self._named(asked.texts)
        columns["trigger"] = settings.trigger * self._triggered(asked.texts)
        columns["length"] = np.full(shape, -settings.length * statistic.length_penalty(asked.n_words))
        if self.reader:
            read = settings.reader * self.reader.evidence(asked.text)
            columns["reader"] = np.broadcast_to(np.asarray(read, np.float64), shape)
        columns["null"][~asked.vectors.any(axis=1)] = -math.inf  # A piece that the model does not know means nothing.
        best = _added_up(columns, *shape).max(axis=0)
        columns["hinge"] = self._hinges(records, pieces, best)
        return columns

    def _hinges(
        self, records: Sequence[RecordEvidence], pieces: MeantPieces, best: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the part `hinge` of each piece for each record, shape (n_pieces, n_rows).

        It only lowers the evidence. So it is worked out for the `MOST_MEANT` records that have the most evidence
        without it (`best`), and is −∞ for the rest.
        """
        is_asked = np.ones(len(best), np.bool_)
        if len(best) > MOST_MEANT:
            is_asked = best >= np.partition(best, -MOST_MEANT)[-MOST_MEANT]
        hinges = np.tile(np.where(is_asked, 0.0, -math.inf), (len(pieces.sums), 1))
        start = 0
        for block in records:
            rows = np.flatnonzero(is_asked[start : start + len(block)])
            hinges[:, start + rows] = block.hinges(pieces, rows, self._settings)
            start += len(block)
        return hinges

    def _named_files(
        self, margins: NDArray[np.float64], names_fitting: Callable[[int], bool] | None
    ) -> NDArray[np.float64] | None:
        """Return the part `file` of each record, shape (n_rows,); None when it is 0 for all.

        Asked are the records that it could make a difference to: those above the bars and just below them.
        """
        weight = self._settings.file
        if names_fitting is None or not weight:
            return None
        near = np.flatnonzero(margins > -weight)
        if len(near) > MOST_LIFTED:
            near = np.sort(near[np.argsort(-margins[near], kind="stable")[:MOST_LIFTED]])
        added = np.zeros(len(margins))
        added[[row for row in near.tolist() if names_fitting(row)]] = weight
        return added if added.any() else None

    def _triggered(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """1 where a piece holds every word of a trigger of a record, else 0; shape (n_pieces, n_rows)."""
        is_triggered = np.zeros((len(texts), self._backend.n_rows))
        for rows, text in zip(is_triggered, texts, strict=True):
            tokens = set(query_tokens(text))
            rows[[row for row, trigger in self._triggers if trigger <= tokens]] = 1
        return is_triggered

    @cached_property
    def _triggers(self) -> list[tuple[int, frozenset[str]]]:
        """The words of every trigger with the row of its record."""
        of_names = ((row, frozenset(query_tokens(name))) for row, name in self._backend.background.triggers())
        return [(row, words) for row, words in of_names if words]

    def _named(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Count the identifiers of each piece that each record holds, at most `MAX_NAMES`, shape (n_pieces, n_rows)."""
        n_names = np.zeros((len(texts), self._backend.n_rows))
        for counts, piece in zip(n_names, texts, strict=True):
            for name in terms_of_names(piece):
                counts[self._backend.terms.rows_of(name)] += 1
        return np.minimum(n_names, statistic.MAX_NAMES)


def open_gate(backend: SearchBackend, embedder: Embedder, home: Path, settings: GateConfig) -> Gate | None:
    """Return the calibrated gate of an index; None if it was annotated with another background, or not at all.

    Args:
        backend: The open index.
        embedder: The embedder of the index's model.
        home: `$HYBRID_HOME`, which keeps the background's vectors.
        settings: Rates and weights.
    """
    background = background_key(embedder.info)
    fitting = [
        annotation_key(background, records=records, version=version)
        for records in (None, settings)
        for version in (SEGMENTS_VERSION, *EARLIER_SEGMENTS)
    ]
    if backend.background.key not in fitting:
        return None
    return Gate(backend, embedder, lambda: load_background(embedder, home, background), settings)


class _Judged(Struct, frozen=True):
    """One piece of a prompt, compared with that of the two bars that it exceeds by less, or misses by more."""

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

    def verdict(
        self, is_open: bool, top_cosine: float | None, subject: str, rows: Mapping[int, float] | None = None
    ) -> Verdict:
        """The verdict on a prompt whose best piece this is; the arguments are attributes of `Verdict`."""
        return Verdict(
            is_open,
            top_cosine,
            self.threshold,
            "auto",
            score=self.score,
            bar=self.bar,
            parts=self.parts,
            subject=subject,
            rows=rows,
        )


def _nothing_asked(bars: Calibration, top_cosine: float | None, rows: Mapping[int, float] | None = None) -> Verdict:
    """Return the closed verdict on a prompt of which no piece could be compared with anything here."""
    return Verdict(False, top_cosine, bars.talk if bars.talk > SILENT else None, "auto", bar="talk", rows=rows)


def _added_up(columns: Mapping[str, NDArray[np.float64]], n_pieces: int, n_rows: int) -> NDArray[np.float64]:
    """Return the sum of the parts, shape (n_pieces, n_rows); −∞ everywhere when there are no parts."""
    return sum(columns.values(), np.zeros((n_pieces, n_rows))) if columns else np.full((n_pieces, n_rows), -math.inf)


def _judged(row: int, parts: dict[str, float], bars: Calibration) -> _Judged:
    talk = sum(parts.values())
    evidence = talk - parts["chat"] - parts["probe"]
    # A prompt must pass both bars: the one that it is nearer to, or misses by more, decides and is shown.
    if talk - bars.talk <= evidence - bars.tasks:
        return _Judged(row, talk, bars.talk, "talk", parts)
    return _Judged(row, evidence, bars.tasks, "tasks", parts)


def _counted(lacking: NDArray[np.float64], text: str) -> NDArray[np.float64]:
    """Return how much the words count that are not here, shape (n_pieces,); behind a role those of the whole prompt."""
    if len(lacking) and gives_role(text):
        return np.full(len(lacking), min(lacking.max(), statistic.MAX_ABSENT_OF_ROLE))
    return np.minimum(lacking, statistic.MAX_ABSENT) * asks_how_to(text)


def _joined(texts: list[str]) -> str:
    """Join texts by spaces, in order, without those that are a part of another."""
    return " ".join(text for text in texts if not any(text != other and text in other for other in texts))


_ASIDE = np.uint8(bit("test") | bit("example") | bit("aside"))
"""Roles of files that name much that the project is not about; two plain words must be found elsewhere."""
_LAST_NAME = re.compile(r"[A-Za-z_]\w+")
_AROUND = r"^(?:\.{0,2}/)+|/+$"
_EDGES = ".,;:!?()[]\"'"


def names_something(backend: SearchBackend, text: str) -> bool:
    """Return whether a prompt names an identifier, a file or a literal here, or is two words of one name."""
    if any(_is_there(backend, name) for name in identifiers(text)):
        return True
    if any(_is_file(backend, path) for path in paths(text)):
        return True
    if len(_live(backend, backend.names.literals(keys_said(text))[1])):
        return True
    words = list(dict.fromkeys(word.strip(_EDGES).lower() for word in content_words(text).split()))
    return len(words) == 2 and all(map(str.isalpha, words)) and _is_together(backend, words)


def _is_there(backend: SearchBackend, name: str) -> bool:
    """Return whether an identifier is defined in the project, or occurs there if no other text is spelled like it."""
    parts: list[str] = _LAST_NAME.findall(name.lstrip("-").replace("-", "_"))
    if not parts:
        return False
    if any(len(_live(backend, block.rows)) for block in backend.names.definitions(folded(parts[-1]))):
        return True
    whole, *of_word = tokens_of_word(parts[-1]) or ("",)
    return bool(of_word) and len(_live(backend, backend.terms.rows_of(whole))) > 0


def _is_file(backend: SearchBackend, path: str) -> bool:
    """Return whether a path is one of the project: shortened at its beginning, or with folders above the project."""
    asked = compiled(_AROUND).sub("", path.replace("\\", "/")).lower()
    called = (found.lower() for _, found in backend.names.files_called(asked.split("/"))) if asked else ()
    return any(f"/{found}".endswith(f"/{asked}") or f"/{asked}".endswith(f"/{found}") for found in called)


def _is_together(backend: SearchBackend, words: list[str]) -> bool:
    """Return whether the name of one definition or of one file has some words, apart from tests and pages beside."""
    called = [file for file, _ in backend.names.files_called([" ".join(words)])]
    if (backend.fields.of_files("role", np.array(called, np.int32)) & _ASIDE == 0).any():
        return True
    terms = part_terms(" ".join(words))
    for block in backend.names.with_words(terms):
        held = np.bincount(np.concatenate(block.holding), minlength=len(block.letters)) == len(terms)
        for name in np.flatnonzero(held).tolist():
            rows = _live(backend, block.rows[block.starts[name] : block.starts[name + 1]])
            files = backend.fields.of_rows("file", rows)
            if (backend.fields.of_files("role", files) & _ASIDE == 0).any():
                return True
    return False


def _live(backend: SearchBackend, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the chunks that can be found."""
    return rows[backend.allows(EVERYTHING, rows)] if len(rows) else rows

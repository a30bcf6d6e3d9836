"""The background: prompts that deserve no context in any project, as one embedding model sees them.

The shipped prompts fall in two: a bank, against which chunks and prompts are measured, and a calibration part, which
no part of the statistic was made from. Their vectors are made when a model is first used and kept in `$HYBRID_HOME`.

From them come the bars of a segment, and the part of the evidence for a record that a sentence transformer adds.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import re
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from hybrid.base.arrays import encode_arrays, ranges, read_arrays, string_table, unpack_strings
from hybrid.base.atomic import make_private_folder, write_atomic
from hybrid.base.resources import shipped
from hybrid.index.vectors import quantise
from hybrid.models.registry import read_probe
from hybrid.prompting.clean import clean
from hybrid.prompting.content import MAX_PIECES, gate_pieces, generic_terms, terms_of_names, terms_of_words, word_groups
from hybrid.prompting.rules import SEARCH, must_name, prompt_verdict
from hybrid.search.gate.identity import PROMPTS, background_key
from hybrid.search.gate.statistic import (
    MAX_ABSENT,
    MAX_NAMES,
    MAX_TOGETHER,
    TOGETHER_TERMS,
    chat_closeness,
    code_logit,
    gain,
    hubness,
    length_penalty,
    null_factors,
    rarity,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from hybrid.base.arrays import Arrays
    from hybrid.constants import GateConfig
    from hybrid.index.backend import BackgroundFigures
    from hybrid.models.registry import Probe
    from hybrid.types import Embedder, EmbedderInfo


FOLDER = "background"
"""Folder of the vectors in `$HYBRID_HOME`."""

_TALK = frozenset({"session", "ack", "chat", "life", "facts", "assist"})
"""Kinds of background prompts that are talk; the others are tasks of other projects."""

_NAMES = tuple(
    """
    chat_bank piece_vector piece_null piece_chat piece_probe piece_prompt prompt_is_talk prompt_words
    term_text term_at term_generic generic_documents piece_words piece_words_at piece_names piece_names_at
    group_text group_at piece_groups piece_groups_at
    """.split()
)
"""Names of the arrays in a file of vectors; a file that lacks one of them is made anew."""

_UNSAFE = re.compile(r"[^\w.-]+")


class Prompt(Struct, frozen=True):
    """One shipped prompt.

    Attributes:
        kind: session, ack, chat, life, facts or assist (talk); task, request or report (tasks of other projects).
        language: ISO 639-1.
        is_bank: False for those that are kept for calibration.
        text: As a person types it.
    """

    kind: str
    language: str
    is_bank: bool
    text: str

    @property
    def is_talk(self) -> bool:
        """True for talk, False for a task of another project."""
        return self.kind in _TALK


class Background:
    """The background as one model sees it.

    The calibration part lists the pieces of its prompts one after another; prompts that a rule silences have none.

    Attributes:
        key: Identity of prompts, model and version; segments annotated with another one do not fit.
        chat_bank: Pieces of talk, unit vectors, shape (n_talk, dim).
        piece_vectors: Calibration pieces, unit vectors, shape (n_pieces, dim).
        terms: Every term that calibration pieces ask for.
    """

    def __init__(self, key: str, arrays: Arrays | Mapping[str, NDArray[Any]], probe: Probe | None) -> None:
        self.key = key
        self.probe = probe
        self._arrays = arrays
        self.chat_bank: NDArray[np.float32] = arrays["chat_bank"]
        self.piece_vectors: NDArray[np.float32] = arrays["piece_vector"]

    def array(self, name: str) -> NDArray[Any]:
        """Return an array of the calibration part by name.

        Of pieces: `piece_null`, `piece_chat`, `piece_probe`, and `piece_prompt`, the prompt each belongs to. Of
        prompts: `prompt_is_talk`, `prompt_words`. Of terms: `term_generic`. Numbers of the terms of each piece, and
        where they begin: `piece_words`, `piece_words_at`, `piece_names`, `piece_names_at`.
        """
        return self._arrays[name]

    @property
    def n_generic_documents(self) -> int:
        """Number of documents of code at large that were counted for `term_generic`."""
        return int(self.array("generic_documents")[0])

    @property
    def n_prompts(self) -> int:
        """Number of prompts of the calibration part, silenced ones too."""
        return len(self.array("prompt_is_talk"))

    @cached_property
    def terms(self) -> list[str]:
        """The distinct terms of the calibration pieces, sorted."""
        return unpack_strings(self.array("term_text"), self.array("term_at"))

    @property
    def piece_terms(self) -> list[list[str]]:
        """The words of each calibration piece as index terms, `terms_of_words`."""
        return self._texts(self.terms, "piece_words")

    @property
    def piece_groups(self) -> list[list[str]]:
        """The words of each calibration piece as they were typed, as `word_groups` gives them."""
        return self._texts(unpack_strings(self.array("group_text"), self.array("group_at")), "piece_groups")

    def _texts(self, texts: list[str], name: str) -> list[list[str]]:
        numbers, ends = self.array(name).tolist(), self.array(f"{name}_at").tolist()
        return [[texts[number] for number in numbers[start:end]] for start, end in pairwise(ends)]

    def chat(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the closeness to talk (`chat_closeness`) of unit vectors (n, dim), shape (n,)."""
        return _chat(self.chat_bank, vectors)

    def logit(self, vectors: NDArray[np.float32], null: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the probe's logit of unit vectors (n, dim) with null factors (n,), shape (n,); 0 without a probe."""
        return _logit(self.probe, vectors, null)

    def chat_weight(self, settings: GateConfig) -> float:
        """Return the weight of closeness to chat from the settings: another one for a model without a probe."""
        return settings.chat if self.probe else settings.chat_without_probe


def shipped_prompts() -> list[Prompt]:
    """The shipped prompts in order."""
    lines = shipped(*PROMPTS).read_text(encoding="utf-8").splitlines()
    rows = (json.loads(line) for line in lines)
    return [Prompt(row["kind"], row["language"], row["use"] == "bank", row["text"]) for row in rows]


def load_background(embedder: Embedder, home: Path, key: str = "") -> Background:
    """Load the background of an embedder from `$HYBRID_HOME`, or embed it now and keep it there.

    A folder that cannot be written costs the next call the same work, nothing else.

    Args:
        embedder: The embedder of the model.
        home: `$HYBRID_HOME`.
        key: Key of the background, if the caller knows it; worked out when empty.

    Raises:
        ModelError: The model's probe is damaged, or of another model.
    """
    model = embedder.info
    key = key or background_key(model)
    probe = read_probe(model)
    path = home / FOLDER / f"{_file_stem(model)}-{key}.safetensors"
    kept = _kept(path)
    if kept is not None:
        return Background(key, kept, probe)
    made = embed_background(embedder, probe)
    _keep(path, made, model)
    return Background(key, made, probe)


def _file_stem(model: EmbedderInfo) -> str:
    return f"{_UNSAFE.sub('-', model.name)[-60:]}-{model.sha256[:16]}"


def _kept(path: Path) -> Arrays | None:
    with contextlib.suppress(OSError, ValueError, KeyError):
        arrays = read_arrays(path)
        if arrays.metadata.get("sha256") == _digest({name: arrays[name] for name in _NAMES}):
            return arrays
    return None


def _keep(path: Path, arrays: Mapping[str, NDArray[Any]], model: EmbedderInfo) -> None:
    """Write the arrays if possible, and delete older files of the same model but the newest, for another hybrid."""
    with contextlib.suppress(OSError):
        make_private_folder(path.parent)
        metadata = {"model": model.key, "sha256": _digest(arrays)}
        write_atomic(path, encode_arrays(arrays, metadata), durable=False)
        others = [other for other in path.parent.glob(f"{_file_stem(model)}-*.safetensors") if other != path]
        for other in sorted(others, key=lambda other: other.stat().st_mtime_ns)[:-1]:
            other.unlink()


def _digest(arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return the SHA-256 in hex of everything in the arrays, by which a half written file is found out."""
    found = hashlib.sha256()
    for name in _NAMES:
        found.update(f"{name} {arrays[name].dtype.str} {arrays[name].shape}\n".encode())
        found.update(np.ascontiguousarray(arrays[name]).data)
    return found.hexdigest()


def embed_background(embedder: Embedder, probe: Probe | None) -> dict[str, NDArray[Any]]:
    """Embed the shipped prompts and return the arrays of the background, those in `_NAMES`, by name."""
    prompts = shipped_prompts()
    bank = [prompt for prompt in prompts if prompt.is_bank]
    # Talk is told from work piece by piece of a prompt, so it is kept in pieces that are cut in the same way.
    talk = dict.fromkeys(piece for prompt in bank if prompt.is_talk for piece in gate_pieces(prompt.text, MAX_PIECES))
    held = [prompt for prompt in prompts if not prompt.is_bank]
    parts = [searched_pieces(prompt.text) for prompt in held]
    texts = [piece for part in parts for piece in part]
    vectors, lengths = embedder.embed_queries(texts)
    null = null_factors(lengths, len(texts))
    chat_bank = _without_zeros(embedder.embed_queries(list(talk))[0])
    return {
        "chat_bank": chat_bank,
        "piece_vector": vectors,
        "piece_null": null,
        "piece_chat": _chat(chat_bank, vectors),
        "piece_probe": _logit(probe, vectors, null),
        "piece_prompt": np.repeat(np.arange(len(held), dtype=np.int32), [len(part) for part in parts]),
        "prompt_is_talk": np.array([prompt.is_talk for prompt in held], np.uint8),
        "prompt_words": np.array([len(prompt.text.split()) for prompt in held], np.int32),
        **_term_arrays(texts),
        **_group_arrays([word_groups(text) for text in texts]),
    }


def searched_pieces(text: str) -> tuple[str, ...]:
    """The pieces of a prompt as the hook would search with them; none when a rule or its missing names silence it."""
    cleaned = clean(text)
    is_compared = prompt_verdict(cleaned) == SEARCH and not must_name(cleaned.text)
    return gate_pieces(cleaned.text, MAX_PIECES) if is_compared else ()


def _chat(bank: NDArray[np.float32], vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    return chat_closeness(vectors @ np.swapaxes(bank, 0, 1))


def _logit(probe: Probe | None, vectors: NDArray[np.float32], null: NDArray[np.float32]) -> NDArray[np.float32]:
    if probe is None:
        return np.zeros(len(vectors), np.float32)
    return code_logit(vectors * null[:, np.newaxis], probe.weight, probe.bias)


def _without_zeros(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.ascontiguousarray(vectors[vectors.any(axis=1)])


def _term_arrays(texts: Sequence[str]) -> dict[str, NDArray[Any]]:
    words, names = [terms_of_words(text) for text in texts], [terms_of_names(text) for text in texts]
    terms = sorted({term for of_piece in (*words, *names) for term in of_piece})
    n_documents, counts = generic_terms()
    return {
        **string_table("term", terms),
        "term_generic": np.array([counts.get(term, 0) for term in terms], np.int64),
        "generic_documents": np.array([n_documents], np.int64),
        **_numbered("piece_words", terms, words),
        **_numbered("piece_names", terms, names),
    }


def _group_arrays(found: Sequence[Sequence[str]]) -> dict[str, NDArray[Any]]:
    groups = sorted({group for piece in found for group in piece})
    return {**string_table("group", groups), **_numbered("piece_groups", groups, found)}


def _numbered(name: str, texts: Sequence[str], rows: Sequence[Sequence[str]]) -> dict[str, NDArray[np.int32]]:
    """Return rows of texts as two arrays: `name`, the places in `texts` of one row after another; where each begins.

    The second, `name_at`, has the end of the last row behind its beginnings.
    """
    number = {text: place for place, text in enumerate(texts)}
    values = np.array([number[text] for row in rows for text in row], np.int32)
    return {name: values, f"{name}_at": np.array([0, *accumulate(map(len, rows))], np.int32)}


# --- as a sentence transformer reads it ----------------------------------------------------------------------
#
#     reader(prompt, record) = weight · (cosine − hub)
#
# is a part of the evidence for a record, beside the cosine of the index's model. A static table sees words; a sentence
# transformer sees that a prompt and a record say the same in other words. It reads records once, in the background
# (`knowledge.record_indexes`), and the beginning of each prompt. The hub of a record is its mean cosine to the nearest
# tasks of other projects, as in `parts.hubness`. The bars of a collection count the part too, so it reads the prompts
# once.

READER_VERSION = "1"
"""Changes whenever the same prompts, records and model give other figures."""

_MOST_CHARS = 400
"""Characters of a prompt that are read: the time of a transformer grows with the text."""


class ReadBackground(Struct, frozen=True):
    """The background as a sentence transformer reads it.

    Attributes:
        tasks: Tasks of other projects, unit vectors, shape (n_tasks, dim).
        prompts: The calibration prompts, unit vectors or zeros, shape (n_prompts, dim).
    """

    tasks: NDArray[np.float32]
    prompts: NDArray[np.float32]


class Reading(Struct, frozen=True):
    """The records of one collection as a sentence transformer reads them.

    Attributes:
        vectors: int8, shape (n_rows, dim).
        scales: Scale of each vector, 0 for a row that cannot be found, shape (n_rows,).
        hubs: Shape (n_rows,).
        background: Largest evidence of each calibration piece for one record, with this part, shape (n_pieces,).
    """

    vectors: NDArray[np.int8]
    scales: NDArray[np.float32]
    hubs: NDArray[np.float32]
    background: NDArray[np.float32]


class RecordReader(Struct, frozen=True):
    """A sentence transformer and what it read of a collection.

    Attributes:
        embedder: It is loaded with the first prompt.
        reading: Of the collection.
    """

    embedder: Embedder
    reading: Reading

    def evidence(self, text: str) -> NDArray[np.float32]:
        """Return cosine − hub of a cleaned prompt and each record, shape (n_rows,)."""
        vector = self.embedder.embed_query(read_text(text))
        cosines = (self.reading.vectors.astype(np.float32) @ vector) * self.reading.scales
        return cosines - self.reading.hubs


def read_text(text: str) -> str:
    """Return the part of a cleaned prompt that is read."""
    return text[:_MOST_CHARS]


def read_records(vectors: NDArray[np.float32], tasks: NDArray[np.float32]) -> tuple[Any, Any, Any]:
    """Return int8 rows, scales and hubs of the vectors of records, (n, dim), beside those of tasks, (n_tasks, dim)."""
    stored = quantise(vectors, np.zeros(len(vectors), np.bool_))
    return stored.data, stored.scale, hubness(vectors @ np.swapaxes(tasks, 0, 1))


READ = ("models", "background", "reader.safetensors")
"""Path, as parts, of the vectors of the shipped prompts, as the reader that ships reads them."""


def load_read_background(embedder: Embedder, home: Path) -> ReadBackground:
    """Load the background of a reader: what ships, else what lies in `$HYBRID_HOME`.

    For another reader it is read now, which takes half a minute, and kept there. A folder that cannot be written costs
    the next call the same work, nothing else. Every way gives the same figures.
    """
    key = read_key(embedder.info)
    path = home / FOLDER / f"reader-{key}.safetensors"
    for found in (shipped(*READ), path):
        with contextlib.suppress(OSError, ValueError, KeyError):
            kept = read_arrays(found)
            # Those in the home have the key in their names too, and earlier versions wrote it nowhere else.
            if found == path or kept.metadata["key"] == key:
                return _read_background(kept)
    arrays = read_background(embedder)
    with contextlib.suppress(OSError):
        make_private_folder(path.parent)
        write_atomic(path, encode_arrays(arrays, {"key": key}), durable=False)
        for other in path.parent.glob("reader-*.safetensors"):
            if other != path:
                other.unlink()
    return _read_background(arrays)


def read_key(model: EmbedderInfo) -> str:
    """Return the identity of the background as a model reads it, 16 hex digits: the texts it reads, and the model."""
    texts = json.dumps(_read_texts()).encode("utf-8", "surrogatepass")
    return hashlib.sha256(b"%s %s %s" % (READER_VERSION.encode(), model.key.encode(), texts)).hexdigest()[:16]


def read_background(embedder: Embedder) -> dict[str, NDArray[np.float16]]:
    """Read the shipped prompts; return the vectors of `ReadBackground` by name, in half precision, as they are kept."""
    return {name: embedder.embed_queries(texts)[0].astype(np.float16) for name, texts in _read_texts().items()}


def _read_texts() -> dict[str, list[str]]:
    """Return the texts that are read, by the name in `ReadBackground`."""
    prompts = shipped_prompts()
    parts = {
        "tasks": (prompt for prompt in prompts if prompt.is_bank and not prompt.is_talk),
        "prompts": (prompt for prompt in prompts if not prompt.is_bank),
    }
    return {name: [read_text(clean(prompt.text).text) for prompt in part] for name, part in parts.items()}


def _read_background(kept: Arrays | Mapping[str, NDArray[Any]]) -> ReadBackground:
    return ReadBackground(kept["tasks"].astype(np.float32), kept["prompts"].astype(np.float32))


# --- the thresholds of one corpus: no labels, no search, under a millisecond ---------------------------------
#
# The calibration part is scored against the corpus; a threshold is the score that a wanted share of these prompts would
# exceed by chance. The figures that this needs are made here too, for each segment as it is written; they follow from
# the segment's own chunks, so that an edit costs the chunks that it changed.

SILENT = -9.0
"""Score of a background prompt that a rule silences, or that no chunk can be compared with; it never opens."""
_BLOCK_ROWS = 1024
"""Rows compared at a time, into buffers of 5 MB: fresh memory for every product takes twice as long."""

_BLOCK_SUMS = 1 << 16
"""Sums of pieces and chunks made at a time, which stay in the cache."""

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
        the largest sum of the rarities of terms of each calibration piece that stand together in one chunk.
    """
    spans = _spans(arrays, background.terms)
    return {
        "background_top": closest_background(arrays["vector"], arrays["vector_scale"], background),
        "background_df": np.diff(spans)[:, 0].astype(np.uint32),
        "background_together": _together(spans, arrays["post_row"], len(arrays["vector"]), background),
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


def _spans(arrays: Mapping[str, NDArray[Any]], terms: list[str]) -> NDArray[np.int64]:
    """Return where the postings of each term begin and end, shape (n_terms, 2)."""
    data, ends = arrays["term_text"].tobytes(), arrays["term_at"].tolist()
    texts = (data[start:end] for start, end in pairwise(ends))
    spans = dict(zip(texts, pairwise(arrays["term_start"].tolist()), strict=True))
    found = [spans.get(term.encode(), (0, 0)) for term in terms]
    return np.array(found, np.int64).reshape(len(terms), 2)


def _together(
    spans: NDArray[np.int64], holders: NDArray[np.int32], n_rows: int, background: Background
) -> NDArray[np.float32]:
    """Return the largest sum of the rarities of terms of each calibration piece in one chunk, shape (n_pieces,).

    It is decided by one chunk, so that the largest value of some segments is that of all their chunks. Of a piece only
    the rarest terms are looked at, as by `rarest`.

    Args:
        spans: Of each term, where its rows begin and end in `holders`.
        holders: Rows of the chunks that hold a term, each once.
        n_rows: Number of chunks.
        background: The background of the same model.
    """
    words, starts = background.array("piece_words"), background.array("piece_words_at").astype(np.int64)
    rarities = rarity(background.array("term_generic").astype(np.float64), background.n_generic_documents)[words]
    pieces = np.arange(len(starts) - 1).repeat(np.diff(starts))
    order = np.lexsort((-rarities, pieces))
    order = order[np.arange(len(order)) - starts[pieces] < TOGETHER_TERMS]
    pieces, rarities, spans = pieces[order], rarities[order], spans[words[order]]
    found = np.zeros(len(starts) - 1, np.float32)
    step = max(_BLOCK_SUMS // max(n_rows, 1), 1)
    for first in range(0, len(found) if n_rows else 0, step):
        some = slice(*np.searchsorted(pieces, (first, first + step)))
        at, counts = ranges(spans[some, 0], spans[some, 1])
        keys = ((pieces[some] - first) * n_rows).repeat(counts) + holders[at]
        sums = np.bincount(keys, rarities[some].repeat(counts), minlength=step * n_rows)
        found[first : first + step] = sums.reshape(step, n_rows).max(axis=1)[: len(found) - first]
    return found

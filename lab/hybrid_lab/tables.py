"""Measures embedding models side by side: each measure of the product with `model.name` set to one after the other.

A measure is the command that anyone can run, with `--json`; this module only collects what they print. Prose is
measured here: no other command needs it. `hybrid eval tables` prints the collection.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from hybrid.base.errors import HybridError
from hybrid.chunking.chunker import prose_chunks
from hybrid.models.registry import load_embedder
from hybrid.types import ChunkLimits, EmbedInput, Skipped
from hybrid.upkeep.indexing import file_source

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from hybrid.config import IndexConfig
    from hybrid.types import Embedder

_LEAST_CHARS = 200
"""A section with less text behind its first sentence is not asked for."""
_LEAST_WORDS, _MOST_WORDS = 5, 40
"""Words of a first sentence."""
_LIMITS = ChunkLimits(max_chars=1_000_000, merge_chars=0, cut_chars=1_000_000)
"""A section is one chunk, however long."""


class Data(Struct, frozen=True):
    """The data of the measures; an empty field leaves its measure out.

    Attributes:
        repos: Holds a folder for each repository.
        manifest: As `hybrid eval retrieval --manifest`, for the questions.
        questions: Judged questions about code.
        tasks: Judged tasks; whole repositories are indexed for them.
        gate: Judged prompts of the gate.
        records: Folder of prompts and records, as `hybrid eval records` reads it.
        prose: Folders with documentation.
    """

    repos: Path | None
    manifest: Path | None
    questions: Path | None
    tasks: Path | None
    gate: Path | None
    records: Path | None
    prose: tuple[Path, ...]


def measure(model: str, data: Data, home: Path, index: IndexConfig, settings: Sequence[str] = ()) -> dict[str, float]:
    """Return the figures of one model by their names.

    Args:
        model: Name or folder.
        data: What to measure on.
        home: A folder to keep indexes in, for this model alone.
        index: Settings that decide which files of documentation count.
        settings: Assignments for every measure.

    Raises:
        HybridError: A measure failed; its message is passed on.
    """
    figures: dict[str, float] = {}
    sets = [part for assignment in (f"model.name={model}", *settings) for part in ("--set", assignment)]
    retrieval = [("questions", data.questions, ["--manifest", str(data.manifest)] if data.manifest else [])]
    retrieval.append(("tasks", data.tasks, ["--whole"]))
    for name, path, options in retrieval:
        if path:
            where = ["--repos", str(data.repos), *options, "--home", str(home / name)]
            form = asked("retrieval", [str(path), *where, *sets])
            figures |= {f"{name}, {of}": value for of, value in _ndcg(form).items()}
    if data.gate:
        form = asked("gate", [str(data.gate), "--repos", str(data.repos), "--home", str(home / "gate"), *sets])[
            "prompts"
        ]
        rates = {"true": "true_rate", "false": "false_rate", "other projects": "other_repo_rate", "AUC": "auc"}
        figures |= {f"gate, {name}": form[key] for name, key in rates.items() if form[key] is not None}
    if data.records:
        rows = asked("records", [str(data.records), *sets])["rows"]
        figures |= {f"records, {row['kind'] if row['kind'] != 'all' else 'fits'}": row["given"] for row in rows[:1]}
        figures |= {f"records, {row['kind']}": row["given"] for row in rows if not row["is_wanted"]}
    if data.prose:
        figures |= prose(model, data.prose, home, index)
    return figures


def asked(measure_name: str, options: Sequence[str]) -> dict[str, Any]:
    """Return what `hybrid eval MEASURE` prints as JSON.

    Raises:
        HybridError: It failed; its message is passed on.
    """
    command = [sys.executable, "-m", "hybrid", "eval", measure_name, *options, "--json", "--quiet"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, encoding="utf-8", env=os.environ)
    if not done.stdout.startswith("{"):
        raise HybridError(f"hybrid eval {measure_name} failed: {done.stderr.strip()[-500:]}")
    return json.loads(done.stdout)


def _ndcg(form: Mapping[str, Any]) -> dict[str, float]:
    """Return nDCG@10 by meaning alone and of the whole ranking, as the mean of repositories and of queries."""
    (found,) = form["sets"].values()
    figures: dict[str, float] = {}
    for mode in ("dense", "hybrid"):
        result = found["configurations"][mode]
        counts: dict[str, int] = found["n"]["repositories"]
        by_query = sum(n * result["repositories"][repo]["nDCG@10"] for repo, n in counts.items())
        figures |= {mode: result["overall"]["nDCG@10"], f"{mode}, by query": by_query / sum(counts.values())}
    return figures


# --- Prose ---------------------------------------------------------------------------------------------------------


class Section(Struct, frozen=True):
    """A section of documentation.

    Attributes:
        path: Of its file, relative to the folder.
        heading: Its headings from the top, joined.
        first: The first sentence below the last heading.
        rest: What follows the first sentence.
    """

    path: str
    heading: str
    first: str
    rest: str


def prose(model: str, folders: Sequence[Path], home: Path, index: IndexConfig) -> dict[str, float]:
    """Return how well sections are found among all of their folder: mean reciprocal ranks of two ways to ask.

    By heading: the text is read without it. By first sentence: the rest is read with path and headings as the head, as
    the index does. A heading or sentence that occurs twice in a folder is not asked.
    """
    embedder = load_embedder(model, home=home)
    ranks: dict[str, list[float]] = {"heading": [], "sentence": []}
    for folder in folders:
        sections = list(sections_of(folder, index, home))
        bare = [EmbedInput("", f"{section.first} {section.rest}") for section in sections]
        whole = [EmbedInput(f"{section.path} {section.heading}", section.rest) for section in sections]
        ranks["heading"] += _ranks(embedder, [section.heading for section in sections], bare)
        ranks["sentence"] += _ranks(embedder, [section.first for section in sections], whole)
    if not ranks["heading"]:
        raise HybridError("no folder holds documentation with headings")
    n_asked = {f"prose by {way}, asked": float(len(found)) for way, found in ranks.items()}
    return {f"prose by {way}, MRR": float(np.mean(found)) for way, found in ranks.items()} | n_asked


def _ranks(embedder: Embedder, texts: Sequence[str], documents: Sequence[EmbedInput]) -> list[float]:
    """Return the reciprocal rank of each document for its own text; texts that occur twice are left out."""
    counts = Counter(texts)
    asked = [row for row, text in enumerate(texts) if counts[text] == 1]
    if not asked:
        return []
    queries, _ = embedder.embed_queries([texts[row] for row in asked])
    cosines: NDArray[np.float32] = queries @ np.transpose(embedder.embed_documents(documents))
    own: NDArray[np.float32] = cosines[np.arange(len(asked)), asked]
    n_better: list[int] = (cosines > own[:, np.newaxis]).sum(axis=1).tolist()
    return [1 / (1 + n) for n in n_better]


def sections_of(folder: Path, index: IndexConfig, home: Path) -> Iterator[Section]:
    """Yield the English sections of the documents of a folder that have a sentence and something behind it."""
    source = file_source(folder, index, home)
    for found in source.scan():
        document = source.read(found)
        if isinstance(document, Skipped) or document.kind != "doc":
            continue
        lines = document.text.split("\n")
        for chunk in prose_chunks(document.text, document.language, _LIMITS):
            text = " ".join("\n".join(lines[chunk.start_line : chunk.end_line]).strip("\n=-~^*# ").split())
            first, _, rest = text.partition(". ")
            is_sentence = _LEAST_WORDS <= len(first.split()) <= _MOST_WORDS
            if chunk.name and is_sentence and len(rest) >= _LEAST_CHARS and text.isascii():
                yield Section(document.path, f"{chunk.scope} {chunk.name}".replace(" > ", " "), first, rest)

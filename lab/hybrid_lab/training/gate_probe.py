"""Trains the probe of an embedding model, a logistic "is this text about code"; the gate adds its score.

Run by hand: `python -m hybrid_lab.training.gate_probe PAIRS models/background/prompts.jsonl models/static-v1`.
Needs `zstandard`. Writes `probe.safetensors` into the model's folder and prints how it does on what it was not
trained on. Prompts that calibrate thresholds (`use` = calibration) are only measured: trained on, they would look
further from code than other people's talk.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hybrid.base.arrays import write_arrays
from hybrid.models.bag_model import StaticEmbedder, read_bag_model
from hybrid.models.folders import read_manifest
from hybrid.prompting.content import MAX_PIECES, content_words, gate_pieces
from hybrid.search.gate.background import Prompt
from hybrid_lab.training.pairs import SHARDS, read_pairs

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

PROBE = "probe.safetensors"

TYPES = ("commit2code", "doc2code", "test2code", "head2body")
"""Pairs whose query is written by a person: commit subjects, doc comments, test names, headings."""

N_TRAINED, N_HELD_OUT = 2_000, 500
"""Queries of each type."""

ROWS_OF_A_SHARD = 8_000
"""Enough for that many headings, the rarest type; the shards are shuffled."""

TASK_KINDS = ("task", "request", "report")
TASK_REPEATS = 8
"""Times that each background task counts as code: people describe code in other words than documentation does."""

STRENGTHS = (0.3, 1.0, 3.0)
C = 1.0
"""Inverse strength of the penalty that is shipped; the others are reported."""

FOLDS = 5
SEED = 0


@dataclass(frozen=True, slots=True)
class Probe:
    """A plane in the space of `inputs`; a positive score means code."""

    weight: NDArray[np.float64]
    bias: float

    def scores(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """The logit of each row, shape (n,)."""
        return x @ self.weight + self.bias


@dataclass(frozen=True, slots=True)
class Examples:
    """Inputs of texts, and the text that each is a piece of.

    Attributes:
        x: One row a piece, shape (n, dim).
        groups: Number of the text, shape (n,). Its rows follow one another, the whole text first; a text that is
            repeated comes again with all of its rows.
    """

    x: NDArray[np.float64]
    groups: NDArray[np.intp]


def query_input(query_sum: NDArray[np.float32]) -> NDArray[np.float64] | None:
    """The direction of a query times n / √(n² + 1), n its length, so that vague words count less; None without one."""
    vector = query_sum.astype(np.float64)
    length = float(np.linalg.norm(vector))
    return vector / np.sqrt(length * length + 1) if length > 0 else None


def embed(embedder: StaticEmbedder, texts: Iterable[Sequence[str]]) -> Examples:
    """Inputs of texts that are given as their pieces; pieces without a vector are left out."""
    rows: list[NDArray[np.float64]] = []
    groups: list[int] = []
    for i, parts in enumerate(texts):
        found = [x for part in parts if (x := query_input(embedder.query_sums([part])[0])) is not None]
        rows += found
        groups += [i] * len(found)
    return Examples(np.array(rows).reshape(-1, embedder.info.dim), np.array(groups, np.intp))


def fit(code: NDArray[np.float64], talk: NDArray[np.float64], c: float) -> Probe:
    """Logistic regression by Newton's method: both classes weigh the same, and the bias is not penalised.

    Minimises |w|² / 2 + c · Σ weight · loss with weights n / (2 · size of the class), as scikit-learn does with
    `class_weight="balanced"`.
    """
    rows = np.vstack([code, talk])
    x: NDArray[np.float64] = np.hstack([rows, np.ones((len(rows), 1))])
    y = np.repeat([1.0, 0.0], [len(code), len(talk)])
    weights = c * len(x) / (2 * np.where(y > 0, len(code), len(talk)))
    w = np.zeros(x.shape[1])
    for _ in range(50):
        step = newton_step(x, y, weights, w)
        w = w - step
        if np.abs(step).max() < 1e-9:
            return Probe(w[:-1], float(w[-1]))
    raise ValueError(f"no solution was found for C = {c}; are there enough examples of both kinds?")


def newton_step(
    x: NDArray[np.float64], y: NDArray[np.float64], weights: NDArray[np.float64], w: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the gradient to subtract from `w`, whose last number is the bias."""
    penalty: NDArray[np.float64] = np.append(np.ones(len(w) - 1), 0.0)
    p = 1 / (1 + np.exp(-(x @ w)))
    gradient = penalty * w + (weights * (p - y)) @ x
    hessian = np.eye(len(w)) * penalty + (np.transpose(x) * (weights * p * (1 - p))) @ x
    return np.linalg.solve(hessian, gradient).astype(np.float64, copy=False)


def cross_validated(code: Examples, talk: Examples, c: float) -> tuple[float, float]:
    """The shares of code and of talk that a probe gets right that never saw the same prompt."""
    right = [0, 0]
    for fold in range(FOLDS):
        is_out = [examples.groups % FOLDS == fold for examples in (code, talk)]
        probe = fit(code.x[~is_out[0]], talk.x[~is_out[1]], c)
        right[0] += int((probe.scores(code.x[is_out[0]]) > 0).sum())
        right[1] += int((probe.scores(talk.x[is_out[1]]) <= 0).sum())
    return right[0] / len(code.x), right[1] / len(talk.x)


def described(probe: Probe, examples: Examples) -> str:
    """Describe a probe: texts that look like code as a whole, or in any piece, and the mean of the best piece.

    Args:
        probe: Any.
        examples: As `embed` gives them: no text is repeated.
    """
    scores = probe.scores(examples.x)
    _, first = np.unique(examples.groups, return_index=True)
    whole, best = scores[first], np.maximum.reduceat(scores, first)
    shares = f"positive as a whole {(whole > 0).mean():.3f}, with any piece {(best > 0).mean():.3f}"
    return f"{len(first):4} texts  {shares}, best piece {best.mean():+.2f}"


def with_tasks(queries: Examples, tasks: Examples) -> Examples:
    """Queries and then tasks, each of these `TASK_REPEATS` times, as examples of code."""
    groups = queries.groups.max(initial=-1) + 1 + tasks.groups
    return Examples(
        np.vstack([queries.x, *[tasks.x] * TASK_REPEATS]),
        np.concatenate([queries.groups, np.tile(groups, TASK_REPEATS)]),
    )


def read_queries(folder: Path) -> tuple[list[str], list[str]]:
    """Queries to train on and others to measure with, in equal shares of the types, drawn with a fixed seed.

    Raises:
        ValueError: The shards do not hold enough.
    """
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for row in read_pairs(folder, most=ROWS_OF_A_SHARD):
        found[row["type"]][row["q"]] = None
    chosen = random.Random(SEED)
    trained: list[str] = []
    held_out: list[str] = []
    for kind in TYPES:
        if len(found[kind]) < N_TRAINED + N_HELD_OUT:
            raise ValueError(f"{folder}: {len(found[kind])} queries of type {kind} in {SHARDS}")
        drawn = chosen.sample(list(found[kind]), N_TRAINED + N_HELD_OUT)
        trained += drawn[:N_TRAINED]
        held_out += drawn[N_TRAINED:]
    return trained, held_out


def read_prompts(path: Path) -> dict[tuple[str, str], list[str]]:
    """The background prompts by `kind` and `use`; all kinds of talk are one, `talk`."""
    prompts: dict[tuple[str, str], list[str]] = defaultdict(list)
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        prompt = Prompt(row["kind"], row["language"], row["use"] == "bank", row["text"])
        prompts["talk" if prompt.is_talk else prompt.kind, row["use"]].append(prompt.text)
    return prompts


def write_probe(folder: Path, probe: Probe, about: dict[str, str]) -> None:
    """Write the probe beside its model."""
    arrays = {"weight": probe.weight.astype(np.float32), "bias": np.array([probe.bias], np.float32)}
    write_arrays(folder / PROBE, arrays, about)


def report(code: Examples, talk: Examples, measured: dict[str, Examples]) -> str:
    """For each strength what a probe gets right, and how often it calls the texts of each set code."""
    lines: list[str] = []
    for c in STRENGTHS:
        of_code, of_talk = cross_validated(code, talk, c)
        right = (of_code * len(code.x) + of_talk * len(talk.x)) / (len(code.x) + len(talk.x))
        probe = fit(code.x, talk.x, c)
        lines.append(f"C = {c:g}{', shipped' if c == C else ''}; |weight| {np.linalg.norm(probe.weight):.1f}")
        lines.append(f"  {FOLDS}-fold accuracy {right:.3f}: code {of_code:.3f}, talk {of_talk:.3f}")
        lines += [f"  {name:20} {described(probe, examples)}" for name, examples in measured.items()]
    return "\n".join(lines)


def main() -> None:
    """Train, report and write, as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=Path, help=f"folder with {SHARDS}: training pairs, field `q` the query")
    parser.add_argument("prompts", type=Path, help="background prompts, for example models/background/prompts.jsonl")
    parser.add_argument("model", type=Path, help="folder of a weighted-bag model, for example models/static-v1")
    arguments = parser.parse_args()
    manifest = read_manifest(arguments.model)
    embedder = StaticEmbedder(read_bag_model(arguments.model), manifest.info(manifest.name, manifest.digest))
    trained, held_out = (embed(embedder, ([content_words(q)] for q in qs)) for qs in read_queries(arguments.pairs))
    prompts = read_prompts(arguments.prompts)
    background = {
        key: embed(embedder, (gate_pieces(text, MAX_PIECES) for text in texts)) for key, texts in prompts.items()
    }
    tasks = embed(embedder, ([content_words(text)] for kind in TASK_KINDS for text in prompts[kind, "bank"]))
    talk, code = background["talk", "bank"], with_tasks(trained, tasks)

    measured = {"queries, held out": held_out} | {", ".join(key): background[key] for key in sorted(background)}
    print(report(code, talk, measured))  # noqa: T201 - a script says what it did
    about = {
        "about": "logistic regression on query vectors; a positive score means that a text is about code",
        "model": embedder.info.key,
        "n_code": str(len(trained.x)),
        "n_tasks": f"{len(tasks.x)} x {TASK_REPEATS}",
        "n_talk": str(len(talk.x)),
        "C": f"{C:g}",
    }
    write_probe(arguments.model, fit(code.x, talk.x, C), about)


if __name__ == "__main__":
    main()

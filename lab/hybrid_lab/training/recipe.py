"""Makes the shipped model from training pairs, in stages that are kept: what is there is not made again.

    python -m hybrid_lab.training.recipe PAIRS TEACHER WORK MODEL

PAIRS is a folder as `pairs` reads it, TEACHER the folder of a sentence transformer. The stages stand in WORK: the
vocabulary, the pairs as bags, the start, and one table a seed, named by the settings that made them; the mean of the
tables goes into MODEL, whose `manifest.toml` gets the digests of its files. `gate_probe` is run after it, since the
probe is trained on the vectors of the product. Needs the extra `training`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from dataclasses import asdict, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import tomlkit
import torch

from hybrid.base.atomic import write_atomic
from hybrid.base.text import sha256_of_file
from hybrid.models.bag_model import BagModel, Limits, WordTokenizer, write_bag_model
from hybrid.models.folders import MANIFEST_NAME
from hybrid_lab.training.contrastive import Material, Settings, Table, Trained, held_out_mrr, train
from hybrid_lab.training.gate_probe import read_prompts
from hybrid_lab.training.pairs import (
    HELD_OUT,
    SHARDS,
    TEMPLATES,
    BagSet,
    body_set,
    joined,
    pair_of,
    pair_set,
    query_set,
    read_held_out,
    read_pair_set,
    read_pairs,
    write_pair_set,
)
from hybrid_lab.training.start import Start, Teacher, chosen_texts, first_table, first_weights, vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from hybrid_lab.training.pairs import PairSet

LIMITS = Limits(query_words=128, body_words=320, head_words=32)
"""Words that are trained on; the product reads as many."""

N_TOKENS, DIM = 41_000, 256
SEEDS = (0, 1, 2, 3)
N_DISTILLED = 12_000
HEAD_FACTORS = (0.5, 0.75, 1.0, 1.5, 2.0, 3.0)
"""The trained head weight times these is tried, the smallest first."""
NEARLY = 0.985
"""Share of the best figure that is enough: a head says names, which the whole ranking knows besides."""
QUERY_LENGTH = 2.22
"""The median length of the held-out queries with the first table, which the constants of the gate were chosen for."""

FILES = ("config.json", "config_sentence_transformers.json", "model.safetensors", "modules.json", "vocab.txt")
"""Every file that decides the vectors."""
MODULES = [{"idx": 0, "name": "0", "path": "", "type": "hybrid.models.weighted_bag.WeightedBag"}]
SENTENCE_TRANSFORMERS = {"prompts": {}, "default_prompt_name": None, "similarity_fn_name": "cosine"}


def make(pairs: Path, teacher: Path, work: Path, prompts: Path, settings: Settings, seeds: Sequence[int]) -> BagModel:
    """Run the stages that are not done yet and return the model.

    Args:
        pairs: Folder of the training pairs.
        teacher: Folder of the sentence transformer.
        work: Folder of the stages; made when it is missing.
        prompts: The background prompts of the gate.
        settings: How each table is trained.
        seeds: One table each.

    Raises:
        SystemExit: The stages in `work` were made of other input.
    """
    work.mkdir(parents=True, exist_ok=True)
    _check_input(work, [*sorted(pairs.glob(SHARDS)), pairs / HELD_OUT, *sorted(teacher.glob("*.safetensors")), prompts])
    tokenizer = WordTokenizer(_words(pairs, teacher, work))
    material = _material(pairs, teacher, work, tokenizer, prompts)
    name = hashlib.sha256(json.dumps(asdict(settings), sort_keys=True).encode()).hexdigest()[:8]
    tables = [
        _kept(work / f"table-{name}-{seed}.npz", Trained, lambda seed=seed: train(material, settings, seed, say))
        for seed in seeds
    ]
    trained = with_best_head(mean(tables), material.held_out)
    say(f"head weight {trained.head_weight:.3f}")
    return quantised(trained, tokenizer, material.held_out.queries)


def say(line: str) -> None:
    """Print a line at once; a script says what it does."""
    print(line, flush=True)  # noqa: T201


# --- Stages --------------------------------------------------------------------------------------------------------


def _check_input(work: Path, files: Sequence[Path]) -> None:
    """Note names and sizes of the input beside the stages; end when those are of other input."""
    input_now = "".join(f"{path.name} {path.stat().st_size}\n" for path in files)
    noted = work / "input.txt"
    if not noted.exists():
        write_atomic(noted, input_now.encode())
    elif noted.read_text(encoding="utf-8") != input_now:
        raise SystemExit(f"{work} holds stages that were made of other input: give another folder, or empty it")


def _words(pairs: Path, teacher: Path, work: Path) -> list[str]:
    path = work / "vocab.txt"
    if not path.exists():
        say("vocabulary")
        words = vocabulary(map(pair_of, read_pairs(pairs)), Teacher(teacher).words(), N_TOKENS)
        write_atomic(path, "\n".join(words).encode())
    return path.read_text(encoding="utf-8").split("\n")


def _material(pairs: Path, teacher: Path, work: Path, tokenizer: WordTokenizer, prompts: Path) -> Material:
    learnt = _kept_pairs(work / "pairs.npz", lambda: pair_set([*map(pair_of, read_pairs(pairs))], tokenizer, LIMITS))
    held_out = _kept_pairs(
        work / "held-out.npz", lambda: pair_set([*map(pair_of, read_held_out(pairs))], tokenizer, LIMITS)
    )
    talk = [
        text
        for (kind, use), texts in read_prompts(prompts).items()
        if (kind, use) == ("talk", "bank")
        for text in texts
    ]
    return Material(
        pairs=learnt,
        held_out=held_out,
        start=_kept(work / "start.npz", Start, lambda: _start(pairs, teacher, tokenizer, learnt)),
        templates=query_set(tokenizer, ["", *(template.replace("{}", "") for template in TEMPLATES)], LIMITS),
        talk=query_set(tokenizer, talk, LIMITS),
    )


def _start(pairs: Path, teacher: Path, tokenizer: WordTokenizer, learnt: PairSet) -> Start:
    say("start: the sentence transformer reads words and texts")
    model = Teacher(teacher)
    texts = chosen_texts([*map(pair_of, read_pairs(pairs))], N_DISTILLED, seed=0)
    n_tokens = len(tokenizer.vocabulary)
    return Start(
        table=first_table(model.embed(tokenizer.vocabulary), DIM),
        weights=first_weights(joined([learnt.queries, learnt.bodies]), n_tokens),
        texts=body_set(tokenizer, texts, LIMITS),
        text_vectors=model.embed(texts),
    )


def _kept_pairs(path: Path, make_pairs: Callable[[], PairSet]) -> PairSet:
    if not path.exists():
        say(f"{path.stem}: pairs to bags")
        partial = path.with_suffix(".partial.npz")
        write_pair_set(partial, make_pairs())
        partial.replace(path)
    return read_pair_set(path)


def _kept(path: Path, kind: type[Any], make_it: Callable[[], Any]) -> Any:
    """Return what a file holds, a dataclass of arrays, numbers and bags; make and write it first when it is missing."""
    if not path.exists():
        made = make_it()
        partial = path.with_suffix(".partial.npz")
        np.savez(partial, **_flat(made))
        partial.replace(path)
    with np.load(path) as arrays:
        return _built(kind, dict(arrays))


def _flat(value: Any) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for field in fields(value):
        part = getattr(value, field.name)
        flat |= {f"{field.name}.{k}": v for k, v in _flat(part).items()} if is_dataclass(part) else {field.name: part}
    return flat


def _built(kind: type[Any], arrays: dict[str, NDArray[Any]]) -> Any:
    values: dict[str, Any] = {}
    for field in fields(kind):
        if field.name in arrays:
            array = arrays[field.name]
            values[field.name] = array.item() if array.ndim == 0 else array
        else:
            prefix = f"{field.name}."
            values[field.name] = _built(
                BagSet, {k[len(prefix) :]: v for k, v in arrays.items() if k.startswith(prefix)}
            )
    return kind(**values)


# --- From tables to a model ----------------------------------------------------------------------------------------


def mean(tables: Sequence[Trained]) -> Trained:
    """Return the mean of tables that began alike: better than each of them, and steadier."""
    return Trained(
        table=np.mean([t.table for t in tables], axis=0),
        query_weights=np.exp(np.mean([np.log(t.query_weights) for t in tables], axis=0)),
        document_weights=np.exp(np.mean([np.log(t.document_weights) for t in tables], axis=0)),
        head_weight=float(np.exp(np.mean([np.log(t.head_weight) for t in tables]))),
    )


def with_best_head(trained: Trained, held_out: PairSet) -> Trained:
    """Return a table with the smallest head weight that finds nearly as many of the pairs held out as the best one.

    Their heads are as in an index. Training sees only paths as heads: with names in half of them the whole ranking did
    worse.
    """
    named = replace(held_out, paths=held_out.heads)
    tried = [replace(trained, head_weight=trained.head_weight * factor) for factor in HEAD_FACTORS]
    figures = [held_out_mrr(Table(one), named) for one in tried]
    return next(one for one, figure in zip(tried, figures, strict=True) if figure >= NEARLY * max(figures))


def quantised(trained: Trained, tokenizer: WordTokenizer, queries: BagSet) -> BagModel:
    """Return a model with rows of int8; the scale of a row goes into its token's weights.

    Query weights are scaled so that `queries` have the median length `QUERY_LENGTH`: the gate and the probe add a
    constant to the length of a query, which thus means the same for every table.
    """
    scales = np.abs(trained.table).max(axis=1) / 127
    table = np.rint(trained.table / scales[:, None]).astype(np.int8)
    with torch.no_grad():
        sums = Table(trained).query_sums(queries)
    factor = QUERY_LENGTH / float(torch.linalg.vector_norm(sums, dim=1).median())
    return BagModel(
        tokenizer=tokenizer,
        table=table,
        query_weights=(trained.query_weights * scales * factor).astype(np.float32),
        document_weights=(trained.document_weights * scales).astype(np.float32),
        head_weight=trained.head_weight,
        limits=LIMITS,
    )


def write(target: Path, model: BagModel) -> None:
    """Write the files of a model and their digests; the other fields of its manifest are written by a person."""
    target.mkdir(parents=True, exist_ok=True)
    write_bag_model(target, model)
    for name, value in (("modules.json", MODULES), ("config_sentence_transformers.json", SENTENCE_TRANSFORMERS)):
        (target / name).write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8", newline="\n")
    path = target / MANIFEST_NAME
    manifest = tomlkit.parse(path.read_text(encoding="utf-8")) if path.exists() else tomlkit.document()
    files = tomlkit.table()
    for name in FILES:
        files[name] = sha256_of_file(target / name)
    manifest["files"] = files
    path.write_text(tomlkit.dumps(manifest), encoding="utf-8", newline="\n")


def main() -> None:
    """Make the model, as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=Path, help="folder of training pairs")
    parser.add_argument("teacher", type=Path, help="folder of a sentence transformer, for example all-MiniLM-L6-v2")
    parser.add_argument("work", type=Path, help="folder that keeps the stages")
    parser.add_argument("target", metavar="model", type=Path, help="model folder to write")
    parser.add_argument("--prompts", type=Path, default=Path("models/background/prompts.jsonl"))
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="another training setting")
    arguments = parser.parse_args()
    changes = {name: json.loads(value) for name, _, value in (text.partition("=") for text in arguments.set)}
    settings = Settings(**changes)
    model = make(arguments.pairs, arguments.teacher, arguments.work, arguments.prompts, settings, arguments.seeds)
    write(arguments.target, model)


if __name__ == "__main__":
    main()

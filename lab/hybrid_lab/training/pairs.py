"""Training pairs: read from their shards, given the heads that the product writes, and kept as bags of tokens.

A folder of pairs holds `pairs-*.jsonl.zst`, one JSON object a line: `q` a text like a query, `d` what it belongs to,
`lang` of `d`, `repo`, `path`, and `type`; `dev.jsonl` holds pairs of other repositories. Reading needs `zstandard`.
"""

from __future__ import annotations

import io
import json
import random
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from hybrid.chunking.definitions import parse
from hybrid.index.analysis import head_line
from hybrid.models.bag_model import document_bags, query_bags
from hybrid.types import EmbedInput

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from hybrid.models.bag_model import Bags, Limits, WordTokenizer

SHARDS = "pairs-*.jsonl.zst"
HELD_OUT = "dev.jsonl"

TEMPLATES = (
    "how does {} work", "where is {}", "where do we {}", "how do I {}", "which file has the code for {}",
    "find the function that does {}", "why does {} fail", "what happens when {}", "explain {}", "add support for {}",
    "fix {}", "can you change {}", "which test covers {}", "what is {} for", "I want to {}", "please look at {}",
)  # fmt: skip
"""The forms of a question or a request that a query is put into; only their words matter, the order does not."""

_BATCH = 2_048


@dataclass(frozen=True, slots=True)
class Pair:
    """A text like a query and the text that it belongs to.

    Attributes:
        query: Such as the first sentence of a comment, or the subject of a commit.
        body: Code or prose, without a first line that only repeats the path.
        path: Of the file, relative to the repository.
        repo: `owner/name`.
        language: Of the body, as tree-sitter grammars spell it.
        type: The way that the pair was found: `doc2code`, `commit2code`, …
    """

    query: str
    body: str
    path: str
    repo: str
    language: str
    type: str

    @property
    def head(self) -> str:
        """The head line as the product writes it: path and names of definitions; of prose the path alone.

        The heading of a section is the query of its pair, so it stays out.
        """
        definitions = () if self.language == "markdown" else parse(self.body, self.language).definitions
        return head_line(self.path, "", definitions)


def read_pairs(folder: Path, *, most: int | None = None) -> Iterator[dict[str, str]]:
    """Yield the rows of every shard in a folder, in order of their names; of each shard the first `most`, or all."""
    import zstandard

    for shard in sorted(folder.glob(SHARDS)):
        with shard.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as stream:
            for line in islice(io.TextIOWrapper(stream, encoding="utf-8"), most):
                yield json.loads(line)


def read_held_out(folder: Path) -> Iterator[dict[str, str]]:
    """Yield the rows of the repositories that are not trained on."""
    with (folder / HELD_OUT).open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def pair_of(row: Mapping[str, str]) -> Pair:
    """Return a row as a pair."""
    first, _, rest = row["d"].partition("\n")
    body = rest if first == row["path"] else row["d"]
    return Pair(row["q"], body, row["path"], row["repo"], row["lang"], row["type"])


# --- Bags ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BagSet:
    """Bags of tokens, one after another, as `hybrid.models.bag_model.Bags` holds them but in less memory.

    Attributes:
        tokens: int32, shape (n_entries,).
        factors: float32, shape (n_entries,).
        starts: Bag i owns the entries starts[i] to starts[i + 1]; int64, shape (n_bags + 1,).
    """

    tokens: NDArray[np.int32]
    factors: NDArray[np.float32]
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def take(self, rows: NDArray[np.intp]) -> BagSet:
        """Return some bags in the order asked for."""
        lengths = np.diff(self.starts)[rows]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        entries = np.repeat(self.starts[rows] - starts[:-1], lengths) + np.arange(starts[-1])
        return BagSet(self.tokens[entries], self.factors[entries], starts)


def joined(parts: Iterable[Bags | BagSet]) -> BagSet:
    """Return the bags of several lists as one list."""
    found = list(parts)
    lengths = [np.diff(part.starts) for part in found]
    return BagSet(
        np.concatenate([part.tokens.astype(np.int32) for part in found]),
        np.concatenate([part.factors.astype(np.float32) for part in found]),
        np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64),
    )


def query_set(tokenizer: WordTokenizer, texts: Sequence[str], limits: Limits) -> BagSet:
    """Return the bags of queries, by the arithmetic of the product."""
    return joined(
        query_bags(tokenizer, texts[i : i + _BATCH], limits.query_words) for i in range(0, len(texts), _BATCH)
    )


def body_set(tokenizer: WordTokenizer, texts: Sequence[str], limits: Limits) -> BagSet:
    """Return the bags of bodies alone, by the arithmetic of the product."""
    return _documents(tokenizer, [EmbedInput("", text) for text in texts], limits)


def head_set(tokenizer: WordTokenizer, texts: Sequence[str], limits: Limits) -> BagSet:
    """Return the bags of head lines alone, with a head weight of 1."""
    return _documents(tokenizer, [EmbedInput(text, "") for text in texts], limits)


def _documents(tokenizer: WordTokenizer, inputs: Sequence[EmbedInput], limits: Limits) -> BagSet:
    batches = (inputs[i : i + _BATCH] for i in range(0, len(inputs), _BATCH))
    return joined(document_bags(tokenizer, batch, limits, head_weight=1.0) for batch in batches)


@dataclass(frozen=True, slots=True)
class PairSet:
    """Pairs as bags; all of them have as many rows as there are pairs.

    Attributes:
        queries: The texts like queries.
        bodies: What they belong to.
        paths: Head lines of the path alone.
        heads: Head lines as the product writes them: path and names.
        repos: Number of the repository, int32.
        same_query: Pairs of equal queries have one number, int64.
        same_body: The same for bodies.
    """

    queries: BagSet
    bodies: BagSet
    paths: BagSet
    heads: BagSet
    repos: NDArray[np.int32]
    same_query: NDArray[np.int64]
    same_body: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.repos)


def pair_set(pairs: Sequence[Pair], tokenizer: WordTokenizer, limits: Limits) -> PairSet:
    """Return pairs as bags; a parse of every body takes most of the time, some 0.4 ms a pair."""
    return PairSet(
        queries=query_set(tokenizer, [pair.query for pair in pairs], limits),
        bodies=body_set(tokenizer, [pair.body for pair in pairs], limits),
        paths=head_set(tokenizer, [pair.path for pair in pairs], limits),
        heads=head_set(tokenizer, [pair.head for pair in pairs], limits),
        repos=_numbered([pair.repo for pair in pairs]).astype(np.int32),
        same_query=_numbered([pair.query for pair in pairs]),
        same_body=_numbered([pair.body for pair in pairs]),
    )


def _numbered(texts: Sequence[str]) -> NDArray[np.int64]:
    numbers: dict[str, int] = {}
    return np.fromiter((numbers.setdefault(text, len(numbers)) for text in texts), np.int64, len(texts))


def write_pair_set(path: Path, pairs: PairSet) -> None:
    """Write pairs into one file of arrays."""
    arrays: dict[str, NDArray[np.generic]] = {}
    for name in ("queries", "bodies", "paths", "heads"):
        bags: BagSet = getattr(pairs, name)
        arrays |= {f"{name}_tokens": bags.tokens, f"{name}_factors": bags.factors, f"{name}_starts": bags.starts}
    for name in ("repos", "same_query", "same_body"):
        arrays[name] = getattr(pairs, name)
    np.savez(path, **arrays)  # type: ignore[arg-type]


def read_pair_set(path: Path) -> PairSet:
    """Read what `write_pair_set` wrote."""
    with np.load(path) as arrays:
        bags = {
            name: BagSet(*(arrays[f"{name}_{part}"] for part in ("tokens", "factors", "starts")))
            for name in ("queries", "bodies", "paths", "heads")
        }
        return PairSet(**bags, **{name: arrays[name] for name in ("repos", "same_query", "same_body")})


def batches(repos: NDArray[np.int32], *, size: int, block: int, chance: random.Random) -> Iterator[NDArray[np.intp]]:
    """Yield the rows of one pass in batches made of blocks of one repository: the other rows of a block are hard.

    Args:
        repos: Repository of each row.
        size: Rows of a batch, a multiple of `block`.
        block: Rows of one repository that stand together; what is left over of a repository waits for the next pass.
        chance: Decides the order.
    """
    blocks: list[list[int]] = []
    by_repo: dict[int, list[int]] = {}
    for row, repo in enumerate(repos.tolist()):
        by_repo.setdefault(repo, []).append(row)
    for rows in by_repo.values():
        chance.shuffle(rows)
        blocks += [rows[i : i + block] for i in range(0, len(rows) - block + 1, block)]
    chance.shuffle(blocks)
    many = size // block
    for i in range(0, len(blocks) - many + 1, many):
        yield np.array([row for part in blocks[i : i + many] for row in part], np.intp)

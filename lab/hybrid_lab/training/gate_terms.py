"""Counts how common each term is in code and documentation at large; the gate compares a project's terms with it.

Run by hand: `python -m hybrid_lab.training.gate_terms PAIRS models/background/terms.tsv`. Needs
`zstandard`. Only numbers of documents are kept, no text.
"""

from __future__ import annotations

import argparse
import io
import json
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.base.text import chunk_digest
from hybrid.base.tokens import term_counts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

SHARDS = "pairs-*.jsonl.zst"

LEAST_DOCUMENTS = 20
"""A term in fewer documents is rare, however few documents there are."""

LEAST_SHARE = 4000
"""A term is kept when at least one document in so many has it: a rarer one counts as rare, not by its number."""


def read_pairs(folder: Path, *, most: int | None = None) -> Iterator[dict[str, str]]:
    """The rows of every shard in a folder, in order of their names; of each shard the first `most`, or all."""
    import zstandard

    for shard in sorted(folder.glob(SHARDS)):
        with shard.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as stream:
            for line in islice(io.TextIOWrapper(stream, encoding="utf-8"), most):
                yield json.loads(line)


def count_documents(documents: Iterable[str]) -> tuple[int, Counter[str]]:
    """Count different documents, and for each term of the lexical leg the documents that hold it."""
    seen: set[bytes] = set()
    counts: Counter[str] = Counter()
    for document in documents:
        digest = chunk_digest(document)
        if digest not in seen:
            seen.add(digest)
            counts.update(term_counts(document).keys())
    return len(seen), counts


def common_terms(n_documents: int, counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """The terms worth keeping, most frequent first, then by term; numbers and other scripts are left out."""
    least = max(LEAST_DOCUMENTS, n_documents / LEAST_SHARE)
    kept = [(term, n) for term, n in counts.items() if n >= least and term.isascii() and not term.isdigit()]
    return sorted(kept, key=lambda entry: (-entry[1], entry[0]))


def write_terms(path: Path, n_documents: int, terms: Iterable[tuple[str, int]]) -> None:
    """Write a line with the number of documents, then one line a term."""
    lines = [f"# documents\t{n_documents}", *(f"{term}\t{n}" for term, n in terms)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


def main() -> None:
    """Count and write, as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=Path, help=f"folder with {SHARDS}: training pairs, field `d` the document")
    parser.add_argument("target", type=Path, help="file to write, for example models/background/terms.tsv")
    arguments = parser.parse_args()
    n_documents, counts = count_documents(row["d"] for row in read_pairs(arguments.pairs))
    if not n_documents:
        parser.error(f"{arguments.pairs} has no {SHARDS}")
    write_terms(arguments.target, n_documents, common_terms(n_documents, counts))


if __name__ == "__main__":
    main()

"""Reports how much of real trees the parser finds, per language; `hybrid eval chunks` calls it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from hybrid.types import Skipped
from hybrid.upkeep.indexing import file_source
from hybrid_lab.chunks.coverage import definition_coverage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from hybrid.config import IndexConfig
    from hybrid_lab.chunks.coverage import CoverageRow


def evaluate_chunks(folders: Iterable[Path], settings: IndexConfig, home: Path) -> tuple[CoverageRow, ...]:
    """Coverage of definitions in the code files of some folders, as an index would read them; per language.

    Args:
        folders: Trees; each file counts once for each tree it lies in.
        settings: Which files are left out.
        home: `$HYBRID_HOME`, which is left out too.
    """
    return definition_coverage(pair for folder in folders for pair in _code_files(folder, settings, home))


def _code_files(folder: Path, settings: IndexConfig, home: Path) -> Iterator[tuple[str, str]]:
    source = file_source(folder, settings, home)
    for found in source.scan():
        document = source.read(found)
        if not isinstance(document, Skipped) and document.kind == "code":
            yield f"{folder.name}/{document.path}", document.text


def coverage_form(rows: Sequence[CoverageRow]) -> dict[str, Any]:
    """The JSON of the report; `share` is None where nothing was expected."""
    expected, found = sum(row.expected for row in rows), sum(row.found for row in rows)
    return {
        "languages": [asdict(row) | {"share": row.share} for row in rows],
        "expected": expected,
        "found": found,
        "share": found / expected if expected else None,
    }

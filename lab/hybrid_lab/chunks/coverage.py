"""Reports which share of the definitions of real files the parser finds; a command of the CLI calls it."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from msgspec import Struct, field

from hybrid.chunking.definitions import parse
from hybrid.chunking.languages import language_of
from hybrid_lab.chunks.expected import ExpectedName, expected_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hybrid.types import Definition

_NEAR_LINES = 2
_MAX_EXAMPLES = 10


class CoverageRow(Struct, frozen=True):
    """The definitions found in the files of one language.

    Attributes:
        language: Grammar name.
        files: Files of this language.
        size_bytes: Their text in UTF-8.
        parsed: Files that the parser read.
        failed: Files without a grammar or that the parser gave up on.
        definitions: Definitions found, of every kind.
        expected: Names that an independent estimate by regular expressions says are defined.
        found: Those of them that a definition of that name stands for, at most two lines away.
        missed: Up to ten of the others, as `path:line name`.
    """

    language: str
    files: int
    size_bytes: int
    parsed: int
    failed: int
    definitions: int
    expected: int
    found: int
    missed: tuple[str, ...]

    @property
    def share(self) -> float | None:
        """Found ÷ expected in [0, 1]; None where nothing was expected."""
        return self.found / self.expected if self.expected else None


class _Tally(Struct):
    files: int = 0
    size_bytes: int = 0
    failed: int = 0
    definitions: int = 0
    expected: int = 0
    found: int = 0
    missed: list[str] = field(default_factory=list[str])


def definition_coverage(files: Iterable[tuple[str, str]]) -> tuple[CoverageRow, ...]:
    """Coverage per language, the language with most files first.

    The estimate is conservative and knows nothing of the parser, but it is an estimate: a share of 1.0 says that
    nothing obvious is missed, not that everything is found. Files of unknown language are left out.

    Args:
        files: Pairs of relative path and text.
    """
    tallies: dict[str, _Tally] = defaultdict(_Tally)
    for path, text in files:
        language = language_of(path, text.partition("\n")[0])
        if language is not None and language != "text":
            _count(tallies[language], path, text, language)
    rows = [_row(language, tally) for language, tally in tallies.items()]
    return tuple(sorted(rows, key=lambda row: (-row.files, row.language)))


def _count(tally: _Tally, path: str, text: str, language: str) -> None:
    parsed = parse(text, language)
    tally.files += 1
    tally.size_bytes += len(text.encode("utf-8", "replace"))
    tally.definitions += len(parsed.definitions)
    tally.failed += bool(parsed.failure)
    expected = expected_names(text, language)
    missed = missed_names(expected, parsed.definitions)
    tally.expected += len(expected)
    tally.found += len(expected) - len(missed)
    room = _MAX_EXAMPLES - len(tally.missed)
    tally.missed += [f"{path}:{name.line} {name.name}" for name in missed[:room]]


def missed_names(expected: Sequence[ExpectedName], definitions: Iterable[Definition]) -> list[ExpectedName]:
    """Expected names that no definition of that name stands for within two lines of its start."""
    starts: dict[str, list[int]] = defaultdict(list)
    for definition in definitions:
        starts[definition.name].append(definition.start_line)
    return [
        name for name in expected if not any(abs(line - name.line) <= _NEAR_LINES for line in starts.get(name.name, ()))
    ]


def _row(language: str, tally: _Tally) -> CoverageRow:
    return CoverageRow(
        language=language,
        files=tally.files,
        size_bytes=tally.size_bytes,
        parsed=tally.files - tally.failed,
        failed=tally.failed,
        definitions=tally.definitions,
        expected=tally.expected,
        found=tally.found,
        missed=tuple(tally.missed),
    )

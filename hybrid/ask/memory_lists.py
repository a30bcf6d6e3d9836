"""The text of what was found in the memory: one line each or in full; commands print it, HTTP answers carry it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid.records.memory.showing import full_lines, index_line, moment_text, title_of
from hybrid.records.memory.types import SessionSummary
from hybrid.render.marks import neutralise, neutralise_line
from hybrid.render.numbers import amount

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hybrid.ask.memory_filters import Scope
    from hybrid.ask.memory_lookup import Recalled
    from hybrid.records.memory.store import MemoryStore
    from hybrid.records.memory.types import Row
    from hybrid.search.ranking.memory import Parts

_NOTHING_KNOWN = "No previous sessions found for this project yet."
_NOTHING_AT_ALL = "No previous sessions found in any project yet."

_INDENT = "      "


def list_text(
    found: Sequence[Recalled], form: str, *, here: str | None = None, by_day: bool = False, is_explained: bool = False
) -> str:
    """Rows as text without a line end behind the last one.

    Args:
        found: In the order in which they are shown.
        form: `index`, a line each, or `full`.
        here: As of `index_line`.
        by_day: Say the day above the first row of each; for rows in the order of time.
        is_explained: Say the parts of each rank below it.
    """
    if form == "full":
        return "\n\n".join("\n".join(_whole(one, here, is_explained=is_explained)) for one in found)
    lines: list[str] = []
    last = ""
    for one in found:
        day = moment_text(one.row.created_ms)[:10]
        if by_day and day != last:
            lines.append(f"## {day}")
            last = day
        lines.append(neutralise_line(index_line(one.row, here=here)))
        lines += _explained(one) if is_explained else ()
    return "\n".join(lines)


def nothing_known(store: MemoryStore, scope: Scope, window_ms: int) -> str:
    """What a list of the newest rows says when it has none.

    Args:
        store: May hold uses of tools of which nothing is told yet.
        scope: Whose rows were asked for.
        window_ms: After the last use of a tool, until it is told of.
    """
    if n := store.n_waiting():
        said = f"{amount(n, 'use')} of tools {'waits' if n == 1 else 'wait'} for what follows"
        return f"Nothing is told of yet: {said}; ask again in {max(window_ms / 1000, 1):.0f} s."
    return _NOTHING_KNOWN if scope.name else _NOTHING_AT_ALL


def newest_first(found: Sequence[Recalled]) -> list[Recalled]:
    """The same rows in the order of time, for a list by days."""
    return sorted(found, key=lambda one: (-one.row.created_ms, -one.row.id))


def parts_line(parts: Parts) -> str:
    """`0.83 = recency 0.12 + type 0.07 + similarity 0.60 + file_overlap 0.00 + same_project 0.04 - …`."""
    signed = [
        f"{'-' if value < 0 else '+'} {name} {abs(value):.3f}"
        for name, value in parts.as_json().items()
        if value or name != "repetition"
    ]
    return f"{parts.score:.3f} = {' '.join(signed).removeprefix('+ ')}"


def _whole(one: Recalled, here: str | None, *, is_explained: bool) -> Iterator[str]:
    yield neutralise_line(index_line(one.row, here=here))
    yield from _explained(one) if is_explained else ()
    for line in _body(one.row):
        for part in neutralise(line).split("\n"):
            yield f"{_INDENT}{part}".rstrip()


def _body(row: Row) -> list[str]:
    """Everything below the title."""
    lines = full_lines(row)
    first = title_of(row)
    lines = lines[1:] if lines and " ".join(lines[0].split()) == first else lines
    if isinstance(row, SessionSummary) and row.told.request and " ".join(row.told.request.split()) != first:
        return [f"Request: {row.told.request}", *lines]
    return lines


def _explained(one: Recalled) -> list[str]:
    return [f"{_INDENT}{parts_line(one.parts)}"] if one.parts else []

"""Writes and reads the judged queries of a user's own project; `hybrid eval init` and `hybrid eval run` call it.

The file is meant to be corrected by hand. It keeps up with the project: a passage carries a digest of its text and is
found again when edits moved it. A query whose own words can no longer be held out is left out.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from hybrid.base.atomic import write_atomic
from hybrid.base.digest import chunk_digest, digest8
from hybrid.evaluation.qrels import JudgedQuery, QrelsError, query_of, read_lines, unique

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from hybrid.evaluation.measures import Passage
    from hybrid.evaluation.proposing import Proposal

    Lines = Callable[[str], Sequence[str] | None]
    """The lines of a file of the project as it is now; None when it is gone or no document."""


class Own(Struct, frozen=True):
    """The queries of a project to itself.

    Attributes:
        queries: That can be asked now.
        left_out: Ids of those that cannot: a file is gone, or the text that was to be held out has changed.
    """

    queries: tuple[JudgedQuery, ...]
    left_out: tuple[str, ...]

    @property
    def held_out(self) -> tuple[Passage, ...]:
        """What no query may find, in order of path and line."""
        found = {passage for query in self.queries for passage in query.held_out}
        return tuple(sorted(found, key=lambda each: (each.path, each.start_line or 0, each.end_line or 0)))


def write_own(path: Path, proposals: Sequence[Proposal], repo: str, lines: Lines, *, is_forced: bool) -> None:
    """Write proposals, a line each: `{id, repo, query, category, language, gold, held_out?}`.

    Args:
        path: Of the file.
        proposals: In the order of the lines.
        repo: Name of the project.
        lines: Gives the texts of passages.
        is_forced: Replace a file that is there.

    Raises:
        QrelsError: The file is there and must not be replaced.
        OSError: It cannot be written.
    """
    counts: dict[str, int] = {}
    rows: list[str] = []
    for each in proposals:
        counts[each.category] = counts.get(each.category, 0) + 1
        row: dict[str, Any] = {
            "id": f"{each.category}-{counts[each.category]:03d}",
            "repo": repo,
            "query": each.query,
            "category": each.category,
            "language": each.language,
            "gold": [_fields(each.target, lines)],
        }
        if each.held_out:
            row["held_out"] = [_fields(each.held_out, lines)]
        rows.append(json.dumps(row, ensure_ascii=False))
    data = "".join(f"{row}\n" for row in rows).encode()
    if is_forced:
        write_atomic(path, data)
        return
    try:
        with path.open("xb") as file:
            file.write(data)
    except FileExistsError as error:
        raise QrelsError(
            f"{path} is there, and may hold corrections; --force replaces it, --out names another"
        ) from error


def read_own(path: Path, repo: str, lines: Lines) -> Own:
    """The queries of such a file, their passages where they are now; each is asked of the project, whatever it says.

    Args:
        path: Of the file.
        repo: Name of the project.
        lines: Gives the texts of files.

    Raises:
        QrelsError: As `qrels.read_queries`, or no query can be asked any more.
    """
    rows = unique(path, read_lines(path, _checked), lambda row: row[0])
    queries: list[JudgedQuery] = []
    left_out: list[str] = []
    for name, fields in rows:
        followed = _follow(fields, lines)
        if followed is None:
            left_out.append(name)
        else:
            queries.append(replace(query_of(followed), repo=repo))
    if not queries:
        raise QrelsError(
            f"{path}: no query fits the project as it is now; `hybrid eval init --force` proposes new ones"
        )
    return Own(tuple(queries), tuple(left_out))


def _checked(fields: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    return query_of({"repo": "", **fields}).id, {"repo": "", **fields}


def _fields(passage: Passage, lines: Lines) -> dict[str, Any]:
    start, end = passage.start_line or 1, passage.end_line or 1
    digest = _digest(lines(passage.path) or (), start, end)
    return {"path": passage.path, "start_line": start, "end_line": end, "digest": digest}


def _digest(lines: Sequence[str], start: int, end: int) -> str:
    return digest8(chunk_digest("\n".join(lines[start - 1 : end])))


# --- keeping up with edits ---------------------------------------------------------------------------------


def _follow(fields: Mapping[str, Any], lines: Lines) -> dict[str, Any] | None:
    """The line with its passages where they are now; None when that cannot be told of what must be held out."""
    held_out = [_moved(passage, lines) for passage in fields.get("held_out") or ()]
    if None in held_out or any(lines(str(passage["path"])) is None for passage in fields["gold"]):
        return None
    shifts = {
        str(after["path"]): int(after["start_line"]) - int(before["start_line"])
        for before, after in zip(fields.get("held_out") or (), held_out, strict=True)
        if after is not None and after.get("start_line")
    }
    gold = [
        _moved(passage, lines) or _shifted(passage, shifts.get(str(passage["path"]), 0)) for passage in fields["gold"]
    ]
    return {**fields, "gold": gold, "held_out": held_out}


def _moved(passage: Mapping[str, Any], lines: Lines) -> dict[str, Any] | None:
    """The passage where its text stands now; as it is when it carries no digest; None when its text is not there."""
    found = lines(str(passage["path"]))
    digest, start, end = (passage.get(name) for name in ("digest", "start_line", "end_line"))
    if found is None:
        return None
    if not digest or start is None or end is None or _digest(found, start, end) == digest:
        return dict(passage)
    places = list(_places(found, end - start + 1, digest))
    # A text that stands twice, such as a closing bracket, says nothing about where it went.
    return _shifted(passage, places[0] - start) if len(places) == 1 else None


def _places(lines: Sequence[str], n_lines: int, digest: str) -> Iterator[int]:
    """First lines of every passage of this length with this text."""
    return (
        start for start in range(1, len(lines) - n_lines + 2) if _digest(lines, start, start + n_lines - 1) == digest
    )


def _shifted(passage: Mapping[str, Any], by: int) -> dict[str, Any]:
    lines = {name: passage[name] + by for name in ("start_line", "end_line") if passage.get(name) is not None}
    return {**passage, **lines}

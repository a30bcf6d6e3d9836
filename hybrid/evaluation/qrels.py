"""Reads judged queries and manifests of repositories; `hybrid eval` names the files.

It knows the formats and nothing else: `measures` scores, `retrieval` asks.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from hybrid.base.errors import HybridError
from hybrid.evaluation.measures import FilePassage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path
    from typing import TypeVar

    T = TypeVar("T")


class QrelsError(HybridError):
    """A file of judgements cannot be read, or does not have the form it should have."""


class JudgedQuery(Struct, frozen=True):
    """A query and what answers it.

    Attributes:
        id: Id, unique in its file.
        repo: Name of the repository that is searched.
        text: The query as it is asked.
        category: symbol, semantic, architecture, task, …; empty when the file says none.
        language: Language of the repository; empty when the file says none.
        targets: At least one; all weigh the same.
        held_out: Lines that must not be searched when the query is asked, since it was made of them.
        known_at: A commit: this one and those before it may tell about files; empty when no commit may.
    """

    id: str
    repo: str
    text: str
    category: str
    language: str
    targets: tuple[FilePassage, ...]
    held_out: tuple[FilePassage, ...] = ()
    known_at: str = ""


def read_queries(path: Path) -> list[JudgedQuery]:
    """Return the queries of a JSONL file, `{id, repo, query, category?, language?, known_at?, gold: [{path, …}]}`.

    Raises:
        QrelsError: The file cannot be read, a line is not of this form, or an id stands twice.
    """
    return unique(path, read_lines(path, query_of), lambda query: query.id)


def read_roots(path: Path) -> dict[str, str]:
    """Return repository → the folder that comparable figures index, empty for all of it, from a manifest's `repos`.

    Raises:
        QrelsError: The file cannot be read or has another form.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return {repo["name"]: (repo.get("benchmark_root") or "").strip("/") for repo in data["repos"]}
    except OSError as error:
        raise QrelsError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise QrelsError(f"{path} is no manifest of repositories ({error!r}); expected repos[].name") from error


def query_of(fields: Mapping[str, Any]) -> JudgedQuery:
    """Return the query of one line.

    Raises:
        KeyError: A field that every query has is missing.
        ValueError: The query has no target.
    """
    targets = tuple(_target(target) for target in fields["gold"])
    if not targets:
        raise ValueError("gold is empty")
    return JudgedQuery(
        id=str(fields["id"]),
        repo=str(fields["repo"]),
        text=str(fields["query"]),
        category=str(fields.get("category") or ""),
        language=str(fields.get("language") or ""),
        targets=targets,
        held_out=tuple(_target(target) for target in fields.get("held_out") or ()),
        known_at=str(fields.get("known_at") or ""),
    )


def _target(fields: Mapping[str, Any]) -> FilePassage:
    return FilePassage(str(fields["path"]), _line(fields, "start_line"), _line(fields, "end_line"))


def _line(fields: Mapping[str, Any], name: str) -> int | None:
    line = fields.get(name)
    if line is not None and (isinstance(line, bool) or not isinstance(line, int) or line < 1):
        raise ValueError(f"{name} {line!r} is no line; lines are whole numbers from 1")
    return line


def read_lines(path: Path, make: Callable[[Mapping[str, Any]], T]) -> Iterator[T]:
    """Yield what `make` gives for each line of a JSONL file; blank lines are passed over.

    Raises:
        QrelsError: The file cannot be read, or a line is not of the form that `make` expects; it names the line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise QrelsError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield make(cast("dict[str, Any]", json.loads(line)))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise QrelsError(f"{path}, line {number}: {type(error).__name__}: {error}") from error


def unique(path: Path, entries: Iterable[T], key: Callable[[T], str]) -> list[T]:
    """Return the entries of a file in order.

    Raises:
        QrelsError: A key stands twice, or there is no entry.
    """
    by_key: dict[str, T] = {}
    for entry in entries:
        if key(entry) in by_key:
            raise QrelsError(f"{path}: id {key(entry)!r} stands twice")
        by_key[key(entry)] = entry
    if not by_key:
        raise QrelsError(f"{path} holds no line")
    return list(by_key.values())

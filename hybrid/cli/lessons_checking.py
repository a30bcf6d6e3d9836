"""Which lessons name paths or symbols that the project has no more: advice of `hybrid lessons validate`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hybrid.errors import HybridError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from pathlib import Path

    from hybrid.engine.workspace import Workspace
    from hybrid.records.lessons.lesson import Lesson

_QUOTED = re.compile(r"`([^`\n]{1,200})`")
_PATH = re.compile(r"(?<![\w./:@~$%*<{-])(?:\./)?[\w.-]+(?:/[\w.-]+)+(?:\.\w{1,8}|/)(?![\w/*])")
_WHOLE_PATH = re.compile(r"(?:\./)?[\w.-]+(?:/[\w.-]+)*/?")
_SYMBOL = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::)[A-Za-z_]\w*)*(?:\(\))?")
_ENDING = re.compile(r"\.[A-Za-z]\w{0,5}\Z")


@dataclass(frozen=True, slots=True)
class Missing:
    """A name in a lesson that was not found; `what` is `path` or `symbol`."""

    lesson_id: str
    what: str
    name: str

    def as_json(self) -> dict[str, str]:
        """The machine form."""
        return {"id": self.lesson_id, "kind": self.what, "name": self.name}


def check_lessons(lessons: Iterable[Lesson], root: Path, workspace: Workspace) -> list[Missing]:
    """Names that were not found, in order; without an index no symbols and no bare file names are looked for.

    Args:
        lessons: Those to check.
        root: Of the working tree.
        workspace: Its index knows paths and symbols.
    """
    paths, knows = _indexed(workspace)
    found: list[Missing] = []
    for lesson in lessons:
        text = f"{lesson.title}\n{lesson.content}"
        found += [Missing(lesson.id, "path", name) for name in _paths(text) if not _is_there(name, root, paths)]
        if knows is not None:
            found += [Missing(lesson.id, "symbol", name) for name in _symbols(text) if not knows(name)]
    return found


def _paths(text: str) -> list[str]:
    """Names with a slash that end like a file or a folder, and everything in back-ticks that looks like a path."""
    quoted = [name for name in _QUOTED.findall(text) if "/" in name and _WHOLE_PATH.fullmatch(name)]
    bare = _PATH.findall(_QUOTED.sub(" ", text))
    return list(dict.fromkeys([*quoted, *bare]))


def _symbols(text: str) -> list[str]:
    """What stands in back-ticks and looks made, not written: with an underscore, a capital inside, dots or brackets."""
    names = [name for name in _QUOTED.findall(text) if _SYMBOL.fullmatch(name) and not _ENDING.search(name)]
    made = (name for name in names if "_" in name.strip("_") or re.search(r"[a-z][A-Z]|::|\(\)", name))
    return list(dict.fromkeys(made))


def _is_there(name: str, root: Path, paths: Collection[str] | None) -> bool:
    """Whether the tree has it, from its root or, as people shorten paths, somewhere below."""
    short = name.removeprefix("./").rstrip("/")
    if (root / short).exists():
        return True
    ends = (f"/{short}", f"/{short}/")
    return any(path.endswith(ends[0]) or ends[1] in f"/{path}" for path in paths or ())


def _indexed(workspace: Workspace) -> tuple[Collection[str] | None, Callable[[str], bool] | None]:
    """Paths that the index knows and whether it knows a symbol; None without an index."""
    from hybrid.index.snapshot import open_snapshot
    from hybrid.models.registry import embedder_info
    from hybrid.tokens import tokens_of_word

    config = workspace.config
    try:
        model = embedder_info(config.model.name, home=workspace.home)
        snapshot = open_snapshot(workspace.place.folder, model=model.key)
    except HybridError:
        return None, None

    def knows(name: str) -> bool:
        last = re.split(r"\.|::", name.removesuffix("()"))[-1]
        whole = tokens_of_word(last)[:1]
        return not whole or snapshot.document_frequency(whole[0]) > 0

    return snapshot.live_documents().keys(), knows

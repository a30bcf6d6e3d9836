"""Which lessons name paths or symbols that the project has no more: advice of `hybrid lessons validate`."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.base.atomic import read_regular
from hybrid.base.errors import HybridError
from hybrid.chunking.languages import kind_of, language_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from pathlib import Path

    from hybrid.records.lessons.types import Lesson
    from hybrid.workspace import Workspace

_QUOTED = re.compile(r"`([^`\n]{1,200})`")
_PATH = re.compile(r"(?<![\w./:@~$%*<{-])(?:\./)?[\w.-]+(?:/[\w.-]+)+(?:\.\w{1,8}|/)(?![\w/*])")
_WHOLE_PATH = re.compile(r"(?:\./)?[\w.-]+(?:/[\w.-]+)*/?")
_PLACE = re.compile(
    r"(?<![\w./:@~$%*<{-])(?P<path>(?:\./)?[\w.-]+(?:/[\w.-]+)*\.\w{1,8})"
    r":(?P<first>[0-9]{1,7})(?:-(?P<last>[0-9]{1,7}))?(?![\w/])"
)
_SYMBOL = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::)[A-Za-z_]\w*)*(?:\(\))?")
_ENDING = re.compile(r"\.[A-Za-z]\w{0,5}\Z")
_DEFINING = (
    "class const def defp enum fn fun func function interface let macro method module object proc struct sub type var"
)
_MAX_FILE_BYTES = 1_000_000
"""Of a file in which names are looked for; larger ones are data."""


class Missing(Struct, frozen=True):
    """A name in a lesson that was not found; `what` is `path`, `line` or `symbol`."""

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
    code = _Code(root, paths or ())
    found: list[Missing] = []
    for lesson in lessons:
        text = f"{lesson.title}\n{lesson.content}"
        found += [Missing(lesson.id, "path", name) for name in _paths(text) if not _is_there(name, root, paths)]
        found += [Missing(lesson.id, what, name) for name, what in _wrong_places(text, root, paths)]
        if knows is not None:
            names = _symbols(text, paths or (), knows)
            found += [Missing(lesson.id, "symbol", name) for name in names if not (knows(name) and code.has(name))]
    return found


def _paths(text: str) -> list[str]:
    """Names with a slash that end like a file or a folder, and everything in back-ticks that looks like a path."""
    text = _PLACE.sub(" ", text)
    quoted = [name for name in _QUOTED.findall(text) if "/" in name and _WHOLE_PATH.fullmatch(name)]
    bare = _PATH.findall(_QUOTED.sub(" ", text))
    return list(dict.fromkeys([*quoted, *bare]))


def _wrong_places(text: str, root: Path, paths: Collection[str] | None) -> Iterator[tuple[str, str]]:
    """`path:12` and `path:12-20` whose file is not there, or has not so many lines; each with what is missing.

    A name without a slash must end as source files do: `localhost:80` and `example.com:443` are no places.
    """
    for shown, found in {found[0]: found for found in _PLACE.finditer(text)}.items():
        name = found["path"]
        if "/" not in name and (paths is None or language_of(name) is None):
            continue
        if not _is_there(name, root, paths):
            yield shown, "path"
        elif (n_lines := _n_lines(name, root, paths)) is not None and int(found["last"] or found["first"]) > n_lines:
            yield shown, "line"


def _n_lines(name: str, root: Path, paths: Collection[str] | None) -> int | None:
    """Lines of the file that a name means; None where several are meant, or it cannot be read."""
    short = name.removeprefix("./")
    meant = [short] if (root / short).is_file() else [path for path in paths or () if path.endswith(f"/{short}")]
    text = _text(root / meant[0]) if len(meant) == 1 else None
    return None if text is None else len(text.splitlines())


def _symbols(text: str, paths: Collection[str], knows: Callable[[str], bool]) -> list[str]:
    """What stands in back-ticks and looks made, not written: with an underscore, a capital inside, dots or brackets."""
    names = [
        name for name in _QUOTED.findall(text) if _SYMBOL.fullmatch(name) and not _is_file_name(name, paths, knows)
    ]
    made = (name for name in names if "_" in name.strip("_") or re.search(r"[a-z][A-Z]|::|\(\)|^[A-Z]\w*\.", name))
    return list(dict.fromkeys(made))


def _is_file_name(name: str, paths: Collection[str], knows: Callable[[str], bool]) -> bool:
    """Return whether a name with dots is rather a file's than a member's, as `Gemfile.lock` is."""
    if not _ENDING.search(name):
        return False
    owner = name.partition(".")[0]
    is_class = re.search(r"[a-z][A-Z]", owner) or (owner[:1].isupper() and knows(owner))
    return not is_class or language_of(name) is not None or any(path.endswith(name) for path in paths)


def _is_there(name: str, root: Path, paths: Collection[str] | None) -> bool:
    """Whether the tree has it, from its root or, as people shorten paths, somewhere below."""
    short = name.removeprefix("./").rstrip("/")
    if (root / short).exists():
        return True
    ends = (f"/{short}", f"/{short}/")
    return any(path.endswith(ends[0]) or ends[1] in f"/{path}" for path in paths or ())


class _Code:
    """The code of a working tree, read when the first name asks for it: an index knows words, not what they are.

    Args:
        root: Of the working tree.
        paths: Of its files.
    """

    def __init__(self, root: Path, paths: Collection[str]) -> None:
        self._root = root
        self._paths = paths

    @cached_property
    def _texts(self) -> list[str]:
        languages = ((path, language_of(path)) for path in sorted(self._paths))
        code = (path for path, language in languages if language and kind_of(path, language) == "code")
        return [text for path in code if (text := _text(self._root / path)) is not None]

    def has(self, name: str) -> bool:
        """Return whether the code calls, defines or assigns a function or a member; other names are not looked for.

        A word in a comment is none of these. The class of a member must occur too.
        """
        *owners, last = re.split(r"\.|::", name.removesuffix("()"))
        if not (owners or name.endswith("()")):
            return True
        defining = "|".join(_DEFINING.split())
        forms = (
            rf"(?:\.|::|->){last}\b",
            rf"\b{last}\s*[(<=:!\[]",
            rf"\b(?:{defining})\s+{last}\b",
            rf"^\s*{last}\b(?![ \t]+\w)",
        )
        used = re.compile("|".join(forms), re.MULTILINE)
        if not any(last in text and used.search(text) for text in self._texts):
            return False
        return all(any(re.search(rf"\b{owner}\b", text) for text in self._texts) for owner in owners)


def _text(path: Path) -> str | None:
    """A file's text; None of one that is large, a link, or cannot be read."""
    try:
        data = read_regular(path, _MAX_FILE_BYTES)
    except OSError:
        return None
    return data.decode("utf-8", "replace") if len(data) <= _MAX_FILE_BYTES else None


def _indexed(workspace: Workspace) -> tuple[Collection[str] | None, Callable[[str], bool] | None]:
    """Paths that the index knows and whether it knows a symbol; None without an index."""
    from hybrid.base.tokens import tokens_of_word
    from hybrid.index.snapshot import open_snapshot
    from hybrid.models.registry import embedder_info

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

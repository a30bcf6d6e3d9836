"""The values that completion proposes for an argument without choices of its own: ids, names, settings, paths.

`hybrid.cli.completing` asks. What a value is said to be is the title of a record, the beginning of a prompt and the
like. What cannot be read gives no values.
"""

from __future__ import annotations

import os
import re
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from hybrid.base.errors import HybridError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from hybrid.workspace import Workspace

SHELLS = ("bash", "zsh", "fish")
"""The shells that there are scripts for."""

Values = list[tuple[str, str]]
_NEWEST = 50
"""Events and rows of the memory that are proposed: more are not looked through at a prompt."""
_LOG_BYTES = 500_000
_ABOUT_CHARS = 60
_FILES = ("FILE", "PATH", "GLOB", "GATE.jsonl", "TREE", "PROMPTS", "QUERIES", "SESSIONS")
_FOLDERS = ("DIR", "REPO")
_OF_FOLDER = (("init", "path"), ("reindex", "path"), ("project", "path"), ("trust", "path"))


class _Asked(NamedTuple):
    """The argument that a value is wanted for, and the words of each argument before it."""

    dest: str
    taken: Mapping[str, Sequence[str]]

    def first(self, dest: str) -> str:
        """Return the first word of another argument; empty for none."""
        return next(iter(self.taken.get(dest, ())), "")

    def workspace(self) -> Workspace:
        """Return the workspace of `--project`, or of the working directory."""
        from hybrid.workspace import open_workspace

        return open_workspace(Path(os.path.expanduser(self.first("project")) or "."))  # noqa: PTH111 - no exception


def values_of(command: str, action: argparse.Action, taken: Mapping[str, Sequence[str]]) -> Iterable[tuple[str, str]]:
    """Return the values of an argument, each with what it is.

    Args:
        command: The first word of the command line.
        action: An argument without choices.
        taken: Name of an argument → its words so far.
    """
    find = _SOURCES.get((command, action.dest)) or _SOURCES.get(("", action.dest))
    if find is None:
        return ()
    try:
        return [(value, about[:_ABOUT_CHARS]) for value, about in find(_Asked(action.dest, taken))]
    except (HybridError, OSError):
        return ()


def paths_of(command: str, action: argparse.Action) -> Literal["", "files", "dirs"]:
    """Return which paths may stand for an argument."""
    name = action.metavar if isinstance(action.metavar, str) else ""
    if name in _FOLDERS or (command, action.dest) in _OF_FOLDER:
        return "dirs"
    # `OUT.svg|OUT.png` and `QUERIES.jsonl` are files; `SECTION.KEY` is none.
    return "files" if name in _FILES or re.search(r"\.[a-z]+$", name) else ""


# --- what lies in stores ----------------------------------------------------------------------------------


def _lessons(asked: _Asked) -> Values:
    from hybrid.knowledge.record_files import open_stores

    lessons = [lesson for store in open_stores(asked.workspace()).all for lesson in store.read().lessons]
    return [(lesson.id, lesson.title) for lesson in lessons if lesson.is_active]


def _lore(asked: _Asked) -> Values:
    from hybrid.knowledge.stores import RecordStores

    records = RecordStores().lore(asked.workspace())
    return [(record.id, f"{record.kind}: {record.name or ' '.join(record.lines)}") for record in records]


def _memory(asked: _Asked) -> Values:
    from hybrid.knowledge.stores import RecordStores
    from hybrid.records.memory.showing import shown_number, title_of
    from hybrid.records.memory.types import RowFilter

    workspace = asked.workspace()
    key = workspace.project.key if workspace.project else ""
    rows = RecordStores().memory(workspace).newest(RowFilter(key=key), _NEWEST)
    return [(shown_number(row), title_of(row)) for row in rows]


def _events(asked: _Asked) -> Values:
    return [(str(event.get("id")), _of_event(event)) for event in islice(_log(), _NEWEST)]


def _log() -> Iterable[dict[str, Any]]:
    from hybrid.base.home import home_path
    from hybrid.feedback.events import log_folder, newest_events

    return newest_events(log_folder(Path(home_path(os.environ))), max_bytes=_LOG_BYTES)


def _of_event(event: Mapping[str, Any]) -> str:
    prompt = " ".join(str(event.get("prompt") or "").split())
    return f"{event.get('reason')}: {prompt}" if prompt else str(event.get("reason"))


def _sessions(asked: _Asked) -> Values:
    abouts: dict[str, str] = {}
    for event in _log():
        if event.get("session"):
            abouts.setdefault(str(event["session"]), str(event.get("client") or ""))
    return list(abouts.items())[:_NEWEST]


def _marks(asked: _Asked) -> Values:
    """Return what may follow in `hybrid mark`: an id, `good` or `noise`, `list`, or `remove` and an id."""
    before = list(asked.taken.get(asked.dest, ()))
    words = [("good", "context was wanted"), ("noise", "it was not")]
    if not before:
        actions = [("list", "the marks so far"), ("remove", "take a mark back")]
        return [*words, *actions, *_events(asked)]
    if before == ["remove"]:
        return _events(asked)
    return words if len(before) == 1 and before[0] not in ("list", "good", "noise") else []


def _projects(asked: _Asked) -> Values:
    from hybrid.project.registry import load_registry

    entries = load_registry(asked.workspace().home)
    return [(entry.name, next(iter(entry.paths), key)) for key, entry in entries.items() if entry.name]


def _groups(asked: _Asked) -> Values:
    from hybrid.project.groups import load_groups

    return [(name, f"{len(keys)} projects") for name, keys in load_groups(asked.workspace().home).items()]


def _projects_or_groups(asked: _Asked) -> Values:
    return _groups(asked) if asked.first("action") == "group" else _projects(asked)


def _models(asked: _Asked) -> Values:
    from hybrid.models.registry import known_models

    return [(model.name, "on disk" if model.folder else "to be fetched") for model in known_models()]


# --- what the program knows -------------------------------------------------------------------------------


def _settings(asked: _Asked) -> Values:
    from hybrid.config import KEYS

    return [(key, "") for key in KEYS]


def _assignments(asked: _Asked) -> Values:
    return [(f"{key}=", "") for key, _ in _settings(asked)]


def _setting_values(asked: _Asked) -> Values:
    from hybrid.config import choices_of

    return [(text, "") for text in choices_of(asked.first("key"))] if asked.first("action") == "set" else []


def _clients(asked: _Asked) -> Values:
    from hybrid.hooks.install.clients import CLIENTS

    return [(name, "") for name in CLIENTS]


def _reasons(asked: _Asked) -> Values:
    from hybrid.feedback.reasons import REASONS

    return [(name, reason.sentence) for name, reason in REASONS.items()]


def _shells(asked: _Asked) -> Values:
    return [(name, "") for name in SHELLS]


_SOURCES: dict[tuple[str, str], Callable[[_Asked], Values]] = {
    ("completions", "shell"): _shells,
    ("config", "key"): _settings,
    ("config", "value"): _setting_values,
    ("explain", "id"): _events,
    ("lessons", "id"): _lessons,
    ("lessons", "ids"): _lessons,
    ("lessons", "new"): _lessons,
    ("lessons", "old"): _lessons,
    ("log", "reason"): _reasons,
    ("lore", "id"): _lore,
    ("lore", "new"): _lore,
    ("lore", "old"): _lore,
    ("lore", "verb"): lambda _: [("add", "")],
    ("mark", "words"): _marks,
    ("memory", "at"): _memory,
    ("memory", "id"): _memory,
    ("memory", "named"): _projects,
    ("memory", "project_data"): _projects,
    ("models", "names"): _models,
    ("projects", "members"): _projects,
    ("projects", "name"): _projects_or_groups,
    ("search", "group"): _groups,
    ("", "against"): _assignments,
    ("", "client"): _clients,
    ("", "session"): _sessions,
    ("", "settings"): _assignments,
}
"""(Command, name of an argument) → its values; an empty command is any."""

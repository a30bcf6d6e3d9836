"""Turns recorded shell sessions and invented ones into the hook events that Claude Code would send.

Which files an event reads or edits is told here without the engine that is measured: by the whole path in a command,
behind a program that reads or writes files, or by the file that a tool is given.
"""

from __future__ import annotations

import json
import lzma
import re
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hybrid.evaluation.measures import QrelsError
from hybrid.hooks.event import parse_event

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from hybrid.types import HookEvent
    from hybrid_lab.at_file.given import MadeSession

_PROJECT = re.compile(r"(?:instance_)?(.+?)__(.+?)-(?:[0-9a-f]{40}.*|\d+)")
"""Id of a recorded session: owner, name, number or commit."""
_CD = re.compile(r"(?:^|&&|[;\n(])\s*cd\s+([^\s;&|)]+)")
_PIECES = re.compile(r"&&|\|\||[;\n|]")
_OPENING = frozenset("cat head tail sed grep egrep rg awk nl less more diff cp mv tee patch bat".split())
_GIT_OPENING = ("git diff", "git show", "git blame", "git checkout", "git restore")
_IN_SCRIPT = re.compile(r"""(?:open|Path|readFileSync|writeFileSync)\(\s*r?['"]([^'"]+)['"]""")
_BODY = re.compile(r"<<-?\s*['\"]?\w+['\"]?")
_PATH = re.compile(r"(?<![\w/.$-])\.?/?[\w@-][\w/.@-]*\.\w{1,6}")
_ABSENT = re.compile(r"[Nn]o such file|can't (?:cd|open)|cannot (?:access|open)")
_SHOWN_LINES = 40


class RecordedSession(Struct, frozen=True):
    """A session of an agent that works by shell.

    Attributes:
        id: Unique.
        project: Owner and name.
        roots: Places in its commands that stand for the top of its tree, the longest first.
        task: The prompt.
        steps: Its commands: `command`, `rc`, `output`.
    """

    id: str
    project: str
    roots: tuple[str, ...]
    task: str
    steps: tuple[dict[str, Any], ...]


class ToldEvent(Struct, frozen=True):
    """An event, and the files that it opens.

    Attributes:
        shown: What it does, on a line, for people.
        event: As hybrid reads it.
        opens: Of the files that were asked about, those that it reads or edits.
    """

    shown: str
    event: HookEvent
    opens: frozenset[str]


def read_recorded(path: Path) -> list[RecordedSession]:
    """The sessions of a file of JSON lines, which may be packed (`.xz`): `id`, `set`, `task`, `steps`.

    Raises:
        QrelsError: It cannot be read, or is not of this form.
    """
    try:
        with lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8") as lines:
            return [_recorded(json.loads(line)) for line in lines if line.strip()]
    except (OSError, lzma.LZMAError, ValueError, KeyError, TypeError) as error:
        raise QrelsError(f"{path}: {error}") from error


def _recorded(fields: dict[str, Any]) -> RecordedSession:
    match = _PROJECT.fullmatch(fields["id"])
    if not match:
        raise ValueError(f"{fields['id']!r} names no project")
    name = match[2]
    own = (f"/testbed/{name}", f"/home/{name}") if fields.get("set") == "Multi" else ()
    return RecordedSession(
        fields["id"], f"{match[1]}/{name}", (*own, "/testbed", "/app"), fields["task"], tuple(fields["steps"])
    )


def files_named(session: RecordedSession) -> set[str]:
    """The paths with an ending in the commands of a session, relative to its top."""
    found: set[str] = set()
    for step in session.steps:
        found.update(path.removeprefix("./") for path in _PATH.findall(_placed(step["command"], session, "")))
    return {path for path in found if "/" in path and not path.startswith(("/", "..")) and ".." not in path}


def shell_events(session: RecordedSession, root: Path, asked: Iterable[str]) -> Iterator[ToldEvent]:
    """Yield the prompt and the commands of a recorded session, told of a tree at `root`.

    What failed since a file was not there is left out: the tree that stands in may have it.
    """
    files = list(asked)
    yield _prompt(session.id, root, session.task)
    for number, step in enumerate(session.steps):
        command = _placed(str(step["command"]), session, str(root))
        output = _placed(str(step["output"] or ""), session, str(root))
        code = 124 if step["rc"] is None else int(step["rc"])  # It was ended when its time was over.
        if code and _ABSENT.search(output):
            continue
        opens = _opened(command, root, files)
        yield _command(session.id, root, number, command, output, code, opens)


def made_events(session: MadeSession, root: Path, asked: Iterable[str]) -> Iterator[ToldEvent]:
    """Yield the prompt and the uses of tools of an invented session over the files of a tree at `root`.

    Raises:
        OSError: A file that it reads is not there.
    """
    files = frozenset(asked)
    yield _prompt(session.id, root, session.task)
    for number, step in enumerate(session.steps):
        kind, _, rest = step.partition(" ")
        if kind in "BF":
            command, _, error = rest.partition("~")
            opens = _opened(command, root, files) if kind == "B" else frozenset[str]()
            yield _command(session.id, root, number, command, error, int(kind == "F"), opens)
            continue
        tool, given, answered = {"R": _read, "E": _edit, "G": _grep}[kind](root, rest)
        fields = {"tool_name": tool, "tool_input": given, "tool_response": answered, "tool_use_id": f"toolu_{number}"}
        opens = files & {rest.split()[0]} if kind in "RE" else frozenset[str]()
        yield ToldEvent(step, _event(session.id, root, "PostToolUse", **fields), opens)


def _read(root: Path, path: str) -> tuple[str, dict[str, Any], dict[str, Any]]:
    lines = (root / path).read_text(encoding="utf-8").split("\n")
    shown = lines[:_SHOWN_LINES]
    file = {"filePath": str(root / path), "content": "\n".join(shown), "numLines": len(shown), "startLine": 1}
    return "Read", {"file_path": str(root / path)}, {"type": "text", "file": file | {"totalLines": len(lines)}}


def _edit(root: Path, rest: str) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """An edit that puts a line behind the first one that has a word; `-` is any line."""
    path, word = rest.split()
    lines = (root / path).read_text(encoding="utf-8").split("\n")
    old = next(line for line in lines if line.strip() and (word == "-" or word in line))
    new = f"{old}\n    # as the task asks"
    given = {"file_path": str(root / path), "old_string": old, "new_string": new, "replace_all": False}
    return "Edit", given, {"filePath": str(root / path), "oldString": old, "newString": new, "userModified": False}


def _grep(root: Path, rest: str) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """A search for a text in files of one ending; it gives the names of those that hold it."""
    pattern, path = rest[1:].rsplit('" ', 1)
    top = root / path
    files = [top] if top.is_file() else sorted(top.rglob("*.py"))
    found = [str(file.relative_to(root)) for file in files if pattern in file.read_text(encoding="utf-8")]
    given = {"pattern": pattern, "path": str(top), "output_mode": "files_with_matches"}
    return "Grep", given, {"mode": "files_with_matches", "filenames": found, "numFiles": len(found)}


def _prompt(session: str, root: Path, task: str) -> ToldEvent:
    return ToldEvent("prompt", _event(session, root, "UserPromptSubmit", prompt=task), frozenset())


def _command(
    session: str, root: Path, number: int, command: str, output: str, code: int, opens: frozenset[str]
) -> ToldEvent:
    fields: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": f"toolu_{number}"}
    if code:
        event = _event(session, root, "PostToolUseFailure", **fields, error=f"Exit code {code}\n{output}")
    else:
        answered = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
        event = _event(session, root, "PostToolUse", **fields, tool_response=answered)
    return ToldEvent(command, event, opens)


def _event(session: str, root: Path, name: str, **fields: Any) -> HookEvent:
    told = {"session_id": session, "transcript_path": "", "cwd": str(root), "hook_event_name": name, **fields}
    return parse_event(json.dumps(told).encode(), client="claude", event="", cwd=str(root))


def _placed(text: str, session: RecordedSession, root: str) -> str:
    """Return a text in which the tops of the session's tree are that of another one; empty leaves relative paths."""
    for place in session.roots:
        text = re.sub(rf"(?<![\w/.-]){re.escape(place)}(?=/)", root or ".", text)
        text = re.sub(rf"(?<![\w/.-]){re.escape(place)}(?![\w/.-])", root or ".", text)
    return text


def _opened(command: str, root: Path, files: Iterable[str]) -> frozenset[str]:
    """Return those of some files that a command line names whole, as something that it reads or writes."""
    folders = [folder.removeprefix(str(root)).strip("/") for folder in _CD.findall(command)]
    folder = next((f"{one}/" for one in folders if one not in ("", ".")), "")
    scripts = set(_IN_SCRIPT.findall(command))
    pieces = _PIECES.split(command[: match.end()] if (match := _BODY.search(command)) else command)
    words = [word for piece in map(str.split, pieces) if _is_opening(piece) for word in piece]
    words += re.findall(r">>?\s*([^\s;&|<>]+)", command)
    told = {word.strip("'\"").removeprefix(f"{root}/").removeprefix("./") for word in (*words, *scripts)}
    return frozenset(file for file in files if file in told or file in {folder + word for word in told})


def _is_opening(words: list[str]) -> bool:
    words = [word for word in words if "=" not in word]
    return bool(words) and (words[0] in _OPENING or " ".join(words[:2]) in _GIT_OPENING)

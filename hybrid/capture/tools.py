"""One use of a tool, of any client, in one form: what was asked, what came back, which files it touched.

The form is stored until its batch is told of, so it is bounded (`MAX_JSON_BYTES`) and goes to JSON and back. Pure, but
for the home.
"""

from __future__ import annotations

import os
import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from hybrid.base.clients import ToolKind
from hybrid.capture import dialects
from hybrid.capture.definitions import condensed, cut, enclosing, without_counts
from hybrid.capture.shell import files_of_command

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hybrid.types import ToolCall


# --- Paths ---------------------------------------------------------------------------------------------------------

_DRIVE = re.compile(r"^[A-Za-z]:[\\/]")
_MOUNTED = re.compile(r"^/(?:(?:cygdrive/|mnt/)?([A-Za-z])|([A-Za-z]):)(?=/|$)")
"""Pattern of a drive as shells for Windows and addresses of files spell it: `/c/Users`, `/mnt/c/Users`, `/C:/Users`."""


class PathRoots(Struct, frozen=True, eq=False):
    """The folders that the paths of a use are told from.

    Attributes:
        root: Root of the project, absolute.
        cwd: Folder that a relative path starts from.
        home: The user's home, shown as `~`; empty leaves it as it is.
    """

    root: str
    cwd: str
    home: str = ""
    _resolved: dict[str, str] = field(default_factory=dict[str, str])

    def relative(self, path: str) -> str:
        """Return a path relative to the project with forward slashes; absolute when outside, the home as `~`.

        Links to the project are followed where the path does not begin with its root. Where the root lies on Windows,
        letter case does not count, and the forms of its shells (`/c/Users`) are read too.
        """
        is_windows = _is_windows(self.root)
        path = _plain(path.strip().strip("'\"").removeprefix("file://"), is_windows)
        if not (path.startswith(("/", "~", "$")) or _DRIVE.match(path)):
            path = posixpath.join(_plain(self.cwd, is_windows), path) if self.cwd else path
        path = posixpath.normpath(path) if path else ""
        inside = _below(path, _plain(self.root, is_windows), is_windows)
        if inside is None:
            inside = self._below_by_links(path)
        home = _plain(self.home, is_windows)
        tail = _below(path, home, is_windows) if inside is None and len(home) > 1 else None
        if inside is not None or tail is not None:
            path = (inside or ".") if inside is not None else f"~/{tail}".rstrip("/")
        return path.encode("utf-8", "replace").decode()  # A folder may have a name that is no UTF-8.

    def shortened(self, text: str) -> str:
        """Return text in which the project's paths are relative and the home is `~`, unless it is as short as `/me`."""
        is_windows = _is_windows(self.root)
        roots = [self.root] if is_windows else self._roots()
        for base, instead in (*((root, "") for root in roots), (self.home, "~/")):
            if is_windows and len(base) > 3:
                text = _windows_paths(base).sub(lambda match, to=instead: to + _slashes(match[1]), text)
            elif len(base) > 3:
                text = text.replace(base.rstrip("/\\") + "/", instead)
        return text

    def _roots(self) -> list[str]:
        """Return the root, and its other spellings where the use's folder lies below it by a link."""
        cwd = posixpath.normpath(self.cwd) if self.cwd else ""
        if not cwd or _below(cwd, self.root, is_windows=False) is not None:
            return [self.root]
        inside = self._below_by_links(cwd)
        if inside is None or not f"{cwd}/".endswith(f"/{inside}/" if inside else "/"):
            return [self.root]
        alias = cwd[: -len(inside) - 1] if inside else cwd
        return [*dict.fromkeys((self.root, alias, self._real(self.root)))]

    def _below_by_links(self, path: str) -> str | None:
        """Return the part below the root of a path that leads there by links; None when it does not."""
        is_windows = _is_windows(self.root)
        if is_windows != (os.name == "nt") or not (is_windows or self.root.startswith("/")):
            return None
        if not (_DRIVE.match(path) if is_windows else path.startswith("/")) or path.startswith("//"):
            return None
        root = self._real(self.root)
        parent, name = posixpath.split(path)
        inside = _below(posixpath.join(self._real(parent), name), root, is_windows)
        return _below(self._real(path), root, is_windows) if inside is None else inside

    def _real(self, path: str) -> str:
        """Return a path without links; each path is looked up once."""
        real = self._resolved.get(path)
        if real is None:
            try:
                real = _plain(os.path.realpath(path), _is_windows(self.root))
            except (OSError, ValueError):  # A circle of links, a null byte.
                real = path
            self._resolved[path] = real
        return real


def _slashes(path: str) -> str:
    return path.replace("\\", "/") if "\\" in path else path


def _is_windows(root: str) -> bool:
    """Return whether a project lies on Windows, by its root: a drive, or a share."""
    return bool(_DRIVE.match(root)) or root.startswith("\\\\")


def _plain(path: str, is_windows: bool) -> str:
    """Return a path with forward slashes; on Windows with its drive in one form."""
    path = _slashes(path)
    if is_windows:
        path = path.removeprefix("//?/")
        path = _MOUNTED.sub(lambda match: f"{match[1] or match[2]}:", path)
        path = path[:1].upper() + path[1:] if _DRIVE.match(path) else path
    return path


def _below(path: str, base: str, is_windows: bool) -> str | None:
    """Return the part of a path below a folder, empty for the folder itself; None when it is not there."""
    if not base:
        return None
    base = base.rstrip("/")
    begin, wanted = (path[: len(base)].lower(), base.lower()) if is_windows else (path[: len(base)], base)
    if begin != wanted or path[len(base) : len(base) + 1] not in ("", "/"):
        return None
    return path[len(base) + 1 :]


def _windows_paths(base: str) -> re.Pattern[str]:
    """Compile a pattern of paths below a folder in any form of Windows; its group is the part below the folder."""
    base = _plain(base, is_windows=True).rstrip("/")
    drive, rest = (base[0], base[2:]) if _DRIVE.match(base) else ("", base)
    begin = rf"(?:\\\\\?\\)?(?:/?{drive}:|/(?:cygdrive/|mnt/)?{drive})" if drive else r"[\\/]"
    names = "".join(rf"[\\/]{{1,2}}{re.escape(name)}" for name in rest.split("/") if name)
    return re.compile(rf"(?<![\w.]){begin}{names}[\\/]{{1,2}}([\w.@+~\\/-]*)", re.IGNORECASE)


# --- Uses ----------------------------------------------------------------------------------------------------------

MAX_JSON_BYTES = 40_000
"""Bytes of the JSON of a stored use."""

MIN_CHARS = 50
"""Characters of input and result together; a shorter use tells nothing."""

_REASON_FIELDS = ("description", "explanation", "justification", "title")
_SCOPE_FIELDS = ("glob", "include", "include_pattern", "type")
_OUTPUT_CHARS = 12_000
_READ_CHARS = 24_000
_EDIT_CHARS = 14_000
"""Characters kept of an output, of a file that was read, and of all edits together; `_bounded` halves them."""
_MOST_LINES = 10**9
"""Number of a line from which on it is none that a client read."""
_MAX_FILES = 50
_MAX_EDITS = 20


class Edit(Struct, frozen=True):
    """A change of one place in a file.

    Attributes:
        file: Path of the file, as in `ToolUse.files_written`.
        old: Text that stood there, with the lines around it that the client gave; empty for a new file.
        new: Text that stands there now; empty when it was deleted.
        where: Function or class around the change, from the file as it was; empty when not known.
        is_new: Whether the edit made the file.
    """

    file: str
    old: str
    new: str
    where: str = ""
    is_new: bool = False


class ToolUse(Struct, frozen=True):
    """A use of a tool.

    Attributes:
        tool: Name of the tool, as the client spells it.
        kind: Kind of the tool.
        files_read: Relative to the project with forward slashes, else absolute with the home as `~`; each once.
        files_written: Files that it wrote, in the same form.
        command: The command line of a command.
        description: Purpose, in the agent's words; of a search the files to which it was restricted.
        query: Pattern of a search, address of a fetch, task of a subagent.
        edits: Changes of files, in order.
        output: Text of the result; of a long one head and tail, of a long file its definitions.
        error: Text of the failure.
        is_failed: Whether the client says that it failed.
        exit_code: Exit code of a command; None where it is not told.
        start_line: First line that was read, from 1; 0 when unknown.
        end_line: Last line that was read.
        total_lines: Number of lines of the file.
    """

    tool: str
    kind: ToolKind = "other"
    files_read: tuple[str, ...] = ()
    files_written: tuple[str, ...] = ()
    command: str = ""
    description: str = ""
    query: str = ""
    edits: tuple[Edit, ...] = ()
    output: str = ""
    error: str = ""
    is_failed: bool = False
    exit_code: int | None = None
    start_line: int = 0
    end_line: int = 0
    total_lines: int = 0

    def as_json(self) -> str:
        """Return the use as JSON; `from_json` makes the same one of it."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def from_json(cls, text: str) -> ToolUse:
        """Return the use behind a stored text; unknown keys are passed over, missing ones have their defaults.

        Raises:
            DecodeError: The text is no such JSON.
        """
        return msgspec.json.decode(text, type=cls)


def tool_use(call: ToolCall, roots: PathRoots) -> ToolUse:
    """Return the use of a tool that an event tells of, in the one form; any values of JSON give one.

    Its texts are shortened until its JSON is below `MAX_JSON_BYTES`.
    """
    arguments = dialects.arguments(call.arguments)
    kind = dialects.kind_of(call.tool, arguments)
    raw = dialects.result_text(call.result)
    code = dialects.exit_code(call.result, raw, call.error) if kind == "command" else None
    text, error = dialects.cleaned(dialects.report_of(raw) if kind == "subagent" else raw), dialects.cleaned(call.error)
    command = dialects.command_of(arguments) if kind == "command" else ""
    use = ToolUse(
        tool=call.tool,
        kind=kind,
        command=roots.shortened(command[:4_000]),
        description=dialects.first_text(arguments, _SCOPE_FIELDS if kind == "search" else _REASON_FIELDS)[:500],
        query="" if kind in ("command", "edit", "write", "read") else dialects.query_of(arguments)[:2_000],
        error=error,
        is_failed=dialects.is_failure(call.result, error, code),
        exit_code=code,
    )
    use = _with_files(use, arguments, call.result, roots)
    if kind == "read":
        use = _with_span(use, arguments, call.result)
    if kind == "search" and arguments.get("output_mode") == "count":
        text = without_counts(text)
    if use.edits and not use.is_failed:
        text = ""  # It says the edit once more, or shows the file.
    return _bounded(use, roots.shortened(text), roots)


def own_home() -> str:
    """Return the home of the user of this process; empty when there is none."""
    try:
        return str(Path.home())
    except RuntimeError:  # Nobody's process: no variable and no entry of the user.
        return ""


def is_our_tool(tool: str) -> bool:
    """Return whether a tool is one of ours, as clients spell those of a server named `hybrid`."""
    name = tool.lower()
    return name == "hybrid" or name.startswith(("mcp__hybrid__", "hybrid_"))


def is_skipped(tool: str, n_chars: int, skip_tools: Sequence[str]) -> bool:
    """Return whether nothing is kept of a use.

    Args:
        tool: Name of the tool, as the client spells it.
        n_chars: Number of characters of input and result together.
        skip_tools: Names of tools; letter case counts as it does for clients.
    """
    return tool in skip_tools or is_our_tool(tool) or n_chars < MIN_CHARS


def _with_files(use: ToolUse, arguments: dict[str, Any], response: object, roots: PathRoots) -> ToolUse:
    """Return the use with the files and edits that its arguments name."""
    path = dialects.first_text(arguments, dialects.PATH_FIELDS)
    patches = (text for text in (*arguments.values(), use.command) if isinstance(text, str))
    if patch := next((text for text in patches if dialects.PATCH_BEGIN in text), ""):
        edits = [Edit(roots.relative(file), old, new, "", new_) for file, old, new, new_ in dialects.patched(patch)]
        return replace(use, kind="edit", edits=tuple(edits), files_written=_once(edit.file for edit in edits))
    if use.kind in ("edit", "write"):
        file = roots.relative(path) if path else ""
        written = (file,) if file else ()
        return replace(use, files_written=written, edits=tuple(_edits(file, arguments, response, use.kind == "write")))
    if use.kind == "command":
        read, written = files_of_command(use.command)
        files_read, files_written = (_once(map(roots.relative, paths)) for paths in (read, written))
        return replace(use, files_read=files_read, files_written=files_written)
    named = [path] if path else dialects.texts_of(arguments.get("paths"))
    return replace(use, files_read=_once(map(roots.relative, named)))


def _edits(file: str, arguments: dict[str, Any], response: object, is_write: bool) -> Iterable[Edit]:
    answer = dialects.fields_of(response)
    before = dialects.first_text(answer, ("originalFile",))
    changed = dialects.hunks(answer.get("structuredPatch"))
    pairs = changed if is_write and before and changed else dialects.replacements(arguments)
    for old, new in pairs[:_MAX_EDITS]:
        at = before.find(old) if old and before else -1
        where = enclosing(before, at + dialects.first_change(old, new), file) if at >= 0 else ""
        yield Edit(file, old, new, where, is_write and not before)


def _with_span(use: ToolUse, arguments: dict[str, Any], response: object) -> ToolUse:
    """Return the use with the lines that were read, by the result, else by the arguments."""
    file = dialects.fields_of(dialects.fields_of(response).get("file"))
    start = _number(file.get("startLine")) or _number(arguments.get("offset")) or _number(arguments.get("start_line"))
    n_lines = _number(file.get("numLines")) or _number(arguments.get("limit"))
    end = start + n_lines - 1 if start and n_lines else _number(arguments.get("end_line"))
    return replace(use, start_line=start, end_line=end, total_lines=_number(file.get("totalLines")))


def _number(value: object) -> int:
    return value if type(value) is int and 0 < value < _MOST_LINES else 0


def _bounded(use: ToolUse, text: str, roots: PathRoots) -> ToolUse:
    """Cut the texts of a use so that it is stored in `MAX_JSON_BYTES`; the room is halved until it is."""
    file = use.files_read[0] if use.kind == "read" and use.files_read else ""
    room, n_edits = 1.0, max(1, len(use.edits))
    while True:
        of_edit = int(_EDIT_CHARS * room / (2 * n_edits))
        limit = int((_READ_CHARS if use.kind == "read" else _OUTPUT_CHARS) * room)
        shortened = replace(
            use,
            command=cut(use.command, int(4_000 * room)),
            output=condensed(text, file, limit) if use.kind == "read" else cut(text, limit),
            error=cut(roots.shortened(use.error), int(_OUTPUT_CHARS * room / 2)),
            edits=tuple(replace(edit, old=cut(edit.old, of_edit), new=cut(edit.new, of_edit)) for edit in use.edits),
        )
        if room < 0.01 or len(msgspec.json.encode(shortened)) < MAX_JSON_BYTES:
            return shortened
        room /= 2


def _once(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(path for path in paths if path))[:_MAX_FILES]

"""One use of a tool, of any client, in one form: what was asked, what came back, which files it touched.

The form is stored until its batch is told of, so it is bounded (`MAX_JSON_BYTES`) and goes to JSON and back. Pure, but
for the home.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from hybrid.capture import dialects
from hybrid.capture.condensing import condensed, cut, without_counts
from hybrid.capture.definitions import enclosing
from hybrid.capture.dialects import ToolKind
from hybrid.capture.own import is_our_tool
from hybrid.capture.paths import Places, files_of_command

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


# Reads patches into pairs of old and new text: those of `apply_patch`, unified diffs and a client's own hunks.

PATCH_BEGIN = "*** Begin Patch"
_MAX_HUNKS = 20
_MARKS = {"*** Add File: ": "add", "*** Update File: ": "update", "*** Delete File: ": "delete"}


def patched(text: str) -> list[tuple[str, str, str, bool]]:
    """File, old text, new text and whether it is a new file, of each hunk of an `apply_patch` text, at most 20.

    Text without a patch gives nothing. A deleted file has no texts.
    """
    if PATCH_BEGIN not in text:
        return []
    found: list[tuple[str, str, str, bool]] = []
    path, is_new, lines = "", False, list[str]()
    for line in [*text[text.index(PATCH_BEGIN) :].splitlines(), "*** End Patch"]:
        mark = next((mark for mark in _MARKS if line.startswith(mark)), "")
        if mark or line.startswith(("@@", "*** End Patch")):
            if path and lines:
                found.append((path, *sides(lines), is_new))
            lines = []
        if mark:
            path, is_new = line[len(mark) :].strip(), _MARKS[mark] == "add"
            if _MARKS[mark] == "delete":
                found.append((path, "", "", False))
        elif line.startswith("*** Move to: "):
            found.append((line[len("*** Move to: ") :].strip(), "", "", True))
        elif line.startswith("*** End Patch"):
            break
        elif not line.startswith("*** "):
            lines += (
                [" " + line[2:].strip()] if line.startswith("@@") and line.strip("@ ") else [line] * (line[:2] != "@@")
            )
    return found[:_MAX_HUNKS]


def hunks(value: object) -> list[tuple[str, str]]:
    """Old and new text of each hunk of a `structuredPatch`, at most 20."""
    if not isinstance(value, list):
        return []
    found: list[tuple[str, str]] = []
    for hunk in cast("list[object]", value)[:_MAX_HUNKS]:
        lines = cast("dict[str, Any]", hunk).get("lines") if isinstance(hunk, dict) else None
        if isinstance(lines, list):
            found.append(sides([line for line in cast("list[object]", lines) if isinstance(line, str)]))
    return found


def sides(lines: list[str]) -> tuple[str, str]:
    """The old and the new text of the lines of a hunk, each with its mark."""
    old = [line[1:] for line in lines if line[:1] in (" ", "-", "")]
    new = [line[1:] for line in lines if line[:1] in (" ", "+", "")]
    return "\n".join(old), "\n".join(new)


def first_change(old: str, new: str) -> int:
    """Offset in the old text of the first line that the new one does not have there."""
    offset = 0
    theirs = new.split("\n")
    for number, line in enumerate(old.split("\n")):
        if number >= len(theirs) or line != theirs[number]:
            break
        offset += len(line) + 1
    return min(offset, len(old))


MAX_JSON_BYTES = 40_000
"""Of a stored use."""

MIN_CHARS = 50
"""Input and result together; what is shorter tells nothing."""

_REASON_FIELDS = ("description", "explanation", "justification", "title")
_SCOPE_FIELDS = ("glob", "include", "include_pattern", "type")
_OUTPUT_CHARS = 12_000
_READ_CHARS = 24_000
_EDIT_CHARS = 14_000
_MAX_FILES = 50
_MAX_EDITS = 20


class Edit(Struct, frozen=True):
    """A change of one place in a file.

    Attributes:
        file: As in `ToolUse.files_written`.
        old: What stood there, with the lines around it that the client gave; empty for a new file.
        new: What stands there now; empty when it was deleted.
        where: Function or class around it, from the file as it was; empty when that is not known.
        is_new: Whether the file was made by it.
    """

    file: str
    old: str
    new: str
    where: str = ""
    is_new: bool = False


class ToolUse(Struct, frozen=True):
    """A use of a tool.

    Attributes:
        tool: As the client spells it.
        kind: What sort of tool it is.
        files_read: Relative to the project with forward slashes, else absolute with the home as `~`; each once.
        files_written: The same, of files that it wrote.
        command: The command line of a command.
        description: What the agent says that it is for; of a search which files it was restricted to.
        query: Pattern of a search, address of a fetch, task of a subagent.
        edits: What was changed, in order.
        output: Text of the result; of a long one head and tail, of a long file its definitions.
        error: Text of the failure.
        is_failed: Whether the client says that it failed.
        exit_code: Of a command, where it is told.
        start_line: First line that was read, from 1; 0 when unknown.
        end_line: Last line that was read.
        total_lines: Of the file.
    """

    tool: str
    kind: ToolKind
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
        """The use as JSON; `from_json` makes the same one of it."""
        return json.dumps(to_builtins(self), ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> ToolUse:
        """The use behind a stored text; unknown keys are passed over, missing ones have their defaults.

        Raises:
            ValueError: It is not such a text.
        """
        value = json.loads(text)
        if not isinstance(value, dict) or not isinstance(cast("dict[str, Any]", value).get("tool"), str):
            raise ValueError("the stored use of a tool is not one")
        known = _known(cls, cast("dict[str, Any]", value))
        known["edits"] = tuple(Edit(**_known(Edit, edit)) for edit in known.get("edits", ()))
        for name in ("files_read", "files_written"):
            known[name] = tuple(known.get(name, ()))
        known.setdefault("kind", "other")
        return cls(**known)


def _known(cls: type[ToolUse | Edit], value: dict[str, Any]) -> dict[str, Any]:
    names = cls.__struct_fields__
    return {name: one for name, one in value.items() if name in names}


def tool_use(
    tool: str,
    tool_input: object,
    tool_response: object,
    error: str,
    *,
    root: str,
    cwd: str,
    home: str | None = None,
) -> ToolUse:
    """The use of a tool as its event tells it.

    Args:
        tool: As the client spells it.
        tool_input: Its arguments: an object, JSON as text, or a patch.
        tool_response: Its result: text, blocks, or an object of any client's form.
        error: Of an event that tells of a failure; else empty.
        root: Absolute path of the project.
        cwd: Where the command ran; paths that are not absolute are below it.
        home: The user's home, shown as `~`; None for that of this process, empty leaves it.
    """
    given = dialects.arguments(tool_input)
    kind = dialects.kind_of(tool, given)
    places = Places(root, cwd, _own_home() if home is None else home)
    raw = dialects.result_text(tool_response)
    code = dialects.exit_code(tool_response, raw, error) if kind == "command" else None
    text, error = dialects.cleaned(raw), dialects.cleaned(error)
    command = dialects.command_of(given) if kind == "command" else ""
    use = ToolUse(
        tool=tool,
        kind=kind,
        command=places.shortened(command[:4_000]),
        description=dialects.first_text(given, _SCOPE_FIELDS if kind == "search" else _REASON_FIELDS)[:500],
        query="" if kind in ("command", "edit", "write", "read") else dialects.query_of(given)[:2_000],
        error=error,
        is_failed=dialects.is_failure(tool_response, error, code),
        exit_code=code,
    )
    use = _with_files(use, given, tool_response, places)
    if kind == "read":
        use = _with_span(use, given, tool_response)
    if kind == "search" and given.get("output_mode") == "count":
        text = without_counts(text)
    if use.edits and not use.is_failed:
        text = ""  # It says the edit once more, or shows the file.
    return _bounded(use, places.shortened(text), places)


def _own_home() -> str:
    try:
        return str(Path.home())
    except RuntimeError:  # Nobody's process: no variable and no entry of the user.
        return ""


def is_skipped(tool: str, n_chars: int, skip_tools: Sequence[str]) -> bool:
    """Return whether nothing is kept of a use.

    Args:
        tool: As the client spells it.
        n_chars: Of its input and result together.
        skip_tools: Names of tools; letter case counts as it does for clients.
    """
    return tool in skip_tools or is_our_tool(tool) or n_chars < MIN_CHARS


def _with_files(use: ToolUse, given: dict[str, Any], response: object, places: Places) -> ToolUse:
    """The files and edits that its arguments name."""
    path = dialects.first_text(given, dialects.PATH_FIELDS)
    patch = next((one for one in given.values() if isinstance(one, str) and PATCH_BEGIN in one), "")
    patch = patch or (use.command if PATCH_BEGIN in use.command else "")
    if patch:
        edits = [Edit(places.relative(file), old, new, "", new_) for file, old, new, new_ in patched(patch)]
        return replace(use, kind="edit", edits=tuple(edits), files_written=_once(edit.file for edit in edits))
    if use.kind in ("edit", "write"):
        file = places.relative(path) if path else ""
        written = (file,) if file else ()
        return replace(use, files_written=written, edits=tuple(_edits(file, given, response, use.kind == "write")))
    if use.kind == "command":
        read, written = files_of_command(use.command)
        return replace(
            use, files_read=_once(map(places.relative, read)), files_written=_once(map(places.relative, written))
        )
    many = given.get("paths")
    named = (
        [path]
        if path
        else [one for one in cast("list[object]", many) if isinstance(one, str)]
        if isinstance(many, list)
        else []
    )
    return replace(use, files_read=_once(map(places.relative, named)))


def _edits(file: str, given: dict[str, Any], response: object, is_write: bool) -> Iterable[Edit]:
    answer = cast("dict[str, Any]", response) if isinstance(response, dict) else {}
    original = answer.get("originalFile")
    before = original if isinstance(original, str) else ""
    changed = hunks(answer.get("structuredPatch"))
    if is_write and before and changed:
        pairs, is_new = changed, False
    else:
        pairs, is_new = dialects.replacements(given), is_write and not before
    for old, new in pairs[:_MAX_EDITS]:
        at = before.find(old) if old and before else -1
        where = enclosing(before, at + first_change(old, new), file) if at >= 0 else ""
        yield Edit(file, old, new, where, is_new)


def _with_span(use: ToolUse, given: dict[str, Any], response: object) -> ToolUse:
    """Which lines were read, by the result, else by what was asked for."""
    answer = cast("dict[str, Any]", response) if isinstance(response, dict) else {}
    file = cast("dict[str, Any]", answer.get("file")) if isinstance(answer.get("file"), dict) else {}
    start = _number(file.get("startLine")) or _number(given.get("offset")) or _number(given.get("start_line"))
    n_lines = _number(file.get("numLines")) or _number(given.get("limit"))
    end = start + n_lines - 1 if start and n_lines else _number(given.get("end_line"))
    return replace(use, start_line=start, end_line=end, total_lines=_number(file.get("totalLines")))


def _number(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _bounded(use: ToolUse, text: str, places: Places) -> ToolUse:
    """The use with texts cut so that it is stored in `MAX_JSON_BYTES`; halved until it does, for texts that grow."""
    file = use.files_read[0] if use.kind == "read" and use.files_read else ""
    room, n_edits = 1.0, max(1, len(use.edits))
    while True:
        of_edit = int(_EDIT_CHARS * room / (2 * n_edits))
        limit = int((_READ_CHARS if use.kind == "read" else _OUTPUT_CHARS) * room)
        found = replace(
            use,
            command=cut(use.command, int(4_000 * room)),
            output=condensed(text, file, limit) if use.kind == "read" else cut(text, limit),
            error=cut(places.shortened(use.error), int(_OUTPUT_CHARS * room / 2)),
            edits=tuple(replace(edit, old=cut(edit.old, of_edit), new=cut(edit.new, of_edit)) for edit in use.edits),
        )
        if room < 0.01 or len(found.as_json().encode("utf-8", "replace")) < MAX_JSON_BYTES:
            return found
        room /= 2


def _once(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(path for path in paths if path))[:_MAX_FILES]

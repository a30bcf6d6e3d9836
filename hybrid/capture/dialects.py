"""Reads what clients put into the input and the result of their tools, under whatever names they have for it.

Pure: any value that JSON has gives an answer. `tools` makes one form of it.
"""

from __future__ import annotations

import json
import re
import shlex
from functools import cache
from itertools import takewhile, zip_longest
from typing import Any, cast

from hybrid.base.clients import ToolKind, clients

_NAMES: dict[ToolKind, str] = {
    "edit": "edit_file insert str_replace update_file",
    "write": "create_file",
    "read": "cat",
    "search": "codebase_search file_search find rg ripgrep search",
    "list": "list_dir",
    "command": "run_command terminal",
    "web": "fetch",
}
"""Names of tools that no file of a client has, and any client may give to one."""


@cache
def _kinds() -> dict[str, ToolKind]:
    """Return the kind of each tool by its name in lower case."""
    kinds: dict[str, ToolKind] = {name: kind for kind, names in _NAMES.items() for name in names.split()}
    for client in clients().values():
        kinds |= {name: kind for kind, names in client.tools.items() for name in names}
    return kinds


_WRITING = ("write", "edit", "patch", "create", "replace")

PATH_FIELDS = ("file_path", "filePath", "absolute_path", "notebook_path", "notebookPath", "path", "dir_path")
_QUERY_FIELDS = ("pattern", "query", "url", "prompt", "regex", "q", "input")
_OLD_FIELDS = ("old_string", "oldString", "old_str", "old_text", "oldText")
_NEW_FIELDS = tuple("new_string newString new_str new_text newText insert_text content file_text new_source".split())
COMMAND_FIELDS = ("command", "cmd", "script")
"""Names of the fields that hold a command line, which may be a list of its words."""
_RESULT_FIELDS = tuple(
    "stdout llmContent textResultForLlm text_result_for_llm output content result text returnDisplay".split()
)
_MAX_DEPTH = 100
"""Levels of a result that are read, so that no value ends the program by its depth."""
_BAD_RESULTS = ("failure", "error", "rejected", "denied", "timeout")

_ANSI = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-_])")
_EXIT = re.compile(
    r"\A\s*(?:Error: )?(?:Exit code:?|Process exited with code|exit status:?) (-?\d{1,6})\b|"
    r"^(?:Exit Code: |Process exited with code |<shellId: \S+ completed with exit code )(-?\d{1,6})>?[ \t]*$",
    re.MULTILINE,
)
_REPORT_FRAME = re.compile(
    r"\A(?:<tools-used-before-summary>.*</tools-used-before-summary>\n+|<task id=.*>\n<task_result>\n|"
    r"Subagent '.*' finished\.\nTermination Reason: .*\nResult:\n)|\n</task_result>\n</task>\Z"
)
"""What Claude Code, OpenCode and Gemini CLI put around the last text of a subagent."""
_SHELL_FRAME = re.compile(
    r"^(?:</?untrusted_context>|Process Group PGID: .*|Background PIDs: .*|Signal: \(none\)|Error: \(none\)|"
    r"Exit Code: -?\d+|Directory: .*|<shellId: .*>|Wall time: .*|Total output lines: \d+|Chunk ID: \w+|"
    r"Process exited with code -?\d+|Original token count: \d+)[ \t]*(?:\n|\Z)",
    re.MULTILINE,
)


def kind_of(tool: str, fields: dict[str, Any]) -> ToolKind:
    """Return the kind of a tool by its name as any client spells it; `other` for an unknown name.

    For a tool that edits and for an unknown one the field `command` decides, if it is `view` (a read), `create` (a
    write), `str_replace` or `insert` (edits). An unknown name that holds a word such as `patch` is an edit, except of
    MCP tools.
    """
    name = tool.rpartition("__")[2].lower() if tool.startswith("mcp__") else tool.lower()
    kind = _kinds().get(name.rpartition(".")[2], "other")
    if kind in ("edit", "other") and fields.get("command") in ("view", "create", "str_replace", "insert"):
        return {"view": "read", "create": "write"}.get(fields["command"], "edit")  # type: ignore[return-value]
    if kind == "other" and not tool.startswith("mcp__") and any(word in name for word in _WRITING):
        return "edit"
    return kind


def arguments(value: object) -> dict[str, Any]:
    """Return the arguments of a tool as an object: text that is JSON is read, other text is its `input`."""
    if isinstance(value, str):
        if not value.lstrip().startswith("{"):
            return {"input": value}
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {"input": value}
    return fields_of(value)


def fields_of(value: object) -> dict[str, Any]:
    """Return an object of JSON as it is; an empty one for any other value."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def texts_of(value: object) -> list[str]:
    """Return the texts of a list, in order; none for any other value."""
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [item for item in items if isinstance(item, str)]


def first_text(fields: dict[str, Any], names: tuple[str, ...]) -> str:
    """Return the first value among the named fields that is text and not empty; empty when there is none."""
    return next((value for name in names if isinstance(value := fields.get(name), str) and value), "")


def query_of(fields: dict[str, Any]) -> str:
    """Return the question of a search, a fetch or a subagent; several are joined by commas; empty without one."""
    return first_text(fields, _QUERY_FIELDS) or ", ".join(texts_of(fields.get("queries") or fields.get("urls")))


def command_of(fields: dict[str, Any]) -> str:
    """Return the command line, a list of words joined, without the shell that runs it; empty without one."""
    value = next((fields[name] for name in COMMAND_FIELDS if name in fields), None)
    if isinstance(value, list):
        words = [str(word) for word in cast("list[object]", value) if isinstance(word, (str, int, float))]
        if len(words) >= 3 and words[1] in ("-lc", "-c", "/c", "-Command"):
            return words[2]
        return shlex.join(words)
    return value if isinstance(value, str) else ""


def replacements(fields: dict[str, Any]) -> list[tuple[str, str]]:
    """Return pairs of old and new text that the arguments of an editing tool name."""
    edits = fields.get("edits")
    if isinstance(edits, list):
        objects = [arguments(edit) for edit in cast("list[object]", edits)]
        return [pair for edit in objects for pair in replacements({**edit, "edits": None})]
    old, new = first_text(fields, _OLD_FIELDS), first_text(fields, _NEW_FIELDS)
    return [(old, new)] if old or new else []


def result_text(value: object, depth: int = 0) -> str:
    """Return the text of a result, flattened: standard output and error, blocks, lists of file names, whatever it has.

    Args:
        value: Any value of JSON.
        depth: Levels above the value; what is deeper than a hundred gives nothing.
    """
    if depth > _MAX_DEPTH:
        return ""
    if isinstance(value, str):
        if not value.startswith('{"output"'):
            return value
        try:  # Codex gives its results as JSON: `{"output": …, "metadata": …}`.
            return result_text(json.loads(value), depth + 1)
        except (ValueError, RecursionError):
            return value
    if isinstance(value, list):
        parts = [result_text(one, depth + 1) for one in cast("list[object]", value)]
        return "\n".join(part for part in parts if part)
    if not isinstance(value, dict):
        return "" if value is None else str(value)
    return _of_object(cast("dict[str, Any]", value), depth)


def _of_object(fields: dict[str, Any], depth: int) -> str:
    file, names = fields.get("file"), fields.get("filenames")
    if isinstance(file, dict):
        return result_text(cast("object", file), depth + 1)
    listed = result_text(cast("object", names), depth + 1) if isinstance(names, list) else ""
    text = next((result_text(fields[name], depth + 1) for name in _RESULT_FIELDS if fields.get(name)), "")
    parts = [text, first_text(fields, ("stderr",)), "" if listed and listed in text else listed]
    return "\n".join(part for part in parts if part)


def cleaned(text: str) -> str:
    """Return text without colours, without what was overwritten on its line, and without a shell tool's frame."""
    text = without_colours(text.replace("<tool_use_error>", "").replace("</tool_use_error>", ""))
    if "\r" in text:
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    if "Process Group PGID" in text or "<shellId" in text or "Wall time: " in text:
        text = _unframed(text)
    return text.encode("utf-8", "replace").decode("utf-8").strip("\n")


def without_colours(text: str) -> str:
    """Return text without what tells a terminal how to show it."""
    return _ANSI.sub("", text) if "\x1b" in text else text


def _unframed(text: str) -> str:
    text = _SHELL_FRAME.sub("", text)
    if text.startswith("Command: ") and "\nOutput: " in text:
        text = text[text.index("\nOutput: ") + 1 :]
    return (
        text.removeprefix("Exit code: 0\n").removeprefix("Output: ").removeprefix("Output:\n").removesuffix("\nOutput:")
    )


def report_of(text: str) -> str:
    """Return the last text of a subagent without what its client puts around it."""
    text = _REPORT_FRAME.sub("", text)
    # Gemini CLI gives the arguments of the tool that ends a subagent.
    return first_text(arguments(text), ("response",)) if text.startswith('{\n  "response": ') else text


def exit_code(value: object, text: str, error: str) -> int | None:
    """Return the exit code that fields, text or error of a result tell; None when none does."""
    fields = arguments(value)
    for known in (fields, fields_of(fields.get("metadata"))):
        for name in ("exit_code", "exitCode", "exit", "returncode"):
            if isinstance(known.get(name), int) and not isinstance(known[name], bool):
                return known[name]
    for place in (error, text[:300], text[-300:]):
        if match := _EXIT.search(place):
            return int(match[1] or match[2])
    return None


def is_failure(value: object, error: str, code: int | None) -> bool:
    """Return whether the tool failed: by its error, its exit code, or what the result says of itself."""
    fields = fields_of(value)
    kind = fields.get("resultType", fields.get("result_type"))
    says_so = kind in _BAD_RESULTS or fields.get("is_error") is True or fields.get("isError") is True
    return bool(error) or says_so or bool(fields.get("interrupted")) or (code is not None and code != 0)


# --- Patches: `apply_patch`, unified diffs and hunks of clients ----------------------------------------------------

PATCH_BEGIN = "*** Begin Patch"
_MAX_HUNKS = 20
"""Number of places of one patch that are kept; a title names a few of them."""
_MARKS = {"*** Add File: ": "add", "*** Update File: ": "update", "*** Delete File: ": "delete"}


def patched(text: str) -> list[tuple[str, str, str, bool]]:
    """Return file, old text, new text and whether the file is new, for each hunk of an `apply_patch`, at most 20.

    Text without a patch gives nothing. A deleted file has no texts.
    """
    if PATCH_BEGIN not in text:
        return []
    patches: list[tuple[str, str, str, bool]] = []
    path, is_new, lines = "", False, list[str]()
    for line in [*text[text.index(PATCH_BEGIN) :].splitlines(), "*** End Patch"]:
        mark = next((mark for mark in _MARKS if line.startswith(mark)), "")
        if mark or line.startswith(("@@", "*** End Patch")):
            if path and lines:
                patches.append((path, *sides(lines), is_new))
            lines = []
        if mark:
            path, is_new = line[len(mark) :].strip(), _MARKS[mark] == "add"
            if _MARKS[mark] == "delete":
                patches.append((path, "", "", False))
        elif line.startswith("*** Move to: "):
            patches.append((line[len("*** Move to: ") :].strip(), "", "", True))
        elif line.startswith("*** End Patch"):
            break
        elif not line.startswith("*** "):
            lines += (
                [" " + line[2:].strip()] if line.startswith("@@") and line.strip("@ ") else [line] * (line[:2] != "@@")
            )
    return patches[:_MAX_HUNKS]


def hunks(value: object) -> list[tuple[str, str]]:
    """Return old and new text of each hunk of a `structuredPatch`, at most 20; none for any other value."""
    of_hunks = cast("list[object]", value)[:_MAX_HUNKS] if isinstance(value, list) else []
    every = [fields_of(hunk).get("lines") for hunk in of_hunks]
    return [sides(texts_of(cast("object", lines))) for lines in every if isinstance(lines, list)]


def sides(lines: list[str]) -> tuple[str, str]:
    """Return the old and the new text of the lines of a hunk, each with its mark."""
    old = [line[1:] for line in lines if line[:1] in (" ", "-", "")]
    new = [line[1:] for line in lines if line[:1] in (" ", "+", "")]
    return "\n".join(old), "\n".join(new)


def first_change(old: str, new: str) -> int:
    """Return the offset of the first line of the old text that differs from the new one's; the end when none does."""
    pairs = zip_longest(old.split("\n"), new.split("\n"))
    same = takewhile(lambda pair: pair[0] == pair[1], pairs)
    return min(sum(len(line) + 1 for line, _ in same), len(old))

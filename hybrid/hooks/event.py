"""Reads a hook event from any client into one form, whatever is unknown, missing or broken in it.

The service does it, and a hook that answers without one. Here private spans and secrets end: nothing behind sees them.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.base.clients import Field, client_named, clients, value_at
from hybrid.hooks.service import event_of
from hybrid.types import NO_PROMPT, CleanedPrompt, HookEvent, ToolCall

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import TypeGuard


# Shortens the JSON of a large event before it is parsed, so that no event costs more than some megabytes.
#
# Works on bytes with the fast searches of the standard library, in time and memory that grow with the length alone;
# every hook event passes here. JSON that is not valid may come out as other JSON that is not valid.

SMALL_BYTES = 1_000_000
"""Bytes of an event up to which it is parsed as it is; texts of a longer one are cut first."""

MAX_VALUES = 100_000
"""Number of values of an event; of one with more the beginning is read. No list of as many numbers is of use."""

_LIMITS = (600_000, 100_000, 20_000, 2_000, 200)
"""Bytes that a text may have, tried one after the other until all texts together fit."""

_ROOM_BYTES = 2_500_000
"""Bytes that all texts of an event together may have: it holds a prompt of 400,000 characters and tools' 200,000."""

_TAIL = 4
"""Divisor of a limit that gives the length of a cut text's end: a quarter; its beginning says what it is."""

_GAP = b"\\n[...]\\n"
_BEGINNING_BYTES = 300_000
_CLOSING = {ord("{"): b"}", ord("["): b"]"}


def shortened(data: bytes) -> bytes:
    """Return an event whose long texts are cut in their middle, and which has no more values than are read.

    Args:
        data: JSON in UTF-8.
    """
    if len(data) <= SMALL_BYTES:
        return data
    # Escapes give way to bytes that no JSON holds: then every quote begins or ends a text, and no length changes.
    plain = data.replace(b"\\\\", b"\0\1").replace(b'\\"', b"\0\1")
    if plain.count(b'"') > 4 * MAX_VALUES:
        return _beginning(data, plain)
    pieces = plain.split(b'"')
    if sum(piece.count(b",") + piece.count(b"[") + piece.count(b"{") for piece in pieces[::2]) > MAX_VALUES:
        return _beginning(data, plain)
    sizes = [len(piece) for piece in pieces[1::2]]
    limit = next((most for most in _LIMITS if sum(min(size, most) for size in sizes) <= _ROOM_BYTES), _LIMITS[-1])
    return b"".join(_parts(data, plain, pieces, limit))


def _parts(data: bytes, plain: bytes, pieces: Sequence[bytes], limit: int) -> Iterator[bytes]:
    """Yield the bytes of the event in pieces; texts longer than the limit lose their middle."""
    kept_to = at = 0
    for number, piece in enumerate(pieces):
        end = at + len(piece)
        if number % 2 and len(piece) > limit:
            tail = limit // _TAIL
            yield data[kept_to : _before_escape(plain, at + limit - tail)]
            yield _GAP
            kept_to = _before_escape(plain, end - tail)
        at = end + 1
    yield data[kept_to:]


def _before_escape(plain: bytes, at: int) -> int:
    """Return a place to cut at or shortly before one, where no escape is torn apart."""
    begin = max(plain.rfind(b"\\", at - 5, at), plain.rfind(b"\0", at - 1, at))
    return begin if begin >= 0 and begin + (6 if plain[begin + 1 : begin + 2] == b"u" else 2) > at else at


def _beginning(data: bytes, plain: bytes) -> bytes:
    """Return the beginning of an event, with whatever it opens closed again; an empty one when not one value fits."""
    open_marks = bytearray()
    end, closing = 0, b""
    is_text = False
    for at, byte in enumerate(plain[:_BEGINNING_BYTES]):
        if byte == _QUOTE:
            is_text = not is_text
        elif is_text:
            continue
        elif byte in _CLOSING:
            open_marks.append(byte)
        elif byte in _ENDS and open_marks:
            open_marks.pop()
        elif byte == _COMMA:
            end, closing = at, bytes(open_marks)
    return data[:end] + b"".join(_CLOSING[mark] for mark in reversed(closing)) if end else b"{}"


_QUOTE, _COMMA = ord('"'), ord(",")
_ENDS = (ord("}"), ord("]"))


MAX_BYTES = 32_000_000
"""Events longer than this are not read: a prompt of that size is a mistake."""

MAX_PROMPT_CHARS = 400_000
"""Characters that are read of a prompt or report: a longer one was pasted, and cleaning megabytes would outlast the
deadline."""

MAX_ID_CHARS = 200
"""Characters of a name that a client gives to a session, an agent, a tool or a use of one. No client comes near it."""

MAX_PATH_CHARS = 4_096
"""Characters of a path; no system takes a longer one."""

MAX_PATHS = 200
"""Number of files of one event that are told; those of a larger patch are found by the next sweep over the project."""

_WRITING_WORDS = ("write", "edit", "patch", "create", "replace")
"""Tools with such a word in their name write files, whoever made them; a file named in vain costs one `stat`."""
_PATCH_MARKS = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")


class EventError(ValueError):
    """The input of a hook is not an event; the message goes to the log."""


def parse_event(data: bytes, *, client: str, event: str, cwd: str, key: str = "") -> HookEvent:
    """Return the event on a hook's standard input.

    Args:
        data: UTF-8, possibly with a byte order mark, possibly broken.
        client: Who calls, from the command line.
        event: Its name, from the command line; the input's own name is only a fallback.
        cwd: The hook's working directory, when the event names none.
        key: The key of the event.

    Raises:
        EventError: Empty, too large, not JSON, not an object, or an event that we do not answer.
    """
    fields = _Fields(_object(data), client)
    name = event or fields.text("name") or "UserPromptSubmit"
    known = event_of(name)
    if known is None:
        raise EventError(f"{bounded_id(name)} is no event that hybrid knows: the hook is registered for the wrong one")
    call, paths, report = _use_of_tool(fields, client) if known == "PostToolUse" else (None, (), NO_PROMPT)
    return HookEvent(
        client=bounded_id(client),
        event=known,
        session_id=fields.id("session_id"),
        agent_id=fields.id("agent_id"),
        cwd=_directory(fields.path("cwd"), cwd),
        prompt=_prompt(fields.text("prompt")) if known == "UserPromptSubmit" else NO_PROMPT,
        name=name,
        source=fields.id("source"),
        call=call,
        tool_use_id=fields.id("tool_use_id") if call else "",
        paths=paths,
        report=report,
        message=_message(fields.text("message")) if known == "Stop" else "",
        transcript=fields.path("transcript"),
        key=key,
    )


def _use_of_tool(fields: _Fields, client: str) -> tuple[ToolCall, tuple[str, ...], CleanedPrompt]:
    """Return the use of a tool, the files that it wrote, and the final text of a subagent."""
    from hybrid.capture.cleaning import cleaned_call  # A prompt needs none of it.

    arguments, result = fields.value("tool_input"), fields.value("tool_response")
    if isinstance(result, str) and (names := client_named(client).at_tool.exit_code):
        from hybrid.capture.transcript import exit_code

        code = exit_code(Path(fields.path("transcript")), fields.id("tool_use_id"), names)
        result = {"output": result, "exit_code": code} if code else result
    given = ToolCall(fields.id("tool"), arguments, result, fields.text("error"))
    call = cleaned_call(given)
    return call, tuple(_paths(given.tool, arguments)), _prompt(_report(given.tool, call.result, client), is_report=True)


def _prompt(text: str, *, is_report: bool = False) -> CleanedPrompt:
    """Return a prompt or report, cleaned; what is too long was pasted, and its beginning is read."""
    from hybrid.prompting.clean import read_prompt  # Other events need none of it.

    return read_prompt(text[:MAX_PROMPT_CHARS], is_report=is_report) if text else NO_PROMPT


def _message(text: str) -> str:
    from hybrid.capture.cleaning import cleaned_text

    return cleaned_text(text[:MAX_PROMPT_CHARS])


@cache
def _words(client: str) -> dict[Field, dict[str, None]]:
    """Return the words for each field in order: the client's own, Claude Code's, those of all others."""
    every = clients()
    words: dict[Field, dict[str, None]] = {}
    for name in (client, "claude", *every):
        for field, names in every[name].fields.items() if name in every else ():
            words.setdefault(field, {}).update(dict.fromkeys(names))
    return words


class _Fields:
    """The values of an event, or of a tool's result, by our words for their fields."""

    def __init__(self, values: dict[str, Any], client: str) -> None:
        self._values = values
        self._words = _words(client_named(client).name)

    def _found(self, field: Field) -> Iterator[Any]:
        return (value_at(self._values, word) for word in self._words[field])

    def value(self, field: Field) -> Any:
        """Return the first value that there is; None for none."""
        return next((value for value in self._found(field) if value is not None), None)

    def text(self, field: Field) -> str:
        """Return the first text that is not empty, or texts of blocks; lone surrogates become question marks."""
        texts = (value if isinstance(value, str) else _texts(value) for value in self._found(field))
        return _clean(next(filter(None, texts), ""))

    def id(self, field: Field) -> str:
        """Return the same as it may be kept."""
        return bounded_id(self.text(field))

    def path(self, field: Field) -> str:
        """Return the first text that is not empty, as a path."""
        return _path(self._found(field))


def _object(data: bytes) -> dict[str, Any]:
    if len(data) > MAX_BYTES:
        raise EventError(f"hook input of {len(data)} bytes or more is not read")
    text = shortened(data).decode("utf-8-sig", "replace")
    if not text.strip():
        raise EventError("hook input is empty")
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise EventError(f"hook input is not JSON: {error}") from error
    if not _is_object(fields):
        raise EventError(f"hook input is not an object but {type(fields).__name__}")
    return fields


def _report(tool: str, response: object, client: str) -> str:
    """Return the final text of a subagent; empty for other tools, and for one that was only launched."""
    from hybrid.capture.dialects import kind_of, report_of

    if kind_of(tool, {}) != "subagent":
        return ""
    answer = _dict(response)
    if answer.get("status") == "async_launched" or answer.get("isAsync"):
        return ""
    if answer:
        response = _Fields(answer, client).value("report")
    return report_of(response if isinstance(response, str) else _texts(response))


def _texts(parts: object) -> str:
    """Return the texts of content blocks; what a client adds for itself (usage, how to go on) is left out."""
    if not _is_list(parts):
        return ""
    texts = [part.get("text") for part in map(_dict, parts) if not part.get("synthetic")]
    return "\n\n".join(text for text in texts if isinstance(text, str) and not text.startswith("agentId: "))


def _paths(tool: str, arguments: object) -> list[str]:
    """Return the files that a tool wrote, as the client names them; none for a tool that does not write."""
    from hybrid.capture import dialects

    values = dialects.arguments(arguments)
    for text in values.values():
        if isinstance(text, str) and dialects.PATCH_BEGIN in text:
            return _patched(text[text.index(dialects.PATCH_BEGIN) :])
    path = _path(map(values.get, dialects.PATH_FIELDS))
    return [path] if path and any(word in tool.lower() for word in _WRITING_WORDS) else []


def _patched(text: str) -> list[str]:
    """Return the file names in a patch of Codex's form, each once."""
    lines = text.splitlines()
    paths = [line[len(mark) :].strip() for line in lines for mark in _PATCH_MARKS if line.startswith(mark)]
    return [_clean_path(path) for path in dict.fromkeys(paths) if 0 < len(path) <= MAX_PATH_CHARS][:MAX_PATHS]


def _dict(value: object) -> dict[str, Any]:
    """Return the value if it is an object, else an empty one."""
    return value if _is_object(value) else {}


def _is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def bounded_id(text: str) -> str:
    """Return a client's name of something as it may be kept: one short line, without secrets and marks of a frame.

    What is left out is told apart by 32 hex digits of its SHA-256, so that different names stay different.
    """
    if _is_uuid(text):
        return text
    from hybrid.redact import redact  # Where an event is read, they are there as a rule.
    from hybrid.render.marks import neutralise_line, plain_text, without_private

    # A secret may begin near the end of what is shown.
    shown = redact(neutralise_line(without_private(plain_text(text[: 5 * MAX_ID_CHARS]))))
    if shown == text and len(text) <= MAX_ID_CHARS:
        return text
    import hashlib

    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"{shown[: MAX_ID_CHARS - len(digest) - 1]}~{digest}"


def _is_uuid(text: str) -> bool:
    return len(text) == 36 and text.count("-") == 4 and not text.strip("0123456789abcdefABCDEF-")


def _directory(named: str, cwd: str) -> str:
    """Return the directory that an event names, else that of the hook.

    Many clients cannot write a name that is no UTF-8, and put marks in the place of what is none. The hook's own
    directory is meant where it looks the same with such marks.
    """
    is_marked = "\ufffd" in named and cwd.encode("utf-8", "surrogateescape").decode("utf-8", "replace") == named
    return cwd if is_marked else named or cwd


def _path(values: Iterable[object]) -> str:
    """Return the first of the values that is text and not empty, as a path; empty for one that no system takes."""
    path = _clean_path(next((value for value in values if isinstance(value, str) and value), ""))
    return path if len(path) <= MAX_PATH_CHARS else ""


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _clean_path(path: str) -> str:
    """Return the path as Python names it, with surrogates in place of bytes that are no UTF-8; others as `_clean`."""
    try:
        path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return _clean(path)
    return path

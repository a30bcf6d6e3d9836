"""Reads what an agent said, and was asked, from the transcript that its client keeps of a session.

A transcript is a file of JSON lines that grows, or the single JSON document of older Gemini versions. It is never
needed: whatever is missing, broken or of an unknown form is passed over.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
from functools import cache
from typing import TYPE_CHECKING, BinaryIO, Literal, cast

from msgspec import Struct
from msgspec.structs import replace

from hybrid.base.clients import TranscriptForm, clients, value_at
from hybrid.capture.dialects import fields_of
from hybrid.render.marks import block_tags, machine_prefixes, without_elements

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


Role = Literal["user", "agent"]

_TEXT_TYPES = ("text", "output_text", "input_text")
_ROLES: dict[str, Role] = {"agent": "agent", "assistant": "agent", "user": "user"}


@cache
def _untyped() -> tuple[str, ...]:
    """Return beginnings of messages of a user that nobody typed, in lower case."""
    return (*machine_prefixes(), *(begin for client in clients().values() for begin in client.prompts.untyped))


@cache
def _forms() -> dict[str, list[TranscriptForm]]:
    """Return the forms of an entry by its type."""
    forms: dict[str, list[TranscriptForm]] = {}
    for form in (form for client in clients().values() for form in client.transcript):
        for kind in form.types:
            forms.setdefault(kind, []).append(form)
    return forms


@cache
def _agent_hints() -> tuple[bytes, ...]:
    """Return what a line has one of in which an agent speaks."""
    types = {kind for kind, forms in _forms().items() for form in forms if form.types[kind] == "agent"}
    return (b"assistant", *(f'"{kind}"'.encode() for kind in sorted(types) if "assistant" not in kind))


class Utterance(Struct, frozen=True):
    """Something that was said.

    Attributes:
        role: Who said it.
        text: Never blank, without lone surrogates.
        id: The client's id of the message; several entries may be parts of one message. Empty when it has none.
    """

    role: Role
    text: str
    id: str


def said_in(entry: object) -> Utterance | None:
    """Return what a person or the agent said in an entry, which may be any value of JSON; None for all else.

    What a subagent, a tool or the client itself says is nothing, as is an entry of an unknown form.
    """
    kind = str(fields_of(entry).get("type"))
    utterance = next(filter(None, (_read(entry, kind, form) for form in _forms().get(kind, ()))), None)
    if utterance is not None and utterance.role == "user":
        typed = without_elements(utterance.text, block_tags()).strip()
        return None if not typed or typed[:80].lower().startswith(_untyped()) else utterance
    return utterance


def _read(entry: object, kind: str, form: TranscriptForm) -> Utterance | None:
    """Return what is said in an entry of that type, if it has that form."""
    role = _ROLES.get(form.types[kind]) or _ROLES.get(str(value_at(entry, form.types[kind])))
    text = next(filter(str.strip, (_texts(value_at(entry, path)) for path in form.text)), "")
    marks = (value_at(entry, path) == value for path, value in form.skip_values.items())
    if role is None or not text or any(value_at(entry, path) for path in form.skip) or any(marks):
        return None
    ids = (value_at(entry, path) for path in form.id)
    return Utterance(role, text, next((each for each in ids if isinstance(each, str) and each), ""))


def _texts(content: object) -> str:
    """Return text, or the texts of blocks joined by blank lines, without thoughts, calls and results of tools.

    Lone surrogates, which JSON may hold, become question marks.
    """
    blocks = map(fields_of, cast("list[object]", content)) if isinstance(content, list) else ()
    is_text = [block for block in blocks if block.get("type", "text") in _TEXT_TYPES and not block.get("thought")]
    texts = [text for block in is_text if isinstance(text := block.get("text"), str)]
    text = content if isinstance(content, str) else "\n\n".join(texts)
    return text.encode("utf-8", "replace").decode("utf-8")


MAX_BYTES = 16_000_000
"""Bytes of a transcript that are read at once, at most; of more the newest."""

MAX_LINE_BYTES = 4_000_000
"""Bytes of a line; longer lines are passed over, since they hold images or results of tools."""

_FIRST_LOOK_BYTES = 256_000
"""Bytes read from the end at first: the last exchange mostly lies there, and a transcript may have megabytes."""
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | _NO_LINK
_MESSAGES = re.compile(r'"messages"\s*:\s*\[\s*')
_BETWEEN = re.compile(r"\s*,\s*")


class AgentText(Struct, frozen=True):
    """One message of the agent.

    Attributes:
        text: Text blocks of the message, joined by blank lines; no thoughts, no calls of tools.
        id: The client's id of the message; empty when it has none.
        end_offset: Bytes of the transcript up to the end of its last part.
    """

    text: str
    id: str
    end_offset: int


class Exchange(Struct, frozen=True):
    """The end of a conversation; a part that was not found is empty.

    Attributes:
        user: The last prompt that a person typed, with what the client put around it.
        agent: The last text of the agent after it.
    """

    user: str = ""
    agent: str = ""


def agent_texts(path: Path, since: int) -> tuple[tuple[AgentText, ...], int]:
    """Return the agent's messages after a byte offset, oldest first, and the offset to go on from next time.

    Parts of one message that stand in several lines are one text. Messages of subagents, of the user, of tools and of
    the client itself are left out. A last line that is not written to its end stays for the next time. When the file
    does not go on where it ended before (it is shorter, or was rewritten), nothing is returned, so that nothing counts
    twice. At most `MAX_BYTES` are read, of more the newest.

    Args:
        path: The transcript; one that cannot be read gives nothing and leaves the offset where it is.
        since: What the last call returned, 0 for all, or what `end_offset` said.
    """
    try:
        with _open(path) as file:
            if _is_document(path, file):
                return _texts_of_document(file, since)
            size = file.seek(0, os.SEEK_END)
            if not _goes_on(file, size, since):
                return (), _line_end(file, size)
            begin = max(since, size - MAX_BYTES)
            data, begin = _read_lines(file, begin, size, is_line_start=begin == since)
    except OSError:
        return (), since
    if begin is None:
        return (), since
    return _merged(_agent_lines(data, begin)), begin + len(data)


def end_offset(path: Path) -> int:
    """Return the byte where the whole lines of a transcript end, to start from when its past does not count; else 0.

    A resumed or forked session begins with the messages of the old one.
    """
    try:
        with _open(path) as file:
            if _is_document(path, file):
                return max((end for _, _, end in _document(file)), default=0)
            return _line_end(file, file.seek(0, os.SEEK_END))
    except OSError:
        return 0


def last_exchange(path: Path) -> Exchange:
    """Return what was typed last and what the agent said last after it; empty parts for a file that cannot be read.

    It is read from the end of the transcript, at most `MAX_BYTES`.
    """
    try:
        with _open(path) as file:
            if _is_document(path, file):
                return _exchange([utterance for utterance, _, _ in _document(file)])
            size = file.seek(0, os.SEEK_END)
            look = _FIRST_LOOK_BYTES
            while True:
                begin = max(0, size - min(look, MAX_BYTES))
                data, _ = _read_lines(file, begin, size, is_line_start=begin == 0)
                exchange = _exchange([utterance for line in data.split(b"\n") if (utterance := _said(line))])
                if exchange.user or begin == 0 or look >= MAX_BYTES:
                    return exchange
                look *= 8
    except OSError:
        return Exchange()


def exit_code(path: Path, use_id: str, names: Sequence[str]) -> int | None:
    """Return how a command ended that the end of a transcript tells of; None where it does not.

    Args:
        path: The transcript.
        use_id: The client's id of the use.
        names: Paths of id and exit code in an entry.
    """
    with contextlib.suppress(OSError, ValueError), _open(path) as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - _FIRST_LOOK_BYTES))
        for line in reversed(file.read().split(b"\n")):
            if use_id.encode() in line:
                found, code = (value_at(json.loads(line), name) for name in names)
                if found == use_id and isinstance(code, int):
                    return code
    return None


def _exchange(utterances: list[Utterance]) -> Exchange:
    user = max((number for number, utterance in enumerate(utterances) if utterance.role == "user"), default=-1)
    after = utterances[user + 1 :]
    return Exchange(utterances[user].text if user >= 0 else "", after[-1].text if after else "")


# Files


def _open(path: Path) -> BinaryIO:
    """Return a regular file that is not a link, without waiting for a pipe.

    Raises:
        OSError: The path is anything else, or not there.
    """
    try:
        descriptor = os.open(path, _FLAGS)
    except ValueError as error:  # A zero byte in a path that an event named.
        raise OSError(str(error)) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError("not a regular file")
    return os.fdopen(descriptor, "rb")


def _goes_on(file: BinaryIO, size: int, since: int) -> bool:
    """Return whether the offset is 0 or begins a line, as it did when it was returned: else the file was rewritten."""
    if since <= 0 or since > size:
        return since == 0
    file.seek(since - 1)
    return file.read(1) == b"\n"


def _line_end(file: BinaryIO, size: int) -> int:
    """Return the offset after the last line end, looked for in the last megabytes; where there is none, their start."""
    begin = max(0, size - MAX_LINE_BYTES)
    file.seek(begin)
    at = file.read(size - begin).rfind(b"\n")
    return begin + at + 1


def _read_lines(file: BinaryIO, begin: int, end: int, *, is_line_start: bool) -> tuple[bytes, int | None]:
    """Return the whole lines within a part of the file, and where they begin; None when no line ends there."""
    file.seek(begin)
    data = file.read(end - begin)
    first = 0 if is_line_start else data.find(b"\n") + 1
    last = data.rfind(b"\n") + 1
    if not last or (not first and not is_line_start):
        return b"", None
    return data[first:last], begin + first


def _agent_lines(data: bytes, begin: int) -> Iterator[tuple[Utterance, int]]:
    """Yield what the agent said, with the offset in the transcript after the line that says it.

    Args:
        data: Whole lines of the transcript; the last one has its line end.
        begin: Offset in the transcript at which they begin.
    """
    at = 0
    while at < len(data):
        end = data.index(b"\n", at) + 1
        line = data[at:end]
        if any(hint in line for hint in _agent_hints()):
            utterance = _said(line)
            if utterance is not None and utterance.role == "agent":
                yield utterance, begin + end
        at = end


def _said(line: bytes) -> Utterance | None:
    if len(line) > MAX_LINE_BYTES or not line.strip():
        return None
    try:
        return said_in(json.loads(line.decode("utf-8", "replace").lstrip("\ufeff")))
    except (ValueError, RecursionError):
        return None


def _merged(utterances: Iterator[tuple[Utterance, int]]) -> tuple[AgentText, ...]:
    """Return one text per message id: clients write a message in parts, or once more when it grew."""
    texts: dict[str, AgentText] = {}
    # A message of very many parts: none is looked for in the text of all before it, nor joined to that.
    parts: dict[str, dict[str, None]] = {}
    sizes: dict[str, int] = {}  # Characters of the parts, each with the blank line behind it.
    for number, (utterance, end) in enumerate(utterances):
        key, text = utterance.id or f"\n{number}", utterance.text
        known, size = parts.setdefault(key, {}), sizes.get(key, 0)
        if len(text) + 2 >= size and text.startswith("\n\n".join(known)):
            known.clear()
            size = 0
        elif text in known:
            continue
        known[text] = None
        sizes[key] = size + len(text) + 2
        texts[key] = AgentText("", utterance.id, end)
    return tuple(replace(said, text="\n\n".join(parts[key])) for key, said in texts.items())


# The single document of older Gemini versions: rewritten as a whole, but what is before a message stays as long.


def _is_document(path: Path, file: BinaryIO) -> bool:
    file.seek(0)
    head = file.read(64).removeprefix(b"\xef\xbb\xbf").lstrip(b" \t")
    return path.suffix == ".json" or re.match(rb"\{\s*\n", head) is not None


def _texts_of_document(file: BinaryIO, since: int) -> tuple[tuple[AgentText, ...], int]:
    size = file.seek(0, os.SEEK_END)
    if since > size:
        return (), size
    messages = list(_document(file))
    # By its begin: the last message may have grown since, when results of tools were added to it.
    new = ((utterance, end) for utterance, begin, end in messages if utterance.role == "agent" and begin >= since)
    return _merged(new), max((end for _, _, end in messages), default=since)


def _document(file: BinaryIO) -> Iterator[tuple[Utterance, int, int]]:
    """Yield what was said, with the offsets of each message; nothing of a document that is too long."""
    file.seek(0)
    data = file.read(MAX_BYTES + 1)
    text = data.decode("utf-8", "surrogateescape")
    opening = _MESSAGES.search(text) if len(data) <= MAX_BYTES else None
    position = opening.end() if opening else 0
    end = len(text[:position].encode("utf-8", "surrogateescape"))
    while position:
        try:
            entry, after = json.JSONDecoder().raw_decode(text, position)
        except (ValueError, RecursionError):
            return
        begin, end = end, end + len(text[position:after].encode("utf-8", "surrogateescape"))
        if (utterance := said_in(entry)) is not None:
            yield utterance, begin, end
        comma = _BETWEEN.match(text, after)
        position = comma.end() if comma else 0
        end += position - after if comma else 0

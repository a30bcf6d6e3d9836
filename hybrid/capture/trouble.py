"""Recognises uses of tools that did not help their agent: searches that found nothing, and commands that failed.

The look is cheap: the kind of tool, whether anything came back, whether it failed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from hybrid.redact import redact

if TYPE_CHECKING:
    from hybrid.types import HookEvent

Cause = Literal["search", "failure"]

_OUTPUT_CHARS = 5_000
"""Characters of a failure's output that are kept: its beginning and its end, where a trace says what failed."""
_WORDS_CHARS = 200

_SAYS_NOTHING = re.compile(
    r"\W*(?:(?:exit code:? 1|process exited with code 1)\b\W*)?"
    r"(?:\(?(?:empty|none|no output)\)?|no (?:files|matches|results)\b.*"
    r"|(?:found )?0 (?:files|matches|results|lines)\b.*)?\W*",
    re.IGNORECASE,
)
"""Pattern of the lines by which six clients and the usual programs say that a search found nothing."""

_CLASSES = re.compile(r"\\[AbBdDsSwWzZ<>]|\[[^\]\n]{0,100}\]|\{\d{0,9},?\d{0,9}\}|\(\?[a-z:=!<>]*|[.]?[*+?]")
_ESCAPED = re.compile(r"\\(.)")
_APART = re.compile(r"[^\w:./$-]+")


class Trouble(Struct, frozen=True):
    """A use of a tool that did not give what its agent wanted.

    Attributes:
        cause: A search in vain, or a command that failed.
        text: Words that were searched for, or the output of the failure; without secrets.
    """

    cause: Cause
    text: str


def trouble_of(event: HookEvent) -> Trouble | None:
    """Return the trouble that a use of a tool tells of; None for a use that went well, and for other kinds of tools."""
    from hybrid.capture import dialects  # A process that is started for one event mostly has no use for it.

    arguments = dialects.arguments(event.tool_input)
    kind = dialects.kind_of(event.tool, arguments)
    if kind not in ("search", "command"):
        return None
    raw = dialects.result_text(event.tool_response)
    code = dialects.exit_code(event.tool_response, raw, event.error) if kind == "command" else None
    is_failed = dialects.is_failure(event.tool_response, event.error, code)
    if not is_failed and len(raw) > _WORDS_CHARS:
        return None
    output = "\n".join(filter(None, map(dialects.cleaned, (raw, event.error))))
    is_empty = _says_nothing(output)
    if kind == "search":
        return _in_vain(dialects.query_of(arguments)) if is_empty and not is_failed else None
    if not is_empty and not is_failed:
        return None
    from hybrid.capture.shell import is_ours, line_of

    command = dialects.command_of(arguments)
    line = line_of(command)
    if line.work == "search":
        return _in_vain(line.query) if is_empty and code in (None, 0, 1) else None
    if is_empty or line.work in ("list", "read", "git") or is_ours(command):
        return None
    return Trouble("failure", redact(_ends(output)))


def _says_nothing(output: str) -> bool:
    """Return whether an output is short, and each of its lines says that nothing was found."""
    return len(output) <= _WORDS_CHARS and all(map(_SAYS_NOTHING.fullmatch, output.splitlines()))


def _in_vain(pattern: str) -> Trouble | None:
    """Return the trouble of a search in vain; None for one without words, and for one for a secret."""
    if redact(pattern) != pattern:  # By its words alone a secret would not be known any more.
        return None
    words = words_of(pattern)
    return Trouble("search", redact(words)[:_WORDS_CHARS]) if words else None


def words_of(pattern: str) -> str:
    """Return the words and names in a pattern of a search or of file names, joined by spaces; empty without any."""
    plain = _ESCAPED.sub(r"\1", _CLASSES.sub(" ", pattern))
    words = (word.strip("./:-$") for word in _APART.sub(" ", plain).split())
    return " ".join(dict.fromkeys(word for word in words if len(word) > 1))


def _ends(output: str) -> str:
    half = _OUTPUT_CHARS // 2
    return output if len(output) <= _OUTPUT_CHARS else f"{output[:half]}\n{output[-half:]}"

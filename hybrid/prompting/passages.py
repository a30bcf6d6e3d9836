"""Cuts a prompt into passages and says how much each tells of what is asked; `query` calls it.

People paste what a program printed, the code that they ran and the form of an issue tracker around a few sentences that
say what they want. The sentences and the message of an error tell most, a table of versions next to nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hybrid.prompting import traces

if TYPE_CHECKING:
    from collections.abc import Iterable

WEIGHTS = {
    "prose": 1.0,
    "code": 0.4,
    "trace": 0.2,
    "log": 0.2,
    "environment": 0.1,
    "heading": 0.1,
    "form": 0.0,
}
"""What a word of each kind of passage counts; messages of errors are prose."""

_MANY_WORDS = 12
"""A longer line is a sentence wherever it stands."""
_MANY_FIELDS = 4
"""So many lines of `name: value` in a row are a table of an environment, if half of the values are versions."""
_MANY_SETTINGS = 7
"""Or so many, if each value is a word."""
_WORDS_OF_SETTING = 3
_LOOKED_AT = 300
_FENCE = re.compile(r"^[ \t]*(```|~~~)")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_ERROR = re.compile(
    r"^\W{0,4}(?:[\w.$\\]{0,100}(?:Error|Exception|Warning|Panic|Fault)\b(?! +Traceback)"
    r"|(?:fatal|panic|error)(?:\[\w+\])?:|thread '[^'\n]{0,80}' panicked"
    r"|Exception in thread|Caused by:|Unhandled [Ee]xception|PHP (?:Fatal|Warning|Notice))"
)
_LOG = re.compile(
    r"^\W{0,2}(?:\d{4}[-/]\d\d[-/]\d\d[T ]|\d+:[A-Z] \d|\d\d:\d\d:\d\d|(?:DEBUG|INFO|WARN(?:ING)?|ERROR|TRACE)\b)"
)
_OF_FRAME = re.compile(r"^\s|^-+> ?\d+ |^\d+: |^\S+\(.*\)$")
"""What may stand between two frames: their code, and the function of the next one."""
_FRAME_START = re.compile(r"^\s*(?:at\b|#\d|\d+: |File\b|from\b|in\b|\S+:\d+|\S+\.pyx?\S* in\b)")
_TRACE_HEAD = re.compile(
    r"Traceback \(most recent|^\W{0,4}(?:Stack ?trace|stack backtrace|Backtrace|goroutine \d)"
    r"|^(?:During handling of|The above exception was)",
    re.IGNORECASE,
)
_RULE = re.compile(r"^\W+$|^\W*[-=*]{3,}.{0,80}[-=*]{3,}\W*$")
_HEADING = re.compile(
    r"^\s*(?:#{1,6}\s+(?P<hash>.{1,80}?)|\*\*(?P<bold>[^*\n]{2,80})\*\*:?|(?P<colon>[A-Z][\w '/-]{2,30}):)\s*$"
)
_OF_ENVIRONMENT = re.compile(
    r"\b(?:versions?|environment|platform|os|system info\w*|dependencies|desktop|smartphone|browsers?|installed)\b",
    re.IGNORECASE,
)
_FORM = re.compile(
    r"^\s*[-*] \[[ xX]\] (?:I\b|This\b|My\b|The issue\b|Check\w*\b|Read\b|Search\w*\b)"
    r"|^\s*_?(?:No response|N/A|None)_?\s*$"
)
_FIELD = re.compile(r"^\s*[-*•]?\s*[\w][\w .()/+-]{0,40}\s*(?::|=|\t| {2,})\s*(?P<value>\S.{0,80})?$")
_VERSION = re.compile(r"\bv?\d+\.\d+|\b(?:None|x86_64|amd64|arm64|UTF-?8)\b|e\.g\.")
_CODE = re.compile(
    r"[{};]\s*$|=>|==|\)\s*[:;{]\s*$|^\s*[\w.]+\s*=\s*\S|^\s*[\w.$]+\([^)]*\)\s*;?\s*$|^\s*(?:>>>|\$|\.\.\.|In \[)"
    r"|^\s*(?:import |from \S+ import|def |class |return\b|const |let |var |func |fn |public |private )"
    r"|^\s*(?:#include|use \w+::|@\w+)"
)


@dataclass(frozen=True, slots=True)
class Passage:
    """Lines of a prompt that are of one kind.

    Attributes:
        text: One or more lines.
        weight: What a word in it counts, in [0, 1].
    """

    text: str
    weight: float


def passages(text: str) -> tuple[Passage, ...]:
    """The passages of a text in order; a text of one line is one passage that counts fully.

    Nothing is lost: the lines of all passages are those of the text, without blank ones and marks of fences.
    """
    if "\n" not in text.strip():
        return (Passage(text, 1.0),)
    found: list[tuple[str, list[str]]] = []
    for kind, line in _ruled(_kinds(text)):
        if found and found[-1][0] == kind:
            found[-1][1].append(line)
        else:
            found.append((kind, [line]))
    return tuple(Passage("\n".join(lines), WEIGHTS[kind]) for kind, lines in found)


def _kinds(text: str) -> list[tuple[str, str]]:
    """Each line with its kind, by itself and the line before."""
    found: list[tuple[str, str]] = []
    is_fenced, kind = False, ""
    for line in _COMMENT.sub("\n", text).split("\n"):
        if _FENCE.match(line):
            is_fenced, kind = not is_fenced, ""
        elif line.strip():
            kind = _kind(line[:_LOOKED_AT], kind, is_fenced=is_fenced)
            found.append((kind, line))
    return _tables(found)


def _kind(line: str, before: str, *, is_fenced: bool) -> str:
    n_words = len(line.split())
    if _ERROR.match(line):
        return "prose"
    if _TRACE_HEAD.match(line) or _is_frame(line, before, is_fenced=is_fenced):
        return "trace"
    if _LOG.match(line):
        return "log"
    if _FORM.match(line):
        return "form"
    if is_fenced:
        return "code"
    if _HEADING.match(line) or _RULE.match(line):
        return "heading"
    return "code" if n_words <= 2 * _MANY_WORDS and _CODE.search(line) else "prose"


def _is_frame(line: str, before: str, *, is_fenced: bool) -> bool:
    if before == "trace" and _OF_FRAME.match(line):
        return True
    return (is_fenced or _FRAME_START.match(line) is not None) and traces.is_frame(line)


def _tables(found: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """With the lines of tables of versions as their own kind."""
    result = list(found)
    start = 0
    for end in range(len(found) + 1):
        if end < len(found) and found[end][0] in ("prose", "code", "form") and _FIELD.match(found[end][1][:_LOOKED_AT]):
            continue
        rows = found[start:end]
        if _is_table([line for _, line in rows]):
            result[start:end] = [("environment", line) for _, line in rows]
        start = end + 1
    return result


def _is_table(lines: list[str]) -> bool:
    if len(lines) >= _MANY_FIELDS and 2 * sum(bool(_VERSION.search(line)) for line in lines) >= len(lines):
        return True
    return len(lines) >= _MANY_SETTINGS and all(len(line.split()) <= _WORDS_OF_SETTING for line in lines)


def _ruled(lines: Iterable[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    """A heading rules what follows it; the first line is the title, whatever it looks like."""
    is_environment = False
    for number, (kind, line) in enumerate(lines):
        if kind == "heading":
            is_environment = _OF_ENVIRONMENT.search(line) is not None
            yield ("heading" if number else "prose"), line
        elif is_environment and kind in ("prose", "code") and len(line.split()) < _MANY_WORDS:
            yield "environment", line
        else:
            yield kind, line

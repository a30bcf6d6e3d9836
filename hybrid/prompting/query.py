"""Makes the query of a prompt: its text cut to size, and what in it names code; the engine and the commands call it."""

from __future__ import annotations

import hashlib
import re
from functools import cache, lru_cache
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from hybrid.base.text import compiled
from hybrid.base.tokens import query_tokens
from hybrid.prompting.content import SourceLine, identifiers, is_frame, parts_of_path, paths, places
from hybrid.prompting.lexicon import in_english

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


# Cuts a prompt into passages and says how much each tells of what is asked; `query` calls it.
#
# People paste what a program printed, the code that they ran and the form of an issue tracker around a few sentences
# that say what they want. The sentences and the message of an error tell most, a table of versions next to nothing.

WEIGHTS = {
    "prose": 1.0,
    "code": 0.4,
    "trace": 0.2,
    "log": 0.2,
    "environment": 0.1,
    "heading": 0.1,
    "form": 0.0,
    "comment": 0.0,
}
"""Kind of passage → weight of a word in it; messages of errors are prose."""

_MANY_WORDS = 12
"""Number of words from which on a line is a sentence, wherever it stands."""
_MANY_FIELDS = 4
"""Number of lines of `name: value` in a row that are a table of an environment, if half of the values are versions."""
_MANY_SETTINGS = 7
"""Number of such lines that are a table also if each value is a single word."""
_WORDS_OF_SETTING = 3
_LINE_CHARS = 300
_MAX_TITLE = 80
"""Characters of a title between the two halves of a rule."""

_LINES_OF_HEAD, _LINES_OF_TAIL = 2_000, 1_000
"""Numbers of lines, from beginning and end, whose kind is found out; in a longer text those in between are a log."""
# Patterns see lines without indentation and with every run of blanks as two at most, or they would not be linear.
_FENCE = r"[ \t]*(?:```|~~~)"
_BLANKS = r"\s{2,}"
_ERROR = (
    r"^\W{0,4}(?:[\w.$\\]{0,100}(?:Error|Exception|Warning|Panic|Fault)\b(?! +Traceback)"
    r"|(?:fatal|panic|error)(?:\[\w+\])?:|thread '[^'\n]{0,80}' panicked"
    r"|Exception in thread|Caused by:|Unhandled [Ee]xception|PHP (?:Fatal|Warning|Notice))"
)
_LOG = r"^\W{0,2}(?:\d{4}[-/]\d\d[-/]\d\d[T ]|\d+:[A-Z] \d|\d\d:\d\d:\d\d|(?:DEBUG|INFO|WARN(?:ING)?|ERROR|TRACE)\b)"
_OF_FRAME = r"^-+> ?\d+ |^\d+: "
_FRAME_START = r"^(?:at\b|#\d|\d+: |File\b|from\b|in\b|\S+:\d+|(?=\S+\.py)\S+ in\b)"
_TRACE_HEAD = (
    r"(?i:Traceback \(most recent|^\W{0,4}(?:Stack ?trace|stack backtrace|Backtrace|goroutine \d)"
    r"|^(?:During handling of|The above exception was))"
)
_WORD = r"\w"
_RULE = r"[-=*]{3}"
_HEADING = r"^(?:#{1,6}\s+.{1,80}|\*\*[^*\n]{2,80}\*\*:?|[A-Z][\w '/-]{2,30}:)$"
_OF_ENVIRONMENT = (
    r"(?i:\b(?:versions?|environment|platform|os|system info\w*|dependencies|desktop|smartphone|browsers?|installed)\b)"
)
_FORM = (
    r"^[-*] \[[ xX]\] (?:I\b|This\b|My\b|The issue\b|Check\w*\b|Read\b|Search\w*\b)"
    r"|^_?(?:No response|N/A|None)_?$"
)
_FIELD = r"^[-*•]?\s{0,2}\w[\w .()/+-]{0,40}(?:[:=\t]| {2})\s{0,2}(?:\S.{0,80})?$"
_VERSION = r"\bv?\d+\.\d+|\b(?:None|x86_64|amd64|arm64|UTF-?8)\b|e\.g\."
_CODE = (
    r"[{};]$|=>|==|\)\s{0,2}[:;{]$|^[\w.]+\s{0,2}=\s{0,2}\S|^[\w.$]+\([^)]*\)\s{0,2};?$|^(?:>>>|\$|\.\.\.|In \[)"
    r"|^(?:import |from \S+ import|def |class |return\b|const |let |var |func |fn |public |private )"
    r"|^(?:#include|use \w+::|@\w+)"
)


class Passage(Struct, frozen=True):
    """Lines of a prompt that are of one kind.

    Attributes:
        text: One or more lines.
        weight: Weight of a word in it, in [0, 1].
        kind: A key of `WEIGHTS`.
    """

    text: str
    weight: float
    kind: str = "prose"


def passages(text: str) -> tuple[Passage, ...]:
    """Return the passages of a text in order; a text of one line is one passage that counts fully.

    The lines of all passages are those of the text, without blank ones and marks of fences; a line is cut where a
    comment of HTML begins or ends in it. A text of which nothing would count, such as one within a comment, is one
    passage that counts fully, too.
    """
    if "\n" not in text.strip():
        return (Passage(text, 1.0),)
    runs = [(kind, [line for _, line in run]) for kind, run in groupby(_kinds(text), itemgetter(0))]
    if not any(WEIGHTS[kind] for kind, _ in runs):
        return (Passage(text, 1.0),)
    return tuple(Passage("\n".join(lines), WEIGHTS[kind], kind) for kind, lines in runs)


def _kinds(text: str) -> Iterator[tuple[str, str]]:
    """Yield each line with its kind; comments are as if they were not there for the lines around them."""
    lines = list(_lines(text))
    rest: list[tuple[str, str]] = []
    kind, kind_of = "", cache(_kind)  # logs repeat themselves
    for number, (where, line) in enumerate(lines):
        if where == "fence":
            kind = ""
        elif where != "comment" and _LINES_OF_HEAD <= number < len(lines) - _LINES_OF_TAIL:
            rest.append(("log", line))
        elif where != "comment":
            kind = kind_of(line, kind, is_fenced=where == "code")
            rest.append((kind, line))
    others = iter(_ruled(_tables(rest)))
    for where, line in lines:
        if where == "comment":
            yield where, line
        elif where != "fence":
            yield next(others)


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """Yield each line that is not blank, with its place: `text`, `code`, `comment`, or `fence` for a fence's mark."""
    at, end = 0, -1
    is_fenced, has_comments = False, True
    while at < len(text):
        if end < at:
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
        if compiled(_FENCE).match(text, at, end):
            is_fenced = not is_fenced
            yield "fence", text[at:end]
            at = end + 1
            continue
        start = text.find("<!--", at, end) if has_comments and not is_fenced else -1
        close = text.find("-->", start + 4) if start >= 0 else -1
        # One that is never closed is text, and so are all after it: none of them is closed either.
        has_comments = has_comments and (start < 0 or close >= 0)
        stop = start if close >= 0 else end
        if (line := text[at:stop]).strip():
            yield ("code" if is_fenced else "text"), line
        if close >= 0:
            yield from (("comment", line) for line in text[start : close + 3].split("\n") if line.strip())
        at = close + 3 if close >= 0 else end + 1


def _kind(whole: str, before: str, *, is_fenced: bool) -> str:
    """Return the kind of a line, a key of `WEIGHTS`, given the kind of the line before; tables are told later."""
    line, shown = whole[:_LINE_CHARS], _shown(whole)
    if compiled(_ERROR).match(line):
        return "prose"
    if compiled(_TRACE_HEAD).match(line) or _is_frame(line, shown, before, is_fenced=is_fenced):
        return "trace"
    if compiled(_LOG).match(line):
        return "log"
    if compiled(_FORM).match(shown):
        return "form"
    if is_fenced:
        return "code"
    if compiled(_HEADING).match(shown) or _is_rule(shown):
        return "heading"
    return "code" if len(line.split()) <= 2 * _MANY_WORDS and compiled(_CODE).search(shown) else "prose"


def _shown(line: str) -> str:
    """Return the part of a line that patterns look at: its beginning, without indent and wide gaps; a tab stays one."""
    return compiled(_BLANKS).sub(lambda gap: "\t" if "\t" in gap[0] else "  ", line.strip()[:_LINE_CHARS])


def _is_frame(line: str, shown: str, before: str, *, is_fenced: bool) -> bool:
    """Return whether a line is part of a trace: a frame, or what stands between frames."""
    if before == "trace" and _is_of_frame(line):
        return True
    return (is_fenced or compiled(_FRAME_START).match(shown) is not None) and is_frame(line)


def _is_of_frame(line: str) -> bool:
    """Return whether a line may stand between two frames: their code, and the function of the next one."""
    if line[:1].isspace() or compiled(_OF_FRAME).match(line):
        return True
    return line.endswith(")") and "(" in line.split(maxsplit=1)[0][1:]


def _is_rule(line: str) -> bool:
    """Return True for a line without words, and for a short title between two marks."""
    word = compiled(_WORD)
    if (first := word.search(line)) is None:
        return True
    head = line[: first.start()]
    if not compiled(_RULE).search(head):
        return False
    tail = next(number for number, character in enumerate(reversed(line)) if word.match(character))
    return len(line) - len(head) - tail <= _MAX_TITLE and compiled(_RULE).search(line[len(line) - tail :]) is not None


def _tables(lines: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the lines with their kinds; those of a table of versions become `environment`."""
    result = list(lines)
    start, is_row = 0, cache(_is_row)
    for end in range(len(lines) + 1):
        if end < len(lines) and is_row(*lines[end]):
            continue
        rows = lines[start:end]
        if _is_table([line for _, line in rows]):
            result[start:end] = [("environment", line) for _, line in rows]
        start = end + 1
    return result


def _is_row(kind: str, line: str) -> bool:
    """Return whether a line of a kind may be a row of a table, `name: value`."""
    return kind in ("prose", "code", "form") and compiled(_FIELD).match(_shown(line)) is not None


def _is_table(lines: list[str]) -> bool:
    """Return whether rows are a table of an environment: half of them versions, or seven of single words."""
    if len(lines) >= _MANY_FIELDS and 2 * sum(bool(compiled(_VERSION).search(line)) for line in lines) >= len(lines):
        return True
    return len(lines) >= _MANY_SETTINGS and all(len(line.split()) <= _WORDS_OF_SETTING for line in lines)


def _ruled(lines: Iterable[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    """Yield the lines with the kind that the heading above gives them; the first line is the title in any case."""
    is_environment = False
    for number, (kind, line) in enumerate(lines):
        if kind == "heading":
            is_environment = compiled(_OF_ENVIRONMENT).search(line) is not None
            yield ("heading" if number else "prose"), line
        elif is_environment and kind in ("prose", "code") and len(line.split()) < _MANY_WORDS:
            yield "environment", line
        else:
            yield kind, line


MAX_NAMES = 50
"""Number of identifiers and of paths that are kept of one query: a pasted log names hundreds, the first ones matter."""

OUTSIDE = 0.2
"""Weight of a word outside of the part of a prompt that says what is asked."""

_LOOKED_AT = 8
"""Multiple of the limit up to which a longer prompt is looked at: without programs' output it may well fit."""

_TELLING = 0.4
"""Weight from which on a passage stays in a prompt that is too long: prose and code, not what programs printed."""
_HEAD_SHARE = 0.7
"""Share of a text that was cut which its beginning gets; the rest is its end."""
_FEW_TERMS = 4
"""Distinct terms that a focus or a title needs to say something by itself."""
_GREETING = re.compile(r"(?:hi|hello|hey|dear|greetings|good (?:morning|afternoon|evening|day))\b", re.IGNORECASE)
_LONGEST_TITLE = 200
"""Characters of a title at most; a longer first line is a story."""
_JOINT = "\n…\n"
_SYMBOL_QUERY_WORDS = 6
_NAME = re.compile(r"[A-Za-z_$@][\w$]*[!?]?")
_EDGES = "\"'`.,;:!?()[]{}<>*"
# Words people put around a name when all they want is to find it.
_AROUND_NAMES = frozenset(
    """
    where is are the a an what does do find show me definition of defined class function method def fn func struct
    enum interface trait type module file in and or for how to usage usages use used call calls callers test tests
    """.split()
)


class Query(Struct, frozen=True):
    """The query of a prompt.

    Attributes:
        text: Text of the prompt, at most as many characters as the limit.
        is_symbol_like: True for a short query of little else than identifiers and paths; it leans lexical.
        identifiers: Identifiers in order of appearance, each once.
        paths: Paths and file names in order of appearance, each once.
        places: Places in code that the prompt names: of each trace the frame that failed first, then the other paths.
        passages: Passages of the text, with the weight of their words.
        focus: The part of the text that says most, to be embedded.
        title: First line of a bug report or another prompt with something pasted; empty for all others.
        english: The text in English words; empty for an English one.
    """

    text: str
    is_symbol_like: bool
    identifiers: tuple[str, ...]
    paths: tuple[str, ...]
    places: tuple[SourceLine, ...] = ()
    passages: tuple[Passage, ...] = ()
    focus: str = ""
    title: str = ""
    english: str = ""


def make_query(cleaned_text: str, limit_chars: int = 5_000) -> Query:
    """Make the query of a cleaned prompt.

    A longer prompt loses what programs printed, then its middle: it keeps its beginning (70 %) and its end, cut at word
    borders, since what is asked stands at either.
    A single word counts as an identifier whatever its spelling.
    """
    text = _shortened(cleaned_text, limit_chars)
    names, found_paths = identifiers(text), paths(text)
    # A trace fails at its end, which a cut text may lack.
    found_places = _with_paths(places(cleaned_text), found_paths[:MAX_NAMES])
    alone = text.strip().strip(_EDGES)
    if not names and not found_paths and _NAME.fullmatch(alone):
        names = (alone,)
    is_symbol_like = _is_symbol_like(text, names, found_paths)
    parts = passages(text)
    return Query(
        text,
        is_symbol_like,
        names[:MAX_NAMES],
        found_paths[:MAX_NAMES],
        found_places,
        parts,
        _focus(text, parts),
        _title(text, parts),
        in_english(text),
    )


def query_digest(safe_text: str) -> str:
    """Return 16 hex digits of the SHA-256 of a query whose secrets were replaced: a digest can be guessed."""
    return hashlib.sha256(safe_text.encode("utf-8", "replace")).hexdigest()[:16]


def said_in_english(query: Query) -> Query:
    """Return a query in another language as it is searched for: its English words, and those it was typed in.

    What was typed counts as lower-case words: a project may be written in that language. An English query stays.
    """
    return _said(query) if query.english else query


@lru_cache(maxsize=4)
def _said(query: Query) -> Query:
    """Return a query in its English words; remembered, since files and each kind of records ask for the same."""
    text = query.english
    parts = passages(text)
    return replace(
        query,
        text=f"{text}\n{query.text.lower()}",
        passages=(*parts, Passage(query.text, 1.0)),
        focus=_focus(text, parts),
        title=_title(text, parts),
        english="",
    )


def _title(text: str, parts: tuple[Passage, ...]) -> str:
    """Return the first line of a text of several passages, when it is prose; empty if it greets or says too little."""
    if len(parts) < 2 or parts[0].kind != "prose":
        return ""
    first = text.strip().partition("\n")[0].strip()
    if _GREETING.match(first):
        return ""
    return first if len(first) <= _LONGEST_TITLE and len(set(query_tokens(first))) >= _FEW_TERMS else ""


def _focus(text: str, parts: tuple[Passage, ...]) -> str:
    """Return the passages of most weight that have four terms between them, else the text: `fix this` says little."""
    for weight in sorted({part.weight for part in parts}, reverse=True):
        focus = "\n".join(part.text for part in parts if part.weight >= weight)
        if len(set(query_tokens(focus))) >= _FEW_TERMS:
            return focus
    return text


def narrowed(query: Query, subject: str) -> Query:
    """Return the query narrowed to a part that says what is asked: the part is searched for, the rest counts little.

    Args:
        query: Query of the whole prompt; its names and places stay.
        subject: The part that says what is asked.
    """
    part = make_query(subject)
    rest = (Passage(passage.text, OUTSIDE * passage.weight, passage.kind) for passage in query.passages)
    return replace(
        part, identifiers=query.identifiers, places=query.places, passages=(Passage(subject, 1.0), *rest), focus=subject
    )


def _with_paths(places: tuple[SourceLine, ...], paths: tuple[str, ...]) -> tuple[SourceLine, ...]:
    """Return the places, then those of the paths that are not among them, each once."""
    known = {place.path for place in places}
    more: dict[str, SourceLine] = {}
    for path in paths:
        parts, is_installed = parts_of_path(path)
        joined = "/".join(parts)
        if parts and joined not in known:
            more[joined] = SourceLine(joined, is_installed=is_installed)
    return (*places, *more.values())


def _shortened(text: str, limit_chars: int) -> str:
    """Return a text of at most so many characters: without programs' output, then without its middle."""
    if len(text) <= limit_chars:
        return text
    parts = passages(_cut(text, _LOOKED_AT * limit_chars))
    telling = [part.text for part in parts if part.weight >= _TELLING]
    return _cut("\n".join(telling) if len(telling) < len(parts) else text, limit_chars)


def _cut(text: str, limit_chars: int) -> str:
    """Return the beginning and the end of a text that is too long, with a mark between them."""
    if len(text) <= limit_chars:
        return text
    room = limit_chars - len(_JOINT)
    if room < 2:
        return text[: max(0, limit_chars)]
    head_chars = int(room * _HEAD_SHARE)
    head, tail = text[: head_chars + 1], text[-(room - head_chars + 1) :]
    return _up_to_space(head).rstrip() + _JOINT + _from_space(tail).lstrip()


def _up_to_space(text: str) -> str:
    """Return a text up to its last space or line end; with none in its second half, without its last character."""
    border = max(text.rfind(" "), text.rfind("\n"))
    return text[:border] if border > len(text) // 2 else text[:-1]


def _from_space(text: str) -> str:
    """Return a text from its first space or line end on; with none in its first half, without its first character."""
    borders = [border for border in (text.find(" "), text.find("\n")) if border >= 0]
    border = min(borders, default=len(text))
    return text[border:] if border < len(text) // 2 else text[1:]


def _is_symbol_like(text: str, names: tuple[str, ...], found_paths: tuple[str, ...]) -> bool:
    """Return whether two thirds of the words of a short text, but those around names, are names or paths."""
    words = text.split()
    if not (names or found_paths) or len(words) > 2 * _SYMBOL_QUERY_WORDS:
        return False
    telling = [word for word in (word.strip(_EDGES) for word in words) if word.lower() not in _AROUND_NAMES and word]
    known = {*names, *found_paths}
    n_known = sum(word in known or word.lstrip("@") in known for word in telling)
    return len(telling) <= _SYMBOL_QUERY_WORDS and 3 * n_known >= 2 * len(telling) and n_known > 0

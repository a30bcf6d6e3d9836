"""The marks of our frame and of other tools, and how a text is kept from using them.

The frame writes these marks, `hybrid.prompting.clean` cuts what stands between them out of a prompt. The records of a
frame go through `neutralise`, all other text that an agent can get through `harmless`.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from hybrid.render.visible import HIDDEN, visible, visible_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

FRAME_NAME = "hybrid context"
END_LINE = f"--- end {FRAME_NAME} ---"
XML_TAG = "hybrid-context"
JSON_KEY = "hybrid_context"


@cache
def block_tags() -> tuple[str, ...]:
    """Return the elements in which agents hand injected text to a model; nobody typed what they hold."""
    from hybrid.base.clients import clients  # A hook that keeps an event needs the marks of `<private>` alone.

    return (*(tag for client in clients().values() for tag in client.prompts.injected), XML_TAG)


@cache
def machine_prefixes() -> tuple[str, ...]:
    """Return beginnings of prompts that a client wrote itself, in lower case."""
    from hybrid.base.clients import clients

    return tuple(begin for client in clients().values() for begin in client.prompts.machine)


# One or more separators, so that `<System Reminder>` counts as well. Generic words (`result`, `user`) are left alone:
# they occur in honest XML and in type parameters.
_TAG_NAMES = (
    r"hybrid[\W_]{0,3}context(?:[\W_]?item|[\W_]?footer)?",
    r"hook[\W_]{0,3}context",
    r"system[\W_]{0,3}(?:reminder|warning|prompt)",
    r"private(?![\w-])",
    r"task[\W_]{0,3}notification",
    r"teammate[\W_]{0,3}message",
    r"cross[\W_]{0,3}session[\W_]{0,3}message",
    r"subagent[\W_]{0,3}notification",
    r"user[\W_]{0,3}prompt[\W_]{0,3}submit[\w-]*",
    r"local[\W_]{0,3}command[\w-]*",
    r"command-(?:name|message|args)",
    r"bash-(?:input|stdout|stderr)",
    r"untrusted_context",
    r"environment[\W_](?:context|details)",
    r"turn[\W_]aborted",
    r"user[\W_](?:instructions|query)",
    r"persisted[\W_]output",
    r"new[\W_]diagnostics",
    r"ide[\W_](?:opened[\W_]file|selection|diagnostics)",
    r"(?:function|tool)[\W_]{1,3}(?:call|result|response|output|use)s?(?!\w)",
    r"invoke(?![\w-])",
    r"parameter\s{1,8}name\s{0,8}=",
    r"(?:start|end)_of_turn",
    r"qwen:[\w-]*",
    r"antml:[\w-]*",
)
_OPENING = r"(?P<at><|&(?:amp;){0,4}(?:lt|#0{0,8}60|#x0{0,8}3c);?|%(?:25){0,4}3c|\\{1,4}(?:u00|x|u\{)3c\}?)"
"""Pattern of an opening angle bracket, also as HTML, a URL or JSON writes it, since a reader may decode it."""
_OPENING_SIGNS = "<&%\\"
_CLOSING = r"(?:>|&(?:amp;){0,4}(?:gt|#0{0,8}62|#x0{0,8}3e);?|%(?:25){0,4}3e|\\{1,4}(?:u00|x|u\{)3e\}?)"
_ROLE_TAGS = rf"(?:system|human|assistant)\s{{0,8}}/?(?:\s[^<>\n]{{0,200}}?)?{_CLOSING}"
"""Pattern of tags of one common word; a type parameter (`List<System>`) follows a name and is none."""


@cache
def _tag_rule() -> tuple[re.Pattern[str], str]:
    """Return the rule of elements, as in `_RULES`, with those of every client's file."""
    names = dict.fromkeys((*_TAG_NAMES, *(re.escape(tag.lstrip("<")) for tag in (*block_tags(), *machine_prefixes()))))
    return re.compile(rf"{_OPENING}(?:[\s/\\]|%2f|&#47;)*(?:{'|'.join(names)})", re.IGNORECASE), "‹"


_RULES = (
    (re.compile(rf"(?<![\w.]){_OPENING}(?:[\s/\\]|%2f|&#47;)*{_ROLE_TAGS}", re.IGNORECASE), "‹"),
    (re.compile(rf"(?P<at><)/\s{{0,8}}{_ROLE_TAGS}", re.IGNORECASE), "‹"),
    (re.compile(rf"{_OPENING}\s{{0,8}}[|│¦][\w▁]{{2,30}}[|│¦]{_CLOSING}", re.IGNORECASE), "‹"),
    (re.compile(r"(?P<at><)</?SYS>>", re.IGNORECASE), "‹"),
    (re.compile(r"(?P<at>\[)\s{0,8}(?:/?\s{0,8}INST|/\s{0,8}(?i:INST))\s{0,8}\]"), "⁅"),
    # Turns of a conversation. One word of YAML behind `User:` is none, so two words are asked for.
    (re.compile(r"^[^\S\n]*(?:[>*#-]+[^\S\n]*)?(?:H(?i:uman)|A(?i:ssistant))\s{0,8}(?P<at>:)", re.MULTILINE), "∶"),
    (
        re.compile(
            r"^[^\S\n]*(?:[>*#-]+[^\S\n]*)?(?:U(?i:ser)|S(?i:ystem))[^\S\n]{0,8}(?P<at>:)[^\S\n]+\S+[^\S\n]+\S",
            re.MULTILINE,
        ),
        "∶",
    ),
    (re.compile(r"\[\s*SYSTEM(?P<at>[\s_-]+)NOTIFICATION", re.IGNORECASE), "·"),
)
"""(pattern, character): what a text may not hold, and the character that takes the place of its group `at`."""
_OF_A_RECORD = (*_RULES, (re.compile(r"hybrid(?P<at>[^\S\n]+)context", re.IGNORECASE), "·"))
_OF_ANY_TEXT = (
    *_RULES,
    (re.compile(r"(?:[-‐-―=*#_~]{2}|\bend)[\W_]{0,8}hybrid(?P<at>[^\S\n]+)context", re.IGNORECASE), "·"),
    (re.compile(r"hybrid(?P<at>[^\S\n]+)context\s{0,8}\(\s{0,8}auto", re.IGNORECASE), "·"),
)
"""As `_OF_A_RECORD`, but the words of our marks count only as in a mark: `hybrid context` is a command, too."""
_SIGN = re.compile(r"[<&%\\\[:]|hybrid", re.IGNORECASE)
"""Every match of a rule in ASCII contains one of these."""

_LOOK_ALIKES = {
    **dict.fromkeys("﹤˂ᐸ⋖ᚲ〈〈⟨❬❮❰≺", "<"),
    **dict.fromkeys("｜∣ǀ", "|"),
    **dict(zip("аесорхуѕіјһԁԛԝкмтпАВЕКМНОРСТХУЅІЈ", "aecopxysijhdqwkmtnABEKMHOPCTXYSIJ", strict=True)),
    **dict(zip("ɑıօոսցհꜱʀɪɴᴇᴛᴍ", "aionughsrinetm", strict=True)),
    **dict(zip("αοινρτυκΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "aoivptukABEZHIKMNOPTYX", strict=True)),
}
"""Characters that look like others of ASCII, beside those that Unicode itself calls compatible."""


_ESCAPE_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[@-Z\\^_])?")
_LINE_END = re.compile(r"\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]")
_INVISIBLE = re.compile(f"[{''.join(f'{chr(first)}-{chr(last)}' for first, last in HIDDEN)}]")
_ACCENTS = re.compile("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]")


class _Folds(dict[str, str]):
    """Character → the ASCII it is compatible with or looks like, accents aside, or else itself.

    An invisible character, and an accent of its own, become nothing.
    """

    def __missing__(self, char: str) -> str:
        folded = _LOOK_ALIKES.get(char) or _ACCENTS.sub("", unicodedata.normalize("NFKD", char))
        folded = _INVISIBLE.sub("", _LINE_END.sub("\n", folded if folded.isascii() else char))
        self[char] = folded
        return folded


_FOLDS = _Folds()

_PRIVATE = re.compile(r"<(\\{0,4}/)?\s{0,8}private(?:\s[^<>]{0,200})?>", re.IGNORECASE)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def plain_text(text: str) -> str:
    """Return text without terminal escapes, control and invisible characters, with LF line ends.

    Lone surrogates become U+FFFD. Tabs and line ends stay. Linear in the length.
    """
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    text = _ESCAPE_SEQUENCE.sub("", text) if "\x1b" in text else text
    return _INVISIBLE.sub("", _LINE_END.sub("\n", _LONE_SURROGATE.sub("\ufffd", text)))


def without_elements(text: str, tags: tuple[str, ...]) -> str:
    """Return text without `<tag …>…</tag>`, in any case; an element that is never closed reaches to the end.

    Within a line of text, an opening tag that is alone or quoted, with more text behind it, is a word about such
    an element, unless the element ends with a line.
    """
    lower = text.lower() if "<" in text else ""
    for tag in tags:
        if f"<{tag}" in lower:
            opening, closing = rf"<{re.escape(tag)}(?:\s[^<>]{{0,500}})?>", rf"</{re.escape(tag)}\s*>"
            whole = rf"(?:(?:^[^\S\n]*|(?<=[^\s`'\"(])){opening}|{opening}[^\S\n]*$).*?(?:{closing}|\Z)"
            within = rf"{opening}(?:[^<]|<(?!{re.escape(tag)}[\s>]))*?{closing}(?=[^\S\n]*(?:<|$))"
            text = re.sub(rf"(?ism){whole}|{within}", " ", text)
    return text


def without_private(text: str, *, is_part: bool = False) -> str:
    """Return text without `<private>…</private>`; the same object when there is none. See `cut_private`."""
    return cut_private(text, is_part=is_part)[0]


def cut_private(text: str, *, is_part: bool = False) -> tuple[str, bool]:
    """Return text without `<private>…</private>`, a space in the place of each span, and whether there was any.

    Nested spans go with the outer one, and a span that is never closed reaches to the end. Of a part of something
    longer, a span that is closed and was never opened begins with the text. Letter case, attributes and
    white space in the tags do not matter, nor backslashes before the slash, as some write JSON. Characters that cannot
    be seen may hide a tag: `plain_text` goes first where they may be. Linear in the length.

    Args:
        text: Any.
        is_part: Whether a tag may stand in what is not seen: another field of an event, lines above those that were
            read. Without, only the closing tag goes: who typed a whole text sees all of it.
    """
    spans = private_spans(text, is_part=is_part)
    if not spans:
        return text, False
    begins = [0, *(end for _, end in spans)]
    kept = [text[begin:start] for begin, (start, _) in zip(begins, spans, strict=False)]
    return " ".join([*kept, text[begins[-1] :]] if begins[-1] < len(text) else kept), True


def private_spans(text: str, *, is_part: bool = False) -> list[tuple[int, int]]:
    """Return the start and end of what `cut_private` cuts, tags included, in order."""
    spans: list[tuple[int, int]] = []
    start = depth = 0
    for mark in _PRIVATE.finditer(text):
        if is_part and depth == 0 and mark.group(1):
            spans = [(0, mark.end())]  # Whatever was closed before lay within it.
            continue
        start = mark.start() if depth == 0 else start
        depth = max(0, depth - 1) if mark.group(1) else depth + 1
        if depth == 0:
            spans.append((start, mark.end()))
    return [*spans, (start, len(text))] if depth else spans


def neutralise(text: str) -> str:
    """Return the text of a record as a frame shows it: `plain_text` that can close neither the frame nor an element.

    One character changes, visibly: an opening angle bracket before a reserved name becomes `‹` (U+2039), also one
    that is written as an entity or an escape (`&lt;`, `%3c`), the words of our own marks and of `[SYSTEM
    NOTIFICATION` are joined by a middle dot (U+00B7), as in `--- end hybrid·context ---`, the bracket of `[INST]`
    becomes `⁅` (U+2045), the colon of a turn (`Human:`) becomes `∶` (U+2236). Full-width and look-alike characters
    count as what they look like. Nothing is deleted after the marks are looked for, so a second pass changes
    nothing. Linear in the length.
    """
    if text.isascii() and text.isprintable() and not _SIGN.search(text):  # Most lines.
        return text
    return _changed(plain_text(text), _OF_A_RECORD)


def neutralise_line(text: str) -> str:
    """Return text as `neutralise` does, on one line: every run of white space becomes one space."""
    return " ".join(neutralise(text).split())


def harmless(text: str) -> str:
    """Return text as an agent or a terminal may get it outside of a frame; all else stays, so that edits fit.

    Marks of ours and of clients change as in `neutralise`; controls, bidirectional and invisible characters are shown
    as escapes (`visible`). The number of lines stays, and a second pass changes nothing. Linear in the length.
    """
    return visible(without_marks(text))


def harmless_line(text: str) -> str:
    """Return text as `harmless` does, for a name that must stay on its line: tabs and line ends are escaped too."""
    return visible_line(without_marks(text))


def without_marks(text: str) -> str:
    """Return text with the marks changed as in `harmless`, and all other characters as they are: for JSON."""
    return _changed(text, _OF_ANY_TEXT)


def harmless_json(value: Any, change: Callable[[str], str] = without_marks) -> Any:
    """Return a value of JSON with `change` applied to every text in it, and to every key."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, (list, tuple)):
        return [harmless_json(one, change) for one in cast("Sequence[Any]", value)]
    if isinstance(value, dict):
        members = cast("Mapping[Any, Any]", value).items()
        return {harmless_json(name, change): harmless_json(one, change) for name, one in members}
    return value


def _changed(text: str, rules: Sequence[tuple[re.Pattern[str], str]]) -> str:
    """Return text with the characters changed that the rules name; line ends stay where they are."""
    is_plain = text.isascii() and text.replace("\n", "").replace("\t", "").isprintable()
    if is_plain and not _SIGN.search(text):
        return text
    folds = None if is_plain else [_FOLDS[char] for char in text]
    folded = text if folds is None else "".join(folds)
    if any(sign in folded for sign in _OPENING_SIGNS):
        rules = (_tag_rule(), *rules)
    changes = {match.span("at"): mark for pattern, mark in rules for match in pattern.finditer(folded)}
    if not changes:
        return text
    # A character may fold to several (a ligature) or to none: then places in the folded text are others in the text.
    origins = range(len(text)) if folds is None else [at for at, fold in enumerate(folds) for _ in fold]
    parts: list[str] = []
    begin = 0
    for (start, end), mark in sorted(changes.items()):
        first, last = origins[start], origins[end - 1] + 1
        if first >= begin:
            parts += [text[begin:first], mark, "\n" * text.count("\n", first, last)]
            begin = last
    return "".join([*parts, text[begin:]])

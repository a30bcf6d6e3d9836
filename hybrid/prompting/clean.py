"""Cuts out of a prompt what its owner did not type or does not want searched; the first step of every prompt event.

Clients hand over the open file, a selection, the editor's state, memories and reminders in elements, in headed or
fenced blocks or as JSON, before or behind the typed text, or wrap the typed text itself. Sections of known names go
wherever they begin a line. An unknown one goes at either end only, and only where its name or its form is a client's:
HTML, components, code, logs and issues with headings are what people paste, and ask about. Where people may have
written it as well, it stays if the typed text speaks of it: `why is this slow?` has something beside it. What is kept
of a client costs a worse search, what is cut of a question costs the question.

It decides nothing: whether a cleaned prompt is worth a search is the prompt gate's question.
"""

from __future__ import annotations

import json
import re
from functools import cache, partial
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from hybrid.base.text import compiled
from hybrid.ipc.spool import OPT_OUT
from hybrid.prompting.rules import is_turn
from hybrid.redact import redact_excerpt
from hybrid.render.marks import (
    FRAME_NAME,
    JSON_KEY,
    block_tags,
    cut_private,
    machine_prefixes,
    plain_text,
    without_elements,
)
from hybrid.types import CleanedPrompt, HookEvent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


_MOST_SECTIONS = 12
"""The most sections that are cut from one prompt: no client writes more, and each costs a look at the text."""

# Elements of Claude Code, Cursor, Cline and its forks, Copilot, Codex, Kiro, Antigravity, and of tools with a memory. A
# space matches nothing, `-`, `_` or `:`.
_KNOWN = """
ide opened files?|ide closed files?|ide selection|ide diagnostics|ide context|new diagnostics|environment details
environment context|environment info|workspace info|editor context|reminder instructions|attachments|attached files
open and recently viewed files|additional data|additional metadata|user info|user rules|user settings change
project layout|agent skills|agent transcripts|mcp file system|image files|current datetime|file content|folder content
claude mem context|supermemory context|session context|user instructions|recommended plugins|codex internal context
in app browser context|app context|system notification|appshot|user rule|steering reminder
"""

_COMMANDS = r"""
local command[\w-]{0,40}|command (?:name|message|args|contents)|bash (?:input|stdout|stderr)|turn aborted
"""
_INTERRUPTED = r"(?i)\A\[request interrupted by user[^\]\n]{0,80}\]"

_WORDS_OF_CLIENTS = frozenset(
    """
    ide editor editors vscode cursor selection selections selected open opened active visible viewed viewing focused
    tab tabs buffer buffers pane panes attachment attachments attached referenced mentioned pasted reminder reminders
    diagnostics skill skills memory memories recall recalled remembered workspace hook clipboard ambient injected
    retrieved
    """.split()
)
_COMMON_WORDS_OF_CLIENTS = frozenset(
    """
    agent assistant background client codebase context conversation date datetime document documents env environment
    file files guidelines hint hints history image info instructions knowledge lint linter metadata notes notification
    plan problems project repo repository rules session snippet snippets state status supplementary system terminal
    timestamp tools user
    """.split()
)
"""Words that name elements of people's own XML, too: they count only for an element without other elements in it."""

_HTML = frozenset(
    """
    a abbr address area article aside audio b base bdi bdo blockquote body br button canvas caption cite code col
    colgroup data datalist dd del details dfn dialog div dl dt em embed fieldset figcaption figure footer form h1 h2 h3
    h4 h5 h6 head header hgroup hr html i iframe img input ins kbd label legend li link main map mark menu meta meter
    nav noscript object ol optgroup option output p picture pre progress q rp rt ruby s samp script search section
    select slot small source span strong style sub summary sup svg table tbody td template textarea tfoot th thead
    time title tr track u ul var video wbr path circle rect line g defs use text polygon
    """.split()
)

_OF_PAGE = frozenset("a b body button div em form h1 h2 h3 head html i li ol p span strong table td tr ul".split())
"""Elements that only pages have; others of HTML are words that clients use as well."""

_TYPED_NAME = (
    r"(?:(?:my|the|user|users|user's|human|current|latest|actual|original|new) ){0,3}"
    r"(?:user|human|request|query|prompt|question|message|task|issue description|instructions?|input|feedback|answer)"
)
"""Pattern of a name of the typed text itself, in lower case, words parted by spaces."""

_OPENING = r"<(?P<name>[A-Za-z][\w:.-]{0,60})(?P<with>(?:\s[^<>]{0,500})?)>"
_CLOSING = r"</([A-Za-z][\w:.-]{0,60})>"
_LAST_TAG = rf"{_CLOSING}$|<([A-Za-z][\w:.-]{{0,60}})\s[^<>]{{0,500}}/>$"
_PARTS = r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+"
_ATTRIBUTES = (
    r"(?:\s+[a-z][\w-]{0,30}="
    r"(?:\"[^\"<>]{0,300}\"|'[^'<>]{0,300}'|\[[^]<>]{0,300}\]|[^\s\"'<>=\[][^\s\"'<>=]{0,299}))*\s*/?"
)
_OF_PAGES = r"\b(?:class|classname|style|href|src|slot|role|width|height|xmlns|on\w+)\s*="
_ABOUT_THE_USER = (
    r"(?i)\b(?:the|this) user(?:'s)?\b"
    r"(?=[^\n]{0,120}\b(?:ide|editor|cursor|tabs?|open\w*|select\w+|view\w*|attach\w+|workspace)\b)"
    r"|\b(?:attached|selected|opened|provided|mentioned) by the user\b|may or may not be re[al]|for your information"
)
"""Pattern of words about what the user is looking at; users do not write of themselves in the third person."""

_FILE = r"[^\s`\"'()\[\]]{0,200}(?:[/\\]|\.[A-Za-z]\w{0,9}\b)"
_VALUE = rf"(?:`?@?{_FILE}|(?:lines? |L)?\d|none\b(?! \w)|\(none\))"

_THINGS = r"(?:files?|tabs?|editors?|documents?|buffers?|windows?|panes?|selections?)"
_LABEL = (
    r"(?:(?:begin|start|the|your|my|user'?s?|current|currently|all|other|additional|automatic|relevant|recent|recently"
    r"|here is|here are|this is) ){0,4}"
    r"(?:(?:ide|editor|vs ?code|cursor|zed|workspace)(?:'s)? (?:context|state|setup|selections?|info|information"
    r"|details|status|position|location|diagnostics|snapshot|environment|visible files|open tabs|open files|tabs)"
    r"|(?:open|opened|active) in (?:the |my )?(?:ide|editor)"
    r"|current (?:file|document|buffer|editor|selection)|currently (?:open|viewing|editing)|(?:latest |unsaved )?edits"
    rf"|(?:open|opened|active|visible|focused|attached|referenced|mentioned|pinned|viewed)(?: and [a-z ]{{1,20}})? "
    rf"{_THINGS}(?: changed| (?:in|of) (?:the |my |your )?(?:ide|editor|workspace|project))?"
    rf"|(?:{_THINGS}|applications) (?:that are )?(?:currently )?(?:mentioned|pasted|open|opened|attached|referenced|"
    r"visible)(?: (?:by|in) (?:the |my |your )?(?:user|ide|editor|workspace))?"
    r"|(?:active )?selection(?: (?:of|in|from) [\w ]{1,30})?|selected (?:text|code|lines?|range|snippet)"
    r"(?: (?:of|in|from) [\w ]{1,30})?"
    r"|cursor|attachments|memories(?: (?:of|from|about) [\w ]{1,40})?|memory (?:context|bank)"
    r"|(?:recalled|remembered) [\w ]{1,40}|system reminder|(?:new|ide|workspace) diagnostics"
    r"|diagnostics from [\w ]{1,30}"
    r"|(?:the )?user (?:has|is|opened|selected)\b[^:\n]{0,60}\b(?:open|opened|editor|ide|tabs?|workspace)\b[^:\n]{0,40}"
    r"|context from [\w' ]{1,40}|contents? (?:from|of) (?:the )?(?:referenced|attached|mentioned|open) files?)"
)
"""Pattern of a client's heading, in upper or lower case; words that issues have as headings are not in it."""
_HINTS = tuple(
    """
    open active visib focus view attach referenc mention pinned select cursor memor recall remember remind diagnos
    context content current edit ide vscode workspace zed
    """.split()
)
"""Without one of these no line is such a heading: most prompts need not look further."""
_SECTION = (
    r"(?im)^[ \t]{0,3}(?P<marks>(?:#{1,6}|\*\*|[-=]{3,8}|>|\[{1,2}|\(|<!--|\[(?:ide|editor|context)\])?)[ \t]{0,3}"
    rf"{_LABEL}(?:[ \t]?\([^()\n]{{0,80}}\))?(?P<colon>[ \t]?:?)"
    rf"(?:(?:\*\*)?[ \t]{{0,3}}(?P<value>{_VALUE}[^\n]{{0,200}})|\*\*|[ \t]{{0,3}}[-=\])>]{{1,8}})?[ \t]{{0,8}}$"
)
_REQUEST = (
    rf"(?im)^[ \t]{{0,3}}(?:#{{1,6}}|\*\*|[-=]{{3,8}}|\[)?[ \t]{{0,3}}(?=[\w']+ ){_TYPED_NAME}"
    r"(?: for \w+| from the user)?(?:[ \t]?:[ \t]?(?:\*\*)?|[ \t]?(?:\*\*|[-=]{3,8}|\])?[ \t]{0,8}$)"
)
_OTHER_HEADING = r"(?m)^#{1,6} \S"
_END_MARK = r"(?im)^[ \t]{0,3}(?:[-=#*]{2,8}|\[|<!--)[ \t]{0,3}(?:/|end\b)[^\n]{0,80}$"
_TOLD = (
    r"(?i)[\[(*>]{0,2}(?:note: ?|here (?:is|are) [^\n]{0,80})?(?:the )?user(?:'s| is| has| was| opened| selected)\b"
    r"|called the \w+ tool with|use the above|\([^\n]+\)$|\[[^\n]+\]$|<!--[^\n]+-->$"
)
_SHOWN = (
    r"(?i)\b(?:ide|editor|vs ?code|workspace|viewing|tool with the following|(?:is|are) (?:open|active|focused)"
    rf"|(?:active|current|focused|open|opened|selected)[ -]{_THINGS})\b"
)
"""Pattern of words in such a line, beside the file that it names."""
_FOR_AGENT = r"(?i)for your information|use the above \w+ to answer"
"""Pattern of words in such a line that names no file."""
_POINTER = (
    r"(?i)\b(?:this|these|that|those|it|its|them|they|both|here|above|below|following|dies\w{0,2}|hier|ceci|cela|esto"
    r"|eso|isto|isso|questo|это|этот)\b|[这這こ이]"
)
"""Pattern of a word that refers to other text in the prompt."""
_OF_NAMED_CLIENT = r"#{1,6} My request for [A-Z][\w ]{0,30}:\s*$"
"""Pattern of a heading over the typed text that nobody types."""
_FILES = r"(?im)^[ \t]{0,8}-{3} Content from referenced files"
_END_OF_FILES = r"(?im)^[ \t]{0,8}-{3} End of content -{3}[ \t]*$"
_STATE = (
    rf"\b(?:open|opened|active|visible|focused|current) (?:\w+ )?{_THINGS}\b|\bselected (?:text|code|lines?|range)\b"
    r"|\beditor (?:state|context)\b|\bworkspace (?:state|folders?)\b"
)
"""Pattern of a name of a value in the state of an editor, its words parted by spaces."""
_NAME_OF_FIELD = r"\w[\w .-]{0,40}:(?:[ \t]|$)"
_CODE_BLOCK = r"(?m)^(`{3})[^`\n]{0,400}\n(?:(?!`{3})[^\n]*\n)*`{3}[ \t]*$"
_FENCE = r"(?m)^[ \t]{0,3}(?P<fence>`{3,20}|~{3,20})(?P<info>[^`\n]{0,400})$"
_LISTED = (
    rf"[-=*_]{{3,}}$|[ \t]*(?:[-*•+>|]|\d{{1,4}}[.):|]|L\d)[ \t]|[ \t]*@?{_FILE}\S*(?:[ \t]*[(:,\[][^\n]{{0,100}})?$"
)
_FIELD = (
    r"(?i)[ \t]*(?:\*\*)?"
    r"(?!(?:fix|feat|docs|chore|refactor|test|perf|build|style|bug|todo|note|question|(?:system )?lesson)\b)"
    r"[a-z][\w./-]{0,20}(?: [\w./-]{1,20}){0,2}:(?:\*\*)?[ \t]+"
)
"""Pattern of the name of a field, which no title of a commit or an issue begins with."""
_FEW_WORDS = r"\S{1,60}(?:[ \t]\S{1,60}){0,2}[ \t]*$"
_LONGEST_LEAD = 500
"""Characters of the longest words of a client above a fenced block, with the mark of the fence."""
_LONGEST_ENTRY = 300
"""Characters of the longest line that may be an entry of a list of a client."""


def _without(table: str, text: str) -> str:
    """Return a prompt without the sections of a table, wherever they begin or end a line.

    An element ends at its last end mark, since its content may forge one; where that would leave nothing, at
    the first. One that is never closed stays. Time is linear in the length.
    """
    for is_greedy in (True, False) if "<" in text else ():
        kept = "".join(_outside(_named(table), text, is_greedy=is_greedy))
        if _has_typed(kept):
            return kept
        text = text if is_greedy else kept
    return text


def _has_typed(text: str) -> bool:
    """Return whether a text is more than elements, or has one that is named as typed text."""
    for _ in range(_MOST_SECTIONS):
        text = text.strip()
        opening = compiled(_OPENING).match(text)
        closing = f"</{opening['name']}>" if opening else ""
        if opening is None or closing not in text or compiled(_TYPED_NAME).fullmatch(_spaced(opening["name"])):
            break
        text = text[text.find(closing) + len(closing) :]
    return bool(text)


def _typed_text(text: str) -> str:
    """Return the text that its author typed of a prompt without known sections; the whole where that is not sure.

    Args:
        text: Without white space at its ends.
    """
    is_line = not text or ("\n" not in text and text[0] not in "<[{" and text[-1] not in ">]}")
    for number in range(0 if is_line else _MOST_SECTIONS):
        below = partial(_below_request, is_rest=number > 0)
        shorter = next(
            filter(None, (cut(text) for cut in (_unwrapped, below, _without_end, _without_begin, _above))), ""
        )
        if not shorter:
            return text
        text = shorter
    return text


def _without_files(text: str) -> str:
    """Return a text without the files that Gemini and its forks add; they end the prompt, unless they begin it."""
    for _ in range(_MOST_SECTIONS if "from referenced files" in text.lower() else 0):
        files = compiled(_FILES).search(text)
        if files is None or text[: files.start()].strip():
            return text[: files.start()] if files else text
        ends = [end.end() for end in compiled(_END_OF_FILES).finditer(text)]
        end = next((end for end in (*ends[-1:], *ends[:1]) if text[end:].strip()), len(text))
        text = text[end:]
    return text


def _outside(elements: re.Pattern[str], text: str, *, is_greedy: bool) -> Iterator[str]:
    """Yield the parts of a text between its elements."""
    ends = _ends(text)
    at = 0
    for opening in elements.finditer(text):
        closing = [end for end in ends.get(opening["name"].lower(), ()) if end[0] >= opening.end()]
        is_quoted = text[opening.start() - 1 : opening.start()] in ("`", "'", '"')
        if opening.start() < at or not closing or is_quoted:
            continue
        _, end = closing[-1 if is_greedy else 0]
        # Within a sentence it is a word about such an element.
        if opening["begin"] is not None or text[end : end + 1] in ("", "\n"):
            yield text[at : opening.start()]
            yield "\n"
            at = end
    yield text[at:]


def _ends(text: str) -> dict[str, list[tuple[int, int]]]:
    """Return name of an element → places of its end marks; of many the first ones and the last."""
    ends: dict[str, list[tuple[int, int]]] = {}
    for mark in compiled(_CLOSING).finditer(text):
        places = ends.setdefault(mark[1].lower(), [])
        places[_MOST_SECTIONS:] = [mark.span()]
    return ends


@cache
def _named(table: str) -> re.Pattern[str]:
    """Return a pattern of the opening tags of the elements of a table, and of white space before them in their line."""
    names = "|".join(name for line in table.split("\n") for name in line.split("|") if name).replace(" ", "[-_:]?")
    return re.compile(rf"(?im)(?P<begin>^[ \t]*|(?<=>))?<(?P<name>{names})(?:\s[^<>]{{0,500}})?>")


# --- Sections at the ends of a prompt ------------------------------------------------------------------------------


def _unwrapped(text: str) -> str:
    """Return the content of the element that is named as typed text in a text of elements only; else empty.

    A name of one word, which people give to parts of a prompt as well, counts for the only element.
    """
    elements = list(_elements(text))
    typed = [content for name, content in elements if " " in name and compiled(_TYPED_NAME).fullmatch(name)]
    name, inner = elements[0]
    if typed or len(elements) > 1:
        return typed[0] if len(typed) == 1 and elements[-1][0] else ""
    if not name or name in _HTML:
        return ""
    if compiled(_TYPED_NAME).fullmatch(name):
        return "" if inner.startswith("<") else inner
    names = [_spaced(found[1]) for found in compiled(r"(?m)^[ \t]*<([A-Za-z][\w:.-]{0,60})>").finditer(inner)]
    return inner if any(" " in name and compiled(_TYPED_NAME).fullmatch(name) for name in names) else ""


def _elements(text: str) -> Iterator[tuple[str, str]]:
    """Yield the name in spaced words and the content of each element of a text; of text beside them an empty name.

    The typed text ends at the last mark of its end.
    """
    for _ in range(_MOST_SECTIONS):
        opening = compiled(_OPENING).match(text)
        name = _spaced(opening["name"]) if opening else ""
        find = text.rfind if compiled(_TYPED_NAME).fullmatch(name) else text.find
        at = find(f"</{opening['name']}>") if opening else -1
        if opening is None or at < 0:
            break
        yield name, text[opening.end() : at].strip()
        text = text[at + len(opening["name"]) + len("</>") :].lstrip()
    if text:
        yield "", text


def _below_request(text: str, *, is_rest: bool) -> str:
    """Return the text below the heading that announces the typed text, if a client wrote all above; else empty.

    Args:
        text: The text.
        is_rest: Whether sections of a client were cut above it.
    """
    first = text.partition("\n")[0]
    requests = list(compiled(_REQUEST).finditer(text)) if text[:1] in "#*-=[" or ":" in first else []
    if not requests:
        return ""
    named = next((request for request in requests if compiled(_OF_NAMED_CLIENT).match(request[0])), None)
    request = named or requests[0]
    above, below = text[: request.start()].strip(), text[request.end() :].strip()
    heading = compiled(_SECTION).match(above)
    if named or (heading is not None and _is_section(heading)):
        # A client's section may forge the same line; other headings may be of the typed text.
        return text[[one.end() for one in requests if one[0] == request[0]][-1] :].strip()
    if not above:
        return below if is_rest and request.end() == len(first) else ""
    lines = [line for line in compiled(_CODE_BLOCK).sub("", above).splitlines() if line.strip()]
    is_list = all(_is_listed(line) or _is_heading(line) for line in lines)
    return below if is_list and any(map(_is_of_file, lines)) else ""


def _without_begin(text: str) -> str:
    """Return a text without the section of a client that it begins with; empty when there is none, or nothing else."""
    end = _first_element(text) or _first_block(text) or _first_headed(text)
    return text[end:].strip() if end else ""


def _without_end(text: str) -> str:
    """Return a text without the section of a client that it ends with; empty when there is none, or nothing else."""
    return text[: _last_element(text) or _last_block(text)].strip()


def _above(text: str) -> str:
    """Return a text without the headed blocks of a client that it ends with; empty when there are none."""
    return text[: _last_headed(text)].strip()


def _first_element(text: str) -> int:
    """Return the end of the element of a client that a text begins with; else 0."""
    opening = compiled(_OPENING).match(text)
    if opening is None:
        return 0
    if opening["with"].endswith("/"):
        return opening.end() if _is_of_client(opening, "", text[opening.end() :]) else 0
    closing = f"</{opening['name']}>"
    for at in dict.fromkeys((text.rfind(closing, opening.end()), text.find(closing, opening.end()))):
        end = at + len(closing)
        if at >= 0 and _has_typed(text[end:]):
            return end if _is_of_client(opening, text[opening.end() : at], text[end:]) else 0
    return 0


def _last_element(text: str) -> int:
    """Return the beginning of the element of a client that a text ends with; else 0."""
    mark = compiled(_LAST_TAG).search(text, max(0, len(text) - 600))
    if mark is None:
        return 0
    begin = _partner(text, mark) if mark[1] else mark.start()
    opening, rest = compiled(_OPENING).match(text, begin), text[:begin]
    if opening is None or not _has_typed(rest) or not (rest.endswith("\n") or mark[1]):
        return 0
    return begin if _is_of_client(opening, text[opening.end() : mark.start()], rest) else 0


def _partner(text: str, closing: re.Match[str]) -> int:
    """Return the place of the opening tag of an element with its end mark; of the first one when none balances it."""
    place, depth = 0, 1
    for tag in reversed(list(re.compile(rf"<(/?){re.escape(closing[1])}(?=[\s>])").finditer(text, 0, closing.start()))):
        place = place if tag[1] else tag.start()
        depth += 1 if tag[1] else -1
        if depth == 0:
            break
    return place


def _is_of_client(opening: re.Match[str], content: str, rest: str) -> bool:
    """Return whether an element of no known name is a client's, by its name, its content and the rest of the prompt.

    Args:
        opening: Its opening tag.
        content: The text between its tags.
        rest: The prompt without it.
    """
    name, attributes = opening["name"], opening["with"]
    is_component = name[0].isupper() and not name.isupper()
    words = _spaced(name)
    if name.lower() in _HTML or compiled(_TYPED_NAME).fullmatch(words) or not _is_prose(rest) or _names(rest, name):
        return False
    if compiled(_ABOUT_THE_USER).search(content[:2_000]):
        return True
    is_plain = compiled(_ATTRIBUTES).fullmatch(attributes) and not compiled(_OF_PAGES).search(attributes.lower())
    if is_component or not is_plain or _is_announced(rest):
        return False
    holds_elements = "</" in content
    if not _WORDS_OF_CLIENTS.isdisjoint(words.split()):
        return "_" in name or not _holds_page(content)
    if _COMMON_WORDS_OF_CLIENTS.isdisjoint(words.split()) or _points(rest):
        return False
    return not holds_elements or (_holds_clients(content) and not _holds_page(content))


def _holds_page(content: str) -> bool:
    return any(name.lower() in _OF_PAGE for name in compiled(_CLOSING).findall(content))


def _holds_clients(content: str) -> bool:
    """Return whether an element within has a name as clients write them: in their words, or with an underscore."""
    names = compiled(_CLOSING).findall(content)
    return any("_" in name or not _WORDS_OF_CLIENTS.isdisjoint(_spaced(name).split()) for name in names)


def _names(rest: str, name: str) -> bool:
    """Return whether a text speaks of an element: it has the tag, the name in backticks or with its separators."""
    name = re.escape(name)
    alone = rf"|(?<![</\w]){name}\b" if compiled(r"[-_:.]").search(name) else ""
    return re.search(rf"[^\n>]<{name}\b|`{name}`{alone}", rest) is not None


def _first_block(text: str) -> int:
    """Return the end of a fenced block or JSON of a client, with a sentence above, that a text begins with; else 0."""
    if text.startswith("{"):
        return _end_of_state(text)
    fence = compiled(_FENCE).search(text[:_LONGEST_LEAD])
    if fence is None:
        return 0
    lead = text[: fence.start()].strip()
    if lead and not _is_lead(lead):
        return 0
    closing = re.compile(rf"(?m)^[ \t]{{0,3}}{fence['fence']}[ \t]*$").search(text, fence.end())
    if closing is None or not _is_prose(text[closing.end() :]):
        return 0
    is_clients = _is_of_editor(fence["info"], text[fence.end() : closing.start()], text[closing.end() :])
    return closing.end() if lead or is_clients else 0


def _last_block(text: str) -> int:
    """Return the beginning of a fenced block of a client, with a sentence above, that ends a text; else 0."""
    if not text.endswith(("```", "~~~")):
        return 0
    fences = list(compiled(_FENCE).finditer(text))
    if len(fences) < 2 or len(fences) % 2:
        return 0
    opening, closing = fences[-2:]
    above = text[: opening.start()].rstrip()
    lead = above.rpartition("\n")[2]
    has_lead = above != lead and _is_lead(lead)
    begin = len(above) - len(lead) if has_lead else opening.start()
    is_clients = has_lead or _is_of_editor(opening["info"], text[opening.end() : closing.start()], above)
    return begin if is_clients and _is_prose(text[:begin]) and not _is_announced(text[:begin]) else 0


def _is_lead(text: str) -> bool:
    """Return whether the words above a fenced block announce a client's section."""
    first = text.partition("\n")[0]
    is_told = "\n\n" not in text and compiled(_ABOUT_THE_USER).search(text[:_LONGEST_LEAD]) is not None
    return len(text) < _LONGEST_LEAD and (is_told or compiled(_SECTION).match(first) is not None)


def _is_of_editor(info: str, content: str, rest: str) -> bool:
    """Return whether a fenced block is named by a file or is an editor's state, and the rest does not speak of it."""
    if _points(rest):
        return False
    content = content.strip()
    is_state = _is_state(_fields(content), content) or bool(_end_of_state(content, has_rest=False))
    return is_state or compiled(_FILE).search(info) is not None


def _end_of_state(text: str, *, has_rest: bool = True) -> int:
    """Return the end of the JSON object that a text begins with, if it is an editor's state; else 0."""
    try:
        state, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return 0
    if not isinstance(state, dict) or (has_rest and not _is_prose(text[end:])):
        return 0
    names = [key for key, value in cast("dict[str, Any]", state).items() for key in (key, *_keys(value))]
    return end if _is_state(names, text[:end]) else 0


def _keys(value: object) -> list[str]:
    return list(cast("dict[str, Any]", value)) if isinstance(value, dict) else []


def _fields(text: str) -> list[str]:
    """Return the names of the fields of a text of lines `name: value` and what is indented below them; else nothing."""
    lines = [line for line in text.splitlines() if line[:1].strip() and line[:1] != "-"]
    names = [line.partition(":")[0] for line in lines if compiled(_NAME_OF_FIELD).match(line)]
    return names if len(names) == len(lines) else []


def _is_state(names: Iterable[str], text: str) -> bool:
    """Return whether the names of values are those of an editor's state, and the text with them names a file."""
    return any(compiled(_STATE).search(_spaced(name)) for name in names) and compiled(_FILE).search(text) is not None


def _first_headed(text: str) -> int:
    """Return the end of the headed block, or the line about the user, that a text begins with; else 0."""
    line, _, rest = text.partition("\n")
    if rest.strip() and _is_told(line):
        return len(line)
    heading = compiled(_SECTION).match(text) if _may_be_headed(line) else None
    if heading is None or not _is_section(heading):
        return 0
    end = _end_of_section(text, heading)
    return end if _is_prose(text[end:]) and (heading["marks"] or not _points(text[end:])) else 0


def _end_of_section(text: str, heading: re.Match[str]) -> int:
    """Return where the section of a heading ends: at its end mark, or where prose follows its list; else 0."""
    if heading["marks"][:1] in ("[", "(", "<") and heading[0].rstrip()[-1] in "])>":
        closing = compiled(_END_MARK).search(text, heading.end()) if heading["marks"][:1] == "[" else None
        return closing.end() if closing else heading.end()
    if heading["marks"][:1] in ("-", "=") and (closing := compiled(_END_MARK).search(text, heading.end())):
        return closing.end()
    at, is_after_blank, fence = heading.end() + 1, False, ""
    # A selection follows its heading, even one that names the file.
    value = compiled(_VALUE).match(heading["value"] or "")
    is_text = value is None or ("select" in heading[0].lower() and not compiled(r".*(?:\d|none\)?)$").match(value[0]))
    is_listing, is_whole = False, not is_text
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line = text[at:end]
        mark = compiled(_FENCE).match(line)
        if fence or mark:
            fence = "" if fence and line.strip() == fence else fence or (mark["fence"] if mark else "")
            is_listing = True
        elif not line.strip():
            is_after_blank = True
        elif compiled(_SECTION).match(line) or compiled(_REQUEST).match(line):
            return at
        elif _is_listed(line, has_more=not is_after_blank):
            is_listing, is_after_blank = True, False
        elif (is_listing or is_whole) and not line[:1].isspace():
            return at
        else:
            break
        at = end + 1
    else:
        return len(text)
    return 0


def _last_headed(text: str) -> int:
    """Return the beginning of the headed blocks, or of the line about the user, that a text ends with; else 0."""
    above, _, line = text.rpartition("\n")
    if above.strip() and _is_told(line):
        return len(above)
    if not _may_be_headed(text):
        return 0
    others = [found.start() for found in compiled(_OTHER_HEADING).finditer(text)]
    found = [heading for heading in compiled(_SECTION).finditer(text) if heading.start() and _is_section(heading)]
    known = {heading.start() for heading in found}
    last_other = max((at for at in others if at not in known), default=0)
    first = next((heading for heading in found if heading.start() > last_other), None)
    above = text[: first.start()] if first else ""
    if first is None or not _is_prose(above) or _points(above):
        return 0
    return first.start() if _end_of_section(text, found[-1]) == len(text) else 0


def _may_be_headed(text: str) -> bool:
    text = text.lower()
    return any(hint in text for hint in _HINTS)


def _is_told(line: str) -> bool:
    """Return whether a line says which file the user has open, in brackets or of `the user`."""
    if len(line) > _LONGEST_ENTRY or not compiled(_TOLD).match(line):
        return False
    words, files = compiled(rf"{_FILE}\S*").subn(" ", line)
    return (compiled(_SHOWN).search(words) if files else compiled(_FOR_AGENT).search(words)) is not None


def _is_section(heading: re.Match[str]) -> bool:
    """Return whether a line is a heading: it has marks, or a colon at its end or before its value."""
    return bool(heading["marks"]) or ":" in heading["colon"]


def _is_of_file(line: str) -> bool:
    """Return whether a line is the name of a file, or a field with one."""
    entry = line[:_LONGEST_ENTRY].lstrip(" \t-*•")
    field = compiled(_FIELD).match(entry)
    return compiled(rf"[`@]*{_FILE}\S*$").match(entry, field.end() if field else 0) is not None


def _is_heading(line: str) -> bool:
    return compiled(r"#{1,6} ?\w|\*\*[^*\n]{1,80}\*\*:?$|[A-Z][\w '/-]{1,40}:$").match(line) is not None


def _is_listed(line: str, *, has_more: bool = True) -> bool:
    """Return whether a line is an entry of a list, a path, or a field with a path, a number or, of more, some words."""
    if compiled(_LISTED).match(line[:_LONGEST_ENTRY]):
        return True
    field = compiled(_FIELD).match(line)
    values = (_VALUE, _FEW_WORDS) if has_more else (_VALUE,)
    return field is not None and any(compiled(value).match(line, field.end()) for value in values)


def _points(text: str) -> bool:
    """Return whether a short text refers to the text around it, and is no turn of the conversation."""
    text = "\n".join(line for line in text.strip().split("\n", 5) if not _is_told(line))
    is_short = len(text) <= _LONGEST_ENTRY and "\n\n" not in text and text.count("\n") < 3
    is_pointer = is_short and compiled(_POINTER).search(text) is not None and not is_turn(text)
    return is_pointer or _is_announced(text)


def _is_announced(text: str) -> bool:
    """Return whether a text ends with a colon: who announces something pasted it."""
    return text.rstrip().endswith(":")


def _is_prose(text: str) -> bool:
    """Return whether a text may have been typed: it has letters."""
    return compiled(r"[^\W\d_]").search(text) is not None


def _spaced(name: str) -> str:
    """Return the words of a name in lower case, parted by spaces: `openFiles`, `open-files` and `OPEN_FILES` alike."""
    return " ".join(compiled(_PARTS).findall(name)).lower()


# --- the whole prompt ---------------------------------------------------------------------------------------------


_MACHINE_PREFIXES = (
    "[system notification",
    "[request interrupted by user",
    "this session is being continued from a previous conversation",
    "caveat: the messages below were generated by the user while running local commands",
    "stop hook feedback:",
)
_TEXT_FRAME = re.compile(
    rf"-{{3}}[^\S\n]{{0,8}}{FRAME_NAME}\b.*?(?:-{{3}}[^\S\n]{{0,8}}end {FRAME_NAME}[^\S\n]{{0,8}}-{{3}}|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_JSON_FRAME = re.compile(rf'\{{\s{{0,8}}"{JSON_KEY}"\s{{0,8}}:')
_SLASH_COMMAND = re.compile(r"/([A-Za-z][\w.:-]*)(?=\s|\Z)\s*")
_SPACES = re.compile(r"(?<=\S)[^\S\n]{2,}(?=\S)")
_BLANK_LINES = re.compile(r"\n{3,}")


def prompt_event(client: str, session_id: str, cwd: str, prompt: str) -> HookEvent:
    """Return the event of a prompt that came without a hook."""
    return HookEvent(client, "UserPromptSubmit", session_id, "", cwd, read_prompt(prompt))


def read_prompt(prompt: str, *, is_report: bool = False) -> CleanedPrompt:
    """Return a prompt as everything behind it may see it: cleaned as by `clean`, and without secrets."""
    cleaned = clean(prompt, is_report=is_report)
    text = redact_excerpt(cleaned.text)
    report = None if cleaned.subagent_report is None else text
    return cleaned if text == cleaned.text else replace(cleaned, text=text, subagent_report=report)


def clean(prompt: str, *, is_report: bool = False) -> CleanedPrompt:
    """Clean a prompt as it came from a client; any string is accepted, in time linear in its length.

    Args:
        prompt: The prompt.
        is_report: Whether an agent wrote it: then headings and elements are its own.
    """
    plain = plain_text(prompt)
    text = _cut_injected(plain)
    text = text if is_report else _without(_KNOWN, _without_files(text))
    # A client's section cannot opt out. A section that only looks like a client's may be the user's own.
    is_opted_out = OPT_OUT in text.lower()
    text, had_private = cut_private(text)
    text = text.strip()
    if _is_of_machine(text) and not is_report:
        # Before what was typed, a client reports commands and interruptions.
        text = _without(_COMMANDS, compiled(_INTERRUPTED).sub("", text)).strip() or text
    if _is_of_machine(text):
        report = _report_of(text)
        return CleanedPrompt(report or "", had_private, is_opted_out, True, report)
    text = _tidy(text)
    text = text if is_report else _typed_text(text)
    command = _SLASH_COMMAND.match(text)
    if command is None:
        is_machine_made = not text and not had_private and bool(plain.strip())
        return CleanedPrompt(text, had_private, is_opted_out, is_machine_made)
    return CleanedPrompt(text[command.end() :], had_private, is_opted_out, command_name=command.group(1))


def _is_of_machine(text: str) -> bool:
    return text[:80].lower().startswith((*machine_prefixes(), *_MACHINE_PREFIXES))


def _cut_injected(text: str) -> str:
    """Return text without our own frames in any format and without the elements other clients inject."""
    if FRAME_NAME in text.lower():
        text = _TEXT_FRAME.sub(" ", text)
    if JSON_KEY in text:
        text = _cut_json_frames(text)
    return without_elements(text, block_tags())


def _cut_json_frames(text: str) -> str:
    """Return text without our frames in JSON; one that is cut off or broken takes all after it along."""
    kept: list[str] = []
    position = 0
    while (begin := _JSON_FRAME.search(text, position)) is not None:
        kept.append(text[position : begin.start()])
        try:
            _, position = json.JSONDecoder().raw_decode(text, begin.start())
        except (ValueError, RecursionError):
            return " ".join(kept)
    return " ".join([*kept, text[position:]])


def _report_of(text: str) -> str | None:
    """Return the cleaned `<result>` of a task notification, to its last closing tag; None without one."""
    if not text[:30].lower().startswith("<task-notification"):
        return None
    begin = text.find("<result>")
    if begin < 0:
        return None
    begin += len("<result>")
    ends = [end for end in (text.rfind("</result>"), text.rfind("</task-notification>")) if end >= begin]
    report = _tidy(text[begin : min(ends, default=len(text))])
    return report or None


def _tidy(text: str) -> str:
    """Return text without trailing white space, runs of spaces or of blank lines; indentation stays."""
    lines = [line.rstrip() for line in text.split("\n")]
    return _BLANK_LINES.sub("\n\n", _SPACES.sub(" ", "\n".join(lines))).strip()

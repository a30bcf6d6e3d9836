"""Finds the secrets of structures, lists, blocks and tables.

`"db_password": {"value": "…"}`, `passwords = ["…", "…"]`, an item on each line, CSV, Markdown, SQL.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hybrid.base.text import compiled
from hybrid.redact.signs import Clarity, clarity
from hybrid.redact.values import Position, has_both, is_generated, is_secret, is_uuid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hybrid.redact.values import TellingName


_MAX_PIECES = 12
_QUOTE = r"\\{0,4}[\"'`]"
_COLLECTION = (
    r"(?:\[\]string|(?:new )?String\[\] ?|(?:List|Set)\.of|Arrays\.asList|(?:list|array|set)Of|vec!|set|list"
    r"|tuple|frozenset|array|@)?"
)
_LIST_GAP = r"\s{0,40}(?:(?:#|//)[^\n]{0,100}\n\s{0,40}){0,3}"
_LIST = (
    r"(?:\\{0,4}[\"'])?(?::[^\S\n]?[A-Za-z][\w.<>\[\], |]{1,40}(?==))?"
    rf"\s?(?:=>|:=|[:=])\s?{_COLLECTION}[\[({{]{{1,2}}{_LIST_GAP}(?=\\{{0,4}}[\"'])"
)
_LIST_ITEM = (
    rf"(?P<quote>{_QUOTE})(?P<value>[^\"'`\\\n]{{1,256}})(?P=quote)\s{{0,3}}(?:(?P<more>,){_LIST_GAP}|(?=[\])}}]))"
)
_LINES = r"(?:\\{0,4}[\"'])?:[^\S\n]{0,20}\n(?P<indent>[^\S\n]{0,60})- "
_FLOW = r"(?:\\{0,4}[\"'])?:[^\S\n]\[[^\S\n]?(?=[^\]\n]{1,400}\])"
_FLOW_ITEM = r"(?P<value>[^\s,\"'\[\]{}]{4,256})[^\S\n]?(?:(?P<more>,)[^\S\n]?|(?=\]))"
_LINES_ITEM = r"(?:\\{0,4}[\"'])?(?P<value>[^\s\"'\\]{4,256})(?:\\{0,4}[\"'])?[^\S\n]{0,20}(?:#[^\n]{0,100})?(?:\n|$)"
_RULE = r"[A-Za-z_]\w{1,20}:\S|[A-Za-z]+(?:[-_.][A-Za-z]+)*[-_.]?[a-z]?\d{1,2}$(?<!\w{10})"
"""Pattern of a form's rule in the place of a value, `min:8`, and of a short name with a number."""
_BEFORE_LIST = frozenset("\\\"':=")
_LISTS = r"pass(?:word|wd|phrase)s|secrets|(?:api|access|auth|refresh)[_-]?(?:key|token)s"


def list_items(key: TellingName) -> list[tuple[int, int]]:
    """Return the spans of the secrets in a list of literals, on one line or on several: `passwords = ["…", "…"]`."""
    following = key.text[key.end : key.end + 1]
    if following not in _BEFORE_LIST and not following.isspace():
        return []
    is_plural = key.name[-1:] in ("s", "S") and compiled(_LISTS, re.IGNORECASE).search(key.name) is not None
    if not is_plural and key.clear < Clarity.SECRET:
        return []
    if lines := _dash_items(key, is_plural=is_plural) or _flow_items(key):
        return lines
    at = compiled(_LIST).match(key.text, key.end)
    if at is None or (not is_plural and "[" not in at.group()):
        return []
    is_password = is_plural and "pass" in key.name.lower()

    def is_kept(value: str) -> bool:
        if is_password:
            return is_secret(value, Clarity.PASSWORD, Position.QUOTED)
        is_rule = not is_plural and compiled(_RULE).match(value) is not None
        return not is_rule and has_both(value) and is_secret(value, Clarity.SECRET, Position.QUOTED)

    return kept_items(_LIST_ITEM, key.text, at.end(), is_kept)


def _flow_items(key: TellingName) -> list[tuple[int, int]]:
    """Return the spans of the secrets in a list within brackets whose items have no quotes, as YAML allows."""
    at = compiled(_FLOW).match(key.text, key.end)
    if at is None:
        return []

    def is_kept(value: str) -> bool:
        return compiled(_RULE).match(value) is None and key.is_secret(value, Position.INLINE)

    return kept_items(_FLOW_ITEM, key.text, at.end(), is_kept)


def kept_items(pattern: str, text: str, at: int, is_kept: Callable[[str], bool]) -> list[tuple[int, int]]:
    """Return the spans of the values that are kept of a list in brackets whose items begin at an offset."""
    spans: list[tuple[int, int]] = []
    item = compiled(pattern).match(text, at)
    while item is not None and len(spans) < _MAX_PIECES:
        if is_kept(item["value"]):
            spans.append(item.span("value"))
        item = compiled(pattern).match(text, item.end()) if item["more"] else None
    return spans


def _dash_items(key: TellingName, *, is_plural: bool) -> list[tuple[int, int]]:
    """Return the spans of the secrets in a list with a line and a dash for each item, as in YAML.

    Args:
        key: The name before the list.
        is_plural: Whether it names several secrets: the items of `passwords` are judged as passwords.
    """
    at = compiled(_LINES).match(key.text, key.end)
    if at is None:
        return []
    clear = Clarity.PASSWORD if "pass" in key.name.lower() and is_plural else key.clear
    dash = f"{at['indent']}- "
    begin, end, spans = key.walks.get((dash, clear), (0, 0, []))
    if not begin <= at.end() < end or len(spans) >= _MAX_PIECES:  # Else the name stands in a list that was looked at.
        begin = at.end()
        end, spans = _walk(key.text, begin, dash, clear)
        key.walks[dash, clear] = begin, end, spans
    return [span for span in spans if span[0] >= at.end()]


def _walk(text: str, start: int, dash: str, clear: Clarity) -> tuple[int, list[tuple[int, int]]]:
    """Return the offset where the items of a list end, and the spans of the secrets among them."""
    spans: list[tuple[int, int]] = []
    at = start
    while len(spans) < _MAX_PIECES:
        item = compiled(_LINES_ITEM).match(text, at)
        if item is None:
            break
        value = item["value"]
        if has_both(value) and compiled(_RULE).match(value) is None and is_secret(value, clear, Position.SETTING):
            spans.append(item.span("value"))
        if not text.startswith(dash, item.end()):
            at = item.end()
            break
        at = item.end() + len(dash)
    return at + 1, spans


# --- Structures: the name and the value are two fields, or the value is a field of what the name is given to --------

_OPEN = r"\\{0,4}[\"']"
_VALUE_WORDS = ("alue", "efault", "text", "old", "new", "tring", "data", "current", "result", '"S')
_VALUE_FIELD = (
    r"(?:\w{1,12}:)?(?:(?!\w{0,16}[hH]ash)[\w-]{0,16}[vV]alue|[dD]efault|old|new|plain_?text|secret_?string|data|current|previous|(?P<made>result)|#text|S)"
    rf"(?:{_OPEN})?\s{{0,20}}[:=]\s{{0,10}}"
    rf"(?:{_OPEN}(?P<quoted>[^\"'\n\\]{{4,512}}){_OPEN}|(?P<value>[^\s\"'`,;<>{{}}\\]{{4,512}}))"
)
# The line number or path that a tool puts before a line may come between two fields.
_BREAK = r"(?:[\s,;+→]|WHERE |\d{1,6}[→\t]|[\w./-]{1,80}:\d{1,6}:){1,40}"
_FIELD = (
    rf"(?:{_OPEN}(?:instances|attributes|values){_OPEN}\s?:[\s\[{{]{{1,80}}"
    rf"|(?:{_OPEN})?[A-Za-z][\w.-]{{0,40}}(?:{_OPEN})?\s{{0,20}}[:=]\s{{0,10}}"
    rf"(?:{_OPEN}[^\"'\n\\]{{0,200}}{_OPEN}|\{{[^{{}}]{{0,200}}\}}|[^\s\"',{{}}:=\\][^\n\"',{{}}:=\\]{{0,80}}|){_BREAK})"
)
_NAME_FIELDS = tuple("name Name key Key id Id type Type variable label".split())
_BEFORE_FIELD = frozenset("\\\"':={/],;<\r\n ")
_NAME_RUN = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:@"
_NEXT_FIELD = rf"[\w/.-]{{0,120}}(?:{_OPEN})?{_BREAK}{_FIELD}{{0,8}}?(?:{_OPEN})?{_VALUE_FIELD}"
_OWN_FIELD = rf"(?:{_BREAK})?{_FIELD}{{0,8}}?(?:{_OPEN})?{_VALUE_FIELD}"
_BEFORE_NAME = (
    rf"{_VALUE_FIELD}{_BREAK}{_FIELD}{{0,6}}(?:{_OPEN})?\w{{1,40}}(?:{_OPEN})?\s{{0,20}}[:=]\s{{0,10}}"
    rf"(?:{_OPEN})?[^\s\"'=,]{{0,120}}$"
)
_ELEMENT_BEFORE = (
    r"[vV]alue>(?P<quoted>[^<>\n]{4,512})</[\w-]{1,20}>\s{0,80}<[\w-]{0,12}(?:[nN]ame|[kK]ey)>[^<>\s]{0,80}$"
)
_BEGUN = (
    rf"(?:{_OPEN})?(?:[^\S\n]{_OPEN}[\w-]{{1,80}}{_OPEN})?\s{{0,3}}(?:[:=]\s{{0,3}})?\{{\s{{0,80}}"
    rf"|(?:{_OPEN})?:[^\S\n]{{0,20}}\n(?=(?P<indent>[^\S\n]{{1,60}}))|\][^\S\n]{{0,20}}\n"
)
_ANY_FIELD = (
    rf"(?<=[\s\"'{{,])(?!(?i:[\w.-]{{0,30}}(?:id|hash|sha\d{{0,3}}|digest|checksum|name|ur[il]|path|version|arn){_OPEN}?\s{{0,20}}[:=]))"
    rf"[\w.-]{{1,60}}(?:{_OPEN})?\s{{0,20}}[:=]\s{{0,10}}(?:{_OPEN})?(?P<value>[A-Za-z0-9+/=_-]{{16,256}})(?=[\s\"'\\,}}]|$)"
)
_MAX_STRUCTURE = 600
_MAX_FIELDS = 4


def field_values(key: TellingName) -> list[tuple[int, int]]:
    """Return the spans of the secrets in fields beside a name or within what it names, in any order.

    `"name": "db_password", "value": "…"` and `"db_password": {"value": "…"}`, in JSON, YAML, TOML, HCL and XML.
    """
    text, low, end = key.text, max(0, key.start - _MAX_STRUCTURE // 2), key.end + _MAX_STRUCTURE
    following = text[key.end : key.end + 1]
    if following and following not in _BEFORE_FIELD:
        return []
    is_named = _is_named(text, key.start)
    begun = None if is_named else compiled(_BEGUN).match(text, key.end)
    if begun is not None:
        if begun["indent"]:
            line_start = text.rfind("\n", 0, key.start) + 1
            depth = len(text[line_start : key.start]) - len(text[line_start : key.start].lstrip(" \"'"))
            closed = compiled(rf"\n[^\S\n]{{0,{depth}}}\S").search(text, begun.end(), end)
            end = begun.end() if depth >= len(begun["indent"]) else end if closed is None else closed.start()
        elif "{" in begun.group():
            closed_at = text.find("}", begun.end(), end)
            end = end if closed_at < 0 else closed_at
        return _fields(key, _OWN_FIELD, begun.end(), end)
    if not is_named and ">" not in text[key.start - 80 : key.start]:
        return []
    near = text[low:end]
    if not any(word in near for word in _VALUE_WORDS):
        return []
    line = text[max(low, text.rfind("\n", 0, key.start) + 1) : key.start]
    if is_named and (depth := len(line) - len(line.lstrip())):  # A line that begins further left has no field of it.
        closed = compiled(rf"\n[^\S\n]{{0,{depth - 1}}}[\w\"'-]").search(text, key.end, end)
        end = end if closed is None else closed.start()
    return (_fields(key, _NEXT_FIELD, key.end, end) if is_named else []) or _field_before(key, low)


def _is_named(text: str, start: int) -> bool:
    """Return whether a name is the value of a field such as `name` or `key`, so that its value is in another one."""
    before = text[max(0, start - 160) : start].rstrip(_NAME_RUN).rstrip(" \t\r\n\"'\\")
    return before[-1:] in (":", "=") and before[:-1].rstrip(" \t\"'\\").endswith(_NAME_FIELDS)


def _fields(key: TellingName, pattern: str, at: int, end: int) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    if pattern == _OWN_FIELD:
        for field in compiled(_ANY_FIELD).finditer(key.text, at, end):
            value = field["value"]
            if is_generated(value) or (key.clear >= Clarity.TOKEN and is_uuid(value)):
                spans.append(field.span("value"))
        if spans:
            return spans
    for _ in range(_MAX_FIELDS):
        field = compiled(pattern).match(key.text, at, end)
        if field is None:
            break
        spans += _kept_field(key, field, 0)
        at, pattern = field.end(), _NEXT_FIELD
    return spans


def _field_before(key: TellingName, low: int) -> list[tuple[int, int]]:
    near = key.text[low : key.start]
    at = near.rfind("alue")
    if at < 1 or "}" in near[at:]:
        return []
    field = compiled(_BEFORE_NAME).match(near, at - 1) or compiled(_ELEMENT_BEFORE).match(near, at - 1)
    return [] if field is None else _kept_field(key, field, low)


def _kept_field(key: TellingName, field: re.Match[str], low: int) -> list[tuple[int, int]]:
    if field.groupdict().get("made") and "random" not in key.name:
        return []
    group = "value" if field["quoted"] is None else "quoted"
    span = field.start(group) + low, field.end(group) + low
    return key.kept(span, Position.QUOTED if group == "quoted" else Position.SETTING)


# --- Values of several lines ---------------------------------------------------------------------------------------

_BLOCK_LINE = r"(?P<indent>[^\S\n]*)(?P<value>\S(?:[^\n]*\S)?)[^\S\n]*(?:\n|$)"
_BLOCK = r"(?P<close>[\"']?):[^\S\n]*[|>][-+\d]{0,2}[^\S\n]*(?:#[^\n]*)?\n"


def block_lines(key: TellingName) -> list[tuple[int, int]]:
    """Return the lines of a YAML block, which are indented deeper than its name; nothing if it is no secret."""
    match = compiled(_BLOCK).match(key.text, key.end)
    if match is None:
        return []
    line_start = key.text.rfind("\n", 0, key.start) + 1
    depth = key.start - line_start
    spans: list[tuple[int, int]] = []
    at = match.end()
    while len(spans) < _MAX_PIECES:
        line = compiled(_BLOCK_LINE).match(key.text, at)
        if line is None or (len(line["indent"]) <= depth and depth) or not line["indent"]:
            break
        spans.append(line.span("value"))
        at = line.end()
    value = "".join(key.text[begin:end] for begin, end in spans)
    return spans if spans and " " not in value and key.is_secret(value, Position.QUOTED) else []


def continued(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return the spans of a value and of the lines that it is continued on after a backslash."""
    spans = [(start, end)]
    while len(spans) < _MAX_PIECES and text.startswith("\\\n", end):
        match = compiled(r"[^\S\n]*([^\s\\]+)").match(text, end + 2)
        if match is None:
            break
        spans.append(match.span(1))
        end = match.end()
    return spans


# --- Tables --------------------------------------------------------------------------------------------------------

_MAX_LINE = 600
_MAX_ROWS = 500
"""Characters of a line and rows of a table that are looked at, so that a file of data costs no more than code."""
_CELL = r"[^\S\n]*[\"'`*]{0,2}[\w .#/()-]{0,40}[\"'`*]{0,2}\s*"
_COLUMNS = r"\(([^()\n]{1,400})\)\s{0,20}values\s{0,20}(?=\()"
_TUPLE = r"\s{0,20},?\s{0,20}\((?P<cells>(?:'(?:[^'\\\n]|''|\\.)*'(?!')|\"(?:[^\"\\\n]|\\.)*\"|[^()'\"]){1,2000})\)"
_SQL_CELL = r"(?:\s*'(?P<quoted>(?:[^'\\\n]|''|\\.)*)'\s*|[^,'\"]*|\s*\"[^\"\n]*\"\s*)(?:,|$)"


def table_values(text: str, lower: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return the spans of the secrets in the column of a telling name, and in other telling columns of the table.

    Args:
        text: The text.
        lower: The same in lower case.
        start: Offset where the name begins.
        end: Offset where the name ends.
    """
    if text[end : end + 1] in (",", ")", "`", '"') and "values" in lower[end : end + 200]:
        return list(_inserted(text, start))
    line_start = text.rfind("\n", max(0, start - _MAX_LINE), start) + 1
    opened = text.rfind(': "', line_start, start)
    if opened >= 0:  # The first line of a text in JSON.
        line_start = opened + 3
    line_end = text.find("\n", end, end + _MAX_LINE)
    if line_end < 0 or start - line_start > _MAX_LINE:
        return []
    line = text[line_start:line_end]
    if line.startswith("COPY ") and (listed := compiled(r"COPY [^\s(]{1,80} \(([^()]*)\) FROM stdin").match(line)):
        line = listed.group(1).replace(", ", "\t")
    mark = next((mark for mark in ("\t", "|", ";", ",") if mark in line), "")
    names = line.split(mark) if mark else []
    has_bars = mark == "|" and not names[0].strip() and not names[-1].strip()
    filled = names[1:-1] if has_bars else names
    if len(filled) < 2 or not all(name.strip() and compiled(_CELL).fullmatch(name) for name in filled):
        return []
    columns = _telling([name.strip(" \r\"'`*") for name in names])
    return list(_of_rows(text, line_end + 1, mark, len(names), columns)) if columns else []


def _telling(names: list[str]) -> dict[int, Clarity]:
    """Return number of a column → how clearly its name says that it holds secrets, for the telling columns."""
    clear = {number: clarity(name.replace(" ", "_")) for number, name in enumerate(names)}
    return {number: degree for number, degree in clear.items() if degree > Clarity.NONE}


def _of_rows(text: str, at: int, mark: str, n_cells: int, columns: dict[int, Clarity]) -> Iterator[tuple[int, int]]:
    """Yield the secrets in the telling columns of the lines from an offset on, while they have so many cells."""
    for _ in range(_MAX_ROWS):
        end = text.find("\n", at, at + 4 * _MAX_LINE)
        end = end if end >= 0 else min(len(text), at + 4 * _MAX_LINE)
        cells = text[at:end].split(mark)
        if len(cells) != n_cells:
            if not text[at:end].strip(" \r+-=:|"):  # The line below the head.
                at = end + 1
                continue
            return
        for number, cell in enumerate(cells):
            value = cell.strip(" \r\"'`")
            if number in columns and is_secret(value, columns[number], Position.SETTING):
                start = at + cell.index(value)
                yield start, start + len(value)
            at += len(cell) + 1
        at = end + 1
        if at >= len(text):
            return


def _inserted(text: str, start: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of the secrets in `INSERT INTO t (a, password) VALUES (…), (…)`, of every telling column.

    Args:
        text: The text.
        start: Offset of a telling name among the columns.
    """
    begin = text.rfind("(", max(0, start - 400), start)
    match = compiled(_COLUMNS, re.IGNORECASE).match(text, begin) if begin >= 0 else None
    if match is None:
        return
    columns = _telling([name.strip(" \"'`[]") for name in match.group(1).split(",")])
    at = match.end()
    for _ in range(_MAX_ROWS):
        row = compiled(_TUPLE).match(text, at)
        if row is None:
            return
        for number, cell in enumerate(compiled(_SQL_CELL).finditer(text, *row.span("cells"))):
            if number in columns and cell["quoted"] and is_secret(cell["quoted"], columns[number], Position.QUOTED):
                yield cell.span("quoted")
        at = row.end()

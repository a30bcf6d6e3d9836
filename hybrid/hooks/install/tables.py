"""Changes one table of a TOML or YAML text by whole lines, and reads the result to see that it says what it should.

Why not tomlkit or a YAML writer: both write a text anew, and some of its bytes with it, such as line ends and quotes.
Where a file keeps the table in a form that lines cannot give, it is refused and told.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from hybrid.hooks.install.jsonc import is_list, is_object
from hybrid.hooks.install.parts import BLANK, SettingsError

_MARK = "\ufeff"
_MAX_LINES = 200
"""Lines that an entry of ours may have, with what a client or a person added to it."""


def loads(text: str, form: str, name: str) -> dict[str, Any]:
    """Return the table that a text holds; a byte order mark is passed over.

    Args:
        text: The text; one without anything holds an empty table.
        form: `toml` or `yaml`.
        name: Name of the file, for the message.

    Raises:
        SettingsError: The text does not parse, or holds no table.
    """
    import tomli
    import yaml

    text = text.removeprefix(_MARK)
    try:
        value: object = tomli.loads(text.replace("\r\n", "\n")) if form == "toml" else yaml.safe_load(text)
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        reason = str(error).split("\n")[0]
        raise SettingsError(f"{name} is not changed, for it does not parse ({reason}): repair it first") from error
    if value is None:
        return {}
    if not is_object(value):
        raise SettingsError(f"{name} is not changed: it holds no table")
    return value


def with_entry(text: str, keys: tuple[str, str], entry: Mapping[str, Any], *, form: str, name: str) -> str:
    """Return the text with an entry at the place that the keys lead to; one that stands there is replaced.

    Args:
        text: The whole text.
        keys: The key of the table around the entry, and that of the entry; both are words without signs.
        entry: The entry; its values are texts, lists of texts, numbers and booleans.
        form: `toml` or `yaml`.
        name: Name of the file, for messages.

    Raises:
        SettingsError: The text keeps the entry, or the table around it, in a form that is not changed by lines.
    """
    value = loads(text, form, name)
    entries: dict[str, Any] = value.get(keys[0]) or {}
    wanted = {**value, keys[0]: {**entries, keys[1]: entry}}
    span = _span(text, keys, form)
    newline = "\r\n" if "\r\n" in text else "\n"
    if span is not None:
        start, end = span
        new = text[:start] + _with_values(text[start:end], entry, form) + text[end:]
        if _read(new, form) != wanted:
            shown = _shown(keys, entry, form, indent=_indent(text[start:end]), newline=newline)
            new = text[:start] + shown + text[end:]
    elif form == "toml":
        new = _ended(text, newline) + _shown(keys, entry, form, indent="", newline=newline)
    else:
        new = _with_yaml(text, keys, entry, newline)
    if _read(new, form) != wanted:
        raise SettingsError(f"{name} is not changed: add `{'.'.join(keys)}` by hand, its table has a form of its own")
    return new


def without_entry(text: str, keys: tuple[str, str], *, original: str, form: str, name: str) -> str:
    """Return the text without an entry, and without the key around it that this leaves empty and we made.

    Args:
        text: The whole text, which holds the entry.
        keys: As for `with_entry`.
        original: The text from before us.
        form: `toml` or `yaml`.
        name: Name of the file, for messages.

    Raises:
        SettingsError: The entry stands there in a form that is not changed by lines.
    """
    span = _span(text, keys, form)
    if span is None:
        raise SettingsError(f"{name} is not changed: take `{'.'.join(keys)}` out by hand, it has a form of its own")
    start, end = span
    head, tail = text[:start], text[end:]
    if form == "toml":
        # The blank line that we set before our table.
        head = re.sub(r"(\n)\r?\n\Z", r"\1", head)
        return "" if not (head + tail).strip(BLANK) else head + tail
    had_key = keys[0] in (_read(original, form) or {})
    if not had_key and not (_read(head + tail, form) or {}).get(keys[0]):
        head = re.sub(rf"^{re.escape(keys[0])}:[ \t]*\r?\n\Z", "", head, flags=re.MULTILINE)
    return head + tail


def _read(text: str, form: str) -> dict[str, Any] | None:
    """Return the table of a text; None for a text that does not parse or holds none."""
    try:
        return loads(text, form, "")
    except SettingsError:
        return None


def _bare(value: object) -> object:
    """Return a value without empty tables in it: TOML drops a table that only held ours, YAML makes it null."""
    if not is_object(value):
        return value
    parts = {key: _bare(part) for key, part in value.items()}
    return {key: part for key, part in parts.items() if part not in ({}, None)}


def _span(text: str, keys: tuple[str, str], form: str) -> tuple[int, int] | None:
    """Return the positions of the lines of an entry: the shortest run of lines without which only the entry is missing.

    None when the entry is not there, or does not stand in lines of its own.
    """
    value = _read(text, form) or {}
    entries: object = value.get(keys[0])
    if not is_object(entries) or keys[1] not in entries:
        return None
    wanted = _bare({**value, keys[0]: {key: part for key, part in entries.items() if key != keys[1]}})
    begins = [match.start() for match in re.finditer(r"^", text, re.MULTILINE)]
    first = _first_line(keys, form)
    for index, start in enumerate(begins):
        if not first.match(text, start):
            continue
        for end in [*begins[index + 1 :], len(text)][:_MAX_LINES]:
            left = _read(text[:start] + text[end:], form)
            if left is not None and _bare(left) == wanted:
                return start, end
    return None


def _first_line(keys: tuple[str, str], form: str) -> re.Pattern[str]:
    """Return the pattern of the first line of an entry; sub-tables of TOML come after it."""
    quoted = [f"[\"']?{re.escape(key)}[\"']?" for key in keys]
    if form == "toml":
        header = r"[ \t]*\.[ \t]*".join(quoted)
        return re.compile(rf"\ufeff?[ \t]*\[[ \t]*{header}[ \t]*\]")
    return re.compile(rf"[ \t]+{quoted[-1]}[ \t]*:")


def _indent(lines: str) -> str:
    return re.match(r"\ufeff?([ \t]*)", lines)[1]  # type: ignore[index] - it matches every text


def _with_values(lines: str, entry: Mapping[str, Any], form: str) -> str:
    """Return the lines of an entry with these values, where each value stands on one line; the caller looks at it."""
    sign = "=" if form == "toml" else ":"
    for key, value in entry.items():
        match = re.search(rf"^[ \t]*{re.escape(key)}[ \t]*{sign}[ \t]*([^\r\n]*)", lines, re.MULTILINE)
        if match is not None:
            lines = lines[: match.start(1)] + _value(value) + lines[match.end(1) :]
    return lines


def _ended(text: str, newline: str) -> str:
    """Return a text with an end of its last line and a blank line, where it holds anything."""
    if not text.strip(BLANK):
        return text
    return text + ("" if text.endswith("\n") else newline) + newline


def _shown(keys: tuple[str, str], entry: Mapping[str, Any], form: str, *, indent: str, newline: str) -> str:
    """Return the lines of an entry."""
    if form == "toml":
        lines = [f"{indent}[{'.'.join(keys)}]", *(f"{indent}{key} = {_value(value)}" for key, value in entry.items())]
    else:
        lines = [f"{indent}{keys[-1]}:", *(f"{indent}  {key}: {_value(value)}" for key, value in entry.items())]
    return "".join(line + newline for line in lines)


def _value(value: object) -> str:
    """Return a value as TOML and YAML both read it: texts in double quotes with the escapes of JSON."""
    if is_list(value):
        return f"[{', '.join(map(_value, value))}]"
    # TOML does not take this one sign as it is.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _with_yaml(text: str, keys: tuple[str, str], entry: Mapping[str, Any], newline: str) -> str:
    """Return a YAML text with the entry as the first of its map, which is made at the end where it is missing."""
    key = re.compile(rf"^{re.escape(keys[0])}:[ \t]*(?:#[^\r\n]*)?(?:\r?\n|\Z)", re.MULTILINE)
    match = key.search(text.removeprefix(_MARK))
    if match is None and keys[0] in (_read(text, "yaml") or {}):
        # On one line, as `{}`, or quoted: the caller sees that nothing changed and refuses.
        return text
    if match is None:
        head = text + ("" if not text or text.endswith("\n") else newline)
        return f"{head}{keys[0]}:{newline}" + _shown(keys, entry, "yaml", indent="  ", newline=newline)
    at = match.end() + len(text) - len(text.removeprefix(_MARK))
    child = re.match(r"(?:[ \t]*(?:#[^\r\n]*)?\r?\n)*([ \t]+)[^\s#]", text[at:])
    head = text[:at] if text[:at].endswith("\n") else text[:at] + newline
    shown = _shown(keys, entry, "yaml", indent=child[1] if child else "  ", newline=newline)
    return head + shown + text[at:]

"""Reads git's configuration syntax; `git_folder` asks it for an origin. It follows no includes and runs nothing."""

from __future__ import annotations

import re

_SECTION = re.compile(r'\s*\[\s*([A-Za-z0-9.-]+)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\]')
_KEY = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", "t": "\t", "b": "\b"}
_TRUE = frozenset({"true", "yes", "on", "1", ""})


def parse_config(text: str) -> dict[str, list[str]]:
    """Values by `section.key` or `section.SUBSECTION.key`, in order of appearance; sections and keys in lower case.

    A key without a value has the value `true`. A line that is not understood is passed over.
    """
    values: dict[str, list[str]] = {}
    section = ""
    for line in _logical_lines(text.removeprefix("\ufeff")):
        rest = line
        while (head := _SECTION.match(rest)) is not None:
            section = _section_name(head)
            rest = rest[head.end() :]
        key = _KEY.match(rest)
        if key is None or not section:
            continue
        after = rest[key.end() :]
        value = _value(after[1:]) if after.startswith("=") else "true"
        values.setdefault(f"{section}.{key.group(1).lower()}", []).append(value)
    return values


def is_true(values: dict[str, list[str]], name: str) -> bool:
    """Return whether the last value of a setting is one of git's words for yes; False when it is not set."""
    return name in values and values[name][-1].lower() in _TRUE


def _section_name(head: re.Match[str]) -> str:
    name, subsection = head.group(1).lower(), head.group(2)
    return name if subsection is None else f"{name}." + _ESCAPE.sub(r"\1", subsection)


def _logical_lines(text: str) -> list[str]:
    """Lines with those joined that end in a backslash."""
    lines: list[str] = []
    pending = ""
    for raw in text.replace("\r\n", "\n").split("\n"):
        n_backslashes = len(raw) - len(raw.rstrip("\\"))
        if n_backslashes % 2 == 1:
            pending += raw[:-1]
            continue
        lines.append(pending + raw)
        pending = ""
    return [*lines, pending] if pending else lines


def _value(raw: str) -> str:
    """A value without its quotes, escapes, comment and outer white space."""
    out: list[str] = []
    n_kept = 0  # Length up to which white space is meant: quoted, escaped, or followed by something.
    is_quoted = False
    characters = iter(raw.lstrip())
    for character in characters:
        if character == '"':
            is_quoted = not is_quoted
            n_kept = len(out)
            continue
        if character in "#;" and not is_quoted:
            break
        is_escape = character == "\\"
        if is_escape:
            following = next(characters, "")
            character = _ESCAPED.get(following, following)
        out.append(character)
        if is_quoted or is_escape or not character.isspace():
            n_kept = len(out)
    return "".join(out[:n_kept])

"""Finds passwords in the forms that command lines, database statements and the files of such tools have."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hybrid.redact.patterns import Secret, compiled, occurrences
from hybrid.redact.values import has_both, is_code_name, is_example_word, is_reference

if TYPE_CHECKING:
    from collections.abc import Iterator

_SPACE = r"(?:[^\S\n]|\\{1,4}t)"
_ANY_SPACE = r"(?:\s|\\{1,4}[nrt]|\d{1,6}→|[+→])"
_QUOTE = r"(?:\\{0,4}[\"'])?"
_VALUE = r"(?P<value>[^\s\"'\\`]{6,256})"
_LINE_REST = r"[^\n]{0,400}?"

_RULES: tuple[tuple[str, str], ...] = (
    # literal in lower case at which the pattern is tried, pattern
    ("curl", rf"curl\b{_LINE_REST}\s(?:-u|--user|--proxy-user)[ =]?{_QUOTE}[\w.@%+-]{{1,64}}:{_VALUE}"),
    ("wget", rf"wget\b{_LINE_REST}\s--(?:http-)?password[ =]{_QUOTE}{_VALUE}"),
    ("sshpass", rf"sshpass\s+-p[ ]?{_QUOTE}{_VALUE}"),
    ("mysql", rf"mysql(?:dump|admin)?\b{_LINE_REST}\s-p{_QUOTE}{_VALUE}"),
    ("redis-cli", rf"redis-cli\b{_LINE_REST}\s(?:-a|--pass)[ =]{_QUOTE}{_VALUE}"),
    (" login ", rf" login {_LINE_REST}\s?(?:-p|--password)[ =]{_QUOTE}{_VALUE}"),
    ("-pass", rf"-pass(?:in|out)?\s+pass:{_VALUE}"),
    ("identified by", rf"identified by{_SPACE}{{1,4}}{_QUOTE}{_VALUE}"),
    ("with password", rf"with password{_SPACE}{{1,4}}\\{{0,4}}[\"']{_VALUE}"),
    ("login", rf"login{_SPACE}{{1,4}}[^\s\\]{{1,100}}{_ANY_SPACE}{{1,40}}password{_SPACE}{{1,4}}{_VALUE}"),
    (
        "login",
        rf"login{_SPACE}{{1,4}}[^\s\\]{{1,100}}(?:\n|\\{{1,4}}n)[\w./-]{{1,80}}:\d{{1,6}}:{_SPACE}{{0,8}}password{_SPACE}{{1,4}}{_VALUE}",
    ),
    (":5432:", rf":5432:[\w*-]{{1,64}}:[\w*-]{{1,64}}:{_VALUE}"),
)
COMMAND_WORDS = tuple(dict.fromkeys(word for word, _ in _RULES))


def command_passwords(text: str, lower: str) -> Iterator[Secret]:
    """Passwords behind an option or a keyword that says so."""
    for word, pattern in _RULES:
        if word not in lower:
            continue
        found = compiled(pattern, re.IGNORECASE)
        for start, _ in occurrences(lower, (word,)):
            match = found.match(text, start)
            if match is not None and _is_password(match["value"]):
                yield Secret("password", match.start("value"), match.end("value"))


def _is_password(value: str) -> bool:
    """True for what was typed as one; a word alone and a name of code are taken for an example."""
    if is_reference(value) or is_example_word(value) or value.startswith("-"):
        return False
    is_words = re.fullmatch(r"[a-z]+(?:-[a-z]+){2,}", value) is not None
    is_word_and_number = re.fullmatch(r"[a-z]+\d{2,}", value) is not None
    has_mixed_case = len(value) >= 12 and len(re.findall(r"[a-z][A-Z]|[A-Z][a-z]", value)) >= 4
    return is_words or is_word_and_number or has_mixed_case or (has_both(value) and not is_code_name(value))

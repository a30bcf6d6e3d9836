"""Finds secrets among the arguments of calls, and the literal that a reference falls back to.

`HTTPBasicAuth("user", "password")` and `os.getenv("X", "literal")`: the reference itself stays readable.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from hybrid.base.patterns import compiled
from hybrid.redact.names import Clarity
from hybrid.redact.patterns import Secret, occurrences, possible
from hybrid.redact.values import Position, is_generated, is_secret

if TYPE_CHECKING:
    from collections.abc import Iterator


_LAST = 0
"""Number of an argument that means the last literal."""
_GENERATED = -1
"""Number of an argument that means the first generated literal, for calls with names and numbers of accounts."""
_CALLS: tuple[tuple[str, int], ...] = (
    # words in lower case that stand right before the arguments, which literal among them is the secret
    (".login wifi.begin", 2),
    ("getconnection( pdo( mysqli( sequelize( superuser( create_user(", 3),
    ("pgp_sym_encrypt( pgp_sym_decrypt( aes_encrypt( aes_decrypt(", _LAST),
    ("cookieparser( fernet( totp( jwt.", 1),
    ("client( algoliasearch(", _GENERATED),
)
_WORDS = {word: number for words, number in _CALLS for word in words.split()}
_ARGUMENTS = r"\w*[\"'`]?\s{0,3}[=:]?\s{0,3}(?:new\s)?[\w.]{0,30}[(\[]|[^\S\n](?=\\{0,4}[\"'])"
_LITERAL = r"\\{0,4}([\"'`])((?:(?!\1|\\)[^\n]|\\(?![\"'`])[^\n]){0,200})\\{0,4}\1"
_MAX_ARGUMENTS = 400


def argument_secrets(text: str, lower: str, letters: str) -> Iterator[Secret]:
    """Yield secrets among the literal arguments of calls."""
    if "(" not in text:
        return
    for word in possible(tuple(_WORDS), letters):
        number, stop = _WORDS[word], 0
        for _, end in occurrences(lower, (word,)):
            if end >= stop:  # Else it stands among the arguments that were looked at.
                secrets, stop = arguments_after(text, end - word.endswith("("), number)
                yield from secrets


def arguments_after(text: str, end: int, number: int) -> tuple[list[Secret], int]:
    """Return the argument of that number, if it is a literal and a secret, and the offset where the search ended.

    Args:
        text: The text.
        end: Offset at which the name of the call ends.
        number: Number of the argument among the literals, from 1, or `_LAST` or `_GENERATED`.
    """
    opened = compiled(_ARGUMENTS).match(text, end)
    if opened is None:
        return [], end
    stop = text.find("\n", end, end + _MAX_ARGUMENTS)
    stop = stop if stop >= 0 else min(len(text), end + _MAX_ARGUMENTS)
    if number == _LAST:
        closed = text.find(")", opened.end(), stop)
        stop = closed if closed >= 0 else stop
    literals = compiled(_LITERAL).finditer(text, opened.end(), stop)
    if number == _GENERATED:
        literals = (literal for literal in literals if is_generated(literal.group(2)))
    elif number == _LAST:
        literals = reversed([*literals])
    else:
        literals = islice(literals, number - 1, None)
    literal = next(literals, None)
    # A bracket between the literals before it ends the call.
    if literal is None or ")" in compiled(_LITERAL).sub("", text[opened.end() : literal.start()]):
        return [], stop
    clear = Clarity.SECRET if number in (1, _GENERATED) else Clarity.PASSWORD
    is_kept = is_secret(literal.group(2), clear, Position.QUOTED)
    return [Secret("password", *literal.span(2))] if is_kept else [], stop


# --- Literals beside references ------------------------------------------------------------------------------------

_QUOTE = r"\\{0,4}[\"'`]"
_GAP = r"[^\S\n]{0,4}"
_NEW_LINE = r"\s{0,60}"
_NAME = rf"{_QUOTE}[\w.:/-]{{0,80}}{_QUOTE}"
_DEFAULT_LITERAL = rf"[bruf]{{0,2}}(?P<quote>{_QUOTE})(?P<value>[^\"'`\n\\]{{1,256}})(?P=quote)"
# What is read: names, brackets, quoted names; a line that goes on with an operator or a call belongs to it.
_EXPRESSION = rf"(?:[^\"'`\\,;{{}}\n]|{_NAME}(?:,{_GAP}{_NAME})?|\{{\w{{1,80}}\}}|\n\s{{0,60}}(?=[.?|:)])){{1,160}}?"
# `||`, `??`, `?:`, `or`, `else`, `//` of Perl, `| default` of templates, the last of a choice; what is called on an
# empty value.
_OTHERWISE = (
    rf"{_NEW_LINE}(?:(?:\|\||\?\?|\?:|//){_GAP}|(?<=\s)(?:or|else)[^\S\n]{{1,4}}|\|{_GAP}(?:d|default){_GAP}\(?{_GAP}"
    rf"|(?<=\s):[^\S\n]|\.(?:unwrap_or|unwrap_or_else|or_else|orElse|orElseGet|getOrElse|get_or_else|ifBlank|ifEmpty)"
    rf"[({{]{_GAP}(?:\|\w{{0,8}}\||\(\){_GAP}->)?{_GAP}(?:String::from\()?)"
)
_READERS = (
    r"(?:get|fetch|read|load)?_?env(?:ironment)?(?:_?(?:var|variable|str|string|default|or|or_?default))?"
    r"|fetch|get(?:String|Property|Value|_?or_?(?:default|else))?|getattr|config|setting|option|param|pop|coalesce|try"
    r"|setdefault"
)
_SECOND = (
    rf"(?:[\w.$:>?!()-]{{0,80}}[.:>$])?(?:{_READERS})\({_NEW_LINE}"
    rf"(?:\w{{1,20}},{_GAP})?(?:{_NAME}|[a-z][\w.]{{1,60}}),{_NEW_LINE}(?:{_NAME},{_GAP}(?=fallback|default))?"
    rf"(?:(?:default|default_value|defaultValue|fallback|unset){_GAP}[:=]{_GAP})?{_DEFAULT_LITERAL}"
)
_FALLBACK = _EXPRESSION + _OTHERWISE + _DEFAULT_LITERAL
_FALLBACK_IN_BRACES = rf"\{{\{{{_FALLBACK}"
_BESIDE = rf"(?:{_QUOTE})?{_GAP}[\])]{{1,2}}{_OTHERWISE}{_DEFAULT_LITERAL}"
_NAMED_BESIDE = (
    rf"{_QUOTE},{_NEW_LINE}(?:default|default_value|fallback|defaultValue){_GAP}[:=]{_GAP}{_DEFAULT_LITERAL}"
)
_TEMPLATE = r"(?:![A-Za-z]{1,20} )?\$\{\??[\w.-]{1,80}:?[-=:](?P<value>[^}\s$\"']{4,256})\}"
_MAX_DEFAULT = 400
_BEGINNINGS = frozenset("_$@(!&*{")
_GOES_ON = frozenset(".?|:)/oe")
"""Characters that begin a line which goes on with the expression before."""
_AFTER_REFERENCE = frozenset("\\\"'`])")


def default_after(text: str, start: int) -> tuple[int, int] | None:
    """Return the span of the literal that an expression falls back to; None when it has none.

    Args:
        text: The text.
        start: Offset of the expression that is assigned to a telling name.
    """
    first = text[start : start + 1]
    if not (first.isalpha() or first in _BEGINNINGS):
        return None
    end = start + _MAX_DEFAULT
    near = text[start:end]
    match = compiled(_TEMPLATE).match(near) if "${" in near else None
    if match is None and first == "{" and near.startswith("{{"):
        match = compiled(_FALLBACK_IN_BRACES).match(near)
    elif match is None and _may_fall_back(near):
        match = compiled(_SECOND, re.IGNORECASE).match(near) or compiled(_FALLBACK).match(near)
    return None if match is None else (start + match.start("value"), start + match.end("value"))


def _may_fall_back(near: str) -> bool:
    """Return whether a literal may stand in the expression, on its line or on lines that go on with it."""
    line, _, further = near.partition("\n")
    if any(quote in line for quote in "\"'`"):
        return True
    goes_on = "(" in line or further.lstrip()[:1] in _GOES_ON
    return goes_on and any(quote in further for quote in "\"'`")


def default_beside(text: str, end: int) -> tuple[int, int] | None:
    """Return the span of the literal after a reference that ends with a telling name; None when there is none.

    Args:
        text: The text.
        end: Offset at which the name ends, as in `getenv("DB_PASSWORD"` or `process.env.DB_PASSWORD`.
    """
    following = text[end : end + 1]
    if following not in _AFTER_REFERENCE and not following.isspace():
        return None
    match = compiled(_BESIDE).match(text, end, end + _MAX_DEFAULT)
    if match is None and following in ('"', "'", "\\"):
        match = compiled(_NAMED_BESIDE).match(text, end, end + _MAX_DEFAULT)
    return None if match is None else match.span("value")

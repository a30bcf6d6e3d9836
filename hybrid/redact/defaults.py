"""Finds the literal that stands beside a reference, for when the reference is empty: `os.getenv("X", "literal")`.

The reference itself stays readable. Whether the name says that the value is a secret is judged before.
"""

from __future__ import annotations

import re

from hybrid.base.patterns import compiled

_QUOTE = r"\\{0,4}[\"'`]"
_GAP = r"[^\S\n]{0,4}"
_NEW_LINE = r"\s{0,60}"
_NAME = rf"{_QUOTE}[\w.:/-]{{0,80}}{_QUOTE}"
_LITERAL = rf"[bruf]{{0,2}}(?P<quote>{_QUOTE})(?P<value>[^\"'`\n\\]{{1,256}})(?P=quote)"
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
    rf"(?:(?:default|default_value|defaultValue|fallback|unset){_GAP}[:=]{_GAP})?{_LITERAL}"
)
_FALLBACK = _EXPRESSION + _OTHERWISE + _LITERAL
_FALLBACK_IN_BRACES = rf"\{{\{{{_FALLBACK}"
_BESIDE = rf"(?:{_QUOTE})?{_GAP}[\])]{{1,2}}{_OTHERWISE}{_LITERAL}"
_NAMED_BESIDE = rf"{_QUOTE},{_NEW_LINE}(?:default|default_value|fallback|defaultValue){_GAP}[:=]{_GAP}{_LITERAL}"
_TEMPLATE = r"(?:![A-Za-z]{1,20} )?\$\{\??[\w.-]{1,80}:?[-=:](?P<value>[^}\s$\"']{4,256})\}"
_MAX_DEFAULT = 400
_BEGINNINGS = frozenset("_$@(!&*{")
_GOES_ON = frozenset(".?|:)/oe")
"""With these a line begins that belongs to the expression before."""
_AFTER_REFERENCE = frozenset("\\\"'`])")


def default_after(text: str, start: int) -> tuple[int, int] | None:
    """Where the literal stands that an expression falls back to; None when there is none.

    Args:
        text: The text.
        start: Where the expression begins that is assigned to a telling name.
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
    """Return whether a literal may stand in an expression, which ends with its line but for calls and operators."""
    line, _, further = near.partition("\n")
    if any(quote in line for quote in "\"'`"):
        return True
    goes_on = "(" in line or further.lstrip()[:1] in _GOES_ON
    return goes_on and any(quote in further for quote in "\"'`")


def default_beside(text: str, end: int) -> tuple[int, int] | None:
    """Where the literal stands after a reference that ends with a telling name; None when there is none.

    Args:
        text: The text.
        end: Where the name ends, as in `getenv("DB_PASSWORD"` or `process.env.DB_PASSWORD`.
    """
    following = text[end : end + 1]
    if following not in _AFTER_REFERENCE and not following.isspace():
        return None
    match = compiled(_BESIDE).match(text, end, end + _MAX_DEFAULT)
    if match is None and following in ('"', "'", "\\"):
        match = compiled(_NAMED_BESIDE).match(text, end, end + _MAX_DEFAULT)
    return None if match is None else match.span("value")

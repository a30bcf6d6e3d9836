"""Finds secrets among the arguments of calls, and the literal that a reference falls back to.

`HTTPBasicAuth("user", "password")` and `os.getenv("X", "literal")`: the reference itself stays readable.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hybrid.base.text import compiled
from hybrid.redact.signs import Clarity, Phrases, Secret, occurrences, possible
from hybrid.redact.values import Position, has_both, is_generated, is_marked, is_secret

if TYPE_CHECKING:
    from collections.abc import Iterator


_LAST = 0
"""Number of an argument that means the last literal."""
_GENERATED = -1
"""Number of an argument that means the first generated literal, for calls with names and numbers of accounts."""
_CALLS: tuple[tuple[str, str, int, Clarity], ...] = (
    # words in lower case that stand right before the arguments, pattern of what stands before them, which argument is
    # the secret (numbers do not count), how sure it is one
    ("ftp_login imap_login", "", 3, Clarity.PASSWORD),
    (".login wifi.begin", "", 2, Clarity.PASSWORD),
    ("connect(", r"(?:mysqli?_|mysqldb\.|odbc_|dbi->)", 3, Clarity.PASSWORD),
    ("connect(", r"(?:oci_|oracle\.|oracledb\.)", 2, Clarity.PASSWORD),
    ("connect( connection(", r"[.= ]", 3, Clarity.PASS),
    ("bind( bind_s( pw_set(", r"(?:simple_|username_)", 2, Clarity.PASSWORD),
    ("bind(", "ldap_", 3, Clarity.PASSWORD),
    ("getconnection( pdo( mysqli( sequelize( superuser( create_user( ftp( imap_open(", "", 3, Clarity.PASSWORD),
    ("pgp_sym_encrypt( pgp_sym_decrypt( aes_encrypt( aes_decrypt(", "", _LAST, Clarity.PASSWORD),
    ("jwt. createhmac(", "", 2, Clarity.SECRET),
    ("load(", r"(?:ks|store)\.", 2, Clarity.PASSWORD),
    ("__construct(", r"pdo->", 3, Clarity.PASSWORD),
    ("hmac.new( hmac256( hmac512( symmetricsecuritykey(", "", 1, Clarity.SECRET),
    ("cookieparser( fernet( totp( redis.auth(", "", 1, Clarity.SECRET),
    ("client( algoliasearch(", "", _GENERATED, Clarity.SECRET),
)
_WORDS = Phrases(*(word for words, *_ in _CALLS for word in words.split()))
_ARGUMENTS = r"\w*[\"'`]?\s{0,3}[=:]?\s{0,3}(?:new\s)?[\w.]{0,30}[(\[]|[^\S\n](?=\\{0,4}[\"'])"
_LITERAL = r"\\{0,4}([\"'`])((?:(?!\1|\\)[^\n]|\\(?![\"'`])[^\n]){0,200})\\{0,4}\1"
_WRAPPED = r"(?:Some|from|new|of|bytes|GetBytes|str|String|SecretStr|encode)\($"
_MAX_ARGUMENTS = 400


def argument_secrets(text: str, lower: str, letters: str) -> Iterator[Secret]:
    """Yield secrets among the literal arguments of calls."""
    if "(" not in text:
        return
    for word in dict.fromkeys((*_WORDS.standing(letters), *possible(("client(",), letters))):
        rows = [row for row in _CALLS if word in row[0].split()]
        stop = 0
        for start, end in occurrences(lower, (word,)):
            if end < stop:
                continue  # It is among the arguments that were looked at.
            near = lower[max(0, start - 12) : start]
            for _, before, number, clear in rows:
                if not before or compiled(rf"{before}$").search(near):
                    secrets, stop = arguments_after(text, end - word.endswith("("), number, clear, may_break=True)
                    yield from secrets
                    break


def arguments_after(
    text: str, end: int, number: int, clear: Clarity = Clarity.PASSWORD, *, may_break: bool = False
) -> tuple[list[Secret], int]:
    """Return the argument of that number, if it is a literal and a secret, and the offset where the search ended.

    Args:
        text: The text.
        end: Offset at which the name of the call ends.
        number: Number of the argument, from 1, or `_LAST` or `_GENERATED`.
        clear: Degree to which the argument is known to be a secret; `PASS` wants more than a word.
        may_break: The arguments may go on in the next lines.
    """
    opened = compiled(_ARGUMENTS).match(text, end)
    if opened is None:
        return [], end
    stop = min(len(text), end + _MAX_ARGUMENTS)
    line_end = -1 if may_break else text.find("\n", end, stop)
    stop = line_end if line_end >= 0 else stop
    arguments, stop = _literals(text, opened.end(), stop)
    found = [literal for argument in arguments for literal in argument]
    if number == _GENERATED:
        found = [literal for literal in found if is_generated(text[slice(*literal)])]
    elif number == _LAST:
        found.reverse()
    else:
        found = arguments[number - 1] if len(arguments) >= number else []
        is_sure = may_break or not found or (all(arguments[: number - 1]) and text[found[0][0] - 2] != "=")
        if not is_sure:  # Not every argument before is a literal, or it has a name of its own.
            found, clear = [] if "=" in opened.group() else found, Clarity.PASS
    if not found:
        return [], stop
    value = text[slice(*found[0])]
    is_typed = clear is not Clarity.PASS or has_both(value) or is_marked(value)
    is_kept = is_typed and is_secret(value, max(clear, Clarity.SECRET), Position.QUOTED)
    return [Secret("password", *found[0])] if is_kept else [], stop


def _literals(text: str, start: int, stop: int) -> tuple[list[list[tuple[int, int]]], int]:
    """Return the spans of the literals in each argument from an offset on, and where the call or the search ends.

    An argument that is a number is left out, and so is a literal within brackets: a key or what another call is given.
    """
    arguments: list[list[tuple[int, int]]] = []
    literals: list[tuple[int, int]] = []
    depth, begin = 0, start
    for match in compiled(rf"{_LITERAL}|[()\[\]{{}},]").finditer(text, start, stop):
        if match.group(2) is not None:
            if not depth or compiled(_WRAPPED).search(text, begin, match.start()):
                literals.append(match.span(2))
            continue
        sign = match.group()
        depth += (sign in "([{") - (sign in ")]}")
        if depth < 0 or (sign == "," and not depth):
            if not text[begin : match.start()].strip().isdigit():
                arguments.append(literals)
            literals, begin = [], match.end()
        if depth < 0:
            return arguments, match.end()
    return [*arguments, literals], stop


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
_FILTERED = r"\{\{ {0,3}[\"'](?P<value>[^\"'\n]{4,128})[\"'] {0,3}\|"
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
    match = compiled(_TEMPLATE).match(near) if "${" in near else compiled(_FILTERED).match(near)
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

"""Finds passwords that are arguments of calls whose names say so: `HTTPBasicAuth("user", "password")`."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from hybrid.base.patterns import compiled
from hybrid.redact.names import Clarity
from hybrid.redact.patterns import Secret, occurrences, possible
from hybrid.redact.values import Place, is_generated, is_secret

if TYPE_CHECKING:
    from collections.abc import Iterator

_LAST = 0
"""Instead of a number: the last literal."""
_GENERATED = -1
"""Instead of a number: the first that is generated, where names and numbers of accounts may stand too."""
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
    """Secrets among the literal arguments of calls."""
    if "(" not in text:
        return
    for word in possible(tuple(_WORDS), letters):
        number, stop = _WORDS[word], 0
        for _, end in occurrences(lower, (word,)):
            if end >= stop:  # Else it stands among the arguments that were looked at.
                found, stop = arguments_after(text, end - word.endswith("("), number)
                yield from found


def credentials_after(text: str, name: str, end: int) -> list[Secret]:
    """The password of `HTTPBasicAuth("user", "password")` and its kind, which the name of the call tells.

    Args:
        text: The text.
        name: With `auth` or `cred` in it.
        end: Where it ends.
    """
    number = 3 if name.lower().endswith("plainauth") else 2
    return arguments_after(text, end, number)[0]


def arguments_after(text: str, end: int, number: int) -> tuple[list[Secret], int]:
    """The so manieth literal among the arguments after a name, when it is a secret, and where the search ended."""
    opened = compiled(_ARGUMENTS).match(text, end)
    if opened is None:
        return [], end
    stop = text.find("\n", end, end + _MAX_ARGUMENTS)
    stop = stop if stop >= 0 else min(len(text), end + _MAX_ARGUMENTS)
    clear = Clarity.SECRET if number == 1 else Clarity.PASSWORD
    if number == _LAST:
        closed = text.find(")", opened.end(), stop)
        stop = closed if closed >= 0 else stop
        number = sum(1 for _ in compiled(_LITERAL).finditer(text, opened.end(), stop))
    if number == _GENERATED:
        literals = [one for one in compiled(_LITERAL).finditer(text, opened.end(), stop) if is_generated(one.group(2))]
        return list(_among(text, literals[:1], Clarity.SECRET, opened.end())), stop
    literals = list(islice(compiled(_LITERAL).finditer(text, opened.end(), stop), number))
    return list(_among(text, literals[max(0, number - 1) : number], clear, opened.end())), stop


def _among(text: str, literals: list[re.Match[str]], clear: Clarity, start: int) -> Iterator[Secret]:
    for one in literals:
        between = compiled(_LITERAL).sub("", text[start : one.start()])
        if ")" in between:
            continue  # The call ended before.
        if is_secret(one.group(2), clear, Place.QUOTED):
            yield Secret("password", one.start(2), one.end(2))

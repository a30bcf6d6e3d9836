"""Finds secrets in text and replaces them; the last step before anything is stored or shown.

It knows well-known forms of tokens, and the places where commands, headers and files have passwords. Beside a name that
says so (`names`), whatever may be a secret is one, unless it is plainly a reference, a type, a placeholder, a call or a
word (`values`); how much a value must look like a secret depends on its place. It is no scanner: what has no form, no
place and no name passes. Linear in the length.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from itertools import accumulate
from threading import Lock
from typing import TYPE_CHECKING

from hybrid.base.text import compiled, document_digest
from hybrid.redact.assigned import assigned_values
from hybrid.redact.calls import argument_secrets
from hybrid.redact.commands import (
    COMMAND_WORDS,
    COOKIE_NAMES,
    HEADER_NAMES,
    RULE_WORDS,
    command_passwords,
    cookies,
    dsn_passwords,
    header_values,
    url_passwords,
)
from hybrid.redact.forms import is_key_line, key_lines, private_keys, recovery_codes, tokens
from hybrid.redact.signs import (
    Secret,
    lower_case,
    occurrences,
    pieces_of,
    possible,
    telling_places,
    unmarked,
    with_ascii_signs,
    with_lines,
)
from hybrid.redact.values import is_generated, is_plain_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = [
    "REDACT_VERSION",
    "MaskedDocuments",
    "Secret",
    "excerpt_secrets",
    "find_secrets",
    "mask",
    "masker",
    "part_masker",
    "redact",
    "redact_excerpt",
]

REDACT_VERSION = "8"
"""Version of the rules; an index made under other rules is made again, so that no secret lives on in it."""

_TRIGGERS = (*HEADER_NAMES, "_auth", '"auth', *COOKIE_NAMES, *COMMAND_WORDS)


_CLEAN = set[str]()
_MOST_CLEAN = 4_096
_MOST_CLEAN_CHARS = 200
"""Texts without a secret that are remembered, and characters of each: paths and ids come again with every event."""


def redact(text: str) -> str:
    """Return text with every secret replaced by `[redacted:kind]`; the same object when there is none.

    May be used by several threads at once.
    """
    if text in _CLEAN:
        return text
    if secrets := find_secrets(text):
        return _replaced(text, secrets, keeps_lines=False)
    if len(text) <= _MOST_CLEAN_CHARS:
        if len(_CLEAN) >= _MOST_CLEAN:
            _CLEAN.clear()
        _CLEAN.add(text)
    return text


def mask(text: str) -> str:
    """Return a whole document with its secrets replaced and its lines kept; the same object when there is none.

    A secret of several lines becomes `[redacted:kind]` on its first line and `[redacted]` on each further one.
    """
    secrets = _secrets_of_document(text)
    return _replaced(text, secrets, keeps_lines=True) if secrets else text


def redact_excerpt(text: str) -> str:
    """Return `redact(text)` of what may be cut out of something longer, with all that `excerpt_secrets` finds."""
    if is_key_line(text):
        return "[redacted:private_key]"
    parts, at = list[str](), 0
    for start, end, instead in excerpt_secrets(text):
        parts += [text[at:start], instead]
        at = end
    return "".join([*parts, text[at:]]) if parts else text


def excerpt_secrets(text: str) -> list[tuple[int, int, str]]:
    """Return start, end and replacement of each secret of an excerpt, in order and disjoint.

    Beside what `find_secrets` finds: lines of keys without their marks, and other places with a long piece of a secret.
    """
    secrets = [*find_secrets(text), *key_lines(text)]
    found = [(secret.start, secret.end, f"[redacted:{secret.kind}]") for secret in secrets]
    pieces = {piece.strip("+-") for start, end, _ in found for piece in compiled(_REPEATED).findall(text, start, end)}
    for piece in sorted(pieces, key=lambda piece: (-len(piece), piece))[:_MOST_REPEATED]:
        start = -1 if len(piece) < _MIN_REPEATED else text.find(piece)
        while start >= 0:
            found.append((start, start + len(piece), "[redacted]"))
            start = text.find(piece, start + len(piece))
    merged: list[tuple[int, int, str]] = []
    for start, end, instead in sorted(found, key=lambda one: (one[0], -one[1])):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]), merged[-1][2])
        else:
            merged.append((start, end, instead))
    return merged


_MIN_REPEATED = 16
_REPEATED = rf"[A-Za-z0-9+/=_.~-]{{{_MIN_REPEATED},}}"
_MOST_REPEATED = 60


class MaskedDocuments:
    """Masks documents and remembers where their secrets are: a prompt comes back to the files of the last one.

    Of a document only its digest and the places of its secrets are kept. May be used by several threads at once.
    """

    def __init__(self, n_kept: int) -> None:
        """Set the number of documents, those that were masked last, whose secrets are remembered."""
        self._n_kept = n_kept
        self._secrets: OrderedDict[bytes, list[Secret]] = OrderedDict()
        self._lock = Lock()

    def mask(self, text: str) -> str:
        """Return `mask(text)`, without another look for secrets in a text that was masked before."""
        key = document_digest(text)
        with self._lock:
            secrets = self._secrets.get(key)
        if secrets is None:
            secrets = _secrets_of_document(text)
        with self._lock:
            self._secrets[key] = secrets
            self._secrets.move_to_end(key)
            if len(self._secrets) > self._n_kept:
                self._secrets.popitem(last=False)
        return _replaced(text, secrets, keeps_lines=True) if secrets else text


def masker(text: str) -> Callable[[str], str]:
    """Return a function that takes the secrets out of the names, signatures and headings of a document.

    Besides what `redact` finds in such a part itself, long pieces of the document's secrets go: a signature may be
    cut within a token, and a line in the middle of a key may be taken for a name.
    """
    secrets = _secrets_of_document(text)
    pieces = "\n".join(piece for secret in secrets for piece in text[secret.start : secret.end].split())

    def without_secrets(part: str) -> str:
        if len(part) < _MIN_PART:
            return part
        part = redact(part)
        if not pieces:
            return part
        return compiled(_PIECE).sub(lambda match: "[redacted]" if match.group() in pieces else match.group(), part)

    return without_secrets


def part_masker(parts: Iterable[str]) -> Callable[[str], str] | None:
    """Return a function that takes out the secrets that parts of a document make by themselves; None when none does.

    Args:
        parts: All names, signatures and headings that the function will be called with.
    """
    # Tokens never cross a line, so what none of the lines holds together, no part holds alone.
    parts = [part for part in parts if len(part) >= _MIN_PART]
    together = "\n".join(parts)
    pieces, letters = pieces_of(together)
    if not any(True for _ in tokens(together, pieces, letters)):
        ends = list(accumulate(len(part) + 1 for part in parts))
        numbers = {bisect_right(ends, place) for place in _places_of_values(together, letters)}
        parts = [parts[number] for number in sorted(numbers)]
    masked = {part: clean for part in parts if (clean := redact(part)) is not part}
    return (lambda part: masked.get(part, part)) if masked else None


def _places_of_values(text: str, letters: str) -> list[int]:
    """Return where a secret other than a token with a form of its own may stand, in any order and more than once."""
    lower = lower_case(text).replace(" ->", "   ")  # An arrow is no option.
    words = ("://", *possible(_TRIGGERS, letters), *RULE_WORDS.standing(letters))
    return [start for start, _ in (*occurrences(lower, words), *telling_places(lower, letters))]


_MIN_PART = 12
"""Characters of a name or signature from which on it can hold a secret, or so much of one that it matters."""
_PIECE = rf"[^\s\"'`\\()\[\]{{}}<>,;:]{{{_MIN_PART},}}"


def _secrets_of_document(text: str) -> list[Secret]:
    return find_secrets(text) or _whole_key(text)


def _whole_key(text: str) -> list[Secret]:
    """Return the key that is all of a document, as of `config/master.key`; nothing for a digest or any other text."""
    key = text.strip() if len(text) <= _MAX_KEY_FILE else ""
    if key.split() != [key] or is_plain_id(key) or not is_generated(key):
        return []
    start = text.index(key)
    return [Secret("secret", start, start + len(key))]


_MAX_KEY_FILE = 200


def _replaced(text: str, secrets: list[Secret], *, keeps_lines: bool) -> str:
    """Return text with its secrets, which are in order and disjoint, replaced; as many lines as before if wanted."""
    parts: list[str] = []
    end = 0
    for secret in secrets:
        parts += [text[end : secret.start], f"[redacted:{secret.kind}]"]
        if keeps_lines:
            parts += map(_masked_line, text[secret.start : secret.end].split("\n")[1:])
        end = secret.end
    return "".join([*parts, text[end:]])


def _masked_line(line: str) -> str:
    """Return a further line of a secret, with the line break before it; indentation and blank lines stay."""
    return "\n" + (line[: len(line) - len(line.lstrip())] + "[redacted]" if line.strip() else line)


_RANK = {"api_key": 1, "secret": 2}
"""Kind that says little → its rank behind the others that are found in the same place."""


def find_secrets(text: str) -> list[Secret]:
    """Return the secrets of a text in order; of two that overlap the one that begins first, then the longer."""
    secrets = sorted(_all_secrets(text), key=lambda secret: (secret.start, -secret.end, _RANK.get(secret.kind, 0)))
    kept: list[Secret] = []
    for secret in secrets:
        if not kept or secret.start >= kept[-1].end:
            kept.append(secret)
    return kept


def _all_secrets(text: str, *, depth: int = 0) -> Iterator[Secret]:
    """Yield what each finder finds, in no order; spans may overlap, and one may come twice."""
    plain = unmarked(text)
    lined = with_lines(plain)
    pieces, letters = pieces_of(lined)
    if depth < _MAX_ENCODED and "%" in letters and compiled(_ENCODED_SIGN).search(letters):
        yield from _percent_encoded(text, depth)
    yield from private_keys(plain)
    yield from tokens(text, pieces, letters)
    if "//" in letters:
        yield from url_passwords(text, letters)
    yield from dsn_passwords(text)
    text = with_ascii_signs(lined)
    lower = lower_case(text)
    for find in (header_values, cookies, command_passwords, argument_secrets, recovery_codes, assigned_values):
        yield from find(text, lower, letters)


_ENCODED_SIGN = r"%(?:25)?(?:3[adAD]|40)"
"""Pattern of an encoded `:`, `=` or `@`, without which no secret is in a part of a URL."""
_MAX_BEFORE_SIGN = 400
_MAX_ENCODED = 2
"""Number of times that a part of a URL may be encoded over and over."""


def _percent_encoded(text: str, depth: int) -> Iterator[Secret]:
    """Yield the secrets of runs of text in which signs are encoded as in URLs: `%22password%22%3A%22…`."""
    seen = 0
    for sign in compiled(_ENCODED_SIGN).finditer(text):
        if sign.start() < seen:
            continue
        low = max(seen, sign.start() - _MAX_BEFORE_SIGN)
        begin = low + max(text[low : sign.start()].rfind(end) for end in " \n\t\"'`<>") + 1
        run = compiled(r"[^\s\"'`<>]+").match(text, begin)
        if run is None:
            continue
        seen = run.end()
        decoded: list[str] = []
        offsets: list[int] = []
        at = run.start()
        for number, piece in enumerate(compiled(r"(%[0-9A-Fa-f]{2})").split(run.group())):
            decoded.append(chr(int(piece[1:], 16)) if number % 2 else piece)
            offsets += [at] if number % 2 else range(at, at + len(piece))
            at += len(piece)
        offsets.append(at)
        for secret in _all_secrets("".join(decoded), depth=depth + 1):
            yield Secret(secret.kind, offsets[secret.start], offsets[secret.end])

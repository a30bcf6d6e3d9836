"""Finds the names that say that a secret stands beside them, and says how clearly they do.

`password`, `clientSecret`, `DB_PASS`, `API key`: the words of a name decide, wherever they stand in it. `token_url` and
`password_hash` hold no secret.
"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from hybrid.base.patterns import compiled
from hybrid.redact.foreign import ASCII_WORDS, OTHER_WORDS
from hybrid.redact.patterns import occurrences, possible

if TYPE_CHECKING:
    from collections.abc import Iterator


class Clarity(IntEnum):
    """The degree to which a name says that its value is a secret."""

    NONE = 0
    """It says nothing of a secret, or that there is none."""
    WEAK = 1
    """`MAPS_KEY`, `salt`, `password_field_2`: only what is generated counts."""
    PASS = 2
    """`pass`, which is a password beside a user, and a test that passed elsewhere."""
    TOKEN = 3
    """`token`, which parsers have too; plurals."""
    SECRET = 4
    """`client_secret`, `api_key`, `access_token`."""
    PASSWORD = 5
    """What people choose: any word may be one."""


_ROOTS = tuple(
    "pass psw pw psk secret token cred key auth salt seed sessid sessionid csrf jwt kennwort mnemonic".split()
)
_BEFORE_PW = r"(?:bind|db|user|admin|root|my|ssh)_?$"
_NAME_CHARS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
_WORD = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+"

_PASSWORD = (
    r"(?:pass_?(?:word|wort|wd|wrd|phrase|code)|(?:^|_|(?<=[a-z]{2}))p(?:wd|sw)|kennwort|masterauth|mnemonic)s?"
    r"|(?:bind|db|user|admin|root|my|ssh)_?pw(?!d)"
)
_PASS_OF = (
    "db|user|smtp|root|mail|ftp|admin|redis|require|mysql|pg|login|ssh|ldap|bind|sudo|become|my|store|key|remote|proxy"
    "|imap"
)
_PASS = rf"(?:^|_)(?:src|dest)?(?:{_PASS_OF})_?pass"
_KEYED = tuple(
    "api access account signing encryption private secret app master client unseal server application aes fernet"
    " cipher crypto hmac jwt license integration gen setup write gpr subscription function fastly backup root"
    " bucket wg cookie hash storage service shared admin deploy webhook session auth recovery host validation"
    " decryption signature transaction network".split()
)
_KEY = rf"(?:{'|'.join(_KEYED)})_?key"
_SECTIONS = ("jwt", "encryption", "signing", "crypto")
_TOKEN = r"(?:access|auth|api|refresh|bearer|deploy|bot|session|personal|id|csrf|webhook|service|root|ci|sas)_?token"
_PHRASES: tuple[tuple[str, Clarity], ...] = (
    (r"salt$", Clarity.WEAK),
    (_PASSWORD, Clarity.PASSWORD),
    (r"(?:^|_)pw", Clarity.PASSWORD),
    (rf"secret|cred(?:ential)?|psk|(?:^|_)jwt|otp_seed|{_KEY}|{_TOKEN}|(?:^|_)bearer", Clarity.SECRET),
    (_PASS, Clarity.PASSWORD),
    (r"(?:^|_)pass|(?:^|_|basic)auth$|(?:^|_)auth_users$", Clarity.PASS),
    (r"(?:php|j)sess(?:ion)?id", Clarity.SECRET),
    (r"token|(?:^|_)[cx]srf", Clarity.TOKEN),
    (r"(?:^|_)key|salt|(?:^|_)auth", Clarity.WEAK),
)
_TAIL_OF_VALUE = frozenset(
    "value base prod production dev development staging test live admin user root db old new current confirm"
    " confirmation again repeat plain text raw encrypted main primary secondary default string key secret token string"
    " sha256 hmac hex b64 base64 pass password for in".split()
)
"""Words that may follow the telling word of a name: `secret_key_base`, `password_prod`, `secret_key`."""
_NO_VALUE = frozenset(
    "hash hashed hashes digest sha md5 checksum salt sum id ids name names url urls uri endpoint path paths file files"
    " filename dir type types kind field fields header headers param params length size len count limit max min expiry"
    " expire expires expired expiration ttl lifetime label title prefix suffix template startswith endswith contains"
    " placeholder regex pattern format policy manager provider help hint message messages error errors class factory"
    " scope scopes algorithm alg version env var vars ref refs selector input description stdin accessor required"
    " enabled disabled optional validator validators hasher hashers reset strength rules usage budget rate handler"
    " backend storage server service callback index position pos offset line column span kinds stream list map set"
    " parser iterator range text view arn identifier".split()
)
"""Words at the end of a name that hold no secret: `token_url`, `password_hash`, `secret_name`."""
_OPEN = r"public|publishable|hashed|site_key|(?:idempotency|cache|partition|sort|foreign|dedup[a-z]*)_key"
"""Pattern of the words of names whose values anybody may see."""
_PARSED = frozenset(
    "next previous prev last first peek lookahead syntax lexer end start stop close closing open opening eof eol bos"
    " eos pad unk sep cls mask special separator operator unexpected cancellation cancel stopping string".split()
)
"""Words before `token` in parsers and models."""


def telling_places(lower: str, letters: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each place where a word stands that a telling name may hold, in order.

    Args:
        lower: The text in lower case.
        letters: The letters of the text's pieces, see `Pieces`.
    """
    foreign = possible(ASCII_WORDS, letters)
    if not lower.isascii():
        foreign += [word for word in OTHER_WORDS if word in lower]
    places = sorted(occurrences(lower, [*possible(_ROOTS, letters), *foreign]))
    if foreign:  # Of words that begin at one place, the longest is the name: `passord` begins as `pass` does.
        places.sort(key=lambda place: (place[0], -place[1]))
    last = 0
    for start, end in places:
        if start < last:
            continue
        least, last = last, end
        if lower.startswith("pw", start):
            before = compiled(_BEFORE_PW).search(lower[max(least, start - 6) : start])
            if lower.startswith("d", end):
                last += 1
            elif before is not None:
                start -= len(before.group())
            elif lower[start - 1 : start].isalnum() or lower[end : end + 1].isalnum():
                continue  # `pw` alone is short enough to stand in many words.
        yield start, last


def name_start(text: str, start: int) -> int:
    """Return the offset where the name around a place begins; the `n` of an escaped line end is no part of the name."""
    last = text[start - 1 : start]
    if not (last.isalnum() or last in ("_", "-")):
        return start
    before = text[max(0, start - 60) : start]
    begin = start - len(before) + len(before.rstrip(_NAME_CHARS))
    if text[begin - 1 : begin] == "\\" and text[begin : begin + 1] in ("n", "t", "r") and begin < start:
        return begin + 1
    return begin


@lru_cache(maxsize=4096)
def clarity(name: str, before: str = "") -> Clarity:
    """Return how clearly a name says that its value is a secret.

    Args:
        name: Letters, digits, `_` and `-`.
        before: Text before the name, in lower case: `api` of `API key`.
    """
    words = [word.lower() for word in compiled(_WORD).findall(name)]
    if not words:
        return Clarity.NONE
    if len(words) == 1 and words[0] == "key" and before:
        words.insert(0, before)
    joined = "_".join(words)
    if "your" in words or compiled(_OPEN).search(joined):
        return Clarity.NONE
    for phrase, clear in _PHRASES:
        if matches := [*compiled(phrase).finditer(joined)]:
            return _judged(joined, matches[-1], clear)
    return Clarity.NONE


def _judged(joined: str, match: re.Match[str], clear: Clarity) -> Clarity:
    """Return how clear a name is by the words after its telling word: `hash` makes it `NONE`, an unknown one `WEAK`."""
    tail = joined[match.end() :]
    if tail[:1] == "s" and tail[1:2] in ("", "_"):
        clear, tail = min(clear, Clarity.TOKEN), tail[1:]
    elif tail[:1].isalpha():
        return Clarity.NONE  # `tokenizer`, `passenger`, `keyboard`
    words = [word for word in tail.split("_") if word and not word.isdigit()]
    if words and words[-1] in _NO_VALUE:
        return Clarity.NONE
    if clear is Clarity.TOKEN and _PARSED.intersection(joined[: match.start()].split("_")):
        return Clarity.WEAK
    if not _TAIL_OF_VALUE.issuperset(words):
        return min(clear, Clarity.WEAK)
    return clear


def word_before(lower: str, start: int) -> str:
    """Return the word before a place that makes `key` telling: `api` of `API key`, or nothing.

    Args:
        lower: The text in lower case.
        start: Offset where `key` begins.
    """
    before = lower[max(0, start - 20) : start].rstrip(" -_*.\"'\n")
    if before.endswith("public"):
        return "public"
    if before.endswith("{"):  # `"jwt": {"key": …`: what the value is for stands one level up.
        above = before.rstrip("\"'{ :=")
        return next((word for word in _SECTIONS if above.endswith(word)), "")
    return next(word for word in _KEYED if before.endswith(word)) if before.endswith(_KEYED) else ""

"""Judges a value that stands where a secret may stand: literal or reference, example or real, word or generated."""

from __future__ import annotations

import binascii
import math
import re
from collections import Counter

from hybrid.redact.patterns import compiled

_DUMMIES = (
    r"(?:change[-_]?me|placeholder|redacted|undefined|password|passwd|example|replace|default|invalid|sample|secret"
    r"|hunter2|dummy|token|admin|fixme|value|valid|wrong|right|hello|world|login|client|access|refresh|bearer|basic"
    r"|test(?:ing|ed)?|user|mock|fake|demo|todo|none|null|true|false|your|here|pass|pwd|key|foo|bar|baz|qux|api|abc(?:def)?"
    r"|xyz|x{3,}|\.{3,}|\*{3,}|0?123(?:4(?:5(?:6(?:7(?:89?0?)?)?)?)?)?)"
)
_LONG_ENOUGH = r"(?=.*[A-Za-z])(?=.*\d)[A-Za-z0-9]{16,}"
_UUID = r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
_PLAIN_ID = rf"{_UUID}|[0-9a-f]{{40}}|[0-9a-f]{{64}}|[0-9a-f]{{128}}"
_MIN_BITS_PER_CHAR = 2.8
_MIN_GENERATED = 16
_MIN_HEX = 32
_MAX_LOWER_RUN = 2.6
"""Letters of one case on end, on average: two in what is generated from both cases, more in joined words."""


def is_filler(token: str) -> bool:
    """True for what stands in a manual instead of a token: `ghp_xxxxxxxx…`, `sk-ant-your-key-here-…`."""
    lower = token.lower()
    return "xxxx" in lower or "your" in lower or "0000000000" in lower


def is_reference(value: str) -> bool:
    """True for a variable, a template, a call, an address or an already redacted place instead of a literal."""
    if value.startswith(("$", "%", "<", "{", "*", "@", "#", "/", "./", "../", "~", "[", "(", "&", "!", "...", "http")):
        return True
    return any(mark in value for mark in ("${", "{{", "$(", "%(", "%s", "://", "(", "[", "]", "<", "…", "\\"))


def is_basic(value: str) -> bool:
    """True when a value is `user:password` in base64, with or without its padding."""
    try:
        user, colon, password = binascii.a2b_base64(f"{value.rstrip('=')}===").decode("utf-8").partition(":")
    except (binascii.Error, ValueError):
        return False
    return bool(colon and password) and (user + password).isprintable()


def is_base64_key(value: str) -> bool:
    """True for a generated value of a length that keys have in base64; one may begin with `/`."""
    return (
        len(value) in (40, 44, 88) and re.fullmatch(r"[A-Za-z0-9+/]+={0,2}", value) is not None and is_generated(value)
    )


def is_typed(value: str) -> bool:
    """True for what a person may have chosen as a password: no example, and no plain name of letters and dots.

    Under such a name it is safer to hide a word too many than to show a weak password.
    """
    rest = without_dummies(value)
    return len(rest) >= 4 and re.fullmatch(r"[A-Za-z_.:]*|.*/.*", value) is None and not is_filler(value)


def has_both(value: str) -> bool:
    """Letters and digits: together they are no word of a sentence."""
    return re.search(r"[A-Za-z]", value) is not None and re.search(r"\d", value) is not None


def without_dummies(value: str) -> str:
    """What remains of a value when the words are taken out that examples and tests are made of.

    One long run of letters and digits is left as it is: words turn up in it by chance.
    """
    if compiled(_LONG_ENOUGH).fullmatch(value) and not is_filler(value):
        return value
    return compiled(_DUMMIES, re.IGNORECASE).sub("", value)


def is_example_word(password: str) -> bool:
    """True for a single word of examples, with a number or not."""
    return compiled(_DUMMIES + r"[\d!]{0,3}", re.IGNORECASE).fullmatch(password) is not None or is_filler(password)


def is_code_name(value: str) -> bool:
    """True for names that an unquoted right side usually is: `settings.token2`, `SecretStr`, `base64Key`.

    Digits within words, more than once, are no name but letters in disguise: `Tr0ub4dor`.
    """
    if len(re.findall(r"[A-Za-z]\d(?=[a-z])", value)) > 1:
        return False
    return re.fullmatch(r"[A-Za-z_][a-z_]*(?:[A-Z0-9.][a-z_]+)*\d{0,3}", value) is not None


def is_plain_id(value: str) -> bool:
    """True for a UUID, or for so many hexadecimal digits as the usual digests have."""
    return compiled(_PLAIN_ID, re.IGNORECASE).fullmatch(value) is not None


def is_uuid(value: str) -> bool:
    """True for a UUID with its dashes."""
    return compiled(_UUID, re.IGNORECASE).fullmatch(value) is not None


def is_mixed(value: str) -> bool:
    """True for a password as rules demand it: lower and upper case, a digit and a special character."""
    return len(value) >= 8 and all(re.search(part, value) for part in ("[a-z]", "[A-Z]", r"\d", r"[!@#$%^&*?+=~]"))


def looks_random(value: str) -> bool:
    """True when a value reads like generated, under a name that says so; weaker than `is_generated`.

    That is: at least eight characters, digits among letters, little repetition, no plain words and numbers joined by
    punctuation.
    """
    if len(value) < 8 or not has_both(value):
        return False
    pieces = re.split(r"[-_./:\s]+", value)
    if all(re.fullmatch(r"[A-Za-z]*|\d*|v\d+|[A-Z]?[a-z]+\d{1,2}", piece) for piece in pieces):
        return False
    return bits_per_char(value) >= _MIN_BITS_PER_CHAR


def is_generated(value: str) -> bool:
    """True when a value can hardly be anything but generated, whatever stands around it.

    At least 16 characters; hexadecimal: 32; else digits in several places and no run of letters as words have it.
    """
    if len(value) < _MIN_GENERATED or is_filler(value) or not has_both(value):
        return False
    if re.fullmatch(r"[0-9a-fA-F]+", value):
        return len(value) >= _MIN_HEX and bits_per_char(value) >= _MIN_BITS_PER_CHAR
    runs = re.findall(r"[a-z]+", value)
    digits = len(re.findall(r"\d+", value))
    has_short_runs = len("".join(runs)) <= _MAX_LOWER_RUN * len(runs)
    is_dense = digits >= 3 and len(value) <= 12 * digits and max(map(len, runs), default=0) <= 8
    return bits_per_char(value) >= 3 and digits >= 2 and (has_short_runs or is_dense)


def bits_per_char(value: str) -> float:
    """Shannon entropy of the characters of a value, in bits per character."""
    n = len(value)
    return -sum(count / n * math.log2(count / n) for count in Counter(value).values())

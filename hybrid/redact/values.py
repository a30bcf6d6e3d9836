"""Judges a value that stands where a secret may stand.

Beside a clear name every literal is a secret but what is plainly none: a reference, a type, a placeholder, a call, a
label. How much a value itself must look like a secret depends on its place, since code has names where a settings file
has values.
"""

from __future__ import annotations

import binascii
import math
import re
from collections import Counter
from enum import Enum
from functools import lru_cache

from msgspec import Struct

from hybrid.base.text import compiled
from hybrid.redact.signs import FOREIGN_WORDS, MESSAGES, Clarity


class Position(Enum):
    """The position of a value beside its name."""

    QUOTED = 1
    """Within quotes: a literal."""
    SETTING = 2
    """Without quotes on a line of its own, as settings files have it."""
    ENVIRONMENT = 6
    """After `NAME=` in capitals, as shells and their settings have it: no code stands there."""
    INLINE = 3
    """Without quotes within a line, where code has names: `f(password=entered)`."""
    PROSE = 4
    """In a sentence, after `is`, `to` or a colon."""
    LOOSE = 5
    """Right after the name: `bearer token X`."""


_FILLERS = (
    *"xxxx **** changeme change-me change_me changethis change-this replace placeholder redacted".split(),
    *"0000000000 insert_ insert- … .... todo fixme -here _here ••".split(),
    "change this",
)
"""What stands within a value that is to be put in its place, in lower case."""
_YOUR = r"(?<![a-z0-9])your|your(?:[-_ ]|api|own|token|key|secret|pass|user|access|client|project|name)"
_EXAMPLE = r"(?:password|passwd|pass|secret|token|example|test|foo|bar|dummy|sample)[-_]?\d{0,3}!?"
_PLAIN = frozenset(
    # Types, states and words of forms: never a value worth hiding.
    "str string strings text int integer number num bool boolean bytes byte char varchar any object void unknown never"
    " float double uuid binary array list dict map set tuple none null nil undefined true false yes no on off empty"
    " blank required optional hidden masked secret secrets password passwords passwd passphrase pwd pass token tokens"
    " key keys auth bearer basic digest apikey credential credentials prompt ask default inherit value values name user"
    " username login admin test tests testing example examples sample dummy fake mock foo bar baz qux invalid valid"
    " wrong right correct incorrect missing expired enabled disabled changed reset forgot confirm repeat new old"
    " current self this that static final const let var val auto type field label input here there not must should is"
    " are was be has have the and with without when where which what who why how also only never always stored sent"
    " used using needed given set unset from file env vault stdin stdout error warning failed failure ok success"
    " mismatch matches match rejected accepted denied refused plain plaintext cleartext clear encrypted hashed rotated"
    " leaked visible generated random weak strong short long hash undefined unchanged authorization authentication"
    " access refresh client server abc xyz abcd abcdef hello world santa ignore skip fail passed pending".split()
).union(FOREIGN_WORDS)
_CODE = frozenset(
    # Words of names in code that speak of secrets: a name that holds one names a variable, a field or a label.
    "password passwd passphrase pwd pass secret token key auth user username login credential credentials api apikey"
    " client access refresh bearer basic field label name names value values str string strings type types hash hashed"
    " hasher encrypted encrypt encrypted decrypt input text param params arg args config conf cfg settings env form"
    " current confirm repeat reset forgot invalid wrong missing required optional expected actual self this get"
    " set is has to from default sha md utf base hex b64 base64 bytes buf buffer uint int oauth ssh rsa ed x509"
    " pbkdf bcrypt scrypt argon hmac vec idx row col num str tmp ptr obj res req request response body result data"
    " salt md5 sha256 encoded decoded encode decode crypt".split()
)
_MADE_UP = frozenset("fake synthetic mock dummy test tests example sample should not expected".split())
"""Words of placeholders that tests use for a secret."""
_NAMES_ONLY = _CODE.difference("has from this self set get env".split()).union(
    "tls cert certificate creds module path".split()
)
"""Words of names in code that a chosen phrase does not have."""
_SENTENCE = frozenset(
    "an your you is are was be must should can cannot not enter please if it that will least characters character"
    " required invalid wrong forgot reset failed error no missing confirm repeat has have".split()
)
"""Words of sentences and labels, which a chosen phrase seldom holds."""
_TECHNICAL = (
    r"base64\w*|(?:sha|md|utf|base|oauth|ssh|rsa|ed|pbkdf|hs|rs|es|aes|hmac|ipv|http|tls|ssl|k8s|x509|i18n|log4j|ec2|s3|v|rev|u|i|f"
    r"|int|uint|float|2fa|mfa|web|py|python|node|es|ecma|us|eu|ap|line|col|step|page|part|test|item|type|arg)[-_]?\d+"
)
_UUID = r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
_PLAIN_ID = rf"{_UUID}|0[0-7][0-9A-HJKMNP-TV-Z]{{24}}|[0-9a-f]{{40}}|[0-9a-f]{{64}}|[0-9a-f]{{128}}"
_TEMPLATE = (
    r"\$\{[^}]*\}?|\{\{|\$\([^)]*\)|\$\{\{|#\{[^}]*\}|%\([a-z_]+\)s|\{[A-Za-z_][\w.()\[\]'\":!]*\}|\{\}|\[redacted|\]\(|</"
    r"|%[A-Za-z_]+%|\(\?[:=!P<]|^\$[A-Za-z_]\w+(?:\[|:|->|\.)"
)
_VARIABLE = (
    r"\$[A-Za-z_]\w*[:}]?|\$\d|\$[A-Za-z_][\w:.>\[\]-]*|%[sdvqrw@]|:[a-z_]+|@[A-Za-z_]+|[&*][A-Za-z_][\w.]*"
    r"|![A-Za-z]+(?:[ .:].*)?|(?:sha\d{1,3}|md5)[:-].*|\?|--?[a-z-]+"
    r"|(?:[0-9A-F]{2}:){7,}[0-9A-F]{2}|Ag[A-Z][A-Za-z0-9+/]{90,}={0,2}"
)
"""Pattern of variables of shells and SQL, verbs of formats, anchors and tags of YAML, digests, options, sealed."""
_CALL = r"(?:await[ ])?[A-Za-z_$][\w.:$]*(?:\?\.|->|::)?[\w.]*\(.*"
_PATH = (
    r"(?:\.{0,2}/|~/|[A-Za-z]:\\)[\w.@~ /\\-]*|(?:[A-Za-z_.-]+\d{0,4}/){2,}[\w.*-]+|[A-Za-z_.-]+/[A-Za-z_.*-]+"
    r"|[\w./-]+\.(?:key|pem|crt|txt|ya?ml|json|env|py|js|ts|md|html?|7z|zip|t?gz|sql|db|log|cfg|conf|ini|sh|jar|rs|go|rb)"
    r"(?::\d{1,6})?"
    r"|[Hh][Tt][Tt][Pp][Ss]?/[\d.]+"
)
_DOTTED = r"[A-Za-z_]\w*(?:(?:\.|::|->|\?\.)[A-Za-z_]\w*)+"
_IDENTIFIER = r"[A-Za-z_]\w*"
_DATE = (
    r"\d{4}-\d\d(?:-\d\d.*)?|\d{1,2}:\d\d.*|v?\d+(?:\.\d+)+(?:[-+]?[a-z]+\.?\d*)?|0x[0-9a-fA-F]{1,8}"
    r"|\d+(?:px|ms|kb|mb|gb|s|m|h|d|k|em|%)"
)
"""Pattern of dates, times, versions, numbers with a unit."""
REGION = (
    r"(?:us|eu|ap|sa|ca|me|af|il|mx|cn|us-gov|europe|asia|australia|africa|northamerica|southamerica)"
    r"-(?:north|south|east|west|central){1,2}-?\d{1,2}(?:-?[a-z])?"
)
"""Pattern of a region of a cloud, which calls for a secret have beside its name."""
_BASE32 = r"(?:[A-Z2-7]{8}){2,8}(?<=[A-Z2-7]{16})"
_MIN_BITS_PER_CHAR = 2.8
_MIN_GENERATED = 16
_RUN = r"(.)\1{3,}"
_MIN_BITS_BESIDE_RUN = 3.6
_MIN_HEX = 32
_MAX_LOWER_RUN = 2.6
"""Letters of one case in a row, on average: two in generated text of both cases, more in joined words."""


@lru_cache(maxsize=2048)
def is_secret(value: str, clear: Clarity, position: Position) -> bool:
    """Return whether a value is a secret, given how clear the name beside it is and how the value stands to it."""
    if clear is Clarity.NONE or len(value) < 4 or is_reference(value) or is_placeholder(value):
        return False
    if not value.isascii() and any(map(str.isdigit, value)) and not any(map(str.isspace, value)):
        if any(char.isalpha() and char.lower() == char.upper() for char in value):
            # In a script without capitals, a number behind a word tells a chosen value: `我的密码123`.
            return clear is Clarity.PASSWORD and compiled(r"[^\W\d_]{2,12}\d{3,}").fullmatch(value) is not None
        value = _in_ascii(value)
    if clear is Clarity.WEAK:
        return _is_key(value, position)
    if clear is not Clarity.TOKEN and _is_joined(value, clear, position):
        return True
    if position is Position.QUOTED:
        return _is_literal(value, clear)
    if position in (Position.SETTING, Position.ENVIRONMENT):
        return _is_setting(value, clear, may_hold_brackets=position is Position.ENVIRONMENT)
    if clear in (Clarity.PASSWORD, Clarity.PASS) and is_marked(value):
        return True
    if clear >= Clarity.TOKEN and compiled(r"(?=.*\d)[a-z0-9]{6}\.[a-z0-9]{16}").fullmatch(value):
        return True  # How a node joins a cluster of Kubernetes.
    if position is Position.INLINE:
        return _is_no_name(value)
    return _is_no_word(value, is_loose=position is Position.LOOSE)


def _may_be_chosen(word: str, position: Position) -> bool:
    """Return whether a plain word beside a foreign name may be a chosen password: in a setting, and no message.

    Of scripts without capitals words and messages cannot be told apart.
    """
    is_setting = position in (Position.QUOTED, Position.SETTING, Position.ENVIRONMENT)
    return is_setting and word.lower() != word.upper() and word.lower() not in MESSAGES


def _in_ascii(value: str) -> str:
    """Return a value with an ASCII consonant of the same case for each other letter, so that it is judged as ASCII is.

    Consonants alone make no word that names of code have.
    """
    consonants = "bdfghjklmnqvwz"

    def letter(char: str) -> str:
        if char.isascii() or not char.isalpha():
            return char
        consonant = consonants[ord(char) % len(consonants)]
        return consonant.upper() if char.isupper() else consonant

    return "".join(map(letter, value))


def _is_key(value: str, position: Position) -> bool:
    """Return whether a value beside a name that says little, such as `maps_key`, is generated, and is no digest."""
    if position is not Position.QUOTED and compiled(r"[()\[\]{}]").search(value):
        return False
    if position is Position.ENVIRONMENT and len(value) >= 20 and has_both(value) and is_mixed_case(value):
        return not is_plain_id(value)
    if position is Position.QUOTED and is_dense(value):
        return True
    is_long_hex = len(value) > 32 and compiled(r"[0-9a-fA-F]+").fullmatch(value) is not None
    return is_generated(value) and not is_long_hex and not is_plain_id(value)


def _is_literal(value: str, clear: Clarity) -> bool:
    """Return whether quoted text, a literal, is no label, no name of a field and no word."""
    if any(map(str.isspace, value)):
        return is_dense(value) or _is_passphrase(value, clear)
    if not any(map(str.isalpha, value)):
        return clear is Clarity.PASSWORD and sum(map(str.isdigit, value)) >= 4
    if compiled(_PATH).fullmatch(value) and not is_base64_key(value):
        return False
    words = words_of(value)
    if not any(map(str.isdigit, value)):
        return _is_chosen_word(value, words, clear)
    if compiled(_DATE).fullmatch(value):
        return clear is Clarity.PASSWORD and len(value) >= 8
    if clear in (Clarity.SECRET, Clarity.TOKEN, Clarity.PASS):
        # The names of objects have this form: `secret: "shop-credentials-2"`.
        is_name = compiled(r"[a-z]+(?:[-_./:][a-z]+)*[-_]?\d{0,2}").fullmatch(value) is not None
        if clear is not Clarity.SECRET and _is_dotted_name(value, r"\."):
            return False
        return len(value) >= 6 and not (is_name and not _CODE.isdisjoint(words)) and not _is_technical(value)
    return not (_CODE.issuperset(words) and compiled(r"[a-z]+(?:[-_.]?[a-z]+)*[-_]?\d").fullmatch(value))


def _is_chosen_word(value: str, words: list[str], clear: Clarity) -> bool:
    """Return whether a literal without a digit was chosen as a secret, and is no word, name or label."""
    if not value.isascii() or not _CODE.isdisjoint(words):
        return False
    if is_marked(value):
        return clear in (Clarity.PASSWORD, Clarity.PASS) or (clear is Clarity.SECRET and len(value) >= 12)
    if is_mixed_case(value) or (value.isupper() and value.isalpha() and len(value) >= 16):
        return True  # Without digits, base32 is a row of capitals.
    if clear is Clarity.PASSWORD:
        is_word = compiled(r"[A-Za-z]+|[a-z]+(?:-[a-z]+){2,}").fullmatch(value)
        return len(value) >= 5 and is_word is not None and not value.istitle() and not value.isupper()
    return clear is Clarity.SECRET and len(value) >= 10 and value.isalpha() and value.islower()


def is_marked(value: str) -> bool:
    """Return whether letters have marks between them as neither code nor words have: `Fby=AygqZb!`, `Oak_elm.ash`."""
    core = value.rstrip("!?.,;:")
    if len(value) < 6 or not core or not _CODE.isdisjoint(words_of(value)) or "/" in value:
        return False
    marks = set(compiled(r"[!@#$%^&*+=~?]").findall(core))
    if marks and compiled(r"[\w.!@#$%^&*+=~?<>|;,-]+").fullmatch(core):
        has_cases = core.lower() != core != core.upper()
        return has_cases and (
            len(marks) > 1
            or len(core) < len(value)
            or not compiled(r"[\w.]+[&+=*%][\w.]+").fullmatch(core)
            or is_mixed_case(core)
            or "." in core
        )
    if value.endswith("!") and compiled(r"(?:[A-Z][a-z]+){2,}|.*[-_.].*").fullmatch(core):
        return core.lower() != core
    parts = compiled(r"[-_.]").split(core)
    if len(parts) < 2 or not all(part.isalpha() and len(part) > 1 for part in parts):
        return False
    is_capital = [part.istitle() for part in parts]
    if "-" in core and "_" not in core and "." not in core:
        return len(parts) > 2 and all(is_capital)
    return len({mark for mark in "-_." if mark in core}) > 1 and any(is_capital) and not all(is_capital)


def _is_passphrase(value: str, clear: Clarity) -> bool:
    """Return True for several words that are no sentence and no label."""
    words = [word.strip(".,:;!?'\"").lower() for word in value.split()]
    if clear < Clarity.SECRET or not value.isascii() or not 2 <= len(words) <= 12:
        return False
    said = {word for word in words if not (word in ("it", "to") and len(words) > 3 and clear is Clarity.PASSWORD)}
    of_code = _NAMES_ONLY if clear is Clarity.PASSWORD else _CODE
    if not _SENTENCE.isdisjoint(said) or not of_code.isdisjoint(said) or value[-1] in ".:?":
        return False
    if clear is Clarity.SECRET:  # `secret: "keyboard cat"`
        return len(words) <= 4 and value.islower() and all(word.isalpha() for word in words)
    if any(map(str.isdigit, value)):
        return True
    return len(words) >= 3 and (value.islower() or value.endswith("!")) and all(word.isalpha() for word in words)


def _is_setting(value: str, clear: Clarity, *, may_hold_brackets: bool) -> bool:
    """Return whether text alone on its line is a value, and no name of code, no type and no word of a state."""
    if compiled(_CALL).fullmatch(value) and value.endswith((")", ",", "(")):
        return False
    is_chosen = clear in (Clarity.PASSWORD, Clarity.PASS) and _CODE.isdisjoint(words_of(value))
    if is_chosen and (is_marked(value) or (is_mixed_case(value) and len(value) <= 24)):
        return True
    if _is_dotted_name(value, r"\.|::|->") or compiled(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+").fullmatch(value):
        return False
    if may_hold_brackets:
        return _is_literal(value, clear)
    if compiled(r"[()\[\]{}]|[!<>]=|==[^=]|[A-Za-z_]<").search(value) and not is_dense(value):
        return False
    if clear is not Clarity.PASSWORD and compiled(r"[a-z]+(?:_[a-z]+)+(?:_?\d{1,2})?").fullmatch(value):
        return False  # `render_pass: shadow_map_2`
    if clear >= Clarity.SECRET and compiled(_BASE32).fullmatch(value):
        return True
    is_name = compiled(r"[A-Za-z_]+").fullmatch(value) is not None and not is_mixed_case(value)
    if is_name and (not value.islower() or "_" in value):
        return False
    return _is_literal(value, clear)


def _is_joined(value: str, clear: Clarity, position: Position) -> bool:
    """Return whether words with marks between them, none of which is one of code, were chosen: `oak.elm-Ash`."""
    if len(value) < 9 or compiled(r"[A-Za-z]{1,20}(?:[-._][A-Za-z]{1,20}){1,8}").fullmatch(value) is None:
        return False
    words = compiled(r"[-._]").split(value)
    if value.isupper() or not _NAMES_ONLY.isdisjoint(words_of(value)) or not _MADE_UP.isdisjoint(words):
        return False
    marks = compiled(r"[-._]").findall(value)
    if clear is Clarity.PASS and (position is not Position.SETTING or "-" not in marks):
        return False
    has_capital = any(word[0].isupper() for word in words[1:])
    if has_capital and (words[0][0].isupper() or "-" not in marks) and position is not Position.ENVIRONMENT:
        return len(words) > 2 and "." not in marks  # `Content-Type`, `Foo.Bar`
    if position is Position.ENVIRONMENT:
        return clear is Clarity.PASSWORD or len(words) > 2
    if position in (Position.INLINE, Position.PROSE, Position.LOOSE):
        return (
            clear is Clarity.PASSWORD
            and "-" in marks
            and (has_capital or (len(words) > 2 and position is Position.INLINE))
        )
    if clear is Clarity.SECRET:
        return len(words) > 2 and len(value) >= 14 and {*marks} == {"-"}
    return "-" in marks or (len(words) > 2 and (position is Position.SETTING or "_" not in marks))


def _is_dotted_name(value: str, separators: str) -> bool:
    """Return whether a value is a dotted name each of whose parts is a name of code, without digits but at its end."""
    return compiled(_DOTTED).fullmatch(value) is not None and all(
        compiled(r"[A-Za-z_]+\d{0,2}").fullmatch(part) or not _CODE.isdisjoint(words_of(part))
        for part in compiled(separators).split(value)
    )


def _is_no_name(value: str) -> bool:
    """Return True for text within a line of code that looks like no name and no expression."""
    if compiled(r"[()\[\]{}]|->|::|==[^=]|[!<>]=").search(value):
        return False
    if compiled(_DOTTED).fullmatch(value):
        return is_generated(value)
    if len(value) < 6 or not has_both(value):
        return len(value) >= 12 and is_mixed_case(value) and _CODE.isdisjoint(words_of(value))
    if is_generated(value):
        return True
    if _is_technical(value) or _is_of_code(value):
        return False
    if compiled(_IDENTIFIER).fullmatch(value):
        n_digits = sum(map(str.isdigit, value))
        is_base32 = len(value) >= 16 and value.isupper()
        is_mixed = len(value) >= 16 and is_mixed_case(value)
        return len(value) >= 8 and (n_digits >= 2 or is_base32 or is_mixed) and "_" not in value
    return len(value) >= 8


def _is_no_word(value: str, *, is_loose: bool) -> bool:
    """Return True for text in a sentence that looks like no word of it."""
    if compiled(r"[\w.-]*[A-Z]{2,}[\w.-]*|[\w-]+").fullmatch(value) is None and not has_both(value):
        return False
    if compiled(_DOTTED).fullmatch(value):
        return is_generated(value)
    if not has_both(value):
        return (len(value) >= 10 and is_mixed_case(value)) or compiled(_BASE32).fullmatch(value) is not None
    if is_generated(value) or (len(value) >= 12 and is_mixed_case(value) and value.isalnum()):
        return True
    if compiled(r"[A-Z_]+\d{0,2}").fullmatch(value):
        return False
    if len(value) < 6 or _is_technical(value) or _is_of_code(value):
        return False
    if "(" in value or compiled(r"[a-z_]+=[\w.]*").fullmatch(value):
        return False
    n_digits = sum(map(str.isdigit, value))
    if not is_loose or (
        len(value) > 6 and compiled(r".*[A-Z!@#$%^&*].*|[a-z]{3,}[-_.][a-z]{3,}[-_.][a-z]{3,}\d+").fullmatch(value)
    ):
        return n_digits >= 2 or len(value) >= 8
    return (
        len(value) >= 8
        and n_digits >= 2
        and compiled(r"[a-z]+(?:[-_][a-z]+)*[-_]\d+|\d+[a-z]{1,3}").fullmatch(value) is None
    )


def _is_of_code(value: str) -> bool:
    """Return whether a value is a date, a version or a path, or holds a word that names of code have."""
    is_form = compiled(_DATE).fullmatch(value) or compiled(_PATH).fullmatch(value)
    return is_form is not None or not _CODE.isdisjoint(words_of(value))


def _is_technical(value: str) -> bool:
    """Return whether a part of a value names an algorithm, a format or a number of something: `sha256`, `page-2`."""
    return any(
        compiled(_TECHNICAL, re.IGNORECASE).fullmatch(piece) for piece in compiled(r"[-_./:\s]+").split(value) if piece
    ) and not is_generated(value)


def words_of(value: str) -> list[str]:
    """Return the words in a value, in lower case: runs of letters, cut where a capital follows a small one."""
    return [word.lower() for word in compiled(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+").findall(value) if len(word) > 2]


def is_filler(token: str) -> bool:
    """Return True for what stands in a manual instead of a token: `ghp_xxxxxxxx…`, `sk-ant-your-key-here-…`."""
    has_filler = "xxxx" in token or "XXXX" in token or "0000000000" in token
    has_filler = has_filler or _says_your(token.lower())
    return has_filler and not _is_varied_beside_run(token)


def _says_your(lower: str) -> bool:
    """Return whether `your` is a word in a value; generated text may have the four letters."""
    return "your" in lower and compiled(_YOUR).search(lower) is not None


def _is_varied_beside_run(value: str) -> bool:
    """Return whether the text beside runs of one character is long, varied, and most of the value."""
    rest = compiled(_RUN).sub("", value)
    return (
        max(_MIN_GENERATED, len(value) / 1.5) <= len(rest) < len(value)
        and (is_generated(rest) or (has_both(rest) and is_mixed_case(rest)))
        and bits_per_char(rest) >= _MIN_BITS_BESIDE_RUN
    )


def is_placeholder(value: str) -> bool:
    """Return whether a value stands for one that is to be put there, or is a word of types, states or examples."""
    lower = value.lower()
    if lower.startswith(("***", "xxxx", "[-", "<", "[redacted", "your", "{{")):
        return lower.startswith("*") or not _is_varied_beside_run(value)
    if len(set(lower)) <= 2 and not lower.isalnum():
        return True
    has_filler = any(word in lower for word in _FILLERS) or _says_your(lower)
    if has_filler and not (is_generated(value) or _is_varied_beside_run(value)):
        return True
    if "<" in value and compiled(r".*<(?:<|[\w\[\] ;.:-]*>|[A-Za-z_ -]*$)").match(value):
        return True
    if len(set(lower)) == 1 or lower.strip("._-:,;!?*'\"") in _PLAIN:
        return True
    if "|" in lower and not _PLAIN.isdisjoint(lower.split("|")):
        return True  # Rules of forms: `required|string|min:8`.
    return compiled(_EXAMPLE).fullmatch(lower) is not None


def is_reference(value: str) -> bool:
    """Return whether a value is no literal: a variable, a template, an address or an already redacted place."""
    if "://" in value or value.startswith(("[redacted", "ENC[", "ENC(")):
        return True
    if value.startswith(("}", ")", "]", "|", ",")):
        return value.startswith("}}") or not is_dense(value)
    if compiled(_VARIABLE).fullmatch(value) is not None:
        return True
    return compiled(_TEMPLATE).search(value) is not None and not (is_dense(value) and len(value) >= 24)


def is_basic(value: str) -> bool:
    """Return whether a value is `user:password` in base64, with or without its padding."""
    try:
        user, colon, password = binascii.a2b_base64(f"{value.rstrip('=')}===").decode("utf-8").partition(":")
    except (binascii.Error, ValueError):
        return False
    return bool(colon and password) and (user + password).isprintable()


def is_decodable(value: str) -> bool:
    """Return whether a value is a password in base64."""
    try:
        return is_secret(binascii.a2b_base64(value).decode("ascii"), Clarity.PASSWORD, Position.SETTING)
    except (binascii.Error, ValueError):
        return False


def is_base64_key(value: str) -> bool:
    """Return True for a generated value of a length that keys have in base64; one may begin with `/`."""
    return (
        len(value) in (40, 44, 88)
        and compiled(r"[A-Za-z0-9+/]+={0,2}").fullmatch(value) is not None
        and is_generated(value)
    )


def is_example_word(password: str) -> bool:
    """Return True for a word of manuals in the place of a password: `user:password@host`."""
    return is_placeholder(password) or (password.isupper() and password.replace("_", "").isalpha())


def has_both(value: str) -> bool:
    """Return whether a value has letters and digits: together they are no word of a sentence."""
    return compiled(r"[A-Za-z]").search(value) is not None and compiled(r"\d").search(value) is not None


def is_mixed_case(value: str) -> bool:
    """Return True for letters that change between small and capital too often for words: `qWzXkLpRtY`.

    False for fewer than eight letters. Other characters only separate letters.
    """
    value = value if value.isascii() else _in_ascii(value)
    n_letters = sum(map(str.isalpha, value))
    in_words = sum(map(len, compiled(r"[A-Z]?[a-z]{2,}").findall(value)))
    has_cases = value.lower() != value != value.upper()
    n_humps = len(compiled(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+").findall(value))
    is_long = n_letters >= 20 and n_letters <= 3.5 * n_humps
    return has_cases and ((n_letters >= 8 and in_words < 0.7 * n_letters) or is_long)


def is_dense(value: str) -> bool:
    """Return True for a long value of all kinds of characters, spaces among them or not, as generators print keys."""
    n_marks = sum(not char.isalnum() and not char.isspace() for char in value)
    return (
        len(value) >= 20
        and n_marks >= len(value) / 12
        and sum(map(str.isdigit, value)) >= 2
        and sum(map(str.isalpha, value)) >= 4
        and bits_per_char(value) >= 3.7
    )


def is_plain_id(value: str) -> bool:
    """Return True for a UUID or a ULID, or for so many hexadecimal digits as the usual digests have."""
    value = compiled(r"^(?:[a-z0-9]{1,12}[-_:.]){1,4}(?=[0-9a-f]{40})").sub("", value)  # `v1-deps-` before a digest.
    return compiled(_PLAIN_ID, re.IGNORECASE).fullmatch(value) is not None


def is_uuid(value: str) -> bool:
    """Return True for a UUID with its dashes."""
    return compiled(_UUID, re.IGNORECASE).fullmatch(value) is not None


def is_generated(value: str) -> bool:
    """Return whether a value can hardly be anything but generated, whatever stands around it.

    At least 16 characters; hexadecimal: 32; else digits in several places and no run of letters as words have it.
    """
    if len(value) < _MIN_GENERATED or is_filler(value) or not has_both(value):
        return False
    if compiled(r"[0-9a-fA-F]+").fullmatch(value):
        return len(value) >= _MIN_HEX and bits_per_char(value) >= _MIN_BITS_PER_CHAR
    if compiled(_RUN).search(value):
        return _is_varied_beside_run(value)
    runs = compiled(r"[a-z]+").findall(value)
    digits = len(compiled(r"\d+").findall(value))
    has_short_runs = len("".join(runs)) <= _MAX_LOWER_RUN * len(runs)
    is_mixed = digits >= 3 and len(value) <= 12 * digits and max(map(len, runs), default=0) <= 8
    return bits_per_char(value) >= 3 and digits >= 2 and (has_short_runs or is_mixed)


def bits_per_char(value: str) -> float:
    """Return the Shannon entropy of the characters of a value, in bits per character."""
    n = len(value)
    return -sum(count / n * math.log2(count / n) for count in Counter(value).values())


# --- Names and values ----------------------------------------------------------------------------------------------


Walks = dict[tuple[str, Clarity], tuple[int, int, list[tuple[int, int]]]]
"""Indentation of a list and clarity → where the items begin and end, and the secrets among them."""


_NO_CODE = r"(?=.*\d)[\w.]{8,}|[^\W\d_]+-[^\W\d_]+"
"""Pattern of a value beside a name in another language, where no code stands."""


class TellingName(Struct):
    """A telling name, and how a value beside it is judged.

    Attributes:
        text: The text in which the name stands.
        walks: The lists of the text that were looked through; many names may stand in one, which is walked once.
        name: The name itself.
        clear: Degree to which the name says that a secret stands beside it.
        start: Offset of its first character.
        end: Offset behind its last character.
        is_foreign: The text has the name in another language; no name of code stands beside it in a sentence.
    """

    text: str
    walks: Walks
    name: str
    clear: Clarity
    start: int
    end: int
    is_foreign: bool = False

    def is_secret(self, value: str, position: Position, *, most: Clarity = Clarity.PASSWORD) -> bool:
        """Return whether a value that stands so beside the name is a secret."""
        if self.is_foreign:
            if value.isalpha() and not is_mixed_case(value) and not _may_be_chosen(value, position):
                return False
            if position in (Position.INLINE, Position.PROSE) and compiled(_NO_CODE).match(value):
                position, value = Position.SETTING, value.replace(".", "-")
        return is_secret(value, min(self.clear, most), position)

    def kept(self, span: tuple[int, int], position: Position) -> list[tuple[int, int]]:
        """Return the span in a list if its text is a secret beside the name, else an empty list."""
        return [span] if self.is_secret(self.text[slice(*span)], position) else []

    def one(self, pattern: str, position: Position) -> list[tuple[int, int]]:
        """Return the span of the value that a pattern finds after the name, in a list; none if it is no secret."""
        match = compiled(pattern).match(self.text, self.end)
        return [] if match is None else self.kept(match.span("value"), position)

    def without_end_marks(self, match: re.Match[str], group: str = "value") -> tuple[int, int]:
        r"""Return the span of a group of a match without what follows a value in a text.

        That is an escaped line end or tab (`\n`) and all after it, then marks that end a sentence, closing brackets,
        backslashes and `**`.
        """
        start, end = match.span(group)
        value = self.text[start:end]
        cut = compiled(r"\\{1,4}[nrt]").search(value)
        value = value if cut is None else value[: cut.start()]
        value = value.rstrip(".,;:?)]}>\\")
        return start, start + len(value.removesuffix("**"))

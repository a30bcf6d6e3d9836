"""Signs of secrets, which all finders look for by plain searches: words that may stand in a text, and names.

A name says, more or less clearly, that a secret stands beside it.

`password`, `clientSecret`, `DB_PASS`, `API key`: the words of a name decide, wherever they stand in it. `token_url` and
`password_hash` hold no secret. Each word of another language than English stands for an English name: `mot de passe`
and `пароль` are judged as `password`. German words that are spelled like English ones stand among the English ones.
"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.base.text import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Secret(Struct, frozen=True):
    """A secret in a text.

    Attributes:
        kind: Name that stands in its place (`github_token`, `private_key`, …).
        start: Offset of its first character.
        end: Offset after its last.
    """

    kind: str
    start: int
    end: int


def lower_case(text: str) -> str:
    """Return the text in lower case with the same offsets; `İ` alone would become two characters."""
    lower = text.lower()
    return lower if len(lower) == len(text) else text.replace("İ", "i").lower()


def with_lines(text: str) -> str:
    """Return the text with escaped line ends and tabs as what they stand for, padded so that offsets stay.

    In JSON, and in JSON within JSON, a file is one line; what belongs to one of its lines is told by its lines.
    """
    for level in (4, 2, 1) if "\\\\" in text else (1,) if "\\" in text else ():
        escape, gap = "\\" * level, " " * level
        text = text.replace(f"{escape}n", f"{gap}\n").replace(f"{escape}t", f"{gap}\t").replace(f"{escape}r", f"{gap} ")
    return text


def unmarked(text: str) -> str:
    """Return the text with spaces for what tools put before its lines, and for colours; offsets stay."""
    if "\x1b" in text:
        text = compiled(_COLOUR).sub(_blank, text)
    if any(sign in text for sign in _SIGNS_BEFORE_LINE) or compiled(_NUMBER_OF_GREP).search(text):
        # A pattern that begins with a line end is tried there alone, one that begins with `^` at every character.
        text = compiled(_BEFORE_LINE).sub(_blank, "\n" + text)[1:]
    return text


def _blank(match: re.Match[str]) -> str:
    return match[0][: match[0].startswith("\n")].ljust(len(match[0]))


_COLOUR = r"\x1b\[[\d;]{0,12}m"
_BEFORE_LINE = (
    r"\n(?:(?:[^\s\n]{1,60}\t[^\t\n]{1,60}\t)?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.,]?\d{0,9}Z "
    r"|[\w-]{0,80}[./][\w./-]{0,160}-\d{1,6}-|[\w.-]{1,40}-\d{1,3} {1,20}\| | {0,6}\d{1,6}→| {1,5}\d{1,6}\t)"
)
"""Pattern of what tools put before a line: job and time in CI, grep's place, a container's name, a number."""
# Most texts have none of these, without which no line begins so: the pattern is tried on every line of the others.
_SIGNS_BEFORE_LINE = ("Z ", "| ", "→", "\t")
_NUMBER_OF_GREP = r"-\d{1,6}-"


def pieces_of(text: str) -> tuple[str, str]:
    """Split a text into its pieces, each once: in a quarter of the text, a word is missed four times faster.

    Returns:
        The pieces that may be a token or hold one; and the letters of all, in lower case, for `possible`.
    """
    pieces = dict.fromkeys(text.encode("utf-8", "replace").translate(_ONLY_PIECES).split())
    long = b" ".join([piece for piece in pieces if len(piece) >= _MIN_TOKEN])
    return long.decode("ascii"), b" ".join(pieces).decode("ascii").lower()


_PIECE_CHARS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.~/+:=%&?-"
_PIECE_RUN = rf"[{re.escape(_PIECE_CHARS.decode())}]+"
_ONLY_PIECES = bytes(code if code in _PIECE_CHARS else ord(" ") for code in range(256))
_MIN_TOKEN = 15


def possible(words: Sequence[str], letters: str) -> list[str]:
    """Return those of some words in lower case that may stand in a text, by its letters; others cannot."""
    return [
        word
        for word, first, others in _runs(tuple(words))
        if first in letters and (not others or all(run in letters for run in others))
    ]


@cache
def _runs(words: tuple[str, ...]) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return for each word its longest run of characters of the kind that pieces have, and its other runs."""
    runs = [sorted(re.findall(_PIECE_RUN, word), key=len, reverse=True) or [""] for word in words]
    return [(word, first, tuple(others)) for word, (first, *others) in zip(words, runs, strict=True)]


class Phrases:
    """Phrases in lower case, found by their words: hundreds that are rare are asked for in one look."""

    def __init__(self, *phrases: str) -> None:
        self._phrases = phrases

    @cached_property
    def _by_word(self) -> dict[bytes, list[tuple[str, tuple[bytes, ...]]]]:
        """The longest word of each phrase → the phrases, with their other words."""
        by_word: dict[bytes, list[tuple[str, tuple[bytes, ...]]]] = {}
        for phrase in dict.fromkeys(self._phrases):
            words = sorted(phrase.encode("ascii").translate(_ONLY_WORDS).split(), key=len, reverse=True)
            first, *others = words or [b""]
            by_word.setdefault(first, []).append((phrase, tuple(others)))
        return by_word

    def standing(self, letters: str) -> list[str]:
        """Return those all of whose words stand in a text as words of their own, by the letters of `pieces_of`."""
        words = _words_of(letters)
        return [
            phrase
            for word in sorted(self._by_word.keys() & words)
            for phrase, others in self._by_word[word]
            if not others or words.issuperset(others)
        ]


@lru_cache(maxsize=1)
def _words_of(letters: str) -> frozenset[bytes]:
    return frozenset((b"", *letters.encode("ascii").translate(_ONLY_WORDS).split()))


_ONLY_WORDS = bytes(code if chr(code).isalnum() and code < 128 else ord(" ") for code in range(256))


def occurrences(text: str, words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield start and end of every place of one of the words; plain searches, far faster than one pattern."""
    for word in words:
        start = text.find(word)
        while start >= 0:
            yield start, start + len(word)
            start = text.find(word, start + len(word))


_SPACED = {
    "password": (
        "mot de passe, mot-de-passe, mot_de_passe, motdepasse, contraseña, contrasena, senha, palavra-passe, parola"
        ", parolă, wachtwoord, lösenord, passord, adgangskode, salasana, hasł, heslo, jelszó, jelszo, şifre, sifre"
        ", mật khẩu, парол, лозинка, κωδικός πρόσβασης, סיסמה, كلمة المرور, كلمة السر"
    ),
    "api_key": (
        "api-schlüssel, api schlüssel, clé api, clé d'api, clave de api, chave de api, ключ api, api-ключ, api ключ"
    ),
    "private_key": "clé secrète, clé privée, секретный ключ, закрытый ключ, приватный ключ",
    "token": "токен",
}
"""English name → words that are judged as it is, of languages with spaces between words; endings are left out."""

_UNSPACED = {
    "password": "密码, 密碼, 口令, パスワード, 暗証番号, 비밀번호, 암호, รหัสผ่าน, पासवर्ड",
    "api_key": "apiキー, api キー, api密钥, api 密钥, api密鑰, api 密鑰, api키, api 키",
    "private_key": "密钥, 密鑰, 私钥, 私鑰, 秘密鍵, 비밀키, 개인키",
    "token": "令牌, トークン, 토큰",
}
"""The same of languages that put no space between words, or none before what a word is in its sentence."""

MESSAGES = frozenset(
    "obligatoire requis requise incorrecte invalide nouveau actuel manquant faible confirmer changer modifier"
    " obligatoria obligatorio requerida requerido incorrecta olvidada nueva confirmar cambiar incorreta esquecida"
    " atual vazia fraca alterar obbligatoria obbligatorio richiesta errata sbagliata dimenticata nuova attuale"
    " vuota debole conferma modifica verplicht vereist onjuist ongeldig vergeten nieuw huidig bevestigen wijzigen"
    " obligatoriskt felaktigt ogiltigt nuvarande forkert ugyldig glemt skift gjeldende bekreft endre pakollinen"
    " vaaditaan virheellinen unohtunut nykyinen vahvista vaihda wymagane wymagany obecne puste potvrdit helytelen"
    " elfelejtett jelenlegi gyenge gerekli zorunlu unuttum mevcut onayla obligatorie".split()
)
"""Words that a form or a message has beside such a name, such as `required` and `wrong`: no value."""


def _by_word(table: dict[str, str]) -> dict[str, str]:
    return {word: name for name, words in table.items() for word in words.split(", ")}


_NAME_OF_SPACED = _by_word(_SPACED)
_NAME_OF_UNSPACED = _by_word(_UNSPACED)
FOREIGN_WORDS = frozenset((*_NAME_OF_SPACED, *_NAME_OF_UNSPACED))
ASCII_WORDS = tuple(word for word in _NAME_OF_SPACED if word.isascii())

_FOREIGN_SIGNS = "：＝（）。，、；！？「」『』«»│┃║\u00a0\u202f\u3000"
_SIGNS = dict(zip(_FOREIGN_SIGNS, ':=()      """"""|||   ', strict=True))
"""Signs and quotes of other scripts → those of ASCII; a space for other spaces and what ends part of a sentence."""
_ANY_UNSPACED = "|".join(_NAME_OF_UNSPACED)
_IS = rf"(?i:({_ANY_UNSPACED}))(?:是|为|為|は|が|는|은|가|이)(?P<sign>[^\S\n]{{0,3}}[:=])?"
"""Pattern of such a word with the syllable that says `is`, and a sign behind it."""
_LETTERS = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_AFTER_VALUE = rf"(?<=[A-Za-z0-9!@#$%^&*])(?!キー|키|{_ANY_UNSPACED})[{_LETTERS}]"
_REST_OF_NAME = r"(?P<ending>[^\W\d_]{0,2})(?![^\W\d_])[\w-]*"
"""Pattern of what a name has behind its word: an ending, as in `паролем` and `lösenordet`, then parts as `_2`."""


def _beyond_ascii(text: str) -> frozenset[str]:
    """Return the characters of a text that are not ASCII: most texts lack those of the words to look for."""
    return frozenset(text.encode("utf-8", "surrogatepass").translate(None, _ASCII).decode("utf-8", "surrogatepass"))


_ASCII = bytes(range(128))
_LETTERS_OF_UNSPACED = _beyond_ascii("".join(_NAME_OF_UNSPACED))
_OTHER_WORDS = {word: letters for word in (*_NAME_OF_SPACED, *_NAME_OF_UNSPACED) if (letters := _beyond_ascii(word))}


def with_ascii_signs(text: str) -> str:
    """Return a text with the signs of other scripts as ASCII has them; every offset stays.

    Where a script has no spaces, the syllable `is` behind a telling word becomes a colon, and a space ends a value that
    a letter of the script follows.
    """
    if text.isascii():
        return text
    letters = _beyond_ascii(text)
    for sign in letters.intersection(_SIGNS):
        text = text.replace(sign, _SIGNS[sign])
    lower = "" if letters.isdisjoint(_LETTERS_OF_UNSPACED) else text.lower()
    if not any(word in lower for word in _NAME_OF_UNSPACED):
        return text

    def with_colon(match: re.Match[str]) -> str:
        return f"{match[1]} {match['sign']}" if match["sign"] else f"{match[1]}:"

    return compiled(_AFTER_VALUE).sub(" ", compiled(_IS).sub(with_colon, text))


def foreign_name(text: str, word: str, start: int, begin: int) -> tuple[str, int]:
    """Return the English name for a name in another language, and the offset where that ends.

    The name is empty where the telling word is part of another word.

    Args:
        text: The text.
        word: The telling word, of `FOREIGN_WORDS`.
        start: Offset where it begins.
        begin: Offset where the name around it begins: `DB_` stays before it.
    """
    end = start + len(word)
    if word in _NAME_OF_UNSPACED:
        return _NAME_OF_UNSPACED[word], end
    rest = compiled(_REST_OF_NAME).match(text, end)
    before, first = text[start - 1 : start], text[start]
    is_part = before.isalpha() and not (before.islower() and first.isupper())
    if is_part or rest is None:
        return "", end
    name = _NAME_OF_SPACED[word]
    if text[start:end].isupper():
        name = name.upper()
    return text[begin:start] + name + text[rest.end("ending") : rest.end()], rest.end()


# --- English names -------------------------------------------------------------------------------------------------


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
        letters: The letters of the text's pieces, see `pieces_of`.
    """
    foreign = possible(ASCII_WORDS, letters)
    if not lower.isascii():
        there = _beyond_ascii(lower)
        foreign += [word for word, others in _OTHER_WORDS.items() if others <= there and word in lower]
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

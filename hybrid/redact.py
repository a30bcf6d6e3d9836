"""Finds secrets in text and replaces them; the last step before anything is stored or shown.

It knows well-known forms of tokens and literal values assigned to telling names. It is no scanner: what has no form
and no name passes. Placeholders, references to variables, commit ids, UUIDs and digests stay. Linear in the length.
"""

from __future__ import annotations

import binascii
import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

REDACT_VERSION = "2"
"""Of the rules; an index made by others is made again, so that no secret lives on in it."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret in a text.

    Attributes:
        kind: Name that stands in its place (`github_token`, `private_key`, …).
        start: Offset of its first character.
        end: Offset after its last.
    """

    kind: str
    start: int
    end: int


def redact(text: str) -> str:
    """Text with every secret replaced by `[redacted:kind]`; the same object when there is none."""
    secrets = find_secrets(text)
    if not secrets:
        return text
    parts: list[str] = []
    end = 0
    for secret in secrets:
        parts += [text[end : secret.start], f"[redacted:{secret.kind}]"]
        end = secret.end
    return "".join([*parts, text[end:]])


def mask(text: str) -> str:
    """A whole document with its secrets replaced and its lines kept; the same object when there is none.

    A secret of several lines becomes `[redacted:kind]` on its first line and `[redacted]` on each further one.
    """
    secrets = find_secrets(text)
    return _masked(text, secrets) if secrets else text


def masker(text: str) -> Callable[[str], str]:
    """What takes the secrets out of the names, signatures and headings of a document.

    Besides what `redact` finds in such a part itself, long pieces of the document's secrets go: a signature may be
    cut within a token, and a line in the middle of a key may be taken for a name.
    """
    secrets = find_secrets(text)
    pieces = "\n".join(piece for secret in secrets for piece in text[secret.start : secret.end].split())

    def without_secrets(part: str) -> str:
        if len(part) < _MIN_PART:
            return part
        part = redact(part)
        if not pieces:
            return part
        return _pattern(_PIECE).sub(lambda match: "[redacted]" if match.group() in pieces else match.group(), part)

    return without_secrets


def part_masker(parts: Iterable[str]) -> Callable[[str], str] | None:
    """As `masker` for a document that holds no secret: what its names and signatures may make one of themselves.

    Args:
        parts: All that will be asked for.

    Returns:
        None when there is nothing to hide in any of them, which is found out at the cost of one look.
    """
    # Tokens never cross a line, so what none of the lines holds together, no part holds alone.
    together = "\n".join(parts)
    has_token = any(True for _ in _tokens(together))
    if not has_token and not _may_hold_value(together):
        return None

    def without_secrets(part: str) -> str:
        if len(part) < _MIN_PART or not (has_token or _may_hold_value(part)):
            return part
        return redact(part)

    return without_secrets


def _may_hold_value(text: str) -> bool:
    """False only when neither the text nor a line of it holds a secret besides tokens with a form of their own."""
    lower = text.lower()
    if len(lower) != len(text) or "PRIVATE KEY" in text or "://" in text:
        return True
    return any(name in lower for name in _HEADER_NAMES) or any(True for _ in _telling_places(lower))


_MIN_PART = 12
"""Characters that a name or a signature must have to hold a secret, or so much of one that it matters."""
_PIECE = rf"[^\s\"'`\\()\[\]{{}}<>,;:]{{{_MIN_PART},}}"


def _masked(text: str, secrets: list[Secret]) -> str:
    parts: list[str] = []
    end = 0
    for secret in secrets:
        further = text[secret.start : secret.end].split("\n")[1:]
        parts += [text[end : secret.start], f"[redacted:{secret.kind}]", *map(_masked_line, further)]
        end = secret.end
    return "".join([*parts, text[end:]])


def _masked_line(line: str) -> str:
    """A further line of a secret, with the line break before it; indentation and blank lines stay."""
    return "\n" + (line[: len(line) - len(line.lstrip())] + "[redacted]" if line.strip() else line)


def find_secrets(text: str) -> list[Secret]:
    """The secrets of a text in order; of two that overlap the one that begins first, then the longer."""
    found = sorted(_all_secrets(text), key=lambda secret: (secret.start, -secret.end, secret.kind))
    kept: list[Secret] = []
    for secret in found:
        if not kept or secret.start >= kept[-1].end:
            kept.append(secret)
    return kept


# --- tokens with a form of their own -----------------------------------------------------------------------

_TOKENS: tuple[tuple[str, str, str], ...] = (
    # kind, literals of which one must occur for the pattern to be worth running, pattern of the whole token
    ("aws_key", "AKIA ASIA ABIA ACCA", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}"),
    ("github_token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{36,255}"),
    ("github_token", "github_pat_", r"github_pat_[A-Za-z0-9_]{22,255}"),
    (
        "gitlab_token",
        "glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- glsoat- gloas-",
        r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|soat|oas)-[A-Za-z0-9_.-]{20,255}",
    ),
    ("slack_token", "xox", r"xox[abeoprs]-[A-Za-z0-9-]{10,255}"),
    ("slack_token", "xapp-", r"xapp-\d-[A-Za-z0-9-]{10,255}"),
    ("slack_webhook", "hooks.slack.com", r"hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_-]{20,255}"),
    ("discord_webhook", "/api/webhooks/", r"discord(?:app)?\.com/api/webhooks/\d+/[A-Za-z0-9_-]{40,255}"),
    ("stripe_key", "k_live_ k_test_", r"[rs]k_(?:live|test)_[A-Za-z0-9]{16,255}"),
    ("stripe_key", "whsec_", r"whsec_[A-Za-z0-9+/=]{24,255}"),
    ("anthropic_key", "sk-ant-", r"sk-ant-[A-Za-z0-9_-]{20,255}"),
    ("openrouter_key", "sk-or-", r"sk-or-v1-[0-9a-f]{40,128}"),
    ("openai_key", "sk-", r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,255}"),
    ("openai_key", "sk-", r"sk-[A-Za-z0-9]{20,255}"),
    ("google_key", "AIza", r"AIza[A-Za-z0-9_-]{35}"),
    ("google_token", "ya29.", r"ya29\.[A-Za-z0-9_-]{20,2048}"),
    ("google_secret", "GOCSPX-", r"GOCSPX-[A-Za-z0-9_-]{24,64}"),
    ("npm_token", "npm_", r"npm_[A-Za-z0-9]{36}"),
    ("pypi_token", "pypi-", r"pypi-[A-Za-z0-9_-]{50,1000}"),
    ("huggingface_token", "hf_", r"(?:api_org|hf)_[A-Za-z0-9]{30,64}"),
    ("twilio_key", "SK", r"SK[0-9a-f]{32}"),
    ("sendgrid_key", "SG.", r"SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,128}"),
    ("mailgun_key", "key-", r"key-[0-9a-f]{32}"),
    ("shopify_token", "shp", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    ("digitalocean_token", "_v1_", r"do[opr]_v1_[0-9a-f]{64}"),
    ("databricks_token", "dapi", r"dapi[0-9a-f]{32}(?:-\d)?"),
    ("vault_token", "hvb. hvs.", r"hv[bs]\.[A-Za-z0-9_-]{24,255}"),
    ("telegram_token", ":AA", r"\d{8,10}:AA[A-Za-z0-9_-]{32,34}"),
    ("docker_token", "dckr_pat_", r"dckr_pat_[A-Za-z0-9_-]{20,64}"),
    ("groq_key", "gsk_", r"gsk_[A-Za-z0-9]{40,64}"),
    ("xai_key", "xai-", r"xai-[A-Za-z0-9]{40,128}"),
    ("replicate_token", "r8_", r"r8_[A-Za-z0-9]{37,40}"),
    ("linear_key", "lin_api_", r"lin_api_[A-Za-z0-9]{32,64}"),
    ("notion_token", "ntn_", r"ntn_[A-Za-z0-9]{40,64}"),
    ("atlassian_token", "ATATT3", r"ATATT3[A-Za-z0-9_=-]{40,400}"),
    ("age_key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    ("azure_key", "AccountKey=", r"(?<=AccountKey=)[A-Za-z0-9+/]{60,90}={0,2}"),
    ("jwt", "eyJ", r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
)

_FORMS = tuple((kind, tuple(literals.split()), pattern) for kind, literals, pattern in _TOKENS)

_ANY_LITERAL = "|".join(re.escape(word) for word in sorted({word for _, words, _ in _FORMS for word in words}))
_LONG_TEXT = 20_000
"""Characters from which on one pass for all literals pays for its pattern, which takes milliseconds to compile."""

# A token stands alone: neither inside a longer word nor, for the quadratic case, restarted inside a failed run.
_NOT_INSIDE = r"(?<![A-Za-z0-9_-])"
_NOT_BEFORE = r"(?![A-Za-z0-9_])"


@cache
def _pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Compiled when first needed: most texts need none, and compiling all takes longer than a prompt may."""
    return re.compile(pattern, flags)


def _all_secrets(text: str) -> Iterator[Secret]:
    lower = _lower(text)
    yield from _private_keys(text)
    yield from _tokens(text)
    if "://" in text:
        yield from _url_passwords(text)
    yield from _header_values(text, lower)
    yield from _assigned_values(text, lower)


def _lower(text: str) -> str:
    """Text in lower case with the same offsets; `İ` alone would become two characters."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(c.lower() if c.isascii() else c for c in text)


def _occurrences(text: str, words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Start and end of every place where one of the words stands; plain searches, far faster than one pattern."""
    for word in words:
        start = text.find(word)
        while start >= 0:
            yield start, start + len(word)
            start = text.find(word, start + len(word))


def _tokens(text: str) -> Iterator[Secret]:
    if len(text) > _LONG_TEXT and not _pattern(_ANY_LITERAL).search(text):
        return
    for kind, words, pattern in _FORMS:
        present = [word for word in words if word in text]
        for match in _matches(text, present, pattern) if present else ():
            if not _is_filler(match.group()):
                yield Secret(kind, match.start(), match.end())


def _matches(text: str, words: list[str], pattern: str) -> Iterator[re.Match[str]]:
    """Where a token may stand; a pattern that begins with its literal is tried there only, others run over the text."""
    inside = "" if pattern.startswith("(?<=") else _NOT_INSIDE
    compiled = _pattern(f"{inside}(?:{pattern}){_NOT_BEFORE}")
    if not pattern.startswith(words[0]):
        yield from compiled.finditer(text)
        return
    for start, _ in _occurrences(text, words):
        match = compiled.match(text, start)
        if match is not None:
            yield match


def _is_filler(token: str) -> bool:
    """True for what stands in a manual instead of a token: `ghp_xxxxxxxx…`, `sk-ant-your-key-here-…`."""
    lower = token.lower()
    return "xxxx" in lower or "your" in lower or "0000000000" in lower


# --- private keys ------------------------------------------------------------------------------------------

_KEY_BEGIN = r"-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----"
_KEY_END = r"-----END (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----"
_KEY_BODY = r"[A-Za-z0-9+/]{24}"
_KEY_LINES_AFTER = r"(?:[\s\"'\\,+]|\\n|[A-Za-z0-9+/=]{16,}|[A-Z][A-Za-z-]{2,20}: [^\n]{0,120}\n)*"
_KEY_LINE = r"[^\S\n]*[\"']?[A-Za-z0-9+/=]{16,100}(?:\\n)?[\"']?[^\S\n]*"
_MAX_KEY_LINES = 200
_KEY_RUN = r"[A-Za-z0-9+/=]{16,}"
_MIN_KEY_SHARE = 0.6
"""Of what stands between two marks must be base64; code that only names both marks has far less."""


def _private_keys(text: str) -> Iterator[Secret]:
    """Whole blocks, and the part of a block that a chunk border left: without an end, or without a beginning."""
    if "PRIVATE KEY" not in text:
        return
    begins = list(_pattern(_KEY_BEGIN).finditer(text))
    begun: set[int] = set()
    for number, begin in enumerate(begins):
        border = begins[number + 1].start() if number + 1 < len(begins) else len(text)
        end = _pattern(_KEY_END).search(text, begin.end(), border)
        if end is None or not _is_key_body(text[begin.end() : end.start()]):
            end = _pattern(_KEY_LINES_AFTER).match(text, begin.end(), border)
        if end is not None:
            begun.add(end.end())
        if end is not None and _pattern(_KEY_BODY).search(text, begin.end(), end.end()):
            yield Secret("private_key", begin.start(), end.end())
    for end in _pattern(_KEY_END).finditer(text):
        start = _start_of_key_lines(text, end.start())
        if end.end() not in begun and _pattern(_KEY_BODY).search(text, start, end.start()):
            yield Secret("private_key", start, end.end())


def _is_key_body(body: str) -> bool:
    """True when most of what stands between the marks of a key is base64, whatever quotes or marks its lines."""
    size = sum(map(len, body.split()))
    return sum(map(len, _pattern(_KEY_RUN).findall(body))) >= _MIN_KEY_SHARE * size


def _start_of_key_lines(text: str, end: int) -> int:
    """Where the lines of base64 begin that stand right before an offset."""
    start = text.rfind("\n", 0, end) + 1
    for _ in range(_MAX_KEY_LINES):
        previous = text.rfind("\n", 0, max(0, start - 1)) + 1
        if previous == start or not _pattern(_KEY_LINE).fullmatch(text, previous, start - 1):
            break
        start = previous
    return start


# --- passwords in addresses, headers -----------------------------------------------------------------------

_URL_PASSWORD = r"(?<=://)[^\s:/@?#\"'`<>]{0,128}:([^\s/@\"'`<>]{1,256})@(?=[\w.\[$-])"
_HEADER_NAMES = ("authorization", "api-key", "auth-token", "private-token")
_HEADER_REST = (
    r"[\"']?\s{0,3}[:=,]\s{0,3}[\"'`]?(?:(bearer|basic|token|digest|apikey|bot)\s{1,3})?([A-Za-z0-9._~+/=:-]{12,4096})"
)


def _url_passwords(text: str) -> Iterator[Secret]:
    for match in _pattern(_URL_PASSWORD).finditer(text):
        password = match.group(1)
        # In an address a password is a password: only one that is a single word of examples stays.
        if not (_is_reference(password) or _is_example_word(password)):
            yield Secret("url_password", match.start(1), match.end(1))


def _header_values(text: str, lower: str) -> Iterator[Secret]:
    for _, end in _occurrences(lower, _HEADER_NAMES):
        match = _pattern(_HEADER_REST, re.IGNORECASE).match(text, end)
        if match is None or _is_reference(match.group(2)):
            continue
        if _looks_random(match.group(2)) or ((match.group(1) or "").lower() == "basic" and _is_basic(match.group(2))):
            yield Secret("authorization", match.start(2), match.end(2))


def _is_basic(value: str) -> bool:
    """True when a value is `user:password` in base64."""
    try:
        return b":" in binascii.a2b_base64(value.encode("ascii"))
    except binascii.Error:
        return False


# --- values assigned to telling names ----------------------------------------------------------------------

_TELLING = ("password", "passwd", "passphrase", "passcode", "pwd", "secret", "token", "credential", "key")
_TELLING_KEYS = ("api", "access", "account", "auth", "signing", "encryption", "private", "secret")
# The tail of the name is bounded and judged by `_NAMES_NO_SECRET`: `token_url` and `password_hash` hold no secret.
_NAME_TAIL = r"([\w-]{0,40})"
_QUOTED_REST = (
    rf"{_NAME_TAIL}[\"']?\]?(?::[^\S\n]?[\w.\[\]| ]{{1,40}}?)?[^\S\n]{{0,8}}(?::=|=>|[!=]==?|[:=,])[^\S\n]{{0,8}}"
    r"[bru]?(\"\"\"|[\"'`])(?P<value>[^\s\"'`]{6,512})\2"
)
_BARE_REST = rf"{_NAME_TAIL}[^\S\n]{{0,3}}[:=][^\S\n]{{0,3}}(?P<value>[^\s\"'`;,(){{}}\[\]<>]{{8,512}})[^\S\n]*(?:\n|$)"
_PROSE_REST = (
    r"[^\S\n]{1,3}(?:is|was|ist|est|es)[^\S\n]{1,3}[\"'`]?(?P<value>[^\s\"'`,;()]{6,64}?)[\"'`]?[.,;!)]?(?=\s|$)"
)
_BARE_BEGIN = r"\n[^\S\n]{0,60}(?:export |set |- )?[\w.-]{0,60}$"
_NAMES_NO_SECRET = (
    r"(?:hash(?:ed)?|digest|sha\d*|md5|checksum|salt|sum|id|ids|name|names|url|uri|endpoint|path|file|filename|dir|type"
    r"|types|kind|field|header|param|length|size|len|count|limit|max|min|expir\w*|expiry|ttl|lifetime|label|title|text"
    r"|prefix|suffix|template|startswith|endswith|contains|placeholder|regex|pattern|format|policy|manager|provider|help|hint|message|error|class|factory"
    r"|scope|scopes|algorithm|alg|version|env|var|ref|selector|input|description|s)$"
)


def _assigned_values(text: str, lower: str) -> Iterator[Secret]:
    for start, end in _telling_places(lower):
        prose = _pattern(_PROSE_REST).match(text, end)
        if prose is not None and _is_said_password(text[start:end], prose["value"]):
            yield Secret("secret", prose.start("value"), prose.end("value"))
            continue
        match = _pattern(_QUOTED_REST).match(text, end)
        if match is None:
            match = _pattern(_BARE_REST).match(text, end)
            if match is None or _is_code_name(match["value"]) or not _begins_line(text, start):
                continue
        is_setting = _is_environment_setting(text, start, end, match)
        # `("password", "new-password")` lists two names; only what is assigned counts as typed by a person.
        is_pair = "," in text[match.end(1) : match.start("value")]
        if _holds_secret(text[start : match.end(1)], match["value"], is_setting=is_setting, is_pair=is_pair):
            yield Secret("secret", match.start("value"), match.end("value"))


def _telling_places(lower: str) -> Iterator[tuple[int, int]]:
    """Where a word stands that a secret may be assigned to; `key` alone is none, `api_key` is."""
    for start, end in _occurrences(lower, _TELLING):
        if lower[start:end] != "key" or lower[max(0, start - 12) : start].rstrip("_-").endswith(_TELLING_KEYS):
            yield start, end


def _begins_line(text: str, start: int) -> bool:
    """True when only a prefix of the name (and `export`, a list dash) stands before it on its line."""
    before = text[max(0, start - 130) : start]
    return _pattern(_BARE_BEGIN).search(before if start > 130 else "\n" + before) is not None


def _is_environment_setting(text: str, start: int, end: int, match: re.Match[str]) -> bool:
    """True for `SERVICE_TOKEN=value` as settings files and shells have it: upper case, no space, nothing quoted."""
    before = text[max(0, start - 60) : start].rpartition("\n")[2]
    name = before.rpartition(" ")[2] + text[start:end] + match[1]
    return name.isupper() and text[match.start("value") - 1] == "="


def _holds_secret(name: str, value: str, *, is_setting: bool = False, is_pair: bool = False) -> bool:
    parts = re.split(r"[_.-]|(?<=[a-z])(?=[A-Z])", name)
    if len(parts) > 1 and _pattern(_NAMES_NO_SECRET, re.IGNORECASE).match(parts[-1]):
        return False
    if is_setting and _pattern(_LETTERS_AND_DIGITS).fullmatch(value) and not _is_filler(value):
        return True
    if _is_reference(value):
        return False
    if not is_pair and _pattern(_NAMES_PASSWORD, re.IGNORECASE).search(name) and _is_typed(value):
        return True
    return len(value) >= 8 and (_is_mixed(value) or _looks_random(_without_dummies(value)))


_NAMES_PASSWORD = r"passw(?:or)?d|passphrase|passcode|pwd"


def _is_typed(value: str) -> bool:
    """True for what a person may have chosen as a password: no example, and no plain name of letters and dots.

    Under such a name it is safer to hide a word too many than to show a weak password.
    """
    rest = _without_dummies(value)
    return len(rest) >= 4 and re.fullmatch(r"[A-Za-z_.:]*|.*/.*", value) is None and not _is_filler(value)


def _is_said_password(word: str, value: str) -> bool:
    """True for `my password is Winter24`: after such a word, letters and digits together are no word of a sentence."""
    is_password = _pattern(_NAMES_PASSWORD, re.IGNORECASE).search(word) is not None
    has_both = re.search(r"[A-Za-z]", value) is not None and re.search(r"\d", value) is not None
    return is_password and has_both and not _is_reference(value) and _is_typed(value)


def _is_reference(value: str) -> bool:
    """True for a variable, a template, a call, an address or an already redacted place instead of a literal."""
    if value.startswith(("$", "%", "<", "{", "*", "@", "#", "/", "./", "../", "~", "[", "(", "&", "!", "...", "http")):
        return True
    return any(mark in value for mark in ("${", "{{", "$(", "%(", "%s", "://", "(", "[", "]", "<", "…", "\\"))


_DUMMIES = (
    r"(?:change[-_]?me|placeholder|redacted|undefined|password|passwd|example|replace|default|invalid|sample|secret"
    r"|hunter2|dummy|token|admin|fixme|value|valid|wrong|right|hello|world|login|client|access|refresh|bearer|basic"
    r"|test(?:ing|ed)?|user|mock|fake|demo|todo|none|null|true|false|your|here|pass|pwd|key|foo|bar|baz|qux|api|abc(?:def)?"
    r"|xyz|x{3,}|\.{3,}|\*{3,}|0?123(?:4(?:5(?:6(?:7(?:89?0?)?)?)?)?)?)"
)
_LETTERS_AND_DIGITS = r"(?=.*[A-Za-z])(?=.*\d)[A-Za-z0-9_.+=~-]{12,512}"
_LONG_ENOUGH = r"(?=.*[A-Za-z])(?=.*\d)[A-Za-z0-9]{16,}"


def _without_dummies(value: str) -> str:
    """What remains of a value when the words are taken out that examples and tests are made of.

    One long run of letters and digits is left as it is: words turn up in it by chance.
    """
    if _pattern(_LONG_ENOUGH).fullmatch(value) and not _is_filler(value):
        return value
    return _pattern(_DUMMIES, re.IGNORECASE).sub("", value)


def _is_example_word(password: str) -> bool:
    return _pattern(_DUMMIES + r"[\d!]{0,3}", re.IGNORECASE).fullmatch(password) is not None or _is_filler(password)


def _is_code_name(value: str) -> bool:
    """True for names that an unquoted right side usually is: `settings.token2`, `SecretStr`, `base64Key`."""
    return re.fullmatch(r"[A-Za-z_][a-z_]*(?:[A-Z0-9.][a-z_]+)*\d{0,3}", value) is not None


_PLAIN_ID = r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{128}"
_MIN_BITS_PER_CHAR = 2.8


def _is_mixed(value: str) -> bool:
    """True for a password as rules demand it: lower and upper case, a digit and a special character."""
    return len(value) >= 8 and all(re.search(part, value) for part in ("[a-z]", "[A-Z]", r"\d", r"[!@#$%^&*?+=~]"))


def _looks_random(value: str) -> bool:
    """True when a value reads like generated.

    That is: at least eight characters, digits among letters, little repetition, no plain words and numbers joined by
    punctuation. UUIDs and digests of 40, 64 or 128 hex digits are not taken for secrets.
    """
    if len(value) < 8 or _pattern(_PLAIN_ID, re.IGNORECASE).fullmatch(value):
        return False
    letters, digits = re.search(r"[A-Za-z]", value), re.search(r"\d", value)
    if not (letters and digits):
        return False
    pieces = re.split(r"[-_./:\s]+", value)
    if all(re.fullmatch(r"[A-Za-z]*|\d*|v\d+|[A-Z]?[a-z]+\d{1,2}", piece) for piece in pieces):
        return False
    return _bits_per_char(value) >= _MIN_BITS_PER_CHAR


def _bits_per_char(value: str) -> float:
    """Shannon entropy of the characters of a value, in bits per character."""
    n = len(value)
    return -sum(count / n * math.log2(count / n) for count in Counter(value).values())

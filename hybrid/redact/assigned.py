"""Finds literal values that are assigned to telling names: in code, settings, JSON, command lines, logs and prose."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hybrid.redact.patterns import Secret, compiled, occurrences
from hybrid.redact.values import (
    has_both,
    is_base64_key,
    is_code_name,
    is_filler,
    is_generated,
    is_mixed,
    is_plain_id,
    is_reference,
    is_typed,
    is_uuid,
    looks_random,
    without_dummies,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

_TELLING = ("password", "passwd", "passphrase", "passcode", "pwd", "_pass", "secret", "token", "credential", "key")
_TELLING_KEYS = (
    *("api", "access", "account", "auth", "signing", "encryption", "private", "secret", "app", "master", "client"),
    *("storage", "service", "shared", "license", "admin", "deploy", "webhook", "session"),
)
_NAMES_PASSWORD = r"passw(?:or)?d|passphrase|passcode|pwd|_pass\b"
_NAMES_KEY = (
    r"(?:api|app|access|account|secret|signing|encryption|private|master|shared)[_-]?key|secret|passw(?:or)?d|pwd"
)
# The tail of the name is bounded and judged by `_NAMES_NO_SECRET`: `token_url` and `password_hash` hold no secret.
_NAME_TAIL = r"(?P<tail>[\w-]{0,40})"
_NAMES_NO_SECRET = (
    r"(?:hash(?:ed)?|digest|sha\d*|md5|checksum|salt|sum|id|ids|name|names|url|uri|endpoint|path|file|filename|dir|type"
    r"|types|kind|field|header|param|length|size|len|count|limit|max|min|expir\w*|expiry|ttl|lifetime|label|title|text"
    r"|prefix|suffix|template|startswith|endswith|contains|placeholder|regex|pattern|format|policy|manager|provider|help"
    r"|hint|message|error|class|factory|scope|scopes|algorithm|alg|version|env|var|ref|selector|input|description|s)$"
)

_QUOTE = r"\\{0,4}[\"'`]"
_SPACES = r"[^\S\n]{0,8}"
_LITERAL = r"(?P<value>[^\s\"'`\\]{6,512})"
# A value in JSON may be written with a backslash before its quotes, once or several times over.
_QUOTED_REST = (
    rf"{_NAME_TAIL}(?:{_QUOTE})?\]?(?::[^\S\n]?[\w.&\[\]| ]{{1,40}}?)?"
    rf"(?:{_SPACES}(?:(?:(?::|=|=>|[!=]==?|[:,])(?<!,)|:=|(?P<pair>,)){_SPACES})|\s--body[ =])"
    rf"[bru]?(?P<quote>\\{{0,4}}(?:\"\"\"|[\"'`])){_LITERAL}(?P=quote)"
)
_LINE_END = r"(?=[^\S\n]*(?:\n|$|\\{1,4}[nr]|\\{0,4}[\"'`]))"
_BARE_REST = rf"{_NAME_TAIL}[^\S\n]{{0,3}}:?[:=][^\S\n]{{0,3}}(?P<value>[^\s\"'`;,(){{}}\[\]<>\\]{{8,512}}){_LINE_END}"
_PROSE_REST = (
    r"[^\S\n]{1,3}(?:is|was|ist|est|es)[^\S\n]{1,3}[\"'`]?(?P<value>[^\s\"'`,;()\\]{6,64}?)[\"'`]?[.,;!)]?(?=\s|$|\\)"
)
_SETTING_REST = r"(?P<tail>[A-Z0-9_]{0,40})=(?P<value>[^\s\"'`;,&|<>(){}\[\]\\]{8,512})"
_INNER_REST = rf"{_NAME_TAIL}=(?P<value>[^\s\"'`;,&<>(){{}}\[\]\\]{{8,512}})(?=[\s\"'`;&\\]|$)"
_XML_REST = rf"{_NAME_TAIL}>(?P<value>[^\s<>\"'&]{{6,512}})</"
_OPTION_REST = rf"(?P<tail>[a-z-]{{0,30}})(?:=|[^\S\n]{{1,3}})(?:{_QUOTE})?(?P<value>[^\s\"'`;|<>()\\]{{6,512}})"
_PAIR_REST = (
    rf"{_NAME_TAIL}(?:{_QUOTE})?,?(?:[\s+→]|\\{{1,4}}[nrt]|\d{{1,6}}[→\t]|[\w./-]{{1,80}}:\d{{1,6}}:){{1,40}}"
    rf"(?:{_QUOTE})?[vV]alue(?:{_QUOTE})?\s?[:=]\s?(?:{_QUOTE})?(?P<value>[^\s\"'`,<>{{}}\\]{{8,512}})"
)
# Where a line may begin: at its start or the text's, in JSON after an escaped line end or a quote; then what tools put
# before a line: where it was found, its number, the sign of a diff.
_LINE_BEGIN = (
    r"(?:\n|\\{1,4}[nr]|[\"'`])(?:[\w./-]{1,100}[:-]\d{1,6}[:-])?(?:[^\S\n]{0,20}\d{1,6}(?:→|\\u2192|\t|\\{1,4}t|[:|]))?"
    r"[+>-]?(?:[^\S\n]|\\{1,4}t){0,60}(?:export |set |setx |ENV |ARG |- |\$env:|#[^\S\n])?[\w.-]{0,60}$"
)
_MAX_LINE_BEFORE = 240
_MAX_NAME = 60
_LETTERS_AND_DIGITS = r"(?=.*[A-Za-z])(?=.*\d)[A-Za-z0-9_.+=~-]{12,512}"


def assigned_values(text: str, lower: str) -> Iterator[Secret]:
    """Values that read like secrets beside a name that says so; the name stays."""
    for start, end in telling_places(lower):
        found = _value_at(text, start, end)
        if found is not None:
            yield Secret("secret", found.start("value"), found.end("value"))


def telling_places(lower: str) -> Iterator[tuple[int, int]]:
    """Where a word stands that a secret may be assigned to; `key` alone is none, `api_key` is."""
    for start, end in occurrences(lower, _TELLING):
        word = lower[start:end]
        if word == "_pass" and lower[end : end + 1].isalnum():
            continue
        if (
            word != "key"
            or lower[max(0, start - 12) : start].rstrip("_-").endswith(_TELLING_KEYS)
            or _is_env_key(lower, start, end)
        ):
            yield start, end


def _is_env_key(lower: str, start: int, end: int) -> bool:
    """`MAPS_KEY=`: such a setting is looked at, and needs a value that is generated."""
    return lower[start - 1 : start] == "_" and lower[end : end + 1] in ("=", '"', "'", " ", ":", "<")


def _value_at(text: str, start: int, end: int) -> re.Match[str] | None:
    """The value assigned at a telling word, when it is a secret."""
    prose = compiled(_PROSE_REST).match(text, end)
    if prose is not None and _is_said_password(text[start:end], prose["value"]):
        return prose
    match = compiled(_QUOTED_REST).match(text, end)
    if match is not None:
        # `("password", "new-password")` lists two names; only what is assigned counts as typed by a person.
        name = _name(text, start, match.end("tail"))
        return match if _holds_secret(name, match["value"], is_pair=match["pair"] is not None) else None
    return _bare_value(text, start, end)


def _bare_value(text: str, start: int, end: int) -> re.Match[str] | None:
    """A value without quotes: then what stands around it has to say that it is one, as code has names there."""
    match = compiled(_BARE_REST).match(text, end)
    is_word = match is not None and any(map(str.isalpha, match["value"])) and not is_code_name(match["value"])
    if match is not None and is_word and _begins_line(text, start):
        is_setting = _is_setting(text, start, match)
        if _holds_secret(_name(text, start, match.end("tail")), match["value"], is_setting=is_setting):
            return match
    name_start = _name_start(text, start)
    before = text[max(0, name_start - 3) : name_start]
    match = compiled(_SETTING_REST).match(text, end)
    if match is not None and text[name_start : match.end("tail")].isupper() and before[-1:] not in (".", "$", "{", "%"):
        if _holds_secret(_name(text, start, match.end("tail")), match["value"], is_setting=True):
            return match
        return None
    for rest, is_there, judge in (
        (_XML_REST, before.endswith("<"), _is_element_value),
        (_OPTION_REST, before.endswith("--") or "--" in text[max(0, start - 30) : start + 1], _is_option_value),
        (_INNER_REST, True, _is_inner_value),
        (_PAIR_REST, True, _is_pair_value),
    ):
        match = compiled(rest).match(text, end) if is_there else None
        if match is not None and judge(_name(text, start, match.end("tail")), match["value"], before):
            return match
    return None


def _is_element_value(name: str, value: str, before: str) -> bool:
    return _holds_secret(name, value)


def _is_option_value(name: str, value: str, before: str) -> bool:
    is_option = re.fullmatch(r"[a-z][a-z-]*", name) is not None and not value.startswith("-") and not value.isupper()
    return is_option and has_both(value) and not is_code_name(value) and _holds_secret(name, value)


def _is_inner_value(name: str, value: str, before: str) -> bool:
    """Within a line of anything, code too: only what is generated, and passwords of connection strings."""
    if _names_no_secret(name) or is_reference(value):
        return False
    if is_generated(value) and not is_uuid(value):
        return True
    is_connection = before[-1:] in (";", "?", "&", '"', " ")
    is_password = compiled(_NAMES_PASSWORD, re.IGNORECASE).search(name) is not None
    return is_connection and is_password and has_both(value) and not is_code_name(value) and is_typed(value)


def _is_pair_value(name: str, value: str, before: str) -> bool:
    return not is_code_name(value) and _holds_secret(name, value, is_setting=name.isupper())


def _name_start(text: str, start: int) -> int:
    first = max(0, start - _MAX_NAME)
    while start > first and (text[start - 1].isalnum() or text[start - 1] in "_-"):
        start -= 1
        if text[start] == "n" and text[start - 1 : start] == "\\":
            return start + 1
    return start


def _name(text: str, start: int, end: int) -> str:
    return text[_name_start(text, start) : end].lstrip("-")


def _begins_line(text: str, start: int) -> bool:
    """True when only a prefix of the name (and `export`, a list dash) stands before it on its line."""
    before = text[max(0, start - _MAX_LINE_BEFORE) : start]
    return compiled(_LINE_BEGIN).search(before if start > _MAX_LINE_BEFORE else "\n" + before) is not None


def _is_setting(text: str, start: int, match: re.Match[str]) -> bool:
    """True for `SERVICE_TOKEN=value` as settings files and shells have it: upper case, no space, nothing quoted."""
    name = text[_name_start(text, start) : match.end("tail")]
    return name.isupper() and text[match.start("value") - 1] == "="


def _names_no_secret(name: str) -> bool:
    parts = re.split(r"[_.-]|(?<=[a-z])(?=[A-Z])", name)
    return "public" in name.lower() or (
        len(parts) > 1 and compiled(_NAMES_NO_SECRET, re.IGNORECASE).match(parts[-1]) is not None
    )


def _holds_secret(name: str, value: str, *, is_setting: bool = False, is_pair: bool = False) -> bool:
    if _names_no_secret(name):
        return False
    if _is_weak_key(name):
        return name.isupper() and is_generated(value) and not is_plain_id(value)
    if is_setting and compiled(_LETTERS_AND_DIGITS).fullmatch(value) and not is_filler(value):
        return True
    if is_reference(value) and not is_base64_key(value):
        return False
    if not is_pair and compiled(_NAMES_PASSWORD, re.IGNORECASE).search(name) and is_typed(value):
        return True
    if is_plain_id(value) and not _may_be_id(name, value):
        return False
    return len(value) >= 8 and (is_mixed(value) or looks_random(without_dummies(value)))


def _is_weak_key(name: str) -> bool:
    """`MAPS_KEY`, which may hold anything, unlike `API_KEY` and `MAPS_TOKEN`."""
    lower = name.lower()
    is_key = not any(word in lower for word in _TELLING if word != "key")
    return is_key and not lower.replace("_", "").replace("-", "").rpartition("key")[0].endswith(_TELLING_KEYS)


def _may_be_id(name: str, value: str) -> bool:
    """True when the name says secret so clearly that even a UUID or digits as of a digest are one."""
    is_clear = compiled(_NAMES_KEY, re.IGNORECASE).search(name) is not None
    return is_clear or ("token" in name.lower() and not is_uuid(value))


def _is_said_password(word: str, value: str) -> bool:
    """True for `my password is Winter24`: after such a word, letters and digits together are no word of a sentence."""
    is_password = compiled(_NAMES_PASSWORD, re.IGNORECASE).search(word) is not None
    return is_password and has_both(value) and not is_reference(value) and is_typed(value)

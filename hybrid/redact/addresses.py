"""Finds passwords in addresses, and the values of HTTP headers that let someone in: tokens, API keys, cookies."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hybrid.base.patterns import compiled
from hybrid.redact.names import Clarity
from hybrid.redact.patterns import Phrases, Secret, occurrences, possible
from hybrid.redact.values import (
    REGION,
    Position,
    bits_per_char,
    has_both,
    is_basic,
    is_example_word,
    is_generated,
    is_plain_id,
    is_reference,
    is_secret,
    is_uuid,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

_URL_PASSWORD = r"[^\s:/@?#\"'`<>]{0,128}:([^\s/@\"'`<>]{1,256})@(?=[\w.\[$-])"
_MASK = r"\[redacted:\w{1,40}\]@"
_URL_USER = r"([^\s:/@?#\"'`<>\\]{16,256})@(?=[\w.\[$-])"
_KEYED_PATHS = Phrases(
    *"invite incomingwebhook hook hooks trigger webhook webhooks t ping live live2 app private appid hmac code".split()
)
_URL_KEY = (
    r"(?:/(?:invite|IncomingWebhook|hooks?|trigger|webhooks?|t|ping|live2?|app)/|/private-|[?&](?:appid|hmac|code)=)"
    r"(?P<key>[\w-]{15,256})(?=[/?&\s\"'<>)`]|$)"
)
"""Pattern of a key in the path of an address, which lets in whoever knows it, and the words before such keys."""
_MAX_BEFORE_KEY = 160
_DSN = r"(?:^|[\"'`\s=])[\w.+-]{0,64}:([^\s\"'`/@]{3,128})$"
_THIN = r"[\w.$-]{1,64}/\"?([^\s\"'`/@]{3,128})\"?@"
HEADER_NAMES = ("authorization", "api-key", "auth-token", "private-token", "vault-token", "access-token")
COOKIE_NAMES = ("cookie", "curl", "connect.sid", "_session", "aspnetcore.", "sessionid")
_SESSION_COOKIES = Phrases(*COOKIE_NAMES[2:])
_AUTH = Phrases("_auth", '"auth')
_QUOTE = r"\\{0,4}[\"'`]"
_HEADER_REST = (
    rf"(?:(?:(?:{_QUOTE})?\]?\s{{0,3}}(?:=>|[:=,])|\|)\s{{0,3}}(?:\[\s{{0,3}})?(?:{_QUOTE})?|\s{{1,3}}{_QUOTE}(?=basic\s|bearer\s))"
    r"(?:([A-Za-z][A-Za-z0-9-]{1,19})(?:\s{1,3}|\s{0,3}\\{0,4}\s{0,4}\n\s{0,20})(?:token=\"?)?)?([A-Za-z0-9._~+/=:@|-]{6,4096})"
)
_PARAMETER = r"(?:response|signature|oauth_token|oauth_signature|mac|token|api_key|sig)=\\{0,4}\"?([^\s\",\\]{8,1024})"
_COOKIE_HEADER = r"cookie\\{0,4}[\"']?[:,][^\S\n]{0,3}\\{0,4}[\"']?(?P<cookies>[^\n\"']{8,4096})"
_CURL_COOKIE = r"curl\b[^\n]{0,400}?\s(?:-b|--cookie)[ =]\\{0,4}[\"'](?P<cookies>[^\n\"']{8,4096})"
_COOKIE = (
    r"(?<![^\s;'\"])([\w.%-]{0,60}(?:sess|sid|auth|token|jwt|login|remember|cookies|identity)[\w.%-]{0,60})"
    r"=(?:s%3A)?([^;\s\"'\\]{16,4096})"
)
_SESSION_COOKIE = (
    rf"[a-z.]{{0,30}}(?:{_QUOTE}\s?[=:,]\s{{0,40}}|[=:\t]\s{{0,4}})(?:{_QUOTE}value{_QUOTE}\s?:\s?)?(?:{_QUOTE})?"
    r"(?P<value>[^\s;,\"'\\]{20,4096})"
)
_REGISTRY_AUTH = r"auth\\{0,4}[\"']?\s{0,3}[:=]\s{0,3}\\{0,4}[\"']?([A-Za-z0-9+/]{12,512}={0,2})(?![A-Za-z0-9+/=_.-])"


def url_passwords(text: str, letters: str) -> Iterator[Secret]:
    """Yield passwords between a user and a host, and generated keys in the place of the user or in a path.

    References such as `$PASSWORD`, words of examples, and keys that are public are left out.
    """
    for key in _keys_of_paths(text) if _KEYED_PATHS.standing(letters) else ():
        last = key["key"].rpartition("_")[2]
        before = text[max(0, key.start() - _MAX_BEFORE_KEY) : key.start()].rpartition("://")
        is_address = before[1] and not any(map(str.isspace, before[2]))
        if is_address and (is_generated(key["key"]) or is_generated(last) or is_uuid(key["key"])):
            yield Secret("url_password", *key.span("key"))
    for start, end in occurrences(text, ("//",)):
        if not (text[start - 1 : start].isalnum() or text.startswith(":", start - 1)):
            continue  # A comment, or a path in XML.
        match = compiled(_URL_PASSWORD).match(text, end)
        if match is not None:
            password = match.group(1)
            if compiled(_MASK).match(text, end):
                continue  # What was redacted before: `https://[redacted:github_token]@…`.
            # In an address a password is a password: only one that is a single word of examples stays.
            if any(map(str.isalnum, password)) and not (is_reference(password) or is_example_word(password)):
                yield Secret("url_password", *match.span(1))
            continue
        match = compiled(_URL_USER).match(text, end)
        if match is not None and is_generated(match.group(1)) and not _is_public(text, match):
            yield Secret("url_password", *match.span(1))


def _keys_of_paths(text: str) -> Iterator[re.Match[str]]:
    """Yield the matches of `_URL_KEY` behind the first `://` of each line that has one."""
    seen = 0
    for start, end in occurrences(text, ("://",)):
        if start >= seen:
            line_end = text.find("\n", end)
            seen = line_end if line_end >= 0 else len(text)
            yield from compiled(_URL_KEY).finditer(text, start + 1, seen)


def dsn_passwords(text: str) -> Iterator[Secret]:
    """Yield passwords in addresses without a scheme: `user:password@tcp(host)`, `thin:user/password@host`."""
    if "@" not in text:
        return
    hosts = [compiled(_DSN).search(text, max(0, at - 160), at) for at, _ in occurrences(text, ("@tcp(", "@unix("))]
    oracle = [compiled(_THIN).match(text, end, end + 240) for _, end in occurrences(text, ("thin:",))]
    for match in filter(None, hosts + oracle):
        if not is_reference(match.group(1)) and not is_example_word(match.group(1)):
            yield Secret("url_password", *match.span(1))


def _is_public(text: str, match: re.Match[str]) -> bool:
    """Return whether a key is public: one in a Sentry address only allows to report errors, and stands in web pages."""
    return is_uuid(match.group(1)) or "sentry" in text[match.end() : match.end() + 80].partition("\n")[0].lower()


def header_values(text: str, lower: str, letters: str) -> Iterator[Secret]:
    """Yield the values of headers that let someone in; a digest in such a place counts too."""
    seen = 0
    for _, end in sorted(occurrences(lower, possible(HEADER_NAMES, letters))):
        match = compiled(_HEADER_REST, re.IGNORECASE).match(text, end) if end >= seen else None
        seen = match.end() if match is not None else seen  # Within a value stands no header.
        if match is None or is_reference(match.group(2)):
            continue
        scheme, value = (match.group(1) or "").lower(), match.group(2)
        if text.startswith(" [redacted:", match.end(2)):
            continue  # What was taken for a value is the scheme of one that is hidden already.
        if scheme and compiled(r"[A-Za-z_]{2,20}=").match(value) is not None:
            yield from _parameters(text, match.start(2))
            continue
        if "," in text[end : match.start(2)] and compiled(REGION).fullmatch(value) is not None:
            continue  # `get_secret("api-key", "eu-west-1")`
        # Behind a scheme stands a literal; without one it may be a name of code.
        position = Position.QUOTED if scheme else Position.INLINE
        if is_secret(value, Clarity.SECRET, position) or (scheme == "basic" and is_basic(value)):
            yield Secret("authorization", *match.span(2))
    for _, end in occurrences(lower, _AUTH.standing(letters)):
        match = compiled(_REGISTRY_AUTH).match(text, end - 4)
        if match is not None and is_basic(match.group(1)):
            yield Secret("authorization", *match.span(1))


def _parameters(text: str, start: int) -> Iterator[Secret]:
    """Yield the parameters after a scheme of authorization that prove who sends: those with letters and digits."""
    end = text.find("\n", start, start + 1000)
    for match in compiled(_PARAMETER, re.IGNORECASE).finditer(text, start, end if end >= 0 else start + 1000):
        if has_both(match.group(1)) and not is_reference(match.group(1)):
            yield Secret("authorization", *match.span(1))


def cookies(text: str, lower: str, letters: str) -> Iterator[Secret]:
    """Yield values of session cookies."""
    for word in _SESSION_COOKIES.standing(letters):
        seen = 0
        for start, after in occurrences(lower, (word,)):
            named = compiled(_SESSION_COOKIE, re.IGNORECASE).match(text, after) if after >= seen else None
            if named is None:
                continue
            seen, value = named.end(), named["value"]
            if word != "sessionid":
                is_kept = is_generated(value)
            else:  # As Django spells it; a `sessionId` is a plain id.
                is_kept = text.startswith(word, start) and len(value) >= 24 and has_both(value)
                is_kept = is_kept and bits_per_char(value) >= 3 and not is_plain_id(value)
            if is_kept:
                yield Secret("cookie", *named.span("value"))
    for word in ("cookie", "curl"):
        if word not in letters or (word == "curl" and " -b" not in text and "--cookie" not in text):
            continue
        end = 0
        pattern = compiled(_CURL_COOKIE if word == "curl" else _COOKIE_HEADER, re.IGNORECASE)
        for start, after in occurrences(lower, (word,)):
            following = lower.find(word, after, after + 500) if word == "curl" else -1
            header = pattern.match(text, start, following if following >= 0 else len(text)) if start >= end else None
            if header is None:
                continue
            end = header.end()
            for match in compiled(_COOKIE, re.IGNORECASE).finditer(text, *header.span("cookies")):
                value = match.group(2)
                if has_both(value) and bits_per_char(value) >= 3 and not is_reference(value):
                    yield Secret("cookie", *match.span(2))

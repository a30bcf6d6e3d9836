"""Makes the second corpus of `hybrid eval redaction` from the templates of `second_corpus/`.

The templates are written from what tools and services print, and know nothing of the rules that they measure. The
values are made at run time from a seed, so that nothing in the source looks like a secret; equal seeds give equal
samples. `second_corpus/README.md` describes the files.
"""

from __future__ import annotations

import base64
import json
import random
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import quote
from xml.sax.saxutils import escape

import tomli
from msgspec import Struct
from msgspec.structs import replace

from hybrid_lab.redaction.corpus import Sample

if TYPE_CHECKING:
    from collections.abc import Iterator

_FOLDER = Path(__file__).with_name("second_corpus")
_START, _END = "\ue000", "\ue001"
"""Enclose the parts of a secret while a text is made."""
_MIN_SAMPLES = 6
"""A template of few kinds is filled again until it gives so many samples."""
_MAX_KINDS = 12
"""A template of many kinds takes so many of them, each template the next ones."""
_NESTED_STEP = 7
"""Each so manieth sample stands once more in a JSON string, as the transcripts of agents have it."""
_STAND_INS = ("${{{NAME}}}", "<{name}>", "YOUR_{NAME}", "********", "{{{{ {name} }}}}", "xxxxxxxxxxxx", "[REDACTED]")
_N_STAND_INS = 3
_HOLLOW = frozenset({"secret", "secret|url", "secret|xml"})
"""Templates with other spellings of the secret have no place for a placeholder."""

_HEAD = re.compile(r"%%% (?P<title>[^,:\n]+)(?P<lines>, each line)?(?:: (?P<kinds>.+))?\n")
_MARK = re.compile(r"⟦([^⟦⟧]*)⟧")
_PATTERN = re.compile(r"\[([^\]]+)\](?:\{(\d+)(?:,(\d+))?\})?|<([\w-]+)(?::([^>]*))?>|([()])|([^\[<()]+)")
_RANGE = re.compile(r"(.)-(.)|(.)", re.DOTALL)
_ALNUM = "A-Za-z0-9"
_WORDS = (
    "tiger kiwi maple river copper falcon winter lemon harbor pixel rocket walnut summer dragon coffee silver monkey "
    "orange planet garden velvet thunder cactus pepper marble bishop canyon meadow ginger tundra salmon violet"
).split()

Table: TypeAlias = "dict[str, dict[str, list[str]]]"


class Template(Struct, frozen=True):
    """A text with marks, and what it is for.

    Attributes:
        title: The place of a secret, or the kind of an innocent text.
        kinds: Names of kinds, or of groups after `@`; empty for an innocent text.
        text: The text; what stands in `⟦ ⟧` is filled.
    """

    title: str
    kinds: tuple[str, ...]
    text: str


def second_secret_samples(seed: str) -> list[Sample]:
    """Texts with one secret each: every template with kinds that it names, some of them nested in JSON too."""
    table = _table()
    samples: list[Sample] = []
    for n, template in enumerate(secret_templates()):
        kinds = _kinds(template, table)
        start = n * _MAX_KINDS % len(kinds)
        kinds = [*kinds[start:], *kinds[:start]][:_MAX_KINDS]
        for turn in range(max(1, -(-_MIN_SAMPLES // len(kinds)))):
            for kind in kinds:
                rng = random.Random(f"{seed} {turn} {kind} {template.text}")
                text = _fill(template.text, table, rng, kind=kind, value=None)
                samples.append(_sample(kind, template.title, template.text, text))
                if len(samples) % _NESTED_STEP == 0:
                    nested = json.dumps({"type": "tool_result", "content": text}, ensure_ascii=False)
                    samples.append(_sample(kind, "transcript", template.text, nested))
    return samples


def second_innocent_samples(seed: str) -> list[Sample]:
    """Texts without a secret: those written as such, and the others with a placeholder where the secret stands."""
    table = _table()
    samples: list[Sample] = []
    for template in innocent_templates():
        rng = random.Random(f"{seed} {template.text}")
        text = _fill(template.text, table, rng, kind="", value=None)
        samples.append(replace(_sample(template.title, "", template.text, text), spans=()))
    for n, template in enumerate(secret_templates()):
        marks = _MARK.findall(template.text)
        if not _HOLLOW.issuperset(mark for mark in marks if "secret" in mark) or any("[" in mark for mark in marks):
            continue
        kinds = _kinds(template, table)
        kind = kinds[n % len(kinds)]
        for turn in range(_N_STAND_INS):
            rng = random.Random(f"{seed} {turn} {template.text}")
            name = rng.choice(table[kind]["names"])
            value = _STAND_INS[(n + turn * 2) % len(_STAND_INS)].format(NAME=name, name=name.lower())
            text = _fill(template.text, table, rng, kind=kind, value=value)
            samples.append(replace(_sample("a placeholder", template.title, template.text, text), spans=()))
    return samples


@cache
def secret_templates() -> tuple[Template, ...]:
    """The templates with a secret, in order of files and lines."""
    return tuple(_templates("secrets"))


@cache
def innocent_templates() -> tuple[Template, ...]:
    """The templates without a secret, in order of files and lines."""
    return tuple(_templates("innocent"))


def _templates(folder: str) -> Iterator[Template]:
    for path in sorted((_FOLDER / folder).glob("*.txt")):
        text = path.read_text(encoding="utf-8")
        heads = list(_HEAD.finditer(text))
        if text.count("%%% ") != len(heads):
            raise AssertionError(f"{path.name}: a head cannot be read")
        ends = [*(head.start() for head in heads[1:]), len(text)]
        for head, end in zip(heads, ends, strict=True):
            body = text[head.end() : end].rstrip("\n")
            kinds = tuple(part.strip() for part in (head["kinds"] or "").split(",") if part.strip())
            for one in filter(str.strip, body.split("\n")) if head["lines"] else (f"{body}\n",):
                yield Template(head["title"], kinds, one)


@cache
def _table() -> Table:
    return tomli.loads((_FOLDER / "values.toml").read_text(encoding="utf-8"))


def _kinds(template: Template, table: Table) -> list[str]:
    kinds: list[str] = []
    for name in template.kinds:
        if name.startswith("@"):
            kinds += [kind for kind, entry in table.items() if name[1:] in entry.get("groups", ())]
        else:
            kinds.append(name)
    if not kinds or any(kind not in table for kind in kinds):
        raise AssertionError(f"unknown kinds: {template.kinds}")
    return kinds


def _sample(kind: str, place: str, template: str, marked: str) -> Sample:
    """Take the marks out of a text, and keep where they stood."""
    spans: list[tuple[int, int]] = []
    parts: list[str] = []
    at = 0
    for n, piece in enumerate(re.split(f"[{_START}{_END}]", marked)):
        if n % 2 and piece:
            spans.append((at, at + len(piece)))
        parts.append(piece)
        at += len(piece)
    return Sample(kind, " ".join(template.split())[:60], "".join(parts), tuple(spans), place=place)


# --- filling -----------------------------------------------------------------------------------------------


def _fill(text: str, table: Table, rng: random.Random, *, kind: str, value: str | None) -> str:
    """Fill the marks of a template; a secret stands between the two marks of its ends, a given value without them."""
    spelled: dict[str, str] = {}
    if kind:
        entry = table[kind]
        name = rng.choice(entry["names"])
        spelled = {**_spellings(name), "label": str(entry["label"])}
        value = value if value is not None else _secret(rng.choice(entry["forms"]), table, rng)
    fills = {name: rng.choice(choices) for name, choices in table["fill"].items()}

    def filled(match: re.Match[str]) -> str:
        mark = match[1]
        if mark == "secret|new":
            return _secret(rng.choice(table[kind]["forms"]), table, rng)
        if mark.split("|")[0] == "secret" and value is not None:
            return _spelled(value, mark.partition("|")[2], fills["user"])
        if mark in spelled:
            return spelled[mark]
        if mark in fills:
            return fills[mark]
        if "[" not in mark and "<" not in mark:
            raise AssertionError(f"unknown mark {mark!r} in {text[:60]!r}")
        return _value(mark, table, rng)

    return _MARK.sub(filled, text)


def _spellings(name: str) -> dict[str, str]:
    words = name.lower().split("_")
    camel = words[0] + "".join(map(str.capitalize, words[1:]))
    return {
        "NAME": name,
        "name": name.lower(),
        "camelName": camel,
        "PascalName": camel[0].upper() + camel[1:],
        "name-name": "-".join(words),
        "name.name": ".".join(words),
        "Name-Name": "-".join(map(str.capitalize, words)),
        "name name": " ".join(words),
    }


def _secret(pattern: str, table: Table, rng: random.Random) -> str:
    value = _value(pattern, table, rng)
    return value if _START in value else f"{_START}{value}{_END}"


def _value(pattern: str, table: Table, rng: random.Random) -> str:
    """A value of a pattern: classes with their numbers, names in `< >`, and plain text."""
    parts: list[str] = []
    for match in _PATTERN.finditer(pattern):
        chars, low, high, name, argument, bracket, plain = match.groups()
        if chars:
            n = rng.randint(int(low or 1), int(high or low or 1))
            alphabet = _alphabet(chars)
            parts.append("".join(rng.choice(alphabet) for _ in range(n)))
        elif name:
            parts.append(_named(name, argument or "", table, rng))
        else:
            parts.append({"(": _START, ")": _END}.get(bracket or "", plain or ""))
    return "".join(parts)


@cache
def _alphabet(chars: str) -> str:
    parts = [
        "".join(map(chr, range(ord(first), ord(last) + 1))) if last else single
        for first, last, single in _RANGE.findall(chars)
    ]
    return "".join(dict.fromkeys("".join(parts)))


def _named(name: str, argument: str, table: Table, rng: random.Random) -> str:
    if name == "word":
        return rng.choice(_WORDS)
    if name == "Word":
        return rng.choice(_WORDS).capitalize()
    if name == "uuid":
        return _value("[a-f0-9]{8}-[a-f0-9]{4}-4[a-f0-9]{3}-[89ab][a-f0-9]{3}-[a-f0-9]{12}", table, rng)
    if name == "b64":
        return base64.b64encode(rng.randbytes(int(argument))).decode()
    if name == "jwt":
        return _jwt(table, rng)
    if name == "pem":
        return _pem(*argument.split(":"), rng=rng)
    password = _password(table, rng)
    if name == "password":
        return password
    if name == "b64password":
        return base64.b64encode(password.encode()).decode()
    if name == "basic":
        return base64.b64encode(f"{rng.choice(table['fill']['user'])}:{password}".encode()).decode()
    raise AssertionError(f"unknown name <{name}>")


def _password(table: Table, rng: random.Random) -> str:
    sorts = [entry["forms"] for entry in table.values() if "password" in entry.get("groups", ())]
    return _value(rng.choice(rng.choice(sorts)), table, rng)


def _jwt(table: Table, rng: random.Random) -> str:
    header = {"alg": rng.choice(["HS256", "RS256"]), "typ": "JWT"}
    claims = {"sub": str(rng.randrange(10**9)), "iat": 1_700_000_000 + rng.randrange(10**7), "role": "service"}
    parts = [base64.urlsafe_b64encode(json.dumps(part, separators=(",", ":")).encode()) for part in (header, claims)]
    return ".".join(
        [*(part.decode().rstrip("=") for part in parts), _value(f"[{_ALNUM}_-]{{42}}[{_ALNUM}]", table, rng)]
    )


def _pem(name: str, first: str, width: str, *, rng: random.Random) -> str:
    """A key block whose lines of key material are marked, one by one."""
    length = int(width)
    material = first + "".join(rng.choice(_alphabet(f"{_ALNUM}+/")) for _ in range(length * 7 + 20)) + "=="
    lines = [material[at : at + length] for at in range(0, len(material), length)]
    if name.startswith("PGP"):
        lines = ["", *lines]
    marked = [f"{_START}{line}{_END}" if line else "" for line in lines]
    return "\n".join([f"-----BEGIN {name}-----", *marked, f"-----END {name}-----"])


def _spelled(value: str, spelling: str, user: str) -> str:
    """A marked value as it stands in a place: in base64, in an address, in XML, indented, escaped, or a part of it."""
    plain = value.replace(_START, "").replace(_END, "")
    if not spelling or _START not in value:
        return value
    if spelling == "b64":
        return f"{_START}{base64.b64encode(plain.encode()).decode()}{_END}"
    if spelling == "basic":
        return f"{_START}{base64.b64encode(f'{user}:{plain}'.encode()).decode()}{_END}"
    if spelling == "url":
        parts = re.split(f"([{_START}{_END}])", value)
        return "".join(part if part in (_START, _END) else quote(part, safe="") for part in parts)
    if spelling == "xml":
        return escape(value)
    if spelling == "escaped":
        return value.replace("\n", "\\n")
    if spelling.startswith("indent"):
        return value.replace("\n", "\n" + " " * int(spelling[6:]))
    part, _, n_parts = spelling.partition("/")
    step = -(-len(plain) // int(n_parts))
    begin = (int(part) - 1) * step
    return f"{_START}{plain[begin : begin + step]}{_END}"

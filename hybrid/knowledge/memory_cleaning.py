"""Takes private spans and secrets out of whatever the memory stores; called by `memory_intake` before it stores.

All texts of an event are read as one, after characters that nobody sees are gone, and only then shortened. What it
costs is bounded: beyond its bounds, texts are dropped before anything else is done with them.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, TypeVar, cast

from msgspec import to_builtins
from msgspec.structs import asdict, replace

from hybrid.capture.leaves import Cut, Leaf, Texts, cut_out, filled, is_key_line, key_lines
from hybrid.capture.tools import ToolCall, ToolUse
from hybrid.records.memory.types import Extracted, Summarised
from hybrid.redact import find_secrets, redact

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_CHARS = 200_000
"""The most characters of all texts of an event together; secrets are looked for among these."""
MAX_TOOL_CHARS = 100
"""The most characters of the name of a tool."""

_MAX_HOT = 5_000
"""The most words like `password` in the texts of an event; a text full of them takes a hundred times as long."""
_MIN_CHARS = 1_000
_MIN_TAIL_CHARS = 30_000
"""Characters for a text from which on its end is kept too; with fewer only its beginning."""
_CONTEXT_CHARS = 2_000
"""Characters before the kept end of a text that are searched and not kept: a name may stand there for a value after."""
_HOT_WORDS = (
    *("password", "passwd", "passphrase", "passcode", "pwd", "_pass", "secret", "token", "credential", "key", "login"),
    *("curl", "wget", "mysql", "sshpass", "redis-cli", "cookie", "auth", "://", "q~", "k_live_", "k_test_", ":aa"),
    *("-us", "webhooks/", ".atlasv1.", "whsec_", "-----begin", "-----end", "eyj", "sk-", "xox", ":5432:", "identified"),
)
_MIN_PIECE = 16
_PIECE = re.compile(rf"[A-Za-z0-9+/=_.~-]{{{_MIN_PIECE},}}")
_MAX_PIECES = 60

_Told = TypeVar("_Told", Extracted, Summarised)


def cleaned_call(call: ToolCall) -> ToolCall:
    """Return a use of a tool without private spans and secrets; its parts may be any values of JSON.

    A text that is JSON is parsed. Texts beyond the bounds are shortened: of a long one whole lines of both ends stay,
    of many texts the first.
    """
    texts = Texts()
    taken = [texts.take(call.arguments), texts.take_text(call.error), texts.take(call.result, is_output=True)]
    _clean(texts)
    arguments, error, result = map(filled, taken)
    return ToolCall(cleaned_name(call.tool), arguments, result, _text(error))


def cleaned_name(tool: str) -> str:
    """Return the name of a tool as it is stored, in one line of at most `MAX_TOOL_CHARS`."""
    # Read part by part: servers and their tools are joined by two underscores, within which no token begins.
    words = "\n".join(cleaned_text(tool[: 10 * MAX_TOOL_CHARS].replace("__", "\n")).split())
    return words.replace("\n", "__" if "__" in tool else " ")[:MAX_TOOL_CHARS]


def cleaned_text(text: str) -> str:
    """Return a text without private spans and secrets; of a long one only whole lines of both ends."""
    texts = Texts()
    taken = texts.take_text(text)
    _clean(texts)
    return _text(filled(taken))


def cleaned_payload(use: ToolUse) -> ToolUse:
    """Return a use as it is stored, cleaned once more, as shortening may have made new private spans and secrets."""
    fields = {name: value for name, value in to_builtins(use).items() if name not in ("tool", "kind")}
    return ToolUse.from_json(json.dumps({"tool": use.tool, "kind": use.kind, **_cleaned_fields(fields)}))


def cleaned_told(told: _Told) -> _Told:
    """Return an observation or summary without private spans and secrets; its type stays."""
    fields = {name: value for name, value in asdict(told).items() if name != "type"}
    cleaned = {
        name: tuple(value) if isinstance(fields[name], tuple) else value
        for name, value in _cleaned_fields(fields).items()
    }
    return replace(told, **cleaned)


def n_chars(value: object) -> int:
    """Return the number of characters of a value: of a string its own, of others those of their JSON, 0 for None."""
    if isinstance(value, str):
        return len(value)
    return len(json.dumps(value, ensure_ascii=False)) if value is not None else 0


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _cleaned_fields(given: dict[str, Any]) -> dict[str, Any]:
    texts = Texts()
    taken = texts.take(given)
    _clean(texts)
    return cast("dict[str, Any]", filled(taken) or {})


def _clean(texts: Texts) -> None:
    texts.cut_private()
    _shorten(texts.leaves)
    cut_out([part for leaf in texts.leaves for part in leaf.parts()], _cuts)
    for part in (part for leaf in texts.leaves for part in leaf.parts()):
        # What stands beside a text may hide its secrets, so each is read alone too.
        part.text = "[redacted:private_key]" if is_key_line(part.text) else redact(part.text)


def _cuts(text: str) -> Iterator[Cut]:
    """Yield (start, end, replacement) of secrets, lines of keys, and other places that repeat a long piece of them."""
    secrets = [(secret.start, secret.end, f"[redacted:{secret.kind}]") for secret in find_secrets(text)]
    secrets += [(start, end, "[redacted:private_key]") for start, end in key_lines(text)]
    yield from secrets
    pieces = dict.fromkeys(piece for start, end, _ in secrets for piece in _PIECE.findall(text, start, end))
    for piece in sorted((piece.strip("+-") for piece in pieces), key=len, reverse=True)[:_MAX_PIECES]:
        start = -1 if len(piece) < _MIN_PIECE else text.find(piece)
        while start >= 0:
            yield start, start + len(piece), "[redacted]"
            start = text.find(piece, start + len(piece))


def _shorten(leaves: Sequence[Leaf]) -> None:
    """Cut the texts of leaves at line ends, in place, until all together keep the bounds of a search for secrets."""
    room = MAX_CHARS
    while True:
        most = _share([len(leaf.text) for leaf in leaves], room)
        short = [_shortened(leaf, most) for leaf in leaves]
        lower = "\n".join(part.text for leaf in short for part in leaf.parts()).lower()
        n_hot = sum(map(lower.count, _HOT_WORDS))
        if n_hot <= _MAX_HOT or room < _MIN_CHARS:
            break
        room = int(min(room, len(lower)) * 0.9 * _MAX_HOT / n_hot)
    for leaf, found in zip(leaves, short, strict=True):
        leaf.text, leaf.rest = found.text, found.rest


def _share(sizes: Sequence[int], room: int) -> int:
    """Return the most characters that each text may have so that all fit; short ones leave theirs to the others."""
    for number, size in enumerate(sorted(sizes)):
        share = room // (len(sizes) - number)
        if size > share:
            return share
        room -= size
    return max(sizes, default=0)


def _shortened(leaf: Leaf, most: int) -> Leaf:
    text = leaf.text
    if len(text) <= most:
        return leaf
    n_head = most // 2 if most >= _MIN_TAIL_CHARS else most
    head = text[: text.rfind("\n", 0, n_head) + 1]
    start = text.find("\n", len(text) - most + n_head) + 1 if head and n_head < most else 0
    kept_from = text.find("\n", start + _CONTEXT_CHARS) + 1 if start else 0
    rest = (Leaf(text[start:kept_from], "\n"), Leaf(text[kept_from:], "")) if kept_from else None
    return replace(leaf, text=head, rest=rest)

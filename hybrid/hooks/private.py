"""Cuts out of a raw event what its user wants kept from everything, before the event may lie on disk.

`run` and the service call it for an event that is kept until there is time for it. Only an event that seems to hold a
mark is parsed: parsing costs more than writing.
"""

from __future__ import annotations

_OPT_OUT = "[no-hybrid]"
_MARKS = (b"[no-hybrid]", b"private>", b"private ", b"private\\u003e")


def without_private(data: bytes) -> bytes | None:
    """Return an event without its private spans; of a text with `[no-hybrid]` only that mark stays.

    Args:
        data: The event as it came, JSON.

    Returns:
        The same object when it seems to hold no mark; None for what is no JSON, which nobody could read later.
    """
    lower = data.lower()
    if not any(mark in lower for mark in _MARKS):
        return data
    import json  # A hook loads it only here: it costs seven milliseconds.

    try:
        event: object = json.loads(data.decode("utf-8-sig", "replace"))
        return json.dumps(_cut(event)).encode()
    except (ValueError, RecursionError):
        return None


def _cut(value: object) -> object:
    from typing import cast  # As `json`.

    if isinstance(value, str):
        return _cut_text(value)
    if isinstance(value, list):
        return [_cut(item) for item in cast("list[object]", value)]
    if isinstance(value, dict):
        return {name: _cut(item) for name, item in cast("dict[str, object]", value).items()}
    return value


def _cut_text(text: str) -> str:
    from hybrid.render.marks import private_spans

    if _OPT_OUT in text.lower():
        return _OPT_OUT
    for start, end in reversed(private_spans(text)):
        text = text[:start] + text[end:]
    return text

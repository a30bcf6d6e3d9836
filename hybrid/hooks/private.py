"""Keeps an event on disk without what its user wants kept from everything: private spans, prompts with `[no-hybrid]`.

`run` and the service keep events through it until there is time for them. Only an event that seems to hold a mark is
parsed: parsing costs more than writing.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` costs a hook four milliseconds.
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hybrid.ipc.spool import Spool

_MARKS = (b"[no-hybrid]", b"private>", b"private ", b"private\\u003e")


def keep_event(spool: Spool, key: str, parts: Sequence[bytes], on_drop: Callable[[str], None] = lambda _: None) -> bool:
    """Keep an event; see `Spool.keep`.

    Args:
        spool: Where.
        key: Of the event.
        parts: As of `hooks.taking.event_of_parts`; the last one is the event as it came, JSON.
        on_drop: Hears of an older event that had to go.

    Returns:
        False when it cannot be kept, or holds a mark and is no JSON: nobody could read it later.
    """
    *about, data = parts
    lower = data.lower()
    if any(mark in lower for mark in _MARKS):
        import json  # A hook loads it only here: it costs seven milliseconds.

        try:
            data = json.dumps(_without_private(json.loads(data.decode("utf-8-sig", "replace")))).encode()
        except (ValueError, RecursionError):
            return False
    return spool.keep(key, *about, data, on_drop=on_drop)


def _without_private(value: object) -> object:
    """A value of JSON without private spans; of a text with `[no-hybrid]` only that mark stays."""
    from typing import cast  # As `json`; the two below bring `re`.

    from hybrid.prompting.clean import OPT_OUT
    from hybrid.render.marks import without_private

    if isinstance(value, str):
        return OPT_OUT if OPT_OUT in value.lower() else without_private(value)
    if isinstance(value, list):
        return [_without_private(item) for item in cast("list[object]", value)]
    if isinstance(value, dict):
        return {name: _without_private(item) for name, item in cast("dict[str, object]", value).items()}
    return value

"""Keeps an event on disk without what its user wants kept from everything: private spans, prompts with `[no-hybrid]`.

`run` and the service keep events through it until there is time for them. Only an event that seems to hold a mark, or a
prompt of a session that had a private one, is parsed: parsing costs more than writing.
"""

from __future__ import annotations

from hybrid.hooks.names import event_of
from hybrid.ipc.spool import Worth
from hybrid.ipc.turns import OPT_OUT, may_be_private, note_turn

TYPE_CHECKING = False  # `typing` costs a hook four milliseconds.
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hybrid.ipc.spool import Spool

_MARKS = (OPT_OUT.encode(), b"private>", b"private ", b"private\\u003e")
_OF_TURN = ("PostToolUse", "Stop")
"""Events that tell what an agent did and said; those that only begin or end a session hold nothing of a turn."""


def keep_event(spool: Spool, key: str, parts: Sequence[bytes], on_drop: Callable[[str], None] = lambda _: None) -> bool:
    """Keep an event; see `Spool.keep`.

    Args:
        spool: Where.
        key: Of the event.
        parts: As of `hooks.taking.event_of_parts`; the last one is the event as it came, JSON.
        on_drop: Hears once of other events that had to go.

    Returns:
        False when it cannot be kept, or holds a mark and is no JSON: nobody could read it later.
    """
    *about, data = parts
    lower = data.lower()
    event = _event(parts[1], data)
    if any(mark in lower for mark in _MARKS) or (event == "UserPromptSubmit" and may_be_private(spool.home, data)):
        import json  # A hook loads it only here: it costs seven milliseconds.

        try:
            value = json.loads(data.decode("utf-8-sig", "replace"))
            if event == "UserPromptSubmit":
                _note_turn(spool.home, key, value)
            data = json.dumps(_without_private(value)).encode()
        except (ValueError, RecursionError):
            return False
    return spool.keep(key, *about, data, worth=_worth(event, lower), on_drop=on_drop)


def is_of_private_turn(home: str, parts: Sequence[bytes]) -> bool:
    """Return whether an event tells what an agent did for a prompt with `[no-hybrid]`: then nothing of it is kept.

    Args:
        home: `$HYBRID_HOME`.
        parts: As of `keep_event`, of an event that has just come.
    """
    return _event(parts[1], parts[-1]) in _OF_TURN and may_be_private(home, parts[-1])


def _note_turn(home: str, key: str, value: object) -> None:
    """Note whether a prompt is private; what a client sends in place of one begins no turn."""
    from typing import cast

    fields = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    session = fields.get("session_id") or fields.get("sessionId") or fields.get("sessionID")
    prompt = fields.get("submitted_prompt") or fields.get("prompt")
    is_agents = fields.get("agent_id") or fields.get("agentId")
    if isinstance(session, str) and isinstance(prompt, str) and prompt.strip() and not is_agents:
        note_turn(home, session, key, is_private=OPT_OUT in prompt.lower())


def _event(name: bytes, data: bytes) -> str | None:
    """Our word for an event by its name, or by its input, in JSON whose texts hold no bare quotes."""
    name = name or data.partition(b'"hook_event_name"')[2].partition(b'"')[2].partition(b'"')[0]
    return event_of(name.decode("ascii", "replace"))


def _worth(event: str | None, lower: bytes) -> int:
    """What an event is worth; `lower` is its input in small letters."""
    if event == "PostToolUse":
        return Worth.TOOL
    if b"lesson" in lower:
        return Worth.LESSON
    return Worth.PROMPT if event == "UserPromptSubmit" else Worth.OTHER


def _without_private(value: object, *, is_part: bool = True) -> object:
    """A value of JSON without private spans; of a text with `[no-hybrid]` only that mark stays.

    A span may be opened in one text and closed in another; only a prompt is seen whole by who typed it.
    """
    from typing import cast  # As `json`; the two below bring `re`.

    from hybrid.render.marks import without_private

    if isinstance(value, str):
        return OPT_OUT if OPT_OUT in value.lower() else without_private(value, is_part=is_part)
    if isinstance(value, list):
        return [_without_private(item) for item in cast("list[object]", value)]
    if isinstance(value, dict):
        items = cast("dict[str, object]", value).items()
        return {name: _without_private(item, is_part=name != "prompt") for name, item in items}
    return value

"""Reads a hook event from any client; unknown or missing fields, byte order marks, lone surrogates are tolerated."""

from __future__ import annotations

import json
from typing import Any, cast

from hybrid.types import PromptEvent

MAX_BYTES = 32_000_000
"""Events longer than this are not read: a prompt of that size is a mistake."""


MAX_PROMPT_CHARS = 400_000
"""Of a longer prompt the beginning is read: it was pasted, and cleaning megabytes would outlast the deadline."""


PROMPT_EVENTS = ("UserPromptSubmit", "userPromptSubmitted", "BeforeAgent", "beforeSubmitPrompt", "chat.message")
"""Events at which a user's prompt goes to the agent, in the words of the clients. An answer to another one is shown
as an error, or reaches the agent as text that nobody meant for it."""


class EventError(ValueError):
    """The input of a hook is not an event; the message goes to the log."""


def parse_event(data: bytes, *, client: str, event: str, cwd: str) -> PromptEvent:
    """The event on a hook's standard input.

    Args:
        data: UTF-8, possibly with a byte order mark, possibly broken.
        client: Who calls, from the command line.
        event: Its name, from the command line; the input's own name is only a fallback.
        cwd: The hook's working directory, when the event names none.

    Raises:
        EventError: Empty, too large, not JSON, or not an object.
    """
    if len(data) > MAX_BYTES:
        raise EventError(f"hook input of {len(data)} bytes or more is not read")
    text = data.decode("utf-8-sig", "replace")
    if not text.strip():
        raise EventError("hook input is empty")
    try:
        fields: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise EventError(f"hook input is not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise EventError(f"hook input is not an object but {type(fields).__name__}")
    found = cast("dict[str, Any]", fields)
    return PromptEvent(
        client=client,
        event=event or _text(found, "hook_event_name", "hookEventName") or "UserPromptSubmit",
        session_id=_text(found, "session_id", "sessionId"),
        agent_id=_text(found, "agent_id", "agentId"),
        cwd=_text(found, "cwd") or cwd,
        prompt=_text(found, "submitted_prompt", "prompt")[:MAX_PROMPT_CHARS],
    )


def require_prompt_event(event: PromptEvent) -> None:
    """Refuse an event that takes no context; some of them carry the prompt too.

    Raises:
        EventError: It is not one of `PROMPT_EVENTS`.
    """
    if event.event.lower() not in {name.lower() for name in PROMPT_EVENTS}:
        raise EventError(f"{event.event} is no prompt event: the hook is registered for the wrong one")


def _text(fields: dict[str, Any], *names: str) -> str:
    """The first of the fields that is text and not empty; lone surrogates become question marks."""
    for name in names:
        value = fields.get(name)
        if isinstance(value, str) and value:
            return value.encode("utf-8", "replace").decode("utf-8")
    return ""

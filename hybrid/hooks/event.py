"""Reads a hook event from any client into one form; unknown or missing fields, byte order marks, lone surrogates are
tolerated.

Standard library only and cheap to import: every hook process reads its event here. The result is a plain `Fields`
mapping that goes to the service as JSON, and becomes a `HookEvent` where the engine is.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False  # `typing` costs a hook four milliseconds.
if TYPE_CHECKING:
    from typing import Any

MAX_BYTES = 32_000_000
"""Events longer than this are not read: a prompt of that size is a mistake."""

MAX_PROMPT_CHARS = 400_000
"""Of a longer prompt the beginning is read: it was pasted, and cleaning megabytes would outlast the deadline."""

EVENTS = {
    "UserPromptSubmit": ("UserPromptSubmit", "userPromptSubmitted", "BeforeAgent", "beforeSubmitPrompt", "chat.message"),
    "SessionStart": ("SessionStart", "session.created"),
    "PostToolUse": ("PostToolUse", "AfterTool", "tool.execute.after"),
    "SubagentStart": ("SubagentStart",),
    "PreCompact": ("PreCompact", "PreCompress", "experimental.session.compacting"),
    "Stop": ("Stop", "agentStop", "AfterAgent", "session.idle"),
    "SessionEnd": ("SessionEnd", "session.deleted"),
}
"""Our word for an event → the words of the clients. An answer to an event that takes none is shown as an error, or
reaches the agent as text that nobody meant for it."""

_CANONICAL = {name.lower(): event for event, names in EVENTS.items() for name in names}


class EventError(ValueError):
    """The input of a hook is not an event; the message goes to the log."""


def parse_event(data: bytes, *, client: str, event: str, cwd: str) -> dict[str, Any]:
    """The event on a hook's standard input, as the fields of a `HookEvent`.

    Args:
        data: UTF-8, possibly with a byte order mark, possibly broken.
        client: Who calls, from the command line.
        event: Its name, from the command line; the input's own name is only a fallback.
        cwd: The hook's working directory, when the event names none.

    Raises:
        EventError: Empty, too large, not JSON, not an object, or an event that we do not answer.
    """
    fields = _object(data)
    name = event or _text(fields, "hook_event_name", "hookEventName") or "UserPromptSubmit"
    known = _CANONICAL.get(name.lower())
    if known is None:
        raise EventError(f"{name} is no event that hybrid knows: the hook is registered for the wrong one")
    return {
        "client": client,
        "event": known,
        "name": name,
        "session_id": _text(fields, "session_id", "sessionId"),
        "agent_id": _text(fields, "agent_id", "agentId"),
        "cwd": _text(fields, "cwd") or cwd,
        "prompt": _text(fields, "submitted_prompt", "prompt")[:MAX_PROMPT_CHARS],
        "source": _text(fields, "source", "reason", "trigger"),
        "tool": _text(fields, "tool_name", "toolName"),
        "paths": [],
        "report": "",
    }


def _object(data: bytes) -> dict[str, Any]:
    if len(data) > MAX_BYTES:
        raise EventError(f"hook input of {len(data)} bytes or more is not read")
    text = data.decode("utf-8-sig", "replace")
    if not text.strip():
        raise EventError("hook input is empty")
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise EventError(f"hook input is not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise EventError(f"hook input is not an object but {type(fields).__name__}")
    return fields


def _text(fields: dict[str, Any], *names: str) -> str:
    """The first of the fields that is text and not empty; lone surrogates become question marks."""
    for name in names:
        value = fields.get(name)
        if isinstance(value, str) and value:
            return value.encode("utf-8", "replace").decode("utf-8")
    return ""

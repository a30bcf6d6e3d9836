"""Writes a hook's answer in the form its client takes, one ASCII JSON object or nothing at all, and hands it over."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hybrid.base.clients import client_named
from hybrid.ipc.wire import WireError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hybrid.answer.events import Reply
    from hybrid.ipc.wire import Connection
    from hybrid.types import HookEvent

TAKING = ("UserPromptSubmit", "SessionStart", "PostToolUse", "SubagentStart")
"""Events (in our words) whose answer reaches an agent. On the others a text is an error shown to the user, lands in the
compacted context, or forces the agent to go on."""

SEND_S = 1.0
"""Seconds that a hook may take to read its answer."""

_DELIVERY_S = 5.0
"""Seconds until a hook that has its answer says that the agent has it. On a busy machine it may have written it long
before it says so, and a text that counts as late is given again."""


def write_answer(text: str, *, client: str, name: str, event: str, notice: str = "") -> str:
    """Return the answer that adds a text to the agent's context, or tells the user something.

    Empty when there is nothing to say or nobody to hear it.

    Codex drops an answer with a key it does not know, so each client gets its own keys and no other.

    Args:
        text: What to add.
        client: Who asks, as `client_of` tells.
        name: The event as the client spells it; without it the client drops the text or shows an error.
        event: The same in our words.
        notice: One line for the user, which the agent does not see.
    """
    if event not in TAKING:
        return ""
    told = client_named(client)
    answer: dict[str, object] = {}
    if text and told.answer == "text":
        answer["text"] = text
    elif text:
        answer |= {"additionalContext": text} if told.answer == "both" else {}
        answer["hookSpecificOutput"] = {"hookEventName": name or event, "additionalContext": text}
    if notice and told.has_notice:
        answer["systemMessage"] = notice
    return json.dumps(answer) if answer else ""


def printed_answer(text: str, event: HookEvent, *, notice: str = "") -> bytes:
    """Return what the hook prints for an event: the answer on a line of its own, or nothing.

    Args:
        text: What to add.
        event: The event that is answered.
        notice: As in `write_answer`.
    """
    answer = write_answer(text, client=event.client, name=event.name, event=event.event, notice=notice)
    return answer.encode("ascii") + b"\n" if answer else b""


def deliver(reply: Reply, printed: bytes, connection: Connection, elapsed_ms: Callable[[], float]) -> None:
    """Hand an answer over to its hook, and record it once the agent has it.

    Args:
        reply: The reply that is recorded, or dropped when the hook does not say that the agent has it.
        printed: The bytes that the hook prints for it.
        connection: To the hook.
        elapsed_ms: Gives the milliseconds since the hook started.
    """
    try:
        connection.send(printed, reply.debug_line.encode("utf-8", "replace"), timeout_s=SEND_S)
        latency_ms = float(connection.receive(timeout_s=_DELIVERY_S)[0]) if printed else elapsed_ms()
    except (WireError, ValueError):
        reply.drop(elapsed_ms())
    else:
        reply.finish(latency_ms)


def client_of(client: str, environ: Mapping[str, str]) -> str:
    """Return the client that really calls: others run hooks of Claude Code's settings too, each with its dialect.

    Args:
        client: The client from the command line; one whose settings no other reads is believed.
        environ: Environment of the hook process.
    """
    shared_with = client_named(client).shared_with
    return next((name for name in shared_with if environ.get(client_named(name).mark)), client)

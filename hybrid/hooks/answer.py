"""Writes a hook's answer in the form its client takes: one ASCII JSON object, or nothing at all.

Standard library only and cheap to import: every hook process writes its answer here.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False  # `typing` costs a hook four milliseconds.
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hybrid.types import HookEvent

TAKING = ("UserPromptSubmit", "SessionStart", "PostToolUse", "SubagentStart")
"""Events (in our words) whose answer reaches an agent. On the others a text is an error shown to the user, lands in the
compacted context, or forces the agent to go on."""

_TWICE = ("copilot", "vscode")
"""Clients that read a text at the top level; some of their events and versions read the nested one."""

_WITHOUT_NOTICE = ("copilot", "opencode")
"""Clients that have no line for the user."""


def write_answer(text: str, *, client: str, name: str, event: str, notice: str = "") -> str:
    """The answer that adds a text to the agent's context, or tells the user something.

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
    if not text:
        return json.dumps({"systemMessage": notice}) if notice and client not in _WITHOUT_NOTICE else ""
    if client == "opencode":
        return json.dumps({"text": text})
    answer: dict[str, object] = {"additionalContext": text} if client in _TWICE else {}
    answer["hookSpecificOutput"] = {"hookEventName": name or event, "additionalContext": text}
    if notice and client not in _WITHOUT_NOTICE:
        answer["systemMessage"] = notice
    return json.dumps(answer)


def printed_answer(text: str, event: HookEvent, *, notice: str = "") -> bytes:
    """What the hook of an event prints: the answer on a line of its own, or nothing.

    Args:
        text: What to add.
        event: That is answered.
        notice: As in `write_answer`.
    """
    answer = write_answer(text, client=event.client, name=event.name, event=event.event, notice=notice)
    return answer.encode("ascii") + b"\n" if answer else b""


def client_of(client: str, environ: Mapping[str, str]) -> str:
    """Who really calls: other products run the hooks of Claude Code's settings files too, each with its own dialect.

    Where Copilot and Claude Code run inside each other both marks are inherited; Copilot's answer suits both.

    Args:
        client: From the command line; only `claude` is doubted.
        environ: Of the hook process.
    """
    if client != "claude":
        return client
    if environ.get("COPILOT_CLI"):
        return "copilot"
    if environ.get("CLAUDECODE"):
        return client
    if environ.get("QWEN_CODE_SESSION_ID"):
        return "qwen"
    return "gemini" if environ.get("GEMINI_SESSION_ID") else client

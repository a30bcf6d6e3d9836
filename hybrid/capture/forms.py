"""Tells what a person or the agent said in one entry of a transcript, whatever client wrote it; used by `transcript`.

Known are the entries of Claude Code, Codex, Gemini CLI, Qwen Code and Copilot CLI. What a subagent, a tool or the
client itself says is nothing, as is an entry of any other form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

from hybrid.render.marks import MACHINE_TAG_PREFIXES

if TYPE_CHECKING:
    from collections.abc import Callable

Role = Literal["user", "agent"]

_TEXT_TYPES = ("text", "output_text", "input_text")
_HARNESS_PREFIXES = (
    *MACHINE_TAG_PREFIXES,
    "<environment_context",
    "<user_instructions",
    "<session_context",
    "# agents.md instructions",
    "[request interrupted by user",
)
_CODEX_ROLES: dict[str, Role] = {"assistant": "agent", "user": "user"}


@dataclass(frozen=True, slots=True)
class Said:
    """Something that was said.

    Attributes:
        role: Who said it.
        text: Never blank, without lone surrogates.
        id: The client's id of the message; several entries may be parts of one message. Empty when it has none.
    """

    role: Role
    text: str
    id: str


def said_in(entry: object) -> Said | None:
    """What a person or the agent said in an entry, which may be any value that JSON has; else None."""
    fields = _dict(entry)
    read = _READERS.get(fields.get("type")) if isinstance(fields.get("type"), str) else None
    said = read(fields) if read else None
    if said is None or not said.text.strip():
        return None
    is_harness = said.role == "user" and said.text.lstrip()[:80].lower().startswith(_HARNESS_PREFIXES)
    return None if is_harness else said


def _of_claude_or_qwen(fields: dict[str, Any]) -> Said | None:
    """Claude Code and Qwen Code: `{"type": "assistant", "message": {"content" or "parts": […]}, "uuid": …}`."""
    message = _dict(fields.get("message"))
    is_other = fields.get("isSidechain") or fields.get("isMeta") or fields.get("isCompactSummary")
    if is_other or fields.get("agentId") or fields.get("isApiErrorMessage") or message.get("model") == "<synthetic>":
        return None
    shown = _dict(fields.get("systemPayload")).get("displayText")
    text = shown if isinstance(shown, str) else _texts(message.get("content", message.get("parts")))
    role: Role = "agent" if fields["type"] == "assistant" else "user"
    return Said(role, text, _id(message.get("id"), fields.get("uuid")))


def _of_codex(fields: dict[str, Any]) -> Said | None:
    """Codex: `{"type": "response_item", "payload": {"type": "message", "role": …, "content": […]}}`, or the payload."""
    payload = _dict(fields.get("payload")) or fields
    role = _CODEX_ROLES.get(str(payload.get("role")))
    if payload.get("type") != "message" or role is None:
        return None
    return Said(role, _texts(payload.get("content")), _id(payload.get("id")))


def _of_gemini(fields: dict[str, Any]) -> Said | None:
    """Gemini CLI: `{"type": "gemini", "id": …, "content": text or parts}`."""
    role: Role = "agent" if fields["type"] == "gemini" else "user"
    return Said(role, _texts(fields.get("displayContent") or fields.get("content")), _id(fields.get("id")))


def _of_copilot(fields: dict[str, Any]) -> Said | None:
    """Copilot CLI: `{"type": "assistant.message", "data": {"content": text, "messageId": …}}`."""
    data = _dict(fields.get("data"))
    if data.get("parentToolCallId") or data.get("agentId") or fields.get("agentId"):
        return None
    role: Role = "agent" if fields["type"] == "assistant.message" else "user"
    return Said(role, _texts(data.get("content")), _id(data.get("messageId"), fields.get("id")))


def _of_user(fields: dict[str, Any]) -> Said | None:
    """Three clients have entries of the type `user`."""
    return _of_claude_or_qwen(fields) if "message" in fields else _of_gemini(fields)


_READERS: dict[Any, Callable[[dict[str, Any]], Said | None]] = {
    "assistant": _of_claude_or_qwen,
    "user": _of_user,
    "gemini": _of_gemini,
    "response_item": _of_codex,
    "message": _of_codex,
    "assistant.message": _of_copilot,
    "user.message": _of_copilot,
}


def _texts(content: object) -> str:
    """Text, or the texts of blocks joined by blank lines, without thoughts, calls and results of tools."""
    if isinstance(content, str):
        return _clean(content)
    if not isinstance(content, list):
        return ""
    blocks = [_dict(block) for block in cast("list[object]", content)]
    texts = [
        block.get("text") for block in blocks if block.get("type", "text") in _TEXT_TYPES and not block.get("thought")
    ]
    return _clean("\n\n".join(text for text in texts if isinstance(text, str)))


def _clean(text: str) -> str:
    """Lone surrogates, which JSON may hold, become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _id(*values: object) -> str:
    return next((value for value in values if isinstance(value, str) and value), "")


def _dict(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}

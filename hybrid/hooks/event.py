"""Reads a hook event from any client into one form, whatever is unknown, missing or broken in it.

Standard library only and cheap to import: every hook process reads its event here. The result is a plain `Fields`
mapping that goes to the service as JSON, and becomes a `HookEvent` where the engine is.
"""

from __future__ import annotations

import json

from hybrid.hooks.shortening import shortened

TYPE_CHECKING = False  # `typing` costs a hook four milliseconds.
if TYPE_CHECKING:
    from typing import Any, TypeGuard

MAX_BYTES = 32_000_000
"""Events longer than this are not read: a prompt of that size is a mistake."""

MAX_PROMPT_CHARS = 400_000
"""Of a longer prompt or report the beginning is read: it was pasted, and cleaning megabytes would outlast the
deadline."""

MAX_ID_CHARS = 200
"""Of a name that a client gives something: a session, an agent, a tool, the use of one. No client comes near it."""

MAX_PATH_CHARS = 4_096
"""No system takes a longer path."""

MAX_PATHS = 200
"""Files of one event that are told: a patch of more is found by the next sweep over the project."""

EVENTS = {
    "UserPromptSubmit": (
        "UserPromptSubmit",
        "userPromptSubmitted",
        "BeforeAgent",
        "beforeSubmitPrompt",
        "chat.message",
    ),
    "SessionStart": ("SessionStart", "session.created"),
    # A tool that failed has an event of its own in some clients; which it was is told by `error`.
    "PostToolUse": ("PostToolUse", "PostToolUseFailure", "AfterTool", "tool.execute.after"),
    "SubagentStart": ("SubagentStart",),
    "PreCompact": ("PreCompact", "PreCompress", "experimental.session.compacting"),
    "Stop": ("Stop", "agentStop", "AfterAgent", "session.idle"),
    "SessionEnd": ("SessionEnd", "session.deleted"),
}
"""Our word for an event → the words of the clients. An answer to an event that takes none is shown as an error, or
reaches the agent as text that nobody meant for it."""

_CANONICAL = {name.lower(): event for event, names in EVENTS.items() for name in names}

_SUBAGENT_TOOLS = ("agent", "task")
_WRITING_WORDS = ("write", "edit", "patch", "create", "replace")
"""Tools with such a word in their name write files, whoever made them; a file named in vain costs one `stat`."""
_PATH_FIELDS = ("file_path", "filePath", "path", "notebook_path", "notebookPath")
_PATCH_BEGIN = "*** Begin Patch"
_PATCH_MARKS = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")


def event_of(name: str) -> str | None:
    """Our word for an event by any client's word for it; None for one that is not known."""
    return _CANONICAL.get(name.lower())


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
    fields = _flat(_object(data))
    name = event or _text(fields, "hook_event_name", "hookEventName") or "UserPromptSubmit"
    known = event_of(name)
    if known is None:
        raise EventError(f"{bounded_id(name)} is no event that hybrid knows: the hook is registered for the wrong one")
    is_use = known == "PostToolUse"
    tool = _id(fields, "tool_name", "toolName") if is_use else ""
    given = _either(fields, "tool_input", "toolArgs") if is_use else None
    result = _either(fields, "tool_response", "tool_result", "toolResult") if is_use else None
    return {
        "client": bounded_id(client),
        "event": known,
        "name": name,
        "session_id": _id(fields, "session_id", "sessionId", "sessionID"),
        "agent_id": _id(fields, "agent_id", "agentId"),
        "cwd": _path(fields, "cwd", "directory") or cwd,
        "prompt": _text(fields, "submitted_prompt", "prompt")[:MAX_PROMPT_CHARS],
        "source": _id(fields, "source", "reason", "trigger"),
        "tool": tool,
        "tool_use_id": _id(fields, "tool_use_id", "toolUseId", "callID") if is_use else "",
        "tool_input": given,
        "tool_response": result,
        "error": _text(fields, "error") if is_use else "",
        "paths": _paths(tool, given),
        "report": _report(tool, result),
        "message": _message(known, fields),
        "transcript": _path(fields, "transcript_path", "transcriptPath"),
    }


def _object(data: bytes) -> dict[str, Any]:
    if len(data) > MAX_BYTES:
        raise EventError(f"hook input of {len(data)} bytes or more is not read")
    text = shortened(data).decode("utf-8-sig", "replace")
    if not text.strip():
        raise EventError("hook input is empty")
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise EventError(f"hook input is not JSON: {error}") from error
    if not _is_object(fields):
        raise EventError(f"hook input is not an object but {type(fields).__name__}")
    return fields


def _flat(fields: dict[str, Any]) -> dict[str, Any]:
    """The input of OpenCode's modules (`input` and `output` objects) under the names of the others; others as is."""
    given, made = _dict(fields.get("input")), _dict(fields.get("output"))
    if not given:
        return fields
    known = _dict(given.get("properties"))
    return {
        "hook_event_name": given.get("type"),
        **_dict(known.get("info")),
        **known,
        **given,
        "prompt": _texts(made.get("parts")),
        "tool_name": given.get("tool"),
        "tool_input": given.get("args"),
        "tool_use_id": given.get("callID"),
        "tool_response": _made(given, made),
        **{name: fields[name] for name in ("cwd", "directory", "source") if name in fields},
    }


def _made(given: dict[str, Any], made: dict[str, Any]) -> object:
    """What a tool of OpenCode answered: of a subagent its text, else its output and exit code."""
    output = made.get("output")
    if given.get("tool") in _SUBAGENT_TOOLS or not isinstance(output, str):
        return output
    return {"output": output, "exit": _dict(made.get("metadata")).get("exit")}


def _report(tool: str, response: object) -> str:
    """The final text of a subagent; empty for other tools, and for one that was only launched."""
    if tool.lower() not in _SUBAGENT_TOOLS:
        return ""
    answer = _dict(response)
    if answer.get("status") == "async_launched" or answer.get("isAsync"):
        return ""
    if answer:
        response = _either(answer, "content", "llmContent", "textResultForLlm", "text_result_for_llm")
    return _clean(response if isinstance(response, str) else _texts(response))[:MAX_PROMPT_CHARS]


def _message(event: str, fields: dict[str, Any]) -> str:
    """The last text of the agent, at the end of its turn."""
    return _text(fields, "last_assistant_message", "prompt_response")[:MAX_PROMPT_CHARS] if event == "Stop" else ""


def _texts(parts: object) -> str:
    """The texts of content blocks; what a client adds for itself (usage, how to go on) is left out."""
    if not _is_list(parts):
        return ""
    found = [part.get("text") for part in map(_dict, parts) if not part.get("synthetic")]
    return "\n\n".join(text for text in found if isinstance(text, str) and not text.startswith("agentId: "))


def _paths(tool: str, arguments: object) -> list[str]:
    """The files that a tool wrote, as the client names them."""
    if isinstance(arguments, str) and arguments.startswith("{"):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return []
    if isinstance(arguments, str):
        return _patched(arguments)
    given = _dict(arguments)
    patches = [value for value in given.values() if isinstance(value, str) and _PATCH_BEGIN in value]
    if patches:
        return _patched(patches[0])
    path = _path(given, *_PATH_FIELDS)
    return [path] if path and any(word in tool.lower() for word in _WRITING_WORDS) else []


def _patched(text: str) -> list[str]:
    """The file names in a patch of Codex's form, each once."""
    if _PATCH_BEGIN not in text:
        return []
    lines = text[text.index(_PATCH_BEGIN) :].splitlines()
    found = [line[len(mark) :].strip() for line in lines for mark in _PATCH_MARKS if line.startswith(mark)]
    return [_clean(path) for path in dict.fromkeys(found) if 0 < len(path) <= MAX_PATH_CHARS][:MAX_PATHS]


def _dict(value: object) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if _is_object(value) else {}


def _is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _either(fields: dict[str, Any], *names: str) -> Any:
    """The first of the fields that is there."""
    return next((fields[name] for name in names if fields.get(name) is not None), None)


def bounded_id(text: str) -> str:
    """A client's name of something as it may be kept: short, and without secrets.

    What is left out is told apart by 32 hex digits of its SHA-256, so that different names stay different.
    """
    if _is_uuid(text):
        return text
    from hybrid.redact import redact  # Where an event is read, it is there as a rule.

    # A secret may begin near the end of what is shown.
    shown = redact(text[: 5 * MAX_ID_CHARS])
    if shown == text and len(text) <= MAX_ID_CHARS:
        return text
    import hashlib

    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"{shown[: MAX_ID_CHARS - len(digest) - 1]}~{digest}"


def _is_uuid(text: str) -> bool:
    return len(text) == 36 and text.count("-") == 4 and not text.strip("0123456789abcdefABCDEF-")


def _id(fields: dict[str, Any], *names: str) -> str:
    return bounded_id(_text(fields, *names))


def _path(fields: dict[str, Any], *names: str) -> str:
    found = _text(fields, *names)
    return found if len(found) <= MAX_PATH_CHARS else ""


def _text(fields: dict[str, Any], *names: str) -> str:
    """The first of the fields that is text and not empty; lone surrogates become question marks."""
    for name in names:
        value = fields.get(name)
        if isinstance(value, str) and value:
            return _clean(value)
    return ""


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")

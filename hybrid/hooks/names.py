"""The clients' words for their events, and our word for each. Standard library only and cheap to import."""

from __future__ import annotations

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


def event_of(name: str) -> str | None:
    """Return our word for an event from any client's word for it; None for an event that is not known."""
    return _CANONICAL.get(name.lower())


SESSION_VARIABLES = ("CLAUDE_CODE_SESSION_ID", "GEMINI_SESSION_ID", "QWEN_CODE_SESSION_ID")
"""Environment variables in which a client names its session to the programs that it starts."""

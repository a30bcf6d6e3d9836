"""Writes a hook's answer in the form its client takes: one ASCII JSON object, or nothing at all."""

from __future__ import annotations

import json


def prompt_answer(text: str, event: str = "UserPromptSubmit") -> str:
    """The answer that adds a text to the agent's context, as Claude Code and others take it; nothing for no text.

    Args:
        text: What to add.
        event: Name of the event that is answered; without it the client drops the text and shows an error.
    """
    if not text:
        return ""
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}, ensure_ascii=True)

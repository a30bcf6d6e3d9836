"""Small recorded sessions of an agent, a hook event a line, as `hybrid eval memory` replays them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PAY = "def charge(card):\n    '''Charge a card, and once more when the bank is silent.'''\n    while True:\n        pass\n"
KEEL = "def caulk(seam):\n    '''Press oakum into a seam of the hull.'''\n    return seam + 'oakum'\n"


def event(name: str, *, session: str, **fields: Any) -> str:
    """A line of a recording."""
    return json.dumps({"session_id": session, "cwd": "$PROJECT", "hook_event_name": name, **fields})


def read(session: str, use: str, path: str, content: str) -> str:
    """A file that was read."""
    file = {"filePath": f"$PROJECT/{path}", "content": content, "numLines": content.count("\n"), "startLine": 1}
    given = {"file_path": f"$PROJECT/{path}"}
    return event(
        "PostToolUse",
        session=session,
        tool_name="Read",
        tool_input=given,
        tool_use_id=use,
        tool_response={"type": "text", "file": file},
    )


def failed(session: str, use: str, command: str, error: str) -> str:
    """A command that failed."""
    given = {"command": command, "description": "Run it"}
    return event(
        "PostToolUseFailure", session=session, tool_name="Bash", tool_input=given, tool_use_id=use, error=error
    )


SHOP = [
    event("SessionStart", session="s1", source="startup"),
    event("UserPromptSubmit", session="s1", prompt="Cap the retries of the payment client at five attempts"),
    read("s1", "t1", "src/pay.py", PAY),
    read("s1", "t2", "src/pay.py", PAY),
    event(
        "PostToolUse",
        session="s1",
        tool_name="TodoWrite",
        tool_use_id="t3",
        tool_input={"todos": [{"content": "cap the retries of the payment client", "status": "pending"}]},
        tool_response={"oldTodos": [], "newTodos": ["cap the retries of the payment client"]},
    ),
    failed("s1", "t4", "pytest tests/test_pay.py", "Exit code 1\nNameError: name 'MAX_ATTEMPTS' is not defined"),
    event(
        "Stop",
        session="s1",
        last_assistant_message="I replaced the endless loop of charge by five attempts; MAX_ATTEMPTS is missing.",
    ),
    event("SessionEnd", session="s1", reason="other"),
]
"""Lines: 1 and 6 are told by the summary, 2 and 3 are one observation, 4 is filtered out, 5 is an observation."""

BOATS = [
    event("UserPromptSubmit", session="b1", prompt="Where do we caulk the seams of the hull?"),
    read("b1", "t1", "src/keel.py", KEEL),
    event("Stop", session="b1", last_assistant_message="The seams are caulked by caulk in src/keel.py."),
]
"""A session without an end, of another project."""


def write_sessions(folder: Path, **sessions: Sequence[str]) -> Path:
    """A folder of recordings; `shop_1` becomes `shop-1.jsonl`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in sessions.items():
        (folder / f"{name.replace('_', '-')}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder

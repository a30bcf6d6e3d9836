"""An edit was searched for secrets 26 times, mostly the same paths, ids and empty texts (#39)."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from hybrid.answer.decide import Turn
from hybrid.answer.events import answer
from hybrid.hooks.event import parse_event
from tests.support.records import new_talk

if TYPE_CHECKING:
    from pathlib import Path
    from types import FrameType

    from hybrid.types import HookEvent
    from tests.support.records import Talk

MOST = 8


def _edit(talk: Talk, number: int) -> HookEvent:
    path = talk.root / "src" / "payments" / "client.py"
    before, after = f"attempts_{number}", f"attempts_{number + 1}"
    lines = {"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": [f"-{before}", f"+{after}"]}
    event = {
        "session_id": talk.session_id,
        "hook_event_name": "PostToolUse",
        "cwd": str(talk.root),
        "tool_name": "Edit",
        "tool_use_id": f"toolu_{number}",
        "tool_input": {"file_path": str(path), "old_string": before, "new_string": after},
        "tool_response": {"filePath": str(path), "originalFile": path.read_text(), "structuredPatch": [lines]},
    }
    return parse_event(json.dumps(event).encode(), client="claude", event="", cwd="", key=str(number))


def test_an_edit_is_searched_for_secrets_a_few_times(tmp_path: Path) -> None:
    """What came with the edit before is known; each new text is looked at, and all of them together twice."""
    talk = new_talk(tmp_path, {}, is_indexed=True)
    searched: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name == "find_secrets":
            searched.append(frame.f_locals["text"])

    for number in (1, 2):
        searched.clear()
        before = sys.getprofile()
        sys.setprofile(note)
        try:
            answer(Turn(talk.workspace(), _edit(talk, number * 10), talk.kinds, {})).finish(12.0)
        finally:
            sys.setprofile(before)

    assert 0 < len(searched) <= MOST, searched
    assert any("attempts_21" in text for text in searched)

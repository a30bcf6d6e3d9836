"""Small files of other tools, as they write them, for the pages that tell how to move from one of them."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from tests.support.builders import write_files

if TYPE_CHECKING:
    from pathlib import Path

_LESSONS = """\
# LESSONS.md - Project Level

## Active Lessons

### [L001] [**---|+----] Never retry a declined card
- **Uses**: 3 | **Velocity**: 0.5 | **Learned**: 2026-10-02 | **Last**: 2026-11-20 | **Category**: gotcha
> A declined card is an answer; only a timeout is tried again.
"""
_SYSTEM_LESSONS = """\
# LESSONS.md - System Level

## Active Lessons

### [S001] [*----|-----] Small commits
- **Uses**: 1 | **Velocity**: 0 | **Learned**: 2026-10-02 | **Last**: 2026-10-02 | **Category**: preference
> One change each, with the reason in the body.
"""
_PATTERNS = """\
patterns:
  - id: "pat-00000001"
    name: "Frozen clock in tests"
    context: "tests of retries"
    problem: "sleeping makes tests slow"
    solution: "pass the clock in"
    category: "testing"
    confidence: 0.8
anti_patterns: []
"""
_DECISION = {
    "id": "dec-a1b2c3d4",
    "timestamp": "2026-10-02T09:00:00Z",
    "decision": "Keep passwords in the vault",
    "rationale": "one place to rotate them",
    "status": "active",
}
_CLAUDE_MEM = """
CREATE TABLE sdk_sessions(id INTEGER PRIMARY KEY, content_session_id TEXT, memory_session_id TEXT, project TEXT, user_prompt TEXT,
  started_at_epoch INTEGER, completed_at_epoch INTEGER, status TEXT, prompt_counter INTEGER);
CREATE TABLE observations(id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, text TEXT, type TEXT, title TEXT, subtitle TEXT,
  facts TEXT, narrative TEXT, concepts TEXT, files_read TEXT, files_modified TEXT, prompt_number INTEGER, created_at_epoch INTEGER);
INSERT INTO sdk_sessions VALUES (1, 'c1', 'm1', 'shop', 'make the retry loop slower', 1790000000000, NULL, 'completed', 1);
INSERT INTO observations VALUES (1, 'm1', 'shop', NULL, 'bugfix', 'Retry loop waits twice as long each time', NULL,
  '["the wait doubles"]', 'It slept a fixed second before.', '["problem-solution"]', '[]', '["src/payments/client.py"]', 1, 1790000000000);
"""


def write_neighbours(user_home: Path, beside: Path) -> None:
    """Write the files of claude-mem, claude-recall and lore.

    Args:
        user_home: Gets what these tools keep for a user.
        beside: Gets a project `other` with lessons of its own.
    """
    files = {
        ".local/state/claude-recall/LESSONS.md": _SYSTEM_LESSONS,
        "lore/patterns/data/patterns.yaml": _PATTERNS,
        "lore/journal/data/decisions.jsonl": json.dumps(_DECISION) + "\n",
    }
    write_files(user_home, files)
    write_files(beside, {"other/.claude-recall/LESSONS.md": _LESSONS})
    path = user_home / ".claude-mem" / "claude-mem.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as db, db:
        db.executescript(_CLAUDE_MEM)

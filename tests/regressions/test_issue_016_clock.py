"""A clock that was set back silences nothing: times that lie ahead are those of before (#16)."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from typing import TYPE_CHECKING

import pytest

from hybrid.ipc.spool import Spool
from tests.support.agent import Agent, until
from tests.support.builders import new_shop

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.builders import Shop

LESSON = "LESSON: gotcha: Clear the plan cache after a migration - stale plans are served otherwise"
DAY_S = 86_400
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the service is ended with signals of POSIX")


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    """A project that is indexed; its service ends with the test."""
    made = new_shop(tmp_path)
    yield made
    Agent(made).stop_service()


def test_a_session_that_started_tomorrow_starts_again(shop: Shop) -> None:
    """Its start is answered as any other, not taken for a second registration of the hook."""
    alone = Agent(shop, environ={"HYBRID_DAEMON_ENABLED": "false"})
    alone.prompt("How does the payment client retry?")
    alone.send("SessionStart", source="compact")
    [ledger] = (path for path in shop.home.rglob("*.jsonl") if b'"start"' in path.read_bytes())
    ahead = re.sub(r'"t":(\d+)', lambda match: f'"t":{int(match[1]) + DAY_S}', ledger.read_text())
    ledger.write_text(ahead)
    alone.send("SessionStart", source="compact")

    assert "repeated" not in shop.reasons()


def test_an_event_of_tomorrow_is_taken_in_today(shop: Shop) -> None:
    """What was kept, tried and marked before the clock was set back has its effects, and a service starts."""
    spool = Spool(str(shop.home))
    ahead_s = time.time() + DAY_S
    data = json.dumps({"session_id": "s1", "cwd": str(shop.root), "prompt": LESSON}).encode()
    key = f"{int(ahead_s * 1000):013d}-abcdefabcdef"
    spool.keep(key, b"claude", b"UserPromptSubmit", b"/", b"", data)
    begun = spool.begin(spool.waiting()[0])
    (shop.home / "run").mkdir(exist_ok=True)
    (shop.home / "run/starting").touch()
    for path in shop.home.rglob("*"):
        os.utime(path, (ahead_s, ahead_s))
    agent = Agent(shop)
    agent.prompt("How does the payment client retry?", "s2")
    until(lambda: not spool.waiting())
    files = [*shop.home.rglob("LESSONS.md"), *shop.root.rglob("LESSONS.md")]

    assert begun is not None
    assert agent.wait_for_service()
    assert 1 == sum(file.read_text().count("\n### ") for file in files)

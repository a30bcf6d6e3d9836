"""A first build of the index under a call, calls that are cancelled, and settings that forbid a build."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING

import pytest

from tests.support.agent import Agent, until
from tests.support.builders import write_files
from tests.support.tool_client import text_of, tools_of
from tests.support.tool_texts import hits_of

if TYPE_CHECKING:
    from tests.support.builders import Shop


def _many_files(shop: Shop, count: int = 400) -> None:
    body = "\n\n".join(f"def part_{n}(rows):\n    return [row for row in rows if row != {n}]" for n in range(30))
    write_files(shop.root, {f"src/many/file_{n}.py": f'"""File {n}."""\n\n{body}\n' for n in range(count)})


def test_a_first_build_tells_how_far_it_is_and_then_answers(unindexed: Shop) -> None:
    """A client that wants to hear of progress hears of the build, and gets its answer in the same call."""
    heard: list[tuple[float, float | None, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    with tools_of(unindexed) as tools:
        result = tools.result("search", hear, query="how does the payment client retry")

    assert not result.is_error
    assert hits_of(text_of(result))[0].ref.startswith("src/payments/client.py:")
    assert heard
    assert all(0 <= share <= 1 == total for share, total, _ in heard)
    assert all(message and "index" in message for *_, message in heard)


def test_without_automatic_builds_the_remedy_is_named(unindexed: Shop) -> None:
    """With `index.auto` off nobody builds behind the user's back: the error says what to run.

    Lessons and memory need no index of the files.
    """
    unindexed.out("config", "set", "index.auto", "false", "--user")
    with tools_of(unindexed) as tools:
        assert "No lesson fits." == tools.text("lessons")
        assert "Nothing is remembered of that." == tools.text("recall")
        tools.text("remember", title="The index is not there yet")
        for name, arguments in (
            ("search", {"query": "payment client"}),
            ("read", {"ref": "README.md"}),
            ("related", {"file": "README.md"}),
        ):
            assert "hybrid reindex" in tools.error(name, **arguments)


def test_a_cancelled_call_ends_at_once_and_the_next_one_works(unindexed: Shop) -> None:
    """A call that waits for a long build can be cancelled; the session goes on meanwhile."""
    _many_files(unindexed)
    is_heard = threading.Event()

    async def hear(*_: object) -> None:
        is_heard.set()

    with tools_of(unindexed) as tools:
        call = tools.begin("search", hear, query="part of many files")
        assert is_heard.wait(60)
        call.cancel()
        with pytest.raises(CancelledError):
            call.result(10)
        assert "No lesson fits." == tools.text("lessons")


def test_the_service_comes_back_under_a_session(small: Shop) -> None:
    """A service that ended is started by the next call."""
    with tools_of(small) as tools:
        assert tools.refs(query="payment client", limit=1)
        agent = Agent(small)
        small.out("daemon", "stop", "--quiet")
        until(lambda: not agent.status()["running"])
        assert tools.refs(query="user store", limit=1)

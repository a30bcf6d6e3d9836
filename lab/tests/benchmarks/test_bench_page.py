"""Pages over 100,000 observations and 100,000 lines of the log, from request to the last byte, beside a file as it is."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import pytest

from hybrid.records.memory.store import MemoryStore
from hybrid.records.memory.types import Extracted
from tests.support.agent import Agent
from tests.support.builders import new_shop
from tests.support.memories import FIRST_MS, shop_owner
from tests.support.pages import Served, event_line, write_log

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.browsing import Browser

pytestmark = pytest.mark.bench

N = 100_000
_TYPES = ("bugfix", "feature", "discovery", "change")
_REASONS = ("injected", "gate", "prompt", "same_topic")
_MINUTE_MS = 60_000


def _observations(key: str) -> Iterator[str]:
    """Lines as `hybrid memory export` writes them, a minute apart, of a hundred sessions."""
    yield json.dumps({"kind": "header", "format": "hybrid-memory", "version": 1})
    for number in range(N):
        at_ms = FIRST_MS + number * _MINUTE_MS
        row = {
            "kind": "observation",
            "session_id": f"s{number % 100}",
            "project_key": key,
            "project": "shop",
            "type": _TYPES[number % 4],
            "title": f"Change the handling of case {number}",
            "subtitle": "",
            "narrative": f"Case {number} is handled as the other ones are; the tests pass.",
            "facts": [],
            "concepts": [],
            "files_read": [f"src/module{number % 500}.py"],
            "files_modified": [f"src/module{number % 499}.py"],
            "prompt_number": 1,
            "discovery_tokens": 10,
            "repeat_count": 0,
            "created_ms": at_ms,
            "created_at": datetime.fromtimestamp(at_ms / 1000, timezone.utc).isoformat(),
            "digest": f"{number:064x}",
        }
        yield json.dumps(row)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The page of a project with so many rows; the log is not rotated."""
    shop = new_shop(tmp_path_factory.mktemp("large"))
    key = shop_owner(shop).key
    with MemoryStore(shop.home / "memory.db") as store:
        assert N == store.import_lines(_observations(key), FIRST_MS + N * _MINUTE_MS).n_observations
    events = (event_line(number, key, reason=_REASONS[number % 4]) for number in range(1, N))
    write_log(shop, [*events, event_line(N, key, reason="error", error="the only one", items=[])])
    # The service is there before, so that it does not index the memory of the project first.
    shop.out("daemon", "start", "--quiet")
    found = Served(shop)
    found.log_in()
    yield found
    found.end()
    Agent(shop).stop_service()


@pytest.mark.parametrize(
    "path",
    [
        "/static/page.css",
        "/now",
        "/now?reason=error",
        "/now?owner=*",
        "/projects",
        "/now?show=prompts&before=0000640064",
        "/gate",
        "/memory",
        "/memory?before=1768106400000.o1001",
        f"/memory?before={FIRST_MS + 10 * _MINUTE_MS}.o11",
        "/memory?type=bugfix",
        "/memory?type=bugfix&type=summary&owner=*",
        "/memory?type=bugfix&file=src/module7.py",
        "/memory?since=2026-03-01",
    ],
)
def test_bench_page(benchmark: Any, page: Served, path: str) -> None:
    """One page; the first row is a file that nothing is looked up for."""
    browser: Browser = page.browser
    whole = path if path.startswith(("/static", "/projects")) else f"{page.base}{path}"
    browser.get(whole)
    answer = benchmark(browser.get, whole)

    assert 200 == answer.status


def test_bench_page_after_a_change(benchmark: Any, page: Served) -> None:
    """The first page of the memory after an agent did something more: what was counted before is not counted again."""
    owner, made = shop_owner(page.shop), iter(range(N, 2 * N))

    def change() -> None:
        number = next(made)
        with MemoryStore(page.shop.home / "memory.db") as store:
            added = Extracted("change", f"One more change {number}", narrative="It is new.")
            assert store.add_observation(owner, added, FIRST_MS + number * _MINUTE_MS)

    page.browser.get(f"{page.base}/memory")
    answer = benchmark.pedantic(page.browser.get, (f"{page.base}/memory",), setup=change, rounds=10)

    assert 200 == answer.status

"""A small memory of two projects, written through the store: the payments project's, and one of a blog.

Beside it stand small pieces of what the store is given, and extractors that say what they were given.
"""

from __future__ import annotations

import hashlib
import json
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from hybrid.project.find import find_project
from hybrid.records.memory.store import MemoryStore
from hybrid.records.memory.types import Extracted, Owner, PendingEvent, Summarised
from hybrid.records.memory.writing import open_session

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.support.builders import Shop

FIRST_MS = int(datetime(2026, 1, 10, 12, tzinfo=timezone.utc).timestamp() * 1000)
"""Of the first observation; noon in London is the same day nearly everywhere."""
DAY_MS = 86_400_000
BLOG = Owner("blog-session", "b" * 16, "blog")

NOW_MS = 1_771_000_000_000
"""2026-02-13, 16:26:40 UTC."""
WINDOW_MS = 3_000

HERE = Owner("s1", "1" * 16, "shop")
THERE = Owner("s2", "2" * 16, "bank")

RETRY = Extracted(
    "bugfix",
    "Cap retry attempts at 5 in PaymentClient",
    narrative="The loop never ended after a timeout of the provider.",
    facts=("attempts 10 → 5",),
    concepts=("problem-solution",),
    files_read=("docs/deploy.md",),
    files_modified=("src/payments/client.py",),
)
FAILED = Extracted(
    "discovery",
    "Run pytest tests/test_store.py → 2 failed: test_save",
    narrative="The address was compared with its case.",
    files_read=("src/users/store.py",),
)
COOKIE = Extracted(
    "change",
    "Sign the cookie with a new key",
    narrative="Readers log in again.",
    files_modified=("src/users/store.py",),
)


def shop_owner(shop: Shop, session: str = "s-shop") -> Owner:
    """The payments project, in one of its sessions."""
    found = find_project(shop.root, shop.home, shop.home / "user")
    assert found is not None
    return Owner(session, found.key, found.name)


def fill_memory(shop: Shop) -> MemoryStore:
    """Observations 1 and 2 and summary 1 of the shop, a day apart; observation 3 of the blog, another day later."""
    owner = shop_owner(shop)
    store = MemoryStore(shop.home / "memory.db")
    store.add_prompt(owner, "Make the retry loop end", FIRST_MS - 1000)
    assert store.add_observation(owner, RETRY, FIRST_MS)
    assert store.add_observation(owner, FAILED, FIRST_MS + DAY_MS)
    done = Summarised(request="Make the retry loop end", completed="Capped the attempts.", next_steps="Mend test_save.")
    assert store.add_summary(owner, done, FIRST_MS + DAY_MS + 60_000)
    assert store.add_observation(BLOG, COOKIE, FIRST_MS + 2 * DAY_MS)
    store.close()
    return store


def told(title: str = "", **parts: object) -> Extracted:
    """What is told of a change, unless something else is given."""
    return Extracted(**{"type": "change", "title": title} | parts)  # pyright: ignore[reportArgumentType]


def event(name: str, tool: str = "Edit", at_ms: int = NOW_MS, tokens: int = 1) -> PendingEvent:
    """A tool use that is known by its name."""
    return PendingEvent(tool, json.dumps({"name": name}), hashlib.sha256(name.encode()).hexdigest(), tokens, at_ms)


def make(events: Sequence[PendingEvent], prompt: str) -> Extracted | None:
    """Tells the names of the uses in the title, and the prompt; nothing of uses of `Nothing`."""
    names = " ".join(json.loads(one.payload)["name"] for one in events)
    if events[0].tool == "Nothing":
        return None
    return Extracted("change", names, subtitle=events[0].tool, narrative=prompt)


def fails(events: Sequence[PendingEvent], prompt: str) -> Extracted | None:
    """An extractor with a defect."""
    raise LookupError(f"no rule for {events[0].tool}")


def begin_session(store: MemoryStore, owner: Owner, now_ms: int) -> None:
    """Open a session without a prompt."""
    store.database.write(lambda db: open_session(db, owner, now_ms))


def titles(store: MemoryStore) -> list[str]:
    """Of all observations, in the order in which they were stored."""
    return [row.told.title for row in store.all_rows("observation")]  # pyright: ignore[reportAttributeAccessIssue]


def matching(store: MemoryStore, query: str, table: str = "observations_fts") -> list[int]:
    """The ids of the rows whose full text fits a query of FTS5."""
    sql = f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY rowid"
    return store.database.read(lambda db: [row for (row,) in db.execute(sql, (query,))], [])


def bytes_on_disk(path: Path) -> bytes:
    """Everything of a database that lies in its folder."""
    return b"".join(one.read_bytes() for one in sorted(path.parent.glob(f"{path.name}*")))

"""A small memory of two projects, written through the store: the payments project's, and one of a blog."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from hybrid.project.find import find_project
from hybrid.records.memory.store import MemoryStore
from hybrid.records.memory.types import Extracted, Owner, Summarised

if TYPE_CHECKING:
    from tests.builders import Shop

FIRST_MS = int(datetime(2026, 1, 10, 12, tzinfo=timezone.utc).timestamp() * 1000)
"""Of the first observation; noon in London is the same day nearly everywhere."""
DAY_MS = int(timedelta(days=1).total_seconds() * 1000)
BLOG = Owner("blog-session", "b" * 16, "blog")

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

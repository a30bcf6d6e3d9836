from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

from tests.support.memories import fill_memory

if TYPE_CHECKING:
    from tests.support.builders import Shop


def _findings(shop: Shop) -> list[dict[str, Any]]:
    done = shop.json("doctor", "--no-trial", code=1) if not _is_well(shop) else shop.json("doctor", "--no-trial")
    return [one for one in done["findings"] if one["area"] == "memory"]


def _is_well(shop: Shop) -> bool:
    return shop.run("doctor", "--no-trial", "--json").returncode == 0


def test_the_status_counts_the_memory(own_shop: Shop) -> None:
    """Before anything is known with null, then with counts, times and bytes; the table has a line of it."""
    before = own_shop.json("status")["memory"]
    fill_memory(own_shop)
    found = own_shop.json("status")["memory"]

    counts = ("sessions", "observations", "summaries", "prompts", "pending")
    assert ((0,) * 5, None, None, True) == (
        tuple(before[k] for k in counts),
        before["oldest"],
        before["newest"],
        before["enabled"],
    )
    assert (2, 3, 1, 1, 0) == tuple(found[name] for name in counts)
    assert ("2026-01-10T12:00:00.000Z", "2026-01-12T12:00:00.000Z") == (found["oldest"], found["newest"])
    assert (True, True, [], []) == tuple(found[name] for name in ("enabled", "capture", "problems", "set_aside"))
    assert found["size_bytes"] > 0
    assert "3 observations, 1 summary of 2 sessions" in " ".join(own_shop.out("status", "--table").split())


def test_the_status_changes_no_damaged_memory(own_shop: Shop) -> None:
    """It is a problem; the next use sets it aside, which the status then tells."""
    fill_memory(own_shop)
    path = own_shop.home / "memory.db"
    path.write_bytes(b"no database at all" * 100)
    found = own_shop.json("status")["memory"]

    assert b"no database at all" * 100 == path.read_bytes()
    (problem,) = found["problems"]
    assert "is damaged" in problem
    assert "problem" == _findings(own_shop)[0]["level"]
    own_shop.out("memory", "recent", code=1)
    (name,) = own_shop.json("status")["memory"]["set_aside"]
    assert name.startswith("memory.db.corrupt-")


def test_the_doctor_checks_the_database_and_the_age_of_its_index(own_shop: Shop) -> None:
    """Nothing yet; not indexed; up to date; behind; switched off."""
    assert ["nothing yet"] == [one["what"] for one in _findings(own_shop)]
    store = fill_memory(own_shop)
    first = _findings(own_shop)
    own_shop.json("memory", "search", "retry")
    second = _findings(own_shop)
    store.forget([("observation", 1)])
    store.close()

    assert "3 observations, 1 summary, whole; " in first[0]["what"]
    assert ("ok", "warning", "not indexed yet") == (first[0]["level"], first[1]["level"], first[1]["what"])
    assert ("ok", "the index is up to date") == (second[1]["level"], second[1]["what"])
    assert "the index is 1 row behind: the next prompt" == _findings(own_shop)[1]["what"]
    off = own_shop.json("doctor", "--no-trial", HYBRID_MEMORY_ENABLED="false")["findings"]
    assert ["switched off (memory.enabled)"] == [one["what"] for one in off if one["area"] == "memory"]


def test_a_memory_of_a_newer_version_is_left_alone(own_shop: Shop) -> None:
    """Status and doctor say so; a command ends with code 2."""
    fill_memory(own_shop)
    path = own_shop.home / "memory.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 99")

    assert "newer version" in own_shop.json("status")["memory"]["problems"][0]
    assert "problem" == _findings(own_shop)[0]["level"]
    assert "upgrade hybrid" in own_shop.error("memory", "recent")
    assert not list(own_shop.home.glob("memory.db.corrupt-*"))

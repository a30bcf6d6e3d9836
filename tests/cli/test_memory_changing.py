from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from hybrid.records.memory.store import MemoryStore
from hybrid.records.memory.types import Extracted
from tests.support.builders import Shop, command_environment, git_project
from tests.support.memories import BLOG, DAY_MS, FIRST_MS, fill_memory, shop_owner
from tests.support.terminals import Terminal

if TYPE_CHECKING:
    from pathlib import Path

WORDS = (b"zanzibar", b"quokkaflag", b"wombatville")
SECRET_TOLD = Extracted(
    "bugfix",
    "Reach the zanzibar endpoint",
    narrative="It needed the quokkaflag header.",
    facts=("seen in wombatville",),
    files_modified=("src/zanzibar.py",),
)
NEVER = ("log", "sessions")
"""Folders whose files are about what was injected; they have limits of their own."""


def _memory(shop: Shop, *args: str, **options: Any) -> str:
    return shop.out("memory", *args, **options)


def _ids(shop: Shop, *args: str, code: int = 0) -> list[str]:
    return [one["id"] for one in shop.json("memory", *args, code=code)["records"]]


def _holding(home: Path, words: tuple[bytes, ...] = WORDS) -> list[str]:
    """Files below `HYBRID_HOME` that hold one of the words, in any letter case."""
    found: list[str] = []
    for path in sorted(home.rglob("*")):
        if path.is_file() and path.relative_to(home).parts[0] not in NEVER:
            data = path.read_bytes().lower()
            found += [str(path.relative_to(home)) for word in words if word in data]
    return sorted(set(found))


def test_an_observation_is_added_by_hand(new_project: Shop) -> None:
    """Of the session `manual`, with its type, narrative, facts, concepts and files."""
    said = _memory(new_project, "add", "Deploys", "need", "the", "VPN", "--fact", "the registry is internal")
    args = (
        "--type",
        "decision",
        "--narrative",
        "Fewer parts.",
        "--concept",
        "trade-off",
        "--file",
        "./src/users/store.py",
    )
    (second,) = new_project.json("memory", "add", "Keep users in SQLite", *args)["records"]

    assert said.startswith("o1 ")
    assert "discovery Deploys need the VPN: the registry is internal (~" in said
    assert ("o2", "manual", "decision", "Fewer parts.") == tuple(
        second[name] for name in ("id", "session_id", "type", "narrative")
    )
    assert (["trade-off"], ["src/users/store.py"]) == (second["concepts"], second["files_read"])
    assert "o1" == _ids(new_project, "search", "which network does deploying need")[0]
    assert "" == _memory(new_project, "add", "Something else entirely", "-q")
    assert 0o600 == (new_project.home / "memory.db").stat().st_mode & 0o777


def test_what_is_added_has_no_secret_and_no_private_part(new_project: Shop) -> None:
    """In the title, the narrative and the facts; not one byte of it is stored."""
    key = "AKIA" + "Q3EG7WX5RTZ2LMNP"
    title = f"The bucket <private>zanzibar</private> is read with {key}"
    _memory(new_project, "add", title, "--fact", f"key {key}", "--narrative", "<private>quokkaflag and more")

    assert [] == _holding(new_project.home, (key.lower().encode(), *WORDS))
    (found,) = new_project.json("memory", "recent")["records"]
    assert found["title"].startswith("The bucket is read with ")


def test_the_same_is_not_added_twice(new_project: Shop) -> None:
    """The first one's counter tells of it; exit code 0."""
    _memory(new_project, "add", "Deploys need the VPN")
    said = _memory(new_project, "add", "deploys need the vpn!")

    assert "Not stored: the same was stored within the last hour; it was counted there.\n" == said
    assert {"records": [], "repeated": True} == new_project.json("memory", "add", "Deploys need the VPN")
    (found,) = new_project.json("memory", "recent")["records"]
    assert 2 == found["repeat_count"]


def test_a_long_title_is_cut_at_a_word_and_kept_whole_below(new_project: Shop) -> None:
    """80 characters at most; an empty one is an error, and so is a type that does not exist."""
    title = " ".join(["Deploys need the VPN of the office"] * 4)
    (found,) = new_project.json("memory", "add", title)["records"]

    assert len(found["title"]) <= 80
    assert found["title"].endswith("…")
    assert title == found["narrative"]
    assert "the TITLE is empty" in new_project.error("memory", "add", " ")
    assert 2 == new_project.run("memory", "add", "x", "--type", "summary").returncode


def test_what_is_forgotten_is_in_no_file(own_shop: Shop) -> None:
    """Neither the database nor its log, nor the index of the records, its catalog and the log of that."""
    fill_memory(own_shop).close()
    with MemoryStore(own_shop.home / "memory.db") as store:
        assert store.add_observation(shop_owner(own_shop), SECRET_TOLD, FIRST_MS + 9 * DAY_MS)
    assert "o4" == _ids(own_shop, "search", "which header does zanzibar need")[0]
    before = _holding(own_shop.home)
    said = _memory(own_shop, "forget", "4", "--yes")

    assert {"memory.db"} < set(before)
    assert any(name.startswith("records/views/memory-") for name in before)
    assert [] == _holding(own_shop.home)
    assert "Forgot 1 row for good: text, full-text index and vectors are deleted, and do not come back.\n" == said
    assert ["o1"] == _ids(own_shop, "search", "retry attempts of the client", "--limit", "1")
    assert "o4" not in _ids(own_shop, "search", "which header does zanzibar need", code=1)
    assert {"o1", "o2", "s1"} == set(_ids(own_shop, "recent"))


def test_what_is_forgotten_leaves_the_indexes_of_every_scope(own_shop: Shop) -> None:
    """Also that of a project alone, which is made where projects are kept apart."""
    fill_memory(own_shop).close()
    with MemoryStore(own_shop.home / "memory.db") as store:
        assert store.add_observation(shop_owner(own_shop), SECRET_TOLD, FIRST_MS)
    for apart in ("true", "false"):
        own_shop.json("memory", "search", "zanzibar", HYBRID_CROSS_PROJECT=apart)
    found = own_shop.json("memory", "forget", "#4", "--yes")

    assert 2 == len(list((own_shop.home / "records" / "views").glob("memory-*")))
    assert [] == _holding(own_shop.home)
    assert {"forgotten": 1, "is_gone": True, "problems": [], "set_aside": []} == found


def test_a_session_a_project_and_everything_can_be_forgotten(own_shop: Shop) -> None:
    """Each with its prompts; what is not there is exit code 1; an export can be imported again after everything."""
    fill_memory(own_shop)
    export = own_shop.home / "all.jsonl"
    _memory(own_shop, "export", str(export))
    _memory(own_shop, "search", "retry")

    assert "Nothing to forget.\n" == _memory(own_shop, "forget", "--session", "no-such", "--yes", code=1)
    assert "Nothing to forget.\n" == _memory(own_shop, "forget", "77", "s77", "--yes", code=1)
    assert 2 == own_shop.json("memory", "forget", "--project-data", "blog", "--yes")["forgotten"]
    assert ["o1", "o2", "s1"] == sorted(_ids(own_shop, "recent"))
    assert 5 == own_shop.json("memory", "forget", "--session", "s-shop", "--yes")["forgotten"]
    assert "Nothing to forget.\n" == _memory(own_shop, "forget", "--everything", "--yes", code=1)
    assert 0 == own_shop.json("memory", "import", str(export))["observations"]
    with MemoryStore(own_shop.home / "memory.db") as store:
        assert store.add_observation(BLOG, SECRET_TOLD, FIRST_MS)
    assert 2 == own_shop.json("memory", "forget", "--everything", "--yes")["forgotten"]
    assert 3 == own_shop.json("memory", "import", str(export))["observations"]


def test_a_summary_is_forgotten_by_its_name(own_shop: Shop) -> None:
    """`s1` is the summary, `1` the observation."""
    fill_memory(own_shop).close()
    _memory(own_shop, "forget", "s1", "3", "--yes")

    assert ["o1", "o2"] == sorted(_ids(own_shop, "recent", "--all-projects"))


def test_forgetting_is_wanted_or_not_done(own_shop: Shop) -> None:
    """In a pipe nobody can be asked: an error that names the flag; what is to be forgotten must be said."""
    fill_memory(own_shop)

    assert "--yes says that it is wanted" in own_shop.error("memory", "forget", "1")
    assert "--yes says that it is wanted" in own_shop.error("memory", "forget", "--everything")
    assert 3 == len(_ids(own_shop, "recent"))
    assert 2 == own_shop.run("memory", "forget").returncode
    assert 2 == own_shop.run("memory", "forget", "1", "--everything", "--yes").returncode
    assert "'one' is no ID" in own_shop.error("memory", "forget", "one", "--yes")
    assert 3 == len(_ids(own_shop, "recent"))


@pytest.mark.parametrize(("answer", "left", "code"), [("n\n", 3, 1), ("y\n", 2, 0)])
def test_a_person_is_asked(own_shop: Shop, answer: str, left: int, code: int) -> None:
    """What would be forgotten is shown; anything but yes leaves it."""
    fill_memory(own_shop)
    settings = command_environment(own_shop.home) | {"HOME": str(own_shop.home / "user")}
    command = [sys.executable, "-m", "hybrid", "memory", "forget", "1"]
    with Terminal(command, cwd=own_shop.root, environ=settings) as terminal:
        terminal.until(r"bugfix Cap retry attempts at 5 in PaymentClient(?s:.*)\[y/N\] $")
        terminal.type(answer)

        assert (code, left) == (terminal.code(), len(_ids(own_shop, "recent")))


def test_the_oldest_are_pruned(own_shop: Shop) -> None:
    """By age; what went leaves the index too, and may be imported again."""
    fill_memory(own_shop)
    _memory(own_shop, "search", "retry attempts")
    found = own_shop.json("memory", "prune", "--older-than", "2026-01-11")

    assert {"o2", "o3", "s1"} == set(_ids(own_shop, "recent", "--all-projects"))
    assert (2, []) == (found["pruned"], found["problems"])
    assert [] == _holding(own_shop.home, (b"attempts 10",))
    assert "Deleted 0 rows; " in _memory(own_shop, "prune", "--older-than", "2026-01-11", code=1)


def test_pruning_follows_the_settings_unless_told_otherwise(own_shop: Shop) -> None:
    """Nothing goes by age unless `memory.retention_days` says so; a size that is not reached takes nothing."""
    fill_memory(own_shop)

    assert 0 == own_shop.json("memory", "prune", code=1)["pruned"]
    assert 0 == own_shop.json("memory", "prune", "--max-mb", "50", code=1)["pruned"]
    assert 2 == own_shop.run("memory", "prune", "--max-mb", "0").returncode
    assert 5 == own_shop.json("memory", "prune", HYBRID_MEMORY_RETENTION_DAYS="1")["pruned"]
    assert [] == _ids(own_shop, "recent", code=1)


def test_copies_that_were_set_aside_are_named(own_shop: Shop) -> None:
    """A damaged database was kept for its owner to look at; forgetting does not reach it, and says so."""
    fill_memory(own_shop)
    copy = own_shop.home / "memory.db.corrupt-20260101T000000"
    copy.write_bytes(b"zanzibar")
    said = _memory(own_shop, "forget", "1", "--yes", "-q")

    assert f"A damaged copy was set aside earlier and is untouched: {copy}\n" == said
    assert copy.exists()


def test_forgetting_keeps_the_index_of_other_records(own_shop: Shop) -> None:
    """Lore is found as before, although its catalog was written anew."""
    own_shop.out("lore", "decide", "Use JSONL", "--why", "append-only, grep-friendly")
    fill_memory(own_shop)
    before = own_shop.json("lore", "search", "append only storage")["records"]
    _memory(own_shop, "search", "retry")
    _memory(own_shop, "forget", "1", "--yes")

    assert before == own_shop.json("lore", "search", "append only storage")["records"]
    assert json.loads((own_shop.home / "records/views").joinpath(*_view(own_shop)).read_text())["change"]


def test_a_promoted_record_is_a_lesson_of_all_projects(own_shop: Shop, tmp_path: Path) -> None:
    """Other projects get it as they get lessons; the row stays, and a second time nothing is written."""
    fill_memory(own_shop)
    said = own_shop.out("memory", "promote", "o1")
    other = Shop(git_project(tmp_path / "other"), own_shop.home)
    (lesson,) = other.json("lessons", "list")["lessons"]

    assert f"o1 is now {lesson['id']}, for all projects\n" == said
    assert ("Cap retry attempts at 5 in PaymentClient", "The loop never ended") == (
        lesson["title"],
        lesson["content"].partition(" after")[0],
    )
    assert f"{lesson['id']} says nearly the same" in own_shop.out("memory", "promote", "1", code=1)
    assert "no record o77" in own_shop.error("memory", "promote", "o77")
    assert own_shop.out("memory", "show", "o1")


def _view(shop: Shop) -> tuple[str, str]:
    (folder,) = (shop.home / "records" / "views").glob("memory-*")
    return folder.name, "seen.json"

"""Every record has its own text, and its own project: what is shown of one is never another's."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hybrid.records.memory.types import Extracted, Owner, Summarised
from tests.support.builders import Shop, new_shop
from tests.support.memories import BLOG, FIRST_MS, fill_memory, shop_owner
from tests.support.records import new_talk, write_records

if TYPE_CHECKING:
    from pathlib import Path

PATTERNS = """patterns:
  - {id: pat-1, name: Store handles in a registry, problem: handles leak, solution: keep them in one registry, project: celery}
  - {id: pat-2, name: Store handles weakly, problem: handles leak, solution: keep weak references}
anti_patterns:
  - {id: anti-1, name: Handles in globals, symptom: handles leak, fix: pass them in, project: celery}
"""


def prompt(shop: Shop, text: str, session: str = "later") -> str:
    """What the installed hook gives for a prompt."""
    event = {"session_id": session, "cwd": str(shop.root), "hook_event_name": "UserPromptSubmit", "prompt": text}
    command = ("hook", "run", "--client", "claude", "--event", "UserPromptSubmit")
    # A service would outlive the test.
    printed = shop.out(*command, stdin=json.dumps(event).encode(), HYBRID_DAEMON_ENABLED="false")
    return json.loads(printed)["hookSpecificOutput"]["additionalContext"] if printed else ""


def test_two_summaries_that_came_without_a_search_keep_their_texts(own_shop: Shop) -> None:
    """None of them has a row in an index; their own ids tell them apart."""
    store = fill_memory(own_shop)
    for number, (asked, said) in enumerate((("Bound the retries", "Five at most."), ("Log charges", "One line each."))):
        owner = shop_owner(own_shop, f"work-{number}")
        store.add_observation(owner, Extracted("change", f"Edit {asked}"), FIRST_MS + 9_000_000_000 + number)
        store.add_summary(owner, Summarised(request=asked, completed=said), FIRST_MS + 9_000_000_000 + number)
    store.close()
    lines = prompt(own_shop, "what happened in the last session?").split("\n")
    heads = [number for number, line in enumerate(lines) if line.startswith("[memory]")]

    assert ["Log charges", "Bound the retries"] == [lines[number].partition(" summary ")[2] for number in heads]
    assert ["  Completed: One line each.", "  Completed: Five at most."] == [lines[number + 1] for number in heads]


def test_patterns_of_another_project_are_not_given(own_shop: Shop) -> None:
    """One that names no project is the user's for all; one that names another comes where it is asked for."""
    write_records(own_shop.root, own_shop.home, {})
    folder = own_shop.home / "lore" / "patterns" / "data"
    folder.mkdir(parents=True)
    (folder / "patterns.yaml").write_text(PATTERNS)
    text = prompt(own_shop, "Where do we store handles, and why do handles leak?")
    listed = [one["id"] for one in own_shop.json("lore", "list")["records"]]

    assert "Store handles weakly" in text
    assert "celery" not in text
    assert "registry" not in text
    assert ["pat-2"] == listed
    assert {"pat-1", "pat-2", "anti-1"} == {one["id"] for one in own_shop.json("lore", "list", "--all")["records"]}


def test_a_pattern_is_written_for_all_projects_by_its_owner(own_shop: Shop, tmp_path: Path) -> None:
    """It goes to the user's folder and names no project, so that it comes in every project."""
    other = Shop(new_shop(tmp_path / "other").root, own_shop.home)
    own_shop.out("lore", "pattern", "add", "Freeze the clock", "--solution", "pass the clock in", "--system")
    own_shop.out("lore", "anti-pattern", "add", "Sleep in tests", "--symptom", "slow", "--fix", "pass the clock in")

    assert ["Freeze the clock", "Sleep in tests"] == [one["name"] for one in own_shop.json("lore", "list")["records"]]
    (other.root / ".git" / "config").write_text('[remote "origin"]\n\turl = https://git.example.com/team/other.git\n')
    assert ["Freeze the clock"] == [one["name"] for one in other.json("lore", "list")["records"]]


def test_notes_of_another_project_are_not_given(own_shop: Shop) -> None:
    """Not for a prompt, nor by the command, unless its owner asks for every project."""
    fill_memory(own_shop).close()

    assert "blog" not in prompt(own_shop, "Sign the cookie with a new key: what did we do about the cookie key?")
    assert {"o1", "o2", "s1"} == {one["id"] for one in own_shop.json("memory", "recent")["records"]}
    assert ["o3"] == [one["id"] for one in own_shop.json("memory", "search", "cookie key", "--all-projects")["records"]]


def test_a_query_that_nothing_is_near_to_says_so(own_shop: Shop) -> None:
    """A list of whatever is least far away is no answer."""
    fill_memory(own_shop).close()

    assert "Nothing found.\n" == own_shop.out("memory", "search", "a recipe for wedding cake", code=1)
    assert ["o1"] == [one["id"] for one in own_shop.json("memory", "search", "cap retry attempts at 5")["records"]][:1]


def test_the_page_searches_other_projects_too(tmp_path: Path) -> None:
    """Its owner asks there."""
    from hybrid.operations.asking import Asking
    from hybrid.operations.memory import BrowseMemory, browse
    from hybrid.operations.memory_look import ALL

    talk = new_talk(tmp_path, {})
    store = talk.kinds.stores.memory(talk.workspace())
    for owner in (Owner("s", talk.workspace().require_project().key, "shop"), BLOG):
        assert store.add_observation(owner, Extracted("change", f"Sign the cookie of the {owner.project}"), FIRST_MS)
    asking = Asking(talk.workspace(), talk.kinds, {}, "manual", "", FIRST_MS)
    found = browse(asking, BrowseMemory(query="sign the cookie", project=ALL)).data

    assert {"shop", "blog"} == {row["project"] for row in found["records"]}

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from hybrid.records.memory.types import moment_text
from tests.support.builders import new_shop
from tests.support.memories import FIRST_MS, RETRY, fill_memory, shop_owner

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.builders import Shop
RETRY_LINE = f"o1 {moment_text(FIRST_MS)} bugfix Cap retry attempts at 5 in PaymentClient (~46 tokens)"


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """The payments project and a memory of two projects; only for commands that change nothing."""
    shop = new_shop(tmp_path_factory.mktemp("memory"), is_indexed=False)
    fill_memory(shop)
    return shop


def _memory(shop: Shop, *args: str, **options: Any) -> str:
    return shop.out("memory", *args, **options)


def _ids(shop: Shop, *args: str, code: int = 0) -> list[str]:
    return [one["id"] for one in shop.json("memory", *args, code=code)["records"]]


def test_nothing_is_known_yet(new_project: Shop) -> None:
    """The heading and a sentence, exit code 1; no database is made by reading."""
    expected = "# shop recent context\nNo previous sessions found for this project yet.\n"

    assert expected == _memory(new_project, "recent", code=1)
    assert {"query": None, "project": "shop", "records": []} == new_project.json("memory", "recent", code=1)
    for args in (("search", "retry"), ("show", "1"), ("timeline", "1"), ("files", "src"), ("stats",)):
        assert new_project.json("memory", *args, code=1)
    assert not (new_project.home / "memory.db").exists()


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (("--all-projects",), ["o1", "o2", "o3", "s1"]),
        (("--in", "blog"), ["o3"]),
        (("--type", "bugfix", "--type", "discovery"), ["o1", "o2"]),
        (("--since", "2026-01-11", "--here", "--type", "discovery"), ["o2"]),
        (("--file", "src"), ["o1", "o2"]),
        (("--file", "src/users", "--all-projects"), ["o2", "o3"]),
        (("--limit", "1", "--here", "--type", "bugfix"), ["o1"]),
    ],
)
def test_filters_restrict_what_is_recent(known: Shop, args: tuple[str, ...], expected: list[str]) -> None:
    """By project, age, type and file; a path means the present project's unless all are wanted."""
    assert expected == sorted(_ids(known, "recent", *args))


def test_projects_are_kept_apart(known: Shop) -> None:
    """Only the present one's, unless another one is asked for or the settings want all."""
    assert ["o1", "o2", "s1"] == sorted(_ids(known, "recent"))
    assert ["o3"] == _ids(known, "search", "cookie", "--in", "blog")
    assert ["o3"] == _ids(known, "search", "cookie key", "--all-projects")
    assert "o3" not in _ids(known, "search", "cookie key", code=1)
    found = known.json("memory", "search", "cookie key", HYBRID_CROSS_PROJECT="true")["records"]
    assert ["o3"] == [one["id"] for one in found]


def test_search_gives_the_best_first_and_echoes_the_query(known: Shop) -> None:
    """What fits leads, however old; the parts besides similarity are scaled to 0.3 together."""
    found = known.json("memory", "search", "retry attempts of the payment client")

    assert ("retry attempts of the payment client", "o1") == (found["query"], found["records"][0]["id"])
    parts = found["records"][0]["parts"]
    assert parts["similarity"] >= 1.0
    assert sum(parts.values()) - parts["similarity"] <= 0.3


def test_explain_names_the_parts_below_each_row(known: Shop) -> None:
    """In the order of the specification; the sum stands before them."""
    lines = _memory(known, "search", "retry attempts", "--explain", "--limit", "1").splitlines()

    assert RETRY_LINE == lines[0]
    names = ("recency", "type", "similarity", "file_overlap", "same_project")
    named = r"      \d\.\d{3} = " + r" \+ ".join(rf"{name} \d\.\d{{3}}" for name in names)
    assert re.fullmatch(named, lines[1])
    assert "same_project 0.100" in _memory(known, "recent", "--explain", "--here")


def test_the_full_form_shows_narrative_facts_and_files(known: Shop) -> None:
    """`show` takes `1`, `#1` and `s1`, several of them, in the order given."""
    whole = [
        RETRY_LINE,
        f"      {RETRY.narrative}",
        "      - attempts 10 → 5",
        "      Concepts: problem-solution",
        "      Changed: src/payments/client.py",
        "      Read: docs/deploy.md",
    ]
    assert whole == _memory(known, "show", "1").splitlines()
    assert whole == _memory(known, "show", "#1").splitlines()
    assert whole == _memory(known, "recent", "--form", "full", "--type", "bugfix", "-q").splitlines()
    both = _memory(known, "show", "s1", "1").split("\n\n")
    assert [True, True] == [both[0].startswith("s1 "), both[1].splitlines() == whole]
    assert "Next steps: Mend test_save." in both[0]
    assert ["s1", "o1"] == _ids(known, "show", "s1", "1")
    assert "      session s-shop, shop, prompt 1: Make the retry loop end" in _memory(known, "show", "1", "-v")


def test_show_says_what_is_not_there(known: Shop) -> None:
    """Code 1 when nothing is, a warning beside what is, code 2 for what is no id."""
    assert "No record 77; `hybrid memory recent` shows ids.\n" == _memory(known, "show", "77", code=1)
    done = known.run("memory", "show", "1", "77")
    assert (0, b"hybrid: warning: no record o77\n") == (done.returncode, done.stderr)
    assert "'seven' is no ID" in known.error("memory", "show", "seven")


def test_the_timeline_is_that_of_the_record_s_project(known: Shop) -> None:
    """Oldest first, with the record; `--before` and `--after` say how many."""
    assert ["o1", "o2", "s1"] == _ids(known, "timeline", "2")
    assert ["o2"] == _ids(known, "timeline", "2", "--before", "0", "--after", "0")
    assert ["o1", "o2"] == _ids(known, "timeline", "2", "--limit", "3", "--after", "0")
    assert ["o3"] == _ids(known, "timeline", "3")
    assert ["o2", "s1", "o3"] == _ids(known, "timeline", "s1", "--all-projects", "--limit", "3")
    found = known.json("memory", "timeline", "1")["records"][0]
    assert (None, None) == (found["score"], found["parts"])
    assert "No record 77.\n" == _memory(known, "timeline", "77", code=1)


def test_the_timeline_around_a_time(known: Shop) -> None:
    """A date or an epoch; a word that is neither is an error."""
    assert ["o1", "o2", "s1"] == _ids(known, "timeline", "2026-01-11")
    assert ["o2"] == _ids(known, "timeline", str(FIRST_MS + 1), "--before", "0", "--after", "1")
    assert "'soon' is no time that is understood" in known.error("memory", "timeline", "soon")


def test_files_takes_paths_from_here_from_the_root_and_absolute_ones(known: Shop) -> None:
    """A folder stands for everything in it; another project's file of the same name is not meant."""
    users = known.root / "src" / "users"

    assert ["o2"] == _ids(known, "files", "src/users/store.py")
    assert ["o2"] == [one["id"] for one in known.json("memory", "files", "store.py", cwd=users)["records"]]
    assert ["o2"] == _ids(known, "files", str(users))
    assert ["o2", "o1"] == _ids(known, "files", "src")
    assert ["o3", "o2"] == _ids(known, "files", "src/users", "--all-projects")
    assert ["o3"] == _ids(known, "files", "src/users", "--in", "blog")
    assert "Nothing found.\n" == _memory(known, "files", "README.md", code=1)


def test_stats_count(known: Shop) -> None:
    """Rows by kind, type and project; the ends in time; bytes."""
    found = known.json("memory", "stats")

    assert (2, 3, 1, 1, 0) == tuple(found[k] for k in ("sessions", "observations", "summaries", "prompts", "pending"))
    assert {"bugfix": 1, "discovery": 1, "change": 1} == found["by_type"]
    assert [("shop", 2, 1), ("blog", 1, 0)] == [
        (one["project"], one["observations"], one["summaries"]) for one in found["by_project"]
    ]
    assert ("2026-01-10T12:00:00.000Z", "2026-01-12T12:00:00.000Z") == (found["oldest"], found["newest"])
    assert (known.home / "memory.db").stat().st_size <= found["size_bytes"]
    assert "observations         3" in _memory(known, "stats")


def test_the_memory_is_read_outside_of_any_project(known: Shop, tmp_path: Any) -> None:
    """All projects' rows; nothing is foreign there."""
    listed = _memory(known, "recent", cwd=tmp_path)

    assert listed.startswith("# all projects recent context\n")
    assert "[from:" not in listed
    assert "no project here" in known.error("memory", "recent", "--here", cwd=tmp_path)
    assert ["o1"] == _ids(known, "search", "retry attempts", "--limit", "1")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("recent", "--since", "400d"), "'400d' is no time that is understood"),
        (("recent", "--in", "nowhere"), "no project 'nowhere' is known; `hybrid memory stats` lists names and keys"),
        (("recent", "--project", "/nowhere/at/all"), "is not a directory"),
    ],
)
def test_a_wrong_filter_is_an_error_of_one_line(known: Shop, args: tuple[str, ...], said: str) -> None:
    """It says what would be right."""
    assert said in known.error("memory", *args)


@pytest.mark.parametrize("limit", ["0", "101", "many"])
def test_a_limit_lies_between_1_and_100(known: Shop, limit: str) -> None:
    """Anything else is an error that names the border."""
    done = known.run("memory", "recent", f"--limit={limit}")

    assert (2, b"") == (done.returncode, done.stdout)
    assert b"must be a whole number from 1 to 100" in done.stderr


def test_what_waits_for_its_batch_is_there_once_it_has_waited_long_enough(own_shop: Shop) -> None:
    """A reading command makes observations of it first."""
    from hybrid.capture.tools import PathRoots, tool_use
    from hybrid.records.memory.store import MemoryStore
    from hybrid.records.memory.types import PendingEvent
    from hybrid.types import ToolCall

    call = ToolCall("Bash", {"command": "pytest tests/test_zebra.py"}, {"stdout": "1 passed in 0.1s"})
    use = tool_use(call, PathRoots("/x", "/x"))
    event = PendingEvent("Bash", use.as_json(), "d" * 64, 10, FIRST_MS)
    with MemoryStore(own_shop.home / "memory.db") as store:
        assert store.add_event(shop_owner(own_shop), event, window_ms=3000, make=lambda _uses, _prompt: None)

    assert 1 == own_shop.json("memory", "stats")["pending"]
    assert "test_zebra" in _memory(own_shop, "recent")
    assert 0 == own_shop.json("memory", "stats")["pending"]


def test_a_switched_off_memory_is_not_searched(known: Shop) -> None:
    """It says so, and finds nothing."""
    done = known.run("memory", "search", "retry", HYBRID_MEMORY_ENABLED="false")

    assert (1, b"Nothing found.\n") == (done.returncode, done.stdout)
    assert b"switched off" in done.stderr


def test_rows_seen_from_outside_of_any_project_say_whose_they_are(own_shop: Shop, tmp_path: Path) -> None:
    """The list named no project, and spoke of this one where there was none."""
    nowhere = tmp_path / "nowhere"
    nowhere.mkdir()
    empty = own_shop.out("memory", "recent", cwd=nowhere, code=1)
    own_shop.out("memory", "add", "Cap retries at five")

    assert "# all projects recent context\nNo previous sessions found in any project yet.\n" == empty
    assert "Cap retries at five [project: shop] (~" in own_shop.out("memory", "recent", cwd=nowhere)
    assert "[" not in own_shop.out("memory", "recent")


def test_use_of_a_tool_that_is_not_told_of_yet_is_no_empty_memory(own_shop: Shop) -> None:
    """For three seconds after the first event it said that there were no previous sessions."""
    event = {
        "hook_event_name": "PostToolUse",
        "session_id": "s1",
        "cwd": str(own_shop.root),
        "tool_name": "Edit",
        "tool_input": {"file_path": str(own_shop.root / "a.py"), "old_string": "five = 5", "new_string": "six = 6"},
        "tool_response": {"filePath": "a.py"},
    }
    window = {"HYBRID_MEMORY_BATCH_WINDOW_MS": "3600000", "HYBRID_DAEMON_ENABLED": "false"}
    words = ("hook", "run", "--client", "claude", "--event", "PostToolUse")
    own_shop.out(*words, stdin=json.dumps(event).encode(), **window)

    told = own_shop.out("memory", "recent", code=1, **window)

    assert told == (
        "# shop recent context\nNothing is told of yet: 1 use of tools waits for what follows; ask again in 3600 s.\n"
    )

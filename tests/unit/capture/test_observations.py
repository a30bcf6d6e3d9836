"""How the uses of a batch become rows: what is alone, what is joined, and that nothing is hidden."""

from __future__ import annotations

from typing import Any

from hybrid.capture.extraction.extract import observations
from hybrid.capture.tools import PathRoots, ToolUse, tool_use
from hybrid.types import ToolCall

ROOTS = PathRoots("/shop", "/shop")


def use(tool: str, given: dict[str, Any], output: str = "", error: str = "") -> ToolUse:
    """A use of a tool in the shop."""
    return tool_use(ToolCall(tool, given, output, error), ROOTS)


def run(command: str, output: str = "", error: str = "") -> ToolUse:
    """A command."""
    return use("Bash", {"command": command}, output, error)


def search(pattern: str, output: str = "No matches found") -> ToolUse:
    """A search, which finds nothing by itself."""
    return use("Grep", {"pattern": pattern}, output)


def rows(*uses: ToolUse) -> list[tuple[int, str]]:
    """The number of uses and the title of each row."""
    return [(n, told.title if told else "") for n, told in observations(uses, "Mend the bank")]


def test_a_failed_command_is_a_row_of_its_own() -> None:
    """The commands around it do not bury it."""
    told = rows(
        run("git log --oneline", "1234567 first commit of the shop"),
        run("pip install bank", "Successfully installed bank-1.0"),
        run("pytest -q", error="Exit code 1\n1 failed, 7 passed in 0.1s"),
        run("pytest -q", "8 passed in 0.1s"),
    )

    assert [2, 1, 1] == [n for n, _ in told]
    assert ["Run `pytest -q` → 1 failed, 7 passed", "Run `pytest -q` → 8 passed"] == [title for _, title in told[1:]]


def test_the_same_failure_again_is_one_row() -> None:
    """As are other uses that say the same."""
    failed = run("pytest -q", error="Exit code 1\n1 failed, 7 passed in 0.1s")

    assert [(3, "Run `pytest -q` → 1 failed, 7 passed")] == rows(failed, failed, failed)


def test_each_of_many_results_is_named_by_a_title() -> None:
    """Ten searches in a batch are ten names; before, a title ended with `+7`."""
    told = rows(*(search(f"limit_{n}", f"src/pay{n}.py:{n + 1}:limit_{n} = 3") for n in range(10)))

    assert [3, 3, 3, 1] == [n for n, _ in told]
    assert all(any(f"limit_{n}" in title for _, title in told) for n in range(10))


def test_edits_of_one_file_are_told_together() -> None:
    """Up to six, beside those of another file."""
    edits = [
        use("Edit", {"file_path": f"/shop/{path}", "old_string": f"a{n} = {n}", "new_string": f"a{n} = {n}0"}, "done")
        for path in ("src/pay.py", "src/bank.py")
        for n in range(4)
    ]

    assert [4, 3, 1] != [n for n, _ in rows(*edits)]
    assert [4, 4] == [n for n, _ in rows(*edits)]


def test_a_search_that_found_nothing_joins_the_step_that_followed() -> None:
    """Its pattern stays as a fact; nothing of it is in the title."""
    (told,) = observations([search("max_tries"), search("cap"), search("limit", "src/pay.py:3:limit = 3")], "")

    assert 3 == told[0]
    assert told[1] is not None
    assert "Search `limit`: src/pay.py:3" == told[1].title
    assert {"max_tries: nothing found", "cap: nothing found"} <= set(told[1].facts)


def test_a_search_that_found_nothing_does_not_join_what_came_before() -> None:
    """The next batch may follow it."""
    told = rows(search("limit", "src/pay.py:3:limit = 3"), search("max_tries"))

    assert [(1, "Search `limit`: src/pay.py:3"), (1, "Search `max_tries`: nothing found")] == told


def test_uses_that_tell_nothing_do_not_part_others() -> None:
    """They count with the run that they stand in."""
    told = rows(run("pwd", "/shop"), run("pytest -q", "8 passed in 0.1s"), run("cd src"))

    assert [(3, "Run `pytest -q` → 8 passed")] == told

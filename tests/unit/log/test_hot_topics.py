from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.log.state import HookState, hot_topics, is_hot_topics_due, write_hot_topics

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 3, 5, 7, 9, 30, tzinfo=timezone.utc)


def _state(chunks: list[tuple[str, str, int]], files: dict[str, int] | None = None) -> HookState:
    state = HookState(injection_count=42, file_frequencies=files or {})
    for number, (file, name, count) in enumerate(chunks):
        state.chunk_frequencies[f"{file}:{number}"] = {"count": count, "file": file, "name": name}
    return state


def _tables(text: str) -> list[list[list[str]]]:
    """The cells of each table of a Markdown text."""
    tables: list[list[list[str]]] = []
    for block in text.split("\n\n"):
        rows = [line for line in block.split("\n") if line.startswith("|")]
        if rows:
            tables.append([[cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows])
    return tables


def test_without_data() -> None:
    """With no data the file has its title, the time in UTC, its counts of zero and two empty tables."""
    text = hot_topics(HookState(), NOW.astimezone(timezone(timedelta(hours=-8))))

    assert text.startswith("# Hot topics\n\nLast updated: 2026-03-05 07:09 UTC\n\nBased on 0 context injections.\n")
    assert [
        [["Rank", "File", "Symbol", "Injections"], ["---:", "---", "---", "---:"]],
        [["File", "Total Injections"], ["---", "---:"]],
    ] == _tables(text)
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


def test_the_tables() -> None:
    """Chunks and files stand in order of their counts; equal ones by file and name; a missing name is a dash."""
    text = hot_topics(
        _state(
            [("b.py", "g", 1), ("a.py", "z", 3), ("a.py", "", 1), ("a.py", "f", 1)], {"b.py": 1, "a.py": 5, "0.py": 1}
        ),
        NOW,
    )

    chunks, files = _tables(text)
    assert [
        ["1", "a.py", "z", "3"],
        ["2", "a.py", "–", "1"],
        ["3", "a.py", "f", "1"],
        ["4", "b.py", "g", "1"],
    ] == chunks[2:]
    assert [["a.py", "5"], ["0.py", "1"], ["b.py", "1"]] == files[2:]


def test_only_the_top_is_listed() -> None:
    """At most twenty chunks and ten files are listed."""
    chunks, files = _tables(
        hot_topics(_state([(f"f{i:02}", "n", i) for i in range(40)], {f"f{i:02}": i for i in range(40)}), NOW)
    )

    assert (20, ["1", "f39", "n", "39"], ["20", "f20", "n", "20"]) == (len(chunks[2:]), chunks[2], chunks[-1])
    assert (10, ["f39", "39"], ["f30", "30"]) == (len(files[2:]), files[2], files[-1])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("operator||", "operator\\|\\|"),
        ("`quoted`", "\\`quoted\\`"),
        ("back\\slash", "back\\\\slash"),
        ("trick\\|", "trick\\\\\\|"),
        ("two\nlines\tand  more", "two lines and more"),
        (" \n ", "–"),
    ],
)
def test_names_are_escaped(name: str, expected: str) -> None:
    """Pipes, backticks, backslashes and line ends in a name cannot break its row."""

    assert f"| 1 | a.py | {expected} | 3 |" in hot_topics(_state([("a.py", name, 3)]), NOW)


@given(st.lists(st.tuples(st.text(max_size=8), st.text(max_size=8), st.integers(0, 9)), max_size=6))
def test_every_row_has_its_cells(chunks: list[tuple[str, str, int]]) -> None:
    """Whatever the names are, every row of both tables is one line with the cells of its head."""
    text = hot_topics(_state(chunks, {file: count for file, _, count in chunks}), NOW)

    table, files = _tables(text.replace("\\\\", "").replace("\\|", ""))
    assert {4} == {len(row) for row in table}
    assert {2} == {len(row) for row in files}
    assert min(len(chunks), 20) == len(table) - 2


@pytest.mark.parametrize(
    ("count", "generated_at", "due"), [(0, 0, False), (9, 0, False), (10, 0, True), (25, 16, False), (26, 16, True)]
)
def test_when_it_is_due(count: int, generated_at: int, due: bool) -> None:
    """The file is due when ten injections have passed since it was written."""

    assert due == is_hot_topics_due(HookState(injection_count=count, hot_topics_generated_at=generated_at), every=10)


def test_the_file_is_replaced(tmp_path: Path) -> None:
    """The file is written as a whole, in UTF-8, with odd names too."""
    write_hot_topics(tmp_path, _state([("\udce4.py", "größe", 2)]), now=NOW)
    path = write_hot_topics(tmp_path, HookState(), now=NOW)

    assert (tmp_path / "hot-topics.md", hot_topics(HookState(), NOW)) == (path, path.read_text(encoding="utf-8"))

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.records.memory.store import MemoryStore
from hybrid.records.memory.types import CONCEPTS, OBSERVATION_TYPES, MemoryImport, Owner, RowFilter, Summarised
from hybrid.records.types import MemoryImportError
from tests.support.examples import examples
from tests.support.memories import HERE, NOW_MS, THERE, matching, told

if TYPE_CHECKING:
    from pathlib import Path


def _fill(store: MemoryStore) -> None:
    store.add_prompt(HERE, "Do it", NOW_MS)
    store.add_observation(HERE, told("fix", type="bugfix", files_read=("a.py",)), NOW_MS + 1)
    store.add_observation(THERE, told("other", facts=("é", "b")), NOW_MS + 2)
    store.add_observation(THERE, told("other", facts=("é", "b")), NOW_MS + 3)
    store.add_summary(HERE, Summarised(notes="n"), NOW_MS + 4)
    store.complete_session("s1", NOW_MS + 5)
    store.database.write(lambda db: db.execute("UPDATE sessions SET status = 'failed' WHERE claude_session_id = 's1'"))


def _kinds(lines: list[str]) -> list[str]:
    return [json.loads(line)["kind"] for line in lines]


def test_an_import_gives_what_was_exported(store: MemoryStore, tmp_path: Path) -> None:
    """Header, sessions, prompts, observations, summaries; imported elsewhere they are exported alike."""
    _fill(store)
    lines = list(store.export(RowFilter()))
    with MemoryStore(tmp_path / "other.db") as other:
        first = other.import_lines(lines, NOW_MS)
        second = other.import_lines((line + "\r\n" for line in lines), NOW_MS)

        assert ["header", "session", "session", "prompt", "observation", "observation", "summary"] == _kinds(lines)
        assert MemoryImport(2, 1, 2, 1) == first
        assert MemoryImport(n_duplicates=6) == second
        assert lines == list(other.export(RowFilter()))
        assert [0, 1] == [row.repeat_count for row in other.all_rows("observation")]
        assert 1 == len(matching(other, "fix"))
        assert 2 == other.add_prompt(HERE, "Go on", NOW_MS)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (RowFilter(key=HERE.key), ["session", "prompt", "observation", "summary"]),
        (RowFilter(types=("bugfix",)), ["session", "observation"]),
        (RowFilter(kinds=("summary",)), ["session", "summary"]),
        (RowFilter(session_id="s2"), ["session", "observation"]),
        (RowFilter(since_ms=NOW_MS + 4), ["session", "summary"]),
        (RowFilter(key="none"), []),
    ],
    ids=str,
)
def test_an_export_can_be_a_part(store: MemoryStore, wanted: RowFilter, expected: list[str]) -> None:
    """Rows that are wanted with the sessions that they belong to."""
    _fill(store)

    assert ["header", *expected] == _kinds(list(store.export(wanted)))


def test_a_dry_import_says_what_it_would_do(store: MemoryStore, tmp_path: Path) -> None:
    """The same numbers as the import, with a memory there or not; nothing is made or changed."""
    _fill(store)
    lines = list(store.export(RowFilter()))
    with MemoryStore(tmp_path / "other.db") as other:
        dry = other.import_lines([*lines, *lines], NOW_MS, is_dry=True)
        assert not other.exists
        assert dry == other.import_lines([*lines, *lines], NOW_MS)
    fresh = json.dumps(json.loads(lines[-1]) | {"session_id": "s7"})

    assert MemoryImport(n_duplicates=6, n_summaries=1) == store.import_lines([*lines, fresh], NOW_MS, is_dry=True)
    assert store.session("s7") is None


def test_what_cannot_be_read_is_told_with_its_line(store: MemoryStore) -> None:
    """The rest is imported."""
    _fill(store)
    good = [line for line in store.export(RowFilter()) if '"observation"' in line]
    spoilt = [
        "{", "[]", '{"kind": "poem", "session_id": "s", "project_key": "k"}', '{"kind": "observation"}', "[" * 100_000,
        *(json.dumps(json.loads(good[0]) | change) for change in (
            {"type": "poem"}, {"facts": "no list"}, {"title": 7}, {"created_ms": -1}, {"created_ms": 1e3},
            {"prompt_number": True}, {"facts": [1]}, {"session_id": ""}, {"repeat_count": 2**70},
        )),
        json.dumps({"kind": "summary", "session_id": "s", "project_key": "k"}),
    ]  # fmt: skip
    store.forget_everything()
    found = store.import_lines([*spoilt, "", *good], NOW_MS, name="file.jsonl")

    assert 2 == found.n_observations
    assert [("file.jsonl", number) for number in range(1, len(spoilt) + 1)] == [
        (one.file, one.line) for one in found.problems
    ]


def test_problems_are_not_told_without_end(store: MemoryStore) -> None:
    """A file of something else does not fill the screen."""
    found = store.import_lines(["no"] * 500, NOW_MS)

    assert (100, 500) == (len(found.problems), found.n_unread)


@pytest.mark.parametrize("header", [{"format": "hybrid-memory", "version": 2}, {"format": "recipes", "version": 1}, {}])
def test_a_file_of_another_form_is_refused(store: MemoryStore, header: dict[str, object]) -> None:
    """A newer version says to upgrade; nothing of it is imported."""
    with pytest.raises(MemoryImportError, match=r"upgrade hybrid|hybrid memory export"):
        store.import_lines([json.dumps({"kind": "header"} | header)], NOW_MS)


def test_secrets_are_taken_out_of_what_is_imported(store: MemoryStore) -> None:
    """Of every text; importing it again is still the same row."""
    token = "ghp_" + "a1B2c3D4e5F6" * 3
    rows = [
        {"kind": "session", "user_prompt": f"use {token}", "started_ms": 1},
        {"kind": "prompt", "text": f"use {token}", "prompt_number": 1, "created_ms": 1},
        {
            "kind": "observation",
            "type": "change",
            "title": "t",
            "narrative": f"use {token}",
            "facts": [token],
            "created_ms": 1,
        },
        {"kind": "summary", "notes": f"use {token}", "created_ms": 1},
    ]
    lines = [json.dumps({"session_id": "s", "project_key": "k", "project": "p"} | row) for row in rows]
    assert MemoryImport(1, 1, 1, 1) == store.import_lines(lines, NOW_MS)
    assert MemoryImport(n_duplicates=4) == store.import_lines(lines, NOW_MS)
    text = "\n".join(store.export(RowFilter()))

    assert token not in text
    assert 5 == text.count("[redacted:github_token]")


_TEXT = st.text(max_size=30)
_TOLD = st.builds(
    told,
    _TEXT,
    type=st.sampled_from(OBSERVATION_TYPES),
    narrative=_TEXT,
    facts=st.lists(_TEXT, max_size=3).map(tuple),
    concepts=st.lists(st.sampled_from(CONCEPTS), max_size=3).map(tuple),
    files_modified=st.lists(_TEXT, max_size=3).map(tuple),
)
_OWNERS = st.builds(Owner, st.sampled_from(["s1", "s2", "ü\ud800"]), st.sampled_from(["k1", "k2"]), _TEXT)


@examples(25)
@given(st.lists(st.tuples(_OWNERS, _TOLD, st.integers(0, 2**41)), max_size=8))
def test_any_rows_come_back_alike(tmp_path_factory: pytest.TempPathFactory, given_rows: list) -> None:
    """Export, import and export gives the same lines, and importing again brings nothing."""
    folder = tmp_path_factory.mktemp("memories")
    with MemoryStore(folder / "one.db") as one, MemoryStore(folder / "two.db") as two:
        for owner, parts, at_ms in given_rows:
            one.add_observation(owner, parts, at_ms)
            one.add_summary(owner, Summarised(notes=parts.narrative), at_ms)
            one.add_prompt(owner, parts.title, at_ms)
        lines = list(one.export(RowFilter()))
        two.import_lines(lines, 0)

        assert sorted(lines) == sorted(two.export(RowFilter()))
        assert len(lines) - 1 == one.import_lines(lines, 0).n_duplicates
